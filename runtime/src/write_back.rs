//! From resources back to files: which documents stand in which file in which order, and what has to be written.

use std::collections::{BTreeMap, HashSet};

use portico_krm::kptfile::{StatusMode, StatusUpdate};
use portico_krm::splice::{Edited, splice};
use portico_krm::yaml::{
    EmitOptions, NodeId, ParseLimits, SeqStyle, SourceFile, Tree, emit_document_as_kpt, emit_json,
};
use portico_krm::{Kptfile, Resource, reconcile};

use crate::load::BARE_SEQUENCE;
use crate::package::{Change, OtherPath, PackageFiles, check_path};
use crate::pipeline::Item;

/// How files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub enum WriteStyle {
    /// Only what changed differs; everything else keeps its bytes.
    #[default]
    Preserve,
    /// Every file as kpt writes it.
    Kpt,
}

/// The root's Kptfile.
const KPTFILE: &str = "Kptfile";

/// What the writing needs to know.
pub(crate) struct WriteBack<'a> {
    pub(crate) files: &'a PackageFiles,
    /// Paths by the numbers of sources.
    pub(crate) paths: &'a [String],
    pub(crate) style: WriteStyle,
    pub(crate) limits: &'a ParseLimits,
}

/// The files of a render.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) changes: Vec<Change>,
    pub(crate) warnings: Vec<String>,
}

impl WriteBack<'_> {
    /// The changes that bring `items`, whose paths count from the root, into the package. `inputs` are the numbers of
    /// the files that held resources: those that hold none any more are deleted. Without `inputs` nothing is.
    pub(crate) fn changes(
        &self,
        items: Vec<Item>,
        inputs: Option<&HashSet<u32>>,
        status: Option<&StatusUpdate>,
    ) -> Result<Written, String> {
        let numbers: BTreeMap<&str, u32> =
            self.paths.iter().enumerate().map(|(number, path)| (path.as_str(), number as u32)).collect();
        let mut written = Written::default();
        let by_file = group(items)?;
        for path in by_file.keys() {
            self.check_target(path, &mut written.warnings)?;
        }
        if let Some(inputs) = inputs {
            for (path, number) in &numbers {
                if inputs.contains(number) && !by_file.contains_key(*path) {
                    written.changes.push(Change::Delete { path: (*path).to_owned() });
                }
            }
        }
        for (path, documents) in by_file {
            let status = status.filter(|status| path == KPTFILE && status.mode != StatusMode::None);
            let bytes = match self.style {
                WriteStyle::Kpt => kpt_file(&path, documents, status),
                WriteStyle::Preserve => self.preserved_file(&path, documents, &numbers, status),
            };
            if self.files.files.get(&path).is_none_or(|file| file.bytes[..] != bytes[..]) {
                written.changes.push(Change::Write { path, bytes });
            }
        }
        Ok(written)
    }

    /// The change that writes the status alone; `None` when there is nothing to write, or no way to.
    pub(crate) fn status_only(&self, status: &StatusUpdate) -> Option<Change> {
        if status.mode == StatusMode::None {
            return None;
        }
        let bytes = &self.files.files.get(KPTFILE)?.bytes;
        let parsed = SourceFile::parse(bytes, self.limits).ok()?;
        let new = match self.style {
            WriteStyle::Kpt => {
                let documents = parsed.into_documents().into_iter();
                let documents: Vec<_> = documents.map(|d| (Resource { tree: d.tree }, d.seq_style)).collect();
                kpt_documents(&documents, Some(status))
            }
            WriteStyle::Preserve => {
                let first = parsed.documents().first()?.tree.clone();
                let mut kptfile = Kptfile::from_tree(first).ok()?;
                kptfile.set_status(status);
                let rest = (1..parsed.documents().len()).map(Edited::Unchanged);
                let edited: Vec<Edited<'_>> = [Edited::Changed(0, &kptfile.tree)].into_iter().chain(rest).collect();
                splice(&parsed, &edited)
            }
        };
        (new[..] != bytes[..]).then(|| Change::Write { path: KPTFILE.to_owned(), bytes: new })
    }

    /// A file may replace files, but nothing else.
    fn check_target(&self, path: &str, warnings: &mut Vec<String>) -> Result<(), String> {
        check_path(path).map_err(|error| error.to_string())?;
        let others = &self.files.others;
        match others.get(path) {
            None => {}
            Some(OtherPath::File | OtherPath::Ignored) => {
                warnings.push(format!("\"{path}\" is replaced, although the package's functions do not get that file"));
            }
            Some(OtherPath::Directory) => return Err(format!("path `{path}` is a directory of the package")),
            Some(OtherPath::Link) => return Err(format!("path `{path}` is a symbolic link, which is not followed")),
            Some(OtherPath::Special) => return Err(format!("path `{path}` is no regular file")),
            Some(OtherPath::Git) => return Err(format!("path `{path}` belongs to git")),
        }
        for (at, _) in path.match_indices('/') {
            let above = &path[..at];
            let file = self.files.files.contains_key(above);
            match others.get(above) {
                None | Some(OtherPath::Directory) if !file => {}
                Some(OtherPath::Link) => {
                    return Err(format!(
                        "path `{path}` leads through the symbolic link `{above}`, which is not followed"
                    ));
                }
                _ => return Err(format!("path `{path}` needs a directory where `{above}` is a file")),
            }
        }
        Ok(())
    }

    fn preserved_file(
        &self,
        path: &str,
        documents: Vec<Item>,
        numbers: &BTreeMap<&str, u32>,
        status: Option<&StatusUpdate>,
    ) -> Vec<u8> {
        let number = numbers.get(path).copied().or_else(|| only_source(&documents));
        let original = number
            .and_then(|number| self.paths.get(number as usize))
            .and_then(|from| self.files.files.get(from))
            .and_then(|file| SourceFile::parse(&file.bytes, self.limits).ok());
        let Some(original) = original else {
            return kpt_file(path, documents, status);
        };
        let mut used = HashSet::new();
        let mut trees: Vec<(Option<usize>, Tree)> = Vec::with_capacity(documents.len());
        for (position, item) in documents.into_iter().enumerate() {
            let mut source = item.source.filter(|source| Some(source.file) == number).map(|s| s.document as usize);
            let mut tree = finished(item.resource).0.tree;
            if source.is_none() && item.source.is_none() {
                source = same_object(&original, position, &tree);
                if let Some(at) = source {
                    reconcile::copy_comments(&original.documents()[at].tree, &mut tree);
                }
            }
            // A copy that a function made of a document is a new one.
            source = source.filter(|at| *at < original.documents().len() && used.insert(*at));
            if let Some(at) = source {
                restore_annotations(&original.documents()[at].tree, &mut tree);
            }
            trees.push((source, tree));
        }
        if let Some(status) = status
            && let Some((_, tree)) = trees.first_mut()
            && let Ok(mut kptfile) = Kptfile::from_tree(tree.clone())
        {
            kptfile.set_status(status);
            *tree = kptfile.tree;
        }
        let edited: Vec<Edited<'_>> = trees
            .iter()
            .map(|(source, tree)| match source {
                Some(at) => Edited::Changed(*at, tree),
                None => Edited::New(tree),
            })
            .collect();
        splice(&original, &edited)
    }
}

/// The files that hold these resources, where there were none before.
pub(crate) fn write_new(items: Vec<Item>) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let mut files = BTreeMap::new();
    for (path, documents) in group(items)? {
        check_path(&path).map_err(|error| error.to_string())?;
        let bytes = kpt_file(&path, documents, None);
        files.insert(path, bytes);
    }
    let clash = files
        .keys()
        .find_map(|path| path.match_indices('/').map(|(at, _)| &path[..at]).find(|above| files.contains_key(*above)));
    match clash {
        Some(path) => Err(format!("path `{path}` is a file and a directory at once")),
        None => Ok(files),
    }
}

/// The resource without its travelling annotations, and its sequence style. A wrapped sequence is unwrapped.
fn finished(mut resource: Resource) -> (Resource, SeqStyle) {
    let style = resource.seq_style();
    resource.strip_internal();
    let root = resource.tree.root();
    if let Some(bare) = resource.tree.get(root, BARE_SEQUENCE) {
        resource.tree.set_root(bare);
    }
    (resource, style)
}

/// Sorts resources into files and documents: by index where there is one; one without it gets, as in kpt, the highest
/// index of its file so far.
fn group(items: Vec<Item>) -> Result<BTreeMap<String, Vec<Item>>, String> {
    let mut highest: BTreeMap<String, i64> = BTreeMap::new();
    let mut placed = Vec::with_capacity(items.len());
    for item in items {
        let path = item.resource.path().unwrap_or_default().to_owned();
        let index = match item.resource.index().filter(|index| !index.is_empty()) {
            None => None,
            Some(text) => Some(text.trim().parse::<i64>().map_err(|_| {
                format!(
                    "resource {} has index \"{text}\" in file `{path}`; an index is a whole number",
                    item.resource.short()
                )
            })?),
        };
        if let Some(index) = index {
            let highest = highest.entry(path.clone()).or_insert(0);
            *highest = index.max(*highest);
        }
        placed.push((path, index, item));
    }
    let mut by_file: BTreeMap<String, Vec<(i64, Item)>> = BTreeMap::new();
    for (path, index, item) in placed {
        let index = index.unwrap_or_else(|| {
            let next = highest.entry(path.clone()).or_insert(0);
            let index = *next;
            *next = next.saturating_add(1);
            index
        });
        by_file.entry(path).or_default().push((index, item));
    }
    let sorted = by_file.into_iter().map(|(path, mut documents)| {
        documents.sort_by_key(|(index, _)| *index);
        (path, documents.into_iter().map(|(_, item)| item).collect())
    });
    Ok(sorted.collect())
}

fn kpt_file(path: &str, documents: Vec<Item>, status: Option<&StatusUpdate>) -> Vec<u8> {
    let single_json = is_single_json(path, documents.len());
    let documents: Vec<(Resource, SeqStyle)> = documents.into_iter().map(|item| finished(item.resource)).collect();
    match documents.first() {
        Some((only, _)) if single_json => {
            let mut text = String::new();
            emit_json(&only.tree, only.tree.root(), &mut text);
            text.into_bytes()
        }
        _ => kpt_documents(&documents, status),
    }
}

/// Documents in kpt style. With a status the first one is a Kptfile: it is written from its fields, as kpt does; one
/// that can no longer be read strictly goes without.
fn kpt_documents(documents: &[(Resource, SeqStyle)], status: Option<&StatusUpdate>) -> Vec<u8> {
    let mut text = String::new();
    for (at, (resource, sequences)) in documents.iter().enumerate() {
        if at > 0 {
            text.push_str("---\n");
        }
        let kptfile = status.filter(|_| at == 0).and_then(|status| {
            let kptfile = Kptfile::from_tree(resource.tree.clone()).ok()?;
            kptfile.to_kpt_yaml(status).ok()
        });
        match kptfile {
            Some(kptfile) => text.push_str(&kptfile),
            None => emit_document_as_kpt(&resource.tree, &EmitOptions { sequences: *sequences }, &mut text),
        }
    }
    text.into_bytes()
}

/// Case matters, as in the names that are read.
fn is_single_json(path: &str, documents: usize) -> bool {
    documents == 1 && path.strip_suffix(".json").is_some()
}

/// A file that a function moved as a whole is still the same file: its documents all come from one.
fn only_source(documents: &[Item]) -> Option<u32> {
    let mut files = documents.iter().map(|item| item.source.map(|source| source.file));
    let first = files.next()??;
    files.all(|file| file == Some(first)).then_some(first)
}

/// The document that a resource replaces although its function lost its id: the one at its place, if it is the same
/// object.
fn same_object(original: &SourceFile, position: usize, tree: &Tree) -> Option<usize> {
    let old = &original.documents().get(position)?.tree;
    let same = |path: &[&str]| old.text_at(old.root(), path) == tree.text_at(tree.root(), path);
    (same(&["apiVersion"]) && same(&["kind"]) && same(&["metadata", "name"])).then_some(position)
}

/// What the travelling annotations displaced in the user's file comes back: an empty `annotations`, and annotations of
/// their names that were there before.
fn restore_annotations(old: &Tree, new: &mut Tree) {
    let Some(theirs) = old.get_path(old.root(), &["metadata", "annotations"]) else { return };
    let lost: Vec<(NodeId, NodeId)> = old.entries(theirs).filter(|(key, _)| is_internal(old.text(*key))).collect();
    let missing = new.get_path(new.root(), &["metadata", "annotations"]).is_none();
    if !missing && lost.is_empty() {
        return;
    }
    let root = new.root();
    if old.is_empty(theirs) || !old.is_mapping(theirs) {
        if missing && new.get(root, "metadata").is_some_and(|metadata| new.is_mapping(metadata)) {
            let metadata = new.ensure_mapping(root, "metadata");
            let copy = new.copy_from(old, theirs);
            new.set(metadata, "annotations", copy);
        }
    } else if !lost.is_empty() {
        let metadata = new.ensure_mapping(root, "metadata");
        let annotations = new.ensure_mapping(metadata, "annotations");
        // What stands at the key `annotations`, which may be new. Comments of the entries come with them: they count as
        // travelling ones.
        reconcile::copy_comments(old, new);
        for (key, value) in lost {
            let copy = new.copy_from(old, value);
            new.set(annotations, old.text(key), copy);
            let set = new.entries(annotations).map(|(set, _)| set).find(|set| new.text(*set) == old.text(key));
            if let (Some(set), Some(comments)) = (set, old.comments(key)) {
                new.edit_comments(set, |own| own.clone_from(comments));
            }
        }
    }
    reconcile::sync_order(old, new);
}

fn is_internal(key: &str) -> bool {
    use portico_krm::annotations as a;
    [a::PATH, a::LEGACY_PATH, a::INDEX, a::LEGACY_INDEX, a::SEQ_INDENT, a::PACKAGE_PATH, a::ID, a::LEGACY_ID]
        .contains(&key)
        || [a::MIGRATION_ID, a::KPT_RESOURCE_ID].contains(&key)
}

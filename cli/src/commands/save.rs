//! `portico eval --save`: adds the function to the Kptfile's pipeline, everything else in the file untouched.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use portico_krm::yaml::{NodeId, ParseLimits, SourceFile, Style, Tree};
use portico_krm::{Selector, splice};
use portico_runtime::package::{Change, PackageDir, PackageFiles, PackageLimits};

use crate::args::{EvalArgs, FunctionType};
use crate::commands::eval::{excluding, matching};

/// An entry of a pipeline.
pub(crate) struct SavedFunction {
    image: Option<String>,
    exec: Option<String>,
    tag: Option<String>,
    config_path: Option<String>,
    config_map: Vec<(String, String)>,
    selector: Option<Selector>,
    exclude: Option<Selector>,
    list: &'static str,
}

impl SavedFunction {
    /// What was evaluated. A `--fn-config` file must lie in the package.
    pub(crate) fn of(arguments: &EvalArgs) -> Result<SavedFunction> {
        let config_path = match &arguments.fn_config {
            None => None,
            Some(file) => {
                let root = arguments.directory.canonicalize()?;
                let file = file.canonicalize()?;
                let Ok(inside) = file.strip_prefix(&root) else {
                    bail!("`--save`: the function config `{}` lies outside the package", file.display());
                };
                Some(inside.to_string_lossy().into_owned())
            }
        };
        Ok(SavedFunction {
            image: arguments.image.clone(),
            exec: arguments.exec.clone(),
            tag: arguments.tag.clone(),
            config_path,
            config_map: arguments.arguments.clone(),
            selector: matching(&arguments.selection),
            exclude: excluding(&arguments.selection),
            list: match arguments.function_type {
                FunctionType::Mutator => "mutators",
                FunctionType::Validator => "validators",
            },
        })
    }

    /// The image or command.
    pub(crate) fn label(&self) -> &str {
        self.image.as_deref().or(self.exec.as_deref()).unwrap_or_default()
    }

    fn node(&self, tree: &mut Tree) -> NodeId {
        let entry = tree.mapping(Style::Block);
        let scalars = [("image", &self.image), ("exec", &self.exec), ("configPath", &self.config_path)];
        for (key, value) in scalars {
            if let Some(value) = value {
                set_string(tree, entry, key, value);
            }
        }
        if !self.config_map.is_empty() {
            let map = tree.ensure_mapping(entry, "configMap");
            for (key, value) in &self.config_map {
                set_string(tree, map, key, value);
            }
        }
        if let Some(tag) = &self.tag {
            set_string(tree, entry, "tag", tag);
        }
        for (key, selector) in [("selectors", &self.selector), ("exclude", &self.exclude)] {
            if let Some(selector) = selector {
                let list = tree.sequence(Style::Block);
                let node = selector_node(tree, selector);
                tree.push(list, node);
                tree.set(entry, key, list);
            }
        }
        entry
    }
}

fn set_string(tree: &mut Tree, map: NodeId, key: &str, value: &str) {
    let node = tree.string(value);
    tree.set(map, key, node);
}

fn selector_node(tree: &mut Tree, selector: &Selector) -> NodeId {
    let node = tree.mapping(Style::Block);
    let fields = [
        ("apiVersion", &selector.api_version),
        ("kind", &selector.kind),
        ("name", &selector.name),
        ("namespace", &selector.namespace),
    ];
    for (key, value) in fields {
        if !value.is_empty() {
            set_string(tree, node, key, value);
        }
    }
    for (key, pairs) in [("labels", &selector.labels), ("annotations", &selector.annotations)] {
        if !pairs.is_empty() {
            let map = tree.ensure_mapping(node, key);
            for (k, v) in pairs {
                set_string(tree, map, k, v);
            }
        }
    }
    node
}

/// The Kptfile to save into; asked for before the function runs, so that a missing one is told in time.
pub(crate) fn kptfile(files: &PackageFiles) -> Result<SourceFile> {
    let file = files.files.get("Kptfile").context("`--save`: the directory has no Kptfile")?;
    let source = match SourceFile::parse(&file.bytes, &ParseLimits::default()) {
        Ok(source) => source,
        Err(errors) => bail!("`--save`: Kptfile: {}", errors.first().map(ToString::to_string).unwrap_or_default()),
    };
    let tree = &source.documents().first().context("`--save`: the Kptfile is empty")?.tree;
    ensure!(tree.is_mapping(tree.root()), "`--save`: the Kptfile is no mapping");
    Ok(source)
}

/// Adds the function, or replaces the entry of the same image or command; the list it went to.
pub(crate) fn into_kptfile(directory: &Path, function: &SavedFunction, limits: &PackageLimits) -> Result<&'static str> {
    let package = PackageDir::open(directory)?;
    let files = package.read(limits)?;
    let source = kptfile(&files)?;
    let mut tree = source.documents().first().context("`--save`: the Kptfile is empty")?.tree.clone();
    let root = tree.root();
    let pipeline = tree.ensure_mapping(root, "pipeline");
    let list = match tree.get(pipeline, function.list) {
        Some(list) if tree.is_sequence(list) => list,
        _ => {
            let list = tree.sequence(Style::Block);
            tree.set(pipeline, function.list, list);
            list
        }
    };
    let key = if function.image.is_some() { "image" } else { "exec" };
    let mut entries: Vec<NodeId> = tree.elements(list).collect();
    let same = entries.iter().position(|entry| tree.text_at(*entry, &[key]) == Some(function.label()));
    let node = function.node(&mut tree);
    match same {
        Some(at) => entries[at] = node,
        None => entries.push(node),
    }
    tree.set_children(list, &entries);
    let mut edited: Vec<splice::Edited<'_>> = vec![splice::Edited::Changed(0, &tree)];
    edited.extend((1..source.documents().len()).map(splice::Edited::Unchanged));
    let bytes = splice::splice(&source, &edited);
    package.apply(&[Change::Write { path: "Kptfile".into(), bytes }], &files)?;
    Ok(function.list)
}

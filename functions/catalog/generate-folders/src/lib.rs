#![doc = include_str!("../README.md")]

mod hierarchy;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use portico_fn::yaml::{Style, Tree};
use portico_fn::{
    DEPENDS_ON, Error, FunctionResult, LOCAL_CONFIG, Output, Resource, ResourceList, ResourceRef, ResultFile, Results,
    Severity, Verdict, annotations, run,
};

use crate::hierarchy::{Generation, Hierarchy, Node, Parent};

const FOLDER_VERSION: &str = "resourcemanager.cnrm.cloud.google.com/v1beta1";
const FOLDER_GROUP: &str = "resourcemanager.cnrm.cloud.google.com";
const ORGANIZATION: &str = "cnrm.cloud.google.com/organization-id";
const FOLDER: &str = "cnrm.cloud.google.com/folder-ref";
/// Objects with one of these describe a function.
const FUNCTION: [&str; 2] = ["config.kubernetes.io/function", "config.k8s.io/function"];

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out.
#[expect(clippy::needless_pass_by_value, reason = "programs own their input: some give it back as it is")]
pub fn program(input: Vec<u8>) -> Output {
    run(&function(), &input)
}

/// The function, ready for [`portico_fn::as_main`] or [`portico_fn::run`].
pub fn function() -> impl portico_fn::Processor {
    |list: &mut ResourceList| -> Result<Verdict, Error> { Ok(process(list)) }
}

fn process(list: &mut ResourceList) -> Verdict {
    let mut results = Results::from(std::mem::take(&mut list.results));
    let mut folders = Vec::new();
    let mut verdict = Verdict::Pass;
    for item in list.items.iter().filter(|item| item.kind() == hierarchy::KIND) {
        let Some(generation) = Generation::of(item.api_version()) else { continue };
        match Hierarchy::read(item, generation).and_then(|hierarchy| objects(item, &hierarchy)) {
            Ok(made) => {
                if generation != Generation::V3 {
                    results.push(older(item));
                }
                folders.extend(made);
            }
            Err(message) => {
                verdict = Verdict::Fail;
                results.about(item, Severity::Error, message);
            }
        }
    }
    // All or nothing: a package with half of its folders is no package.
    if verdict == Verdict::Pass {
        upsert(&mut list.items, folders);
    }
    list.results = results.into_vec();
    verdict
}

/// The notice about a hierarchy in one of the first two forms, with the severity that the function always gave it.
fn older(item: &Resource) -> FunctionResult {
    FunctionResult {
        resource_ref: Some(ResourceRef::of(item)),
        file: item.path().map(|path| ResultFile { path: path.to_owned(), index: 0 }),
        ..FunctionResult::new(
            "warn",
            format!(
                "ResourceHierarchy {} references an older Resource Hierarchy GroupVersion. Latest GroupVersion is {}.",
                item.name(),
                hierarchy::NEWEST
            ),
        )
    }
}

/// Replaces the folders that are there, and adds the others.
fn upsert(items: &mut Vec<Resource>, folders: Vec<Resource>) {
    let id = |item: &Resource| [item.namespace(), item.name()].map(str::to_owned);
    let is_folder = |item: &Resource| item.api_version() == FOLDER_VERSION && item.kind() == "Folder";
    let known: HashMap<[String; 2], usize> =
        items.iter().enumerate().filter(|(_, item)| is_folder(item)).map(|(at, item)| (id(item), at)).collect();
    for mut folder in folders {
        let Some(at) = known.get(&id(&folder)) else {
            items.push(folder);
            continue;
        };
        let item = &mut items[*at];
        for key in [annotations::PATH, annotations::INDEX, annotations::KPT_RESOURCE_ID, annotations::SEQ_INDENT] {
            if let Some(value) = item.annotation(key) {
                folder.set_annotation(key, value);
            }
        }
        *item = folder;
    }
}

fn objects(item: &Resource, hierarchy: &Hierarchy) -> Result<Vec<Resource>, String> {
    let mut made = Vec::new();
    let mut names = HashSet::new();
    let mut open: Vec<(&Node, Option<String>)> = hierarchy.roots.iter().rev().map(|node| (node, None)).collect();
    while let Some((node, parent)) = open.pop() {
        let own = normalise(&node.name);
        let name = parent.as_deref().map_or_else(|| own.clone(), |parent| format!("{parent}.{own}"));
        if !names.insert(name.clone()) {
            return Err(format!("two folders of the hierarchy would be called `{name}`"));
        }
        made.push(folder(item, hierarchy, node, &name, parent.as_deref())?);
        open.extend(node.children.iter().rev().map(|child| (child, Some(name.clone()))));
    }
    Ok(made)
}

fn folder(
    item: &Resource,
    hierarchy: &Hierarchy,
    node: &Node,
    name: &str,
    parent: Option<&str>,
) -> Result<Resource, String> {
    let mut tree = Tree::new_mapping();
    let root = tree.root();
    for (key, text) in [("apiVersion", FOLDER_VERSION), ("kind", "Folder")] {
        let value = tree.string(text);
        tree.set(root, key, value);
    }
    let (metadata, notes, spec) = (tree.mapping(Style::Block), tree.mapping(Style::Block), tree.mapping(Style::Block));
    tree.set(root, "metadata", metadata);
    let name_node = tree.string(name);
    tree.set(metadata, "name", name_node);
    if !item.namespace().is_empty() {
        let namespace = tree.string(item.namespace());
        tree.set(metadata, "namespace", namespace);
    }
    let mut note = |key: &str, text: &str| {
        let value = tree.string(text);
        tree.set(notes, key, value);
    };
    if hierarchy.generation != Generation::V1 {
        let inherited = |key: &str| {
            key != LOCAL_CONFIG
                && !FUNCTION.contains(&key)
                && !annotations::is_internal(key)
                && ![annotations::LEGACY_PATH, annotations::LEGACY_INDEX].contains(&key)
        };
        item.annotations().filter(|(key, _)| inherited(key)).for_each(|(key, value)| note(key, value));
    }
    match (hierarchy.generation, parent, &hierarchy.parent) {
        (Generation::V3, Some(parent), _) if !item.namespace().is_empty() => {
            note(DEPENDS_ON, &format!("{FOLDER_GROUP}/namespaces/{}/Folder/{parent}", item.namespace()));
        }
        (Generation::V3, ..) => {}
        (_, Some(parent), _) => note(FOLDER, parent),
        (_, None, Parent::Organization(id)) => note(ORGANIZATION, id),
        (_, None, Parent::Folder(id)) => note(FOLDER, id),
    }
    if !tree.is_empty(notes) {
        tree.set(metadata, "annotations", notes);
    }
    tree.set(root, "spec", spec);
    let display = tree.string(&node.name);
    tree.set(spec, "displayName", display);
    if hierarchy.generation == Generation::V3 {
        let (reference, key, text) = match (parent, &hierarchy.parent) {
            (Some(parent), _) => ("folderRef", "name", parent),
            (None, Parent::Organization(id)) => ("organizationRef", "external", id.as_str()),
            (None, Parent::Folder(id)) => ("folderRef", "external", id.as_str()),
        };
        let (map, value) = (tree.mapping(Style::Block), tree.string(text));
        tree.set(map, key, value);
        tree.set(spec, reference, map);
    }
    Resource::new(tree).map_err(|error| error.to_string())
}

/// What a folder's name becomes as the name of an object: lower case, no quotes, `-` for blanks and `_`, nothing else
/// but letters, digits, dots and dashes.
fn normalise(name: &str) -> String {
    name.to_lowercase()
        .chars()
        .map(|c| if c == '_' || c == ' ' { '-' } else { c })
        .filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '.' || *c == '-')
        .collect()
}

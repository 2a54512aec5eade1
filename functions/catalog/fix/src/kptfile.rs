//! Kptfiles of the older versions, brought to `kpt.dev/v1`.

use std::collections::BTreeMap;

use portico_fn::yaml::{NodeId, ParseLimits, Style, Tree};
use portico_fn::{FieldError, Resource, Results, annotations, field};

use crate::definitions::{Definitions, block_list};
use crate::steps::Function;
use crate::{directory, file_name, free_path, say};

const APPLY_SETTERS: &str = "gcr.io/kpt-fn/apply-setters:v0.2";
const V1: &str = "kpt.dev/v1";
/// Fields of `packageMetadata` and what they are called in `info`, in the order of `info`.
const INFO: [(&str, &str); 6] = [
    ("url", "site"),
    ("email", "emails"),
    ("license", "license"),
    ("shortDescription", "description"),
    ("tags", "keywords"),
    ("man", "man"),
];
/// What the new version has no place for.
const DROPPED: [&str; 2] = ["dependencies", "functions"];

/// Raises the version, and moves the values of setters into a file. The object of that file.
pub(crate) fn from_v1alpha2(
    items: &mut [Resource],
    at: usize,
    results: &mut Results,
) -> Result<Option<Resource>, String> {
    let path = free_path(items, &directory(crate::shown(&items[at])), "setters");
    let kptfile = &mut items[at];
    let root = kptfile.root();
    set(kptfile, root, "apiVersion", V1);
    say(kptfile, "Updated apiVersion to kpt.dev/v1", results);
    let tree = &kptfile.tree;
    let steps = tree.get_path(root, &["pipeline", "mutators"]).filter(|steps| tree.is_sequence(*steps));
    let step = steps.into_iter().flat_map(|steps| tree.elements(steps)).find(|step| {
        tree.text_at(*step, &["image"]).is_some_and(|image| image.contains("gcr.io/kpt-fn/apply-setters:"))
            && tree.get(*step, "configMap").is_some()
    });
    let Some(step) = step else { return Ok(None) };
    let Some(config) = tree.get(step, "configMap").filter(|config| tree.is_mapping(*config)) else { return Ok(None) };
    let values = tree.entries(config).map(|(key, value)| (tree.text(key).to_owned(), as_block(tree.text(value))));
    let values: BTreeMap<String, String> = values.collect();
    kptfile.tree.remove(step, "configMap");
    set(kptfile, step, "configPath", file_name(&path));
    say(kptfile, "Moved setters from configMap to configPath", results);
    setters_file(&values, &path).map(Some)
}

/// Brings the first version over. The object of the setters' file, when there are setters.
pub(crate) fn from_v1alpha1(
    items: &mut [Resource],
    at: usize,
    definitions: &Definitions,
    functions: &[Function],
    results: &mut Results,
) -> Result<Option<Resource>, String> {
    let path = free_path(items, &directory(crate::shown(&items[at])), "setters");
    let kptfile = &mut items[at];
    let root = kptfile.root();
    let old = kptfile.tree.clone();
    set(kptfile, root, "apiVersion", V1);
    upstream(kptfile, &old, results).map_err(|error| format!("`{}`: {error}", crate::shown(kptfile)))?;
    info(kptfile, &old, results).map_err(|error| format!("`{}`: {error}", crate::shown(kptfile)))?;

    let mut setters = None;
    if !definitions.setters.is_empty() {
        add_step(kptfile, APPLY_SETTERS, file_name(&path)).map_err(|error| error.to_string())?;
        say(kptfile, "Transformed \"openAPI\" definitions to \"apply-setters\" function", results);
        setters = Some(setters_file(&definitions.setters, &path)?);
    }
    kptfile.tree.remove(root, "openAPI");
    for Function { image, config_path } in functions {
        add_step(kptfile, image, config_path).map_err(|error| error.to_string())?;
        let message = format!(
            "Added \"{image}\" to mutators list, please move it to validators section if it is a validator function"
        );
        say(kptfile, message, results);
    }
    for key in DROPPED {
        if kptfile.tree.remove(root, key).is_some() {
            say(kptfile, format!("Removed \"{key}\", for which kpt.dev/v1 has no place"), results);
        }
    }
    // Behind the pipeline, where the new version has it.
    if let Some(inventory) = kptfile.tree.remove(root, "inventory") {
        let inventory = kptfile.tree.copy_from(&old, inventory);
        kptfile.tree.set(root, "inventory", inventory);
    }
    Ok(setters)
}

/// `upstream` without the commit, which goes to `upstreamLock`.
fn upstream(kptfile: &mut Resource, old: &Tree, results: &mut Results) -> Result<(), FieldError> {
    let root = kptfile.root();
    let tree = &mut kptfile.tree;
    let Some(upstream) = field::mapping_at(tree, root, &["upstream"], false)? else { return Ok(()) };
    let Some(git) = field::mapping_at(tree, root, &["upstream", "git"], false)? else { return Ok(()) };
    let commit = tree.remove(git, "commit");
    for (key, map, value) in [("updateStrategy", upstream, "resource-merge"), ("type", upstream, "git")] {
        if tree.get(map, key).is_none() {
            let value = tree.string(value);
            tree.set(map, key, value);
        }
    }
    if let Some(commit) = commit {
        let (lock, locked, kind) = (tree.mapping(Style::Block), tree.mapping(Style::Block), tree.string("git"));
        tree.set(lock, "type", kind);
        for key in ["repo", "directory", "ref"] {
            if let Some(text) = tree.text_at(git, &[key]).map(str::to_owned) {
                let value = tree.string(&text);
                tree.set(locked, key, value);
            }
        }
        let commit = tree.copy_from(old, commit);
        tree.set(locked, "commit", commit);
        tree.set(lock, "git", locked);
        tree.set(root, "upstreamLock", lock);
    }
    say(kptfile, "Transformed \"upstream\" to \"upstream\" and \"upstreamLock\"", results);
    Ok(())
}

/// `packageMetadata` becomes `info`.
fn info(kptfile: &mut Resource, old: &Tree, results: &mut Results) -> Result<(), FieldError> {
    let root = kptfile.root();
    let tree = &mut kptfile.tree;
    let Some(metadata) = field::mapping_at(tree, root, &["packageMetadata"], false)? else { return Ok(()) };
    tree.remove(root, "packageMetadata");
    let info = tree.mapping(Style::Block);
    for (from, to) in INFO {
        let Some(value) = old.get(metadata, from).filter(|value| !old.is_null(*value)) else { continue };
        let mut copy = tree.copy_from(old, value);
        if to == "emails" {
            let list = tree.sequence(Style::Block);
            tree.push(list, copy);
            copy = list;
        }
        tree.set(info, to, copy);
    }
    if !tree.is_empty(info) {
        tree.set(root, "info", info);
    }
    say(kptfile, "Transformed \"packageMetadata\" to \"info\"", results);
    Ok(())
}

fn add_step(kptfile: &mut Resource, image: &str, config_path: &str) -> Result<(), FieldError> {
    let root = kptfile.root();
    let tree = &mut kptfile.tree;
    let Some(pipeline) = field::mapping_at(tree, root, &["pipeline"], true)? else { return Ok(()) };
    let mutators = match tree.get(pipeline, "mutators") {
        Some(list) if tree.is_sequence(list) => list,
        Some(other) if !tree.is_null(other) => {
            return Err(FieldError::at(tree, other, &["pipeline", "mutators"], "a list"));
        }
        _ => {
            let list = tree.sequence(Style::Block);
            tree.set(pipeline, "mutators", list);
            list
        }
    };
    let (step, image, path) = (tree.mapping(Style::Block), tree.string(image), tree.string(config_path));
    tree.set(step, "image", image);
    tree.set(step, "configPath", path);
    tree.push(mutators, step);
    Ok(())
}

fn set(object: &mut Resource, map: NodeId, key: &str, text: &str) {
    if let Some(old) = object.tree.get(map, key) {
        object.tree.set_string(old, text);
    } else {
        let value = object.tree.string(text);
        object.tree.set(map, key, value);
    }
}

/// A list in flow style, as setters had it, becomes a block list; any other text stays.
fn as_block(text: &str) -> String {
    let parsed = Tree::parse(text, &ParseLimits { depth: 8, bytes: 1 << 20, ..ParseLimits::default() });
    match parsed {
        Ok(Some(tree)) if tree.is_sequence(tree.root()) && tree.elements(tree.root()).all(|id| tree.is_scalar(id)) => {
            let elements: Vec<&str> = tree.elements(tree.root()).map(|id| tree.text(id)).collect();
            block_list(&elements)
        }
        _ => text.to_owned(),
    }
}

/// The `ConfigMap` with the values of the setters.
fn setters_file(values: &BTreeMap<String, String>, path: &str) -> Result<Resource, String> {
    let mut tree = Tree::new_mapping();
    let root = tree.root();
    for (key, text) in [("apiVersion", "v1"), ("kind", "ConfigMap")] {
        let value = tree.string(text);
        tree.set(root, key, value);
    }
    let (metadata, data, name) = (tree.mapping(Style::Block), tree.mapping(Style::Block), tree.string("setters"));
    tree.set(metadata, "name", name);
    tree.set(root, "metadata", metadata);
    for (key, text) in values {
        let value = match text.as_str() {
            "" => tree.scalar("", Style::DoubleQuoted),
            text if text.contains('\n') => tree.scalar(text, Style::Literal),
            text => tree.string(text),
        };
        tree.set(data, key, value);
    }
    tree.set(root, "data", data);
    let mut object = Resource::new(tree).map_err(|error| error.to_string())?;
    object.set_annotation(annotations::PATH, path);
    Ok(object)
}

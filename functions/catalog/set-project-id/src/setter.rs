//! The setter `project-id` in the pipelines of the package.

use std::collections::HashMap;

use portico_fn::yaml::{NodeId, Style};
use portico_fn::{FieldError, KubeObject, Resource, field};

use crate::KEY;

/// What the image of a function that fills setters contains.
const APPLY_SETTERS: &str = "apply-setters";
/// The function that is added where there is none.
const IMAGE: &str = "gcr.io/kpt-fn/apply-setters:v0.2";
const NO_KPTFILE: &str = "failed to find Kptfile: unable to find Kptfile, please include --include-meta-resources flag \
                          if a Kptfile is present";

/// What a pipeline has for setters.
enum Setters {
    /// The step holds them itself.
    Step(NodeId),
    /// They are the `data` of the object in this file.
    File(String),
    /// No step fills setters.
    Missing,
}

/// Gives the setter a value in the pipeline of every Kptfile, unless it has one; the error is a message.
pub(crate) fn set(items: &mut [Resource], project: &str) -> Result<(), String> {
    let kptfiles: Vec<usize> =
        (0..items.len()).filter(|index| items[*index].is_gvk("kpt.dev", "", "Kptfile")).collect();
    if kptfiles.is_empty() {
        return Err(NO_KPTFILE.to_owned());
    }
    let mut files: HashMap<String, usize> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        if let Some(path) = item.path() {
            files.entry(path.to_owned()).or_insert(index);
        }
    }
    for index in kptfiles {
        match setters(&items[index])? {
            Setters::Step(step) => fill(&mut items[index], step, "configMap", project)?,
            Setters::File(path) => {
                let path = beside(&items[index], &path);
                let found = files.get(&path);
                let found =
                    found.ok_or_else(|| format!("no object of the package is in `{path}`, the file of the setters"))?;
                let object = &mut items[*found];
                let root = object.root();
                fill(object, root, "data", project)?;
            }
            Setters::Missing => add_step(&mut items[index], project).map_err(|error| error.to_string())?,
        }
    }
    Ok(())
}

/// The first step that fills setters.
fn setters(kptfile: &Resource) -> Result<Setters, String> {
    let tree = &kptfile.tree;
    let Some(steps) = tree.get_path(kptfile.root(), &["pipeline", "mutators"]) else { return Ok(Setters::Missing) };
    let Some(step) = tree
        .elements(steps)
        .find(|step| tree.text_at(*step, &["image"]).is_some_and(|image| image.contains(APPLY_SETTERS)))
    else {
        return Ok(Setters::Missing);
    };
    let path = tree.text_at(step, &["configPath"]).unwrap_or_default();
    if tree.get(step, "configMap").is_some() {
        Ok(Setters::Step(step))
    } else if path.is_empty() {
        Err(format!("the step `{APPLY_SETTERS}` has neither a `configMap` nor a `configPath`"))
    } else {
        Ok(Setters::File(path.to_owned()))
    }
}

/// A path as the Kptfile means it: from its own directory.
fn beside(kptfile: &Resource, path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    match kptfile.path().and_then(|own| own.rsplit_once('/')) {
        Some((directory, _)) => format!("{directory}/{path}"),
        None => path.to_owned(),
    }
}

/// Sets the key in a mapping below a node where it is missing or empty.
fn fill(object: &mut Resource, at: NodeId, map: &str, project: &str) -> Result<(), String> {
    let tree = &object.tree;
    let filled = tree.text_at(at, &[map, KEY]).is_some_and(|text| !text.is_empty());
    if filled && !tree.get_path(at, &[map, KEY]).is_some_and(|id| tree.is_null(id)) {
        return Ok(());
    }
    field::set_nested_string(&mut object.tree, at, &[map, KEY], project).map_err(|error| error.to_string())
}

fn add_step(kptfile: &mut Resource, project: &str) -> Result<(), FieldError> {
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
    if tree.is_empty(mutators) {
        tree.set_style(mutators, Style::Block);
    }
    let (step, config) = (tree.mapping(Style::Block), tree.mapping(Style::Block));
    let (image, value) = (tree.string(IMAGE), tree.string(project));
    tree.set(step, "image", image);
    tree.set(config, KEY, value);
    tree.set(step, "configMap", config);
    tree.push(mutators, step);
    Ok(())
}

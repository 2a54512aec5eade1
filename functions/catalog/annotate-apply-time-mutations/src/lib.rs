#![doc = include_str!("../README.md")]

mod comment;
mod mutation;
#[cfg(test)]
mod tests;

use portico_fn::yaml::{NodeId, Style, Tree};
use portico_fn::{Error, KubeObject, Output, Resource, ResourceList, Results, Severity, Verdict, config, run};
use setters_core::{Path, Step, Visitor, walk};

use crate::comment::Marked;
use crate::mutation::{Reference, Spec, Substitution, from_yaml, to_yaml};

/// On an object: what is to be filled in when it is applied.
const ANNOTATION: &str = "config.kubernetes.io/apply-time-mutation";
const GROUP: &str = "fn.kpt.dev";
const KIND: &str = "ApplyTimeMutation";

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
    let items = &mut list.items;
    for item in items.iter_mut() {
        from_comments(item, &mut results);
    }
    for at in 0..items.len() {
        if items[at].is_gvk(GROUP, "v1alpha1", KIND) {
            from_object(items, at, &mut results);
        }
    }
    let verdict = Verdict::from(!results.has_errors());
    list.results = results.into_vec();
    verdict
}

/// Puts the substitutions of an `ApplyTimeMutation` on its target.
fn from_object(items: &mut [Resource], at: usize, results: &mut Results) {
    let spec = match config::decode::<mutation::Object>(&items[at]) {
        Ok(object) => object.spec,
        Err(error) => return results.about(&items[at], Severity::Error, error.to_string()),
    };
    if let Err(message) = spec.check() {
        return results.about(&items[at], Severity::Error, message);
    }
    let Spec { target_ref, substitutions } = spec;
    let Some(target) = items.iter().position(|item| target_ref.names(item)) else {
        let message = format!("`spec.targetRef`: the package has no object {target_ref}");
        return results.about(&items[at], Severity::Error, message);
    };
    let noted: Vec<(String, Option<String>)> =
        substitutions.iter().map(|substitution| (substitution.target_path.clone(), None)).collect();
    annotate(&mut items[target], substitutions, noted, results);
}

/// Finds the comments of an object and notes what they ask for.
fn from_comments(item: &mut Resource, results: &mut Results) {
    let mut found = Found { hits: Vec::new() };
    let Ok(()) = walk(&item.tree, &mut found);
    let mut substitutions = Vec::new();
    let mut noted = Vec::new();
    let mut edits = Vec::new();
    let mut tokens = 0;
    for hit in found.hits {
        let Hit { id, path, text, current } = hit;
        let marked = match Marked::read(&text, &mut tokens) {
            Ok(marked) => marked,
            Err(message) => {
                results.about_field(item, Severity::Error, message, &path, Some(&current), None);
                continue;
            }
        };
        if let Some(value) = &marked.value {
            edits.push((id, value.clone()));
        }
        noted.push((path.clone(), Some(current)));
        substitutions.extend(marked.references.into_iter().map(|(source, token)| Substitution {
            source_ref: source.object,
            source_path: source.path,
            target_path: path.clone(),
            token,
        }));
    }
    if results.has_errors() || substitutions.is_empty() {
        return;
    }
    for (id, value) in edits {
        item.tree.set_string(id, &value);
    }
    annotate(item, substitutions, noted, results);
}

/// Adds substitutions to those that the object has, and reports each field.
fn annotate(item: &mut Resource, new: Vec<Substitution>, noted: Vec<(String, Option<String>)>, results: &mut Results) {
    let mut all = match item.annotation(ANNOTATION).filter(|text| !text.is_empty()).map(from_yaml).transpose() {
        Ok(known) => known.unwrap_or_default(),
        Err(reason) => {
            let message = format!("the annotation `{ANNOTATION}` is no list of substitutions: {reason}");
            return results.about(item, Severity::Error, message);
        }
    };
    for substitution in new {
        if !all.contains(&substitution) {
            all.push(substitution);
        }
    }
    let text = match to_yaml(&all) {
        Ok(text) => text,
        Err(reason) => return results.about(item, Severity::Error, reason),
    };
    let root = item.root();
    let tree = &mut item.tree;
    let metadata = tree.ensure_mapping(root, "metadata");
    let annotations = tree.ensure_mapping(metadata, "annotations");
    if tree.is_empty(annotations) {
        tree.set_style(annotations, Style::Block);
    }
    let value = tree.scalar(&text, Style::Literal);
    tree.set(annotations, ANNOTATION, value);
    for (path, current) in noted {
        let message = "the field is filled in when the package is applied";
        results.about_field(item, Severity::Info, message, &path, current.as_deref(), None);
    }
}

/// A field with a comment of ours.
struct Hit {
    id: NodeId,
    /// `$.spec.containers[0].image`.
    path: String,
    /// What follows the mark.
    text: String,
    current: String,
}

struct Found {
    hits: Vec<Hit>,
}

impl Visitor for Found {
    type Error = std::convert::Infallible;

    fn list(&mut self, _: &Tree, _: NodeId, _: NodeId, _: &Path<'_>) -> Result<bool, Self::Error> {
        Ok(true)
    }

    fn scalar(&mut self, tree: &Tree, key: Option<NodeId>, id: NodeId, path: &Path<'_>) -> Result<(), Self::Error> {
        // The comment of an empty value hangs at its key.
        let comment = tree.line_comment(id).or_else(|| tree.line_comment(key?));
        if let Some(text) = comment.and_then(comment::marked) {
            let (text, current) = (text.to_owned(), tree.text(id).to_owned());
            self.hits.push(Hit { id, path: json_path(tree, path), text, current });
        }
        Ok(())
    }
}

/// The way to a field as `JSONPath`; keys that are no plain words stand in brackets.
fn json_path(tree: &Tree, path: &Path<'_>) -> String {
    let mut out = vec!["$".to_owned()];
    for step in path.steps() {
        out.push(match step {
            Step::Index { index, .. } => format!("[{index}]"),
            Step::Key { key, .. } => {
                let key = tree.text(*key);
                let word = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
                if word {
                    format!(".{key}")
                } else {
                    format!("[\"{}\"]", key.replace('\\', "\\\\").replace('"', "\\\""))
                }
            }
        });
    }
    out.concat()
}

impl Reference {
    /// Whether this names the object: group or apiVersion, kind, namespace and name.
    fn names(&self, item: &Resource) -> bool {
        let group = match self.api_version.as_str() {
            "" => self.group == portico_fn::group(item.api_version()),
            version => version == item.api_version(),
        };
        group && self.kind == item.kind() && self.name == item.name() && self.namespace == item.namespace()
    }
}

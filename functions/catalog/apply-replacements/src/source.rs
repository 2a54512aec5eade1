//! Finding the value that is put elsewhere.

use portico_fn::yaml::{Kind, NodeId, Tree};
use portico_fn::{Resource, plain_copy};

use crate::Failure;
use crate::path::{FieldPath, Step};
use crate::select::Identity;
use crate::settings::{Options, Source, SourceSelector};
use crate::value::Value;

/// The value of a source.
pub(crate) fn find(items: &[Resource], identities: &[Vec<Identity>], source: &Source) -> Result<Value, Failure> {
    match source {
        Source::Given(value) => Ok(value.clone()),
        Source::Field { selector, path } => {
            let index = select(identities, selector).map_err(Failure::general)?;
            value_of(&items[index], selector, path).map_err(|message| Failure { message, item: Some(index) })
        }
    }
}

fn select(identities: &[Vec<Identity>], selector: &SourceSelector) -> Result<usize, String> {
    let mut found =
        identities.iter().enumerate().filter(|(_, all)| all.iter().any(|identity| identity.is_source(selector)));
    let (first, _) = found.next().ok_or_else(|| format!("nothing selected by {}", describe(selector)))?;
    match found.next() {
        None => Ok(first),
        Some(_) => Err(format!("multiple matches for selector {}", describe(selector))),
    }
}

/// `apps/v1 Deployment web in namespace prod`, as far as it is given.
fn describe(selector: &SourceSelector) -> String {
    let api: Vec<&str> = [&*selector.group, &*selector.version].into_iter().filter(|part| !part.is_empty()).collect();
    let api = api.join("/");
    let parts = [&*api, &*selector.kind, &*selector.name];
    let mut text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    if !selector.namespace.is_empty() {
        let joint = if text.is_empty() { "" } else { " " };
        text = format!("{text}{joint}in namespace {}", selector.namespace);
    }
    if text.is_empty() { "a source that gives neither kind nor name".to_owned() } else { text }
}

fn value_of(item: &Resource, selector: &SourceSelector, path: &FieldPath) -> Result<Value, String> {
    let missing = || format!("fieldPath `{}` is missing for replacement source {}", path.text, describe(selector));
    let node = lookup(&item.tree, path)?.filter(|id| !is_nothing(&item.tree, *id)).ok_or_else(missing)?;
    let value = if Value::needs_expansion(&item.tree, node) {
        // aliases mean something in their own document only
        let plain = plain_copy(item, false).map_err(|error| error.to_string())?;
        let node = lookup(&plain.tree, path)?.ok_or_else(missing)?;
        Value::copy_of(&plain.tree, node)?
    } else {
        Value::copy_of(&item.tree, node)?
    };
    part_of(value, &selector.options)
}

/// Null, an empty mapping or an empty list.
fn is_nothing(tree: &Tree, id: NodeId) -> bool {
    tree.is_null(id) || matches!(tree.kind(id), Kind::Mapping | Kind::Sequence) && tree.is_empty(id)
}

/// The one node at a path.
fn lookup(tree: &Tree, path: &FieldPath) -> Result<Option<NodeId>, String> {
    let mut at = tree.root();
    for step in &path.steps {
        let next = match (tree.kind(at), step) {
            (Kind::Mapping, Step::Key(key)) => tree.get(at, key),
            (Kind::Sequence, Step::Key(_)) => step.index().and_then(|index| tree.elements(at).nth(index)),
            (Kind::Sequence, Step::Element { field, value }) => {
                tree.elements(at).find(|element| crate::write::is_element(tree, *element, field, value))
            }
            (Kind::Sequence, Step::Every) => {
                let mut all = tree.elements(at);
                let first = all.next();
                if all.next().is_some() {
                    return Err(format!("fieldPath `{}` leads to more than one field of the source", path.text));
                }
                first
            }
            _ => None,
        };
        let Some(next) = next else { return Ok(None) };
        at = next;
    }
    Ok(Some(at))
}

/// The part of a text that the options ask for.
fn part_of(value: Value, options: &Options) -> Result<Value, String> {
    if options.delimiter.is_empty() {
        return Ok(value);
    }
    let text = value.text().ok_or("delimiter option can only be used with scalar nodes")?;
    let part = usize::try_from(options.index).ok().and_then(|index| text.split(options.delimiter.as_str()).nth(index));
    match part {
        Some(part) => Ok(value.with_text(part)),
        None => Err(format!("options.index {} is out of bounds for value {text}", options.index)),
    }
}

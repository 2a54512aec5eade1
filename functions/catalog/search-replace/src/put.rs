//! Putting values and comments.

use go_regex::Captures;
use portico_fn::yaml::{EmitOptions, NodeId, Style, Tree, emit};
use portico_fn::{FieldError, Resource};
use setters_core::{FieldType, assign, field_type_at};

use crate::Hit;

/// Sets the field at a path without wildcards, and makes what is missing.
pub(crate) fn at_path(object: &mut Resource, path: &str, value: &str, comment: Option<&str>) -> Result<Hit, String> {
    let mut rest: Vec<&str> = path.split('.').collect();
    let mut keys: Vec<String> = Vec::new();
    let mut map = object.root();
    let id = loop {
        let (mut taken, found) = entry(&object.tree, map, &rest);
        if found.is_none() && is_metadata_map(&keys) {
            taken = rest.len();
        }
        keys.push(rest[..taken].join("."));
        rest.drain(..taken);
        let key = keys.last().map_or("", String::as_str);
        let last = rest.is_empty();
        let known = if last { field_type_at(object, &keys) } else { None };
        let tree = &mut object.tree;
        match found.filter(|id| !tree.is_null(*id)) {
            Some(id) if last => {
                assign(tree, id, value, known);
                break id;
            }
            Some(id) if tree.is_mapping(id) => map = id,
            Some(id) => return Err(FieldError::at(tree, id, &keys, "a mapping").to_string()),
            None if last => {
                let new = match known {
                    Some(FieldType::Text) => tree.string(value),
                    _ => tree.scalar(value, Style::Plain),
                };
                set_keeping_comments(tree, map, key, new);
                break new;
            }
            None => map = tree.ensure_mapping(map, key),
        }
    };
    if let Some(comment) = comment {
        object.tree.set_line_comment(id, Some(&comment_text(comment, path)?));
    }
    Ok(Hit { path: path.to_owned(), value: value.to_owned() })
}

/// True for the mappings of `metadata` whose keys have dots in them.
fn is_metadata_map(keys: &[String]) -> bool {
    matches!(keys, [metadata, map] if metadata == "metadata" && (map == "annotations" || map == "labels"))
}

/// Sets the value of a key; what stood beside the old value, a null, stays.
fn set_keeping_comments(tree: &mut Tree, map: NodeId, key: &str, new: NodeId) {
    let old = tree.get(map, key).and_then(|old| tree.comments(old)).cloned();
    tree.set(map, key, new);
    if let Some(old) = old {
        tree.edit_comments(new, |comments| *comments = old);
    }
}

/// The value of the key that is the first parts of a path: one part, or as many as there is a key with dots for. The
/// number of parts, 1 where there is no such key.
fn entry(tree: &Tree, map: NodeId, parts: &[&str]) -> (usize, Option<NodeId>) {
    // keys that begin as the path does, the longest one first
    let path = parts.join(".");
    let fits = |key: &str| path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let found = tree.entries(map).filter(|(key, _)| tree.is_scalar(*key) && fits(tree.text(*key)));
    match found.max_by_key(|(key, _)| tree.text(*key).len()) {
        Some((key, value)) => (tree.text(key).split('.').count(), Some(value)),
        None => (1, None),
    }
}

/// A comment as the tree holds it.
pub(crate) fn comment_text(text: &str, path: &str) -> Result<String, String> {
    if text.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']) {
        return Err(format!("the comment for `{path}` would have several lines"));
    }
    Ok(if text.starts_with('#') { text.to_owned() } else { format!("# {text}") })
}

/// A text with what the groups of a match stand for in the place of `${1}`, `${2}`, …; the text itself without a match.
/// A number without a group is an error.
pub(crate) fn filled(text: &str, found: Option<&Captures<'_>>) -> Result<String, String> {
    let Some(found) = found else { return Ok(text.to_owned()) };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let digits = rest[start + 2..].bytes().take_while(u8::is_ascii_digit).count();
        let end = start + 2 + digits;
        if digits == 0 || !rest[end..].starts_with('}') {
            out.push_str(&rest[..start + 2]);
            rest = &rest[start + 2..];
            continue;
        }
        out.push_str(&rest[..start]);
        let number = rest[start + 2..end].parse().ok().filter(|number| (1..found.len()).contains(number));
        let number: usize = number.ok_or("unable to resolve capture groups")?;
        out.push_str(found.get(number).map_or("", |group| group.as_str()));
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// A node as YAML, its comment included.
pub(crate) fn shown(tree: &Tree, id: NodeId) -> String {
    let mut out = String::new();
    emit(tree, id, &EmitOptions::default(), &mut out);
    out.trim().to_owned()
}

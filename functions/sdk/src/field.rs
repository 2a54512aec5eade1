//! Reading and writing fields by path, with errors that name the field.

use portico_krm::yaml::{Kind, NodeId, ScalarType, Style, Tree};
use thiserror::Error;

/// A field that is not what a function needs.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{path}` is {found}, expected {expected}")]
pub struct FieldError {
    /// Dotted path from the object's root, `[i]` for list elements.
    pub path: String,
    /// What is there, with its article: `a list`.
    pub found: &'static str,
    /// What should be there, with its article: `a string`.
    pub expected: &'static str,
}

impl FieldError {
    /// The node at `path` is not the one thing that it should be.
    pub fn at<K: AsRef<str>>(tree: &Tree, id: NodeId, path: &[K], expected: &'static str) -> FieldError {
        FieldError { path: dotted(path), found: describe(tree, id), expected }
    }

    /// The same error seen from further up: `parents` lead to where the path started.
    #[must_use]
    pub fn below<K: AsRef<str>>(self, parents: &[K]) -> FieldError {
        let parents = dotted(parents);
        let joint = if parents.is_empty() || self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        FieldError { path: format!("{parents}{joint}{}", self.path), ..self }
    }
}

/// What a node is, in words with their article.
pub fn describe(tree: &Tree, id: NodeId) -> &'static str {
    match tree.kind(id) {
        Kind::Mapping => "a mapping",
        Kind::Sequence => "a list",
        Kind::Alias => "an alias",
        Kind::Scalar => match tree.scalar_type(id) {
            ScalarType::Null => "null",
            ScalarType::Bool => "a boolean",
            ScalarType::Int | ScalarType::Float => "a number",
            _ => "a string",
        },
    }
}

/// Joins the keys of a path with dots; a key `[3]` is appended as it is.
pub fn dotted<K: AsRef<str>>(path: &[K]) -> String {
    let mut out = String::new();
    for key in path {
        let key = key.as_ref();
        if !out.is_empty() && !key.starts_with('[') {
            out.push('.');
        }
        out.push_str(key);
    }
    out
}

/// The mapping at a path of keys below `base`. A missing or null part gives `None`, or is made when `create` is set;
/// anything else that is no mapping is an error.
pub fn mapping_at(tree: &mut Tree, base: NodeId, path: &[&str], create: bool) -> Result<Option<NodeId>, FieldError> {
    let mut at = base;
    for (depth, key) in path.iter().enumerate() {
        at = match tree.get(at, key) {
            Some(next) if tree.is_mapping(next) => next,
            Some(next) if !tree.is_null(next) => return Err(FieldError::at(tree, next, &path[..=depth], "a mapping")),
            _ if !create => return Ok(None),
            _ => tree.ensure_mapping(at, key),
        };
    }
    Ok(Some(at))
}

/// The string at a path of keys below `base`; `None` when a part is missing or null; an error when it is no string.
pub fn nested_string<'t>(tree: &'t Tree, base: NodeId, path: &[&str]) -> Result<Option<&'t str>, FieldError> {
    let mut at = base;
    for (depth, key) in path.iter().enumerate() {
        if !tree.is_mapping(at) {
            return Err(FieldError::at(tree, at, &path[..depth], "a mapping"));
        }
        match tree.get(at, key) {
            Some(next) if !tree.is_null(next) => at = next,
            _ => return Ok(None),
        }
    }
    string_value(tree, at, path).map(Some)
}

/// The text of a node that must be a string; `path` is for the error.
pub fn string_value<'t>(tree: &'t Tree, id: NodeId, path: &[&str]) -> Result<&'t str, FieldError> {
    if is_string(tree, id) { Ok(tree.text(id)) } else { Err(FieldError::at(tree, id, path, "a string")) }
}

/// True for a scalar that reads as a string.
pub fn is_string(tree: &Tree, id: NodeId) -> bool {
    let other = |kind| matches!(kind, ScalarType::Null | ScalarType::Bool | ScalarType::Int | ScalarType::Float);
    tree.is_scalar(id) && !other(tree.scalar_type(id))
}

/// Sets the string at a path of keys below `base`, making what is missing. An equal string keeps its style; a changed
/// one keeps its comments and is quoted only where it has to be.
pub fn set_nested_string(tree: &mut Tree, base: NodeId, path: &[&str], value: &str) -> Result<(), FieldError> {
    let Some((key, parents)) = path.split_last() else { return Ok(()) };
    let Some(map) = mapping_at(tree, base, parents, true)? else { return Ok(()) };
    match tree.get(map, key) {
        Some(old) if is_string(tree, old) && tree.text(old) == value => {}
        Some(old) => tree.set_string(old, value),
        None => {
            let new = tree.string(value);
            tree.set(map, key, new);
        }
    }
    Ok(())
}

/// Reads a mapping of strings; scalars of other types give their text, null gives the empty string, as Go decodes
/// into `map[string]string`.
pub fn string_map(tree: &Tree, id: NodeId, path: &[&str]) -> Result<Vec<(String, String)>, FieldError> {
    if tree.is_null(id) {
        return Ok(Vec::new());
    }
    if !tree.is_mapping(id) {
        return Err(FieldError::at(tree, id, path, "a mapping of strings"));
    }
    let mut out = Vec::with_capacity(tree.len(id));
    for (key, value) in tree.entries(id) {
        if !tree.is_scalar(value) {
            let key = tree.text(key);
            return Err(FieldError::at(tree, value, &[path, &[key]].concat(), "a string"));
        }
        let text = if tree.is_null(value) { "" } else { tree.text(value) };
        out.push((tree.text(key).to_owned(), text.to_owned()));
    }
    Ok(out)
}

/// A node of a kind that an edit can make: an empty block mapping or list, or an empty string.
pub(crate) fn empty_node(tree: &mut Tree, kind: Kind) -> NodeId {
    match kind {
        Kind::Mapping => tree.mapping(Style::Block),
        Kind::Sequence => tree.sequence(Style::Block),
        Kind::Scalar | Kind::Alias => tree.string(""),
    }
}

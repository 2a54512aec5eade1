//! Setting the marked fields of one object.

use std::collections::BTreeMap;

use portico_fn::Resource;
use portico_fn::yaml::{NodeId, Style, Tree, value_eq};
use setters_core::{
    FieldType, MARK, Path, Pattern, Visitor, assign, field_type, go_quoted, listed, replace_elements, walk,
};
use thiserror::Error;

/// The values of the setters.
pub(crate) struct Setters {
    values: BTreeMap<String, String>,
    /// Those that are lists, read once.
    lists: BTreeMap<String, Tree>,
}

/// A field that got its value.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) path: String,
    /// The setters of the field.
    pub(crate) names: Vec<String>,
    /// What it held; empty for lists.
    pub(crate) old: String,
    /// What it holds now; for a list the value of its setter.
    pub(crate) new: String,
}

/// A field that cannot be set.
#[derive(Debug, Error)]
pub(crate) enum ApplyError {
    #[error("values for setters [{names}] must be provided")]
    Missing { names: String, path: String },
    #[error("invalid setter pattern for array node: {}", go_quoted(pattern))]
    ListPattern { pattern: String, path: String },
    #[error("input to array setter must be an array of values, but found {}", go_quoted(value))]
    NoList { value: String, path: String },
}

impl ApplyError {
    /// The field.
    pub(crate) fn path(&self) -> &str {
        match self {
            ApplyError::Missing { path, .. }
            | ApplyError::ListPattern { path, .. }
            | ApplyError::NoList { path, .. } => path,
        }
    }
}

/// What is to be done to one field.
struct Edit {
    kind: EditKind,
    known: Option<FieldType>,
    change: Change,
}

enum EditKind {
    Scalar { id: NodeId, key: Option<NodeId> },
    List { key: NodeId, list: NodeId, setter: String },
}

impl Setters {
    pub(crate) fn new(values: BTreeMap<String, String>) -> Setters {
        let lists = values.iter().filter_map(|(name, value)| Some((name.clone(), listed(value)?))).collect();
        Setters { values, lists }
    }

    /// Sets every marked field of an object that one of the setters is for. Nothing is set when a field cannot be.
    pub(crate) fn apply(&self, object: &mut Resource) -> Result<Vec<Change>, ApplyError> {
        if object.tree.is_without_comments() || self.values.is_empty() {
            return Ok(Vec::new());
        }
        let mut plan = Plan { setters: self, object, edits: Vec::new() };
        walk(&object.tree, &mut plan)?;
        let edits = plan.edits;
        Ok(edits.into_iter().map(|edit| self.perform(&mut object.tree, edit)).collect())
    }

    fn perform(&self, tree: &mut Tree, edit: Edit) -> Change {
        match edit.kind {
            EditKind::Scalar { id, key } => {
                assign(tree, id, &edit.change.new, edit.known);
                if let Some(key) = key {
                    move_comment(tree, key, id);
                }
            }
            EditKind::List { key, list, setter } => match self.lists.get(&setter) {
                Some(values) if !values.is_empty(values.root()) => {
                    if !same_elements(tree, list, values) {
                        replace_elements(tree, list, values, edit.known);
                        tree.set_style(list, Style::Block);
                        move_comment(tree, list, key);
                    }
                }
                _ => {
                    tree.set_children(list, &[]);
                    tree.set_style(list, Style::Flow);
                    move_comment(tree, key, list);
                }
            },
        }
        edit.change
    }
}

/// Moves a setter comment to the node beside it: a key whose list is on the lines below carries it, else the value.
fn move_comment(tree: &mut Tree, from: NodeId, to: NodeId) {
    if let Some(comment) = tree.line_comment(from).filter(|comment| comment.starts_with(MARK)).map(str::to_owned) {
        tree.set_line_comment(from, None);
        tree.set_line_comment(to, Some(&comment));
    }
}

/// True when a list holds just these values already.
fn same_elements(tree: &Tree, list: NodeId, values: &Tree) -> bool {
    value_eq(tree, list, values, values.root())
}

/// Finds the fields that are to be set.
struct Plan<'a> {
    setters: &'a Setters,
    object: &'a Resource,
    edits: Vec<Edit>,
}

impl Plan<'_> {
    /// The pattern of a comment if one of the setters is in it: without that nobody wants the field to be set.
    fn pattern<'c>(&self, comment: Option<&'c str>) -> Option<Pattern<'c>> {
        let pattern = Pattern::of_comment(comment?)?;
        let wanted = pattern.names().any(|name| self.setters.values.contains_key(name));
        wanted.then_some(pattern)
    }

    fn push(&mut self, kind: EditKind, path: &Path<'_>, pattern: &Pattern<'_>, old: &str, new: String) {
        let names = pattern.names().map(str::to_owned).collect();
        let change = Change { path: path.to_string(), names, old: old.to_owned(), new };
        let known = field_type(self.object, path);
        self.edits.push(Edit { kind, known, change });
    }
}

impl Visitor for Plan<'_> {
    type Error = ApplyError;

    fn list(&mut self, tree: &Tree, key: NodeId, list: NodeId, path: &Path<'_>) -> Result<bool, ApplyError> {
        // behind the key where the elements are on lines of their own, behind the list in flow style
        let comment = [key, list].into_iter().find_map(|id| tree.line_comment(id).filter(|c| c.starts_with(MARK)));
        let Some(pattern) = self.pattern(comment) else { return Ok(true) };
        let Some(name) = pattern.only_name() else {
            return Err(ApplyError::ListPattern { pattern: pattern.text().to_owned(), path: path.to_string() });
        };
        let value = self.setters.values.get(name).cloned().unwrap_or_default();
        if !value.is_empty() && !self.setters.lists.contains_key(name) {
            return Err(ApplyError::NoList { value, path: path.to_string() });
        }
        let kind = EditKind::List { key, list, setter: name.to_owned() };
        self.push(kind, path, &pattern, "", value);
        Ok(false)
    }

    fn scalar(&mut self, tree: &Tree, key: Option<NodeId>, id: NodeId, path: &Path<'_>) -> Result<(), ApplyError> {
        // behind nothing at all there is only the key that the comment can belong to
        let key = key.filter(|_| tree.is_null(id) && tree.line_comment(id).is_none());
        let comment = tree.line_comment(key.unwrap_or(id));
        let Some(pattern) = self.pattern(comment) else { return Ok(()) };
        let values = &self.setters.values;
        let old = tree.text(id);
        let given = |name: &str| values.get(name).map(String::as_str);
        let new = pattern.fill(given).or_else(|_| {
            let derived: BTreeMap<&str, &str> = pattern.values_in(old).into_iter().collect();
            pattern.fill(|name| given(name).or_else(|| derived.get(name).copied()))
        });
        let new = new.map_err(|missing| {
            let names: Vec<String> = missing.iter().map(|name| format!("${{{name}}}")).collect();
            ApplyError::Missing { names: names.join(" "), path: path.to_string() }
        })?;
        self.push(EditKind::Scalar { id, key }, path, &pattern, old, new);
        Ok(())
    }
}

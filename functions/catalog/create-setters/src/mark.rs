//! Giving fields their setter comments.

use std::convert::Infallible;

use portico_fn::yaml::{NodeId, Style, Tree};
use portico_fn::{Resource, annotations};
use setters_core::{MARK, Path, Step, Visitor, walk};

use crate::setters::Setters;

/// A field that got a setter comment.
#[derive(Debug)]
pub(crate) struct Marked {
    pub(crate) path: String,
    /// What the comment says behind its mark.
    pub(crate) pattern: String,
    /// What the field holds; a list as `[a b]`.
    pub(crate) value: String,
}

/// Marks every field of an object that holds the value of a setter.
pub(crate) fn mark(object: &mut Resource, setters: &Setters) -> Vec<Marked> {
    let mut plan = Plan { setters, edits: Vec::new() };
    let Ok(()) = walk(&object.tree, &mut plan);
    let tree = &mut object.tree;
    let mut marked = Vec::with_capacity(plan.edits.len());
    for edit in plan.edits {
        for (key, collection) in edit.open {
            open(tree, key, collection);
        }
        let place = match edit.place {
            Place::Value(id) => id,
            Place::List { key, list } if tree.is_empty(list) => {
                tree.set_style(list, Style::Flow);
                tree.set_line_comment(key, None);
                list
            }
            Place::List { key, list } => {
                open(tree, None, list);
                tree.set_line_comment(list, None);
                key
            }
        };
        tree.set_line_comment(place, Some(&format!("{MARK}{}", edit.marked.pattern)));
        marked.push(edit.marked);
    }
    marked
}

/// Writes the elements of a collection on lines of their own: only there they can have comments. Its own comment goes
/// with its key.
fn open(tree: &mut Tree, key: Option<NodeId>, collection: NodeId) {
    if tree.style(collection) != Style::Flow {
        return;
    }
    tree.set_style(collection, Style::Block);
    if let Some(key) = key.filter(|key| tree.line_comment(*key).is_none()) {
        let comment = tree.line_comment(collection).map(str::to_owned);
        tree.set_line_comment(collection, None);
        tree.set_line_comment(key, comment.as_deref());
    }
}

struct Edit {
    place: Place,
    /// Collections around the field that are written in flow style, with their keys.
    open: Vec<(Option<NodeId>, NodeId)>,
    marked: Marked,
}

enum Place {
    Value(NodeId),
    List { key: NodeId, list: NodeId },
}

struct Plan<'a> {
    setters: &'a Setters,
    edits: Vec<Edit>,
}

impl Plan<'_> {
    fn push(&mut self, tree: &Tree, path: &Path<'_>, place: Place, pattern: String, value: String) {
        let mut key = None;
        let mut open = Vec::new();
        for step in path.steps() {
            let (collection, next) = match step {
                Step::Key { map, key } => (*map, Some(*key)),
                Step::Index { list, .. } => (*list, None),
            };
            if tree.style(collection) == Style::Flow {
                open.push((key, collection));
            }
            key = next;
        }
        self.edits.push(Edit { place, open, marked: Marked { path: path.to_string(), pattern, value } });
    }
}

impl Visitor for Plan<'_> {
    type Error = Infallible;

    fn list(&mut self, tree: &Tree, key: NodeId, list: NodeId, path: &Path<'_>) -> Result<bool, Infallible> {
        if !self.setters.has_lists() {
            return Ok(true);
        }
        let mut texts: Vec<String> = tree.elements(list).map(|element| tree.text(element).to_owned()).collect();
        texts.sort();
        if let Some(name) = self.setters.list(&texts) {
            let (pattern, value) = (format!("${{{name}}}"), format!("[{}]", texts.join(" ")));
            self.push(tree, path, Place::List { key, list }, pattern, value);
        }
        Ok(true)
    }

    fn scalar(&mut self, tree: &Tree, key: Option<NodeId>, id: NodeId, path: &Path<'_>) -> Result<(), Infallible> {
        let text = tree.text(id);
        let several_lines = text.contains('\n') || matches!(tree.style(id), Style::Literal | Style::Folded);
        if several_lines || key.is_some_and(|key| annotations::is_internal(tree.text(key))) {
            return Ok(());
        }
        if let Some(pattern) = self.setters.pattern(text) {
            self.push(tree, path, Place::Value(id), pattern, text.to_owned());
        }
        Ok(())
    }
}

//! The value that is put elsewhere, and how much may be written.

use portico_fn::yaml::{Kind, NodeId, Style, Tree};

/// Most bytes that one run writes, text and nodes together: replacements can double a value each time.
pub(crate) const MAX_WRITTEN: usize = 32 << 20;
/// Deepest nesting of an object after a replacement.
pub(crate) const MAX_DEPTH: usize = 400;
/// What a node counts besides its text.
const NODE_COST: usize = 16;

/// A value in a tree of its own.
#[derive(Clone)]
pub(crate) struct Value {
    tree: Tree,
    root: NodeId,
    size: Size,
}

/// How large a value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    bytes: usize,
    depth: usize,
}

fn measure(tree: &Tree, root: NodeId) -> Size {
    let mut size = Size::default();
    let mut open = vec![(root, 1)];
    while let Some((id, depth)) = open.pop() {
        size.bytes += NODE_COST + tree.text(id).len();
        size.depth = size.depth.max(depth);
        open.extend(tree.children(id).map(|child| (child, depth + 1)));
    }
    size
}

impl Value {
    /// A copy of a node, comments and styles included.
    pub(crate) fn copy_of(tree: &Tree, id: NodeId) -> Result<Value, String> {
        if tree.is_scalar(id) {
            return Ok(Value::scalar_of(tree, id));
        }
        let size = measure(tree, id);
        if size.depth > MAX_DEPTH {
            return Err(format!("the source is nested more than {MAX_DEPTH} deep"));
        }
        let mut copy = Tree::new_mapping();
        let root = copy.copy_from(tree, id);
        copy.edit_comments(root, |comments| *comments = portico_fn::yaml::Comments::default());
        Ok(Value { tree: copy, root, size })
    }

    /// A copy of a scalar, its type without its comments.
    pub(crate) fn scalar_of(tree: &Tree, id: NodeId) -> Value {
        let mut copy = Tree::new_mapping();
        let root = if portico_fn::field::is_string(tree, id) {
            copy.string(tree.text(id))
        } else {
            copy.scalar(tree.text(id), Style::Plain)
        };
        let size = measure(&copy, root);
        Value { tree: copy, root, size }
    }

    /// True when the node holds aliases or anchors.
    pub(crate) fn needs_expansion(tree: &Tree, id: NodeId) -> bool {
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if tree.kind(id) == Kind::Alias || tree.anchor(id).is_some() {
                return true;
            }
            open.extend(tree.children(id));
        }
        false
    }

    /// The text of a scalar.
    pub(crate) fn text(&self) -> Option<&str> {
        self.tree.is_scalar(self.root).then(|| self.tree.text(self.root))
    }

    /// True for a scalar that is a string.
    pub(crate) fn is_string(&self) -> bool {
        portico_fn::field::is_string(&self.tree, self.root)
    }

    /// The same scalar with another text.
    pub(crate) fn with_text(&self, text: &str) -> Value {
        let mut tree = Tree::new_mapping();
        let root = if self.is_string() { tree.string(text) } else { tree.scalar(text, Style::Plain) };
        let size = measure(&tree, root);
        Value { tree, root, size }
    }

    /// A copy in another tree, `depth` levels below its root.
    pub(crate) fn put(&self, tree: &mut Tree, depth: usize, budget: &mut Budget) -> Result<NodeId, String> {
        if self.size.depth + depth > MAX_DEPTH {
            return Err(format!("the object would be nested more than {MAX_DEPTH} deep"));
        }
        budget.take(self.size.bytes)?;
        Ok(tree.copy_from(&self.tree, self.root))
    }
}

/// What may still be written.
pub(crate) struct Budget(usize);

impl Default for Budget {
    fn default() -> Budget {
        Budget(MAX_WRITTEN)
    }
}

impl Budget {
    /// Takes from it; the error is a message.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), String> {
        match self.0.checked_sub(bytes) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => Err(format!("the replacements write more than {} MiB", MAX_WRITTEN >> 20)),
        }
    }
}

//! Comments of the kpt-style emitter.

use super::NodeId;
use super::emit::Emitter;

/// Comments that wait for their place in the output.
#[derive(Default)]
pub(super) struct Pending<'t> {
    /// Above the node to come.
    pub(super) head: Option<&'t str>,
    /// Behind the node being written.
    pub(super) line: Option<&'t str>,
    /// Below the node being written.
    pub(super) foot: Option<&'t str>,
    /// Below the entry before: goes above `head`.
    pub(super) tail: Option<&'t str>,
    /// Behind a key, whose value decides about the place.
    pub(super) key_line: Option<&'t str>,
    /// Behind a flow collection, from its key.
    pub(super) flow_line: Option<(NodeId, &'t str)>,
}

impl Pending<'_> {
    /// A comment stands behind or below the node.
    pub(super) fn behind(&self) -> bool {
        self.line.is_some() || self.foot.is_some() || self.tail.is_some()
    }
}

impl Emitter<'_, '_> {
    /// Takes the comments of the node that is written next. Those behind and below a collection wait for its end.
    pub(super) fn load_comments(&mut self, id: NodeId) {
        let Some(comments) = self.tree.comments(id) else { return };
        let text = |c: &'_ Option<Box<str>>| c.as_deref().is_some_and(|t| !t.is_empty());
        if text(&comments.head) {
            self.pending.head = comments.head.as_deref();
        }
        if matches!(self.tree.kind(id), super::Kind::Scalar | super::Kind::Alias) {
            if text(&comments.line) {
                self.pending.line = comments.line.as_deref();
            }
            if text(&comments.foot) {
                self.pending.foot = comments.foot.as_deref();
            }
        }
    }

    /// Writes the comment that was left from the entry before and the one above the next.
    pub(super) fn write_head(&mut self) {
        if let Some(tail) = self.pending.tail.take() {
            self.write_indent();
            self.comment(tail);
            self.foot_column = Some(self.entry_column());
        }
        if let Some(head) = self.pending.head.take() {
            self.write_indent();
            self.comment(head);
        }
    }

    /// Writes the comment behind the node, if there is one.
    pub(super) fn write_line(&mut self) {
        if let Some(line) = self.pending.line.take() {
            if !self.whitespace {
                self.out.push(' ');
            }
            self.comment(line);
        }
    }

    /// Writes the comment below the node, if there is one.
    pub(super) fn write_foot(&mut self) {
        if let Some(foot) = self.pending.foot.take() {
            self.write_indent();
            self.comment(foot);
            self.foot_column = Some(self.entry_column());
        }
    }

    /// Writes a comment, each of its lines at the current indentation, a line break behind it. Lines without a `#`
    /// (an edit may bring them) get one.
    fn comment(&mut self, text: &str) {
        let mut open = false;
        for (n, line) in text.split(super::emit_scalar::is_break).enumerate() {
            if n > 0 {
                self.line_break();
                open = false;
            }
            if line.is_empty() {
                continue;
            }
            if n > 0 {
                self.write_indent();
            }
            if !line.starts_with('#') {
                self.out.push_str("# ");
            }
            self.out.push_str(line);
            self.indention = false;
            open = true;
        }
        if open {
            self.line_break();
        }
        self.whitespace = true;
    }
}

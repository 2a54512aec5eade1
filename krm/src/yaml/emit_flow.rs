//! Flow collections of the kpt-style emitter: on one line, broken only where a comment stands inside.

use super::emit::{Context, Emitter, Turn};
use super::{Kind, NodeId};

impl Emitter<'_, '_> {
    pub(super) fn step_flow_sequence(&mut self) {
        let (first, comma_written) = self.begin_flow_item();
        let Some(id) = self.advance() else {
            let id = self.stack.last().map(|f| f.id);
            self.close();
            if self.column() == 0 {
                self.write_indent();
            }
            self.indicator("]", false, false, false);
            self.end_flow(id);
            return;
        };
        self.load_comments(id);
        if !first && !comma_written {
            self.indicator(",", false, false, false);
        }
        self.write_head();
        if self.column() == 0 {
            self.write_indent();
        }
        let comment = self.pending.behind();
        if let Some(frame) = self.stack.last_mut() {
            frame.comma_written = comment;
        }
        self.node(id, Context { element: false, in_mapping: false, simple_key: false });
        self.flow_comma_and_comments(id);
    }

    pub(super) fn step_flow_mapping(&mut self) {
        let Some(frame) = self.stack.last_mut() else { return };
        if frame.turn != Turn::Item {
            return self.flow_value();
        }
        let tail = frame.tail.take();
        let (first, comma_written) = self.begin_flow_item();
        let Some(key) = self.advance() else {
            let id = self.stack.last().map(|f| f.id);
            // A comment below the mapping brings a comma in front of the brace, too: so does kpt.
            let foot = id.and_then(|id| self.tree.foot_comment(id));
            if (tail.is_some() || foot.is_some()) && !first && !comma_written {
                self.indicator(",", false, false, false);
            }
            self.pending.tail = tail;
            self.write_head();
            self.close();
            if self.column() == 0 {
                self.write_indent();
            }
            self.indicator("}", false, false, false);
            self.end_flow(id);
            return;
        };
        self.load_comments(key);
        self.pending.tail = tail;
        let foot = self.pending.foot.take();
        if !first && !comma_written {
            self.indicator(",", false, false, false);
        }
        self.write_head();
        if self.column() == 0 {
            self.write_indent();
        }
        let simple = self.is_simple_key(key);
        if let Some(frame) = self.stack.last_mut() {
            frame.tail = foot;
            frame.turn = if simple { Turn::Value } else { Turn::LongValue };
        }
        if !simple {
            self.indicator("?", true, false, false);
        }
        let line = self.pending.line.take();
        self.node(key, Context { element: false, in_mapping: true, simple_key: simple });
        self.pending.key_line = line;
    }

    fn flow_value(&mut self) {
        let Some(frame) = self.stack.last_mut() else { return };
        let long = frame.turn == Turn::LongValue;
        frame.turn = Turn::Item;
        self.indicator(":", long, false, false);
        let Some(value) = self.advance() else { return };
        self.load_comments(value);
        let key_line = self.pending.key_line.take();
        if self.pending.line.is_none() {
            match self.tree.kind(value) {
                Kind::Scalar | Kind::Alias => self.pending.line = key_line,
                Kind::Mapping | Kind::Sequence => self.pending.flow_line = key_line.map(|text| (value, text)),
            }
        }
        let comment = self.pending.behind();
        if let Some(frame) = self.stack.last_mut() {
            frame.comma_written = comment;
        }
        self.node(value, Context { element: false, in_mapping: true, simple_key: false });
        self.flow_comma_and_comments(value);
    }

    fn begin_flow_item(&mut self) -> (bool, bool) {
        let Some(frame) = self.stack.last_mut() else { return (true, false) };
        let was = (frame.first, frame.comma_written);
        frame.first = false;
        frame.comma_written = false;
        was
    }

    /// Behind a scalar of a flow collection: a comment would swallow the comma, so the comma goes first.
    fn flow_comma_and_comments(&mut self, id: NodeId) {
        if matches!(self.tree.kind(id), Kind::Mapping | Kind::Sequence) {
            return;
        }
        if self.pending.behind() {
            self.indicator(",", false, false, false);
        }
        self.write_line();
        self.write_foot();
    }

    /// The comments of a flow collection as a whole, behind its bracket.
    fn end_flow(&mut self, id: Option<NodeId>) {
        let Some(id) = id else { return };
        self.pending.line = self.tree.line_comment(id);
        if let Some((owner, text)) = self.pending.flow_line
            && owner == id
        {
            self.pending.flow_line = None;
            self.pending.line = self.pending.line.or(Some(text));
        }
        self.pending.foot = self.tree.foot_comment(id);
        if self.flow_level > 0 && self.pending.behind() {
            self.indicator(",", false, false, false);
            if let Some(frame) = self.stack.last_mut() {
                frame.comma_written = true;
            }
        }
        self.write_line();
        self.write_foot();
    }
}

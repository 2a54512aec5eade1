//! The emitter of kpt style: indent 2, no line folding, comments and styles as the tree holds them.
//!
//! What it writes is what go-yaml v3 writes for the same nodes (see the rules in the crate's documentation of kpt
//! style). Where go-yaml lets a comment slip to a later field (the comment of a block collection, the comment behind a
//! key whose value is a flow collection or an alias), the comment stays with its own field here.
//!
//! Nesting lives on a heap stack: a tree of any depth is written without recursion.

#![expect(clippy::trivially_copy_pass_by_ref, reason = "options grow, and callers hold on to them")]

use super::emit_comments::Pending;
use super::{Kind, NodeId, SeqStyle, Style, Tree};

/// How a tree is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmitOptions {
    /// Position of the dashes.
    pub sequences: SeqStyle,
}

/// Appends the node in kpt style, so that it reads as the same value, a final line break included. Comments of the document itself are left out: see
/// [`emit_document`].
pub fn emit(tree: &Tree, id: NodeId, options: &EmitOptions, out: &mut String) {
    Emitter::new(tree, *options, out).document(id, false);
}

/// Appends the whole document in kpt style, its own comments included, a final line break included.
pub fn emit_document(tree: &Tree, options: &EmitOptions, out: &mut String) {
    if tree.has_root() {
        Emitter::new(tree, *options, out).document(tree.root(), true);
    }
}

/// [`emit_document`] with the two places where kpt's bytes read as another value: breaks in folded scalars and raw line
/// separators (U+2028, U+2029) in quotes. For files in kpt style that no function saw.
pub fn emit_document_as_kpt(tree: &Tree, options: &EmitOptions, out: &mut String) {
    if tree.has_root() {
        let mut emitter = Emitter::new(tree, *options, out);
        emitter.as_kpt = true;
        emitter.document(tree.root(), true);
    }
}

/// Appends the text of one node as it stands inside a document, behind a colon or dash and a space: the lines that
/// follow the first are indented for a parent whose entries stand at `place.column`. Without the comments of the node
/// itself, without a final line break.
pub(crate) fn emit_inline(tree: &Tree, id: NodeId, place: Place, options: &EmitOptions, out: &mut String) {
    let mut emitter = Emitter::new(tree, *options, out);
    emitter.indent = to_indent(place.column);
    emitter.indention = false;
    emitter.flow_level = u32::from(place.flow);
    emitter.node(id, Context { element: place.element, in_mapping: !place.element, simple_key: place.key });
    emitter.run(0);
}

/// Appends what stands behind the colon of `key` or, without a key, behind a dash: a space, the value with the comments
/// beside and in it; or the line break and the lines of a block collection.
pub(crate) fn emit_value(
    tree: &Tree,
    key: Option<NodeId>,
    value: NodeId,
    place: Place,
    options: &EmitOptions,
    out: &mut String,
) {
    let mut emitter = Emitter::new(tree, *options, out);
    emitter.indent = to_indent(place.column);
    emitter.whitespace = false;
    emitter.indention = place.element;
    if place.element {
        // The dash is on the line already.
        emitter.line_start_column = place.column + 1;
    }
    emitter.load_comments(value);
    emitter.pending.head = None;
    emitter.pending.foot = None;
    if key.is_some() {
        emitter.pending.key_line = key.and_then(|key| tree.line_comment(key));
        emitter.value_behind_colon(value);
    } else {
        emitter.node(value, Context { element: true, in_mapping: false, simple_key: false });
        emitter.write_line();
    }
    emitter.run(0);
}

/// Appends `count` entries or elements of a collection, `first` and those behind it, as whole lines of a block
/// collection whose keys or dashes stand at `column`, their comments included.
pub(crate) fn emit_children(
    tree: &Tree,
    parent: NodeId,
    first: NodeId,
    count: usize,
    column: usize,
    options: &EmitOptions,
    out: &mut String,
) {
    let mut emitter = Emitter::new(tree, *options, out);
    emitter.indent = to_indent(column);
    let is_mapping = tree.is_mapping(parent);
    let step = if is_mapping { 2 } else { 1 };
    let mut until = Some(first);
    for _ in 0..count * step {
        until = until.and_then(|id| tree.next_sibling(id));
    }
    emitter.stack.push(Frame {
        id: parent,
        shape: if is_mapping { Shape::BlockMap } else { Shape::BlockSeq },
        next: Some(first),
        until,
        turn: Turn::Item,
        outer: to_indent(column),
        first: true,
        comma_written: false,
        tail: None,
        partial: true,
    });
    emitter.run(0);
    if emitter.out.len() > emitter.line_start {
        emitter.out.push('\n');
    }
}

/// Where a node is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Column, from 0, of the parent's entries.
    pub(crate) column: usize,
    /// The node is an element of a block sequence.
    pub(crate) element: bool,
    /// The node stands inside a flow collection.
    pub(crate) flow: bool,
    /// The node is a key on one line with its colon.
    pub(crate) key: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    BlockMap,
    BlockSeq,
    FlowMap,
    FlowSeq,
}

/// What comes next in a collection that is being written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// An element, or a key.
    Item,
    /// The value of a key that was written on one line with its colon to come.
    Value,
    /// The value of a key that was written behind `? `.
    LongValue,
}

pub(super) struct Frame<'t> {
    pub(super) id: NodeId,
    pub(super) shape: Shape,
    pub(super) next: Option<NodeId>,
    /// Where to stop; `None` for the end of the collection.
    pub(super) until: Option<NodeId>,
    pub(super) turn: Turn,
    /// Indentation outside of the collection.
    pub(super) outer: i32,
    /// Nothing has been written yet.
    pub(super) first: bool,
    /// In flow collections: a comma was already written, in front of a comment.
    pub(super) comma_written: bool,
    /// The comment below the entry before, which goes above the entry to come.
    pub(super) tail: Option<&'t str>,
    /// Only some of the children are written: comments of the whole are left out.
    pub(super) partial: bool,
}

/// The place of a node in its parent.
#[derive(Clone, Copy)]
pub(super) struct Context {
    pub(super) element: bool,
    pub(super) in_mapping: bool,
    pub(super) simple_key: bool,
}

pub(super) struct Emitter<'t, 'o> {
    pub(super) tree: &'t Tree,
    pub(super) out: &'o mut String,
    options: EmitOptions,
    /// Byte for byte, where kpt's bytes change a value.
    pub(super) as_kpt: bool,
    pub(super) stack: Vec<Frame<'t>>,
    /// Offset in `out` of the line being written.
    pub(super) line_start: usize,
    /// Column at which the line being written starts, when a part of it stands elsewhere.
    line_start_column: usize,
    /// Indentation of the entries of the innermost collection, -1 outside of all.
    pub(super) indent: i32,
    /// The last thing written was white space, or counts as it.
    pub(super) whitespace: bool,
    /// Nothing but indentation and indicators stand on the line.
    pub(super) indention: bool,
    /// Column of the comment below an entry that was just written: the next line at that column is set apart by a blank
    /// line.
    pub(super) foot_column: Option<usize>,
    pub(super) flow_level: u32,
    pub(super) pending: Pending<'t>,
}

impl<'t, 'o> Emitter<'t, 'o> {
    fn new(tree: &'t Tree, options: EmitOptions, out: &'o mut String) -> Self {
        let line_start = out.len();
        Emitter {
            tree,
            out,
            options,
            as_kpt: false,
            stack: Vec::new(),
            line_start,
            line_start_column: 0,
            indent: -1,
            whitespace: true,
            indention: true,
            foot_column: None,
            flow_level: 0,
            pending: Pending::default(),
        }
    }

    fn document(&mut self, root: NodeId, with_comments: bool) {
        if with_comments && let Some(head) = self.tree.document_comments().head.as_deref() {
            self.pending.head = Some(head);
            self.write_head();
            self.line_break();
        }
        self.load_comments(root);
        self.write_head();
        self.node(root, Context { element: false, in_mapping: false, simple_key: false });
        self.write_line();
        self.write_foot();
        self.run(0);
        let below = if with_comments { self.tree.document_comments().foot.as_deref() } else { None };
        for foot in [self.pending.foot.take(), below].into_iter().flatten() {
            self.foot_column = Some(0);
            self.pending.foot = Some(foot);
            self.write_foot();
        }
        self.foot_column = None;
        self.write_indent();
    }

    /// Writes what is on the stack, down to `depth` collections.
    fn run(&mut self, depth: usize) {
        while self.stack.len() > depth {
            let Some(at) = self.stack.last() else { return };
            match at.shape {
                Shape::BlockMap => self.step_block_mapping(),
                Shape::BlockSeq => self.step_block_sequence(),
                Shape::FlowMap => self.step_flow_mapping(),
                Shape::FlowSeq => self.step_flow_sequence(),
            }
        }
    }

    /// Writes a scalar or an alias, or opens a collection. Its comments are loaded already.
    pub(super) fn node(&mut self, id: NodeId, context: Context) {
        let tree = self.tree;
        match tree.kind(id) {
            Kind::Alias => {
                self.indicator("*", true, false, false);
                self.text(tree.text(id));
            }
            Kind::Scalar => self.scalar(id, context),
            kind @ (Kind::Mapping | Kind::Sequence) => {
                self.properties(id);
                let first = tree.children(id).next();
                let flow =
                    self.flow_level > 0 || tree.style(id) == Style::Flow || first.is_none() || context.simple_key;
                let shape = match (kind, flow) {
                    (Kind::Mapping, false) => Shape::BlockMap,
                    (Kind::Mapping, true) => Shape::FlowMap,
                    (_, false) => Shape::BlockSeq,
                    (_, true) => Shape::FlowSeq,
                };
                let outer = self.indent;
                match shape {
                    Shape::BlockMap => self.indent = self.deeper(context.element, false),
                    Shape::BlockSeq => {
                        let compact = self.options.sequences == SeqStyle::Compact
                            && context.in_mapping
                            && (self.column() == 0 || !self.indention);
                        self.indent = self.deeper(context.element, false) - if compact { 2 } else { 0 };
                    }
                    Shape::FlowMap | Shape::FlowSeq => {
                        self.indicator(if shape == Shape::FlowMap { "{" } else { "[" }, true, true, false);
                        self.indent = self.deeper(context.element, true);
                        self.flow_level += 1;
                    }
                }
                self.stack.push(Frame {
                    id,
                    shape,
                    next: first,
                    until: None,
                    turn: Turn::Item,
                    outer,
                    first: true,
                    comma_written: false,
                    tail: None,
                    partial: false,
                });
            }
        }
    }

    /// The indentation one level in.
    pub(super) fn deeper(&self, element: bool, flow: bool) -> i32 {
        if self.indent < 0 {
            return if flow { 2 } else { 0 };
        }
        if element { self.indent + 2 } else { self.indent + 2 - self.indent % 2 }
    }

    pub(super) fn advance(&mut self) -> Option<NodeId> {
        let tree = self.tree;
        let frame = self.stack.last_mut()?;
        let id = frame.next?;
        frame.next = tree.next_sibling(id).filter(|next| Some(*next) != frame.until);
        Some(id)
    }

    pub(super) fn close(&mut self) {
        if let Some(frame) = self.stack.pop() {
            self.indent = frame.outer;
            if matches!(frame.shape, Shape::FlowMap | Shape::FlowSeq) {
                self.flow_level -= 1;
            }
        }
    }

    fn step_block_sequence(&mut self) {
        let Some(id) = self.advance() else {
            let id = self.stack.last().filter(|f| !f.partial).map(|f| f.id);
            self.close();
            self.end_block(id);
            return;
        };
        self.load_comments(id);
        self.block_line_comment_above(id);
        self.write_head();
        self.write_indent();
        self.indicator("-", true, false, true);
        self.node(id, Context { element: true, in_mapping: false, simple_key: false });
        self.write_line();
        self.write_foot();
    }

    /// A line comment of a block collection inside a sequence has no line of its own: it goes above the element.
    fn block_line_comment_above(&mut self, id: NodeId) {
        if self.is_block(id)
            && let Some(line) = self.tree.line_comment(id)
        {
            self.write_head();
            self.pending.head = Some(line);
        }
    }

    fn step_block_mapping(&mut self) {
        let Some(frame) = self.stack.last_mut() else { return };
        if frame.turn != Turn::Item {
            return self.block_value();
        }
        let tail = frame.tail.take();
        let Some(key) = self.advance() else {
            self.pending.tail = tail;
            self.write_head();
            let id = self.stack.last().filter(|f| !f.partial).map(|f| f.id);
            self.close();
            self.end_block(id);
            return;
        };
        self.load_comments(key);
        self.pending.tail = tail;
        let foot = self.pending.foot.take();
        let mut key_line = self.pending.line.take();
        if let (Some(text), Some(value)) = (key_line, self.stack.last().and_then(|f| f.next)) {
            // One line can hold one comment: that of the key goes above when the value has its own.
            let one_line = !self.is_block(value);
            if one_line && self.tree.line_comment(value).is_some() {
                self.write_head();
                self.pending.head = Some(text);
                key_line = None;
            }
        }
        self.write_head();
        self.write_indent();
        self.pending.key_line = key_line;
        let simple = self.is_simple_key(key);
        if let Some(frame) = self.stack.last_mut() {
            frame.tail = foot;
            frame.turn = if simple { Turn::Value } else { Turn::LongValue };
        }
        if !simple {
            self.indicator("?", true, false, true);
        }
        self.node(key, Context { element: false, in_mapping: true, simple_key: simple });
    }

    fn block_value(&mut self) {
        let Some(frame) = self.stack.last_mut() else { return };
        let long = frame.turn == Turn::LongValue;
        frame.turn = Turn::Item;
        if long {
            self.write_indent();
            self.indicator(":", true, false, true);
        } else {
            self.indicator(":", false, false, false);
        }
        // A mapping always holds pairs; a key without a value (a broken edit) reads as null.
        let Some(value) = self.advance() else { return };
        self.load_comments(value);
        self.value_behind_colon(value);
        self.write_foot();
    }

    /// Writes a value whose comments are loaded, with the comment of its key.
    fn value_behind_colon(&mut self, value: NodeId) {
        let key_line = self.pending.key_line.take();
        if self.is_block(value) {
            // The comment of the key, else that of the collection, stands behind the colon.
            let own = self.tree.line_comment(value);
            if let Some(text) = key_line.or(own) {
                self.pending.line = Some(text);
                self.write_line();
            }
            if let (Some(_), Some(text)) = (key_line, own) {
                self.pending.head = Some(match self.pending.head.take() {
                    Some(head) => {
                        self.indent += 2;
                        self.pending.head = Some(head);
                        self.write_head();
                        self.indent -= 2;
                        text
                    }
                    None => text,
                });
            }
        } else if self.tree.line_comment(value).is_none() {
            match self.tree.kind(value) {
                Kind::Scalar | Kind::Alias => self.pending.line = key_line,
                Kind::Mapping | Kind::Sequence => self.pending.flow_line = key_line.map(|text| (value, text)),
            }
        }
        self.node(value, Context { element: false, in_mapping: true, simple_key: false });
        self.write_line();
    }

    /// The comment below a block collection as a whole.
    fn end_block(&mut self, id: Option<NodeId>) {
        if let Some(foot) = id.and_then(|id| self.tree.foot_comment(id)) {
            if self.stack.is_empty() {
                // The document's end writes it, behind a blank line.
                self.pending.foot = Some(foot);
            } else {
                self.pending.foot = Some(foot);
                self.write_foot();
            }
        }
    }

    /// True for a collection that is written by indentation here.
    pub(super) fn is_block(&self, id: NodeId) -> bool {
        matches!(self.tree.kind(id), Kind::Mapping | Kind::Sequence)
            && self.flow_level == 0
            && self.tree.style(id) != Style::Flow
            && !self.tree.is_empty(id)
    }

    /// True when the key can stand on one line with its colon.
    pub(super) fn is_simple_key(&self, id: NodeId) -> bool {
        let tree = self.tree;
        let properties = tree.anchor(id).map_or(0, str::len) + tree.tag(id).map_or(0, str::len);
        match tree.kind(id) {
            Kind::Alias => tree.text(id).len() <= LONGEST_SIMPLE_KEY,
            Kind::Scalar => {
                let text = tree.text(id);
                properties + text.len() <= LONGEST_SIMPLE_KEY && !super::emit_scalar::has_break(text)
            }
            Kind::Mapping | Kind::Sequence => tree.is_empty(id) && properties <= LONGEST_SIMPLE_KEY,
        }
    }

    // ---- what is written ----

    pub(super) fn column(&self) -> usize {
        self.out.len() - self.line_start + self.line_start_column
    }

    pub(super) fn line_break(&mut self) {
        self.out.push('\n');
        self.line_start = self.out.len();
        self.line_start_column = 0;
        self.indention = true;
    }

    /// Starts a line at the current indentation, unless such a line is already open.
    pub(super) fn write_indent(&mut self) {
        let indent = self.entry_column();
        let column = self.column();
        if !self.indention || column > indent || (column == indent && !self.whitespace) {
            self.line_break();
        }
        if self.foot_column == Some(indent) {
            self.line_break();
        }
        let missing = indent.saturating_sub(self.column());
        push_spaces(self.out, missing);
        self.whitespace = true;
        self.foot_column = None;
    }

    /// Column of the entries of the innermost collection.
    pub(super) fn entry_column(&self) -> usize {
        usize::try_from(self.indent).unwrap_or(0)
    }

    pub(super) fn indicator(&mut self, text: &str, space_before: bool, is_white: bool, is_indention: bool) {
        if space_before && !self.whitespace {
            self.out.push(' ');
        }
        self.out.push_str(text);
        self.whitespace = is_white;
        self.indention &= is_indention;
    }

    /// Text that follows without white space.
    pub(super) fn text(&mut self, text: &str) {
        self.out.push_str(text);
        self.whitespace = false;
        self.indention = false;
    }
}

fn to_indent(column: usize) -> i32 {
    i32::try_from(column).unwrap_or(i32::MAX - 4)
}

/// Bytes of anchor, tag and text above which a key is written behind `? `.
const LONGEST_SIMPLE_KEY: usize = 128;

const SPACES: &str = "                                                                ";

pub(super) fn push_spaces(out: &mut String, mut n: usize) {
    while n > 0 {
        let part = n.min(SPACES.len());
        out.push_str(&SPACES[..part]);
        n -= part;
    }
}

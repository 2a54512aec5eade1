//! The parser: tokens straight into the arena, with a stack of its own instead of recursion.
mod block;
mod flow;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::chars::{Facts, survey};
use super::comments::Place;
use super::error::{Fault, Mark, ParseError, Scan};
use super::keys::check_unique;
use super::scan::Scanner;
use super::token::{Token, TokenKind};
use super::tree::{COMMENTED, Comments, IN_BUF, Kind, Node, NodeId, PROPS, Props, Style, Tree};

const NONE: u32 = u32::MAX;

/// Bounds on what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseLimits {
    /// Collections inside each other. Everything that walks a tree may recurse this deep.
    pub depth: u32,
    /// Bytes of one source; never more than 2 GiB.
    pub bytes: usize,
    /// Nodes of all documents of one source: scalars, collections, aliases. Each takes 24 bytes of memory, and as few as
    /// two bytes of text; a comment, a tag or an anchor takes about as much as four more nodes and counts so.
    pub nodes: usize,
    /// Documents of one source, separators with nothing behind them included, or items of one `ResourceList`: each becomes
    /// a tree of its own.
    pub documents: usize,
}

impl Default for ParseLimits {
    /// Depth 500, 256 MiB, 10 million nodes (those of 128 MiB of plain manifests), 200,000 documents.
    fn default() -> ParseLimits {
        ParseLimits { depth: 500, bytes: 256 << 20, nodes: 10_000_000, documents: 200_000 }
    }
}

impl ParseLimits {
    /// No bound but that of the depth, for text whose size something else bounds.
    pub const UNBOUNDED: ParseLimits =
        ParseLimits { depth: 500, bytes: usize::MAX, nodes: usize::MAX, documents: usize::MAX };

    /// Offsets are 32 bits wide, columns signed.
    pub(super) fn check_size(&self, len: usize) -> Result<(), ParseError> {
        let limit = self.bytes.min(i32::MAX as usize);
        if len > limit {
            let message = format!("the text has {len} bytes, more than the limit `yaml.bytes` of {limit}");
            return Err(ParseError::new(message, super::encoding::TOP));
        }
        Ok(())
    }
}

impl Tree {
    /// Reads one document; `None` when there is nothing but comments, or null.
    ///
    /// # Errors
    /// Text that libyaml's grammar refuses, equal keys in one mapping, an alias without its anchor, a second document,
    /// or more than `limits` allow.
    pub fn parse(src: impl Into<Arc<str>>, limits: &ParseLimits) -> Result<Option<Tree>, ParseError> {
        let src = src.into();
        limits.check_size(src.len())?;
        survey(&src)
            .and_then(|facts| parse_document(&src, 0, src.len(), facts, limits))
            .map_err(|fault| fault.into_error(&src, 0))
    }
}

/// Reads the document in `start..end` of a source.
pub(super) fn parse_document(
    src: &Arc<str>,
    start: usize,
    end: usize,
    facts: Facts,
    limits: &ParseLimits,
) -> Scan<Option<Tree>> {
    let mut tree = Tree::empty(Arc::clone(src));
    // One node for about every 14 bytes of a plain manifest; grown when there are more.
    tree.nodes.reserve((end - start) / 14 + 4);
    let mut parser = Parser {
        scanner: Scanner::new(&src[..end], start, facts),
        tree,
        stack: Vec::with_capacity(16),
        depth: limits.depth as usize,
        nodes: limits.nodes,
        last_end: start as u32,
        pending: Pending::default(),
        pending_any: false,
        stem: None,
        handles: HashMap::new(),
        anchors: HashSet::new(),
    };
    let found = parser.document()?;
    let Parser { scanner, mut tree, .. } = parser;
    if !found {
        return Ok(None);
    }
    tree.buf = scanner.buf;
    if tree.is_null(tree.root()) {
        return Ok(None);
    }
    tree.buf.shrink_to_fit();
    tree.nodes.shrink_to_fit();
    Ok(Some(tree))
}

/// What an open collection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    /// `- ` or the end.
    Entry,
    /// `- ` at the column of the key above, or anything else.
    IndentlessEntry,
    /// A key or the end.
    Key,
    Value,
    /// In `[`: an entry or the end; behind the first one a comma comes before it.
    FlowEntry {
        first: bool,
    },
    /// In `{`, likewise.
    FlowKey {
        first: bool,
    },
    FlowValue,
    /// In `{`: the key had no `:`.
    FlowNoValue,
    /// In `[`: key and value of a mapping without braces, and its end.
    PairKey,
    PairValue,
    PairEnd,
}

struct Frame {
    expect: Expect,
    node: NodeId,
    /// Where the collection starts.
    mark: Mark,
    /// Mapping: the current key and the one before, `NONE` where there is none.
    key: u32,
    previous_key: u32,
    /// Mapping: the node being read is a key.
    reads_key: bool,
}

/// Anchor and tag that were read before a node.
#[derive(Default)]
struct Properties {
    anchor: Option<Box<str>>,
    tag: Option<Box<str>>,
    /// There was a tag or anchor, even one that leaves no trace (`!`).
    any: bool,
}

/// Comments that were read and not yet given to a node; empty where there is none.
#[derive(Default)]
struct Pending {
    head: String,
    line: String,
    foot: String,
}

impl Pending {
    fn take(&mut self) -> Comments {
        let take = |text: &mut String| (!text.is_empty()).then(|| std::mem::take(text).into());
        Comments { head: take(&mut self.head), line: take(&mut self.line), foot: take(&mut self.foot) }
    }
}

struct Parser<'s> {
    scanner: Scanner<'s>,
    tree: Tree,
    stack: Vec<Frame>,
    depth: usize,
    /// What is left of [`ParseLimits::nodes`] for this document.
    nodes: usize,
    /// End of the last token that is text.
    last_end: u32,
    /// Comments that wait for the next node which takes some.
    pending: Pending,
    pending_any: bool,
    /// Comment behind the `-` of a collection.
    stem: Option<Box<str>>,
    /// `%TAG` directives.
    handles: HashMap<String, String>,
    anchors: HashSet<Box<str>>,
}

impl Parser<'_> {
    // ---- tokens and their comments ----

    /// The next token.
    #[expect(clippy::inline_always, reason = "returned through memory a token costs more than all else done here")]
    #[inline(always)]
    fn peek(&mut self) -> Scan<Token> {
        if !self.scanner.ready {
            self.fill()?;
        }
        Ok(self.scanner.queue.head())
    }

    fn fill(&mut self) -> Scan<()> {
        self.scanner.fill()?;
        if self.scanner.comments_taken < self.scanner.comments.len() {
            self.take_comments(self.scanner.queue.head());
        }
        Ok(())
    }

    /// Collects the comments that stand before this token.
    fn take_comments(&mut self, token: Token) {
        let comments = &mut self.scanner.comments;
        while let Some(comment) = comments.get_mut(self.scanner.comments_taken) {
            if token.start < comment.token || (comment.place == Place::Head && token.kind == TokenKind::BlockEnd) {
                break;
            }
            let place = match comment.place {
                Place::Head => &mut self.pending.head,
                Place::Line => &mut self.pending.line,
                _ => &mut self.pending.foot,
            };
            if place.is_empty() {
                *place = std::mem::take(&mut comment.text);
            } else {
                place.push('\n');
                place.push_str(&std::mem::take(&mut comment.text));
            }
            comment.place = Place::Taken;
            self.pending_any = true;
            self.scanner.comments_taken += 1;
        }
        if self.scanner.comments_taken == comments.len() {
            comments.clear();
            self.scanner.comments_taken = 0;
        }
    }

    fn skip(&mut self) {
        let token = self.scanner.queue.head();
        if token.kind != TokenKind::BlockEnd {
            self.last_end = self.last_end.max(token.end);
        }
        self.scanner.consume();
    }

    fn take_pending(&mut self) -> Comments {
        self.stem = None;
        self.pending_any = false;
        self.pending.take()
    }

    fn set_comments(&mut self, id: NodeId, comments: Comments) {
        if !comments.is_empty() {
            self.tree.comments.insert(id.0, Box::new(comments));
            self.tree.node_mut(id).flags |= COMMENTED;
        }
    }

    /// Gives the waiting comments to a node that starts.
    fn comment(&mut self, id: NodeId) {
        self.stem = None;
        if self.pending_any {
            let comments = self.take_pending();
            self.set_comments(id, comments);
        }
    }

    // ---- documents ----

    /// Reads the document; false when there is none.
    fn document(&mut self) -> Scan<bool> {
        self.peek()?;
        self.skip();
        let token = self.peek()?;
        match token.kind {
            TokenKind::StreamEnd => return Ok(false),
            TokenKind::Version | TokenKind::TagDirective | TokenKind::DocumentStart => {
                self.directives()?;
                self.skip();
                let token = self.peek()?;
                if matches!(
                    token.kind,
                    TokenKind::Version
                        | TokenKind::TagDirective
                        | TokenKind::DocumentStart
                        | TokenKind::DocumentEnd
                        | TokenKind::StreamEnd
                ) {
                    let id = self.empty_scalar(token.start);
                    self.tree.root = id.0;
                    return self.document_end().map(|()| true);
                }
            }
            _ => self.split_document_head(),
        }
        self.node(true, false)?;
        while let Some(frame) = self.stack.last() {
            let expect = frame.expect;
            if self.tree.weight() > self.nodes {
                let token = self.peek()?;
                let message = "the text has more nodes than the limit `yaml.nodes` allows";
                return Err(Fault::grammar(None, token.mark(), message));
            }
            match expect {
                Expect::Entry => self.entry()?,
                Expect::IndentlessEntry => self.indentless_entry()?,
                Expect::Key => self.key()?,
                Expect::Value => self.value()?,
                Expect::FlowEntry { first } => self.flow_entry(first)?,
                Expect::FlowKey { first } => self.flow_key(first)?,
                Expect::FlowValue => self.flow_value()?,
                Expect::FlowNoValue => {
                    self.peek()?;
                    self.expect(Expect::FlowKey { first: false });
                    self.empty(self.last_end);
                }
                Expect::PairKey => self.pair_key()?,
                Expect::PairValue => self.pair_value()?,
                Expect::PairEnd => {
                    self.peek()?;
                    self.close(None)?;
                }
            }
        }
        self.document_end()?;
        Ok(true)
    }

    fn directives(&mut self) -> Scan<()> {
        let mut versioned = false;
        loop {
            let token = self.peek()?;
            match token.kind {
                TokenKind::Version => {
                    if versioned {
                        return Err(Fault::grammar(None, token.mark(), "found duplicate %YAML directive"));
                    }
                    if (token.a, token.b) != (1, 1) {
                        return Err(Fault::grammar(None, token.mark(), "found incompatible YAML document"));
                    }
                    versioned = true;
                }
                TokenKind::TagDirective => {
                    let (handle, prefix) = std::mem::take(&mut self.scanner.names[token.a as usize]);
                    if self.handles.insert(handle, prefix).is_some() {
                        return Err(Fault::grammar(None, token.mark(), "found duplicate %TAG directive"));
                    }
                }
                TokenKind::DocumentStart => return Ok(()),
                _ => return Err(Fault::grammar(None, token.mark(), "did not find expected <document start>")),
            }
            self.skip();
        }
    }

    /// The comment above the first node, up to its last blank line, belongs to the document.
    fn split_document_head(&mut self) {
        let head = &mut self.pending.head;
        if let Some(text) = head.strip_suffix('\n') {
            self.tree.document.head = Some(text.into());
            head.clear();
        } else if let Some(at) = head.rfind("\n\n") {
            self.tree.document.head = Some(head[..at].into());
            head.drain(..at + 2);
        }
    }

    fn document_end(&mut self) -> Scan<()> {
        let token = self.peek()?;
        if token.kind == TokenKind::DocumentEnd {
            self.skip();
        }
        let Comments { head, foot, .. } = self.take_pending();
        self.tree.document.foot = foot.or(head);
        let mut token = self.peek()?;
        while token.kind == TokenKind::DocumentEnd {
            self.skip();
            token = self.peek()?;
        }
        if token.kind == TokenKind::DocumentStart {
            self.skip();
            if self.peek()?.kind != TokenKind::StreamEnd {
                return Err(Fault::grammar(None, token.mark(), "expected one document but a second one starts here"));
            }
        } else if token.kind != TokenKind::StreamEnd {
            return Err(Fault::grammar(None, token.mark(), "did not find expected <document start>"));
        }
        Ok(())
    }

    // ---- nodes ----

    fn expect(&mut self, expect: Expect) {
        if let Some(frame) = self.stack.last_mut() {
            frame.expect = expect;
        }
    }

    /// Links a new node to the open collection; the first one is the root.
    fn link(&mut self, node: Node) -> NodeId {
        let id = self.tree.push_node(node);
        match self.stack.last() {
            Some(frame) => self.tree.append_child(frame.node, id),
            None => self.tree.root = id.0,
        }
        id
    }

    fn empty_scalar(&mut self, at: u32) -> NodeId {
        let style = Style::Plain;
        self.link(Node { kind: Kind::Scalar, style, flags: 0, start: at, end: at, a: at, b: 0, next: NONE })
    }

    /// An empty scalar in the place of a node; it takes no comments.
    fn empty(&mut self, at: u32) {
        let id = self.empty_scalar(at);
        self.done(id);
    }

    /// A node is complete: foot comments move to the key of the entry that they stand below.
    fn done(&mut self, id: NodeId) {
        let Some(frame) = self.stack.last_mut() else { return };
        if !matches!(self.tree.nodes[frame.node.0 as usize].kind, Kind::Mapping) {
            return;
        }
        let foot = |tree: &mut Tree, id: NodeId| -> Option<Box<str>> {
            tree.comments(id)?.foot.as_ref()?;
            let mut foot = None;
            tree.edit_comments(id, |c| foot = c.foot.take());
            foot
        };
        if frame.reads_key {
            frame.previous_key = std::mem::replace(&mut frame.key, id.0);
            frame.reads_key = false;
            let (previous, node) = (frame.previous_key, frame.node);
            if previous != NONE
                && self.tree.style(node) == Style::Block
                && let Some(text) = foot(&mut self.tree, id)
            {
                self.tree.edit_comments(NodeId(previous), |c| c.foot = Some(text));
            }
        } else {
            let key = NodeId(frame.key);
            if self.tree.foot_comment(key).is_none()
                && let Some(text) = foot(&mut self.tree, id)
            {
                self.tree.edit_comments(key, |c| c.foot = Some(text));
            }
        }
    }

    /// Reads a node: a scalar or alias as a whole, of a collection the start.
    fn node(&mut self, block: bool, indentless: bool) -> Scan<()> {
        let mut token = self.peek()?;
        if token.kind == TokenKind::Alias {
            let name = &self.scanner.text[token.a as usize..(token.a + token.b) as usize];
            if !self.anchors.contains(name) {
                return Err(Fault::lineless(token.mark(), format!("unknown anchor '{name}' referenced")));
            }
            let (start, end, a, b) = (token.start, token.end, token.a, token.b);
            let style = Style::Plain;
            let id = self.link(Node { kind: Kind::Alias, style, flags: 0, start, end, a, b, next: NONE });
            self.comment(id);
            self.skip();
            self.done(id);
            return Ok(());
        }
        let start = token.mark();
        let mut props = Properties::default();
        if matches!(token.kind, TokenKind::Anchor | TokenKind::Tag) {
            props = self.properties(start)?;
            token = self.peek()?;
        }
        match token.kind {
            TokenKind::Entry if indentless => {
                self.open(Kind::Sequence, Style::Block, start, token, props, Expect::IndentlessEntry)?;
            }
            TokenKind::Scalar => {
                let flags = if token.decoded { IN_BUF } else { 0 };
                let (style, end, a, b) = (token.style, token.end, token.a, token.b);
                let kind = Kind::Scalar;
                let id = self.link(Node { kind, style, flags, start: start.pos, end, a, b, next: NONE });
                if props.any {
                    self.set_props(id, props);
                }
                self.comment(id);
                self.skip();
                self.done(id);
            }
            TokenKind::FlowSequenceStart => {
                let expect = Expect::FlowEntry { first: true };
                let id = self.open(Kind::Sequence, Style::Flow, start, token, props, expect)?;
                self.comment(id);
                self.skip();
            }
            TokenKind::FlowMappingStart => {
                let expect = Expect::FlowKey { first: true };
                let id = self.open(Kind::Mapping, Style::Flow, start, token, props, expect)?;
                self.comment(id);
                self.skip();
            }
            TokenKind::SequenceStart if block => {
                let id = self.open(Kind::Sequence, Style::Block, start, token, props, Expect::Entry)?;
                self.give_stem(id);
                self.skip();
            }
            TokenKind::MappingStart if block => {
                let id = self.open(Kind::Mapping, Style::Block, start, token, props, Expect::Key)?;
                self.give_stem(id);
                self.skip();
            }
            _ if props.any => {
                let id = self.empty_scalar(self.last_end);
                self.tree.node_mut(id).start = start.pos;
                self.set_props(id, props);
                self.done(id);
            }
            _ => {
                return Err(Fault::grammar(
                    Some((start, "the node starts here")),
                    token.mark(),
                    "did not find expected node content",
                ));
            }
        }
        Ok(())
    }

    fn give_stem(&mut self, id: NodeId) {
        if let Some(stem) = self.stem.take() {
            self.set_comments(id, Comments { head: Some(stem), ..Comments::default() });
        }
    }

    fn properties(&mut self, start: Mark) -> Scan<Properties> {
        let mut props = Properties { any: true, ..Properties::default() };
        let mut token = self.peek()?;
        let first = token.kind;
        for _ in 0..2 {
            match token.kind {
                TokenKind::Anchor => {
                    let name = &self.scanner.text[token.a as usize..(token.a + token.b) as usize];
                    props.anchor = Some(name.into());
                }
                _ => props.tag = self.tag(token, start)?,
            }
            self.skip();
            token = self.peek()?;
            if token.kind == first || !matches!(token.kind, TokenKind::Anchor | TokenKind::Tag) {
                break;
            }
        }
        Ok(props)
    }

    /// The tag as it is to be written; `None` for `!`, which says nothing.
    fn tag(&mut self, token: Token, start: Mark) -> Scan<Option<Box<str>>> {
        const STANDARD: &str = "tag:yaml.org,2002:";
        let (handle, suffix) = std::mem::take(&mut self.scanner.names[token.a as usize]);
        let tag = match (handle.as_str(), self.handles.get(&handle)) {
            ("", _) => suffix,
            (_, Some(prefix)) => format!("{prefix}{suffix}"),
            ("!", None) => format!("!{suffix}"),
            ("!!", None) => format!("{STANDARD}{suffix}"),
            _ => {
                return Err(Fault::grammar(
                    Some((start, "the node starts here")),
                    token.mark(),
                    "found undefined tag handle",
                ));
            }
        };
        Ok(match tag.as_str() {
            "!" | "" => None,
            tag if tag.starts_with('!') => Some(tag.into()),
            tag => Some(match tag.strip_prefix(STANDARD) {
                Some(short) => format!("!!{short}").into(),
                None => format!("!<{tag}>").into(),
            }),
        })
    }

    fn set_props(&mut self, id: NodeId, props: Properties) {
        if let Some(anchor) = &props.anchor {
            self.anchors.insert(anchor.clone());
        }
        let props = Props { tag: props.tag, anchor: props.anchor };
        if props != Props::default() {
            self.tree.props.insert(id.0, Box::new(props));
            self.tree.node_mut(id).flags |= PROPS;
        }
    }

    /// Starts a collection.
    fn open(
        &mut self,
        kind: Kind,
        style: Style,
        start: Mark,
        token: Token,
        props: Properties,
        expect: Expect,
    ) -> Scan<NodeId> {
        if self.stack.len() >= self.depth {
            let message = format!("nested deeper than the limit `yaml.depth` of {}", self.depth);
            return Err(Fault::grammar(None, token.mark(), message));
        }
        let (end, a, b) = (token.end, NONE, NONE);
        let id = self.link(Node { kind, style, flags: 0, start: start.pos, end, a, b, next: NONE });
        if props.any {
            self.set_props(id, props);
        }
        let (key, previous_key) = (NONE, NONE);
        self.stack.push(Frame { expect, node: id, mark: token.mark(), key, previous_key, reads_key: false });
        Ok(id)
    }

    /// Ends the innermost collection. Line and foot comments of its end replace those of its start.
    fn close(&mut self, end: Option<Comments>) -> Scan<()> {
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        let id = frame.node;
        let is_mapping = self.tree.is_mapping(id);
        self.tree.node_mut(id).end = self.last_end;
        let Comments { line, mut foot, .. } = end.unwrap_or_default();
        if is_mapping
            && frame.key != NONE
            && self.tree.style(id) == Style::Block
            && let Some(text) = foot.take()
        {
            self.tree.edit_comments(NodeId(frame.key), |c| c.foot = Some(text));
        }
        if line.is_some() || foot.is_some() || self.tree.comments(id).is_some() {
            self.tree.edit_comments(id, |c| (c.line, c.foot) = (line, foot));
        }
        if is_mapping {
            check_unique(&self.tree, id, &self.scanner.buf)?;
        }
        self.done(id);
        Ok(())
    }

    fn fail<T>(&mut self, token: Token, message: &str) -> Scan<T> {
        let context = self.stack.last().map(|f| (f.mark, "the collection starts here"));
        Err(Fault::grammar(context, token.mark(), message))
    }
}

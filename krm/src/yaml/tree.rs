//! The arena tree of one YAML document.
//!
//! A [`Tree`] holds the nodes of one document, in one vector, by 32-bit index ([`NodeId`]). The text of a scalar lies
//! in the source, which several trees share (all documents of a file, all items of a `ResourceList`), or in the tree's
//! own buffer where it had to be decoded or was made by an edit. Comments, tags and anchors are rare and live in side
//! tables. Nothing is ever expanded: an alias is a node of its own.
//!
//! Edits never move or reuse a node: a removed node is unlinked and stays in the vector until the tree is dropped.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

pub(crate) const NONE: u32 = u32::MAX;

/// Index of a node in its [`Tree`]. Only meaningful together with the tree that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A single value; its text is [`Tree::text`].
    Scalar,
    /// Keys and values in document order; see [`Tree::entries`].
    Mapping,
    /// Elements in order; see [`Tree::elements`].
    Sequence,
    /// `*name`; the name without the star is [`Tree::text`].
    Alias,
}

/// How a node is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Style {
    /// Scalar without quotes.
    Plain,
    /// `'…'`
    SingleQuoted,
    /// `"…"`
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
    /// Mapping or sequence by indentation.
    Block,
    /// `{…}` or `[…]`
    Flow,
}

/// The comments of a node or document, each with its `#` signs, lines joined by `\n`, blank lines between two
/// blocks kept as empty lines; no indentation. The three places are those of go-yaml v3.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comments {
    /// Lines above the node.
    pub head: Option<Box<str>>,
    /// Behind the node on its own line.
    pub line: Option<Box<str>>,
    /// Lines below the node, before a blank line.
    pub foot: Option<Box<str>>,
}

impl Comments {
    /// True when no comment is there.
    pub fn is_empty(&self) -> bool {
        self.head.is_none() && self.line.is_none() && self.foot.is_none()
    }

    /// The lines of all three, without blank ones.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        let texts = [&self.head, &self.line, &self.foot].into_iter().flatten();
        texts.flat_map(|text| text.lines()).filter(|line| !line.trim().is_empty())
    }
}

/// Tag and anchor of a node, where it has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Props {
    /// As it is to be written: `!!str`, `!custom`, `!<tag:…>`.
    pub(crate) tag: Option<Box<str>>,
    /// Without the `&`.
    pub(crate) anchor: Option<Box<str>>,
}

/// A place in a source: both count from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) style: Style,
    pub(crate) flags: u16,
    /// Span of the node's own text in the source (without comments); `NONE` for a node made by an edit.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Scalar, alias: offset of its text. Collection: first child or `NONE`.
    pub(crate) a: u32,
    /// Scalar, alias: length of its text. Collection: last child or `NONE`.
    pub(crate) b: u32,
    /// Next sibling or `NONE`. Children of a mapping alternate key, value.
    pub(crate) next: u32,
}

/// The text lies in `buf`, not in `src`.
pub(crate) const IN_BUF: u16 = 1;
/// Has an entry in `comments`.
pub(crate) const COMMENTED: u16 = 2;
/// Has an entry in `props`.
pub(crate) const PROPS: u16 = 4;
/// A plain scalar that was set as a string: the emitter quotes it where it would read as another type.
pub(crate) const STRING: u16 = 8;

/// One YAML document.
#[derive(Clone)]
pub struct Tree {
    pub(crate) src: Arc<str>,
    pub(crate) buf: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) comments: BTreeMap<u32, Box<Comments>>,
    pub(crate) props: BTreeMap<u32, Box<Props>>,
    /// Comments of the document itself: above the first node behind a blank line, below the last one.
    pub(crate) document: Comments,
    pub(crate) root: u32,
    /// Where `src` starts in the file that messages speak of: added to line numbers (0 for a whole file).
    pub(crate) line_base: u32,
    /// An edit may have unlinked nodes that are still in the vector.
    pub(crate) unlinked: bool,
}

impl Tree {
    /// A tree whose root is an empty block mapping.
    pub fn new_mapping() -> Tree {
        let mut tree = Tree::empty(Arc::from(""));
        tree.root = tree.mapping(Style::Block).0;
        tree
    }

    /// Its size, as [`ParseLimits::nodes`](super::ParseLimits::nodes) counts it.
    pub(crate) fn weight(&self) -> usize {
        self.nodes.len() + 4 * (self.comments.len() + self.props.len())
    }

    /// A tree without any node; the builder sets the root.
    pub(crate) fn empty(src: Arc<str>) -> Tree {
        Tree {
            src,
            buf: String::new(),
            nodes: Vec::new(),
            comments: BTreeMap::new(),
            props: BTreeMap::new(),
            document: Comments::default(),
            root: NONE,
            line_base: 0,
            unlinked: false,
        }
    }

    /// False for a tree that was made without any node.
    pub fn has_root(&self) -> bool {
        self.root != NONE
    }

    /// Nodes that were ever made, removed ones included.
    pub(crate) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// True when neither the document nor a node has a comment.
    pub fn is_without_comments(&self) -> bool {
        self.comments.is_empty() && self.document.is_empty()
    }

    /// True when a node (a removed one included) is of this kind.
    pub(crate) fn has_kind(&self, kind: Kind) -> bool {
        self.nodes.iter().any(|node| node.kind == kind)
    }

    /// True when a node (a removed one included) has this style.
    pub(crate) fn has_style(&self, style: Style) -> bool {
        self.nodes.iter().any(|node| node.style == style)
    }

    /// False when every node was made in its place and stands there still.
    pub(crate) fn may_have_removed_nodes(&self) -> bool {
        self.unlinked
    }

    /// The comments of the document and of all nodes, in the order in which the nodes were made, removed ones included.
    pub(crate) fn comments_made(&self) -> impl Iterator<Item = &Comments> {
        std::iter::once(&self.document).chain(self.comments.values().map(|comments| &**comments))
    }

    /// The comments of the document and of the nodes below the root.
    pub(crate) fn all_comments(&self) -> Vec<&Comments> {
        let mut found = vec![&self.document];
        if self.comments.is_empty() || !self.has_root() {
            return found;
        }
        let mut stack = vec![self.root()];
        while let Some(id) = stack.pop() {
            found.extend(self.comments(id));
            stack.extend(self.children(id));
        }
        found
    }

    /// The root node.
    pub fn root(&self) -> NodeId {
        NodeId(self.root)
    }

    /// Makes `id` the root.
    pub fn set_root(&mut self, id: NodeId) {
        self.unlinked |= self.has_root();
        self.root = id.0;
    }

    #[inline]
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    /// What the node is.
    #[inline]
    pub fn kind(&self, id: NodeId) -> Kind {
        self.node(id).kind
    }

    /// True for a mapping.
    pub fn is_mapping(&self, id: NodeId) -> bool {
        self.kind(id) == Kind::Mapping
    }

    /// True for a sequence.
    pub fn is_sequence(&self, id: NodeId) -> bool {
        self.kind(id) == Kind::Sequence
    }

    /// True for a scalar.
    pub fn is_scalar(&self, id: NodeId) -> bool {
        self.kind(id) == Kind::Scalar
    }

    /// How the node is written.
    #[inline]
    pub fn style(&self, id: NodeId) -> Style {
        self.node(id).style
    }

    /// Changes how the node is written.
    pub fn set_style(&mut self, id: NodeId, style: Style) {
        self.node_mut(id).style = style;
    }

    /// The decoded text of a scalar, the name of an alias; empty for collections.
    pub fn text(&self, id: NodeId) -> &str {
        let node = self.node(id);
        if !matches!(node.kind, Kind::Scalar | Kind::Alias) {
            return "";
        }
        self.slice(node)
    }

    /// The text that a scalar or alias refers to. Its bounds are those of a piece of text by construction; saying so with
    /// `get` keeps what would tell of anything else out of the hottest function of all.
    #[inline]
    fn slice(&self, node: &Node) -> &str {
        let range = node.a as usize..(node.a as usize + node.b as usize);
        let text = if node.flags & IN_BUF != 0 { self.buf.as_str() } else { &self.src };
        text.get(range).unwrap_or_default()
    }

    /// True for a plain scalar that an edit set as a string, whatever its text looks like.
    pub fn is_forced_string(&self, id: NodeId) -> bool {
        self.node(id).flags & STRING != 0
    }

    /// The explicit tag, as written (`!!str`, `!custom`).
    pub fn tag(&self, id: NodeId) -> Option<&str> {
        self.props_of(id)?.tag.as_deref()
    }

    /// The anchor's name.
    pub fn anchor(&self, id: NodeId) -> Option<&str> {
        self.props_of(id)?.anchor.as_deref()
    }

    fn props_of(&self, id: NodeId) -> Option<&Props> {
        if self.node(id).flags & PROPS == 0 {
            return None;
        }
        self.props.get(&id.0).map(|p| &**p)
    }

    /// Sets or removes the explicit tag.
    pub fn set_tag(&mut self, id: NodeId, tag: Option<&str>) {
        self.edit_props(id, |p| p.tag = tag.map(Into::into));
    }

    /// Sets or removes the anchor.
    pub fn set_anchor(&mut self, id: NodeId, anchor: Option<&str>) {
        self.edit_props(id, |p| p.anchor = anchor.map(Into::into));
    }

    fn edit_props(&mut self, id: NodeId, edit: impl FnOnce(&mut Props)) {
        let entry = self.props.entry(id.0).or_default();
        edit(entry);
        if **entry == Props::default() {
            self.props.remove(&id.0);
            self.node_mut(id).flags &= !PROPS;
        } else {
            self.node_mut(id).flags |= PROPS;
        }
    }

    /// All comments of a node; `None` when it has none.
    #[inline]
    pub fn comments(&self, id: NodeId) -> Option<&Comments> {
        if self.node(id).flags & COMMENTED == 0 {
            return None;
        }
        self.comments.get(&id.0).map(|c| &**c)
    }

    /// The comment above.
    pub fn head_comment(&self, id: NodeId) -> Option<&str> {
        self.comments(id)?.head.as_deref()
    }

    /// The comment behind, on the same line.
    pub fn line_comment(&self, id: NodeId) -> Option<&str> {
        self.comments(id)?.line.as_deref()
    }

    /// The comment below.
    pub fn foot_comment(&self, id: NodeId) -> Option<&str> {
        self.comments(id)?.foot.as_deref()
    }

    /// Changes the comments of a node.
    pub fn edit_comments(&mut self, id: NodeId, edit: impl FnOnce(&mut Comments)) {
        let entry = self.comments.entry(id.0).or_default();
        edit(entry);
        if entry.is_empty() {
            self.comments.remove(&id.0);
            self.node_mut(id).flags &= !COMMENTED;
        } else {
            self.node_mut(id).flags |= COMMENTED;
        }
    }

    /// Sets or removes the comment above; `text` with its `#`.
    pub fn set_head_comment(&mut self, id: NodeId, text: Option<&str>) {
        self.edit_comments(id, |c| c.head = text.map(Into::into));
    }

    /// Sets or removes the comment behind; `text` with its `#`.
    pub fn set_line_comment(&mut self, id: NodeId, text: Option<&str>) {
        self.edit_comments(id, |c| c.line = text.map(Into::into));
    }

    /// Sets or removes the comment below; `text` with its `#`.
    pub fn set_foot_comment(&mut self, id: NodeId, text: Option<&str>) {
        self.edit_comments(id, |c| c.foot = text.map(Into::into));
    }

    /// Comments of the document itself.
    pub fn document_comments(&self) -> &Comments {
        &self.document
    }

    /// Comments of the document itself, to change.
    pub fn document_comments_mut(&mut self) -> &mut Comments {
        &mut self.document
    }

    /// The shared source text.
    pub fn source(&self) -> &Arc<str> {
        &self.src
    }

    /// Bytes of the source that the node came from, without its comments; `None` for a node made by an edit.
    pub fn span(&self, id: NodeId) -> Option<Range<usize>> {
        let node = self.node(id);
        (node.start != NONE).then_some(node.start as usize..node.end as usize)
    }

    /// Where the node starts in its file; `None` for a node made by an edit.
    pub fn position(&self, id: NodeId) -> Option<Position> {
        Some(position_at(&self.src, self.span(id)?.start, self.line_base))
    }

    /// Bytes on the heap that belong to this tree alone: nodes, decoded text, comments, tags and anchors. Without the
    /// source, which several trees may share. An estimate: what the allocator adds is not counted.
    pub fn heap_size(&self) -> usize {
        // A map entry: its key, a pointer, and the share of its tree node.
        const ENTRY: usize = 24;
        let len = |text: &Option<Box<str>>| text.as_ref().map_or(0, |text| text.len());
        let comments: usize = self
            .comments
            .values()
            .map(|c| ENTRY + size_of::<Comments>() + len(&c.head) + len(&c.line) + len(&c.foot))
            .sum();
        let props: usize = self.props.values().map(|p| ENTRY + size_of::<Props>() + len(&p.tag) + len(&p.anchor)).sum();
        self.nodes.capacity() * size_of::<Node>() + self.buf.capacity() + comments + props
    }

    // ---- navigation ----

    /// The elements of a sequence, or keys and values in turn of a mapping.
    pub fn children(&self, id: NodeId) -> Children<'_> {
        let node = self.node(id);
        let first = if matches!(node.kind, Kind::Mapping | Kind::Sequence) { node.a } else { NONE };
        Children { tree: self, next: first }
    }

    /// The node behind this one in the same collection.
    pub(crate) fn next_sibling(&self, id: NodeId) -> Option<NodeId> {
        let next = self.node(id).next;
        (next != NONE).then_some(NodeId(next))
    }

    /// The elements of a sequence (nothing for other nodes).
    pub fn elements(&self, id: NodeId) -> Children<'_> {
        if self.is_sequence(id) { self.children(id) } else { Children { tree: self, next: NONE } }
    }

    /// Keys and values of a mapping (nothing for other nodes).
    pub fn entries(&self, id: NodeId) -> Entries<'_> {
        Entries(if self.is_mapping(id) { self.children(id) } else { Children { tree: self, next: NONE } })
    }

    /// Number of elements or entries.
    pub fn len(&self, id: NodeId) -> usize {
        let n = self.children(id).count();
        if self.is_mapping(id) { n / 2 } else { n }
    }

    /// True when a collection holds nothing (and for scalars).
    pub fn is_empty(&self, id: NodeId) -> bool {
        self.children(id).next().is_none()
    }

    /// The entry of a mapping whose key is a scalar with this text.
    pub fn entry(&self, id: NodeId, key: &str) -> Option<(NodeId, NodeId)> {
        self.entries(id).find(|(k, _)| {
            let node = self.node(*k);
            // The length tells nearly all other keys apart.
            node.b as usize == key.len() && node.kind == Kind::Scalar && self.slice(node) == key
        })
    }

    /// The value of a mapping's key.
    pub fn get(&self, id: NodeId, key: &str) -> Option<NodeId> {
        self.entry(id, key).map(|(_, v)| v)
    }

    /// The value at a path of keys.
    pub fn get_path(&self, id: NodeId, path: &[&str]) -> Option<NodeId> {
        path.iter().try_fold(id, |at, key| self.get(at, key))
    }

    /// The text of the scalar at a path of keys; `None` when it is missing or no scalar.
    pub fn text_at(&self, id: NodeId, path: &[&str]) -> Option<&str> {
        let at = self.get_path(id, path)?;
        self.is_scalar(at).then(|| self.text(at))
    }

    // ---- making nodes ----

    /// Makes room for edits that are about to come, and for no more: a tree that grows by itself doubles.
    pub fn reserve(&mut self, nodes: usize, text: usize) {
        self.nodes.reserve_exact(nodes);
        self.buf.reserve_exact(text);
    }

    pub(crate) fn push_node(&mut self, node: Node) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
        id
    }

    fn push_text(&mut self, text: &str) -> (u32, u32) {
        let at = self.buf.len() as u32;
        self.buf.push_str(text);
        (at, text.len() as u32)
    }

    /// A new scalar, its type inferred from text and style as a reader would.
    pub fn scalar(&mut self, text: &str, style: Style) -> NodeId {
        let (a, b) = self.push_text(text);
        self.push_node(Node { kind: Kind::Scalar, style, flags: IN_BUF, start: NONE, end: NONE, a, b, next: NONE })
    }

    /// A new string: plain, quoted by the emitter where it would read as another type.
    pub fn string(&mut self, text: &str) -> NodeId {
        let id = self.scalar(text, Style::Plain);
        self.node_mut(id).flags |= STRING;
        id
    }

    /// A new empty mapping.
    pub fn mapping(&mut self, style: Style) -> NodeId {
        self.collection(Kind::Mapping, style)
    }

    /// A new empty sequence.
    pub fn sequence(&mut self, style: Style) -> NodeId {
        self.collection(Kind::Sequence, style)
    }

    fn collection(&mut self, kind: Kind, style: Style) -> NodeId {
        self.push_node(Node { kind, style, flags: 0, start: NONE, end: NONE, a: NONE, b: NONE, next: NONE })
    }

    /// A deep copy of a node of another tree (or of this one, through a clone), comments, tags and anchors included.
    /// The copy has no span. Depth is bounded by the parser's depth limit.
    pub fn copy_from(&mut self, other: &Tree, id: NodeId) -> NodeId {
        let node = other.node(id);
        let copy = match node.kind {
            Kind::Scalar | Kind::Alias => {
                let (a, b) = self.push_text(other.text(id));
                let flags = IN_BUF | (node.flags & STRING);
                self.push_node(Node { flags, start: NONE, end: NONE, a, b, next: NONE, ..node.clone() })
            }
            Kind::Mapping | Kind::Sequence => {
                let new = self.collection(node.kind, node.style);
                let children: Vec<NodeId> = other.children(id).collect();
                for child in children {
                    let c = self.copy_from(other, child);
                    self.append_child(new, c);
                }
                new
            }
        };
        if let Some(c) = other.comments(id) {
            let c = c.clone();
            self.edit_comments(copy, |to| *to = c);
        }
        if let Some(p) = other.props_of(id) {
            let p = p.clone();
            self.edit_props(copy, |to| *to = p);
        }
        copy
    }

    // ---- edits ----

    /// Replaces a scalar's text; style, comments and tag stay, the type is inferred anew. Turns a collection or an
    /// alias into a plain scalar.
    pub fn set_text(&mut self, id: NodeId, text: &str) {
        let (a, b) = self.push_text(text);
        self.unlinked |= self.kind(id) != Kind::Scalar;
        let node = self.node_mut(id);
        if node.kind != Kind::Scalar {
            node.kind = Kind::Scalar;
            node.style = Style::Plain;
        }
        node.flags = (node.flags | IN_BUF) & !STRING;
        (node.a, node.b) = (a, b);
    }

    /// Makes the node a string with this text: comments stay, the quoting style is dropped (quotes come back where the
    /// text would read as another type), an explicit tag is dropped.
    pub fn set_string(&mut self, id: NodeId, text: &str) {
        self.set_text(id, text);
        self.set_tag(id, None);
        let node = self.node_mut(id);
        node.style = Style::Plain;
        node.flags |= STRING;
    }

    /// Puts what another node of this tree is in the place of a node: kind, style, text or children, tag and comments.
    /// Comments and anchor of the place stay where the new content has none. The other node must hang nowhere, and is
    /// used up.
    pub fn replace_with(&mut self, id: NodeId, with: NodeId) {
        let (next, kept) = (self.node(id).next, self.anchor(id).map(str::to_owned));
        let new = Node { next, flags: self.node(with).flags & (IN_BUF | STRING), ..self.node(with).clone() };
        let comments = self.comments(with).or(self.comments(id)).cloned().unwrap_or_default();
        let props = self.props_of(with).cloned().unwrap_or_default();
        *self.node_mut(id) = new;
        self.edit_comments(id, |to| *to = comments);
        self.edit_props(id, |to| *to = Props { anchor: props.anchor.or(kept.map(Into::into)), ..props });
    }

    pub(crate) fn append_child(&mut self, parent: NodeId, child: NodeId) {
        self.node_mut(child).next = NONE;
        let last = self.node(parent).b;
        if last == NONE {
            self.node_mut(parent).a = child.0;
        } else {
            self.nodes[last as usize].next = child.0;
        }
        self.node_mut(parent).b = child.0;
    }

    /// Replaces the children of a collection: elements of a sequence, keys and values in turn of a mapping. The nodes
    /// must belong to this tree and to no other place in it.
    pub fn set_children(&mut self, id: NodeId, children: &[NodeId]) {
        self.unlinked = true;
        let node = self.node_mut(id);
        (node.a, node.b) = (NONE, NONE);
        for child in children {
            self.append_child(id, *child);
        }
    }

    /// Appends an element to a sequence.
    pub fn push(&mut self, seq: NodeId, element: NodeId) {
        debug_assert!(self.is_sequence(seq));
        self.append_child(seq, element);
    }

    /// Appends a key and value to a mapping, without looking whether the key is there.
    pub fn push_entry(&mut self, map: NodeId, key: NodeId, value: NodeId) {
        debug_assert!(self.is_mapping(map));
        self.append_child(map, key);
        self.append_child(map, value);
    }

    /// Sets the value of a key: replaces the old value's node in place, or appends the entry at the end.
    pub fn set(&mut self, map: NodeId, key: &str, value: NodeId) {
        if let Some((k, old)) = self.entry(map, key) {
            self.unlinked = true;
            self.node_mut(value).next = self.node(old).next;
            self.node_mut(k).next = value.0;
            if self.node(map).b == old.0 {
                self.node_mut(map).b = value.0;
            }
        } else {
            let k = self.string(key);
            self.push_entry(map, k, value);
        }
    }

    /// Removes a key; the value that was there.
    pub fn remove(&mut self, map: NodeId, key: &str) -> Option<NodeId> {
        let (k, v) = self.entry(map, key)?;
        let rest: Vec<NodeId> = self.children(map).filter(|c| *c != k && *c != v).collect();
        self.set_children(map, &rest);
        Some(v)
    }

    /// Removes the element of a sequence at this position.
    pub fn remove_at(&mut self, seq: NodeId, index: usize) {
        let mut rest: Vec<NodeId> = self.elements(seq).collect();
        if index < rest.len() {
            rest.remove(index);
            self.set_children(seq, &rest);
        }
    }

    /// The mapping at a key, made (block style, at the end) when it is missing, null or no mapping.
    pub fn ensure_mapping(&mut self, map: NodeId, key: &str) -> NodeId {
        match self.get(map, key) {
            Some(v) if self.is_mapping(v) => v,
            _ => {
                let new = self.mapping(Style::Block);
                self.set(map, key, new);
                new
            }
        }
    }
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree").field("nodes", &self.nodes.len()).finish_non_exhaustive()
    }
}

/// See [`Tree::children`].
#[derive(Clone)]
pub struct Children<'t> {
    tree: &'t Tree,
    next: u32,
}

impl Iterator for Children<'_> {
    type Item = NodeId;

    #[inline]
    fn next(&mut self) -> Option<NodeId> {
        let id = (self.next != NONE).then_some(NodeId(self.next))?;
        self.next = self.tree.node(id).next;
        Some(id)
    }
}

/// See [`Tree::entries`].
#[derive(Clone)]
pub struct Entries<'t>(Children<'t>);

impl Iterator for Entries<'_> {
    type Item = (NodeId, NodeId);

    #[inline]
    fn next(&mut self) -> Option<(NodeId, NodeId)> {
        Some((self.0.next()?, self.0.next()?))
    }
}

/// Line and column of a byte offset; `line_base` is added to the line.
pub fn position_at(src: &str, offset: usize, line_base: u32) -> Position {
    let before = &src[..offset.min(src.len())];
    let line = before.bytes().filter(|b| *b == b'\n').count() as u32 + 1 + line_base;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    Position { line, column: before[start..].chars().count() as u32 + 1 }
}

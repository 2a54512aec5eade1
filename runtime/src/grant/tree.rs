//! A directory in memory: what it holds, by name. Nothing in it changes, and nothing of the host can be
//! reached through it.

/// One thing of a tree: its number, in the order of a walk through sorted names, so that the same
/// content has the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct NodeId(u32);

impl NodeId {
    /// The directory itself.
    pub(crate) const ROOT: NodeId = NodeId(0);

    /// What programs see as its number; never 0, which some take for an entry that was removed.
    pub(crate) fn inode(self) -> u64 {
        u64::from(self.0) + 1
    }
}

/// What there is in a directory.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) enum Node {
    /// Entries by name, sorted by bytes.
    Directory(Vec<(Box<str>, NodeId)>),
    /// Content.
    File(Box<[u8]>),
    /// Where the link leads, as it was written; followed within the tree alone.
    Link(Box<str>),
}

/// A directory with all that is below it.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Tree {
    /// Each node with the directory that it is in; the root is in itself.
    nodes: Vec<(NodeId, Node)>,
}

impl Default for Tree {
    /// An empty directory.
    fn default() -> Self {
        Self { nodes: vec![(NodeId::ROOT, Node::Directory(Vec::new()))] }
    }
}

impl Tree {
    /// What a number stands for.
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        // Numbers come from this tree, which never loses one.
        &self.nodes[id.0 as usize].1
    }

    /// The directory that holds it.
    pub(crate) fn parent(&self, id: NodeId) -> NodeId {
        self.nodes[id.0 as usize].0
    }

    /// An entry of a directory; nothing for what is none.
    pub(crate) fn child(&self, directory: NodeId, name: &str) -> Option<NodeId> {
        let Node::Directory(entries) = self.node(directory) else { return None };
        let at = entries.binary_search_by(|(other, _)| other.as_bytes().cmp(name.as_bytes())).ok()?;
        Some(entries[at].1)
    }

    /// Every link with its number.
    pub(super) fn links(&self) -> impl Iterator<Item = (NodeId, &str)> {
        self.nodes.iter().zip(0..).filter_map(|((_, node), id)| match node {
            Node::Link(target) => Some((NodeId(id), &**target)),
            _ => None,
        })
    }

    /// Adds something to a directory, behind all names that it has: callers go by sorted names.
    pub(crate) fn add(&mut self, directory: NodeId, name: &str, node: Node) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push((directory, node));
        if let Node::Directory(entries) = &mut self.nodes[directory.0 as usize].1 {
            debug_assert!(entries.last().is_none_or(|(last, _)| last.as_bytes() < name.as_bytes()), "sorted names");
            entries.push((name.into(), id));
        }
        id
    }

    /// Takes an entry out of its directory. Its number stays unused, and what was below it with it.
    pub(super) fn remove(&mut self, id: NodeId) {
        let (parent, _) = self.nodes[id.0 as usize];
        if let Node::Directory(entries) = &mut self.nodes[parent.0 as usize].1 {
            entries.retain(|(_, other)| *other != id);
        }
    }

    /// The path of something, from the root, for messages.
    pub(super) fn path(&self, mut id: NodeId) -> String {
        let mut names = Vec::new();
        while id != NodeId::ROOT {
            let parent = self.parent(id);
            if let Node::Directory(entries) = self.node(parent) {
                names.extend(entries.iter().find(|(_, other)| *other == id).map(|(name, _)| &**name));
            }
            id = parent;
        }
        names.reverse();
        names.join("/")
    }
}

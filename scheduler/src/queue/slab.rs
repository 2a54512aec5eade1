//! Nodes by number, and lists whose links lie in the nodes.
//!
//! Numbers are half as long as pointers and safe to keep; a list that lives in its nodes allocates nothing and
//! removes from its middle at once.

use std::ops::{Index, IndexMut};

/// No node.
pub(super) const NIL: u32 = u32::MAX;

/// Nodes of one block: a slab that grows never copies what it has, and never holds two copies at once.
const BLOCK: usize = 1024;

/// Neighbours in one list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Links {
    prev: u32,
    next: u32,
}

impl Links {
    pub(super) const NONE: Links = Links { prev: NIL, next: NIL };

    /// A number that a node keeps here while it is in no list.
    pub(super) fn number(self) -> u32 {
        self.prev
    }

    pub(super) fn set_number(&mut self, number: u32) {
        self.prev = number;
    }
}

/// What can be in lists.
pub(super) trait Node {
    /// The links of one of its lists. The first one also serves the slab, while the node is free.
    fn links(&self, which: usize) -> &Links;
    fn links_mut(&mut self, which: usize) -> &mut Links;
}

/// The nodes.
#[derive(Debug)]
pub(super) struct Slab<N> {
    blocks: Vec<Vec<N>>,
    len: u32,
    free: u32,
    used: u32,
}

impl<N: Node> Slab<N> {
    pub(super) const fn new() -> Self {
        Self { blocks: Vec::new(), len: 0, free: NIL, used: 0 }
    }

    /// Takes a node in and says where it is.
    pub(super) fn insert(&mut self, node: N) -> u32 {
        self.used += 1;
        if self.free != NIL {
            let at = self.free;
            self.free = self[at].links(0).next;
            self[at] = node;
            return at;
        }
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK));
        }
        let at = self.len;
        self.blocks.last_mut().expect("just made").push(node);
        self.len += 1;
        at
    }

    /// Frees a node, whose content has to be gone already. The last one to go takes all memory with it.
    pub(super) fn remove(&mut self, at: u32) {
        self.used -= 1;
        if self.used == 0 {
            *self = Self::new();
            return;
        }
        let free = self.free;
        *self[at].links_mut(0) = Links { prev: NIL, next: free };
        self.free = at;
    }

    /// Every node, the free ones included.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &N)> {
        (0..).zip(self.blocks.iter().flatten())
    }

    /// How many nodes there have ever been at one time; their numbers are below it.
    pub(super) fn bound(&self) -> u32 {
        self.len
    }
}

impl<N> Index<u32> for Slab<N> {
    type Output = N;

    fn index(&self, at: u32) -> &N {
        &self.blocks[at as usize / BLOCK][at as usize % BLOCK]
    }
}

impl<N> IndexMut<u32> for Slab<N> {
    fn index_mut(&mut self, at: u32) -> &mut N {
        &mut self.blocks[at as usize / BLOCK][at as usize % BLOCK]
    }
}

/// A list of nodes, first in, first out; `which` says which of a node's links it uses.
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    head: u32,
    tail: u32,
}

impl List {
    pub(super) const EMPTY: List = List { head: NIL, tail: NIL };

    pub(super) fn is_empty(self) -> bool {
        self.head == NIL
    }

    /// The first node, or [`NIL`].
    pub(super) fn front(self) -> u32 {
        self.head
    }

    pub(super) fn push_back<N: Node>(&mut self, nodes: &mut Slab<N>, which: usize, at: u32) {
        *nodes[at].links_mut(which) = Links { prev: self.tail, next: NIL };
        match self.tail {
            NIL => self.head = at,
            tail => nodes[tail].links_mut(which).next = at,
        }
        self.tail = at;
    }

    pub(super) fn remove<N: Node>(&mut self, nodes: &mut Slab<N>, which: usize, at: u32) {
        let Links { prev, next } = std::mem::replace(nodes[at].links_mut(which), Links::NONE);
        match prev {
            NIL => self.head = next,
            prev => nodes[prev].links_mut(which).next = next,
        }
        match next {
            NIL => self.tail = prev,
            next => nodes[next].links_mut(which).prev = prev,
        }
    }
}

//! A document without anchors, aliases and merge keys, as a program that does not know them reads it.

use std::collections::{HashMap, HashSet};

use crate::yaml::{Kind, NodeId, Style, Tree};

/// Nodes an expanded document may have; a document that needs more is not compared.
const NODES: usize = 200_000;
/// Nesting it may have.
const DEPTH: usize = 500;

/// How many aliases a document has.
pub(super) fn aliases(tree: &Tree) -> usize {
    let mut count = 0;
    let mut stack = vec![tree.root()];
    while let Some(id) = stack.pop() {
        if tree.kind(id) == Kind::Alias {
            count += 1;
        }
        stack.extend(tree.children(id));
    }
    count
}

/// The document with every alias replaced by a copy of what it stands for, and merge keys by the entries they bring.
pub(super) fn expanded(tree: &Tree) -> Option<Tree> {
    let mut anchors = HashMap::new();
    // Anchors of one name: each alias means the last one before it. Documents that use a name twice are left out.
    let mut stack = vec![tree.root()];
    while let Some(id) = stack.pop() {
        if let Some(anchor) = tree.anchor(id)
            && anchors.insert(anchor, id).is_some()
        {
            return None;
        }
        stack.extend(tree.children(id));
    }
    let mut expansion = Expansion { from: tree, to: Tree::new_mapping(), anchors, nodes: 0 };
    let root = expansion.copy(tree.root(), 0)?;
    expansion.to.set_root(root);
    Some(expansion.to)
}

struct Expansion<'t> {
    from: &'t Tree,
    to: Tree,
    anchors: HashMap<&'t str, NodeId>,
    nodes: usize,
}

impl Expansion<'_> {
    fn target(&self, id: NodeId) -> Option<NodeId> {
        match self.from.kind(id) {
            Kind::Alias => self.anchors.get(self.from.text(id)).copied(),
            _ => Some(id),
        }
    }

    fn copy(&mut self, id: NodeId, depth: usize) -> Option<NodeId> {
        self.nodes += 1;
        if self.nodes > NODES || depth > DEPTH {
            return None;
        }
        let from = self.from;
        let id = self.target(id)?;
        match from.kind(id) {
            Kind::Alias => None,
            Kind::Scalar => {
                let copy = self.to.scalar(from.text(id), from.style(id));
                self.to.set_tag(copy, from.tag(id));
                Some(copy)
            }
            Kind::Sequence => {
                let copy = self.to.sequence(Style::Block);
                for element in from.elements(id) {
                    let element = self.copy(element, depth + 1)?;
                    self.to.push(copy, element);
                }
                Some(copy)
            }
            Kind::Mapping => {
                let mut seen = HashSet::new();
                let mut entries = Vec::new();
                self.entries(id, depth, &mut seen, &mut entries)?;
                let copy = self.to.mapping(Style::Block);
                for (key, value) in entries {
                    self.to.push_entry(copy, key, value);
                }
                Some(copy)
            }
        }
    }

    /// The entries of a mapping, its own first; merged ones only where the key is not there yet.
    fn entries(
        &mut self,
        id: NodeId,
        depth: usize,
        seen: &mut HashSet<String>,
        out: &mut Vec<(NodeId, NodeId)>,
    ) -> Option<()> {
        if depth > DEPTH {
            return None;
        }
        let from = self.from;
        let is_merge = |key: NodeId| from.is_scalar(key) && from.style(key) == Style::Plain && from.text(key) == "<<";
        for (key, value) in from.entries(id).filter(|(key, _)| !is_merge(*key)) {
            let name = self.target(key).filter(|k| from.is_scalar(*k)).map(|k| from.text(k).to_owned())?;
            if seen.insert(name) {
                let entry = (self.copy(key, depth + 1)?, self.copy(value, depth + 1)?);
                out.push(entry);
            }
        }
        for (_, value) in from.entries(id).filter(|(key, _)| is_merge(*key)) {
            let value = self.target(value)?;
            let sources: Vec<NodeId> = match from.kind(value) {
                Kind::Mapping => vec![value],
                Kind::Sequence => from.elements(value).collect(),
                Kind::Scalar | Kind::Alias => return None,
            };
            for source in sources {
                let source = self.target(source).filter(|s| from.is_mapping(*s))?;
                self.entries(source, depth + 1, seen, out)?;
            }
        }
        Some(())
    }
}

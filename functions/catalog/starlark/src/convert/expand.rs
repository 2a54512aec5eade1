//! Aliases and merge keys, written out.

use std::collections::HashMap;

use portico_krm::yaml::{Kind, NodeId, ScalarType, Tree};

use super::{DEPTH, Unfit};

/// How many nodes a resource may have with its aliases written out.
const NODES: u32 = 500_000;

/// The tree with aliases and merge keys replaced by what they stand for, and no anchors; `None` where it has neither
/// aliases nor merge keys.
pub(crate) fn expanded(tree: &Tree) -> Result<Option<Tree>, Unfit> {
    let mut needed = false;
    let mut stack = vec![tree.root()];
    while let Some(id) = stack.pop() {
        needed |= tree.kind(id) == Kind::Alias
            || tree.entries(id).any(|(key, _)| tree.is_scalar(key) && tree.scalar_type(key) == ScalarType::Merge);
        stack.extend(tree.children(id));
    }
    if !needed {
        return Ok(None);
    }
    let mut expansion = Expansion { from: tree, anchors: HashMap::new(), nodes: 0, to: Tree::new_mapping() };
    let root = expansion.node(tree.root(), DEPTH)?;
    expansion.to.set_root(root);
    *expansion.to.document_comments_mut() = tree.document_comments().clone();
    Ok(Some(expansion.to))
}

struct Expansion<'t> {
    from: &'t Tree,
    /// Anchors met so far, in document order: a name may be used again.
    anchors: HashMap<&'t str, NodeId>,
    nodes: u32,
    to: Tree,
}

impl Expansion<'_> {
    fn node(&mut self, id: NodeId, depth: u32) -> Result<NodeId, Unfit> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Unfit::new(format!("aliases nest values more than {DEPTH} levels deep")));
        };
        self.nodes += 1;
        if self.nodes > NODES {
            return Err(Unfit::new(format!("aliases stand for more than {NODES} values")));
        }
        if let Some(name) = self.from.anchor(id) {
            self.anchors.insert(name, id);
        }
        let copy = match self.from.kind(id) {
            Kind::Alias => {
                let target = self.target(id)?;
                return self.node(target, depth);
            }
            Kind::Scalar => self.to.copy_from(self.from, id),
            Kind::Sequence => {
                let new = self.collection(id);
                for element in self.from.elements(id) {
                    let element = self.node(element, depth)?;
                    self.to.push(new, element);
                }
                new
            }
            Kind::Mapping => {
                let new = self.collection(id);
                let mut own = Vec::new();
                for (key, value) in self.from.entries(id) {
                    if self.from.is_scalar(key) && self.from.scalar_type(key) == ScalarType::Merge {
                        own.push((None, value));
                    } else {
                        let key = self.node(key, depth)?;
                        let value = self.node(value, depth)?;
                        own.push((Some(key), value));
                    }
                }
                // what is written in the mapping wins over what is merged in, wherever it stands
                for (key, value) in &own {
                    if let Some(key) = key {
                        self.to.push_entry(new, *key, *value);
                    }
                }
                for (key, value) in own {
                    if key.is_none() {
                        self.merge(new, value, depth)?;
                    }
                }
                new
            }
        };
        self.to.set_anchor(copy, None);
        Ok(copy)
    }

    fn collection(&mut self, id: NodeId) -> NodeId {
        let style = self.from.style(id);
        let new = if self.from.is_mapping(id) { self.to.mapping(style) } else { self.to.sequence(style) };
        if let Some(comments) = self.from.comments(id) {
            let comments = comments.clone();
            self.to.edit_comments(new, |to| *to = comments);
        }
        self.to.set_tag(new, self.from.tag(id));
        new
    }

    fn target(&self, alias: NodeId) -> Result<NodeId, Unfit> {
        let name = self.from.text(alias);
        self.anchors.get(name).copied().ok_or_else(|| Unfit::new(format!("there is no anchor `{name}`")))
    }

    /// Adds the entries that a merge key stands for and the mapping has not.
    fn merge(&mut self, into: NodeId, value: NodeId, depth: u32) -> Result<(), Unfit> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Unfit::new(format!("aliases nest values more than {DEPTH} levels deep")));
        };
        match self.from.kind(value) {
            Kind::Alias => {
                let target = self.target(value)?;
                self.merge(into, target, depth)
            }
            Kind::Sequence => {
                for element in self.from.elements(value) {
                    self.merge(into, element, depth)?;
                }
                Ok(())
            }
            Kind::Mapping => {
                let mapping = self.node(value, depth)?;
                let entries: Vec<(NodeId, NodeId)> = self.to.entries(mapping).collect();
                for (key, value) in entries {
                    if self.to.entry(into, self.to.text(key)).is_none() {
                        self.to.push_entry(into, key, value);
                    }
                }
                Ok(())
            }
            Kind::Scalar => Err(Unfit::new("a merge key needs a mapping or a list of mappings")),
        }
    }
}

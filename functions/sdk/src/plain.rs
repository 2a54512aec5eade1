//! Objects as plain values: what is left of a document that went through JSON.

use std::collections::HashMap;

use portico_krm::Resource;
use portico_krm::yaml::{Kind, NodeId, ScalarType, Style, Tree};
use thiserror::Error;

/// Most nodes that a plain copy may have: aliases repeat what they stand for, and a few lines can stand for billions.
pub const MAX_PLAIN_NODES: usize = 1_000_000;
/// Deepest nesting of a plain copy.
pub const MAX_PLAIN_DEPTH: usize = 500;

/// Why an object has no plain copy.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlainError {
    /// Aliases would blow it up.
    #[error("the object has more than {MAX_PLAIN_NODES} values once its aliases are replaced by what they stand for")]
    TooLarge,
    /// Aliases nest too deeply.
    #[error(
        "the object is nested more than {MAX_PLAIN_DEPTH} deep once its aliases are replaced by what they stand for"
    )]
    TooDeep,
    /// An alias without its anchor, or inside it.
    #[error("alias `*{0}` stands for nothing: no anchor of that name ends above it")]
    UnknownAlias(String),
}

/// Copies an object as plain values: no comments, default styles, aliases and merge keys replaced by what they stand
/// for. Numbers keep their spelling. Keys are sorted bytewise when `sort_keys` is set, else they keep their order.
pub fn plain_copy(object: &Resource, sort_keys: bool) -> Result<Resource, PlainError> {
    let mut copy = Copier { from: &object.tree, to: Tree::new_mapping(), sort_keys, anchors: HashMap::new(), nodes: 0 };
    let root = copy.node(object.tree.root(), 0)?;
    copy.to.set_root(root);
    Ok(Resource { tree: copy.to })
}

struct Copier<'a> {
    from: &'a Tree,
    to: Tree,
    sort_keys: bool,
    /// Anchors whose node is complete; the latest of a name counts.
    anchors: HashMap<&'a str, NodeId>,
    nodes: usize,
}

impl<'a> Copier<'a> {
    fn node(&mut self, id: NodeId, depth: usize) -> Result<NodeId, PlainError> {
        self.nodes += 1;
        if self.nodes > MAX_PLAIN_NODES {
            return Err(PlainError::TooLarge);
        }
        if depth > MAX_PLAIN_DEPTH {
            return Err(PlainError::TooDeep);
        }
        let new = match self.from.kind(id) {
            Kind::Alias => return self.node(self.target(id)?, depth + 1),
            Kind::Scalar => self.scalar(id),
            Kind::Sequence => {
                let new = self.to.sequence(Style::Block);
                for element in self.from.elements(id) {
                    let element = self.node(element, depth + 1)?;
                    self.to.push(new, element);
                }
                new
            }
            Kind::Mapping => self.mapping(id, depth)?,
        };
        if let Some(anchor) = self.from.anchor(id) {
            self.anchors.insert(anchor, id);
        }
        Ok(new)
    }

    fn target(&self, alias: NodeId) -> Result<NodeId, PlainError> {
        let name = self.from.text(alias);
        self.anchors.get(name).copied().ok_or_else(|| PlainError::UnknownAlias(name.to_owned()))
    }

    fn scalar(&mut self, id: NodeId) -> NodeId {
        let text = self.from.text(id);
        match self.from.scalar_type(id) {
            ScalarType::Null => self.to.scalar("null", Style::Plain),
            ScalarType::Bool | ScalarType::Int | ScalarType::Float => self.to.scalar(text, Style::Plain),
            _ => self.to.string(text),
        }
    }

    fn mapping(&mut self, id: NodeId, depth: usize) -> Result<NodeId, PlainError> {
        let mut entries: Vec<(&'a str, NodeId)> = Vec::new();
        let mut merged: Vec<NodeId> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for (key, value) in self.from.entries(id) {
            if self.from.scalar_type(key) == ScalarType::Merge {
                merged.push(value);
            } else if seen.insert(self.from.text(key)) {
                let value = self.node(value, depth + 1)?;
                entries.push((self.from.text(key), value));
            }
        }
        for value in merged {
            for source in self.merge_sources(value)? {
                for (key, value) in self.from.entries(source) {
                    if seen.insert(self.from.text(key)) {
                        let value = self.node(value, depth + 1)?;
                        entries.push((self.from.text(key), value));
                    }
                }
            }
        }
        if self.sort_keys {
            entries.sort_by_key(|(key, _)| *key);
        }
        let new = self.to.mapping(Style::Block);
        for (key, value) in entries {
            let key = self.to.string(key);
            self.to.push_entry(new, key, value);
        }
        Ok(new)
    }

    /// The mappings that a merge key draws from: one, or those of a list.
    fn merge_sources(&self, value: NodeId) -> Result<Vec<NodeId>, PlainError> {
        let resolve = |id| if self.from.kind(id) == Kind::Alias { self.target(id) } else { Ok(id) };
        let value = resolve(value)?;
        if self.from.is_sequence(value) { self.from.elements(value).map(resolve).collect() } else { Ok(vec![value]) }
    }
}

//! A tree as Go's decoder sees it: aliases followed, merge keys merged, with a bound on how often.

use std::cell::Cell;
use std::collections::HashSet;

use crate::yaml::{Kind, NodeId, ScalarType, Style, Tree, parse_float, parse_int};

/// How many values a Kptfile may amount to once its aliases are followed. A Kptfile of this size is an attack.
pub(super) const MAX_VALUES: u32 = 1_000_000;

/// See the module's documentation.
pub(super) struct View<'t> {
    pub(super) tree: &'t Tree,
    left: Cell<u32>,
}

impl<'t> View<'t> {
    pub(super) fn new(tree: &'t Tree) -> View<'t> {
        View { tree, left: Cell::new(MAX_VALUES) }
    }

    /// True once more values were asked for than [`MAX_VALUES`]; everything reads as empty from then on.
    pub(super) fn exhausted(&self) -> bool {
        self.left.get() == 0
    }

    fn spend(&self, values: usize) -> bool {
        let left = self.left.get().saturating_sub(values.try_into().unwrap_or(u32::MAX));
        self.left.set(left);
        left > 0
    }

    /// The node that an alias stands for; the node itself when it is no alias or the anchor is unknown.
    pub(super) fn follow(&self, id: NodeId) -> NodeId {
        self.tree.alias_target(id).unwrap_or(id)
    }

    /// The elements of a sequence, aliases followed. Go drops those that are null.
    pub(super) fn elements(&self, id: NodeId) -> Vec<NodeId> {
        let followed = self.tree.elements(id).map(|element| self.follow(element));
        let elements: Vec<NodeId> = followed.filter(|element| !self.tree.is_null(*element)).collect();
        if self.spend(self.tree.len(id)) { elements } else { Vec::new() }
    }

    /// A number as Go reads it into an integer: what stands behind a point is cut off. `None` for anything else.
    pub(super) fn number(&self, id: NodeId) -> Option<i64> {
        let text = self.tree.text(id);
        match self.tree.scalar_type(id) {
            ScalarType::Int => parse_int(text).and_then(|number| i64::try_from(number).ok()),
            #[expect(clippy::cast_possible_truncation, reason = "the range is checked, and Go cuts off the rest too")]
            ScalarType::Float => parse_float(text).filter(|number| number.abs() < 9e18).map(|number| number as i64),
            _ => None,
        }
    }

    /// Keys and values of a mapping, aliases followed, merged keys at the end.
    pub(super) fn entries(&self, id: NodeId) -> Vec<(NodeId, NodeId)> {
        let mut entries = Vec::new();
        let mut merged = Vec::new();
        for (key, value) in self.tree.entries(id) {
            let value = self.follow(value);
            if self.is_merge(key) { merged.push(value) } else { entries.push((self.follow(key), value)) }
        }
        if !merged.is_empty() {
            self.merge(&merged, &mut entries);
        }
        if self.spend(entries.len()) { entries } else { Vec::new() }
    }

    /// Adds the entries of merged mappings whose keys are not there yet. One level: a merge key inside a merged
    /// mapping is skipped.
    fn merge(&self, merged: &[NodeId], entries: &mut Vec<(NodeId, NodeId)>) {
        let mut known: HashSet<&str> = entries.iter().map(|(key, _)| self.tree.text(*key)).collect();
        for source in merged {
            let sources = if self.tree.is_sequence(*source) { self.elements(*source) } else { vec![*source] };
            for source in sources {
                if !self.spend(self.tree.len(source)) {
                    return;
                }
                for (key, value) in self.tree.entries(source) {
                    let key = self.follow(key);
                    if !self.is_merge(key) && known.insert(self.tree.text(key)) {
                        entries.push((key, self.follow(value)));
                    }
                }
            }
        }
    }

    fn is_merge(&self, key: NodeId) -> bool {
        self.tree.kind(key) == Kind::Scalar && self.tree.style(key) == Style::Plain && self.tree.text(key) == "<<"
    }

    /// The value of a key.
    pub(super) fn get(&self, map: NodeId, key: &str) -> Option<NodeId> {
        self.entries(map).into_iter().find(|(k, _)| self.tree.text(*k) == key).map(|(_, value)| value)
    }
}

//! Which element of a list is which after a script: never by position, which a script may shift.

use std::collections::{HashMap, VecDeque};

use portico_krm::yaml::{NodeId, Tree};
use starlark::values::dict::DictRef;
use starlark::values::{Heap, Value};

use super::back::same;

/// Where an element of the new list comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// This node, with the value it had.
    Same(NodeId),
    /// This node, with another value.
    Changed(NodeId),
    /// Nowhere.
    New,
}

/// Keys that tell list elements of Kubernetes' types apart, the first that an element has counts.
const KEYS: &[&str] =
    &["name", "mountPath", "devicePath", "containerPort", "port", "ip", "topologyKey", "uid", "id", "key", "type"];

/// Above this many comparisons elements without a key are not searched for.
const COMPARISONS: usize = 100_000;

/// A slot for each value.
pub(super) fn pair<'v>(tree: &Tree, old: &[NodeId], values: &[Value<'v>], heap: Heap<'v>) -> Vec<Slot> {
    let agrees = |node: NodeId, value: Value<'v>| same(tree, node, value, heap);
    let front = old.iter().zip(values).take_while(|(node, value)| agrees(**node, **value)).count();
    let (old_rest, rest) = (&old[front..], &values[front..]);
    let back = old_rest.iter().rev().zip(rest.iter().rev()).take_while(|(node, value)| agrees(**node, **value)).count();
    let middle = &old_rest[..old_rest.len() - back];
    let wanted = &rest[..rest.len() - back];

    let mut slots: Vec<Slot> = old[..front].iter().copied().map(Slot::Same).collect();
    slots.extend(pair_by_key(tree, middle, wanted, heap));
    slots.extend(old_rest[middle.len()..].iter().copied().map(Slot::Same));
    slots
}

fn pair_by_key<'v>(tree: &Tree, old: &[NodeId], values: &[Value<'v>], heap: Heap<'v>) -> Vec<Slot> {
    let mut by_key: HashMap<String, VecDeque<NodeId>> = HashMap::new();
    let mut keyless: Vec<NodeId> = Vec::new();
    for node in old {
        match node_key(tree, *node) {
            Some(key) => by_key.entry(key).or_default().push_back(*node),
            None => keyless.push(*node),
        }
    }
    let search = keyless.len().saturating_mul(values.len()) <= COMPARISONS;
    values
        .iter()
        .map(|value| {
            if let Some(node) = value_key(*value).and_then(|key| by_key.get_mut(&key)?.pop_front()) {
                return Slot::Changed(node);
            }
            let found = search.then(|| keyless.iter().position(|node| same(tree, *node, *value, heap))).flatten();
            found.map_or(Slot::New, |at| Slot::Same(keyless.remove(at)))
        })
        .collect()
}

/// What a node is known by: the value of a scalar, the key field of a mapping.
fn node_key(tree: &Tree, node: NodeId) -> Option<String> {
    if tree.is_scalar(node) {
        return Some(format!("={}", tree.text(node)));
    }
    KEYS.iter().find_map(|key| {
        let field = tree.get(node, key)?;
        tree.is_scalar(field).then(|| format!("{key}={}", tree.text(field)))
    })
}

fn value_key(value: Value<'_>) -> Option<String> {
    let scalar = |value: Value<'_>| value.unpack_str().map(str::to_owned).or_else(|| crate::number::int_text(value));
    if let Some(text) = scalar(value) {
        return Some(format!("={text}"));
    }
    let dict = DictRef::from_value(value)?;
    KEYS.iter().find_map(|key| Some(format!("{key}={}", scalar(dict.get_str(key)?)?)))
}

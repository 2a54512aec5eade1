//! What an applied object makes of the one that is there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::fields::{Element, Node, Set, is_granular};
use crate::schema::{ListKind, Shape};

/// The object that is there with what is applied laid over it.
pub(super) fn merge(live: Option<&Value>, applied: &Value, shape: Shape<'_>) -> Value {
    match (live, applied) {
        (Some(Value::Object(live)), Value::Object(applied)) if !shape.is_atomic_object() => {
            let mut merged = live.clone();
            for (name, value) in applied {
                let value = merge(live.get(name), value, shape.field_or_anything(name));
                merged.insert(name.clone(), value);
            }
            Value::Object(merged)
        }
        (Some(Value::Array(live)), Value::Array(applied)) if *shape.list_kind() != ListKind::Atomic => {
            Value::Array(merge_lists(live, applied, shape))
        }
        _ => applied.clone(),
    }
}

/// The applied elements in their order; an element that only the live list has stays before the one that it stood before.
fn merge_lists(live: &[Value], applied: &[Value], shape: Shape<'_>) -> Vec<Value> {
    let kind = shape.list_kind();
    let elements = |list: &[Value]| -> Vec<Element> {
        list.iter().enumerate().map(|(index, item)| Element::item(item, index, kind)).collect()
    };
    let (live_elements, applied_elements) = (elements(live), elements(applied));
    let wanted: BTreeSet<&Element> = applied_elements.iter().collect();
    let mut places = BTreeMap::new();
    for (index, element) in live_elements.iter().enumerate() {
        places.entry(element).or_insert(index);
    }
    let mut merged = Vec::with_capacity(live.len() + applied.len());
    let mut rest = 0;
    for (item, element) in applied.iter().zip(&applied_elements) {
        let place = places.get(element).copied();
        if let Some(place) = place {
            while rest < place {
                if !wanted.contains(&live_elements[rest]) {
                    merged.push(live[rest].clone());
                }
                rest += 1;
            }
        }
        merged.push(merge(place.map(|place| &live[place]), item, shape.item()));
    }
    while rest < live.len() {
        if !wanted.contains(&live_elements[rest]) {
            merged.push(live[rest].clone());
        }
        rest += 1;
    }
    merged
}

/// Takes away what the manager applied last and applies no more, where nobody else owns it. `kept` is what anybody owns now.
///
/// A key of a map and an element of a list go as a whole. A field that the kind names goes when nothing is left in it: what
/// nobody owns, such as files that a render made, stays. (Kubernetes takes it along, for there it is a default.)
pub(super) fn prune(value: &mut Value, shape: Shape<'_>, last: &Set, kept: &Set) {
    if !is_granular(value, shape) {
        return;
    }
    match value {
        Value::Object(object) => {
            for (element, node) in last.iter() {
                let Some(name) = element.name() else { continue };
                let Some(inner) = object.get_mut(name) else { continue };
                let part = Part { shape: shape.field_or_anything(name), is_named: shape.is_named(name) };
                if part.prune(inner, node, kept.get(element)) {
                    object.shift_remove(name);
                }
            }
        }
        Value::Array(list) => {
            let mut index = 0;
            list.retain_mut(|item| {
                let element = Element::item(item, index, shape.list_kind());
                index += 1;
                let part = Part { shape: shape.item(), is_named: false };
                !last.get(&element).is_some_and(|node| part.prune(item, node, kept.get(&element)))
            });
        }
        _ => {}
    }
}

/// A value that somebody applied last.
struct Part<'s> {
    shape: Shape<'s>,
    is_named: bool,
}

impl Part<'_> {
    /// Prunes the value; whether it goes itself.
    fn prune(&self, value: &mut Value, last: &Node, kept: Option<&Node>) -> bool {
        if let Some(kept) = kept {
            prune(value, self.shape, &last.below, &kept.below);
            return false;
        }
        if last.owned && (!self.is_named || !is_granular(value, self.shape)) {
            return true;
        }
        prune(value, self.shape, &last.below, &Set::default());
        match value {
            Value::Object(object) => object.is_empty(),
            Value::Array(list) => list.is_empty(),
            _ => last.owned,
        }
    }
}

//! What a write changes, field by field.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::{Element, Set, by_element, is_granular};
use crate::schema::Shape;

/// The fields that differ between two objects.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Difference {
    /// Those that only the second has. Objects and elements on the way are among them where they are new.
    pub(super) added: Set,
    /// Those that are other ones.
    pub(super) modified: Set,
    /// Those that only the first has.
    pub(super) removed: Set,
}

impl Difference {
    /// Between these two objects. A field that is null is not there.
    pub(super) fn between(before: &Value, after: &Value, shape: Shape<'_>) -> Self {
        let mut difference = Self::default();
        difference.walk(Some(before), Some(after), shape, &mut Vec::new());
        difference
    }

    /// What the second one sets.
    pub(super) fn set(&self) -> Set {
        let mut set = self.added.clone();
        set.extend(&self.modified);
        set
    }

    fn walk(&mut self, before: Option<&Value>, after: Option<&Value>, shape: Shape<'_>, path: &mut Vec<Element>) {
        let there = |value: &&Value| !value.is_null();
        match (before.filter(there), after.filter(there)) {
            (None, None) => {}
            (None, after) => {
                self.added.insert(path);
                self.parts(None, after, shape, path);
            }
            (before, None) => {
                self.removed.insert(path);
                self.parts(before, None, shape, path);
            }
            (Some(before), Some(after)) => {
                let alike = before.is_object() == after.is_object() && before.is_array() == after.is_array();
                if alike && is_granular(before, shape) {
                    self.parts(Some(before), Some(after), shape, path);
                } else if before != after {
                    self.modified.insert(path);
                    if !alike {
                        self.parts(Some(before), None, shape, path);
                        self.parts(None, Some(after), shape, path);
                    }
                }
            }
        }
    }

    fn parts(&mut self, before: Option<&Value>, after: Option<&Value>, shape: Shape<'_>, path: &mut Vec<Element>) {
        if let (Some(Value::Object(old)), Some(Value::Object(new))) = (before, after) {
            // Most of an object stays as it is, and gets no path.
            for (name, value) in old.iter().filter(|(name, value)| new.get(*name) != Some(value)) {
                let shape = shape.field_or_anything(name);
                self.step(&Element::field(name), Some(value), new.get(name), shape, path);
            }
            for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
                self.step(&Element::field(name), None, Some(value), shape.field_or_anything(name), path);
            }
            return;
        }
        let (old, new) = (parts(before, shape), parts(after, shape));
        for (element, (value, shape)) in &old {
            let after = new.get(element).map(|(value, _)| *value);
            self.step(element, Some(value), after, *shape, path);
        }
        for (element, (value, shape)) in new.iter().filter(|(element, _)| !old.contains_key(element)) {
            self.step(element, None, Some(value), *shape, path);
        }
    }

    fn step(
        &mut self,
        element: &Element,
        before: Option<&Value>,
        after: Option<&Value>,
        shape: Shape<'_>,
        path: &mut Vec<Element>,
    ) {
        path.push(element.clone());
        self.walk(before, after, shape, path);
        path.pop();
    }
}

/// What has owners of its own in a value.
fn parts<'v, 's>(value: Option<&'v Value>, shape: Shape<'s>) -> BTreeMap<Element, (&'v Value, Shape<'s>)> {
    match value {
        Some(value) if !is_granular(value, shape) => BTreeMap::new(),
        Some(Value::Object(object)) => {
            let fields = object.iter();
            fields.map(|(name, value)| (Element::field(name), (value, shape.field_or_anything(name)))).collect()
        }
        Some(Value::Array(list)) => {
            let items = by_element(list, shape.list_kind()).into_iter();
            items.map(|(element, value)| (element, (value, shape.item()))).collect()
        }
        _ => BTreeMap::new(),
    }
}

//! What values take.

use serde_json::Value;

/// What a value takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Values.
    pub(super) nodes: usize,
    /// About what it is as JSON.
    pub(super) bytes: usize,
    /// Collections inside each other.
    pub(super) depth: usize,
}

impl Size {
    /// The depth of the value is bounded already, so this may recurse.
    pub(super) fn of(value: &Value) -> Self {
        let mut size = Self { nodes: 1, bytes: 8, depth: 0 };
        match value {
            Value::Array(list) => list.iter().for_each(|element| size.hold(element)),
            Value::Object(object) => object.iter().for_each(|(key, value)| {
                size.bytes += key.len() + 4;
                size.hold(value);
            }),
            Value::String(text) => size.bytes += text.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        if matches!(value, Value::Array(_) | Value::Object(_)) {
            size.depth += 1;
        }
        size
    }

    fn hold(&mut self, value: &Value) {
        let inner = Self::of(value);
        self.nodes += inner.nodes;
        self.bytes += inner.bytes;
        self.depth = self.depth.max(inner.depth);
    }
}

//! Nodes of a YAML tree as values of JSON, the only ones that schemas know.

use portico_fn::yaml::{Kind, NodeId, ScalarType, Tree, parse_float, parse_int};
use serde_json::Value;

/// A type of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Type {
    /// `null`
    Null,
    /// `boolean`
    Boolean,
    /// `number`
    Number,
    /// `integer`: a number without a fraction.
    Integer,
    /// `string`
    String,
    /// `array`
    Array,
    /// `object`
    Object,
}

impl Type {
    /// As it is written in a schema.
    pub fn name(self) -> &'static str {
        match self {
            Type::Null => "null",
            Type::Boolean => "boolean",
            Type::Number => "number",
            Type::Integer => "integer",
            Type::String => "string",
            Type::Array => "array",
            Type::Object => "object",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Type> {
        let all = [Type::Null, Type::Boolean, Type::Number, Type::Integer, Type::String, Type::Array, Type::Object];
        all.into_iter().find(|each| each.name() == name)
    }

    /// The type of a node: [`Type::Integer`] for every whole number, else [`Type::Number`].
    pub(crate) fn of(tree: &Tree, id: NodeId) -> Type {
        match tree.kind(id) {
            Kind::Mapping => Type::Object,
            Kind::Sequence => Type::Array,
            Kind::Alias => Type::String,
            Kind::Scalar => match tree.scalar_type(id) {
                ScalarType::Null => Type::Null,
                ScalarType::Bool => Type::Boolean,
                ScalarType::Int => Type::Integer,
                ScalarType::Float if number(tree, id).fract() == 0.0 => Type::Integer,
                ScalarType::Float => Type::Number,
                ScalarType::Timestamp | ScalarType::Binary | ScalarType::Merge | ScalarType::Str => Type::String,
            },
        }
    }

    /// Whether a value of this type is one of the other.
    pub(crate) fn is(self, other: Type) -> bool {
        self == other || self == Type::Integer && other == Type::Number
    }
}

/// The number that a node is, near enough to compare it with a bound; not a number for other nodes.
#[expect(clippy::cast_precision_loss, reason = "bounds of schemas are floats too")]
pub(crate) fn number(tree: &Tree, id: NodeId) -> f64 {
    let text = tree.text(id);
    match tree.scalar_type(id) {
        ScalarType::Int => parse_int(text).map_or(f64::NAN, |number| number as f64),
        ScalarType::Float => parse_float(text).unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}

/// Whether a node holds this value.
pub(crate) fn equals(tree: &Tree, id: NodeId, value: &Value) -> bool {
    let of = Type::of(tree, id);
    match value {
        Value::Null => of == Type::Null,
        Value::Bool(value) => of == Type::Boolean && tree.text(id).eq_ignore_ascii_case(&value.to_string()),
        Value::Number(value) => {
            of.is(Type::Number) && value.as_f64().is_some_and(|value| (value - number(tree, id)).abs() == 0.0)
        }
        Value::String(value) => of == Type::String && tree.text(id) == value,
        Value::Array(values) => {
            of == Type::Array
                && tree.len(id) == values.len()
                && tree.elements(id).zip(values).all(|(element, value)| equals(tree, element, value))
        }
        Value::Object(values) => {
            of == Type::Object
                && tree.len(id) == values.len()
                && values.iter().all(|(key, value)| tree.get(id, key).is_some_and(|id| equals(tree, id, value)))
        }
    }
}

/// A text that is the same for equal values and for no others.
#[expect(clippy::format_push_string, reason = "short texts")]
pub(crate) fn canonical(tree: &Tree, id: NodeId, into: &mut String) {
    match Type::of(tree, id) {
        Type::Null => into.push('~'),
        Type::Boolean => into.push_str(&tree.text(id).to_ascii_lowercase()),
        Type::Number | Type::Integer => into.push_str(&number(tree, id).to_string()),
        Type::String => into.push_str(&format!("{:?}", tree.text(id))),
        Type::Array => {
            into.push('[');
            for element in tree.elements(id) {
                canonical(tree, element, into);
                into.push(',');
            }
            into.push(']');
        }
        Type::Object => {
            let mut entries: Vec<_> = tree.entries(id).map(|(key, value)| (tree.text(key), value)).collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            into.push('{');
            for (key, value) in entries {
                into.push_str(&format!("{key:?}:"));
                canonical(tree, value, into);
                into.push(',');
            }
            into.push('}');
        }
    }
}

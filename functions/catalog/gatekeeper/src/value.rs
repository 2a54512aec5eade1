//! Objects as the values that policies see, and values as text.

use portico_fn::yaml::{Kind, NodeId, ScalarType, Tree, parse_float, parse_int};
use portico_fn::{PlainError, Resource, plain_copy};
use regorus::Value;

/// The value of an object: what is left of it in JSON. Aliases and merge keys are written out.
pub(crate) fn of_object(object: &Resource) -> Result<Value, PlainError> {
    if has_aliases(&object.tree) {
        let plain = plain_copy(object, false)?;
        return Ok(of_node(&plain.tree, plain.tree.root()));
    }
    Ok(of_node(&object.tree, object.tree.root()))
}

fn has_aliases(tree: &Tree) -> bool {
    let mut stack = vec![tree.root()];
    while let Some(id) = stack.pop() {
        let merges = |(key, _)| tree.is_scalar(key) && tree.scalar_type(key) == ScalarType::Merge;
        if tree.kind(id) == Kind::Alias || tree.entries(id).any(merges) {
            return true;
        }
        stack.extend(tree.children(id));
    }
    false
}

/// Recursion is as deep as the tree, which its reader bounds.
fn of_node(tree: &Tree, id: NodeId) -> Value {
    match tree.kind(id) {
        Kind::Scalar | Kind::Alias => of_scalar(tree, id),
        Kind::Sequence => Value::from(tree.elements(id).map(|element| of_node(tree, element)).collect::<Vec<_>>()),
        Kind::Mapping => {
            object(tree.entries(id).map(|(key, value)| (Value::from(tree.text(key)), of_node(tree, value))))
        }
    }
}

fn of_scalar(tree: &Tree, id: NodeId) -> Value {
    let text = tree.text(id);
    match tree.scalar_type(id) {
        ScalarType::Null => Value::Null,
        ScalarType::Bool => Value::from(text.starts_with(['t', 'T'])),
        ScalarType::Int | ScalarType::Float => number(text).unwrap_or_else(|| Value::from(text)),
        ScalarType::Timestamp | ScalarType::Binary | ScalarType::Merge | ScalarType::Str => Value::from(text),
    }
}

fn number(text: &str) -> Option<Value> {
    if let Some(int) = parse_int(text) {
        return Some(Value::from(int));
    }
    let float = parse_float(text).filter(|float| float.is_finite())?;
    // JSON knows no difference between 1.0 and 1
    #[expect(clippy::cast_precision_loss, reason = "a bound, not a value")]
    let whole = float.fract() == 0.0 && float.abs() < i64::MAX as f64;
    Some(if whole { Value::from(float as i64) } else { Value::from(float) })
}

/// An object of these entries.
pub(crate) fn object(entries: impl IntoIterator<Item = (Value, Value)>) -> Value {
    Value::from(entries.into_iter().collect::<regorus::value::Object>())
}

/// The text of a string; empty for anything else.
pub(crate) fn text(value: &Value) -> &str {
    match value {
        Value::String(text) => text,
        _ => "",
    }
}

/// True where there is nothing.
pub(crate) fn is_missing(value: &Value) -> bool {
    matches!(value, Value::Undefined | Value::Null)
}

/// The name of a value's type in messages.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Set(_) => "a set",
        Value::Object(_) => "a mapping",
        Value::Undefined => "nothing",
    }
}

/// The value as a policy's author writes it: strings in quotes, sets in braces, `set()` for the empty one.
pub(crate) fn rego_text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(elements) => list(elements.iter(), ['[', ']'], out),
        Value::Set(elements) if elements.is_empty() => out.push_str("set()"),
        Value::Set(elements) => list(elements.iter_sorted(), ['{', '}'], out),
        Value::Object(entries) => {
            out.push('{');
            for (number, (key, value)) in entries.iter_sorted().enumerate() {
                if number > 0 {
                    out.push_str(", ");
                }
                write(key, out);
                out.push_str(": ");
                write(value, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

fn list<'v>(elements: impl Iterator<Item = &'v Value>, brackets: [char; 2], out: &mut String) {
    out.push(brackets[0]);
    for (number, element) in elements.enumerate() {
        if number > 0 {
            out.push_str(", ");
        }
        write(element, out);
    }
    out.push(brackets[1]);
}

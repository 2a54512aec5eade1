//! Trees to values.

use std::collections::HashMap;

use portico_krm::yaml::{Kind, NodeId, ScalarType, Tree, parse_float, parse_int};
use starlark::collections::SmallMap;
use starlark::values::dict::Dict;
use starlark::values::list::AllocList;
use starlark::values::{Heap, Value};

use super::Unfit;
use crate::number;

/// Strings of keys, so that each is in memory, and hashed, once.
pub(crate) type Keys<'t, 'v> = HashMap<&'t str, Value<'v>>;

/// The value of a node of a tree without aliases and merge keys (see [`super::expanded`]). Recursion is as deep as the
/// tree, which its reader bounds.
pub(crate) fn to_value<'t, 'v>(
    tree: &'t Tree,
    id: NodeId,
    heap: Heap<'v>,
    keys: &mut Keys<'t, 'v>,
) -> Result<Value<'v>, Unfit> {
    match tree.kind(id) {
        Kind::Scalar | Kind::Alias => Ok(scalar(tree, id, heap)),
        Kind::Sequence => {
            let elements: Vec<Value<'v>> =
                tree.elements(id).map(|element| to_value(tree, element, heap, keys)).collect::<Result<_, _>>()?;
            Ok(heap.alloc(AllocList(elements)))
        }
        Kind::Mapping => {
            let mut map = SmallMap::new();
            for (key, value) in tree.entries(id) {
                let value = to_value(tree, value, heap, keys)?;
                let key = key_value(tree, key, heap, keys)?;
                let hashed = key.get_hashed().map_err(|e| Unfit::new(e.without_diagnostic().to_string()))?;
                map.insert_hashed(hashed, value);
            }
            Ok(heap.alloc(Dict::new(map)))
        }
    }
}

/// The value of a mapping's key.
pub(super) fn key_value<'t, 'v>(
    tree: &'t Tree,
    id: NodeId,
    heap: Heap<'v>,
    keys: &mut Keys<'t, 'v>,
) -> Result<Value<'v>, Unfit> {
    if !tree.is_scalar(id) {
        let at = tree.position(id).map(|p| format!(" in line {}", p.line)).unwrap_or_default();
        return Err(Unfit::new(format!("the mapping key{at} is no scalar, which a script can't handle")));
    }
    match tree.scalar_type(id) {
        ScalarType::Null | ScalarType::Bool | ScalarType::Int | ScalarType::Float => Ok(scalar(tree, id, heap)),
        _ => Ok(*keys.entry(tree.text(id)).or_insert_with_key(|text| heap.alloc(*text))),
    }
}

fn scalar<'v>(tree: &Tree, id: NodeId, heap: Heap<'v>) -> Value<'v> {
    let text = tree.text(id);
    match tree.scalar_type(id) {
        ScalarType::Null => Value::new_none(),
        ScalarType::Bool => Value::new_bool(text.starts_with(['t', 'T'])),
        ScalarType::Int => int(text, heap),
        ScalarType::Float => float(text, heap),
        // what Kubernetes' JSON knows as strings: timestamps, base64 of binary data
        ScalarType::Timestamp | ScalarType::Binary | ScalarType::Merge | ScalarType::Str => heap.alloc(text),
    }
}

fn int<'v>(text: &str, heap: Heap<'v>) -> Value<'v> {
    match parse_int(text) {
        Some(value) => match i64::try_from(value) {
            Ok(small) => heap.alloc(small),
            Err(_) => heap.alloc(num_bigint::BigInt::from(value)),
        },
        // a tag calls it an int; its text does not look like one
        None => heap.alloc(text),
    }
}

fn float<'v>(text: &str, heap: Heap<'v>) -> Value<'v> {
    // a whole number beyond 64 bits
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.bytes().all(|b| b.is_ascii_digit())
        && let Some(big) = number::parse_int(text, 10)
    {
        return heap.alloc(big);
    }
    match parse_float(text) {
        Some(float) => heap.alloc(float),
        None => heap.alloc(text),
    }
}

/// Whether a scalar still has the value that [`to_value`] gave it.
pub(super) fn same_scalar(tree: &Tree, id: NodeId, value: Value<'_>) -> bool {
    let text = tree.text(id);
    match tree.scalar_type(id) {
        ScalarType::Null => value.is_none(),
        ScalarType::Bool => value.unpack_bool() == Some(text.starts_with(['t', 'T'])),
        ScalarType::Int | ScalarType::Float => {
            if let Some(digits) = number::int_text(value) {
                return number_text(text).is_some_and(|t| t == digits);
            }
            match (number::float(value), parse_float(text)) {
                (Some(a), Some(b)) => {
                    is_float_spelling(text) && (a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))
                }
                _ => value.unpack_str() == Some(text) && number_text(text).is_none() && parse_float(text).is_none(),
            }
        }
        _ => value.unpack_str() == Some(text),
    }
}

/// The decimal digits of a text that is an int here.
fn number_text(text: &str) -> Option<String> {
    if let Some(value) = parse_int(text) {
        return Some(value.to_string());
    }
    if is_float_spelling(text) {
        return None;
    }
    number::parse_int(text, 10).map(|big| big.to_string())
}

/// A float, as opposed to a whole number that is too large for 64 bits.
fn is_float_spelling(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.bytes().all(|b| b.is_ascii_digit())
}

//! When two nodes hold the same value, however they are written.
use std::collections::HashMap;

use super::numbers::{Number, parse_number};
use super::resolve::ScalarType;
use super::tree::{Kind, NodeId, Tree};

/// True when two nodes hold the same value.
///
/// Numbers are equal by value (`1000`, `1e3`, `0x3E8`), strings exactly, nulls and booleans whatever their spelling.
/// A timestamp equals the string of the same text, as in JSON, the only types that Kubernetes knows. The order of keys in
/// mappings does not count, that of elements in sequences does. Aliases are equal when they have one name; comments,
/// styles and anchors do not count. Mappings with keys that are no scalars are only equal in the same order.
pub fn value_eq(a: &Tree, a_id: NodeId, b: &Tree, b_id: NodeId) -> bool {
    if a.kind(a_id) != b.kind(b_id) {
        return false;
    }
    match a.kind(a_id) {
        Kind::Scalar => scalar_eq(a, a_id, b, b_id),
        Kind::Alias => a.text(a_id) == b.text(b_id),
        Kind::Sequence => {
            if !collection_tag_eq(a, a_id, b, b_id) {
                return false;
            }
            let mut others = b.elements(b_id);
            a.elements(a_id).all(|x| others.next().is_some_and(|y| value_eq(a, x, b, y))) && others.next().is_none()
        }
        Kind::Mapping => collection_tag_eq(a, a_id, b, b_id) && mapping_eq(a, a_id, b, b_id),
    }
}

fn scalar_eq(a: &Tree, a_id: NodeId, b: &Tree, b_id: NodeId) -> bool {
    let (a_text, b_text) = (a.text(a_id), b.text(b_id));
    let types = (a.scalar_type(a_id), b.scalar_type(b_id));
    if custom_tag(a, a_id) != custom_tag(b, b_id) {
        return false;
    }
    match types {
        (ScalarType::Null, ScalarType::Null) => true,
        (ScalarType::Int | ScalarType::Float, ScalarType::Int | ScalarType::Float) => number_eq(a_text, b_text),
        (ScalarType::Bool, ScalarType::Bool) => a_text.eq_ignore_ascii_case(b_text),
        (ScalarType::Timestamp | ScalarType::Str, ScalarType::Timestamp | ScalarType::Str) => a_text == b_text,
        (ScalarType::Binary, ScalarType::Binary) => {
            let digits = |s: &'_ str| s.bytes().filter(|b| !b.is_ascii_whitespace()).collect::<Vec<_>>();
            digits(a_text) == digits(b_text)
        }
        (x, y) => x == y && a_text == b_text,
    }
}

fn number_eq(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let (Some(x), Some(y)) = (parse_number(a), parse_number(b)) else { return false };
    // Whole numbers beyond 64 bits read as floats, which several of them share.
    if let (Number::Float(_), Number::Float(_), Some(x), Some(y)) = (x, y, big_digits(a), big_digits(b)) {
        return x == y;
    }
    x.same(y)
}

/// Sign and digits of a decimal number without fraction and exponent.
fn big_digits(text: &str) -> Option<(bool, &str)> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| (text.starts_with('-'), digits.trim_start_matches('0')))
}

/// A tag that says more than the type of a scalar.
fn custom_tag(tree: &Tree, id: NodeId) -> Option<&str> {
    let standard = ["!!null", "!!bool", "!!int", "!!float", "!!timestamp", "!!binary", "!!merge", "!!str"];
    tree.tag(id).filter(|tag| !standard.contains(tag))
}

fn collection_tag_eq(a: &Tree, a_id: NodeId, b: &Tree, b_id: NodeId) -> bool {
    let usual = if a.is_mapping(a_id) { "!!map" } else { "!!seq" };
    let tag = |tree: &'_ Tree, id| tree.tag(id).filter(|tag| *tag != usual).map(str::to_owned);
    tag(a, a_id) == tag(b, b_id)
}

fn mapping_eq(a: &Tree, a_id: NodeId, b: &Tree, b_id: NodeId) -> bool {
    let mut ours = a.entries(a_id);
    let mut theirs = b.entries(b_id);
    // Mostly the order is the same.
    loop {
        let (before, others) = (ours.clone(), theirs.clone());
        match (ours.next(), theirs.next()) {
            (None, None) => return true,
            (Some((k, v)), Some((other_k, other_v))) => {
                if !value_eq(a, k, b, other_k) {
                    return unordered_eq(a, before, b, others);
                }
                if !value_eq(a, v, b, other_v) {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

fn unordered_eq(
    a: &Tree,
    ours: impl Iterator<Item = (NodeId, NodeId)>,
    b: &Tree,
    theirs: impl Iterator<Item = (NodeId, NodeId)>,
) -> bool {
    let mut values: HashMap<&str, Vec<(NodeId, NodeId)>> = HashMap::new();
    let mut count = 0_usize;
    for (key, value) in theirs {
        if !b.is_scalar(key) {
            return false;
        }
        values.entry(b.text(key)).or_default().push((key, value));
        count += 1;
    }
    for (key, value) in ours {
        // Keys of one text differ in type (`1`, `"1"`), so there are few of them.
        let found = values.get_mut(a.text(key)).and_then(|list| {
            let at = list.iter().position(|(k, _)| value_eq(a, key, b, *k))?;
            Some(list.swap_remove(at).1)
        });
        match found {
            Some(other) if value_eq(a, value, b, other) => count -= 1,
            _ => return false,
        }
    }
    count == 0
}

//! Values to trees.

use std::collections::HashSet;

use portico_krm::yaml::{Kind, NodeId, Style, Tree};
use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::structs::StructRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, Value};

use super::elements::{self, Slot};
use super::to_value::{self, same_scalar};
use super::{DEPTH, Keys, Unfit};
use crate::number;

/// Lays a value over a node of the tree it came from: `Ok(None)` where node and value agree or the node was changed in
/// place, else the node to put in its place.
pub(crate) fn update<'v>(
    tree: &mut Tree,
    id: NodeId,
    value: Value<'v>,
    heap: Heap<'v>,
    depth: u32,
) -> Result<Option<NodeId>, Unfit> {
    let below = deeper(depth)?;
    match tree.kind(id) {
        Kind::Scalar if same_scalar(tree, id, value) => Ok(None),
        Kind::Scalar if is_scalar(value) => {
            set_scalar(tree, id, value);
            Ok(None)
        }
        Kind::Mapping if is_map(value) => {
            update_mapping(tree, id, value, heap, below)?;
            Ok(None)
        }
        Kind::Sequence => match list(value, heap) {
            Some(values) => {
                update_sequence(tree, id, &values, heap, below)?;
                Ok(None)
            }
            None => build(tree, value, heap, depth).map(Some),
        },
        _ => build(tree, value, heap, depth).map(Some),
    }
}

/// Makes new nodes for a value.
pub(crate) fn build<'v>(tree: &mut Tree, value: Value<'v>, heap: Heap<'v>, depth: u32) -> Result<NodeId, Unfit> {
    let below = deeper(depth)?;
    if let Some((text, is_string)) = scalar_text(value) {
        return Ok(if is_string { tree.string(&text) } else { tree.scalar(&text, Style::Plain) });
    }
    if let Some(values) = list(value, heap) {
        let sequence = tree.sequence(Style::Block);
        for (i, element) in values.into_iter().enumerate() {
            let element = build(tree, element, heap, below).map_err(|u| u.under(format!("[{i}]")))?;
            tree.push(sequence, element);
        }
        return Ok(sequence);
    }
    if is_map(value) {
        let mapping = tree.mapping(Style::Block);
        for (key, value) in sorted(fields(value, heap)) {
            let (key, value) = entry(tree, key, value, heap, below)?;
            tree.push_entry(mapping, key, value);
        }
        return Ok(mapping);
    }
    Err(Unfit::new(format!("a {} can't be written to YAML", value.get_type())))
}

/// Whether a node and a value agree, the order of keys aside.
pub(crate) fn same<'v>(tree: &Tree, id: NodeId, value: Value<'v>, heap: Heap<'v>) -> bool {
    match tree.kind(id) {
        Kind::Scalar => same_scalar(tree, id, value),
        Kind::Alias => false,
        Kind::Sequence => list(value, heap).is_some_and(|values| {
            let mut elements = tree.elements(id);
            values.iter().all(|v| elements.next().is_some_and(|e| same(tree, e, *v, heap))) && elements.next().is_none()
        }),
        Kind::Mapping => {
            let Some(dict) = DictRef::from_value(value) else { return false };
            let mut keys = Keys::new();
            let mut count = 0;
            tree.entries(id).all(|(key, node)| {
                count += 1;
                lookup(tree, key, &dict, heap, &mut keys).is_some_and(|v| same(tree, node, v, heap))
            }) && count == dict.len()
        }
    }
}

fn deeper(depth: u32) -> Result<u32, Unfit> {
    depth
        .checked_sub(1)
        .ok_or_else(|| Unfit::new(format!("values are nested more than {DEPTH} levels deep; does one hold itself?")))
}

fn is_scalar(value: Value<'_>) -> bool {
    scalar_text(value).is_some()
}

fn is_map(value: Value<'_>) -> bool {
    DictRef::from_value(value).is_some() || StructRef::from_value(value).is_some()
}

/// Text of a scalar, and whether it is a string.
fn scalar_text(value: Value<'_>) -> Option<(String, bool)> {
    if let Some(text) = value.unpack_str() {
        return Some((text.to_owned(), true));
    }
    let text = if value.is_none() {
        "null".to_owned()
    } else if let Some(b) = value.unpack_bool() {
        b.to_string()
    } else if let Some(digits) = number::int_text(value) {
        digits
    } else {
        number::float_text(number::float(value)?)
    };
    Some((text, false))
}

/// The elements of a list, tuple or set.
fn list<'v>(value: Value<'v>, heap: Heap<'v>) -> Option<Vec<Value<'v>>> {
    if let Some(list) = ListRef::from_value(value) {
        return Some(list.iter().collect());
    }
    if let Some(tuple) = TupleRef::from_value(value) {
        return Some(tuple.iter().collect());
    }
    // the evaluator keeps the type of sets to itself
    if value.get_type() != "set" {
        return None;
    }
    value.iterate(heap).ok().map(Iterator::collect)
}

/// The entries of a dict or struct.
fn fields<'v>(value: Value<'v>, heap: Heap<'v>) -> Vec<(Value<'v>, Value<'v>)> {
    if let Some(dict) = DictRef::from_value(value) {
        return dict.iter().collect();
    }
    let Some(fields) = StructRef::from_value(value) else { return Vec::new() };
    fields.iter().map(|(name, value)| (heap.alloc(name.as_str()), value)).collect()
}

/// New keys come in the order of their text, as the upstream function writes them; those that were there keep their
/// places.
fn sorted<'v>(mut fields: Vec<(Value<'v>, Value<'v>)>) -> Vec<(Value<'v>, Value<'v>)> {
    fields.sort_by_cached_key(|(key, _)| scalar_text(*key).map(|(text, _)| text));
    fields
}

/// Gives a scalar a new value: comments stay, and quotes where the new value is a string too.
fn set_scalar(tree: &mut Tree, id: NodeId, value: Value<'_>) {
    let Some((text, is_string)) = scalar_text(value) else { return };
    if !is_string {
        tree.set_text(id, &text);
        tree.set_style(id, Style::Plain);
        tree.set_tag(id, None);
        return;
    }
    let style = tree.style(id);
    tree.set_string(id, &text);
    let keep = match style {
        Style::SingleQuoted | Style::DoubleQuoted => !text.contains('\n'),
        Style::Literal | Style::Folded => text.contains('\n'),
        _ => false,
    };
    if keep {
        tree.set_text(id, &text);
        tree.set_style(id, if style == Style::Folded { Style::Literal } else { style });
    }
}

fn lookup<'t, 'v>(
    tree: &'t Tree,
    key: NodeId,
    dict: &DictRef<'v>,
    heap: Heap<'v>,
    keys: &mut Keys<'t, 'v>,
) -> Option<Value<'v>> {
    if key_is_string(tree, key) {
        return dict.get_str(tree.text(key));
    }
    let key = to_value::key_value(tree, key, heap, keys).ok()?;
    dict.get(key).ok().flatten()
}

fn key_is_string(tree: &Tree, key: NodeId) -> bool {
    use portico_krm::yaml::ScalarType::{Bool, Float, Int, Null};
    !matches!(tree.scalar_type(key), Null | Bool | Int | Float)
}

fn entry<'v>(
    tree: &mut Tree,
    key: Value<'v>,
    value: Value<'v>,
    heap: Heap<'v>,
    depth: u32,
) -> Result<(NodeId, NodeId), Unfit> {
    let Some((text, is_string)) = scalar_text(key) else {
        return Err(Unfit::new(format!("a {} can't be a key in YAML", key.get_type())));
    };
    let value = build(tree, value, heap, depth).map_err(|u| u.under(text.clone()))?;
    let key = if is_string { tree.string(&text) } else { tree.scalar(&text, Style::Plain) };
    Ok((key, value))
}

fn update_mapping<'v>(tree: &mut Tree, id: NodeId, value: Value<'v>, heap: Heap<'v>, depth: u32) -> Result<(), Unfit> {
    let entries: Vec<(NodeId, NodeId)> = tree.entries(id).collect();
    let fields = fields(value, heap);
    let dict = DictRef::from_value(value);
    let mut children = Vec::with_capacity(entries.len() * 2);
    let mut changed = false;
    let mut met: HashSet<(bool, String)> = HashSet::new();
    for (key, node) in entries {
        let found = match &dict {
            Some(dict) => lookup(tree, key, dict, heap, &mut Keys::new()),
            None => fields.iter().find(|(k, _)| k.unpack_str() == Some(tree.text(key))).map(|(_, v)| *v),
        };
        let Some(value) = found else {
            changed = true;
            continue;
        };
        let replaced = update(tree, node, value, heap, depth).map_err(|u| u.under(tree.text(key).to_owned()))?;
        changed |= replaced.is_some();
        children.extend([key, replaced.unwrap_or(node)]);
    }
    if children.len() / 2 < fields.len() {
        for pair in children.chunks_exact(2) {
            met.insert(key_of(tree, pair[0], heap));
        }
        for (key, value) in sorted(fields) {
            let text = scalar_text(key).map(|(text, is_string)| (is_string, text));
            if text.is_some_and(|text| met.contains(&text)) {
                continue;
            }
            let (key, value) = entry(tree, key, value, heap, depth)?;
            children.extend([key, value]);
            changed = true;
        }
    }
    if changed {
        tree.set_children(id, &children);
    }
    Ok(())
}

/// Whether a key is a string, and its text as [`scalar_text`] gives it for the key's value.
fn key_of(tree: &Tree, key: NodeId, heap: Heap<'_>) -> (bool, String) {
    if key_is_string(tree, key) {
        return (true, tree.text(key).to_owned());
    }
    let value = to_value::key_value(tree, key, heap, &mut Keys::new()).ok();
    value.and_then(scalar_text).map_or((false, String::new()), |(text, is_string)| (is_string, text))
}

fn update_sequence<'v>(
    tree: &mut Tree,
    id: NodeId,
    values: &[Value<'v>],
    heap: Heap<'v>,
    depth: u32,
) -> Result<(), Unfit> {
    let old: Vec<NodeId> = tree.elements(id).collect();
    let mut children = Vec::with_capacity(values.len());
    for (i, slot) in elements::pair(tree, &old, values, heap).into_iter().enumerate() {
        let step = |u: Unfit| u.under(format!("[{i}]"));
        children.push(match slot {
            Slot::Same(node) => node,
            Slot::Changed(node) => update(tree, node, values[i], heap, depth).map_err(step)?.unwrap_or(node),
            Slot::New => build(tree, values[i], heap, depth).map_err(step)?,
        });
    }
    if children != old {
        tree.set_children(id, &children);
    }
    Ok(())
}

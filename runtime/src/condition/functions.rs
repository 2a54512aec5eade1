//! Operators and functions of CEL's standard that conditions have.

use std::cmp::Ordering;
use std::rc::Rc;

use cel::common::ast::operators;

use super::ConditionError;
use super::eval::{Evaluator, Result, failed};
use super::value::Value;

/// How deep two values are compared.
const MAX_DEPTH: u32 = 100;

/// Applies an operator or a function; the target of a method is its first argument.
pub(super) fn apply<'t>(eval: &mut Evaluator<'t>, name: &str, values: &[Value<'t>]) -> Result<Value<'t>> {
    match (name, values) {
        (operators::LOGICAL_NOT, [Value::Bool(value)]) => Ok(Value::Bool(!value)),
        (operators::EQUALS, [a, b]) => Ok(Value::Bool(equal(eval, a, b, 0)?)),
        (operators::NOT_EQUALS, [a, b]) => Ok(Value::Bool(!equal(eval, a, b, 0)?)),
        (operators::LESS, [a, b]) => compare(eval, a, b, Ordering::is_lt),
        (operators::LESS_EQUALS, [a, b]) => compare(eval, a, b, Ordering::is_le),
        (operators::GREATER, [a, b]) => compare(eval, a, b, Ordering::is_gt),
        (operators::GREATER_EQUALS, [a, b]) => compare(eval, a, b, Ordering::is_ge),
        (operators::NEGATE, [Value::Int(n)]) => whole(n.checked_neg()),
        (operators::NEGATE, [Value::Double(n)]) => Ok(Value::Double(-n)),
        (operators::ADD, [Value::Text(a), Value::Text(b)]) => {
            eval.text_room(a.len() + b.len())?;
            eval.step((a.len() + b.len()) / 16)?;
            Ok(Value::text([&**a, &**b].concat()))
        }
        (operators::ADD, [a, b]) if a.elements_like(b) => {
            eval.list_room(a.size().unwrap_or(0) + b.size().unwrap_or(0))?;
            let mut all = a.elements().unwrap_or_default();
            all.extend(b.elements().unwrap_or_default());
            Ok(Value::List(Rc::new(all)))
        }
        (
            operators::ADD | operators::SUBSTRACT | operators::MULTIPLY | operators::DIVIDE | operators::MODULO,
            [a, b],
        ) => arithmetic(name, a, b),
        (operators::INDEX, [of, key]) => index(eval, of, key),
        (operators::IN, [value, of]) => contains(eval, of, value),
        ("size", [Value::Text(text)]) => {
            eval.step(text.len() / 16)?;
            whole(i64::try_from(text.chars().count()).ok())
        }
        ("size", [value]) if value.size().is_some() => {
            let size = value.size().unwrap_or(0);
            eval.step(size)?;
            whole(i64::try_from(size).ok())
        }
        ("startsWith" | "endsWith" | "contains", [Value::Text(text), Value::Text(part)]) => {
            eval.step(text.len() / 16)?;
            Ok(Value::Bool(match name {
                "startsWith" => text.starts_with(&**part),
                "endsWith" => text.ends_with(&**part),
                _ => text.contains(&**part),
            }))
        }
        ("string", [value]) => string(eval, value),
        ("int", [value]) => int(value),
        ("double", [Value::Text(text)]) => match text.parse() {
            Ok(n) => Ok(Value::Double(n)),
            Err(_) => failed(format!("`{}` is no number", short(text))),
        },
        ("double", [value]) if value.is_number() => Ok(Value::Double(value.double().unwrap_or(0.0))),
        _ => unknown(name, values),
    }
}

fn unknown<'t>(name: &str, values: &[Value<'t>]) -> Result<Value<'t>> {
    let types: Vec<&str> = values.iter().map(Value::type_name).collect();
    let operator = name.trim_matches(['_', '@']);
    failed(format!(
        "there is no `{operator}` for {}",
        if types.is_empty() { "nothing".into() } else { types.join(" and ") }
    ))
}

/// A text as a message shows it.
fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(60)]
}

impl<'t> Value<'t> {
    /// True when both are lists.
    fn elements_like(&self, other: &Value<'t>) -> bool {
        self.type_name() == "a list" && other.type_name() == "a list"
    }
}

fn equal<'t>(eval: &mut Evaluator<'t>, a: &Value<'t>, b: &Value<'t>, depth: u32) -> Result<bool> {
    eval.step(1)?;
    if depth == MAX_DEPTH {
        return Err(ConditionError::Nesting);
    }
    match (a, b) {
        (Value::Null, Value::Null) => return Ok(true),
        (Value::Text(a), Value::Text(b)) => {
            eval.step(a.len().min(b.len()) / 16)?;
            return Ok(a == b);
        }
        _ => {}
    }
    if a.is_number() && b.is_number() || matches!((a, b), (Value::Bool(_), Value::Bool(_))) {
        return Ok(a.order(b) == Some(Ordering::Equal));
    }
    if a.type_name() != b.type_name() || a.size() != b.size() {
        return Ok(false);
    }
    eval.step(a.size().unwrap_or(0) * 4)?;
    if let (Some(a), Some(b)) = (a.elements(), b.elements()) {
        for (a, b) in a.iter().zip(&b) {
            if !equal(eval, a, b, depth + 1)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    let (Some(a), Some(b)) = (a.entries(), b.entries()) else { return Ok(false) };
    for (key, value) in &a {
        let mut found = false;
        for (other, candidate) in &b {
            if equal(eval, key, other, depth + 1)? {
                found = equal(eval, value, candidate, depth + 1)?;
                break;
            }
        }
        if !found {
            return Ok(false);
        }
    }
    Ok(true)
}

fn compare<'t>(
    eval: &mut Evaluator<'t>,
    a: &Value<'t>,
    b: &Value<'t>,
    holds: fn(Ordering) -> bool,
) -> Result<Value<'t>> {
    if let (Value::Text(a), Value::Text(b)) = (a, b) {
        eval.step(a.len().min(b.len()) / 16)?;
    }
    match a.order(b) {
        Some(order) => Ok(Value::Bool(holds(order))),
        // Not a number: nothing holds.
        None if a.is_number() && b.is_number() => Ok(Value::Bool(false)),
        None => failed(format!("{} and {} have no order", a.type_name(), b.type_name())),
    }
}

fn whole<'t>(n: Option<i64>) -> Result<Value<'t>> {
    n.map_or_else(|| failed("an integer is too large, or divided by zero"), |n| Ok(Value::Int(n)))
}

fn arithmetic<'t>(name: &str, a: &Value<'t>, b: &Value<'t>) -> Result<Value<'t>> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => whole(match name {
            operators::ADD => a.checked_add(*b),
            operators::SUBSTRACT => a.checked_sub(*b),
            operators::MULTIPLY => a.checked_mul(*b),
            operators::DIVIDE => a.checked_div(*b),
            _ => a.checked_rem(*b),
        }),
        (Value::Uint(a), Value::Uint(b)) => {
            let n = match name {
                operators::ADD => a.checked_add(*b),
                operators::SUBSTRACT => a.checked_sub(*b),
                operators::MULTIPLY => a.checked_mul(*b),
                operators::DIVIDE => a.checked_div(*b),
                _ => a.checked_rem(*b),
            };
            n.map_or_else(|| failed("an integer is too large, or divided by zero"), |n| Ok(Value::Uint(n)))
        }
        (Value::Double(a), Value::Double(b)) if name != operators::MODULO => Ok(Value::Double(match name {
            operators::ADD => a + b,
            operators::SUBSTRACT => a - b,
            operators::MULTIPLY => a * b,
            _ => a / b,
        })),
        _ => unknown(name, &[a.clone(), b.clone()]),
    }
}

fn index<'t>(eval: &mut Evaluator<'t>, of: &Value<'t>, key: &Value<'t>) -> Result<Value<'t>> {
    eval.step(of.size().unwrap_or(0))?;
    match (of, key) {
        (Value::Node(tree, id), Value::Text(key)) if tree.is_mapping(*id) => match tree.get(*id, key) {
            Some(value) => Ok(Value::of(tree, value)),
            None => failed(format!("there is no key `{}`", short(key))),
        },
        (Value::Map(map), key) => {
            for (candidate, value) in map.iter() {
                if equal(eval, candidate, key, 0)? {
                    return Ok(value.clone());
                }
            }
            failed("there is no such key in the map")
        }
        (Value::List(_) | Value::Node(..), Value::Int(at)) if of.type_name() == "a list" => {
            let at = usize::try_from(*at).ok();
            let found = at.and_then(|at| match of {
                Value::List(list) => list.get(at).cloned(),
                Value::Node(tree, id) => tree.elements(*id).nth(at).map(|element| Value::of(tree, element)),
                _ => None,
            });
            found.map_or_else(|| failed("an index lies outside its list"), Ok)
        }
        _ => unknown(operators::INDEX, &[of.clone(), key.clone()]),
    }
}

fn contains<'t>(eval: &mut Evaluator<'t>, of: &Value<'t>, value: &Value<'t>) -> Result<Value<'t>> {
    eval.step(of.size().unwrap_or(0))?;
    if let (Value::Node(tree, id), Value::Text(key)) = (of, value)
        && tree.is_mapping(*id)
    {
        return Ok(Value::Bool(tree.get(*id, key).is_some()));
    }
    let candidates = match (of.elements(), of.entries()) {
        (Some(elements), _) => elements,
        (None, Some(entries)) => entries.into_iter().map(|(key, _)| key).collect(),
        (None, None) => return unknown(operators::IN, &[value.clone(), of.clone()]),
    };
    for candidate in &candidates {
        if equal(eval, candidate, value, 0)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn string<'t>(eval: &mut Evaluator<'t>, value: &Value<'t>) -> Result<Value<'t>> {
    let text = match value {
        Value::Text(text) => {
            eval.text_room(text.len())?;
            return Ok(Value::Text(text.clone()));
        }
        Value::Bool(value) => value.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Uint(n) => n.to_string(),
        Value::Double(n) => n.to_string(),
        _ => return unknown("string", std::slice::from_ref(value)),
    };
    eval.text_room(text.len())?;
    Ok(Value::text(text))
}

fn int<'t>(value: &Value<'t>) -> Result<Value<'t>> {
    match value {
        Value::Int(n) => Ok(Value::Int(*n)),
        Value::Uint(n) => whole(i64::try_from(*n).ok()),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the range is checked; CEL cuts off what stands behind the point"
        )]
        Value::Double(n) => whole((n.abs() < 9e18).then_some(*n as i64)),
        Value::Text(text) => match text.parse() {
            Ok(n) => Ok(Value::Int(n)),
            Err(_) => failed(format!("`{}` is no integer", short(text))),
        },
        _ => unknown("int", std::slice::from_ref(value)),
    }
}

//! Walks an expression.

use std::borrow::Cow;
use std::rc::Rc;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr, operators};
use portico_krm::yaml::Tree;

use super::ConditionError;
use super::functions;
use super::value::Value;

/// Steps of one evaluation: a second or two of work.
pub(super) const STEPS: u64 = 20_000_000;
/// Bytes that lists and strings may take in one evaluation.
pub(super) const ROOM: u64 = 64 << 20;
/// Expressions within expressions.
const MAX_DEPTH: u32 = 200;

pub(super) type Result<T> = std::result::Result<T, ConditionError>;

pub(super) fn failed<T>(message: impl Into<String>) -> Result<T> {
    Err(ConditionError::Evaluation(message.into()))
}

/// A variable: `resources`, or one of a macro. One whose value is an error passes it to whoever reads it.
struct Variable<'t> {
    name: &'t str,
    value: Result<Value<'t>>,
}

pub(super) struct Evaluator<'t> {
    variables: Vec<Variable<'t>>,
    depth: u32,
    steps: u64,
    room: u64,
}

impl<'t> Evaluator<'t> {
    pub(super) fn new(resources: Vec<Value<'t>>) -> Evaluator<'t> {
        let value = Ok(Value::List(Rc::new(resources)));
        Evaluator { variables: vec![Variable { name: "resources", value }], depth: 0, steps: STEPS, room: ROOM }
    }

    /// Pays for this many steps.
    pub(super) fn step(&mut self, count: usize) -> Result<()> {
        self.steps = self.steps.saturating_sub(count as u64);
        if self.steps == 0 { Err(ConditionError::Steps) } else { Ok(()) }
    }

    /// Pays for a list of this many elements.
    pub(super) fn list_room(&mut self, elements: usize) -> Result<()> {
        self.step(elements)?;
        self.text_room(elements.saturating_mul(size_of::<Value<'_>>()))
    }

    /// Pays for a string of this many bytes.
    pub(super) fn text_room(&mut self, bytes: usize) -> Result<()> {
        self.room = self.room.saturating_sub(bytes as u64);
        if self.room == 0 { Err(ConditionError::Room) } else { Ok(()) }
    }

    pub(super) fn evaluate(&mut self, expression: &'t IdedExpr) -> Result<Value<'t>> {
        self.step(1)?;
        if self.depth == MAX_DEPTH {
            return Err(ConditionError::Nesting);
        }
        self.depth += 1;
        let value = self.expression(&expression.expr);
        self.depth -= 1;
        value
    }

    fn expression(&mut self, expression: &'t Expr) -> Result<Value<'t>> {
        match expression {
            Expr::Literal(literal) => match literal {
                LiteralValue::Null => Ok(Value::Null),
                LiteralValue::Boolean(value) => Ok(Value::Bool(*value.inner())),
                LiteralValue::Int(value) => Ok(Value::Int(*value.inner())),
                LiteralValue::UInt(value) => Ok(Value::Uint(*value.inner())),
                LiteralValue::Double(value) => Ok(Value::Double(*value.inner())),
                LiteralValue::String(value) => Ok(Value::Text(Cow::Borrowed(value.inner()))),
                LiteralValue::Bytes(_) => failed("bytes are not supported in conditions"),
            },
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::List(list) => {
                self.list_room(list.elements.len())?;
                let values = list.elements.iter().map(|element| self.evaluate(element));
                Ok(Value::List(Rc::new(values.collect::<Result<_>>()?)))
            }
            Expr::Map(map) => {
                self.list_room(map.entries.len() * 2)?;
                let mut entries = Vec::with_capacity(map.entries.len());
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else { return failed("a map has keys and values") };
                    entries.push((self.evaluate(&entry.key)?, self.evaluate(&entry.value)?));
                }
                Ok(Value::Map(Rc::new(entries)))
            }
            Expr::Struct(_) | Expr::Unspecified => failed("objects of named types are not supported in conditions"),
        }
    }

    fn variable(&self, name: &str) -> Result<Value<'t>> {
        match self.variables.iter().rev().find(|variable| variable.name == name) {
            Some(variable) => variable.value.clone(),
            None => failed(format!("there is no variable `{name}`; the only one is `resources`")),
        }
    }

    fn select(&mut self, select: &'t SelectExpr) -> Result<Value<'t>> {
        let operand = self.evaluate(&select.operand)?;
        let found = match &operand {
            Value::Node(tree, id) if tree.is_mapping(*id) => {
                self.step(tree.entries(*id).count() / 4)?;
                tree.get(*id, &select.field).map(|value| Value::of(tree, value))
            }
            Value::Map(map) => {
                self.step(map.len())?;
                let is_it = |key: &Value<'_>| matches!(key, Value::Text(text) if *text == select.field);
                map.iter().find(|(key, _)| is_it(key)).map(|(_, value)| value.clone())
            }
            other => {
                return failed(format!("`{}` is asked of {}, which has no fields", select.field, other.type_name()));
            }
        };
        match (found, select.test) {
            (found, true) => Ok(Value::Bool(found.is_some())),
            (Some(value), false) => Ok(value),
            (None, false) => failed(format!("there is no field `{}`{}", select.field, owner(&operand))),
        }
    }

    fn call(&mut self, call: &'t CallExpr) -> Result<Value<'t>> {
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::LOGICAL_AND, [a, b]) => self.junction(a, b, false),
            (operators::LOGICAL_OR, [a, b]) => self.junction(a, b, true),
            (operators::CONDITIONAL, [condition, yes, no]) => match self.evaluate(condition)? {
                Value::Bool(true) => self.evaluate(yes),
                Value::Bool(false) => self.evaluate(no),
                other => failed(format!("`? :` needs a bool before it, not {}", other.type_name())),
            },
            // An error is no reason to stop early.
            (operators::NOT_STRICTLY_FALSE, [value]) => match self.evaluate(value) {
                Ok(Value::Bool(verdict)) => Ok(Value::Bool(verdict)),
                Err(error) if error.is_final() => Err(error),
                _ => Ok(Value::Bool(true)),
            },
            (name, arguments) => {
                let mut values = Vec::with_capacity(arguments.len() + 1);
                for argument in call.target.as_deref().into_iter().chain(arguments) {
                    values.push(self.evaluate(argument)?);
                }
                functions::apply(self, name, &values)
            }
        }
    }

    /// `&&` and `||`: one side may decide alone, even when the other is an error.
    fn junction(&mut self, a: &'t IdedExpr, b: &'t IdedExpr, decides: bool) -> Result<Value<'t>> {
        let first = self.truth(a);
        match first {
            Ok(verdict) if verdict == decides => return Ok(Value::Bool(decides)),
            Err(error) if error.is_final() => return Err(error),
            _ => {}
        }
        match (first, self.truth(b)) {
            (_, Ok(verdict)) if verdict == decides => Ok(Value::Bool(decides)),
            (_, Err(error)) if error.is_final() => Err(error),
            (Err(error), _) | (Ok(_), Err(error)) => Err(error),
            (Ok(_), Ok(_)) => Ok(Value::Bool(!decides)),
        }
    }

    fn truth(&mut self, expression: &'t IdedExpr) -> Result<bool> {
        match self.evaluate(expression)? {
            Value::Bool(verdict) => Ok(verdict),
            other => failed(format!("`&&`, `||` and `!` take bools, not {}", other.type_name())),
        }
    }

    /// A macro: `all`, `exists`, `exists_one`, `map`, `filter`.
    fn comprehension(&mut self, it: &'t ComprehensionExpr) -> Result<Value<'t>> {
        let range = self.evaluate(&it.iter_range)?;
        // The copy is gone when the macro is done: it is paid for in time alone.
        self.step(range.size().unwrap_or(0))?;
        let values = match (range.elements(), range.entries()) {
            (Some(elements), _) => elements,
            (None, Some(entries)) => entries.into_iter().map(|(key, _)| key).collect(),
            (None, None) => return failed(format!("macros go over a list or a map, not over {}", range.type_name())),
        };
        let result = self.evaluate(&it.accu_init);
        self.variables.push(Variable { name: &it.accu_var, value: result });
        let accu = self.variables.len() - 1;
        let value = self.iterate(it, accu, values);
        let value = value.and_then(|()| self.evaluate(&it.result));
        self.variables.truncate(accu);
        value
    }

    fn iterate(&mut self, it: &'t ComprehensionExpr, accu: usize, values: Vec<Value<'t>>) -> Result<()> {
        for value in values {
            self.step(1)?;
            match self.evaluate(&it.loop_cond) {
                Ok(Value::Bool(false)) => break,
                Err(error) if error.is_final() => return Err(error),
                _ => {}
            }
            self.variables.push(Variable { name: &it.iter_var, value: Ok(value) });
            let stepped = self.accumulate(it, accu, &it.loop_step);
            self.variables.truncate(accu + 1);
            match stepped {
                Ok(()) => {}
                Err(error) if error.is_final() => return Err(error),
                Err(error) => self.variables[accu].value = Err(error),
            }
        }
        Ok(())
    }

    /// One step of a macro. `map` and `filter` add to their list in place: copying it each time would be quadratic.
    fn accumulate(&mut self, it: &'t ComprehensionExpr, accu: usize, step: &'t IdedExpr) -> Result<()> {
        let is_accu = |e: &IdedExpr| matches!(&e.expr, Expr::Ident(name) if *name == it.accu_var);
        match &step.expr {
            Expr::Ident(_) if is_accu(step) => return Ok(()),
            Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
                (operators::CONDITIONAL, [condition, yes, no]) => {
                    let branch = if self.truth(condition)? { yes } else { no };
                    return self.accumulate(it, accu, branch);
                }
                (operators::ADD, [left, right]) if is_accu(left) => {
                    if let Expr::List(more) = &right.expr {
                        for element in &more.elements {
                            self.list_room(1)?;
                            let value = self.evaluate(element)?;
                            if let Ok(Value::List(list)) = &mut self.variables[accu].value {
                                Rc::make_mut(list).push(value);
                            }
                        }
                        return Ok(());
                    }
                }
                _ => {}
            },
            _ => {}
        }
        let value = self.evaluate(step)?;
        self.variables[accu].value = Ok(value);
        Ok(())
    }
}

/// The resource that a missing field is missing in: ` in ConfigMap/a`.
fn owner(value: &Value<'_>) -> String {
    let Value::Node(tree, _) = value else { return String::new() };
    let tree: &Tree = tree;
    let text = |path: &[&str]| tree.text_at(tree.root(), path).unwrap_or_default();
    format!(" in {}/{}", text(&["kind"]), text(&["metadata", "name"]))
}

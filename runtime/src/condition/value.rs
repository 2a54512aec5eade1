//! Values of an expression. What stands in a resource stays there.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::rc::Rc;

use portico_krm::yaml::{Kind, NodeId, ScalarType, Tree, parse_float, parse_int};

#[derive(Debug, Clone)]
pub(super) enum Value<'t> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Cow<'t, str>),
    List(Rc<Vec<Value<'t>>>),
    /// In the order of the expression.
    Map(Rc<Vec<(Value<'t>, Value<'t>)>>),
    /// A mapping or a sequence of a resource; never a scalar or an alias.
    Node(&'t Tree, NodeId),
}

impl<'t> Value<'t> {
    /// The value that stands at a node, by the rules of YAML.
    pub(super) fn of(tree: &'t Tree, id: NodeId) -> Value<'t> {
        let id = tree.alias_target(id).unwrap_or(id);
        if tree.kind(id) != Kind::Scalar {
            // An alias to nothing is nothing.
            return if tree.kind(id) == Kind::Alias { Value::Null } else { Value::Node(tree, id) };
        }
        let text = tree.text(id);
        let number = || Some(Value::Double(parse_float(text)?));
        let typed = match tree.scalar_type(id) {
            ScalarType::Null => Some(Value::Null),
            ScalarType::Bool => Some(Value::Bool(text.eq_ignore_ascii_case("true"))),
            ScalarType::Int => parse_int(text).and_then(|n| {
                let signed = i64::try_from(n).map(Value::Int);
                signed.or_else(|_| u64::try_from(n).map(Value::Uint)).ok().or_else(number)
            }),
            ScalarType::Float => number(),
            _ => None,
        };
        typed.unwrap_or(Value::Text(Cow::Borrowed(text)))
    }

    pub(super) fn text(text: String) -> Value<'t> {
        Value::Text(Cow::Owned(text))
    }

    /// CEL's name of the type, with an article.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a bool",
            Value::Int(_) => "an int",
            Value::Uint(_) => "a uint",
            Value::Double(_) => "a double",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Node(tree, id) => {
                if tree.is_sequence(*id) {
                    "a list"
                } else {
                    "a map"
                }
            }
        }
    }

    /// The elements, when it is a list.
    pub(super) fn elements(&self) -> Option<Vec<Value<'t>>> {
        match self {
            Value::List(list) => Some(list.to_vec()),
            Value::Node(tree, id) if tree.is_sequence(*id) => {
                Some(tree.elements(*id).map(|element| Value::of(tree, element)).collect())
            }
            _ => None,
        }
    }

    /// Keys and values, when it is a map.
    pub(super) fn entries(&self) -> Option<Vec<(Value<'t>, Value<'t>)>> {
        match self {
            Value::Map(map) => Some(map.to_vec()),
            Value::Node(tree, id) if tree.is_mapping(*id) => {
                let entries = tree.entries(*id);
                Some(entries.map(|(key, value)| (Value::of(tree, key), Value::of(tree, value))).collect())
            }
            _ => None,
        }
    }

    /// How many elements or entries, for a list or a map.
    pub(super) fn size(&self) -> Option<usize> {
        match self {
            Value::List(list) => Some(list.len()),
            Value::Map(map) => Some(map.len()),
            // A mapping counts its entries, a sequence its elements.
            Value::Node(tree, id) => Some(if tree.is_mapping(*id) { tree.entries(*id).count() } else { tree.len(*id) }),
            _ => None,
        }
    }

    /// The order of numbers of any type, of strings and of bools; `None` for what has no order.
    pub(super) fn order(&self, other: &Value<'t>) -> Option<Ordering> {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
            (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
            (Value::Double(_), _) | (_, Value::Double(_)) => self.double()?.partial_cmp(&other.double()?),
            _ => Some(self.whole()?.cmp(&other.whole()?)),
        }
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Value::Int(_) | Value::Uint(_) | Value::Double(_))
    }

    fn whole(&self) -> Option<i128> {
        match self {
            Value::Int(n) => Some((*n).into()),
            Value::Uint(n) => Some((*n).into()),
            _ => None,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "CEL compares numbers of two types as doubles")]
    pub(super) fn double(&self) -> Option<f64> {
        match self {
            Value::Int(n) => Some(*n as f64),
            Value::Uint(n) => Some(*n as f64),
            Value::Double(n) => Some(*n),
            _ => None,
        }
    }
}

//! Sets of fields: who owns what of an object, in the form `FieldsV1` of Kubernetes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::schema::{ListKind, Shape};

/// A step of the path to a field, as `FieldsV1` writes it: `f:NAME` for a field or a key of a map, `k:{"KEY":VALUE}` for
/// the element of a list that is a map, `v:VALUE` for one of a set, `i:INDEX` for one that no key tells apart.
///
/// It is always canonical (keys in their order, no blanks), so that two of them are equal when their texts are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Element(Box<str>);

impl Element {
    /// A field, or a key of a map.
    pub(super) fn field(name: &str) -> Self {
        Self(format!("f:{name}").into())
    }

    /// The element of a list, by what tells it apart.
    pub(super) fn item(item: &Value, index: usize, kind: &ListKind) -> Self {
        let text = match kind {
            ListKind::Set if !item.is_object() && !item.is_array() => format!("v:{item}"),
            ListKind::Map(keys) => {
                let mut key: Vec<(&str, &Value)> = Vec::with_capacity(keys.len());
                key.extend(keys.iter().filter_map(|name| Some((&**name, item.get(name)?))));
                if key.is_empty() || key.len() < keys.len() {
                    return Self(format!("i:{index}").into());
                }
                key.sort_unstable_by_key(|(name, _)| *name);
                let key: Map<String, Value> =
                    key.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
                format!("k:{}", Value::Object(key))
            }
            ListKind::Set | ListKind::Atomic => format!("i:{index}"),
        };
        Self(text.into())
    }

    /// Reads one; `None` for `.`, and for what nobody knows.
    fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "f" => Some(Self(text.into())),
            "v" => serde_json::from_str::<Value>(rest).ok().map(|value| Self(format!("v:{value}").into())),
            "i" => rest.parse::<u32>().ok().map(|index| Self(format!("i:{index}").into())),
            "k" => {
                let mut key: Map<String, Value> = serde_json::from_str(rest).ok()?;
                key.sort_keys();
                Some(Self(format!("k:{}", Value::Object(key)).into()))
            }
            _ => None,
        }
    }

    /// The name, if it is a field.
    pub(super) fn name(&self) -> Option<&str> {
        self.0.strip_prefix("f:")
    }

    /// As Kubernetes writes it in messages: `.name`, `[type="Ready"]`, `[="value"]`, `[0]`.
    fn show(&self, out: &mut String) {
        match self.0.split_once(':') {
            Some(("k", key)) => {
                let key: Map<String, Value> = serde_json::from_str(key).unwrap_or_default();
                let pairs: Vec<String> = key.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let _ = write!(out, "[{}]", pairs.join(","));
            }
            Some(("v", value)) => {
                let _ = write!(out, "[={value}]");
            }
            Some(("i", index)) => {
                let _ = write!(out, "[{index}]");
            }
            Some((_, name)) => {
                let _ = write!(out, ".{name}");
            }
            None => {}
        }
    }
}

/// What a path leads to: whether that is owned, and what is below it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Node {
    pub(super) owned: bool,
    pub(super) below: Set,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.owned && self.below.is_empty()
    }
}

/// A set of paths. No node of it is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Set(BTreeMap<Element, Node>);

impl Set {
    /// Reads a `fieldsV1`; `None` if it is none.
    pub(super) fn parse(fields: &Value) -> Option<Self> {
        let mut set = Self::default();
        for (name, value) in fields.as_object()? {
            // `.` is what the object above says of itself; newer kinds of steps are passed over, as Kubernetes does.
            let Some(element) = Element::parse(name) else { continue };
            let content = value.as_object()?;
            let owned = content.is_empty() || content.contains_key(".");
            set.add(element, Node { owned, below: Self::parse(value)? });
        }
        Some(set)
    }

    /// Writes a `fieldsV1`.
    pub(super) fn to_value(&self) -> Value {
        let mut fields = Map::new();
        for (element, node) in &self.0 {
            let mut content = node.below.to_value();
            if node.owned
                && let Value::Object(below) = &mut content
                && !below.is_empty()
            {
                below.shift_insert(0, ".".to_owned(), json!({}));
            }
            fields.insert(element.0.to_string(), content);
        }
        Value::Object(fields)
    }

    /// What an applied object sets: its leaves, and the keys and elements on the way that no schema names.
    pub(super) fn of(value: &Value, shape: Shape<'_>) -> Self {
        let mut node = Node::default();
        gather(value, shape, &mut node);
        node.below
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Element, &Node)> {
        self.0.iter()
    }

    pub(super) fn get(&self, element: &Element) -> Option<&Node> {
        self.0.get(element)
    }

    /// Puts a node where there is none.
    fn add(&mut self, element: Element, node: Node) {
        if !node.is_empty() {
            self.0.insert(element, node);
        }
    }

    /// Adds a path.
    pub(super) fn insert(&mut self, path: &[Element]) {
        let [first, rest @ ..] = path else { return };
        let node = self.0.entry(first.clone()).or_default();
        if rest.is_empty() { node.owned = true } else { node.below.insert(rest) }
    }

    /// Adds all of another one.
    pub(super) fn extend(&mut self, other: &Self) {
        for (element, node) in &other.0 {
            let mine = self.0.entry(element.clone()).or_default();
            mine.owned |= node.owned;
            mine.below.extend(&node.below);
        }
    }

    /// What is in this one and not in the other.
    #[must_use]
    pub(super) fn minus(&self, other: &Self) -> Self {
        let mut left = Self::default();
        for (element, node) in &self.0 {
            let node = other.get(element).map_or_else(
                || node.clone(),
                |other| Node { owned: node.owned && !other.owned, below: node.below.minus(&other.below) },
            );
            left.add(element.clone(), node);
        }
        left
    }

    /// What is in both.
    #[must_use]
    pub(super) fn and(&self, other: &Self) -> Self {
        let mut both = Self::default();
        for (element, node) in &self.0 {
            if let Some(other) = other.get(element) {
                let node = Node { owned: node.owned && other.owned, below: node.below.and(&other.below) };
                both.add(element.clone(), node);
            }
        }
        both
    }

    /// Takes away a path of fields, and of elements as `FieldsV1` writes them, and all below it.
    pub(super) fn cut(&mut self, path: &[&str]) {
        let [first, rest @ ..] = path else { return };
        let item = if first.starts_with("k:") { Element::parse(first) } else { None };
        let element = item.unwrap_or_else(|| Element::field(first));
        let Some(node) = self.0.get_mut(&element) else { return };
        if !rest.is_empty() {
            node.below.cut(rest);
        }
        if rest.is_empty() || node.is_empty() {
            self.0.remove(&element);
        }
    }

    /// Takes away a path of fields, but nothing below it.
    pub(super) fn disown(&mut self, path: &[&str]) {
        let [first, rest @ ..] = path else { return };
        let element = Element::field(first);
        let Some(node) = self.0.get_mut(&element) else { return };
        match rest {
            [] => node.owned = false,
            rest => node.below.disown(rest),
        }
        if node.is_empty() {
            self.0.remove(&element);
        }
    }

    /// Takes away what an object does not have.
    pub(super) fn keep_existing(&mut self, value: &Value, shape: Shape<'_>) {
        match value {
            Value::Object(object) => self.0.retain(|element, node| {
                let Some((name, value)) = element.name().and_then(|name| Some((name, object.get(name)?))) else {
                    return false;
                };
                node.below.keep_existing(value, shape.field_or_anything(name));
                !node.is_empty()
            }),
            Value::Array(list) => {
                let items = by_element(list, shape.list_kind());
                self.0.retain(|element, node| {
                    let Some(value) = items.get(element) else { return false };
                    node.below.keep_existing(value, shape.item());
                    !node.is_empty()
                });
            }
            _ => self.0.clear(),
        }
    }

    /// The paths as Kubernetes writes them in messages, in their order; at most so many, and how many there are.
    pub(super) fn paths(&self, most: usize) -> (Vec<String>, usize) {
        let (mut paths, mut count) = (Vec::new(), 0);
        self.list(&mut String::new(), most, &mut paths, &mut count);
        (paths, count)
    }

    fn list(&self, prefix: &mut String, most: usize, paths: &mut Vec<String>, count: &mut usize) {
        for (element, node) in &self.0 {
            let before = prefix.len();
            element.show(prefix);
            if node.owned {
                *count += 1;
                if paths.len() < most {
                    paths.push(prefix.clone());
                }
            }
            node.below.list(prefix, most, paths, count);
            prefix.truncate(before);
        }
    }
}

/// The elements of a list by what tells them apart: of several with the same key the first.
pub(super) fn by_element<'v>(list: &'v [Value], kind: &ListKind) -> BTreeMap<Element, &'v Value> {
    let mut items = BTreeMap::new();
    for (index, item) in list.iter().enumerate() {
        items.entry(Element::item(item, index, kind)).or_insert(item);
    }
    items
}

/// Whether the value has parts with owners of their own.
pub(super) fn is_granular(value: &Value, shape: Shape<'_>) -> bool {
    match value {
        Value::Object(_) => !shape.is_atomic_object(),
        Value::Array(_) => *shape.list_kind() != ListKind::Atomic,
        _ => false,
    }
}

fn gather(value: &Value, shape: Shape<'_>, node: &mut Node) {
    match value {
        _ if !is_granular(value, shape) => node.owned = true,
        Value::Object(object) => {
            for (name, value) in object {
                let mut inner = Node::default();
                gather(value, shape.field_or_anything(name), &mut inner);
                inner.owned |= !shape.is_named(name) || value.as_object().is_some_and(Map::is_empty);
                node.below.add(Element::field(name), inner);
            }
        }
        Value::Array(list) => {
            for (index, item) in list.iter().enumerate() {
                let mut inner = Node::default();
                gather(item, shape.item(), &mut inner);
                inner.owned = true;
                node.below.add(Element::item(item, index, shape.list_kind()), inner);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
pub(super) mod tests;

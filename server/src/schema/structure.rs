//! How a kind of object is built: which fields it has, and which of its lists are maps or sets.
//!
//! Read from the same JSON schema that clients get (`super::openapi`), with Kubernetes' own extensions: server-side
//! apply, strict decoding and clients can't see three different structures.

use std::collections::BTreeMap;

use serde_json::Value;

/// The structure of a kind. A [`Shape`] is a place in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Structure {
    nodes: Vec<Node>,
    root: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Anything,
    Scalar,
    Object { fields: BTreeMap<String, usize>, rest: Option<usize>, atomic: bool },
    List { item: usize, kind: ListKind },
}

/// How the elements of a list are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListKind {
    /// They are not: the list is one value, as Kubernetes has it where nothing is said.
    Atomic,
    /// By their value.
    Set,
    /// By the values of these fields.
    Map(Vec<String>),
}

/// A place in a structure.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'s> {
    structure: &'s Structure,
    node: usize,
}

impl Structure {
    /// The structure that the schema of this name has in `definitions`. What the schema does not say may be anything.
    pub fn read(definitions: &serde_json::Map<String, Value>, name: &str) -> Self {
        let mut reader = Reader { definitions, nodes: vec![Node::Anything], known: BTreeMap::new() };
        let root = reader.definition(name);
        Self { nodes: reader.nodes, root }
    }

    /// The object itself.
    pub fn root(&self) -> Shape<'_> {
        Shape { structure: self, node: self.root }
    }
}

impl<'s> Shape<'s> {
    fn get(self) -> &'s Node {
        &self.structure.nodes[self.node]
    }

    fn at(self, node: usize) -> Self {
        Self { structure: self.structure, node }
    }

    /// The value of a field; `None` for a field that the object does not have.
    pub fn field(self, name: &str) -> Option<Self> {
        match self.get() {
            Node::Anything => Some(self.at(ANYTHING)),
            Node::Object { fields, rest, .. } => fields.get(name).copied().or(*rest).map(|node| self.at(node)),
            Node::Scalar | Node::List { .. } => None,
        }
    }

    /// As [`Shape::field`], and anything where the object has no such field.
    #[must_use]
    pub fn field_or_anything(self, name: &str) -> Self {
        self.field(name).unwrap_or(self.at(ANYTHING))
    }

    /// Whether it is one of the fields that the kind names, and no key of a map.
    pub fn is_named(self, name: &str) -> bool {
        matches!(self.get(), Node::Object { fields, .. } if fields.contains_key(name))
    }

    /// The elements of the list.
    #[must_use]
    pub fn item(self) -> Self {
        match self.get() {
            Node::List { item, .. } => self.at(*item),
            _ => self.at(ANYTHING),
        }
    }

    /// How elements are told apart.
    pub fn list_kind(self) -> &'s ListKind {
        match self.get() {
            Node::List { kind, .. } => kind,
            _ => &ListKind::Atomic,
        }
    }

    /// Whether an object here is one value, whose fields have no owners of their own.
    pub fn is_atomic_object(self) -> bool {
        matches!(self.get(), Node::Scalar | Node::List { .. } | Node::Object { atomic: true, .. })
    }

    /// What must stand here, in a word; `None` where it may be anything.
    pub fn expected(self) -> Option<&'static str> {
        match self.get() {
            Node::Anything => None,
            Node::Scalar => Some("scalar"),
            Node::Object { .. } => Some("map"),
            Node::List { .. } => Some("list"),
        }
    }
}

/// The node of what may be anything.
const ANYTHING: usize = 0;

struct Reader<'d> {
    definitions: &'d serde_json::Map<String, Value>,
    nodes: Vec<Node>,
    /// A definition that is being read is there already: types may hold themselves.
    known: BTreeMap<String, usize>,
}

impl Reader<'_> {
    fn definition(&mut self, name: &str) -> usize {
        if let Some(node) = self.known.get(name) {
            return *node;
        }
        let Some(schema) = self.definitions.get(name) else { return ANYTHING };
        let node = self.nodes.len();
        self.nodes.push(Node::Anything);
        self.known.insert(name.to_owned(), node);
        self.nodes[node] = self.node(schema);
        node
    }

    fn place(&mut self, schema: &Value) -> usize {
        if let Some(name) = reference(schema) {
            return self.definition(name);
        }
        match self.node(schema) {
            Node::Anything => ANYTHING,
            node => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        }
    }

    fn node(&mut self, schema: &Value) -> Node {
        if let Some(name) = reference(schema) {
            let node = self.definition(name);
            return self.nodes[node].clone();
        }
        let extension = |name: &str| schema.get(format!("x-kubernetes-{name}"));
        if extension("preserve-unknown-fields") == Some(&Value::Bool(true)) {
            return Node::Anything;
        }
        let atomic = extension("map-type").and_then(Value::as_str) == Some("atomic");
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => {
                let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
                let fields: BTreeMap<String, usize> =
                    fields.map(|(name, schema)| (name.clone(), self.place(schema))).collect();
                let rest = match schema.get("additionalProperties") {
                    Some(Value::Bool(false)) => None,
                    None if !fields.is_empty() => None,
                    Some(schema @ Value::Object(_)) => Some(self.place(schema)),
                    Some(_) | None => Some(ANYTHING),
                };
                Node::Object { fields, rest, atomic }
            }
            Some("array") => {
                let keys = extension("list-map-keys").and_then(Value::as_array).into_iter().flatten();
                let keys = keys.filter_map(Value::as_str).map(str::to_owned).collect();
                let kind = match extension("list-type").and_then(Value::as_str) {
                    Some("map") => ListKind::Map(keys),
                    Some("set") => ListKind::Set,
                    _ => ListKind::Atomic,
                };
                Node::List { item: schema.get("items").map_or(ANYTHING, |item| self.place(item)), kind }
            }
            Some(_) => Node::Scalar,
            None => Node::Anything,
        }
    }
}

/// The name of the definition that a schema is: a reference, alone or as the only one of several.
pub(super) fn reference(schema: &Value) -> Option<&str> {
    if let Some(Value::String(reference)) = schema.get("$ref") {
        return reference.rsplit('/').next();
    }
    let of = |name: &str| match schema.get(name)?.as_array()?.as_slice() {
        [one] => reference(one),
        _ => None,
    };
    of("allOf").or_else(|| of("anyOf")).or_else(|| of("oneOf"))
}

#[cfg(test)]
mod tests;

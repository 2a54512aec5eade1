//! Typed reading: a node of a tree as any value that serde can read.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use super::numbers::{parse_float, parse_int};
use super::resolve::ScalarType;
use super::tree::{Kind, NodeId, Position, Tree};

/// Deepest nesting that is read.
const MAX_DEPTH: usize = 500;

/// A node that is not what a type needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}{}", prefix(.path), place(*.position))]
pub struct DecodeError {
    /// What is wrong.
    pub message: String,
    /// Dotted path of the field, `[i]` for elements; empty for the node itself.
    pub path: String,
    /// Where the field is, unless an edit made it.
    pub position: Option<Position>,
}

fn prefix(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("`{path}`: ") }
}

fn place(position: Option<Position>) -> String {
    position.map_or_else(String::new, |at| format!(" (line {}, column {})", at.line, at.column))
}

impl DecodeError {
    fn new(message: impl Into<String>) -> DecodeError {
        DecodeError { message: message.into(), path: String::new(), position: None }
    }

    /// Adds the step that led to the error in front of its path.
    fn under(mut self, step: &str, position: Option<Position>) -> DecodeError {
        let joint = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{step}{joint}{}", self.path);
        self.position = self.position.or(position);
        self
    }
}

impl serde::de::Error for DecodeError {
    fn custom<T: std::fmt::Display>(message: T) -> DecodeError {
        DecodeError::new(message.to_string())
    }
}

/// Reads a node as a value of a type. Strings are only read from strings and numbers only from numbers; null is `None`
/// for an option and a missing field's default for nothing else. Aliases and merge keys are refused: what is read so is
/// configuration, small and written by hand.
pub fn from_tree<T: DeserializeOwned>(tree: &Tree, id: NodeId) -> Result<T, DecodeError> {
    T::deserialize(Node { tree, id, depth: 0 })
}

#[derive(Clone, Copy)]
struct Node<'t> {
    tree: &'t Tree,
    id: NodeId,
    depth: usize,
}

impl<'t> Node<'t> {
    fn child(self, id: NodeId) -> Result<Node<'t>, DecodeError> {
        if self.depth == MAX_DEPTH {
            return Err(DecodeError::new(format!("nested more than {MAX_DEPTH} deep")));
        }
        Ok(Node { id, depth: self.depth + 1, ..self })
    }

    fn is_null(self) -> bool {
        self.tree.is_null(self.id)
    }
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let (tree, id) = (self.tree, self.id);
        match tree.kind(id) {
            Kind::Mapping => visitor.visit_map(Entries { node: self, rest: tree.entries(id), value: None }),
            Kind::Sequence => visitor.visit_seq(Elements { node: self, rest: tree.elements(id), index: 0 }),
            Kind::Alias => Err(DecodeError::new(format!("the alias `*{}` cannot be used here", tree.text(id)))),
            Kind::Scalar => {
                let text = tree.text(id);
                match tree.scalar_type(id) {
                    ScalarType::Null => visitor.visit_unit(),
                    ScalarType::Bool => visitor.visit_bool(text.eq_ignore_ascii_case("true")),
                    ScalarType::Int => match parse_int(text) {
                        Some(value) => match (i64::try_from(value), u64::try_from(value)) {
                            (Ok(value), _) => visitor.visit_i64(value),
                            (_, Ok(value)) => visitor.visit_u64(value),
                            _ => visitor.visit_i128(value),
                        },
                        None => Err(DecodeError::new(format!("`{text}` is no integer"))),
                    },
                    ScalarType::Float => match parse_float(text) {
                        Some(value) => visitor.visit_f64(value),
                        None => Err(DecodeError::new(format!("`{text}` is no number"))),
                    },
                    _ => visitor.visit_str(text),
                }
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let (tree, id) = (self.tree, self.id);
        let mut entries = tree.entries(id);
        match (tree.kind(id), entries.next(), entries.next()) {
            (Kind::Scalar, ..) => visitor.visit_enum(Variant { name: tree.text(id), content: None }),
            (Kind::Mapping, Some((key, value)), None) => {
                visitor.visit_enum(Variant { name: tree.text(key), content: Some(self.child(value)?) })
            }
            _ => Err(DecodeError::new("expected a name, or a mapping with one key")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Entries<'t> {
    node: Node<'t>,
    rest: super::tree::Entries<'t>,
    value: Option<(NodeId, NodeId)>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        let tree = self.node.tree;
        if !tree.is_scalar(key) || tree.scalar_type(key) == ScalarType::Merge {
            return Err(DecodeError {
                position: tree.position(key),
                ..DecodeError::new("keys must be plain names here")
            });
        }
        self.value = Some((key, value));
        let name: StrDeserializer<'_, DecodeError> = serde::de::IntoDeserializer::into_deserializer(tree.text(key));
        seed.deserialize(name).map(Some).map_err(|error| DecodeError { position: tree.position(key), ..error })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, DecodeError> {
        let Some((key, value)) = self.value.take() else { return Err(DecodeError::new("a value without a key")) };
        let tree = self.node.tree;
        seed.deserialize(self.node.child(value)?).map_err(|error| error.under(tree.text(key), tree.position(value)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.clone().count())
    }
}

struct Elements<'t> {
    node: Node<'t>,
    rest: super::tree::Children<'t>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = DecodeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, DecodeError> {
        let Some(element) = self.rest.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        let position = self.node.tree.position(element);
        let value = seed.deserialize(self.node.child(element)?);
        value.map(Some).map_err(|error| error.under(&format!("[{index}]"), position))
    }
}

struct Variant<'t> {
    name: &'t str,
    content: Option<Node<'t>>,
}

impl<'de, 't> EnumAccess<'de> for Variant<'t> {
    type Error = DecodeError;
    type Variant = Variant<'t>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Variant<'t>), DecodeError> {
        let name: StrDeserializer<'_, DecodeError> = serde::de::IntoDeserializer::into_deserializer(self.name);
        Ok((seed.deserialize(name)?, self))
    }
}

impl Variant<'_> {
    fn missing(&self) -> DecodeError {
        DecodeError::new(format!("`{}` needs a value", self.name))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        match self.content {
            Some(node) if !node.is_null() => Err(DecodeError::new(format!("`{}` takes no value", self.name))),
            _ => Ok(()),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, DecodeError> {
        let missing = self.missing();
        seed.deserialize(self.content.ok_or(missing)?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, DecodeError> {
        let missing = self.missing();
        self.content.ok_or(missing)?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, DecodeError> {
        let missing = self.missing();
        self.content.ok_or(missing)?.deserialize_any(visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::ParseLimits;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default, rename_all = "camelCase")]
    struct Config {
        name: String,
        count: Option<u32>,
        ratio: f64,
        on: bool,
        mode: Mode,
        list: Vec<BTreeMap<String, u8>>,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        #[default]
        Fast,
        Slow(u8),
    }

    fn read(yaml: &str) -> Result<Config, DecodeError> {
        let tree = Tree::parse(yaml, &ParseLimits::default()).expect("yaml").expect("a document");
        from_tree(&tree, tree.root())
    }

    #[test]
    fn scalars_lists_maps_and_enums_are_read() {
        let config = read("name: a\ncount: 0x10\nratio: 1.5\non: true\nmode: {slow: 2}\nlist: [{a: 1}]\nother: [x]\n");
        let list = vec![BTreeMap::from([("a".to_owned(), 1)])];
        let mode = Mode::Slow(2);
        assert_eq!(config, Ok(Config { name: "a".into(), count: Some(16), ratio: 1.5, on: true, mode, list }));
        assert_eq!(read("count: null\nmode: fast\n"), Ok(Config::default()));
    }

    #[test]
    fn an_error_names_field_and_place() {
        let error = read("name: a\nlist:\n- a: 1\n- b: 300\n").expect_err("too large");
        assert_eq!(error.path, "list[1].b");
        assert_eq!(error.position.map(|at| (at.line, at.column)), Some((4, 6)));
        let text = error.to_string();
        assert!(text.starts_with("`list[1].b`: invalid value: integer `300`"), "{text}");
        assert!(text.ends_with("(line 4, column 6)"), "{text}");
        assert!(read("name: 1\n").is_err(), "a number is no string");
    }

    #[test]
    fn aliases_are_refused() {
        let error = read("name: &x a\nlist: *x\n").expect_err("an alias");
        assert_eq!(error.path, "list");
    }
}

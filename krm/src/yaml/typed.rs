//! Typed reading: a node of a tree as any value that serde can read.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

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

/// A value and the line on which it stands, for messages that speak of it later. Only [`from_tree`] reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lined<T> {
    /// The line, from 1; 0 for what an edit made.
    pub line: u32,
    /// The value.
    pub value: T,
}

/// What [`from_tree`] knows a [`Lined`] by.
const LINED: &str = "$portico::Lined";

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lined<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Lined<T>, D::Error> {
        struct Reader<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Lined<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a value")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Lined<T>, A::Error> {
                let missing = || serde::de::Error::custom("a line without a value");
                let line = parts.next_element()?.ok_or_else(missing)?;
                Ok(Lined { line, value: parts.next_element()?.ok_or_else(missing)? })
            }
        }
        deserializer.deserialize_newtype_struct(LINED, Reader(std::marker::PhantomData))
    }
}

/// The line of a node, then its value.
struct LineThenValue<'t> {
    line: Option<u32>,
    node: Option<Node<'t>>,
}

impl<'de> SeqAccess<'de> for LineThenValue<'_> {
    type Error = DecodeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, DecodeError> {
        if let Some(line) = self.line.take() {
            let line: serde::de::value::U32Deserializer<DecodeError> = line.into_deserializer();
            return seed.deserialize(line).map(Some);
        }
        self.node.take().map(|node| seed.deserialize(node)).transpose()
    }
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

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        if name == LINED {
            let line = self.tree.position(self.id).map_or(0, |at| at.line);
            return visitor.visit_seq(LineThenValue { line: Some(line), node: Some(self) });
        }
        visitor.visit_newtype_struct(self)
    }

    /// Fields have names here: a list is no struct, whatever its elements are.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        if self.tree.is_sequence(self.id) {
            return Err(serde::de::Error::invalid_type(serde::de::Unexpected::Seq, &visitor));
        }
        self.deserialize_any(visitor)
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
        tuple_struct map identifier ignored_any
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
        let name: StrDeserializer<'_, DecodeError> = tree.text(key).into_deserializer();
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
        let name: StrDeserializer<'_, DecodeError> = self.name.into_deserializer();
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
        assert!(read("- a\n- 1\n").is_err(), "a list is no struct");
    }

    #[test]
    fn a_value_can_bring_its_line() {
        let text = "a: 1\n\nb:\n- x\n- y\n";
        let tree = Tree::parse(text, &ParseLimits::default()).expect("yaml").expect("a document");
        let lined: BTreeMap<String, Lined<Element>> = from_tree(&tree, tree.root()).expect("it fits");
        assert_eq!(lined["a"], Lined { line: 1, value: Element::One(1) });
        let list = Element::Many(vec![Lined { line: 4, value: "x".into() }, Lined { line: 5, value: "y".into() }]);
        assert_eq!(lined["b"], Lined { line: 4, value: list });
        let error = from_tree::<BTreeMap<String, Lined<u8>>>(&tree, tree.root()).expect_err("a list is no number");
        assert_eq!((error.path.as_str(), error.position.map(|at| at.line)), ("b", Some(4)));
    }

    #[derive(Debug, PartialEq)]
    enum Element {
        One(u8),
        Many(Vec<Lined<String>>),
    }

    impl<'de> Deserialize<'de> for Element {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Element, D::Error> {
            struct Reader;
            impl<'de> Visitor<'de> for Reader {
                type Value = Element;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a number or a list")
                }

                fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Element, E> {
                    u8::try_from(n).map(Element::One).map_err(E::custom)
                }

                fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<Element, A::Error> {
                    Deserialize::deserialize(serde::de::value::SeqAccessDeserializer::new(parts)).map(Element::Many)
                }
            }
            deserializer.deserialize_any(Reader)
        }
    }

    #[test]
    fn aliases_are_refused() {
        let error = read("name: &x a\nlist: *x\n").expect_err("an alias");
        assert_eq!(error.path, "list");
    }
}

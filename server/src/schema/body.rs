//! Bodies of requests: bytes of JSON or YAML as a JSON value, within bounds.
//!
//! Of a field that stands twice in a JSON object the last one counts, as everywhere in Kubernetes, and the path of each is
//! kept for [`super::decode`] to warn of. YAML with equal keys is refused whatever the field validation.

use std::fmt;
use std::fmt::Write as _;

use portico_krm::yaml::{Kind, NodeId, ParseLimits, ScalarType, Tree, parse_float, parse_int};
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// How many fields that stand twice are kept: a message that names more helps nobody. Kubernetes has the same bound on
/// its strict errors.
const NAMED: usize = 100;

/// Bounds on a body, so that no client makes the server hold or walk much more than it sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the body, and of all strings that it makes when its aliases are written out. Default 6 MiB, the size that
    /// Porch takes. It does not bound what many clients send at once; the listener does.
    pub bytes: usize,
    /// Objects and lists inside each other: what walks a value may recurse this deep. Default 64; an object of the API
    /// is 12 deep. Never more than 120, where the reader of JSON ends by itself.
    pub depth: usize,
    /// Values: scalars, lists, objects. Two bytes of a body can be a value of 80 bytes in memory. Default 200,000, which
    /// is 16 MB; a package is one value a file.
    pub nodes: usize,
}

impl Limits {
    /// What `depth` is cut down to.
    const DEEPEST: usize = 120;

    pub(crate) fn depth(&self) -> usize {
        self.depth.min(Self::DEEPEST)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 6 << 20, depth: 64, nodes: 200_000 }
    }
}

/// Why a body can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// It is larger than [`Limits::bytes`], or becomes so.
    #[error("the body has more than `{limit}` bytes: send less, or ask the operator for a larger limit")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// It is deeper than `Limits::depth`.
    #[error("the body is nested more than `{limit}` deep at `{path}`")]
    TooDeep {
        /// The limit.
        limit: usize,
        /// Where.
        path: String,
    },
    /// It has more values than [`Limits::nodes`].
    #[error("the body has more than `{limit}` values: send less, or ask the operator for a larger limit")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// There is nothing in it.
    #[error("the body is empty: send an object as JSON or YAML")]
    Empty,
    /// Its text is no JSON.
    #[error("the body is no JSON: {message}")]
    Json {
        /// What and where, in the words of the reader.
        message: String,
    },
    /// Its text is no YAML, or YAML that no JSON can say.
    #[error("the body is no YAML: {message}")]
    Yaml {
        /// What and where, in the words of the reader.
        message: String,
    },
    /// The type of its content is unknown.
    #[error("the content type `{given}` is not supported: send one of {accepted}")]
    Format {
        /// What the client says that it is.
        given: String,
        /// What may be sent.
        accepted: &'static str,
    },
}

impl BodyError {
    /// The status code and the reason of Kubernetes' `Status`.
    pub fn status(&self) -> (u16, &'static str) {
        match self {
            Self::TooLarge { .. } | Self::TooMany { .. } => (413, "RequestEntityTooLarge"),
            Self::Format { .. } => (415, "UnsupportedMediaType"),
            Self::TooDeep { .. } | Self::Empty | Self::Json { .. } | Self::Yaml { .. } => (400, "BadRequest"),
        }
    }
}

/// What a body is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML, of which JSON is a part.
    Yaml,
}

impl Format {
    /// By the `Content-Type` of a create or an update. None is JSON, as for the API server of Kubernetes.
    pub fn of(content_type: Option<&str>) -> Result<Self, BodyError> {
        let given = content_type.unwrap_or_default();
        match media_type(given).as_str() {
            "" | "application/json" | "*/*" => Ok(Self::Json),
            "application/yaml" | "application/x-yaml" | "text/yaml" => Ok(Self::Yaml),
            _ => Err(BodyError::Format { given: shown(given), accepted: "`application/json`, `application/yaml`" }),
        }
    }
}

/// The type without its parameters, in lower case.
pub(crate) fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The head of a client's text, for a message.
pub(crate) fn shown(text: &str) -> String {
    let head: String = text.chars().take(120).collect();
    if head.len() < text.len() { format!("{head}…") } else { head }
}

/// A body that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// What it says.
    pub value: Value,
    /// The paths of the fields that stand there twice, such as `spec.packageName`; the first 100.
    pub duplicates: Vec<String>,
}

impl Body {
    /// Reads a body. YAML that starts with a brace is tried as JSON first: it is what most clients send.
    pub fn read(bytes: &[u8], format: Format, limits: &Limits) -> Result<Self, BodyError> {
        if bytes.len() > limits.bytes {
            return Err(BodyError::TooLarge { limit: limits.bytes });
        }
        let text = bytes.trim_ascii();
        if text.is_empty() {
            return Err(BodyError::Empty);
        }
        match format {
            Format::Json => read_json(text, limits),
            Format::Yaml if text.starts_with(b"{") => match read_json(text, limits) {
                Err(BodyError::Json { .. }) => read_yaml(bytes, limits),
                done => done,
            },
            Format::Yaml => read_yaml(bytes, limits),
        }
    }
}

/// What a value may still take, and where the reader is.
struct Budget {
    limits: Limits,
    depth: usize,
    nodes: usize,
    bytes: usize,
    path: String,
    duplicates: Vec<String>,
    fault: Option<BodyError>,
}

impl Budget {
    fn new(limits: &Limits) -> Self {
        Self { limits: *limits, depth: 0, nodes: 0, bytes: 0, path: String::new(), duplicates: Vec::new(), fault: None }
    }

    fn node(&mut self) -> Result<(), BodyError> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes { Err(BodyError::TooMany { limit: self.limits.nodes }) } else { Ok(()) }
    }

    fn text(&mut self, text: &str) -> Result<(), BodyError> {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > self.limits.bytes { Err(BodyError::TooLarge { limit: self.limits.bytes }) } else { Ok(()) }
    }

    fn enter(&mut self) -> Result<(), BodyError> {
        self.depth += 1;
        let limit = self.limits.depth();
        if self.depth > limit { Err(BodyError::TooDeep { limit, path: shown(&self.path) }) } else { Ok(()) }
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Goes to a field; the answer takes it back.
    fn field(&mut self, name: &str) -> usize {
        let before = self.path.len();
        if before > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        before
    }

    fn element(&mut self, index: usize) -> usize {
        let before = self.path.len();
        let _ = write!(self.path, "[{index}]");
        before
    }

    fn twice(&mut self) {
        if self.duplicates.len() < NAMED {
            self.duplicates.push(shown(&self.path));
        }
    }
}

fn read_json(text: &[u8], limits: &Limits) -> Result<Body, BodyError> {
    let mut budget = Budget::new(limits);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let read = Json(&mut budget).deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    match read {
        Ok(value) => Ok(Body { value, duplicates: budget.duplicates }),
        Err(error) => Err(budget.fault.unwrap_or_else(|| BodyError::Json { message: error.to_string() })),
    }
}

/// Reads one JSON value.
struct Json<'b>(&'b mut Budget);

impl Json<'_> {
    /// Turns our fault into one of the reader's, which ends the reading.
    fn check<E: serde::de::Error>(&mut self, done: Result<(), BodyError>) -> Result<(), E> {
        done.map_err(|fault| {
            let error = E::custom(&fault);
            self.0.fault = Some(fault);
            error
        })
    }
}

impl<'de> DeserializeSeed<'de> for Json<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(mut self, deserializer: D) -> Result<Value, D::Error> {
        let done = self.0.node();
        self.check(done)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Json<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.visit_string(value.to_owned())
    }

    fn visit_string<E: serde::de::Error>(mut self, value: String) -> Result<Value, E> {
        let done = self.0.text(&value);
        self.check(done)?;
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<Value, A::Error> {
        let done = self.0.enter();
        self.check(done)?;
        let mut list = Vec::new();
        loop {
            let before = self.0.element(list.len());
            let next = elements.next_element_seed(Json(self.0))?;
            self.0.path.truncate(before);
            let Some(value) = next else { break };
            list.push(value);
        }
        self.0.leave();
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        let done = self.0.enter();
        self.check(done)?;
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let done = self.0.text(&key);
            self.check(done)?;
            let before = self.0.field(&key);
            if object.contains_key(&key) {
                self.0.twice();
            }
            let value = entries.next_value_seed(Json(self.0))?;
            self.0.path.truncate(before);
            object.insert(key, value);
        }
        self.0.leave();
        Ok(Value::Object(object))
    }
}

fn read_yaml(bytes: &[u8], limits: &Limits) -> Result<Body, BodyError> {
    let text = std::str::from_utf8(bytes).map_err(|error| BodyError::Yaml { message: error.to_string() })?;
    let bounds = ParseLimits { depth: limits.depth() as u32, bytes: limits.bytes, nodes: limits.nodes, documents: 1 };
    let tree = Tree::parse(text, &bounds).map_err(|error| {
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        BodyError::Yaml { message: format!("{error}{hint}") }
    })?;
    let tree = tree.ok_or(BodyError::Empty)?;
    let mut budget = Budget::new(limits);
    let value = Yaml { tree: &tree, budget: &mut budget }.value(tree.root())?;
    Ok(Body { value, duplicates: Vec::new() })
}

/// Reads nodes of a tree, aliases written out.
struct Yaml<'t, 'b> {
    tree: &'t Tree,
    budget: &'b mut Budget,
}

impl Yaml<'_, '_> {
    fn fault(&self, id: NodeId, message: &str) -> BodyError {
        let place = self.tree.position(id);
        let place = place.map(|at| format!("line {}, column {}: ", at.line, at.column)).unwrap_or_default();
        BodyError::Yaml { message: format!("{place}{message}") }
    }

    fn value(&mut self, id: NodeId) -> Result<Value, BodyError> {
        self.budget.node()?;
        let tree = self.tree;
        match tree.kind(id) {
            Kind::Scalar => self.scalar(id),
            Kind::Alias => {
                // An alias inside what it stands for goes deeper without end, up to the bound.
                self.budget.enter()?;
                let value = self.value(self.target(id)?)?;
                self.budget.leave();
                Ok(value)
            }
            Kind::Sequence => {
                self.budget.enter()?;
                let mut list = Vec::new();
                for (index, element) in tree.elements(id).enumerate() {
                    let before = self.budget.element(index);
                    list.push(self.value(element)?);
                    self.budget.path.truncate(before);
                }
                self.budget.leave();
                Ok(Value::Array(list))
            }
            Kind::Mapping => {
                self.budget.enter()?;
                let mut object = Map::new();
                let mut merged = Vec::new();
                for (key, value) in tree.entries(id) {
                    if !tree.is_scalar(key) {
                        return Err(self.fault(key, "a key must be a string"));
                    }
                    if tree.scalar_type(key) == ScalarType::Merge {
                        merged.push(value);
                        continue;
                    }
                    let name = tree.text(key);
                    self.budget.text(name)?;
                    let before = self.budget.field(name);
                    let value = self.value(value)?;
                    self.budget.path.truncate(before);
                    object.insert(name.to_owned(), value);
                }
                for source in merged {
                    self.merge(source, &mut object)?;
                }
                self.budget.leave();
                Ok(Value::Object(object))
            }
        }
    }

    /// Adds what `<<` names; what stands there already wins.
    fn merge(&mut self, source: NodeId, into: &mut Map<String, Value>) -> Result<(), BodyError> {
        let value = self.value(source)?;
        let sources = match value {
            Value::Array(list) => list,
            one => vec![one],
        };
        for from in sources {
            let Value::Object(from) = from else {
                return Err(self.fault(source, "`<<` needs a mapping, or a list of mappings"));
            };
            for (key, value) in from {
                into.entry(key).or_insert(value);
            }
        }
        Ok(())
    }

    fn target(&self, alias: NodeId) -> Result<NodeId, BodyError> {
        self.tree.alias_target(alias).ok_or_else(|| self.fault(alias, "an alias without its anchor"))
    }

    fn scalar(&mut self, id: NodeId) -> Result<Value, BodyError> {
        let text = self.tree.text(id);
        Ok(match self.tree.scalar_type(id) {
            ScalarType::Null => Value::Null,
            ScalarType::Bool => Value::Bool(text.eq_ignore_ascii_case("true")),
            ScalarType::Int => {
                let number = parse_int(text).and_then(Number::from_i128);
                Value::Number(number.ok_or_else(|| self.fault(id, "an integer needs more than 64 bits"))?)
            }
            ScalarType::Float => {
                let number = parse_float(text).and_then(Number::from_f64);
                Value::Number(number.ok_or_else(|| self.fault(id, "JSON has no such number: put it in quotes"))?)
            }
            _ => {
                self.budget.text(text)?;
                Value::String(text.to_owned())
            }
        })
    }
}

#[cfg(test)]
mod tests;

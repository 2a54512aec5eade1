//! From JSON to [`Schema`].

use std::cell::OnceCell;
use std::rc::Rc;

use serde_json::{Map, Value};
use thiserror::Error;

use crate::problem::Bound;
use crate::schema::{Additional, Pattern, Place, Reference, Schema};
use crate::value::Type;

/// Deepest nesting of a schema that is read.
const MAX_DEPTH: usize = 500;

/// A schema that makes no sense.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{at}` of the schema {fault}")]
pub struct SchemaError {
    /// JSON pointer in the schema.
    pub at: String,
    fault: String,
}

/// What the references of a schema are relative to.
#[derive(Clone, Debug)]
pub(crate) enum Base {
    /// They are names of definitions.
    Kubernetes,
    /// They are places in this file or beside it.
    File(Rc<str>),
}

/// Reads schemas of one origin.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) base: Base,
    /// Objects with named properties have no others, unless they say so: the strict form.
    pub(crate) closed: bool,
}

impl Reader {
    pub(crate) fn read(&self, value: &Value) -> Result<Schema, SchemaError> {
        self.schema(value, &mut Vec::new())
    }

    fn schema(&self, value: &Value, at: &mut Vec<String>) -> Result<Schema, SchemaError> {
        if at.len() > MAX_DEPTH {
            return Err(fault(at, &format!("is nested more than {MAX_DEPTH} deep")));
        }
        let map = match value {
            Value::Object(map) => map,
            Value::Bool(any) => return Ok(Schema { never: !any, ..Schema::default() }),
            _ => return Err(fault(at, "must be a mapping")),
        };
        let mut schema = Schema::default();
        for (key, value) in map {
            at.push(key.clone());
            self.keyword(&mut schema, map, key, value, at)?;
            at.pop();
        }
        let open = !map.contains_key("properties") || map.contains_key("additionalProperties");
        if self.closed && !open {
            schema.additional = Additional::None;
        }
        Ok(schema)
    }

    fn keyword(
        &self,
        schema: &mut Schema,
        all: &Map<String, Value>,
        key: &str,
        value: &Value,
        at: &mut Vec<String>,
    ) -> Result<(), SchemaError> {
        match key {
            "type" => schema.types = types(value).ok_or_else(|| fault(at, "must name a type, or a list of types"))?,
            "$ref" => {
                let place = self.place(text(value, at)?, at)?;
                schema.reference = Some(Reference { place, target: OnceCell::new() });
            }
            "enum" => schema.values = Some(list(value, at)?.clone()),
            "const" => schema.constant = Some(value.clone()),
            "format" => schema.format = Some(text(value, at)?.into()),
            "pattern" => schema.pattern = Some(Pattern::new(text(value, at)?)),
            "required" => {
                // draft 3 had a boolean here
                for name in value.as_array().into_iter().flatten() {
                    schema.required.push(text(name, at)?.into());
                }
            }
            "properties" => {
                for (name, value) in mapping(value, at)? {
                    at.push(name.clone());
                    schema.properties.insert(name.as_str().into(), self.schema(value, at)?);
                    at.pop();
                }
            }
            "patternProperties" => {
                for (pattern, value) in mapping(value, at)? {
                    at.push(pattern.clone());
                    schema.patterns.push((Pattern::new(pattern), self.schema(value, at)?));
                    at.pop();
                }
            }
            "additionalProperties" => {
                schema.additional = match value {
                    Value::Bool(true) => Additional::Any,
                    Value::Bool(false) => Additional::None,
                    _ => Additional::Schema(Box::new(self.schema(value, at)?)),
                };
            }
            // a list has one schema for each place, which nobody uses for objects of Kubernetes
            "items" if !value.is_array() => schema.items = Some(Box::new(self.schema(value, at)?)),
            "not" => schema.not = Some(Box::new(self.schema(value, at)?)),
            "allOf" => schema.all_of = self.schemas(value, at)?,
            "anyOf" => schema.any_of = self.schemas(value, at)?,
            "oneOf" => schema.one_of = self.schemas(value, at)?,
            "uniqueItems" => schema.unique = value == &Value::Bool(true),
            _ => {
                if let Some(bound) = Bound::of_keyword(key) {
                    self::bound(schema, all, bound, value, at)?;
                }
            }
        }
        Ok(())
    }

    fn schemas(&self, value: &Value, at: &mut Vec<String>) -> Result<Vec<Schema>, SchemaError> {
        let mut schemas = Vec::new();
        for (number, value) in list(value, at)?.iter().enumerate() {
            at.push(number.to_string());
            schemas.push(self.schema(value, at)?);
            at.pop();
        }
        Ok(schemas)
    }

    fn place(&self, text: &str, at: &[String]) -> Result<Place, SchemaError> {
        let file = match &self.base {
            Base::Kubernetes => return Ok(Place::Kubernetes(text.into())),
            Base::File(file) => file,
        };
        let (place, pointer) = text.split_once('#').unwrap_or((text, ""));
        if place.contains("://") && !place.starts_with("file://") {
            return Err(fault(at, "refers to the network, which a function can't reach"));
        }
        let place = place.strip_prefix("file://").unwrap_or(place);
        let path = if place.is_empty() {
            Rc::clone(file)
        } else if place.starts_with('/') {
            Rc::from(place)
        } else {
            let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
            Rc::from(format!("{directory}/{place}"))
        };
        Ok(Place::File { path, pointer: pointer.into() })
    }
}

/// `exclusiveMinimum: true` of draft 4 sharpens its neighbour; a number is a bound of its own.
fn bound(
    schema: &mut Schema,
    all: &Map<String, Value>,
    bound: Bound,
    value: &Value,
    at: &[String],
) -> Result<(), SchemaError> {
    let exclusive = |key: &str| all.get(key) == Some(&Value::Bool(true));
    let bound = match bound {
        Bound::Minimum if exclusive("exclusiveMinimum") => Bound::ExclusiveMinimum,
        Bound::Maximum if exclusive("exclusiveMaximum") => Bound::ExclusiveMaximum,
        Bound::ExclusiveMinimum | Bound::ExclusiveMaximum if value.is_boolean() => return Ok(()),
        other => other,
    };
    let limit = value.as_f64().ok_or_else(|| fault(at, "must be a number"))?;
    schema.bounds.push((bound, limit));
    Ok(())
}

fn types(value: &Value) -> Option<Vec<Type>> {
    match value {
        Value::String(name) => Some(vec![Type::of_name(name)?]),
        Value::Array(names) => names.iter().map(|name| Type::of_name(name.as_str()?)).collect(),
        _ => None,
    }
}

fn text<'a>(value: &'a Value, at: &[String]) -> Result<&'a str, SchemaError> {
    value.as_str().ok_or_else(|| fault(at, "must be a string"))
}

fn list<'a>(value: &'a Value, at: &[String]) -> Result<&'a Vec<Value>, SchemaError> {
    value.as_array().ok_or_else(|| fault(at, "must be a list"))
}

fn mapping<'a>(value: &'a Value, at: &[String]) -> Result<&'a Map<String, Value>, SchemaError> {
    value.as_object().ok_or_else(|| fault(at, "must be a mapping"))
}

fn fault(at: &[String], fault: &str) -> SchemaError {
    SchemaError { at: format!("/{}", at.join("/")), fault: fault.to_owned() }
}

//! From a value to a typed object, with what a client wrote and nothing knows.

use std::fmt;
use std::fmt::Write as _;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::shown;
use super::structure::{Shape, Structure};

/// How many fields are named at most, as in Kubernetes.
const NAMED: usize = 100;

/// Longest warning, and all warnings of an answer, in bytes: Kubernetes' own bounds, for an answer with too large headers is
/// dropped on the way.
const WARNING_BYTES: usize = 256;
const WARNINGS_BYTES: usize = 4 << 10;

/// What is done about fields that nothing knows or that stand there twice: the parameter `fieldValidation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped, and the answer names them in `Warning` headers. Kubernetes' default.
    #[default]
    Warn,
    /// The request is refused. kubectl's default.
    Strict,
}

impl FieldValidation {
    /// By the parameter of a request; empty or missing is the default.
    pub fn parse(parameter: Option<&str>) -> Result<Self, DecodeError> {
        match parameter.unwrap_or_default() {
            "" | "Warn" => Ok(Self::Warn),
            "Ignore" => Ok(Self::Ignore),
            "Strict" => Ok(Self::Strict),
            other => Err(DecodeError::Validation { given: shown(other) }),
        }
    }
}

/// Why a value is no such object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// With [`FieldValidation::Strict`]: what nothing knows, and what stands there twice.
    #[error("strict decoding error: {}", Listed(.0))]
    Strict(Vec<FieldFault>),
    /// A field has the wrong type.
    #[error("{path}: {message}")]
    Field {
        /// The field; `.` for the object itself.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// The parameter `fieldValidation` is none of the three.
    #[error("fieldValidation: Unsupported value: {given:?}: supported values: \"Ignore\", \"Strict\", \"Warn\"")]
    Validation {
        /// What it is.
        given: String,
    },
}

impl DecodeError {
    /// The status code and the reason of Kubernetes' `Status`.
    pub fn status(&self) -> (u16, &'static str) {
        (400, "BadRequest")
    }
}

/// A field that is dropped. Displayed in Kubernetes' words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldFault {
    /// The kind has no such field.
    Unknown(String),
    /// It stands there more than once.
    Duplicate(String),
}

impl fmt::Display for FieldFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(path) => write!(f, "unknown field {path:?}"),
            Self::Duplicate(path) => write!(f, "duplicate field {path:?}"),
        }
    }
}

struct Listed<'f>(&'f [FieldFault]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(index, fault)| {
            let joint = if index == 0 { "" } else { ", " };
            write!(f, "{joint}{fault}")
        })
    }
}

/// The fields of a value that its kind does not have, and those that stood twice in its text; the first 100.
pub fn field_faults(value: &Value, duplicates: &[String], structure: &Structure) -> Vec<FieldFault> {
    let mut faults: Vec<FieldFault> = duplicates.iter().cloned().map(FieldFault::Duplicate).collect();
    unknown(value, structure.root(), &mut String::new(), &mut faults);
    faults.truncate(NAMED);
    faults
}

/// What is to be done about those: a refusal, warnings for [`warning_headers`], or nothing.
pub fn validate(
    value: &Value,
    duplicates: &[String],
    structure: &Structure,
    validation: FieldValidation,
) -> Result<Vec<String>, DecodeError> {
    if validation == FieldValidation::Ignore {
        return Ok(Vec::new());
    }
    let faults = field_faults(value, duplicates, structure);
    match validation {
        FieldValidation::Strict if !faults.is_empty() => Err(DecodeError::Strict(faults)),
        _ => Ok(faults.iter().map(ToString::to_string).collect()),
    }
}

fn unknown(value: &Value, shape: Shape<'_>, path: &mut String, faults: &mut Vec<FieldFault>) {
    let before = path.len();
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                if faults.len() >= NAMED {
                    return;
                }
                if before > 0 {
                    path.push('.');
                }
                path.push_str(name);
                match shape.field(name) {
                    Some(shape) => unknown(value, shape, path, faults),
                    // A scalar or a list that is an object: reading it says so.
                    None if shape.expected() != Some("map") => {}
                    None => faults.push(FieldFault::Unknown(shown(path))),
                }
                path.truncate(before);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                let _ = write!(path, "[{index}]");
                unknown(value, shape.item(), path, faults);
                path.truncate(before);
            }
        }
        _ => {}
    }
}

/// Reads a value as a typed object of that structure. Fields that are null are as if they were not there, as in Kubernetes.
pub fn typed<T: DeserializeOwned>(mut value: Value, structure: &Structure) -> Result<T, DecodeError> {
    drop_nulls(&mut value);
    check_kinds(&value, structure.root(), &mut String::new())?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = shown(&error.path().to_string());
        DecodeError::Field { path, message: shown(&error.into_inner().to_string()) }
    })
}

/// Finds objects, lists and scalars that stand where another of these must: serde reads a list as an object without names.
fn check_kinds(value: &Value, shape: Shape<'_>, path: &mut String) -> Result<(), DecodeError> {
    let found = match value {
        Value::Object(_) => "map",
        Value::Array(_) => "list",
        _ => "scalar",
    };
    let before = path.len();
    match (shape.expected(), value) {
        (Some(expected), _) if expected != found => {
            let path = if path.is_empty() { ".".to_owned() } else { shown(path) };
            return Err(DecodeError::Field { path, message: format!("expected {expected}, got {found}") });
        }
        (_, Value::Object(object)) => {
            for (name, value) in object {
                if before > 0 {
                    path.push('.');
                }
                path.push_str(name);
                check_kinds(value, shape.field_or_anything(name), path)?;
                path.truncate(before);
            }
        }
        (_, Value::Array(list)) => {
            for (index, value) in list.iter().enumerate() {
                let _ = write!(path, "[{index}]");
                check_kinds(value, shape.item(), path)?;
                path.truncate(before);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Takes away the fields that are null.
pub fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|_, value| !value.is_null());
            object.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Warnings as values of `Warning` headers (RFC 9110, section 5.5 for what may stand in one), in the form that
/// Kubernetes' clients print: `299 - "TEXT"`. Long ones are cut, and those beyond 4 KiB left out.
pub fn warning_headers(warnings: &[String]) -> Vec<String> {
    let mut total = 0;
    let mut headers = Vec::new();
    for warning in warnings {
        let mut text = String::with_capacity(warning.len().min(WARNING_BYTES) + 16);
        for c in warning.chars() {
            if text.len() >= WARNING_BYTES {
                text.push_str("...");
                break;
            }
            match c {
                '"' | '\\' => text.extend(['\\', c]),
                ' '..='~' => text.push(c),
                // A header is ASCII; Kubernetes' clients read a quoted string as it is.
                _ => text.push('?'),
            }
        }
        total += text.len();
        if total > WARNINGS_BYTES {
            break;
        }
        headers.push(format!("299 - \"{text}\""));
    }
    headers
}

#[cfg(test)]
mod tests;

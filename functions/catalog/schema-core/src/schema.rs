//! A schema, read and ready to check with.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use regex_lite::Regex;
use serde_json::Value;

use crate::value::Type;

/// A JSON Schema: the keywords that Kubernetes, `OpenAPI` v3 and the drafts from 4 share. Others are ignored.
#[derive(Debug, Default)]
pub struct Schema {
    /// The schema `false`.
    pub(crate) never: bool,
    /// In the order of the schema; empty for any type.
    pub(crate) types: Vec<Type>,
    pub(crate) reference: Option<Reference>,
    pub(crate) values: Option<Vec<Value>>,
    /// `const`.
    pub(crate) constant: Option<Value>,
    pub(crate) format: Option<Box<str>>,
    pub(crate) properties: BTreeMap<Box<str>, Schema>,
    pub(crate) patterns: Vec<(Pattern, Schema)>,
    pub(crate) additional: Additional,
    pub(crate) required: Vec<Box<str>>,
    pub(crate) items: Option<Box<Schema>>,
    pub(crate) unique: bool,
    pub(crate) bounds: Vec<(crate::Bound, f64)>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) all_of: Vec<Schema>,
    pub(crate) any_of: Vec<Schema>,
    pub(crate) one_of: Vec<Schema>,
    pub(crate) not: Option<Box<Schema>>,
}

/// What other properties than the named ones may be.
#[derive(Debug, Default)]
pub(crate) enum Additional {
    #[default]
    Any,
    None,
    Schema(Box<Schema>),
}

/// A regular expression that may match anywhere. One that the engine can't read (a class of Unicode) is not checked.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) text: Box<str>,
    regex: Option<Regex>,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Pattern {
        Pattern { text: text.into(), regex: Regex::new(text).ok() }
    }

    pub(crate) fn matches(&self, value: &str) -> bool {
        self.regex.as_ref().is_none_or(|regex| regex.is_match(value))
    }
}

/// A `$ref`.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) place: Place,
    /// What is there, once it was looked up; whoever looked it up owns it.
    pub(crate) target: OnceCell<Weak<Schema>>,
}

/// Where a `$ref` leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A definition of Kubernetes, by full name.
    Kubernetes(Box<str>),
    /// A place in a file.
    File {
        /// The path of the file.
        path: Rc<str>,
        /// JSON pointer in it; empty for the whole file.
        pointer: Box<str>,
    },
}

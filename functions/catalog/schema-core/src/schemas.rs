//! All schemas that there are for a run.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::{Rc, Weak};

use portico_fn::Resource;
use serde_json::Value;
use thiserror::Error;

use crate::bundle::{Bundle, BundleError};
use crate::config::Options;
use crate::crd::Definitions;
use crate::location::{Location, Target, fill};
use crate::read::{Base, Reader, SchemaError};
use crate::schema::{Place, Reference, Schema};

/// Largest file with a schema.
const MAX_FILE: u64 = 64 << 20;

/// A schema that should be there and can't be used, or an object that can't be checked with it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LookupError {
    /// See [`BundleError`].
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// An embedded or a file's schema makes no sense.
    #[error("schema `{name}`: {fault}")]
    Schema {
        /// Name of the definition, or path of the file.
        name: String,
        /// What is wrong.
        fault: String,
    },
    /// The schema in a definition of the package makes no sense.
    #[error("the schema in CustomResourceDefinition `{name}` can't be used: {fault}")]
    Definition {
        /// Name of the definition.
        name: String,
        /// What is wrong.
        fault: String,
    },
    /// Nesting, or references in a circle.
    #[error("the object and its schema are nested more than {} deep; a reference may lead to itself", crate::MAX_DEPTH)]
    TooDeep,
    /// Alternatives in alternatives.
    #[error(
        "checking the object takes more than {} steps; its schema has alternatives in alternatives",
        crate::MAX_STEPS
    )]
    TooManySteps,
}

/// Schemas by apiVersion and kind; `None` where there is none.
type Kinds = HashMap<(String, String), Option<Rc<Schema>>>;

/// The schemas of a run: those that the package defines, those at the configured locations.
#[derive(Debug)]
pub struct Schemas<'a> {
    options: &'a Options,
    bundle: Bundle,
    definitions: Definitions,
    read: RefCell<HashMap<String, Rc<Schema>>>,
    files: RefCell<HashMap<String, Option<Rc<Value>>>>,
    kinds: RefCell<Kinds>,
}

impl<'a> Schemas<'a> {
    /// The schemas for a package.
    pub fn new(options: &'a Options, items: &[Resource]) -> Result<Schemas<'a>, BundleError> {
        Ok(Schemas {
            options,
            bundle: Bundle::embedded()?,
            definitions: Definitions::of(items),
            read: RefCell::default(),
            files: RefCell::default(),
            kinds: RefCell::default(),
        })
    }

    /// The schema of a kind; `None` when there is none.
    pub fn find(&self, api_version: &str, kind: &str) -> Result<Option<Rc<Schema>>, LookupError> {
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(found) = self.kinds.borrow().get(&key) {
            return Ok(found.clone());
        }
        let found = self.look(api_version, kind)?;
        self.kinds.borrow_mut().insert(key, found.clone());
        Ok(found)
    }

    /// Where was looked in vain, in words, after the definitions of the package.
    pub fn sources(&self) -> String {
        let places = self.options.locations.iter().map(|location| match location {
            Location::Embedded => {
                let version = self.bundle.versions().get(self.options.version_number).copied().unwrap_or_default();
                format!("Kubernetes {version} has no such kind")
            }
            Location::Files(path) => format!("there is no such file by `{path}`"),
        });
        places.collect::<Vec<_>>().join(", ")
    }

    fn look(&self, api_version: &str, kind: &str) -> Result<Option<Rc<Schema>>, LookupError> {
        if let Some(schema) = self.definitions.find(api_version, kind, self.options.strict)? {
            return Ok(Some(schema));
        }
        let version = self.options.version.as_deref();
        let target = Target { version: version.unwrap_or("master"), strict: self.options.strict, api_version, kind };
        for location in &self.options.locations {
            let found = match location {
                Location::Embedded => match self.bundle.kind(api_version, kind, self.options.version_number)? {
                    Some(name) => Some(self.definition(&name)?),
                    None => None,
                },
                Location::Files(path) => match fill(path, target) {
                    Ok(path) => self.file(&path, "")?,
                    Err(_) => None,
                },
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The schema that a reference leads to.
    pub(crate) fn resolve(&self, reference: &Reference) -> Result<Rc<Schema>, LookupError> {
        if let Some(target) = reference.target.get().and_then(Weak::upgrade) {
            return Ok(target);
        }
        let target = match &reference.place {
            Place::Kubernetes(name) => self.definition(name)?,
            Place::File { path, pointer } => self.file(path, pointer)?.ok_or_else(|| LookupError::Schema {
                name: format!("{path}#{pointer}"),
                fault: "it is referred to, but not there".to_owned(),
            })?,
        };
        // `read` keeps it
        let _ = reference.target.set(Rc::downgrade(&target));
        Ok(target)
    }

    fn definition(&self, name: &str) -> Result<Rc<Schema>, LookupError> {
        if let Some(schema) = self.read.borrow().get(name) {
            return Ok(Rc::clone(schema));
        }
        let text =
            self.bundle.definition(name, self.options.version_number)?.ok_or(BundleError("a definition is missing"))?;
        let value: Value = serde_json::from_str(text).map_err(|_| BundleError("a definition is no JSON"))?;
        let reader = Reader { base: Base::Kubernetes, closed: self.options.strict };
        self.keep(name, reader.read(&value))
    }

    /// A schema in a file; `None` when there is no such file, or no such place in it.
    fn file(&self, path: &str, pointer: &str) -> Result<Option<Rc<Schema>>, LookupError> {
        let name = format!("{path}#{pointer}");
        if let Some(schema) = self.read.borrow().get(&name) {
            return Ok(Some(Rc::clone(schema)));
        }
        let Some(whole) = self.json(path)? else { return Ok(None) };
        let Some(value) = whole.pointer(pointer) else { return Ok(None) };
        let reader = Reader { base: Base::File(path.into()), closed: false };
        self.keep(&name, reader.read(value)).map(Some)
    }

    fn keep(&self, name: &str, schema: Result<Schema, SchemaError>) -> Result<Rc<Schema>, LookupError> {
        let schema = schema.map_err(|error| LookupError::Schema { name: name.to_owned(), fault: error.to_string() })?;
        let schema = Rc::new(schema);
        self.read.borrow_mut().insert(name.to_owned(), Rc::clone(&schema));
        Ok(schema)
    }

    fn json(&self, path: &str) -> Result<Option<Rc<Value>>, LookupError> {
        if let Some(value) = self.files.borrow().get(path) {
            return Ok(value.clone());
        }
        let fault = |fault: String| LookupError::Schema { name: path.to_owned(), fault };
        let value = match std::fs::metadata(path) {
            Ok(metadata) if metadata.len() > MAX_FILE => {
                return Err(fault(format!("the file has more than {MAX_FILE} bytes")));
            }
            Ok(_) => {
                let bytes = std::fs::read(path).map_err(|error| fault(error.to_string()))?;
                Some(Rc::new(serde_json::from_slice(&bytes).map_err(|error| fault(error.to_string()))?))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(fault(error.to_string())),
        };
        self.files.borrow_mut().insert(path.to_owned(), value.clone());
        Ok(value)
    }
}

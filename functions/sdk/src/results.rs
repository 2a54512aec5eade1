//! What a function reports.

use std::ops::{Deref, DerefMut};

use portico_krm::Resource;
use portico_krm::results::{Field, File, FunctionResult, ResourceRef};

use crate::field::FieldError;

/// How bad a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The package is wrong.
    Error,
    /// The package may be wrong.
    Warning,
    /// Something worth telling.
    Info,
}

impl Severity {
    /// As it is written in a `ResourceList`.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

/// The results of one function, in the order in which they are reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results(Vec<FunctionResult>);

impl Results {
    /// No results.
    pub fn new() -> Results {
        Results::default()
    }

    /// Reports something about the whole package.
    pub fn general(&mut self, severity: Severity, message: impl Into<String>) {
        self.0.push(FunctionResult::new(severity.as_str(), message));
    }

    /// Reports information about the whole package.
    pub fn info(&mut self, message: impl Into<String>) {
        self.general(Severity::Info, message);
    }

    /// Reports a warning about the whole package.
    pub fn warning(&mut self, message: impl Into<String>) {
        self.general(Severity::Warning, message);
    }

    /// Reports an error about the whole package.
    pub fn error(&mut self, message: impl Into<String>) {
        self.general(Severity::Error, message);
    }

    /// Reports something about an object: the result names the object, its file and its place in it.
    pub fn about(&mut self, object: &Resource, severity: Severity, message: impl Into<String>) {
        self.0.push(about(object, severity, message));
    }

    /// Reports something about an object by its file alone, as the catalog's older functions do.
    pub fn about_file(&mut self, object: &Resource, severity: Severity, message: impl Into<String>) {
        let file = object.path().map(|path| File { path: path.to_owned(), index: 0 });
        self.0.push(FunctionResult { file, ..FunctionResult::new(severity.as_str(), message) });
    }

    /// Reports something about a field of an object, with the value it has and the one it should have where they are
    /// known.
    pub fn about_field(
        &mut self,
        object: &Resource,
        severity: Severity,
        message: impl Into<String>,
        path: &str,
        current: Option<&str>,
        proposed: Option<&str>,
    ) {
        let field = Field {
            path: path.to_owned(),
            current_value: current.map(str::to_owned),
            proposed_value: proposed.map(str::to_owned),
        };
        self.0.push(FunctionResult { field: Some(field), ..about(object, severity, message) });
    }

    /// Reports something about the configuration object, which may be missing.
    pub fn about_config(&mut self, config: Option<&Resource>, severity: Severity, message: impl Into<String>) {
        self.0.push(match config {
            Some(config) => about(config, severity, message),
            None => about_nothing(severity, message),
        });
    }

    /// Reports a field that is not what the function needs.
    pub fn field_error(&mut self, object: &Resource, error: &FieldError) {
        self.about_field(object, Severity::Error, error.to_string(), &error.path, None, None);
    }

    /// Adds a result that was made elsewhere.
    pub fn push(&mut self, result: FunctionResult) {
        self.0.push(result);
    }

    /// True when one of the results is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(FunctionResult::is_error)
    }

    /// Sorts by file, place, severity and text.
    pub fn sort(&mut self) {
        portico_krm::results::sort_results(&mut self.0);
    }

    /// The results as a list.
    pub fn into_vec(self) -> Vec<FunctionResult> {
        self.0
    }
}

impl Deref for Results {
    type Target = Vec<FunctionResult>;

    fn deref(&self) -> &Vec<FunctionResult> {
        &self.0
    }
}

impl DerefMut for Results {
    fn deref_mut(&mut self) -> &mut Vec<FunctionResult> {
        &mut self.0
    }
}

impl From<Vec<FunctionResult>> for Results {
    fn from(results: Vec<FunctionResult>) -> Results {
        Results(results)
    }
}

fn about(object: &Resource, severity: Severity, message: impl Into<String>) -> FunctionResult {
    FunctionResult {
        resource_ref: Some(ResourceRef::of(object)),
        file: Some(File {
            path: object.path().unwrap_or_default().to_owned(),
            // an object that says nothing of its place is at -1, as in the Go SDK
            index: object.index().and_then(|index| index.parse().ok()).unwrap_or(-1),
        }),
        ..FunctionResult::new(severity.as_str(), message)
    }
}

/// A result about an object that is not there: all its parts empty, the place -1.
fn about_nothing(severity: Severity, message: impl Into<String>) -> FunctionResult {
    FunctionResult {
        resource_ref: Some(ResourceRef::default()),
        file: Some(File { path: String::new(), index: -1 }),
        ..FunctionResult::new(severity.as_str(), message)
    }
}

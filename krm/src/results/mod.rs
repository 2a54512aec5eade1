//! What functions report: the items of `results` in a `ResourceList`, and the document that lists them per step.

mod document;
mod read;
mod write;

pub use document::{ResultDocument, StepResult};
pub use read::{ResultsError, parse_results};
pub(crate) use write::{push_results, yaml_text};

use std::collections::BTreeMap;
use std::fmt;

/// One message of a function about a resource, a field or the package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionResult {
    /// What to tell people.
    pub message: String,
    /// `error`, `warning`, `info` or whatever else the function says; `None` when it says nothing, shown as `info`.
    pub severity: Option<String>,
    /// The resource it is about. `Some` with all parts empty is written as `resourceRef: {}`.
    pub resource_ref: Option<ResourceRef>,
    /// The field it is about.
    pub field: Option<Field>,
    /// The file it is about.
    pub file: Option<File>,
    /// Anything else, for tools.
    pub tags: BTreeMap<String, String>,
}

/// Names a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRef {
    /// `apiVersion`, or empty.
    pub api_version: String,
    /// `kind`, or empty.
    pub kind: String,
    /// `metadata.name`, or empty.
    pub name: String,
    /// `metadata.namespace`, or empty.
    pub namespace: String,
}

/// Names a field and says what it holds and should hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// Dotted path with `[i]` for elements: `spec.containers[0].image`.
    pub path: String,
    /// What it holds, as text: a scalar's value or YAML; `None` when the function does not say.
    pub current_value: Option<String>,
    /// What it should hold, likewise.
    pub proposed_value: Option<String>,
}

/// Names a place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Path relative to the package.
    pub path: String,
    /// Document in the file, from 0; 0 is not written.
    pub index: i64,
}

impl FunctionResult {
    /// A result with a severity and a message.
    pub fn new(severity: &str, message: impl Into<String>) -> FunctionResult {
        FunctionResult { message: message.into(), severity: Some(severity.to_owned()), ..FunctionResult::default() }
    }

    /// True when the severity is exactly `error`.
    pub fn is_error(&self) -> bool {
        self.severity.as_deref() == Some("error")
    }
}

impl ResourceRef {
    /// Names this resource.
    pub fn of(resource: &crate::Resource) -> ResourceRef {
        ResourceRef {
            api_version: resource.api_version().to_owned(),
            kind: resource.kind().to_owned(),
            name: resource.name().to_owned(),
            namespace: resource.namespace().to_owned(),
        }
    }
}

/// `[severity] apiVersion/kind/namespace/name field.path: message` on one line, parts that are missing left out.
impl fmt::Display for FunctionResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = self.severity.as_deref().filter(|s| !s.is_empty()).unwrap_or("info");
        write!(f, "[{severity}]")?;
        if let Some(r) = &self.resource_ref {
            let name = crate::resource::join_parts([&*r.api_version, &*r.kind, &*r.namespace, &*r.name]);
            if !name.is_empty() {
                write!(f, " {name}")?;
            }
        }
        if let Some(path) = self.field.as_ref().map(|field| &*field.path).filter(|path| !path.is_empty()) {
            write!(f, " {path}")?;
        }
        f.write_str(":")?;
        for line in self.message.lines().map(str::trim).filter(|line| !line.is_empty()) {
            write!(f, " {line}")?;
        }
        Ok(())
    }
}

/// Sorts results as functions of kpt's SDK do: by file and place in it, then by severity (errors first), then
/// by resource, field and message.
pub fn sort_results(results: &mut [FunctionResult]) {
    results.sort_by_cached_key(|result| {
        let file = result.file.clone().unwrap_or_default();
        let resource = result.resource_ref.clone().map(|r| (r.api_version, r.kind, r.name, r.namespace));
        let field = result.field.as_ref().map(|field| field.path.clone());
        (file.path, file.index, severity_rank(result.severity.as_deref()), resource, field, result.message.clone())
    });
}

fn severity_rank(severity: Option<&str>) -> u8 {
    match severity {
        Some("error") => 0,
        Some("warning") => 1,
        Some("info") => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests;

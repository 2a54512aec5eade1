//! Reads the `results` of a function's output, in all the forms that functions write.

use std::collections::BTreeMap;

use super::{Field, File, FunctionResult, ResourceRef};
use crate::resource::{go_kind, string_value};
use crate::yaml::{NodeId, Position, Tree};

/// Results that have another shape than a list of mappings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` must be {expected}, not a {got}")]
pub struct ResultsError {
    /// Where in the list: `results[2].field`.
    pub path: String,
    /// What is allowed there.
    pub expected: &'static str,
    /// What is there: `mapping`, `sequence`, `scalar` or `alias`.
    pub got: &'static str,
    /// Line and column in the function's output.
    pub position: Option<Position>,
}

/// Reads the value of `results`: a list, or a mapping with the list under `items` as older functions write it. Unknown
/// keys are ignored, severities are free text.
pub fn parse_results(tree: &Tree, id: NodeId) -> Result<Vec<FunctionResult>, ResultsError> {
    if tree.is_null(id) {
        return Ok(Vec::new());
    }
    let reader = Reader { tree };
    if tree.is_mapping(id) {
        // a mapping with nothing under `items` says nothing: what kpt refuses there is no reason to stop a render
        return match tree.get(id, "items") {
            Some(items) if !tree.is_null(items) => reader.list(items, "results.items"),
            _ => Ok(Vec::new()),
        };
    }
    reader.list(id, "results")
}

struct Reader<'t> {
    tree: &'t Tree,
}

impl Reader<'_> {
    fn list(&self, id: NodeId, path: &str) -> Result<Vec<FunctionResult>, ResultsError> {
        if !self.tree.is_sequence(id) {
            return Err(self.error(id, path.to_owned(), "a list"));
        }
        let elements = self.tree.elements(id).enumerate();
        elements.map(|(at, element)| self.item(element, &format!("{path}[{at}]"))).collect()
    }

    fn item(&self, id: NodeId, path: &str) -> Result<FunctionResult, ResultsError> {
        if !self.tree.is_mapping(id) {
            return Err(self.error(id, path.to_owned(), "a mapping"));
        }
        let severity = self.text(id, path, "severity")?;
        Ok(FunctionResult {
            message: self.text(id, path, "message")?,
            severity: (!severity.is_empty()).then_some(severity),
            resource_ref: self.section(id, path, "resourceRef", |map, path| self.resource_ref(map, path))?,
            field: self.section(id, path, "field", |map, path| self.field(map, path))?,
            file: self.section(id, path, "file", |map, path| self.file(map, path))?,
            tags: self.section(id, path, "tags", |map, path| self.tags(map, path))?.unwrap_or_default(),
        })
    }

    fn resource_ref(&self, map: NodeId, path: &str) -> Result<ResourceRef, ResultsError> {
        let mut found = ResourceRef {
            api_version: self.text(map, path, "apiVersion")?,
            kind: self.text(map, path, "kind")?,
            name: self.text(map, path, "name")?,
            namespace: self.text(map, path, "namespace")?,
        };
        // older functions nest name and namespace
        if let Some(metadata) = self.tree.get(map, "metadata").filter(|id| self.tree.is_mapping(*id)) {
            let path = format!("{path}.metadata");
            let (name, namespace) = (self.text(metadata, &path, "name")?, self.text(metadata, &path, "namespace")?);
            if !name.is_empty() {
                found.name = name;
            }
            if !namespace.is_empty() {
                found.namespace = namespace;
            }
        }
        Ok(found)
    }

    fn field(&self, map: NodeId, path: &str) -> Result<Field, ResultsError> {
        let value = |key| self.tree.get(map, key).and_then(|id| self.any(id));
        Ok(Field {
            path: self.text(map, path, "path")?,
            current_value: value("currentValue"),
            // the older name wins, as it does in kpt
            proposed_value: value("suggestedValue").or_else(|| value("proposedValue")),
        })
    }

    fn file(&self, map: NodeId, path: &str) -> Result<File, ResultsError> {
        let index = match self.tree.get(map, "index") {
            Some(id) if !self.tree.is_null(id) => {
                let number = self.tree.text(id).parse().ok();
                number.ok_or_else(|| self.error(id, format!("{path}.index"), "a whole number"))?
            }
            _ => 0,
        };
        Ok(File { path: self.text(map, path, "path")?, index })
    }

    fn tags(&self, map: NodeId, path: &str) -> Result<BTreeMap<String, String>, ResultsError> {
        let entries = self.tree.entries(map).map(|(key, value)| {
            let key = self.tree.text(key);
            if self.tree.is_scalar(value) {
                Ok((key.to_owned(), string_value(self.tree, value).to_owned()))
            } else {
                Err(self.error(value, format!("{path}.{key}"), "a string"))
            }
        });
        entries.collect()
    }

    /// Reads a mapping at a key; `None` when it is missing or null.
    fn section<T>(
        &self,
        map: NodeId,
        path: &str,
        key: &str,
        read: impl FnOnce(NodeId, &str) -> Result<T, ResultsError>,
    ) -> Result<Option<T>, ResultsError> {
        let Some(id) = self.tree.get(map, key).filter(|id| !self.tree.is_null(*id)) else { return Ok(None) };
        let path = format!("{path}.{key}");
        if self.tree.is_mapping(id) { read(id, &path).map(Some) } else { Err(self.error(id, path, "a mapping")) }
    }

    fn text(&self, map: NodeId, path: &str, key: &str) -> Result<String, ResultsError> {
        match self.tree.get(map, key) {
            None => Ok(String::new()),
            Some(id) if self.tree.is_scalar(id) => Ok(string_value(self.tree, id).to_owned()),
            Some(id) => Err(self.error(id, format!("{path}.{key}"), "a string")),
        }
    }

    /// Any value as text: a scalar's own text, a collection as YAML.
    fn any(&self, id: NodeId) -> Option<String> {
        if self.tree.is_null(id) {
            return None;
        }
        if self.tree.is_scalar(id) {
            return Some(self.tree.text(id).trim().to_owned());
        }
        Some(super::write::yaml_text(self.tree, id))
    }

    fn error(&self, id: NodeId, path: String, expected: &'static str) -> ResultsError {
        let got = match go_kind(self.tree, id) {
            "ScalarNode" => "scalar",
            "MappingNode" => "mapping",
            "SequenceNode" => "sequence",
            _ => "alias",
        };
        ResultsError { path, expected, got, position: self.tree.position(id) }
    }
}

//! What is to be filled in, as objects and as the annotation spell it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Substitutions of one object; a package that needs more generates its objects.
const MAX_SUBSTITUTIONS: usize = 1_000;

/// An `ApplyTimeMutation`.
#[derive(Debug, Deserialize)]
pub(crate) struct Object {
    pub(crate) spec: Spec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Spec {
    pub(crate) target_ref: Reference,
    pub(crate) substitutions: Vec<Substitution>,
}

/// An object. Fields in the order of their names, as the annotation has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Reference {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) api_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) namespace: String,
}

/// One value that is taken from one object and put into another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Substitution {
    pub(crate) source_path: String,
    pub(crate) source_ref: Reference,
    pub(crate) target_path: String,
    /// The part of the field that is replaced; empty for all of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) token: String,
}

impl Spec {
    /// The error names the field.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.target_ref.check("spec.targetRef")?;
        if self.substitutions.is_empty() {
            return Err("`spec.substitutions` must hold at least one substitution".to_owned());
        }
        for (index, substitution) in self.substitutions.iter().enumerate() {
            let at = format!("spec.substitutions[{index}]");
            substitution.source_ref.check(&format!("{at}.sourceRef"))?;
            for (field, path) in [("sourcePath", &substitution.source_path), ("targetPath", &substitution.target_path)]
            {
                if !path.starts_with('$') {
                    return Err(format!("`{at}.{field}` is `{path}`; it must be a JSONPath, which begins with `$`"));
                }
            }
        }
        Ok(())
    }
}

impl Reference {
    fn check(&self, at: &str) -> Result<(), String> {
        match (&*self.kind, &*self.name) {
            ("", _) => Err(format!("`{at}.kind` is missing")),
            (_, "") => Err(format!("`{at}.name` is missing")),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Reference {
    /// `` `apps/Deployment/ns/name` ``, without the parts that are empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [&self.api_version, &self.group, &self.kind, &self.namespace, &self.name];
        let parts: Vec<&str> = parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        write!(f, "`{}`", parts.join("/"))
    }
}

/// The value of the annotation.
pub(crate) fn to_yaml(substitutions: &[Substitution]) -> Result<String, String> {
    if substitutions.len() > MAX_SUBSTITUTIONS {
        return Err(format!("more than {MAX_SUBSTITUTIONS} substitutions for one object"));
    }
    serde_yaml::to_string(substitutions).map_err(|error| error.to_string())
}

/// Reads the value of the annotation.
pub(crate) fn from_yaml(text: &str) -> Result<Vec<Substitution>, String> {
    serde_yaml::from_str(text).map_err(|error| error.to_string())
}

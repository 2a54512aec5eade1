//! Checks of a pipeline that go beyond the shape of its fields. The first fault ends the check, as in kpt.

use std::borrow::Cow;
use std::fmt;

use super::error::go_quote;
use super::reference::Reference;
use super::{Function, Kptfile};
use crate::check;
use crate::paths;
use crate::yaml::{ParseLimits, Position};

/// Which list of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// `pipeline.mutators`
    Mutator,
    /// `pipeline.validators`
    Validator,
}

impl FunctionKind {
    /// Name of the list.
    pub fn list(self) -> &'static str {
        match self {
            FunctionKind::Mutator => "mutators",
            FunctionKind::Validator => "validators",
        }
    }
}

impl fmt::Display for FunctionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FunctionKind::Mutator => "mutator",
            FunctionKind::Validator => "validator",
        })
    }
}

/// A pipeline that cannot run. [`fmt::Display`] gives kpt's block of lines, the last one with a line break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidateError {
    /// Path of the field: `pipeline.mutators[0].image`.
    pub field: String,
    /// Its value; empty when the message needs none.
    pub value: String,
    /// What is wrong with it.
    pub reason: String,
    /// Where it stands in the Kptfile.
    pub position: Option<Position>,
}

impl fmt::Display for ValidateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Kptfile is invalid:\nField: `{}`", self.field)?;
        if !self.value.is_empty() {
            writeln!(f, "Value: {}", go_quote(&self.value))?;
        }
        writeln!(f, "Reason: {}", self.reason)
    }
}

impl std::error::Error for ValidateError {}

impl ValidateError {
    /// The fault as `FILE:LINE: FIELD: REASON`; `file` as the user knows it.
    pub fn located(&self, file: &str) -> String {
        let line = self.position.map_or(String::new(), |at| format!(":{}", at.line));
        format!("{file}{line}: {}: {}", self.field, self.reason)
    }
}

/// The bytes of a functionConfig file, by its cleaned path relative to the package; or why it cannot be opened, with
/// the path as the system names it: `open /pkg/x.yaml: no such file or directory`.
pub type ConfigFile<'a> = Result<Cow<'a, [u8]>, ConfigFileError>;

/// Why a functionConfig file cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigFileError(pub String);

impl Kptfile {
    /// Checks every function of the pipeline: mutators, then validators. `open` gives the files of functionConfigs.
    pub fn validate<'a>(&self, mut open: impl FnMut(&str) -> ConfigFile<'a>) -> Result<(), ValidateError> {
        let lists =
            [(FunctionKind::Mutator, &self.pipeline.mutators), (FunctionKind::Validator, &self.pipeline.validators)];
        for (kind, functions) in lists {
            for (index, function) in functions.iter().enumerate() {
                self.check_function(kind, index, function)?;
                if !function.config_path.is_empty() {
                    check_config(&function.config_path, &mut open)
                        .map_err(|reason| self.error(kind, index, "configPath", &function.config_path, reason))?;
                }
            }
        }
        Ok(())
    }

    fn check_function(&self, kind: FunctionKind, index: usize, function: &Function) -> Result<(), ValidateError> {
        let error = |reason: &str| Err(self.error(kind, index, "", "", reason.to_owned()));
        match (function.image.is_empty(), function.exec.is_empty()) {
            (true, true) => return error("must specify a functon (`image` or `exec`) to execute"),
            (false, false) => return error("must not specify both `image` and `exec` at the same time"),
            _ => {}
        }
        if !function.image.is_empty() {
            Reference::parse(&function.image)
                .map_err(|e| self.error(kind, index, "image", &function.image, e.to_string()))?;
        }
        if !function.config_map.is_empty() && !function.config_path.is_empty() {
            return error("functionConfig must not specify both `configMap` and `configPath` at the same time");
        }
        Ok(())
    }

    fn error(&self, kind: FunctionKind, index: usize, key: &str, value: &str, reason: String) -> ValidateError {
        let dot = if key.is_empty() { "" } else { "." };
        ValidateError {
            field: format!("pipeline.{}[{index}]{dot}{key}", kind.list()),
            value: value.to_owned(),
            reason,
            position: self.function_position(kind, index, key),
        }
    }

    /// Where a function of the pipeline, or one of its fields, stands in the file.
    pub fn function_position(&self, kind: FunctionKind, index: usize, key: &str) -> Option<Position> {
        let list = self.tree.get_path(self.tree.root(), &["pipeline", kind.list()])?;
        let function = self.tree.elements(list).nth(index)?;
        let field = self.tree.entry(function, key).map(|(key, _)| key);
        self.tree.position(field.unwrap_or(function))
    }

    /// The error of a functionConfig that is not among the package's own resources when its pipeline is about to run.
    pub fn missing_config(&self, kind: FunctionKind, index: usize, function: &Function) -> ValidateError {
        let (name, path) = (go_quote(label(function)), go_quote(&function.config_path));
        let reason = format!(
            "functionConfig resource for {kind} {name} is missing from path {path}, this also occurs if {path} is part \
             of a subpackage"
        );
        self.error(kind, index, "configPath", &function.config_path, reason)
    }
}

/// How messages name a function: its name, else the last part of its image, else its command.
pub fn label(function: &Function) -> &str {
    if !function.name.is_empty() {
        return &function.name;
    }
    match Reference::parse(&function.image) {
        Ok(reference) => reference.base_name(),
        Err(_) => function.exec.split_whitespace().next().unwrap_or_default(),
    }
}

fn check_config<'a>(path: &str, open: &mut impl FnMut(&str) -> ConfigFile<'a>) -> Result<(), String> {
    if path.trim().is_empty() {
        return Err("path must not be empty".to_owned());
    }
    let clean = paths::clean(path);
    if clean.starts_with('/') {
        return Err("path must be relative".to_owned());
    }
    if paths::leads_out(&clean) {
        return Err("path must not be outside the package".to_owned());
    }
    if clean.contains(['\0', '\n', '\r']) {
        return Err("path must not contain a line break or NUL".to_owned());
    }
    let quoted = go_quote(path);
    let bytes = open(&clean).map_err(|e| format!("failed to open functionConfig from path {quoted}: {e}"))?;
    let documents = super::documents(&bytes, &ParseLimits::default()).map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        format!("failed to read functionConfig {quoted}: MalformedYAMLError: {}", texts.join("; "))
    })?;
    match documents.as_slice() {
        [tree] => check::is_krm_tree(tree, path).map_err(|missing| format!("functionConfig {quoted}: {missing}")),
        [] => Err(format!("functionConfig {quoted} must contain one config, but it is empty")),
        more => Err(format!("functionConfig {quoted} must not contain more than one config, got {}", more.len())),
    }
}

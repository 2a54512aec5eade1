//! Why a Kptfile cannot be used, in kpt's words and in ours.

use std::fmt;

use crate::yaml::Position;

/// A Kptfile that cannot be read. [`fmt::Display`] gives our own lines, one a problem; [`KptfileError::kpt_text`] what
/// kpt prints for the same file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KptfileError {
    /// What kind of fault it is.
    pub kind: FaultKind,
    /// Each problem with its place; at least one.
    pub problems: Vec<Problem>,
    pub(super) go: String,
}

/// What is wrong with a Kptfile as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// No YAML.
    Syntax,
    /// Nothing in it.
    Empty,
    /// Neither `apiVersion` nor `kind` nor `metadata`.
    NoResource,
    /// A schema that kpt gave up: the version.
    OldVersion(String),
    /// Not a Kptfile: `group/version, Kind=kind`.
    UnknownType(String),
    /// Fields that do not exist, or values of the wrong kind.
    Fields,
}

/// One thing to repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line and column, where one is known.
    pub position: Option<Position>,
    /// Path of the field: `pipeline.mutators[0].image`; empty for the file as a whole.
    pub field: String,
    /// What is wrong, with the field's path in it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(at) => write!(f, "line {}, column {}: {}", at.line, at.column, self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl fmt::Display for KptfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for KptfileError {}

impl KptfileError {
    pub(super) fn new(kind: FaultKind, go: impl Into<String>, problems: Vec<Problem>) -> KptfileError {
        KptfileError { kind, problems, go: go.into() }
    }

    /// The problems as `FILE:LINE: MESSAGE`, one a line; `file` as the user knows it: `db/Kptfile`.
    pub fn located(&self, file: &str) -> String {
        let lines: Vec<String> = self
            .problems
            .iter()
            .map(|problem| match problem.position {
                Some(at) => format!("{file}:{}: {} (column {})", at.line, problem.message, at.column),
                None => format!("{file}: {}", problem.message),
            })
            .collect();
        lines.join("\n")
    }

    /// The inner text of kpt's error, as it appears in conditions and under `Details:`.
    pub fn kpt_text(&self) -> &str {
        &self.go
    }

    /// The text that kpt prints for a Kptfile at this absolute path, without a final line break.
    pub fn kpt_message(&self, path: &str) -> String {
        let path = go_quote(path);
        match &self.kind {
            FaultKind::OldVersion(version) => {
                let advice = if version == "v1alpha1" {
                    "Please update the package to the latest format by following https://kpt.dev/installation/migration."
                } else {
                    "Please run \"kpt fn eval <PKG_PATH> -i ghcr.io/kptdev/krm-functions-catalog/fix:latest \
                     --include-meta-resources\" to upgrade the package and retry."
                };
                let version = go_quote(version);
                format!("Error: Kptfile at {path} has an old version ({version}) of the Kptfile schema.\n{advice}")
            }
            FaultKind::UnknownType(gvk) => {
                format!("Error: Kptfile at {path} has an unknown resource type ({}).", go_quote(gvk))
            }
            _ => format!("Error: Kptfile at {path} can't be read.\n\nDetails:\n{}", self.go),
        }
    }
}

/// A string as Go's `%q` prints it.
pub fn go_quote(text: &str) -> String {
    use fmt::Write as _;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0b' => quoted.push_str("\\v"),
            '\x0c' => quoted.push_str("\\f"),
            c if c.is_ascii_control() => _ = write!(quoted, "\\x{:02x}", u32::from(c)),
            // what Rust would escape is what has no glyph of its own
            c if c.is_control() || c != '\'' && c.escape_debug().len() > 1 => {
                let code = u32::from(c);
                _ = if code < 0x10000 { write!(quoted, "\\u{code:04x}") } else { write!(quoted, "\\U{code:08x}") };
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_as_go_does() {
        assert_eq!(go_quote("a \"b\"\\\n\t\x01'é😀\u{200b}"), "\"a \\\"b\\\"\\\\\\n\\t\\x01'é😀\\u200b\"");
    }
}

//! The two fields with which each of the server's files begins.

use super::error::ConfigError;

/// `apiVersion` and `kind`.
#[derive(Debug, Clone, Copy)]
pub struct Header;

impl Header {
    /// The version of all of the server's files that this program reads.
    pub const VERSION: &'static str = "portico.dev/v1alpha1";

    /// What to say of a file without any document.
    pub fn missing(path: &str, kind: &str) -> ConfigError {
        let text = format!("the file is empty; begin with `apiVersion: {}` and `kind: {kind}`", Self::VERSION);
        ConfigError::Whole { path: path.to_owned(), text }
    }

    /// Whether a file is of this kind, in a version that is known.
    pub fn check(path: &str, kind: &str, its_version: &str, its_kind: &str) -> Result<(), ConfigError> {
        let wrong = |text| Err(ConfigError::Whole { path: path.to_owned(), text });
        if its_kind != kind {
            return wrong(format!("`kind` is `{its_kind}`, and `{kind}` is needed here"));
        }
        if its_version != Self::VERSION {
            return wrong(format!("`apiVersion` is `{its_version}`, and this version reads `{}`", Self::VERSION));
        }
        Ok(())
    }
}

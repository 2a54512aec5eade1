//! What is wrong with a configuration file.

use std::io;

/// Why a configuration file can't be used. Every text names the file, and the line where there is one.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It can't be read.
    #[error("cannot read the configuration file `{path}`")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// It is no YAML: `FILE:LINE: what is wrong`, one line each.
    #[error("{0}")]
    Syntax(String),
    /// A field is not known, or its value is of no use.
    #[error("{path}:{line}: {text}")]
    Field {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u32,
        /// What is wrong.
        text: String,
    },
    /// What it says, taken together, can't be.
    #[error("{path}: {text}")]
    Whole {
        /// The file, or the flags.
        path: String,
        /// What is wrong, and what to do.
        text: String,
    },
}

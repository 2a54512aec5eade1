//! Label selectors and field selectors, as Kubernetes' clients write them.

mod fields;
mod labels;

pub(crate) use fields::package_label;
pub use fields::{FieldSelector, supported_fields};
pub use labels::LabelSelector;

/// Longest text of a selector, in bytes: a program can name a thousand names in it. The rest of what a selector costs is a
/// comparison for each term and object.
pub const MAX_SELECTOR: usize = 64 << 10;

/// Why a selector can't be used. All are bad requests (400).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// Its text is none.
    #[error("unable to parse the {kind} selector `{selector}`: character {position}: {message}")]
    Syntax {
        /// `label`, `field`.
        kind: &'static str,
        /// The head of the selector.
        selector: String,
        /// Where, from 1.
        position: usize,
        /// What is wrong.
        message: String,
    },
    /// It is longer than [`MAX_SELECTOR`].
    #[error("the {kind} selector has more than `{MAX_SELECTOR}` bytes: select in several requests")]
    TooLong {
        /// `label`, `field`.
        kind: &'static str,
    },
    /// Nothing is selected by that field. The first words are those of an API server.
    #[error("field label not supported: {field}; supported are {supported}")]
    Field {
        /// The field.
        field: String,
        /// Those that things are selected by.
        supported: String,
    },
}

impl SelectError {
    /// The status code and the reason of Kubernetes' `Status`.
    pub fn status(&self) -> (u16, &'static str) {
        (400, "BadRequest")
    }
}

#[cfg(test)]
mod tests;

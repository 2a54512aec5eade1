//! Why policies cannot be checked.

use portico_fn::PlainError;
use thiserror::Error;

/// Ends a run: nothing is known of the objects then.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum PolicyError {
    /// An object that has no value.
    #[error("object `{object}` cannot be read: {reason}")]
    Object { object: String, reason: PlainError },
    /// A template that is not what it should be.
    #[error("ConstraintTemplate `{template}`: {message}")]
    Template { template: String, message: String },
    /// Two templates for one kind.
    #[error("ConstraintTemplates `{first}` and `{second}` both define kind `{kind}`: remove one")]
    TwoTemplates { kind: String, first: String, second: String },
    /// A constraint of a kind that no template defines.
    #[error(
        "constraint `{kind}/{name}` has no ConstraintTemplate: add the template that defines kind `{kind}` to the package{known}"
    )]
    NoTemplate { kind: String, name: String, known: String },
    /// A constraint that is not what it should be.
    #[error("constraint `{constraint}`: {message}")]
    Constraint { constraint: String, message: String },
    /// A policy that stopped.
    #[error("constraint `{constraint}` cannot check `{object}`: {message}")]
    Review { constraint: String, object: String, message: String },
}

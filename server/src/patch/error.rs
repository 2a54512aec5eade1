//! Why a patch can't be carried out, with the answer that a client of Kubernetes expects.

use crate::api::Cause;
use crate::schema::BodyError;

/// Why a patch can't be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The request's type is none that is understood.
    #[error(
        "the body of the request was in an unknown format - accepted media types include: {}",
        super::PatchType::ACCEPTED
    )]
    Type {
        /// What the client says that it is.
        given: String,
    },
    /// The body can't be read.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The body is no list of operations.
    #[error("the patch is no list of operations as RFC 6902 has them: {message}")]
    NoOperations {
        /// What is wrong, in the words of the reader.
        message: String,
    },
    /// The body, or what the patch makes of the object, is no object.
    #[error("the patch must be an object, and make an object")]
    NotAnObject,
    /// The object would be larger than [`crate::schema::Limits::bytes`].
    #[error("the patch makes an object of more than `{limit}` bytes: send a smaller patch")]
    Large {
        /// The limit.
        limit: usize,
    },
    /// There are more than [`super::MAX_OPERATIONS`].
    #[error("the allowed maximum operations in a JSON patch is {limit}, got {got}")]
    TooManyOperations {
        /// How many there are.
        got: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Its copies are larger than [`super::MAX_COPIED`], or it moves more than [`super::MAX_WORK`].
    #[error("operation {index} of the patch: the operations up to it {what} more than `{limit}`: send a smaller patch")]
    TooMuch {
        /// The operation, from 0.
        index: usize,
        /// `copy bytes`, `touch values`.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// It would nest values too deep.
    #[error("operation {index} of the patch: nests values more than `{limit}` deep at `{path}`")]
    TooDeep {
        /// The operation, from 0.
        index: usize,
        /// The limit.
        limit: usize,
        /// Where.
        path: String,
    },
    /// An operation that can't be done, or a test that failed.
    #[error("operation {index} of the patch: `{operation}` at `{path}`: {message}")]
    Operation {
        /// The operation, from 0.
        index: usize,
        /// Its name.
        operation: &'static str,
        /// Its path.
        path: String,
        /// What is wrong.
        message: String,
    },
}

impl PatchError {
    /// The status code and the reason of Kubernetes' `Status`.
    pub fn status(&self) -> (u16, &'static str) {
        match self {
            Self::Type { .. } => (415, "UnsupportedMediaType"),
            Self::Body(error) => error.status(),
            Self::NoOperations { .. } | Self::NotAnObject => (400, "BadRequest"),
            Self::TooManyOperations { .. } | Self::TooMuch { .. } | Self::Large { .. } => {
                (413, "RequestEntityTooLarge")
            }
            Self::TooDeep { .. } | Self::Operation { .. } => (422, "Invalid"),
        }
    }

    /// What goes into `details.causes`: kubectl prints those of a 422 instead of the message.
    pub fn causes(&self) -> Vec<Cause> {
        match self {
            Self::TooDeep { .. } | Self::Operation { .. } => {
                vec![Cause {
                    reason: "UnexpectedServerResponse".to_owned(),
                    message: self.to_string(),
                    field: String::new(),
                }]
            }
            _ => Vec::new(),
        }
    }
}

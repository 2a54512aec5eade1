//! Why a patch can't be carried out, with the answer that a client of Kubernetes expects.

use std::fmt;

use crate::api::Cause;
use crate::schema::BodyError;

/// A field that another manager owns and that the applied object would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The manager as Kubernetes writes it: `"kubectl-edit" using porch.kpt.dev/v1alpha1`.
    pub manager: String,
    /// The field, such as `.spec.readinessGates[conditionType="Rendered"]`.
    pub path: String,
}

impl Conflict {
    /// How many are named: more than anybody reads, and not so many that the answer is large.
    pub const NAMED: usize = 100;
}

/// Conflicts in the words of an API server.
struct Listed<'c>(&'c [Conflict], usize);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(named, count) = *self;
        if let ([Conflict { manager, path }], 1) = (named, count) {
            return write!(f, "Apply failed with 1 conflict: conflict with {manager}: {path}");
        }
        write!(f, "Apply failed with {count} conflicts: ")?;
        let mut before = None;
        for Conflict { manager, path } in named {
            if before != Some(manager) {
                let joint = if before.is_none() { "" } else { "\n" };
                write!(f, "{joint}conflicts with {manager}:")?;
                before = Some(manager);
            }
            write!(f, "\n- {path}")?;
        }
        if count > named.len() { write!(f, "\nand {} more", count - named.len()) } else { Ok(()) }
    }
}

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
    /// An apply without a manager.
    #[error("PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch")]
    ManagerMissing,
    /// `force` is for applies alone.
    #[error("PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch")]
    Force,
    /// The applied object brings `metadata.managedFields`.
    #[error("metadata.managedFields must be nil: leave it out of what is applied")]
    ManagedFields,
    /// The applied object is not built as its kind is.
    #[error("{path}: {message}")]
    Invalid {
        /// The field, such as `.spec.readinessGates[0]`.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// Others own fields that the applied object changes.
    #[error("{}", Listed(.named, *.count))]
    Conflicts {
        /// The fields by manager, the first [`Conflict::NAMED`].
        named: Vec<Conflict>,
        /// How many there are.
        count: usize,
    },
    /// There are [`super::MAX_APPLIERS`] that apply to the object.
    #[error(
        "the object has `{limit}` managers that apply to it already: let one of them apply an object without fields first"
    )]
    TooManyManagers {
        /// How many there may be.
        limit: usize,
    },
    /// What managers own takes more than [`super::MAX_MANAGED_BYTES`].
    #[error(
        "the managed fields would take `{bytes}` bytes, more than `{}`: apply fewer fields, or set \
         `metadata.managedFields` to `[{{}}]` to forget who set them",
        super::MAX_MANAGED_BYTES
    )]
    ManagedTooLarge {
        /// What they would take.
        bytes: usize,
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
            Self::Conflicts { .. } => (409, "Conflict"),
            Self::NoOperations { .. } | Self::NotAnObject | Self::ManagedFields => (400, "BadRequest"),
            Self::TooManyOperations { .. }
            | Self::TooMuch { .. }
            | Self::Large { .. }
            | Self::ManagedTooLarge { .. } => (413, "RequestEntityTooLarge"),
            Self::TooDeep { .. }
            | Self::Operation { .. }
            | Self::ManagerMissing
            | Self::Force
            | Self::Invalid { .. }
            | Self::TooManyManagers { .. } => (422, "Invalid"),
        }
    }

    /// What goes into `details.causes`: kubectl prints those of a 422 instead of the message.
    pub fn causes(&self) -> Vec<Cause> {
        let cause = |reason: &str, field: &str, message: String| Cause {
            reason: reason.to_owned(),
            message,
            field: field.to_owned(),
        };
        match self {
            Self::TooDeep { .. } | Self::Operation { .. } | Self::TooManyManagers { .. } => {
                vec![cause("UnexpectedServerResponse", "", self.to_string())]
            }
            Self::ManagerMissing => {
                vec![cause(
                    "FieldValueRequired",
                    "fieldManager",
                    "Required value: is required for apply patch".to_owned(),
                )]
            }
            Self::Force => {
                let message = "Forbidden: may not be specified for non-apply patch";
                vec![cause("FieldValueForbidden", "force", message.to_owned())]
            }
            Self::Invalid { path, message } => vec![cause("FieldValueInvalid", path, message.clone())],
            Self::Conflicts { named, .. } => named
                .iter()
                .map(|conflict| {
                    cause("FieldManagerConflict", &conflict.path, format!("conflict with {}", conflict.manager))
                })
                .collect(),
            _ => Vec::new(),
        }
    }
}

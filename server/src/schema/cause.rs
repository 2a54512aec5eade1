//! What a `Status` tells of one fault among several.

/// An entry of `details.causes` in a Kubernetes `Status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// For programs, in Kubernetes' words: `FieldValueInvalid`, `FieldManagerConflict`.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// The path of the field, such as `spec.tasks[0].type`; empty where it is none.
    pub field: String,
}

//! What kind of failure something was. Decided by type where it arises, never by its text.

/// What is to follow a failure that is not a function's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// May pass: tried again, later and later.
    Transient,
    /// Will be the same next time: ends the item until content, configuration or a module changes.
    Permanent,
    /// The object is not there any more: dropped without a trace.
    Gone,
    /// Somebody else's newer work took its place.
    Superseded,
    /// Nobody said: as transient eight times, then permanent.
    Unclassified,
}

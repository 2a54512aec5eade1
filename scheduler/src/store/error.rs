//! What can go wrong in a store.

use std::time::Duration;

use super::{Expected, InstanceId};
use crate::model::{ContentVersion, ErrorClass, Lifecycle, ObjectVersion, Reason, RevisionKey};

/// What can go wrong in a store. [`StoreError::class`] says what is to follow.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It was deleted, or never was.
    #[error("package revision `{0}` does not exist")]
    NotFound(RevisionKey),
    /// The name is free.
    #[error("no package revision is called `{namespace}/{name}`")]
    NoSuchName {
        /// The namespace.
        namespace: String,
        /// The name.
        name: String,
    },
    /// The name is taken.
    #[error("package revision `{0}` exists already")]
    Exists(RevisionKey),
    /// Somebody wrote in between.
    #[error(
        "package revision `{key}` has changed: {expected} was expected, {found:?} of {content:?} is there; read it again"
    )]
    Conflict {
        /// The revision.
        key: RevisionKey,
        /// What the writer had seen.
        expected: Expected,
        /// The object version that is there.
        found: ObjectVersion,
        /// The content version that is there.
        content: ContentVersion,
    },
    /// The render of this content has ended already: the result is another worker's.
    #[error("the render of version {version} of package revision `{key}` has ended already", version = .content.0)]
    AlreadyFinished {
        /// The revision.
        key: RevisionKey,
        /// The content.
        content: ContentVersion,
    },
    /// A lifecycle beyond `Draft` waits for the render.
    #[error(
        "package revision `{key}` can't become {to:?}: render pending for version {version}; wait until \
         `RenderFinished` is True",
        version = .content.0
    )]
    RenderPending {
        /// The revision.
        key: RevisionKey,
        /// The content that waits.
        content: ContentVersion,
        /// What was asked for.
        to: Lifecycle,
    },
    /// A lifecycle beyond `Draft` needs a render that succeeded.
    #[error(
        "package revision `{key}` can't become {to:?}: the render of version {version} failed ({word}); change the \
         package and let it render",
        version = .content.0, word = .reason.as_str()
    )]
    RenderFailed {
        /// The revision.
        key: RevisionKey,
        /// The content that failed.
        content: ContentVersion,
        /// How.
        reason: Reason,
        /// What was asked for.
        to: Lifecycle,
    },
    /// There is no such step between two lifecycles.
    #[error("package revision `{key}` is {from:?} and can't become {to:?}")]
    Lifecycle {
        /// The revision.
        key: RevisionKey,
        /// What it is.
        from: Lifecycle,
        /// What was asked for.
        to: Lifecycle,
    },
    /// Only drafts can be edited and rendered.
    #[error("package revision `{key}` is {lifecycle:?}: only the files of a draft can change")]
    NotADraft {
        /// The revision.
        key: RevisionKey,
        /// What it is.
        lifecycle: Lifecycle,
    },
    /// A package without a file is no package: most likely it was not read whole.
    #[error("package revision `{0}` would have no files")]
    NoFiles(RevisionKey),
    /// A bound of [`super::StoreLimits`].
    #[error("package revision `{key}`: {what} is {size}, and the limit `{limit}` is {max}")]
    TooLarge {
        /// The revision.
        key: RevisionKey,
        /// What is too large.
        what: String,
        /// How large, in bytes or as a count.
        size: u64,
        /// The bound's name.
        limit: &'static str,
        /// The bound.
        max: u64,
    },
    /// A name or path that no store keeps.
    #[error("package revision `{key}`: {what} `{value}` {problem}")]
    Invalid {
        /// The revision.
        key: RevisionKey,
        /// What it is.
        what: &'static str,
        /// Its text, escaped.
        value: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The history does not reach back so far.
    #[error("version {version} of package revision `{key}` is not in the history", version = .content.0)]
    NoSuchContent {
        /// The revision.
        key: RevisionKey,
        /// What was asked for.
        content: ContentVersion,
    },
    /// What was read is a part of the content only.
    #[error("package revision `{0}` was not read whole; it is read again later")]
    Incomplete(RevisionKey),
    /// The watch's history does not reach back so far: list, and watch from there.
    #[error("the changes since version {} are not kept any more; list again", .after.0)]
    TooOld {
        /// Where the watch was to begin.
        after: ObjectVersion,
    },
    /// The scheduler is not registered, or its registration ran out: it must not work.
    #[error("scheduler `{0}` is not registered")]
    NotRegistered(InstanceId),
    /// The store can't be reached or is too busy.
    #[error("the store is not available: {why}")]
    Unavailable {
        /// Why, in words.
        why: String,
        /// When the store wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// There is no room for the write. Nothing of it was kept.
    #[error("there is no room left for the store in `{path}`")]
    Full {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file system failed.
    #[error("the store `{path}` can't be read or written")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// What is stored is damaged.
    #[error("the store is damaged: {what}; `check` lists all damage, and a backup is the way back")]
    Corrupt {
        /// What, and where.
        what: String,
    },
    /// This handle's store is closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// What is to follow.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::NotFound(_) | Self::NoSuchName { .. } => ErrorClass::Gone,
            Self::Conflict { .. } | Self::AlreadyFinished { .. } | Self::NotADraft { .. } => ErrorClass::Superseded,
            Self::RenderPending { .. }
            | Self::Incomplete(_)
            | Self::TooOld { .. }
            | Self::NotRegistered(_)
            | Self::Unavailable { .. }
            | Self::Full { .. }
            | Self::Io { .. }
            | Self::Closed => ErrorClass::Transient,
            Self::Exists(_)
            | Self::RenderFailed { .. }
            | Self::Lifecycle { .. }
            | Self::NoFiles(_)
            | Self::TooLarge { .. }
            | Self::Invalid { .. }
            | Self::NoSuchContent { .. }
            | Self::Corrupt { .. } => ErrorClass::Permanent,
        }
    }

    /// When the store wants to be asked again.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

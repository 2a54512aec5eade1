//! An event and its words.

use std::borrow::Cow;
use std::sync::Arc;

use crate::model::{RevisionKey, shortened};

/// Longest note in bytes. Kubernetes refuses an event with a longer one (`events.k8s.io/v1`, field `note`).
pub const NOTE_BYTES: usize = 1024;

/// What was done to the object, in the words of `events.k8s.io/v1`, field `action`.
pub const ACTION: &str = "Render";

/// A turning point in the life of a render.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurningPoint {
    /// It waits for a worker.
    Scheduled,
    /// A worker has it.
    Started,
    /// The pipeline ended well, and its result is saved.
    Succeeded,
    /// It ended otherwise, with this error.
    Failed(String),
    /// A newer render of the same revision takes its place.
    Superseded {
        /// Whether it had finished by then, or was stopped.
        finished: bool,
    },
    /// It was stopped by request and no other follows.
    Cancelled,
    /// It has finished, and its result was refused because somebody changed the content meanwhile.
    Conflict,
}

/// An event's reason: one word for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventReason {
    /// [`TurningPoint::Scheduled`].
    RenderScheduled,
    /// [`TurningPoint::Started`].
    RenderStarted,
    /// [`TurningPoint::Succeeded`].
    RenderSucceeded,
    /// [`TurningPoint::Failed`].
    RenderFailed,
    /// [`TurningPoint::Superseded`].
    RenderSuperseded,
    /// [`TurningPoint::Cancelled`].
    RenderCancelled,
    /// [`TurningPoint::Conflict`].
    RenderConflict,
}

impl EventReason {
    /// As it stands in an event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RenderScheduled => "RenderScheduled",
            Self::RenderStarted => "RenderStarted",
            Self::RenderSucceeded => "RenderSucceeded",
            Self::RenderFailed => "RenderFailed",
            Self::RenderSuperseded => "RenderSuperseded",
            Self::RenderCancelled => "RenderCancelled",
            Self::RenderConflict => "RenderConflict",
        }
    }

    /// Whether it tells of an end that stays. The last of an object's budget is kept for those.
    pub(super) fn is_final(self) -> bool {
        matches!(self, Self::RenderSucceeded | Self::RenderFailed | Self::RenderCancelled)
    }
}

/// Kubernetes' two types of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventType {
    /// All is well.
    Normal,
    /// Somebody should look.
    Warning,
}

impl EventType {
    /// As it stands in an event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

impl TurningPoint {
    /// The reason that it has in an event.
    pub fn reason(&self) -> EventReason {
        match self {
            Self::Scheduled => EventReason::RenderScheduled,
            Self::Started => EventReason::RenderStarted,
            Self::Succeeded => EventReason::RenderSucceeded,
            Self::Failed(_) => EventReason::RenderFailed,
            Self::Superseded { .. } => EventReason::RenderSuperseded,
            Self::Cancelled => EventReason::RenderCancelled,
            Self::Conflict => EventReason::RenderConflict,
        }
    }

    /// The type that it has in an event.
    pub fn kind(&self) -> EventType {
        match self {
            Self::Failed(_) => EventType::Warning,
            _ => EventType::Normal,
        }
    }

    /// It in words, at most [`NOTE_BYTES`] long. The same words for the same thing, so that equal events can be counted.
    pub fn note(&self) -> Cow<'static, str> {
        match self {
            Self::Scheduled => "the render is scheduled".into(),
            Self::Started => "the render has started".into(),
            Self::Succeeded => "the render succeeded".into(),
            Self::Failed(error) => {
                shortened(&format!("the render failed: {error}"), NOTE_BYTES, " ").into_owned().into()
            }
            Self::Superseded { finished: true } => {
                "the render finished, but a newer render is under way, dropping the results".into()
            }
            Self::Superseded { finished: false } => "the render was stopped: a newer render is under way".into(),
            Self::Cancelled => "the render was cancelled by request".into(),
            Self::Conflict => {
                "the render finished, but the content has changed meanwhile, dropping the results; the new content is \
                 scheduled"
                    .into()
            }
        }
    }
}

/// An event with the fields of Kubernetes' own, as it is after the last time it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderEvent {
    /// Tells events apart within the process; all repetitions of one have the same.
    pub id: u64,
    /// The object it is about: `regarding`.
    pub regarding: RevisionKey,
    /// `reason`.
    pub reason: EventReason,
    /// `type`.
    pub kind: EventType,
    /// `note`; at most [`NOTE_BYTES`].
    pub note: Arc<str>,
    /// How often it happened: `deprecatedCount`, and `series.count` from two on.
    pub count: u64,
    /// When it happened first, in milliseconds since 1970: `eventTime`, `deprecatedFirstTimestamp`.
    pub first_ms: u64,
    /// When it happened last, in milliseconds since 1970: `series.lastObservedTime`, `deprecatedLastTimestamp`.
    pub last_ms: u64,
}

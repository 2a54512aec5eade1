//! What each render did: a record of its steps, to be read while it runs and afterwards.
//!
//! A [`Backend`] renders and keeps a [`Record`] of it in [`Renders`], where readers and followers find it. When the render
//! has ended the record goes into the store as the render's log, as JSON, so that it outlives the process. [`log`] answers
//! the `log` subresource of a revision from the one or the other.
//!
//! Values of secrets never get into a record's diffs: `portico_runtime` takes them out before it compares. What a
//! function writes to stderr or into the messages of its results is text that nobody can judge; see `docs/server-logs.md`.

mod backend;
mod bound;
mod deadline;
mod limits;
mod live;
pub mod log;
mod model;
mod renders;
#[cfg(test)]
mod tests;
mod text;
mod time;
pub mod wishes;

pub(crate) use backend::refusal;
pub use backend::{Backend, Effective, RenderSettings, StepMeter};
pub use limits::RecordLimits;
pub use live::Live;
pub use log::{LogError, LogQuery};
pub use model::{
    Finding, FindingField, FindingFile, FindingResource, Record, RecordChange, RecordChanges, RecordOutcome,
    RecordStep, RecordWarning, RenderId, StepOutcome,
};
pub use renders::Renders;
pub(crate) use time::now_ms;

//! What people read of a render: Kubernetes' events, objects of their own beside the revision.
//!
//! A revision's conditions say how things are, its events what happened. They are told at each turning point of a
//! render, and they can be many: so equal ones become one with a count, each object has a budget, and everything that
//! is kept has a bound. An event is never needed to go on: what is dropped here is lost to readers alone.
//!
//! - [`TurningPoint`] says what happened, and knows the words for it.
//! - [`Recorder`] is the pure part: it makes [`RenderEvent`]s of turning points, or drops them, and counts.
//! - [`EventSink`] takes them; [`Ring`] is one that keeps the last ones to be read.

mod event;
mod recorder;
mod ring;
#[cfg(test)]
mod tests;

pub use event::{ACTION, EventReason, EventType, NOTE_BYTES, RenderEvent, TurningPoint};
pub use recorder::{EventCounters, EventLimits, Recorder};
pub use ring::{EventSink, Ring};

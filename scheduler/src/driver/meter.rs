//! Whoever counts and times what the scheduler does.

use std::fmt;
use std::time::Duration;

use crate::core::Waited;

/// Hears of what takes time, as it happens; what only counts is in [`super::RenderScheduler::counters`]. Every method does
/// nothing unless it is written. Each is called where the scheduler works, [`Meter::turn`] under its lock: it must not
/// wait, call back or allocate for each call.
pub trait Meter: fmt::Debug + Send + Sync + 'static {
    /// A worker has a revision's content, and its render begins.
    fn started(&self, waited: Waited) {
        let _ = waited;
    }

    /// A render has ended after this time, whatever becomes of its result.
    fn ended(&self, end: RenderEnd, took: Duration) {
        let _ = (end, took);
    }

    /// A worker has done with a revision that it had so long: from its turn on, with the claim, the read and the render, if
    /// it came to one.
    fn worked(&self, took: Duration) {
        let _ = took;
    }

    /// The scheduler has dealt with one event, and held its lock so long for it.
    fn turn(&self, took: Duration) {
        let _ = took;
    }

    /// A change of content was seen in the store's watch so long after it was written; as exact as the two clocks.
    fn lag(&self, lag: Duration) {
        let _ = lag;
    }
}

/// How a render ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RenderEnd {
    /// The pipeline ended well.
    Succeeded,
    /// The pipeline failed, or the package can't be rendered.
    Failed,
    /// It was told to stop.
    Stopped,
    /// It came to no end that says anything about the package.
    Broken,
}

impl RenderEnd {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Succeeded, Self::Failed, Self::Stopped, Self::Broken];

    /// As the value of a label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Broken => "broken",
        }
    }
}

/// Nobody counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unmetered;

impl Meter for Unmetered {}

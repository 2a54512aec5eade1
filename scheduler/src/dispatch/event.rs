//! What goes into the dispatcher and comes out of it.

use std::time::Duration;

use super::call::{Call, Kind};
use crate::model::{ErrorClass, Revision, RevisionKey};
use crate::time::Time;

/// Names whoever waits for a call's outcome. Given out by the caller, never looked at here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Waiter(pub u64);

/// Names one sending of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Why a call was not executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure it is. [`Superseded`](ErrorClass::Superseded): the content has moved on.
    pub class: ErrorClass,
    /// How long the store asks to be left alone.
    pub retry_after: Option<Duration>,
    /// The revision as it is, when the store said so with its refusal.
    pub current: Option<Box<Revision>>,
    /// For people.
    pub message: String,
}

impl Failure {
    /// A failure of this class.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, retry_after: None, current: None, message: message.into() }
    }
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was written, and this is the revision that it left; none after a deletion.
    Executed(Option<Box<Revision>>),
    /// It would have changed nothing, or came too late to say anything.
    Skipped,
    /// A newer call, newer content or a deletion took its place.
    Overwritten,
    /// It was not written. A result that fails as [`Superseded`](ErrorClass::Superseded) was rendered from content that
    /// is no longer there, and is never sent again.
    Failed(Failure),
}

/// What happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// Somebody wants this written, and waits for the outcome or does not.
    Submit {
        /// What to write to.
        key: RevisionKey,
        /// What to write.
        call: Call,
        /// Who waits.
        waiter: Option<Waiter>,
    },
    /// A call that was sent has been answered: the revision as it left it (none after a deletion), or why not.
    Answered {
        /// As in [`Action::Send`].
        ticket: Ticket,
        /// As in [`Action::Send`].
        key: RevisionKey,
        /// The store's answer.
        answer: Result<Option<Box<Revision>>, Failure>,
    },
    /// The store's watch told of this state. It may be old.
    Notified(Box<Revision>),
    /// The revision is gone, by whatever way that was learned.
    Deleted(RevisionKey),
    /// The time asked for by [`Action::WakeAt`] has come. Harmless at any other time.
    Tick,
}

/// What to do.
#[derive(Debug, Clone)]
pub enum Action {
    /// Write this to the store and answer with [`Event::Answered`].
    Send {
        /// Which sending this is.
        ticket: Ticket,
        /// What to write to.
        key: RevisionKey,
        /// What to write.
        call: Call,
    },
    /// Tell whoever waits.
    Resolve(Waiter, Outcome),
    /// A call failed for good and nobody waits for it. The revision stays as the store has it, where the sweep sees
    /// that it is unfinished.
    GaveUp(RevisionKey, Kind, Failure),
    /// Send a [`Event::Tick`] at this time; replaces what was asked for before.
    WakeAt(Time),
}

/// What happened since the start, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Calls that came.
    pub submitted: u64,
    /// Calls that went to the store, each further attempt included.
    pub sent: u64,
    /// Calls that were written.
    pub executed: u64,
    /// Calls that would have changed nothing.
    pub skipped: u64,
    /// Calls whose place a newer one took.
    pub overwritten: u64,
    /// Calls that failed for good.
    pub failed: u64,
    /// Those of them for which nobody waited: the sweep finds what they leave.
    pub failed_unwatched: u64,
    /// Attempts after a first one.
    pub retried: u64,
    /// Results that were refused because the content had moved on.
    pub conflicts: u64,
    /// Calls for which there was no room; they count as failed too.
    pub refused: u64,
    /// Notifications of a state that was already replaced.
    pub stale_notifications: u64,
}

/// What the dispatcher holds now, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauges {
    /// Calls that were sent and not answered.
    pub in_flight: usize,
    /// Calls that wait.
    pub waiting: usize,
    /// Bytes of files in both.
    pub bytes: u64,
    /// Objects whose last known state is kept without a call.
    pub cached: usize,
}

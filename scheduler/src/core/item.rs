//! What the core knows of a revision that it has something to do with.

use std::time::Duration;

use super::event::{RunId, SaveId};
use crate::events::TurningPoint;
use crate::model::{ContentVersion, ObjectVersion, Priority, Revision, Tenant};
use crate::queue::{Cost, Ticket};
use crate::time::Time;

/// A revision that waits, runs or is being saved. One with which there is nothing to do is not remembered: the truth is
/// in the store.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) tenant: Tenant,
    pub(super) priority: Priority,
    /// What its render may use, where somebody says so.
    pub(super) cost: Option<Cost>,
    /// Since when it waits for the render that comes next, if it does.
    pub(super) asked: Option<Time>,
    /// The newest that was seen of it.
    pub(super) object: ObjectVersion,
    pub(super) content: ContentVersion,
    pub(super) run: Option<Run>,
    pub(super) saving: Option<Saving>,
    /// Renders in a row that an edit ended.
    pub(super) superseded: u32,
    /// The quiet period after a supersession.
    pub(super) quiet: Option<Quiet>,
    /// Failures in a row that may pass.
    pub(super) failures: u32,
    /// Of those, the ones that nobody classified.
    pub(super) unclassified: u32,
    /// Whether it has waited for the scheduler that comes first for it.
    pub(super) gave_way: bool,
    /// The last listing that it was in.
    pub(super) listed: u64,
}

/// A quiet period.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quiet {
    /// When it ends in any case.
    pub(super) at_latest: Time,
    /// How long there must be no edit.
    pub(super) length: Duration,
}

/// A worker's time with it.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: RunId,
    pub(super) ticket: Ticket,
    /// How long it waited for its turn.
    pub(super) turn: Duration,
    /// The memory that is set aside for it.
    pub(super) memory: u64,
    /// What is rendered; `None` while it is being read.
    pub(super) content: Option<ContentVersion>,
    pub(super) fate: Fate,
}

/// What is to become of a run's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is saved.
    Kept,
    /// Nothing: an edit stopped it, and the new content waits.
    Superseded,
    /// Nothing: stopped by request.
    Cancelled(String),
    /// Nothing, and nothing is said: the revision is gone, or somebody else has finished it.
    Forgotten,
    /// Nothing: all work stops, and the revision waits again.
    Stopped,
}

/// A result on its way into the store.
#[derive(Debug)]
pub(super) struct Saving {
    pub(super) id: SaveId,
    pub(super) content: ContentVersion,
    pub(super) bytes: u64,
    /// What is told when it is there.
    pub(super) then: TurningPoint,
}

impl Item {
    pub(super) fn new(revision: &Revision, cost: Option<Cost>, listed: u64) -> Self {
        Self {
            tenant: revision.tenant(),
            priority: revision.priority,
            cost,
            asked: None,
            object: revision.object_version,
            content: revision.content_version,
            run: None,
            saving: None,
            superseded: 0,
            quiet: None,
            failures: 0,
            unclassified: 0,
            gave_way: false,
            listed,
        }
    }
}

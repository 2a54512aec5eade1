//! The scheduler's state machine: what happened goes in with the time, what is to be done comes out.
//!
//! No threads, no clock, no store, no sleeping: [`Core::on`] over plain maps. Whoever drives it carries out the
//! [`Action`]s, in their order, and brings back what came of them. What it must not forget is in the store: dropped and
//! made anew, it takes up again all that a listing shows as unfinished.
//!
//! For one revision, from an accepted edit to its end:
//!
//! - `Seen` with content that waits for a render: into the [queue](crate::queue), unless it waits, runs or is being
//!   saved already. Newer content stops a running render, and then waits until it has been quiet for a while.
//! - Its turn: `Acquire`, under which it is claimed, read and looked at again; then `Render`.
//! - `Ended`: the slot is free. Superseded, cancelled and deleted results are dropped, others are saved by one write
//!   that the store refuses when the content has moved on. Refused: never tried again; the new content is looked at.

mod event;
mod item;
mod list;
mod recent;
mod run;
mod save;
mod seen;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

pub use event::{Acquired, Action, Ended, Event, Failure, Outcome, Peers, RunId, SaveId, Waited};
pub use settings::{Backoff, Settings, Supersede};

use crate::events::TurningPoint;
use crate::model::{Revision, RevisionKey};
use crate::queue::{AddError, Added, Cost, Lengths, Queue, Quota, Request, State};
use crate::time::Time;
use item::{Fate, Item, Run};
use list::Listing;
use recent::Recent;

/// The answer to "is a render of this revision scheduled or ongoing?".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RenderExecutionStatus {
    /// Neither.
    None,
    /// It waits for a worker, for a quiet moment or for another try.
    Scheduled,
    /// A worker has it, or its result is being saved.
    Ongoing,
}

/// What happened since the start, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Renders that began.
    pub started: u64,
    /// Results saved of pipelines that ended well.
    pub succeeded: u64,
    /// Results saved of pipelines that failed, and of packages that can't be rendered.
    pub failed: u64,
    /// Renders that an edit stopped, or whose files an edit made worthless.
    pub superseded: u64,
    /// Renders and waiting revisions that were cancelled.
    pub cancelled: u64,
    /// Results that the store refused because the content had moved on.
    pub conflicts: u64,
    /// Failures of each class: transient, permanent, gone, superseded, unclassified.
    pub failures: [u64; 5],
    /// Revisions that were put into the queue, further times included.
    pub queued: u64,
    /// Of those, the times after a failure, and after content that was not there yet.
    pub retried: u64,
    /// Revisions that were left in the store because the queue was full.
    pub overflowed: u64,
    /// Lost triggers that a sweep found.
    pub swept: u64,
    /// What it heard of: each costs a wake-up.
    pub events: u64,
}

/// Says what a render of a revision may use; `None`: what any may.
type AskCost = dyn Fn(&Revision) -> Option<Cost> + Send + Sync;

struct CostOf(Box<AskCost>);

impl std::fmt::Debug for CostOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CostOf").finish_non_exhaustive()
    }
}

/// The state machine.
#[derive(Debug)]
pub struct Core {
    settings: Settings,
    cost_of: CostOf,
    queue: Queue<RevisionKey, Arc<str>, Arc<str>>,
    items: HashMap<RevisionKey, Item>,
    runs: HashMap<RunId, RevisionKey>,
    saves: HashMap<SaveId, RevisionKey>,
    unsaved_bytes: u64,
    listing: Listing,
    recent: Recent,
    /// The queue was full: there is more in the store.
    overflow: bool,
    configuration: u64,
    workers: usize,
    peers: Option<Peers>,
    next_id: u64,
    wake: Option<Time>,
    random: fastrand::Rng,
    counters: Counters,
    actions: Vec<Action>,
}

impl Core {
    /// A core that knows nothing, with no workers.
    pub fn new(settings: Settings) -> Self {
        let random = fastrand::Rng::with_seed(settings.seed);
        Self {
            queue: Queue::new(crate::queue::Settings { slots: 0, ..settings.queue.clone() }),
            settings,
            cost_of: CostOf(Box::new(|_| None)),
            items: HashMap::new(),
            runs: HashMap::new(),
            saves: HashMap::new(),
            unsaved_bytes: 0,
            listing: Listing::default(),
            recent: Recent::default(),
            overflow: false,
            configuration: 0,
            workers: 0,
            peers: None,
            next_id: 0,
            wake: None,
            random,
            counters: Counters::default(),
            actions: Vec::new(),
        }
    }

    /// Asks this what a render of a revision may use, each time that a revision is seen; where it answers `None`, it is
    /// [`Settings::cost`]. What waits has its turn with what was said last, and what turns out to need more memory when it
    /// is read waits for a turn with that; what runs keeps what it was given.
    #[must_use]
    pub fn with_cost(self, cost_of: impl Fn(&Revision) -> Option<Cost> + Send + Sync + 'static) -> Self {
        Self { cost_of: CostOf(Box::new(cost_of)), ..self }
    }

    /// What is to be done now that this has happened.
    pub fn on(&mut self, event: Event, now: Time) -> Vec<Action> {
        self.counters.events += 1;
        match event {
            Event::Seen(revision) => self.seen(&revision, now),
            Event::Gone(key) => self.gone(&key, now),
            Event::Acquired { run, result } => self.acquired(run, result, now),
            Event::Ended { run, ended, digest } => self.ended(run, ended, digest, now),
            Event::Saved { save, written } => self.saved(save, written, now),
            Event::Cancel { key, why } => self.cancel(&key, &why, now),
            Event::ListBegin { sweep } => self.list_begin(sweep),
            Event::Page(revisions) => self.page(&revisions, now),
            Event::ListEnd => self.list_end(),
            Event::ListFailed => self.listing.failed(),
            Event::Configuration(digest) => self.configured(digest),
            Event::Workers(workers) => {
                self.workers = workers;
                self.queue.set_slots(workers);
            }
            Event::Peers(peers) => self.peers = peers,
            Event::Stop => self.stop(),
            Event::Tick => {}
        }
        self.pump(now);
        std::mem::take(&mut self.actions)
    }

    /// Whether a render of this revision is scheduled or ongoing.
    pub fn status(&self, key: &RevisionKey) -> RenderExecutionStatus {
        let Some(item) = self.items.get(key) else { return RenderExecutionStatus::None };
        let fate = item.run.as_ref().map(|run| &run.fate);
        match self.queue.state(key) {
            _ if fate == Some(&Fate::Kept) => RenderExecutionStatus::Ongoing,
            _ if fate == Some(&Fate::Stopped) => RenderExecutionStatus::Scheduled,
            None | Some((State::Running, false)) => RenderExecutionStatus::Ongoing,
            Some(_) => RenderExecutionStatus::Scheduled,
        }
    }

    /// How many revisions wait and run.
    pub fn lengths(&self) -> Lengths {
        self.queue.lengths()
    }

    /// Since when the revision that has waited longest has waited.
    pub fn oldest(&self) -> Option<Time> {
        self.queue.oldest()
    }

    /// How many results wait for the store.
    pub fn unsaved(&self) -> usize {
        self.saves.len()
    }

    /// What happened since the start.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether there is nothing to do until something happens.
    pub fn is_idle(&self) -> bool {
        self.items.is_empty()
    }

    /// Another quota for a namespace; `None` for that of all.
    pub fn set_quota(&mut self, namespace: &Arc<str>, quota: Option<Quota>, now: Time) -> Vec<Action> {
        for key in self.queue.set_quota(namespace, quota, now) {
            self.refuse(&key, "its namespace's quota does not allow any render of it".to_owned());
        }
        self.pump(now);
        std::mem::take(&mut self.actions)
    }

    /// Starts what may run, and says when to look again.
    fn pump(&mut self, now: Time) {
        while self.saves.len() < self.settings.unsaved && self.unsaved_bytes < self.settings.unsaved_bytes {
            let Some(taken) = self.queue.take(now) else { break };
            let id = RunId(self.id());
            let Some(item) = self.items.get_mut(&taken.key) else {
                debug_assert!(false, "every queued key has an item");
                self.queue.finish(taken.ticket, 0, now);
                continue;
            };
            if !std::mem::replace(&mut item.gave_way, true)
                && let Some(time) =
                    self.peers.as_ref().and_then(|peers| peers.head_start(&taken.key, self.settings.head_start))
            {
                self.queue.finish(taken.ticket, 0, now);
                self.enqueue(&taken.key, now + time, now);
                continue;
            }
            item.quiet = None;
            let (ticket, turn, memory) = (taken.ticket, taken.waited, taken.memory);
            item.run = Some(Run { id, ticket, turn, memory, content: None, fate: Fate::Kept });
            self.runs.insert(id, taken.key.clone());
            self.actions.push(Action::Acquire { run: id, key: taken.key });
        }
        if self.overflow && self.queue.len() <= self.settings.queue.keys / 2 {
            self.overflow = false;
            self.actions.push(Action::List);
        }
        let wake = self.queue.next_wake();
        if wake != self.wake {
            self.wake = wake;
            // Never: whoever drives may keep an old alarm, a tick too many does no harm.
            self.actions.extend(wake.map(Action::WakeAt));
        }
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn emit(&mut self, key: &RevisionKey, turn: TurningPoint) {
        self.actions.push(Action::Emit(key.clone(), turn));
    }

    /// Puts a revision into the queue, not before `due`.
    fn enqueue(&mut self, key: &RevisionKey, due: Time, now: Time) {
        let Some(item) = self.items.get_mut(key) else { return };
        item.asked.get_or_insert(now);
        let request = Request {
            tenant: &item.tenant.namespace,
            member: &item.tenant.repository,
            priority: item.priority,
            cost: item.cost.unwrap_or(self.settings.cost),
        };
        match self.queue.add_at(key, request, due, now) {
            Ok(Added::New | Added::Again) => self.counters.queued += 1,
            Ok(Added::Already | Added::Sooner) => {}
            Err(never @ AddError::Never { .. }) => self.refuse(key, format!("the render {never}")),
            Err(AddError::Full { .. } | AddError::ShutDown) => {
                self.overflow = true;
                self.counters.overflowed += 1;
                self.settle(key);
            }
        }
    }

    /// Forgets a revision with which there is nothing left to do.
    fn settle(&mut self, key: &RevisionKey) {
        let idle = |item: &Item| item.run.is_none() && item.saving.is_none();
        if self.items.get(key).is_some_and(idle) && self.queue.state(key).is_none() {
            self.items.remove(key);
            self.actions.push(Action::Settled(key.clone()));
        }
    }
}

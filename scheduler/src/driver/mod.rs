//! The scheduler at work: a thin layer of tasks around the pure [core](crate::core).
//!
//! It owns the clock, the workers and the store's watch, and decides nothing: every event goes into the core under one
//! short lock, and what comes out is set in motion. No caller ever waits for a render, unless it asks to.

mod backend;
mod claims;
mod inner;
mod keeper;
mod meter;
#[cfg(feature = "runtime")]
mod runtime;
mod settings;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use tokio::sync::{mpsc, watch};

pub use backend::{Cancel, Job, RenderBackend, Rendering, Threads, Workers};
pub use inner::Running;
pub use meter::{Meter, RenderEnd, Unmetered};
#[cfg(feature = "runtime")]
pub use runtime::{Attempt, RuntimeBackend, attempt};
pub use settings::Settings;

use self::claims::{Sharing, keep_registered};
use self::inner::{Inner, Parts};
use crate::core::{Core, Counters, Event, RenderExecutionStatus};
use crate::dispatch::{self, WriteDispatcher};
use crate::events::{EventSink, Recorder};
use crate::model::{RenderState, Revision, RevisionKey};
use crate::queue::{Lengths, Quota};
use crate::store::{Claims, Clock, PackageStore, Registration, RenderLog, StoreError, SystemClock};
use crate::time::Time;

/// Schedules the renders of a store's package revisions. Clones are one and the same.
///
/// As soon as it is made it takes up everything that is unfinished in the store, and hears of all that changes;
/// [`start_processing`](Self::start_processing) gives it workers. Dropped with its last clone it stops what it does; the
/// store knows what is left, and the next one takes it up.
pub struct RenderScheduler<S: PackageStore + Claims> {
    // Before `inner`: while the last clone goes there is still something to stop.
    alive: Arc<Alive<S>>,
    inner: Arc<Inner<S>>,
}

/// The last clone stops what runs.
struct Alive<S: PackageStore + Claims>(Weak<Inner<S>>);

impl<S: PackageStore + Claims> Drop for Alive<S> {
    fn drop(&mut self) {
        if let Some(inner) = self.0.upgrade() {
            inner.event(Event::Stop);
        }
    }
}

impl<S: PackageStore + Claims> Clone for RenderScheduler<S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), alive: Arc::clone(&self.alive) }
    }
}

impl<S: PackageStore + Claims> std::fmt::Debug for RenderScheduler<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RenderScheduler").field("lengths", &self.lengths()).finish_non_exhaustive()
    }
}

/// Where a scheduler stands among others.
#[derive(Debug, Clone)]
pub struct Shared {
    /// What it says of itself.
    pub registration: Registration,
    /// The store's lease time; it is kept alive three times as often.
    pub lease: std::time::Duration,
}

impl<S: PackageStore + Claims> RenderScheduler<S> {
    /// A scheduler on this store, alone, on the tokio runtime that this is called in, with no workers yet.
    ///
    /// The sink is told under the scheduler's lock: it must not call back.
    pub fn new(store: S, backend: Arc<dyn RenderBackend>, sink: Arc<dyn EventSink>, settings: Settings) -> Self {
        let workers = Arc::new(Threads::new(backend));
        Self::with(store, workers, sink, settings, None, Arc::new(SystemClock::default()))
    }

    /// As [`RenderScheduler::new`], with workers of another kind, a clock for people's times and leases, and perhaps one
    /// of several on the store.
    pub fn with(
        store: S,
        workers: Arc<dyn Workers>,
        sink: Arc<dyn EventSink>,
        settings: Settings,
        shared: Option<Shared>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (alarm, alarms) = watch::channel(None);
        let (orders, ordered) = mpsc::unbounded_channel();
        let dispatcher = WriteDispatcher::new(store.clone(), settings.dispatch.clone(), settings.core.seed);
        let asked = Arc::clone(&workers);
        let parts = Parts {
            store,
            core: Core::new(settings.core.clone()).with_cost(move |revision| asked.cost(revision)),
            meter: Arc::clone(&settings.meter),
            workers,
            sink,
            clock,
            dispatcher,
            sharing: shared.map(|shared| Sharing::new(shared.registration, shared.lease)),
            recorder: Recorder::new(settings.events.clone()),
            alarm,
            orders,
        };
        let inner = Arc::new(Inner::new(parts));
        inner.configuration_checked();
        let weak = Arc::downgrade(&inner);
        inner.runtime.spawn(wake(weak.clone(), alarms));
        inner.runtime.spawn(keeper::keep(weak.clone(), ordered, settings));
        if inner.sharing.is_some() {
            inner.runtime.spawn(keep_registered(weak.clone()));
        }
        Self { inner, alive: Arc::new(Alive(weak)) }
    }

    /// Makes sure that what the revision holds now is rendered; the intent is in the store before this returns. Waits
    /// for the store, never for a render.
    ///
    /// Nothing is scheduled or ongoing: it is. Scheduled: nothing changes. Ongoing with older content: that render is
    /// cancelled and the new content scheduled.
    pub async fn schedule_render(&self, key: &RevisionKey) -> Result<RenderExecutionStatus, StoreError> {
        let mut revision = self.inner.store.revision(key).await?;
        if !revision.is_unfinished() {
            let content = revision.content_version;
            revision = self.inner.store.set_state(key, content, RenderState::Scheduled).await?;
        }
        self.inner.seen(revision);
        Ok(match self.render_execution_status(key) {
            // The queue is full: the store knows, and there will be room.
            RenderExecutionStatus::None => RenderExecutionStatus::Scheduled,
            known => known,
        })
    }

    /// Tells of a revision as a client's write left it: sooner than the store's watch does.
    pub fn changed(&self, revision: Revision) {
        self.inner.seen(revision);
    }

    /// Tells of a deletion, sooner than the store's watch does.
    pub fn deleted(&self, key: &RevisionKey) {
        self.inner.gone(key);
    }

    /// Whether a render of this revision is scheduled or ongoing here. Never to decide what may be published by: the
    /// store does that, in the transaction that publishes.
    pub fn render_execution_status(&self, key: &RevisionKey) -> RenderExecutionStatus {
        self.inner.with(|core| core.status(key))
    }

    /// From now on this many renders may run at once; at most 500.
    pub fn start_processing(&self, workers: usize) {
        let workers = workers.min(500);
        self.inner.wanted.store(workers, Ordering::SeqCst);
        // One of several begins when its registration is there.
        if self.inner.sharing.as_ref().is_none_or(Sharing::is_registered) {
            self.inner.event(Event::Workers(workers));
        }
    }

    /// Cancels what runs and starts nothing any more. Returns when nothing runs. Nothing that waits is lost, and what ran
    /// waits again.
    pub async fn stop_processing(&self) {
        self.inner.wanted.store(0, Ordering::SeqCst);
        self.inner.event(Event::Stop);
        loop {
            let ended = self.inner.idle.notified();
            if self.inner.runs() == 0 {
                return;
            }
            ended.await;
        }
    }

    /// Stops, writes what is still to be written, and gives its registration back.
    pub async fn close(&self) {
        self.stop_processing().await;
        self.inner.dispatcher.drained().await;
        if let Some(sharing) = &self.inner.sharing {
            sharing.leave(&self.inner.store).await;
        }
    }

    /// Cancels the render of what the revision holds now, scheduled or ongoing, for this reason in words. It ends as
    /// `Rendered=False`, reason `Cancelled`, unless new content comes. With nothing to cancel nothing changes.
    pub async fn cancel(&self, key: &RevisionKey, why: &str) -> Result<(), StoreError> {
        if self.render_execution_status(key) == RenderExecutionStatus::None {
            // It may wait in the store for room in the queue.
            let revision = self.inner.store.revision(key).await?;
            self.inner.seen(revision);
        }
        self.inner.event(Event::Cancel { key: key.clone(), why: why.to_owned() });
        Ok(())
    }

    /// Waits until the newest content has been rendered, however it ended, and gives the revision as it is then.
    pub async fn rendered(&self, key: &RevisionKey) -> Result<Revision, StoreError> {
        loop {
            if let Some(settled) = self.inner.settled(key) {
                // An error means that the sender is gone: then a look shows what is so.
                let _ = settled.await;
            }
            let revision = self.inner.store.revision(key).await?;
            if !revision.is_unfinished() {
                return Ok(revision);
            }
            self.inner.seen(revision);
            if self.inner.settled(key).is_none() {
                // The queue is full, or the store shows the past: there is nothing to wait for but time.
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }

    /// What the last render of the revision said: its steps, results and errors.
    pub async fn last_log(&self, key: &RevisionKey) -> Result<Option<RenderLog>, StoreError> {
        self.inner.store.log(key).await
    }

    /// The functions or settings may have changed: what could not be rendered is tried again if they have. Also looked at
    /// by itself now and then, see [`Settings::configuration`].
    pub fn configuration_changed(&self) {
        self.inner.configuration_checked();
    }

    /// Another quota for a namespace; `None` for that of all.
    pub fn set_quota(&self, namespace: &str, quota: Option<Quota>) {
        self.inner.change(|core, now| core.set_quota(&namespace.into(), quota, now));
    }

    /// How many revisions wait and run.
    pub fn lengths(&self) -> Lengths {
        self.inner.with(Core::lengths)
    }

    /// How long the revision that has waited longest for a worker has waited.
    pub fn oldest(&self) -> Option<std::time::Duration> {
        let now = self.inner.now();
        self.inner.with(Core::oldest).map(|since| now.since(since))
    }

    /// Whether it hears of the store's changes: it has listed what is unfinished, and its watch has not broken since.
    pub fn is_watching(&self) -> bool {
        self.inner.watching.load(Ordering::SeqCst)
    }

    /// Its session with the store.
    pub fn store(&self) -> &S {
        &self.inner.store
    }

    /// What happened since it was made.
    pub fn counters(&self) -> Counters {
        self.inner.with(Core::counters)
    }

    /// What its writes came to.
    pub fn write_counters(&self) -> dispatch::Counters {
        self.inner.dispatcher.counters()
    }

    /// What its writes hold now.
    pub fn write_gauges(&self) -> dispatch::Gauges {
        self.inner.dispatcher.gauges()
    }

    /// The renders that run, and for how long.
    pub fn running(&self) -> Running {
        self.inner.running()
    }

    /// Renders that may run at once: what [`start_processing`](Self::start_processing) was told.
    pub fn workers(&self) -> usize {
        self.inner.wanted.load(Ordering::SeqCst)
    }
}

impl<S: PackageStore + Claims> Inner<S> {
    /// Asks the backend for its configuration.
    fn configuration_checked(self: &Arc<Self>) {
        let digest = self.workers.configuration();
        if digest != 0 {
            self.event(Event::Configuration(digest));
        }
    }
}

/// Ticks when the core asked for it, until the scheduler is dropped.
async fn wake<S: PackageStore + Claims>(inner: Weak<Inner<S>>, mut alarms: watch::Receiver<Option<Time>>) {
    loop {
        let at = *alarms.borrow_and_update();
        let due = match (at, inner.upgrade()) {
            (_, None) => return,
            (Some(at), Some(inner)) => inner.instant(at),
            (None, _) => None,
        };
        let Some(due) = due else {
            if alarms.changed().await.is_err() {
                return;
            }
            continue;
        };
        tokio::select! {
            () = tokio::time::sleep_until(due) => {
                let Some(inner) = inner.upgrade() else { return };
                // Only if nothing else was asked for meanwhile.
                inner.alarm.send_if_modified(|alarm| {
                    if *alarm == at {
                        *alarm = None;
                    }
                    false
                });
                inner.event(Event::Tick);
            }
            changed = alarms.changed() => if changed.is_err() { return },
        }
    }
}

//! The core with its lock, and the hands that do what it says.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::backend::{Cancel, Job, Workers};
use super::claims::Sharing;
use super::keeper::Order;
use super::meter::{Meter, RenderEnd};
use crate::core::{Acquired, Action, Core, Ended, Event, Failure, Outcome, RunId};
use crate::dispatch::WriteDispatcher;
use crate::events::{EventSink, Recorder, TurningPoint};
use crate::model::{ContentDigest, ContentVersion, ErrorClass, Files, RenderState, Revision, RevisionKey, mirror};
use crate::store::{Claim, Claims, Clock, PackageStore, RenderLog, StoreError};
use crate::time::Time;

/// What all clones and tasks of a scheduler share.
pub(super) struct Inner<S> {
    pub(super) store: S,
    pub(super) workers: Arc<dyn Workers>,
    pub(super) sink: Arc<dyn EventSink>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) runtime: Handle,
    pub(super) dispatcher: WriteDispatcher<S>,
    pub(super) sharing: Option<Sharing>,
    pub(super) meter: Arc<dyn Meter>,
    origin: Instant,
    state: Mutex<State>,
    /// When the core wants to be woken.
    pub(super) alarm: watch::Sender<Option<Time>>,
    pub(super) orders: mpsc::UnboundedSender<Order>,
    /// Told when a run has ended.
    pub(super) idle: Notify,
    /// How many workers there are to be.
    pub(super) wanted: AtomicUsize,
    /// Whether the store's watch is there.
    pub(super) watching: AtomicBool,
}

struct State {
    core: Core,
    recorder: Recorder,
    runs: HashMap<RunId, Run>,
    /// Who waits until there is nothing to do with a revision.
    waiting: HashMap<RevisionKey, Vec<oneshot::Sender<()>>>,
}

/// What is held for a worker's run.
struct Run {
    key: RevisionKey,
    /// What was read.
    read: Option<Read>,
    claim: Option<Claim>,
    cancel: Arc<Cancel>,
    /// When its turn came.
    taken: Instant,
    /// When its render began.
    began: Option<Instant>,
}

/// What a run found in the store.
#[derive(Default)]
struct Read {
    content: ContentVersion,
    files: Files,
    annotations: Arc<BTreeMap<String, String>>,
}

/// Nobody holds it any more: its render has ended, or nobody wants what comes of it. The second is so where the async
/// runtime is shut down before the scheduler is dropped: the tasks that wait for renders go first, and a thread that
/// renders on would hold up the end of its runtime for ever.
impl Drop for Run {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// The renders that run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Running {
    /// How many.
    pub renders: usize,
    /// For how long they have run, added up.
    pub total: Duration,
    /// For how long the oldest has run.
    pub longest: Duration,
}

/// What [`Inner::new`] needs.
pub(super) struct Parts<S> {
    pub(super) store: S,
    pub(super) workers: Arc<dyn Workers>,
    pub(super) sink: Arc<dyn EventSink>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) dispatcher: WriteDispatcher<S>,
    pub(super) sharing: Option<Sharing>,
    pub(super) core: Core,
    pub(super) meter: Arc<dyn Meter>,
    pub(super) recorder: Recorder,
    pub(super) alarm: watch::Sender<Option<Time>>,
    pub(super) orders: mpsc::UnboundedSender<Order>,
}

impl<S: PackageStore + Claims> Inner<S> {
    pub(super) fn new(parts: Parts<S>) -> Self {
        let Parts { store, workers, sink, clock, dispatcher, sharing, core, meter, recorder, alarm, orders } = parts;
        Self {
            store,
            workers,
            sink,
            clock,
            runtime: Handle::current(),
            dispatcher,
            sharing,
            meter,
            origin: Instant::now(),
            state: Mutex::new(State { core, recorder, runs: HashMap::new(), waiting: HashMap::new() }),
            alarm,
            orders,
            idle: Notify::new(),
            wanted: AtomicUsize::new(0),
            watching: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The core does not panic; and if it did, no lock held for ever would help.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Time {
        Time::default() + self.origin.elapsed()
    }

    /// The point in time of a tokio clock.
    pub(super) fn instant(&self, at: Time) -> Option<Instant> {
        self.origin.checked_add(at.since(Time::default()))
    }

    /// Looks at the core.
    pub(super) fn with<T>(&self, look: impl FnOnce(&Core) -> T) -> T {
        look(&self.lock().core)
    }

    /// A sign that comes when there is nothing to do with the revision any more; `None` when that is so now.
    pub(super) fn settled(&self, key: &RevisionKey) -> Option<oneshot::Receiver<()>> {
        let mut state = self.lock();
        if state.core.status(key) == crate::core::RenderExecutionStatus::None {
            return None;
        }
        let (sender, settled) = oneshot::channel();
        let waiting = state.waiting.entry(key.clone()).or_default();
        // Those who gave up waiting.
        waiting.retain(|sender| !sender.is_closed());
        waiting.push(sender);
        Some(settled)
    }

    /// The renders that run.
    pub(super) fn running(&self) -> Running {
        let mut running = Running::default();
        for began in self.lock().runs.values().filter_map(|run| run.began) {
            let time = began.elapsed();
            running.renders += 1;
            running.total += time;
            running.longest = running.longest.max(time);
        }
        running
    }

    /// How many runs hold something.
    pub(super) fn runs(&self) -> usize {
        self.lock().runs.len()
    }

    /// The core hears of something, and what it wants is set in motion. Nothing here waits.
    pub(super) fn event(self: &Arc<Self>, event: Event) {
        self.change(|core, now| core.on(event, now));
    }

    pub(super) fn change(self: &Arc<Self>, change: impl FnOnce(&mut Core, Time) -> Vec<Action>) {
        let mut state = self.lock();
        let began = std::time::Instant::now();
        let now = self.now();
        let actions = change(&mut state.core, now);
        let mut freed = Vec::new();
        for action in actions {
            self.act(&mut state, action, now, &mut freed);
        }
        self.meter.turn(began.elapsed());
        drop(state);
        // Here, as a run that ends tells its render, and that may do as it likes.
        for claim in freed.iter_mut().filter_map(|run| run.claim.take()) {
            self.release(claim);
        }
    }

    /// A state of a revision was seen.
    pub(super) fn seen(self: &Arc<Self>, revision: Revision) {
        self.dispatcher.notify(revision.clone());
        self.event(Event::Seen(Box::new(revision)));
    }

    /// A revision is gone.
    pub(super) fn gone(self: &Arc<Self>, key: &RevisionKey) {
        self.dispatcher.deleted(key);
        self.event(Event::Gone(key.clone()));
        self.lock().recorder.forget(key);
        self.sink.forget(key);
    }

    /// `freed`: runs that are over. The claim of one whose result is being saved is given back after that, or another
    /// scheduler would render what is as good as done.
    fn act(self: &Arc<Self>, state: &mut State, action: Action, now: Time, freed: &mut Vec<Run>) {
        match action {
            Action::Acquire { run, key } => {
                let (taken, cancel) = (Instant::now(), Arc::default());
                let held = Run { key: key.clone(), read: None, claim: None, cancel, taken, began: None };
                state.runs.insert(run, held);
                let inner = Arc::clone(self);
                self.runtime.spawn(async move {
                    let result = inner.acquire(run, &key).await;
                    inner.event(Event::Acquired { run, result });
                });
            }
            Action::Render { run, waited } => {
                self.meter.started(waited);
                self.render(state, run);
            }
            Action::Stop(run) => {
                if let Some(held) = state.runs.get(&run) {
                    held.cancel.cancel();
                }
            }
            Action::Release(run) => {
                if let Some(held) = state.runs.remove(&run) {
                    self.meter.worked(held.taken.elapsed());
                    freed.push(held);
                }
                self.idle.notify_waiters();
            }
            Action::Save { save, key, call } => {
                // Handed over here, so that the order of the calls is that of the actions.
                let written = self.dispatcher.write(&key, call);
                let inner = Arc::clone(self);
                let claim = freed.iter_mut().filter(|run| run.key == key).find_map(|run| run.claim.take());
                self.runtime.spawn(async move {
                    let written = written.await;
                    if let Some(claim) = claim {
                        inner.release(claim);
                    }
                    inner.event(Event::Saved { save, written });
                });
            }
            Action::Write(key, call) => self.dispatcher.submit(&key, call),
            Action::KeepLog { key, content, log } => {
                let store = self.store.clone();
                self.runtime.spawn(async move {
                    let log = RenderLog { content, kept: false, ended_ms: 0, text: log };
                    if let Err(error) = store.save_log(&key, log).await {
                        tracing::debug!(%key, %error, "the log of a superseded render is not kept");
                    }
                });
            }
            Action::Look(key) => {
                let inner = Arc::clone(self);
                self.runtime.spawn(async move { inner.look(&key).await });
            }
            // The receiver ends with the scheduler.
            Action::List => drop(self.orders.send(Order::List)),
            Action::ListInvalid => drop(self.orders.send(Order::ListInvalid)),
            Action::Emit(key, turn) => self.tell(state, &key, &turn, now),
            Action::Settled(key) => {
                for waiting in state.waiting.remove(&key).into_iter().flatten() {
                    // Whoever gave up waiting does not need to know.
                    let _ = waiting.send(());
                }
            }
            Action::WakeAt(at) => {
                self.alarm.send_replace(Some(at));
            }
        }
    }

    fn tell(&self, state: &mut State, key: &RevisionKey, turn: &TurningPoint, now: Time) {
        tracing::debug!(%key, ?turn);
        if let Some(event) = state.recorder.record(key, turn, now, self.clock.now_ms()) {
            self.sink.tell(&event);
        }
    }

    /// Hands a run to the workers.
    fn render(self: &Arc<Self>, state: &mut State, run: RunId) {
        let Some(held) = state.runs.get_mut(&run) else { return };
        held.began = Some(Instant::now());
        let Read { content, files, annotations } = held.read.take().unwrap_or_default();
        let key = held.key.clone();
        let cancel = Arc::clone(&held.cancel);
        let job = Job { key: key.clone(), content, files: Arc::clone(&files), annotations, cancel };
        let rendering = self.workers.run(job);
        let inner = Arc::clone(self);
        self.runtime.spawn(async move {
            let began = Instant::now();
            // In a task of its own: a render that panics must not keep its slot.
            let ended = inner.runtime.spawn(rendering).await.unwrap_or_else(|error| {
                let text = error.try_into_panic().map_or_else(|_| "cancelled".to_owned(), |panic| panic_text(&*panic));
                tracing::error!(%key, "the render panicked: {text}");
                broken(Failure::new(ErrorClass::Unclassified, format!("the renderer panicked: {text}")))
            });
            inner.meter.ended(end_of(&ended.outcome), began.elapsed());
            let (ended, digest) = finished(ended, files).await;
            inner.event(Event::Ended { run, ended, digest });
        });
    }

    /// Claims a revision and reads it under the claim.
    async fn acquire(self: &Arc<Self>, run: RunId, key: &RevisionKey) -> Acquired {
        let mut epoch = None;
        if let Some(sharing) = &self.sharing {
            // Before the claim: one that is answered under another registration is refused there.
            epoch = sharing.epoch();
            match sharing.claim(&self.store, key, self.clock.now_ms()).await {
                Ok(claim) => {
                    let unused = match self.lock().runs.get_mut(&run) {
                        Some(held) => held.claim.replace(claim),
                        None => Some(claim),
                    };
                    if let Some(unused) = unused {
                        self.release(unused);
                    }
                }
                Err(other) => return other,
            }
        }
        let snapshot = match self.store.get(key).await.and_then(crate::store::Snapshot::checked) {
            Ok(snapshot) => snapshot,
            Err(StoreError::NotFound(_)) => return Acquired::Gone,
            Err(error @ StoreError::Incomplete(_)) => return Acquired::NotYet(error.to_string()),
            Err(error) => return Acquired::Failed(failure(&error)),
        };
        if !snapshot.revision.is_unfinished() {
            return Acquired::Finished(Box::new(snapshot.revision));
        }
        if let (Some(sharing), Some(epoch)) = (&self.sharing, epoch)
            && !sharing.may_begin(epoch, self.clock.now_ms())
        {
            // The claim has ended with its registration: others may have theirs by now.
            return sharing.not_now();
        }
        if let Some(held) = self.lock().runs.get_mut(&run) {
            held.read = Some(Read {
                content: snapshot.revision.content_version,
                files: snapshot.files,
                annotations: Arc::new(snapshot.revision.annotations.clone()),
            });
        }
        Acquired::Content(Box::new(snapshot.revision))
    }

    pub(super) async fn look(self: &Arc<Self>, key: &RevisionKey) {
        match self.store.revision(key).await {
            Ok(revision) => self.seen(revision),
            Err(StoreError::NotFound(_)) => self.gone(key),
            Err(error) => tracing::debug!(%key, %error, "not looked at; the sweep will"),
        }
    }

    fn release(self: &Arc<Self>, claim: Claim) {
        let inner = Arc::clone(self);
        self.runtime.spawn(async move {
            if let Some(sharing) = &inner.sharing {
                sharing.release(&inner.store, &claim).await;
            }
        });
    }
}

/// A failure of the store, for the core.
pub(super) fn failure(error: &StoreError) -> Failure {
    Failure { retry_after: error.retry_after(), ..Failure::new(error.class(), error.to_string()) }
}

fn end_of(outcome: &Outcome) -> RenderEnd {
    match outcome {
        Outcome::Rendered { ending, .. } if ending.rendered => RenderEnd::Succeeded,
        Outcome::Rendered { .. } => RenderEnd::Failed,
        Outcome::Cancelled => RenderEnd::Stopped,
        Outcome::Broken(_) => RenderEnd::Broken,
    }
}

/// From this many bytes of files on, they are worked on off the threads of the async runtime.
const LARGE: usize = 64 << 10;

/// The end of a render as it is saved, with the digest of its files: neither is made under the core's lock.
async fn finished(ended: Ended, rendered: Files) -> (Ended, Option<ContentDigest>) {
    if !matches!(ended.outcome, Outcome::Rendered { .. }) {
        return (ended, None);
    }
    if rendered.values().map(Bytes::len).sum::<usize>() < LARGE {
        return mirrored(ended, &rendered);
    }
    let panicked =
        |error| broken(Failure::new(ErrorClass::Unclassified, format!("its result is not to be had: {error}")));
    let task = tokio::task::spawn_blocking(move || mirrored(ended, &rendered));
    task.await.unwrap_or_else(|error| (panicked(error), None))
}

/// The end of a render with a Kptfile that says how it ended, whatever the functions put there, or a backend left there
/// that touched no file.
fn mirrored(ended: Ended, rendered: &Files) -> (Ended, Option<ContentDigest>) {
    let Outcome::Rendered { ending, files } = ended.outcome else { return (ended, None) };
    let saved = mirror(files.as_ref().unwrap_or(rendered), &RenderState::Ended(ending.clone()));
    let files = (saved != *rendered).then_some(saved);
    let digest = files.as_ref().map(|files| ContentDigest::of(files));
    (Ended { outcome: Outcome::Rendered { ending, files }, ..ended }, digest)
}

/// The end of a run that came to nothing.
pub(super) fn broken(failure: Failure) -> Ended {
    Ended { log: Bytes::from(failure.message.clone()), outcome: Outcome::Broken(failure), fuel: 0 }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}

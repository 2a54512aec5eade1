//! The dispatcher on a real store: it spawns what the core sends, keeps its time and tells who waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use super::call::Call;
use super::core::Dispatcher;
use super::event::{Action, Counters, Event, Failure, Gauges, Outcome, Waiter};
use super::limits::DispatchLimits;
use crate::model::{ErrorClass, Revision, RevisionKey};
use crate::store::{PackageStore, StoreError};
use crate::time::Time;

/// Writes to a store through a [`Dispatcher`]. Clones are one and the same. Nothing here blocks.
///
/// When the last clone is dropped, what is in flight still ends, and what waits is lost: the store has revisions that
/// are not finished, and the next process takes them up. [`drained`](Self::drained) before that loses nothing.
#[derive(Debug)]
pub struct WriteDispatcher<S> {
    inner: Arc<Inner<S>>,
}

impl<S> Clone for WriteDispatcher<S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

#[derive(Debug)]
struct Inner<S> {
    store: S,
    runtime: Handle,
    origin: Instant,
    state: Mutex<State>,
    /// When the core wants to be woken.
    alarm: watch::Sender<Option<Time>>,
    idle: Notify,
}

#[derive(Debug)]
struct State {
    core: Dispatcher,
    waiting: HashMap<Waiter, oneshot::Sender<Outcome>>,
    next: u64,
}

impl<S: PackageStore> WriteDispatcher<S> {
    /// One that writes to this store, on the runtime that this is called in. The seed is that of the jitter.
    pub fn new(store: S, limits: DispatchLimits, seed: u64) -> Self {
        let (alarm, alarms) = watch::channel(None);
        let state = State { core: Dispatcher::new(limits, seed), waiting: HashMap::new(), next: 0 };
        let inner = Arc::new(Inner {
            store,
            runtime: Handle::current(),
            origin: Instant::now(),
            state: Mutex::new(state),
            alarm,
            idle: Notify::new(),
        });
        inner.runtime.spawn(wake(Arc::downgrade(&inner), alarms));
        Self { inner }
    }

    /// Wants this written. Nobody waits for it.
    pub fn submit(&self, key: &RevisionKey, call: Call) {
        self.inner.event(Event::Submit { key: key.clone(), call, waiter: None });
    }

    /// Wants this written, and waits until it is decided what became of it. It is wanted as soon as this is called; who
    /// stops waiting does not take it back.
    pub fn write(&self, key: &RevisionKey, call: Call) -> impl Future<Output = Outcome> + Send + use<S> {
        let (sender, outcome) = oneshot::channel();
        let waiter = {
            let mut state = self.inner.lock();
            state.next += 1;
            let waiter = Waiter(state.next);
            state.waiting.insert(waiter, sender);
            waiter
        };
        self.inner.event(Event::Submit { key: key.clone(), call, waiter: Some(waiter) });
        async move {
            let lost = || Outcome::Failed(Failure::new(ErrorClass::Transient, "the dispatcher has ended"));
            outcome.await.unwrap_or_else(|_| lost())
        }
    }

    /// The store's watch, or a read, told of this state.
    pub fn notify(&self, revision: Revision) {
        self.inner.event(Event::Notified(Box::new(revision)));
    }

    /// The revision is gone.
    pub fn deleted(&self, key: &RevisionKey) {
        self.inner.event(Event::Deleted(key.clone()));
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.inner.lock().core.counters()
    }

    /// What is held now.
    pub fn gauges(&self) -> Gauges {
        self.inner.lock().core.gauges()
    }

    /// As [`Dispatcher::has_room`].
    pub fn has_room(&self) -> bool {
        self.inner.lock().core.has_room()
    }

    /// Waits until nothing is in flight or waits.
    pub async fn drained(&self) {
        loop {
            let idle = self.inner.idle.notified();
            if self.inner.lock().core.is_idle() {
                return;
            }
            idle.await;
        }
    }
}

impl<S> Inner<S> {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The core does not panic; and if it did, no lock held for ever would help.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: PackageStore> Inner<S> {
    fn event(self: &Arc<Self>, event: Event) {
        let now = Time::default() + self.origin.elapsed();
        let mut state = self.lock();
        let actions = state.core.on(event, now);
        for action in actions {
            match action {
                Action::Send { ticket, key, call } => {
                    let inner = Arc::clone(self);
                    self.runtime.spawn(async move {
                        let written = {
                            let (store, key) = (inner.store.clone(), key.clone());
                            // In a task of its own: a store that panics must not keep a place for ever.
                            inner.runtime.spawn(async move { execute(&store, &key, &call).await })
                        };
                        let answer = written.await.unwrap_or_else(|error| {
                            Err(Failure::new(ErrorClass::Unclassified, format!("the store panicked: {error}")))
                        });
                        inner.event(Event::Answered { ticket, key, answer });
                    });
                }
                Action::Resolve(waiter, outcome) => {
                    if let Some(waiting) = state.waiting.remove(&waiter) {
                        // Whoever stopped waiting does not need to know.
                        let _ = waiting.send(outcome);
                    }
                }
                Action::GaveUp(key, kind, failure) => {
                    tracing::warn!(%key, kind = kind.as_str(), class = ?failure.class, "{}", failure.message);
                }
                Action::WakeAt(at) => {
                    self.alarm.send_replace(Some(at));
                }
            }
        }
        if state.core.is_idle() {
            self.idle.notify_waiters();
        }
    }
}

/// Writes a call to the store.
async fn execute<S: PackageStore>(store: &S, key: &RevisionKey, call: &Call) -> Result<Option<Box<Revision>>, Failure> {
    let written = match call {
        Call::Delete => return store.delete(key, None).await.map(|()| None).map_err(|error| failure(&error)),
        Call::Result(write) => store.save_result(key, write.base(), write.result().clone()).await,
        Call::Scheduled(_) | Call::Waiting(..) | Call::Rendering(_) | Call::Cancelled(..) => {
            let (Some(content), Some(state)) = (call.base(), call.state()) else {
                return Err(Failure::new(ErrorClass::Permanent, "a status without content"));
            };
            store.set_state(key, content, state).await
        }
    };
    match written {
        Ok(revision) => Ok(Some(Box::new(revision))),
        Err(error) => {
            let mut failure = failure(&error);
            if failure.class == ErrorClass::Superseded {
                // Was it we ourselves, in an attempt whose answer got lost? If this can't be read, that is not known, and
                // the worst that follows is one more render.
                failure.current = store.revision(key).await.ok().map(Box::new);
            }
            Err(failure)
        }
    }
}

fn failure(error: &StoreError) -> Failure {
    Failure { retry_after: error.retry_after(), ..Failure::new(error.class(), error.to_string()) }
}

/// Ticks when the core asked for it, until the dispatcher is dropped.
async fn wake<S: PackageStore>(inner: Weak<Inner<S>>, mut alarms: watch::Receiver<Option<Time>>) {
    loop {
        let at = *alarms.borrow_and_update();
        let due = match (at, inner.upgrade()) {
            (_, None) => return,
            (Some(at), Some(inner)) => inner.origin.checked_add(at.since(Time::default())),
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

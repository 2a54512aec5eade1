//! A store in memory, for tests: its faults are ordered, its time can be paused.
//!
//! A handle is a session, as a process has one with a server. [`MemoryStore::session`] opens another one; faults belong
//! to a session, what is stored belongs to all.

mod faults;
mod state;

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use faults::{Fault, FaultPlan, Operation, Point, Trip};

use self::faults::Session;
use self::state::State;
use super::rules::{self, At};
use super::{
    Claim, ClaimOutcome, Claims, ClientUpdate, Clock, EventLog, Expected, HistoryEntry, Instance, LogWatch,
    NewRevision, PackageStore, Page, PageToken, Registration, RenderLog, RenderResult, Select, Snapshot, StoreError,
    StoreLimits, SystemClock, Watch, WatchEvent,
};
use crate::model::{ContentVersion, Files, ObjectVersion, RenderState, Revision, RevisionKey};

/// A store in memory.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    session: Arc<Session>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    events: Arc<EventLog>,
    clock: Arc<dyn Clock>,
    limits: StoreLimits,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock::default()), StoreLimits::default(), super::ClaimTable::LEASE)
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new(clock: Arc<dyn Clock>, limits: StoreLimits, lease: Duration) -> Self {
        let events = EventLog::new(limits.events, limits.event_bytes, ObjectVersion(0));
        let shared = Shared { state: Mutex::new(State::new(lease)), events, clock, limits };
        Self { shared: Arc::new(shared), session: Arc::default() }
    }

    /// Another session with the same store, with these faults: another process.
    #[must_use]
    pub fn session(&self, faults: FaultPlan) -> Self {
        Self { shared: Arc::clone(&self.shared), session: Arc::new(Session::new(faults)) }
    }

    /// Cuts this session off, or joins it again. Calls fail meanwhile, as [`StoreError::Unavailable`].
    pub fn partition(&self, cut: bool) {
        self.session.partition(cut);
    }

    /// Returns when this session's process has crashed, see [`Fault::Crash`].
    pub async fn crashed(&self) {
        self.session.crashed().await;
    }

    /// What this session's faults have done.
    pub fn trips(&self) -> Vec<Trip> {
        self.session.trips()
    }

    /// How often this session has called the operation.
    pub fn calls(&self, operation: Operation) -> u64 {
        self.session.calls(operation)
    }

    /// Drops all registrations and claims, as a server does whose clients' sessions expired.
    pub fn forget_registrations(&self) {
        self.lock().claims.clear();
    }

    /// Claims that are held.
    pub fn claims_held(&self) -> usize {
        self.lock().claims.held()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A write is applied whole after all that can refuse it.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read<T>(
        &self,
        operation: Operation,
        read: impl FnOnce(&State) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.session.before(operation, None).await?;
        let result = read(&self.lock());
        self.session.after(operation).await?;
        result
    }

    /// One transaction: what the rules make of it, and its notification.
    async fn write<T>(
        &self,
        operation: Operation,
        key: Option<&RevisionKey>,
        write: impl FnOnce(&mut State, At) -> Result<(T, Option<WatchEvent>), StoreError>,
    ) -> Result<T, StoreError> {
        self.session.before(operation, key).await?;
        let result = {
            let mut state = self.lock();
            let at = At { version: ObjectVersion(state.version.0 + 1), now_ms: self.shared.clock.now_ms() };
            write(&mut state, at).map(|(result, event)| {
                if let Some(event) = event {
                    state.version = at.version;
                    // Under the lock: the order of notifications is that of the writes, unless a fault changes it.
                    self.session.publish(&self.shared.events, event);
                }
                result
            })
        };
        self.session.after(operation).await?;
        result
    }
}

impl PackageStore for MemoryStore {
    type Watch = MemoryWatch;

    async fn page(&self, select: Select, after: Option<PageToken>, limit: usize) -> Result<Page, StoreError> {
        let limit = limit.clamp(1, self.shared.limits.page);
        self.read(Operation::Page, |state| Ok(state.page(select, after, limit))).await
    }

    async fn get(&self, key: &RevisionKey) -> Result<Snapshot, StoreError> {
        let faults = self.session.before(Operation::Get, Some(key)).await?;
        let snapshot = self.lock().snapshot(key, faults.stale);
        self.session.after(Operation::Get).await?;
        snapshot.map(|snapshot| if faults.partial { faults::partial(snapshot) } else { snapshot })
    }

    async fn revision(&self, key: &RevisionKey) -> Result<Revision, StoreError> {
        let faults = self.session.before(Operation::Revision, Some(key)).await?;
        let revision = self.lock().snapshot(key, faults.stale).map(|snapshot| snapshot.revision);
        self.session.after(Operation::Revision).await?;
        revision
    }

    async fn find(&self, namespace: &str, name: &str) -> Result<Revision, StoreError> {
        self.read(Operation::Find, |state| state.find(namespace, name)).await
    }

    async fn history(&self, key: &RevisionKey) -> Result<Vec<HistoryEntry>, StoreError> {
        self.read(Operation::History, |state| Ok(state.record(key)?.history())).await
    }

    async fn content(&self, key: &RevisionKey, version: ContentVersion) -> Result<Files, StoreError> {
        self.read(Operation::Content, |state| state.record(key)?.content(version)).await
    }

    async fn log(&self, key: &RevisionKey) -> Result<Option<RenderLog>, StoreError> {
        self.read(Operation::Log, |state| Ok(state.record(key)?.log.clone())).await
    }

    async fn create(&self, new: NewRevision) -> Result<Revision, StoreError> {
        let limits = self.shared.limits;
        self.write(Operation::Create, None, |state, at| state.create(&new, &limits, at)).await
    }

    async fn update(
        &self,
        key: &RevisionKey,
        expected: Expected,
        update: ClientUpdate,
    ) -> Result<Revision, StoreError> {
        let limits = self.shared.limits;
        self.write(Operation::Update, Some(key), |state, at| {
            let outcome = rules::update(&state.record(key)?.revision, expected, &update, None, &limits, at)?;
            Ok(state.put(outcome, super::Writer::Client, &limits, at))
        })
        .await
    }

    async fn delete(&self, key: &RevisionKey, expected: Option<Expected>) -> Result<(), StoreError> {
        self.write(Operation::Delete, Some(key), |state, at| state.delete(key, expected, at)).await
    }

    async fn save_result(
        &self,
        key: &RevisionKey,
        rendered: ContentVersion,
        result: RenderResult,
    ) -> Result<Revision, StoreError> {
        let limits = self.shared.limits;
        self.write(Operation::SaveResult, Some(key), |state, at| {
            let outcome = rules::save_result(&state.record(key)?.revision, rendered, &result, None, &limits, at)?;
            let text = rules::bounded_log(&result.log, &limits);
            let log = RenderLog { content: rendered, kept: true, ended_ms: at.now_ms, text };
            let put = state.put(outcome, super::Writer::Render, &limits, at);
            state.set_log(key, log)?;
            Ok(put)
        })
        .await
    }

    async fn set_state(
        &self,
        key: &RevisionKey,
        content: ContentVersion,
        new: RenderState,
    ) -> Result<Revision, StoreError> {
        let limits = self.shared.limits;
        self.write(Operation::SetState, Some(key), |state, at| {
            let current = &state.record(key)?.revision;
            match rules::set_state(current, content, &new, at)? {
                None => Ok((current.clone(), None)),
                Some(revision) => {
                    Ok(state.put(rules::Outcome { revision, files: None }, super::Writer::Render, &limits, at))
                }
            }
        })
        .await
    }

    async fn save_log(&self, key: &RevisionKey, log: RenderLog) -> Result<(), StoreError> {
        let limits = self.shared.limits;
        self.write(Operation::SaveLog, Some(key), |state, at| {
            if rules::keeps_log(state.record(key)?.log.as_ref(), &log) {
                let text = rules::bounded_log(&log.text, &limits);
                state.set_log(key, RenderLog { ended_ms: at.now_ms, text, ..log })?;
            }
            Ok(((), None))
        })
        .await
    }

    async fn watch(&self, after: ObjectVersion) -> Result<MemoryWatch, StoreError> {
        self.session.before(Operation::Watch, None).await?;
        let now = self.lock().version;
        let inner = self.shared.events.watch(after, now)?;
        Ok(MemoryWatch { inner, session: Arc::clone(&self.session) })
    }
}

impl Claims for MemoryStore {
    async fn register(&self, registration: Registration) -> Result<Instance, StoreError> {
        let now = self.shared.clock.now_ms();
        self.claims(Operation::Register, |state| Ok(state.claims.register(registration, now))).await
    }

    async fn heartbeat(&self, instance: &Instance, held: &[Claim]) -> Result<Vec<Instance>, StoreError> {
        self.claims(Operation::Heartbeat, |state| state.claims.heartbeat(instance, held, self.shared.clock.now_ms()))
            .await
    }

    async fn unregister(&self, instance: &Instance) -> Result<(), StoreError> {
        self.claims(Operation::Unregister, |state| {
            state.claims.unregister(instance, self.shared.clock.now_ms());
            Ok(())
        })
        .await
    }

    async fn claim(&self, instance: &Instance, key: &RevisionKey) -> Result<ClaimOutcome, StoreError> {
        self.claims(Operation::Claim, |state| {
            let current = state.record(key).ok().map(|record| record.revision.clone());
            state.claims.claim(instance, key, current, self.shared.clock.now_ms())
        })
        .await
    }

    async fn release(&self, claim: &Claim) -> Result<(), StoreError> {
        self.claims(Operation::Release, |state| {
            state.claims.release(claim);
            Ok(())
        })
        .await
    }
}

impl MemoryStore {
    async fn claims<T>(
        &self,
        operation: Operation,
        act: impl FnOnce(&mut State) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.session.before(operation, None).await?;
        let result = act(&mut self.lock());
        self.session.after(operation).await?;
        result
    }
}

/// A watch of a [`MemoryStore`]: ends with its session.
#[derive(Debug)]
pub struct MemoryWatch {
    inner: LogWatch,
    session: Arc<Session>,
}

impl Watch for MemoryWatch {
    fn next(&mut self) -> impl Future<Output = Result<WatchEvent, StoreError>> + Send {
        let (inner, session) = (&mut self.inner, &self.session);
        async move {
            tokio::select! {
                biased;
                broken = session.broken() => Err(broken),
                event = inner.next() => event,
            }
        }
    }
}

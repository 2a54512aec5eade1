//! Faults of a session with the store in memory: scripted by count, or by chance from a seed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::model::{ContentVersion, ObjectVersion, RevisionKey};
use crate::store::{EventLog, Expected, Snapshot, StoreError, WatchEvent};

/// A method of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is called like the method that it stands for")]
pub enum Operation {
    Page,
    Get,
    Revision,
    Find,
    History,
    Content,
    Log,
    Create,
    Update,
    Delete,
    SaveResult,
    SetState,
    SaveLog,
    Watch,
    Register,
    Heartbeat,
    Unregister,
    Claim,
    Release,
}

/// A named point at which a fault can strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Point {
    /// The call is made; the store has done nothing.
    Before(Operation),
    /// The store has done it; the caller has not heard.
    After(Operation),
    /// Watchers of all sessions are to hear of a write of this session.
    Notify,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It takes this long, in tokio's time.
    Delay(Duration),
    /// The write is refused as if somebody else had written. Before a call with a key.
    Conflict,
    /// The call fails, or its answer is lost: before it nothing was done, after it all was.
    Unavailable {
        /// What the store says of another attempt.
        retry_after: Option<Duration>,
    },
    /// A read gives the revision as it was this many writes ago, up to 8. Before `Get` and `Revision`.
    StaleRead(usize),
    /// A read gives a part of the files, with no word of it. Before `Get`.
    PartialRead,
    /// The process of this session dies: this call and all later ones never return. [`super::MemoryStore::crashed`].
    Crash,
    /// The session is cut off, as by [`super::MemoryStore::partition`].
    Partition,
    /// The notification is lost. At `Notify`.
    LoseNotification,
    /// The notification comes after this session's next one. At `Notify`.
    ReorderNotification,
}

#[derive(Debug, Clone, Copy)]
enum When {
    Nth(u64),
    Chance(f64),
}

/// Which faults strike where. Empty: none.
#[derive(Debug, Clone, Default)]
pub struct FaultPlan {
    seed: u64,
    rules: Vec<(Point, When, Fault)>,
}

impl FaultPlan {
    /// No faults; those by chance are drawn from this seed.
    pub fn seeded(seed: u64) -> Self {
        Self { seed, rules: Vec::new() }
    }

    /// This fault at the `nth` time that the session passes the point, from 1.
    #[must_use]
    pub fn on(mut self, point: Point, nth: u64, fault: Fault) -> Self {
        self.rules.push((point, When::Nth(nth), fault));
        self
    }

    /// This fault with this probability, 0 to 1, each time that the session passes the point.
    #[must_use]
    pub fn by_chance(mut self, point: Point, probability: f64, fault: Fault) -> Self {
        self.rules.push((point, When::Chance(probability), fault));
        self
    }
}

/// A fault that struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trip {
    /// Where.
    pub point: Point,
    /// At which passing of the point, from 1.
    pub nth: u64,
    /// What it was.
    pub fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Well,
    Cut,
    Crashed,
}

#[derive(Debug)]
pub(super) struct Session {
    inner: Mutex<Inner>,
    health: watch::Sender<Health>,
}

#[derive(Debug)]
struct Inner {
    plan: HashMap<Point, Vec<(When, Fault)>>,
    random: fastrand::Rng,
    passed: BTreeMap<Point, u64>,
    calls: BTreeMap<Operation, u64>,
    trips: Vec<Trip>,
    held: Vec<WatchEvent>,
}

/// What a read is to give.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReadFaults {
    pub(super) stale: usize,
    pub(super) partial: bool,
}

impl Default for Session {
    fn default() -> Self {
        Self::new(FaultPlan::default())
    }
}

impl Session {
    pub(super) fn new(faults: FaultPlan) -> Self {
        let mut plan: HashMap<Point, Vec<(When, Fault)>> = HashMap::new();
        for (point, when, fault) in faults.rules {
            plan.entry(point).or_default().push((when, fault));
        }
        let random = fastrand::Rng::with_seed(faults.seed);
        let (passed, calls) = (BTreeMap::new(), BTreeMap::new());
        let inner = Inner { plan, random, passed, calls, trips: Vec::new(), held: Vec::new() };
        Self { inner: Mutex::new(inner), health: watch::Sender::new(Health::Well) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn trips(&self) -> Vec<Trip> {
        self.lock().trips.clone()
    }

    pub(super) fn calls(&self, operation: Operation) -> u64 {
        self.lock().calls.get(&operation).copied().unwrap_or_default()
    }

    pub(super) fn partition(&self, cut: bool) {
        self.health.send_modify(|health| {
            if *health != Health::Crashed {
                *health = if cut { Health::Cut } else { Health::Well };
            }
        });
    }

    pub(super) async fn crashed(&self) {
        // The sender lives as long as `self`.
        let _ = self.health.subscribe().wait_for(|health| *health == Health::Crashed).await;
    }

    /// Returns when the session is cut; never when its process has crashed.
    pub(super) async fn broken(&self) -> StoreError {
        let _ = self.health.subscribe().wait_for(|health| *health == Health::Cut).await;
        cut()
    }

    /// The faults of this passing of the point.
    fn strike(&self, point: Point) -> Vec<Fault> {
        let mut inner = self.lock();
        let inner = &mut *inner;
        let Some(rules) = inner.plan.get(&point) else { return Vec::new() };
        let passed = inner.passed.entry(point).or_default();
        *passed += 1;
        let mut struck = Vec::new();
        for (when, fault) in rules {
            let strikes = match when {
                When::Nth(nth) => passed == nth,
                When::Chance(probability) => inner.random.f64() < *probability,
            };
            if strikes {
                struck.push(*fault);
                inner.trips.push(Trip { point, nth: *passed, fault: *fault });
            }
        }
        struck
    }

    pub(super) async fn before(
        &self,
        operation: Operation,
        key: Option<&RevisionKey>,
    ) -> Result<ReadFaults, StoreError> {
        *self.lock().calls.entry(operation).or_default() += 1;
        self.pass(Point::Before(operation), key).await
    }

    pub(super) async fn after(&self, operation: Operation) -> Result<(), StoreError> {
        self.pass(Point::After(operation), None).await.map(drop)
    }

    async fn pass(&self, point: Point, key: Option<&RevisionKey>) -> Result<ReadFaults, StoreError> {
        self.usable().await?;
        let mut reads = ReadFaults::default();
        for fault in self.strike(point) {
            match fault {
                Fault::Delay(time) => tokio::time::sleep(time).await,
                Fault::Conflict => {
                    if let Some(key) = key {
                        let (expected, content) = (Expected::Object(ObjectVersion(0)), ContentVersion(0));
                        let found = ObjectVersion(0);
                        return Err(StoreError::Conflict { key: key.clone(), expected, found, content });
                    }
                }
                Fault::Unavailable { retry_after } => {
                    return Err(StoreError::Unavailable { why: "a fault of the test".into(), retry_after });
                }
                Fault::StaleRead(writes) => reads.stale = writes,
                Fault::PartialRead => reads.partial = true,
                Fault::Crash => {
                    self.health.send_replace(Health::Crashed);
                }
                Fault::Partition => self.partition(true),
                Fault::LoseNotification | Fault::ReorderNotification => {}
            }
            self.usable().await?;
        }
        Ok(reads)
    }

    async fn usable(&self) -> Result<(), StoreError> {
        let health = *self.health.borrow();
        match health {
            Health::Well => Ok(()),
            Health::Cut => Err(cut()),
            Health::Crashed => std::future::pending().await,
        }
    }

    pub(super) fn publish(&self, events: &Arc<EventLog>, event: WatchEvent) {
        let struck = self.strike(Point::Notify);
        if struck.contains(&Fault::LoseNotification) {
            return;
        }
        let mut inner = self.lock();
        if struck.contains(&Fault::ReorderNotification) {
            inner.held.push(event);
            return;
        }
        let late = std::mem::take(&mut inner.held);
        drop(inner);
        events.publish(std::iter::once(event).chain(late));
    }
}

fn cut() -> StoreError {
    StoreError::Unavailable { why: "the connection is cut".into(), retry_after: None }
}

/// Every other file, and of one file its first half.
pub(super) fn partial(snapshot: Snapshot) -> Snapshot {
    let mut files: BTreeMap<_, _> = snapshot.files.iter().step_by(2).map(|(p, c)| (p.clone(), c.clone())).collect();
    if files.len() == snapshot.files.len() {
        for content in files.values_mut() {
            *content = content.slice(..content.len() / 2);
        }
    }
    Snapshot { files: Arc::new(files), ..snapshot }
}

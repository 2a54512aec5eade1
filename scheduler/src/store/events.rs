//! Changes of a store, in order, for those who watch it.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::StoreError;
use crate::model::{ObjectVersion, Revision, RevisionKey};

/// A change of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchEvent {
    /// The store's version after it: where a watch that ends resumes.
    pub version: ObjectVersion,
    /// What changed.
    pub change: Change,
    /// The revision as it was before; `None` when it is new. Whoever watches a selection sees by it what leaves.
    pub before: Option<Arc<Revision>>,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A revision is now so.
    Put(Arc<Revision>),
    /// A revision is gone.
    Deleted(RevisionKey),
}

impl WatchEvent {
    /// About how much memory it holds, in bytes.
    fn weight(&self) -> usize {
        let key = self.change.key();
        // Before it is the one that an earlier event shows as it was after that; it is counted there.
        let text = match &self.change {
            Change::Put(revision) => revision.held_bytes(),
            Change::Deleted(_) => self.before.as_deref().map_or(0, Revision::held_bytes),
        };
        256 + key.namespace.len() + key.name.len() + key.uid.len() + text
    }
}

impl Change {
    /// Whose.
    pub fn key(&self) -> &RevisionKey {
        match self {
            Self::Put(revision) => &revision.key,
            Self::Deleted(key) => key,
        }
    }
}

/// A watch. Delivery is at least once and in order; who must not miss anything also sweeps.
pub trait Watch: Send {
    /// The next change. Cancelled, it has taken none. [`StoreError::TooOld`]: the watcher was too slow and must list
    /// again.
    fn next(&mut self) -> impl Future<Output = Result<WatchEvent, StoreError>> + Send;
}

/// The last changes of a store within one process. Watchers read from it at their own pace; one that is slower than the
/// log is long lists again, so that a slow one costs no memory.
#[derive(Debug)]
pub struct EventLog {
    inner: Mutex<Log>,
    /// The place after the last event: wakes those who wait.
    end: watch::Sender<u64>,
    length: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Log {
    events: VecDeque<WatchEvent>,
    /// The place of the first event kept, counted from the beginning.
    first: u64,
    /// No event up to this version is kept.
    floor: ObjectVersion,
    /// What the events hold, about.
    bytes: usize,
    closed: bool,
}

impl EventLog {
    /// A log that keeps so many events, and of those no more than hold so many bytes; of a store at this version.
    pub fn new(length: usize, bytes: usize, at: ObjectVersion) -> Arc<Self> {
        let log = Log { events: VecDeque::new(), first: 0, floor: at, bytes: 0, closed: false };
        Arc::new(Self { inner: Mutex::new(log), end: watch::Sender::new(0), length, bytes })
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        // Every change of the log is whole before anything can panic.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds events, in the order in which they are to be seen.
    pub fn publish(&self, events: impl IntoIterator<Item = WatchEvent>) {
        let mut log = self.lock();
        for event in events {
            log.bytes += event.weight();
            log.events.push_back(event);
            // The newest stays, whatever it holds.
            while (log.events.len() > self.length || log.bytes > self.bytes) && log.events.len() > 1 {
                if let Some(old) = log.events.pop_front() {
                    log.first += 1;
                    log.bytes -= old.weight();
                    log.floor = log.floor.max(old.version);
                }
            }
        }
        let end = log.first + log.events.len() as u64;
        drop(log);
        self.end.send_replace(end);
    }

    /// Ends all watches.
    pub fn close(&self) {
        self.lock().closed = true;
        self.end.send_modify(|_| ());
    }

    /// A watch of what comes after this version, of a store that is at `now`.
    pub fn watch(self: &Arc<Self>, after: ObjectVersion, now: ObjectVersion) -> Result<LogWatch, StoreError> {
        let log = self.lock();
        // A version that the store has not reached is another store's, or of the time before a backup came back.
        if after < log.floor || after > now {
            return Err(StoreError::TooOld { after });
        }
        let place = log.events.iter().position(|event| event.version > after).unwrap_or(log.events.len());
        let next = log.first + place as u64;
        drop(log);
        Ok(LogWatch { end: self.end.subscribe(), log: Arc::clone(self), next, after, seen: after })
    }
}

/// A watch of an [`EventLog`].
#[derive(Debug)]
pub struct LogWatch {
    log: Arc<EventLog>,
    end: watch::Receiver<u64>,
    next: u64,
    /// Where it began: what is not after that was seen by listing, though its notification came later.
    after: ObjectVersion,
    seen: ObjectVersion,
}

impl LogWatch {
    fn take(&mut self) -> Option<Result<WatchEvent, StoreError>> {
        let log = self.log.lock();
        if self.next < log.first {
            return Some(Err(StoreError::TooOld { after: self.seen }));
        }
        while let Some(event) = log.events.get(usize::try_from(self.next - log.first).ok()?) {
            self.next += 1;
            if event.version <= self.after {
                continue;
            }
            self.seen = self.seen.max(event.version);
            return Some(Ok(event.clone()));
        }
        log.closed.then_some(Err(StoreError::Closed))
    }
}

impl Watch for LogWatch {
    async fn next(&mut self) -> Result<WatchEvent, StoreError> {
        loop {
            // Marked before looking: what comes after that wakes.
            self.end.mark_unchanged();
            if let Some(event) = self.take() {
                return event;
            }
            if self.end.changed().await.is_err() {
                return Err(StoreError::Closed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded_in_number_and_bytes() {
        let event = |version, name: &str| WatchEvent {
            version: ObjectVersion(version),
            change: Change::Deleted(RevisionKey::new("ns", name, "uid")),
            before: None,
        };
        let kept = |log: &Arc<EventLog>, after, now| log.watch(ObjectVersion(after), ObjectVersion(now)).is_ok();
        let log = EventLog::new(3, 1 << 20, ObjectVersion(0));
        log.publish((1..=5).map(|version| event(version, "short")));
        assert!(kept(&log, 2, 5) && !kept(&log, 1, 5));
        let log = EventLog::new(1000, 10_000, ObjectVersion(0));
        log.publish((1..=5).map(|version| event(version, &"x".repeat(4000))));
        assert!(kept(&log, 3, 5) && !kept(&log, 2, 5));
        // One that is larger than all room is seen all the same.
        log.publish([event(6, &"x".repeat(40_000))]);
        assert!(kept(&log, 5, 6) && !kept(&log, 4, 6));
    }
}

//! Where events go.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::event::RenderEvent;
use crate::model::RevisionKey;

/// Takes events. Never blocks and never fails: what it can't take is lost to readers, and nothing waits for it.
pub trait EventSink: Send + Sync {
    /// An event, or its repetition with the same `id` and a higher count.
    fn tell(&self, event: &RenderEvent);

    /// The object is gone, and its events with it.
    fn forget(&self, key: &RevisionKey);
}

impl<S: EventSink + ?Sized> EventSink for Arc<S> {
    fn tell(&self, event: &RenderEvent) {
        (**self).tell(event);
    }

    fn forget(&self, key: &RevisionKey) {
        (**self).forget(key);
    }
}

/// Keeps the last events in memory. A repetition takes the place of the event that it repeats, and counts as new.
#[derive(Debug)]
pub struct Ring {
    inner: Mutex<Inner>,
    /// The step of the last event: wakes those who wait for the next one.
    told: watch::Sender<u64>,
    length: usize,
}

#[derive(Debug, Default)]
struct Inner {
    /// By when they were told, in steps.
    events: BTreeMap<u64, Arc<RenderEvent>>,
    by_id: HashMap<u64, u64>,
    by_key: HashMap<RevisionKey, BTreeSet<u64>>,
    next: u64,
}

impl Ring {
    /// One that keeps this many events; 10,000 of the longest notes are 11 MB.
    pub fn new(length: usize) -> Self {
        Self { inner: Mutex::default(), told: watch::Sender::new(0), length: length.max(1) }
    }

    /// The events of an object, the latest last.
    pub fn of(&self, key: &RevisionKey) -> Vec<Arc<RenderEvent>> {
        let inner = self.lock();
        let steps = inner.by_key.get(key).into_iter().flatten();
        steps.filter_map(|step| inner.events.get(step).cloned()).collect()
    }

    /// At most `limit` events of all objects, told after `after`, each with its step: where the next reading goes on.
    /// Zero reads from the beginning.
    pub fn after(&self, after: u64, limit: usize) -> Vec<(u64, Arc<RenderEvent>)> {
        let inner = self.lock();
        let later = inner.events.range(after.saturating_add(1)..);
        later.take(limit).map(|(step, event)| (*step, Arc::clone(event))).collect()
    }

    /// The step of the last event, now and whenever one is told.
    pub fn told(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.lock().events.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic leaves at worst an index to an event that is not there, which readers pass over.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn remove(&mut self, step: u64) {
        let Some(event) = self.events.remove(&step) else { return };
        self.by_id.remove(&event.id);
        if let Some(steps) = self.by_key.get_mut(&event.regarding) {
            steps.remove(&step);
            if steps.is_empty() {
                self.by_key.remove(&event.regarding);
            }
        }
    }
}

impl EventSink for Ring {
    fn tell(&self, event: &RenderEvent) {
        let mut inner = self.lock();
        if let Some(&old) = inner.by_id.get(&event.id) {
            inner.remove(old);
        } else if inner.events.len() >= self.length
            && let Some((&oldest, _)) = inner.events.first_key_value()
        {
            inner.remove(oldest);
        }
        inner.next += 1;
        let step = inner.next;
        inner.by_id.insert(event.id, step);
        inner.by_key.entry(event.regarding.clone()).or_default().insert(step);
        inner.events.insert(step, Arc::new(event.clone()));
        drop(inner);
        self.told.send_modify(|last| *last = step.max(*last));
    }

    fn forget(&self, key: &RevisionKey) {
        let mut inner = self.lock();
        for step in inner.by_key.remove(key).unwrap_or_default() {
            inner.remove(step);
        }
    }
}

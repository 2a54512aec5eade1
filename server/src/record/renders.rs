//! All records that are in memory.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portico_scheduler::model::{ContentVersion, RevisionKey};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::limits::RecordLimits;
use super::live::Live;

/// The records of the renders that run, and of the last ones that have ended.
#[derive(Debug)]
pub struct Renders {
    limits: RecordLimits,
    inner: Mutex<Inner>,
    /// Moves with each render that begins.
    began: watch::Sender<u64>,
    followers: Arc<Semaphore>,
    /// How many readers were cut.
    cut: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Inner {
    /// One for each revision, as no revision is rendered twice at once. By uid.
    live: HashMap<Arc<str>, Arc<Live>>,
    /// The oldest first.
    ended: VecDeque<Arc<Live>>,
}

impl Renders {
    /// None yet.
    pub fn new(limits: RecordLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            inner: Mutex::default(),
            began: watch::Sender::new(0),
            followers: Arc::new(Semaphore::new(limits.followers)),
            cut: watch::Sender::new(0),
        })
    }

    /// How much is kept and shown.
    pub fn limits(&self) -> &RecordLimits {
        &self.limits
    }

    /// The render of this revision that runs now.
    pub fn live(&self, key: &RevisionKey) -> Option<Arc<Live>> {
        self.lock().live.get(&key.uid).cloned()
    }

    /// The render of this revision that runs now, or else the last one that is still in memory.
    pub fn last(&self, key: &RevisionKey) -> Option<Arc<Live>> {
        let inner = self.lock();
        let live = inner.live.get(&key.uid);
        live.or_else(|| inner.ended.iter().rev().find(|live| live.key().uid == key.uid)).cloned()
    }

    /// The render of this revision with this id, while it is in memory.
    pub fn find(&self, key: &RevisionKey, id: &str) -> Option<Arc<Live>> {
        let inner = self.lock();
        let ended = inner.ended.iter().filter(|live| live.key().uid == key.uid);
        inner.live.get(&key.uid).into_iter().chain(ended).find(|live| live.id().as_str() == id).cloned()
    }

    /// All renders that run now.
    pub fn all_live(&self) -> Vec<Arc<Live>> {
        self.lock().live.values().cloned().collect()
    }

    /// A render begins.
    pub(crate) fn begin(&self, key: &RevisionKey, content: ContentVersion) -> Arc<Live> {
        let live = Arc::new(Live::new(key, content.0, self.limits));
        self.lock().live.insert(Arc::clone(&key.uid), Arc::clone(&live));
        self.began.send_modify(|count| *count += 1);
        live
    }

    /// It has ended.
    pub(super) fn end(&self, live: &Arc<Live>) {
        let mut inner = self.lock();
        if inner.live.get(&live.key().uid).is_some_and(|other| Arc::ptr_eq(other, live)) {
            inner.live.remove(&live.key().uid);
        }
        inner.ended.push_back(Arc::clone(live));
        while inner.ended.len() > self.limits.ended {
            inner.ended.pop_front();
        }
    }

    /// Moves with each render that begins.
    pub(super) fn began(&self) -> watch::Receiver<u64> {
        self.began.subscribe()
    }

    /// Room for one more that follows; `None` when there is none.
    pub(super) fn follower(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.followers).try_acquire_owned().ok()
    }

    /// A reader was cut.
    pub(super) fn cut_one(&self) {
        self.cut.send_modify(|count| *count += 1);
    }

    /// How many readers were cut, because they were too slow or followed for too long.
    pub fn cut(&self) -> watch::Receiver<u64> {
        self.cut.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing panics while it is held.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Whether a scheduler may work.

use super::Instance;

/// Whether a scheduler may work: only while it has seen its own registration in the store's answer, and only as long as
/// that answer's lease lasts. Asked before each item, not once at the start; it looks at memory alone.
///
/// After a reconnect caches may fill before the registration is back, and others may have taken over.
#[derive(Debug, Default)]
pub struct Presence {
    seen: Option<Instance>,
    others: Vec<Instance>,
}

impl Presence {
    /// Nothing is seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The store answered a heartbeat of `own` with these.
    pub fn saw(&mut self, own: &Instance, all: Vec<Instance>) {
        let same = |other: &&Instance| other.registration.id == own.registration.id && other.epoch == own.epoch;
        self.seen = all.iter().find(same).cloned();
        self.others = all;
    }

    /// The connection broke, or the store does not know the registration: nothing is sure any more.
    pub fn lost(&mut self) {
        self.seen = None;
        self.others.clear();
    }

    /// Whether it may start work now, by the store's clock or one that is not behind it.
    pub fn may_work(&self, now_ms: u64) -> bool {
        self.seen.as_ref().is_some_and(|instance| now_ms < instance.until_ms)
    }

    /// All schedulers of the last answer, itself among them.
    pub fn all(&self) -> &[Instance] {
        &self.others
    }
}

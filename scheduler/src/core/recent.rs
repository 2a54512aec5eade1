//! The revisions that were done with last.

use std::collections::{HashMap, VecDeque};

use crate::model::{ObjectVersion, RevisionKey};

/// How many are remembered: some hundred bytes each.
const LENGTH: usize = 10_000;

/// At which version a revision was done. Late notifications of what went before, the scheduler's own writes among them,
/// then start nothing. Who is not remembered any more costs one look at the store.
#[derive(Debug, Default)]
pub(super) struct Recent {
    done: HashMap<RevisionKey, ObjectVersion>,
    order: VecDeque<RevisionKey>,
}

impl Recent {
    /// Nothing is to be done up to this version.
    pub(super) fn remember(&mut self, key: &RevisionKey, version: ObjectVersion) {
        if let Some(known) = self.done.get_mut(key) {
            *known = version.max(*known);
            return;
        }
        if self.order.len() == LENGTH
            && let Some(oldest) = self.order.pop_front()
        {
            self.done.remove(&oldest);
        }
        self.order.push_back(key.clone());
        self.done.insert(key.clone(), version);
    }

    /// Whether a state of this version is one of the past.
    pub(super) fn knows(&self, key: &RevisionKey, version: ObjectVersion) -> bool {
        self.done.get(key).is_some_and(|done| version <= *done)
    }
}

//! Listings of what is unfinished in the store: after a start, after lost notifications, and now and then.

use std::collections::HashSet;

use super::Core;
use super::event::Action;
use crate::model::{ContentVersion, Revision, RevisionKey};
use crate::time::Time;

/// The listing that is going on, and what the last sweep left to be looked at again.
#[derive(Debug, Default)]
pub(super) struct Listing {
    number: u64,
    active: bool,
    sweep: bool,
    /// Unfinished in the last sweep, and nobody worked on it.
    suspects: HashSet<(RevisionKey, ContentVersion)>,
    found: HashSet<(RevisionKey, ContentVersion)>,
}

impl Listing {
    /// What a revision is marked with that is seen now.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// A part of a listing says nothing about what is missing in it.
    pub(super) fn failed(&mut self) {
        self.active = false;
        self.found = HashSet::new();
    }
}

impl Core {
    pub(super) fn list_begin(&mut self, sweep: bool) {
        self.listing.number += 1;
        self.listing.active = true;
        self.listing.sweep = sweep;
        self.listing.found = HashSet::new();
    }

    pub(super) fn page(&mut self, revisions: &[Revision], now: Time) {
        for revision in revisions {
            if !self.listing.sweep || self.items.contains_key(&revision.key) {
                self.seen(revision, now);
                continue;
            }
            // Its notification may be on its way, or its writer not have answered yet: only what the last sweep saw
            // exactly so, and nobody took up since, was lost.
            let found = (revision.key.clone(), revision.content_version);
            if self.listing.suspects.contains(&found) {
                self.counters.swept += 1;
                self.seen(revision, now);
            } else if self.listing.found.len() < self.settings.queue.keys {
                self.listing.found.insert(found);
            }
        }
    }

    pub(super) fn list_end(&mut self) {
        if !std::mem::take(&mut self.listing.active) {
            return;
        }
        if self.listing.sweep {
            self.listing.suspects = std::mem::take(&mut self.listing.found);
        }
        // What is worked on and is not unfinished any more was finished or deleted by somebody else, unseen.
        let number = self.listing.number;
        let mut unseen: Vec<_> = self.items.iter().filter(|(_, i)| i.listed < number && i.saving.is_none()).collect();
        unseen.sort_by_key(|(key, _)| *key);
        self.actions.extend(unseen.into_iter().map(|(key, _)| Action::Look(key.clone())));
    }
}

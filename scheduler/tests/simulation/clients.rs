//! What clients do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use portico_scheduler::core::Event;
use portico_scheduler::model::{Lifecycle, Revision, RevisionKey};
use portico_scheduler::store::{Change, ClientUpdate, Expected, NewRevision, PackageStore as _};

use super::network::ask;
use super::oracle::{Nature, files};
use super::world::{What, World};

impl World {
    /// A client does something, and another one will.
    pub(crate) fn client(&mut self) {
        let pause = if self.plan.calm { self.plan.pause } else { self.around(self.plan.pause) };
        self.at(pause, What::Client);
        let place = if self.plan.calm {
            self.summary.changes as usize % self.keys.len()
        } else {
            self.random.usize(..self.keys.len())
        };
        let Some(key) = self.keys[place].clone() else { return self.create(place) };
        match if self.plan.calm { 0 } else { self.random.u32(..100) } {
            0..80 => {
                self.edit(&key);
                if self.plan.calm {
                    return;
                }
                // Now and then somebody saves after each word, or thinks better of it.
                if self.chance(0.1) {
                    for _ in 0..self.random.u32(1..30) {
                        let soon = self.spread(Duration::from_secs(3));
                        self.at(soon, What::Edit(key.clone()));
                    }
                }
                if self.chance(0.1) {
                    let soon = self.spread(Duration::from_millis(500));
                    self.at(soon, What::Cancel(key));
                }
            }
            80..84 => {
                if ask(true, self.truth.delete(&key, None)).is_ok() {
                    self.summary.deletions += 1;
                    self.keys[place] = None;
                    self.oracle.deleted(&key);
                    self.tell(&Change::Deleted(key));
                }
            }
            84..94 => self.propose(&key),
            _ => {
                let labels = BTreeMap::from([("seen".to_owned(), self.summary.changes.to_string())]);
                self.update(&key, ClientUpdate { labels: Some(labels), ..ClientUpdate::default() });
            }
        }
    }

    pub(crate) fn cancel(&mut self, key: RevisionKey) {
        self.summary.cancellations += 1;
        self.oracle.cancel_asked(&key);
        let cancel = Event::Cancel { key, why: "by request".to_owned() };
        // Asked twice, as people do.
        self.each(|node, now| node.event(cancel.clone(), now));
        self.each(|node, now| node.event(cancel.clone(), now));
    }

    fn create(&mut self, place: usize) {
        let (nature, number) = self.content();
        let new = files(nature, number);
        let (namespace, repository) = (format!("team {}", place % 3), format!("repository {}", place % 2));
        let new_revision = NewRevision::new(&namespace, &format!("package {place}"), &repository, new.clone());
        let revision = ask(true, self.truth.create(new_revision)).expect("the name is free");
        self.summary.changes += 1;
        self.keys[place] = Some(revision.key.clone());
        self.oracle.accepted(&revision, new, self.now);
        self.tell(&Change::Put(Arc::new(revision)));
    }

    pub(crate) fn edit(&mut self, key: &RevisionKey) {
        let (nature, number) = self.content();
        let new = files(nature, number);
        // What is proposed can't be edited.
        if let Some(revision) = self.update(key, ClientUpdate::files(new.clone())) {
            self.summary.changes += 1;
            self.oracle.accepted(&revision, new, self.now);
        }
    }

    fn content(&mut self) -> (Nature, u64) {
        let nature = match self.random.u32(..100) {
            0..12 => Nature::Bad,
            // The rest of a burst may come after the last configuration: nothing can wait for a later one then.
            12..18 if !self.plan.calm && self.busy => Nature::Needs(self.configuration + self.random.u64(..3)),
            _ => Nature::Good,
        };
        (nature, self.summary.changes)
    }

    fn propose(&mut self, key: &RevisionKey) {
        let Some(revision) = self.update(key, ClientUpdate::lifecycle(Lifecycle::Proposed)) else { return };
        self.summary.proposed += 1;
        let there = ask(true, self.truth.get(key)).expect("it is there").files;
        self.oracle.proposed(&revision, &there);
        let time = self.spread(Duration::from_mins(2));
        self.at(time, What::Unpropose(key.clone()));
    }

    pub(crate) fn unpropose(&mut self, key: &RevisionKey) {
        self.update(key, ClientUpdate::lifecycle(Lifecycle::Draft));
    }

    /// A client's write: refused, or accepted and told of.
    fn update(&mut self, key: &RevisionKey, update: ClientUpdate) -> Option<Revision> {
        let current = ask(true, self.truth.revision(key)).ok()?;
        let expected = Expected::Object(current.object_version);
        let revision = ask(true, self.truth.update(key, expected, update)).ok()?;
        self.tell(&Change::Put(Arc::new(revision.clone())));
        Some(revision)
    }
}

//! Into the queue, and out of it unserved.

use std::hash::{BuildHasher as _, Hash};

use super::entry::{AGE, Entry, FIFO, Group, Member, Parked, State};
use super::slab::NIL;
use super::{Cost, Queue, Resource, class_of};
use crate::model::Priority;
use crate::time::Time;

/// How a key is to be served.
#[derive(Debug)]
pub struct Request<'a, G, M> {
    /// Whose share it uses.
    pub tenant: &'a G,
    /// Which part of the tenant's. A key never changes its tenant or member while it is in the queue.
    pub member: &'a M,
    /// How urgent it is, no more than its tenant's [`super::Quota::highest`]. Of several adds of a key that waits, the most
    /// urgent counts.
    pub priority: Priority,
    /// What it will use. Of several adds, the last counts that came before its turn.
    pub cost: Cost,
}

impl<G, M> Clone for Request<'_, G, M> {
    fn clone(&self) -> Self {
        *self
    }
}

// By hand: tenants need not be `Copy` for a reference to them to be.
impl<G, M> Copy for Request<'_, G, M> {}

/// What an add did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Added {
    /// It was not there.
    New,
    /// It waits already, and no longer than asked for.
    Already,
    /// It waits already, and will be ready sooner now.
    Sooner,
    /// It runs, and will be ready again afterwards.
    Again,
}

/// Why a key is not taken in. Its entry, if it has one, is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    /// No room; see [`super::Settings::keys`].
    #[error("the queue is full: it holds {limit} keys, its limit")]
    Full {
        /// The limit.
        limit: usize,
    },
    /// [`Queue::drain`] was called.
    #[error("the queue is shutting down")]
    ShutDown,
    /// No tenant of this kind can ever have it.
    #[error("can never be served: needs {wanted} of {}, and at most {most} can be had", .resource.as_str())]
    Never {
        /// What there is not enough of.
        resource: Resource,
        /// How much is asked for.
        wanted: u64,
        /// How much there can ever be.
        most: u64,
    },
}

impl<K: Hash + Eq + Clone, G: Hash + Eq + Clone, M: Hash + Eq + Clone> Queue<K, G, M> {
    /// Makes a key ready: behind the others of its member, unless it is ready already.
    pub fn add(&mut self, key: &K, request: Request<'_, G, M>, now: Time) -> Result<Added, AddError> {
        self.add_at(key, request, now, now)
    }

    /// As [`Queue::add`], but not before `due`. Of several, the earliest wins.
    pub fn add_at(&mut self, key: &K, request: Request<'_, G, M>, due: Time, now: Time) -> Result<Added, AddError> {
        if self.draining {
            return Err(AddError::ShutDown);
        }
        let quota = self.quota_of(request.tenant);
        if let Some((resource, wanted, most)) = self.never(request.cost, &quota) {
            return Err(AddError::Never { resource, wanted, most });
        }
        let hash = self.hasher.hash_one(key);
        let class = class_of(request.priority.min(quota.highest));
        if let Some(at) = self.find_hashed(key, hash) {
            return Ok(self.join(at, class, request.cost, due, now));
        }
        if self.keys.len() >= self.settings.keys {
            return Err(AddError::Full { limit: self.settings.keys });
        }
        let member = self.member(request.tenant, request.member, now);
        self.members[member].entries += 1;
        let entry = Entry::new(key.clone(), hash, member, class, request.cost, now);
        let at = self.entries.insert(entry);
        let entries = &self.entries;
        self.keys.insert_unique(hash, at, |at| entries[*at].hash);
        self.counts[State::Delayed as usize] += 1;
        if due > now {
            self.delay(at, due);
        } else {
            self.make_ready(at, now);
        }
        Ok(Added::New)
    }

    /// Moves the point in time of a delayed key, or of the next turn of a running one, to a later one. False, and
    /// nothing changes, when it does not wait for a point in time.
    pub fn put_off(&mut self, key: &K, due: Time) -> bool {
        let Some(at) = self.find(key) else { return false };
        let entry = &mut self.entries[at];
        match entry.state {
            State::Delayed => {
                entry.due = entry.due.max(due);
                let due = entry.due;
                self.delayed.change(&mut self.entries, at, due);
                true
            }
            State::Running if entry.again => {
                entry.due = entry.due.max(due);
                true
            }
            _ => false,
        }
    }

    /// Takes a key out, whatever it waits for. One that runs goes on and does not become ready again. Says where it
    /// was.
    pub fn forget(&mut self, key: &K, now: Time) -> Option<State> {
        let at = self.find(key)?;
        let state = self.entries[at].state;
        let group = self.members[self.entries[at].member].group;
        match state {
            State::Running => {
                self.set_again(at, false);
                return Some(state);
            }
            State::Delayed => self.delayed.remove(&mut self.entries, at),
            State::Ready => self.unlist(at),
            State::AtQuota => {
                self.groups[group].blocked = NIL;
                self.resume(group);
            }
            State::Reserving => self.leave_short(at),
            State::Granted => {
                self.granted.remove(&mut self.entries, FIFO, at);
                self.discharge(at);
            }
        }
        self.remove(at, now);
        if matches!(state, State::Granted | State::Reserving) {
            self.resume(group);
            self.grant();
        }
        Some(state)
    }

    fn join(&mut self, at: u32, class: u8, cost: Cost, due: Time, now: Time) -> Added {
        let entry = &mut self.entries[at];
        match entry.state {
            State::Running => {
                let earlier = if entry.again { entry.due.min(due) } else { due };
                entry.class = if entry.again { entry.class.max(class) } else { class };
                (entry.due, entry.memory, entry.fuel) = (earlier, cost.memory, cost.fuel);
                self.set_again(at, true);
                Added::Again
            }
            State::Delayed => {
                entry.class = entry.class.max(class);
                (entry.memory, entry.fuel) = (cost.memory, cost.fuel);
                let before = entry.due;
                if due > now {
                    entry.due = before.min(due);
                    let due = entry.due;
                    self.delayed.change(&mut self.entries, at, due);
                } else {
                    self.delayed.remove(&mut self.entries, at);
                    self.make_ready(at, now);
                }
                if due < before { Added::Sooner } else { Added::Already }
            }
            State::Ready => {
                (entry.memory, entry.fuel) = (cost.memory, cost.fuel);
                if class > entry.class {
                    self.unlist(at);
                    self.entries[at].class = class;
                    self.list(at, now);
                }
                Added::Already
            }
            // It is next in its tenant, with what it asked for.
            State::AtQuota | State::Reserving | State::Granted => Added::Already,
        }
    }

    pub(super) fn set_again(&mut self, at: u32, again: bool) {
        let old = std::mem::replace(&mut self.entries[at].again, again);
        self.again = self.again + usize::from(again) - usize::from(old);
    }

    /// Puts an entry that is in no list among the delayed.
    pub(super) fn delay(&mut self, at: u32, due: Time) {
        self.set_state(at, State::Delayed);
        self.entries[at].due = due;
        self.delayed.insert(&mut self.entries, at, due);
    }

    /// Puts an entry that is in no list among the ready.
    pub(super) fn make_ready(&mut self, at: u32, now: Time) {
        self.set_state(at, State::Ready);
        self.entries[at].since = now;
        self.list(at, now);
    }

    /// Puts a ready entry into its lists, and its member and tenant into their rings.
    pub(super) fn list(&mut self, at: u32, now: Time) {
        let entry = &mut self.entries[at];
        entry.in_class_since = now;
        let (class, member) = (usize::from(entry.class), entry.member);
        self.ages[class].push_back(&mut self.entries, AGE, at);
        let list = &mut self.members[member].lists[class];
        let first = list.is_empty();
        list.push_back(&mut self.entries, FIFO, at);
        if first {
            self.enter_ring(member, class);
        }
    }

    /// Puts a member that has something in a class into its tenant's ring.
    pub(super) fn enter_ring(&mut self, member: u32, class: usize) {
        let group = self.members[member].group;
        let node = &mut self.groups[group];
        let first = node.rings[class].is_empty();
        node.rings[class].push_back(&mut self.members, class, member);
        if first && self.groups[group].parked == Parked::No {
            self.rings[class].push_back(&mut self.groups, class, group);
        }
    }

    /// Takes a ready entry out of its lists.
    pub(super) fn unlist(&mut self, at: u32) {
        let entry = &self.entries[at];
        let (class, member) = (usize::from(entry.class), entry.member);
        self.ages[class].remove(&mut self.entries, AGE, at);
        let list = &mut self.members[member].lists[class];
        list.remove(&mut self.entries, FIFO, at);
        if list.is_empty() {
            self.leave_ring(member, class);
        }
    }

    fn leave_ring(&mut self, member: u32, class: usize) {
        let group = self.members[member].group;
        let node = &mut self.groups[group];
        node.rings[class].remove(&mut self.members, class, member);
        if node.rings[class].is_empty() && node.parked == Parked::No {
            self.rings[class].remove(&mut self.groups, class, group);
        }
    }

    /// Removes an entry that is in no list, and whoever is of no use without it.
    pub(super) fn remove(&mut self, at: u32, now: Time) {
        self.set_again(at, false);
        let entry = &mut self.entries[at];
        entry.key = None;
        let (hash, member, state) = (entry.hash, entry.member, entry.state);
        self.counts[state as usize] -= 1;
        if let Ok(found) = self.keys.find_entry(hash, |found| *found == at) {
            found.remove();
        }
        self.entries.remove(at);
        if self.keys.is_empty() {
            // Nobody works: the memory goes back.
            self.keys = hashbrown::HashTable::new();
        }
        let node = &mut self.members[member];
        node.entries -= 1;
        if node.entries > 0 {
            return;
        }
        let (hash, group) = (node.hash, node.group);
        node.key = None;
        if let Ok(found) = self.member_keys.find_entry(hash, |found| *found == member) {
            found.remove();
        }
        self.members.remove(member);
        self.groups[group].members -= 1;
        self.remove_group(group, now);
    }

    /// Removes a tenant that has nothing in the queue, once its fuel need not be remembered.
    pub(super) fn remove_group(&mut self, at: u32, now: Time) {
        let group = &mut self.groups[at];
        if group.members > 0 {
            return;
        }
        group.refuel(now);
        let full = group.quota.fuel_most();
        if group.fuel < full && group.quota.fuel.is_some_and(|fuel| fuel.per_second > 0) {
            let due = group.fuel_reaches(full);
            self.wake_for_fuel(at, due);
            return;
        }
        let hash = group.hash;
        group.key = None;
        if let Ok(found) = self.group_keys.find_entry(hash, |found| *found == at) {
            found.remove();
        }
        self.groups.remove(at);
    }

    /// The node of a member, made when there is none.
    fn member(&mut self, tenant: &G, member: &M, now: Time) -> u32 {
        let group = self.group(tenant, now);
        let hash = self.hasher.hash_one((group, member));
        let same = |at: &u32| {
            let node = &self.members[*at];
            node.hash == hash && node.group == group && node.key.as_ref() == Some(member)
        };
        if let Some(at) = self.member_keys.find(hash, same) {
            return *at;
        }
        let at = self.members.insert(Member::new(member.clone(), hash, group));
        let members = &self.members;
        self.member_keys.insert_unique(hash, at, |at| members[*at].hash);
        self.groups[group].members += 1;
        at
    }

    fn group(&mut self, tenant: &G, now: Time) -> u32 {
        let hash = self.hasher.hash_one(tenant);
        let same = |at: &u32| {
            let node = &self.groups[*at];
            node.hash == hash && node.key.as_ref() == Some(tenant)
        };
        if let Some(at) = self.group_keys.find(hash, same) {
            return *at;
        }
        let quota = self.quota_of(tenant);
        let at = self.groups.insert(Group::new(tenant.clone(), hash, quota, now));
        let groups = &self.groups;
        self.group_keys.insert_unique(hash, at, |at| groups[*at].hash);
        at
    }
}

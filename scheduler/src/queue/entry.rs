//! What the queue keeps of a key, of a tenant and of a tenant's part.

use super::slab::{Links, List, NIL, Node};
use super::{CLASSES, Cost, Quota};
use crate::time::Time;

/// Where an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Waits for a point in time.
    Delayed,
    /// Waits for its turn.
    Ready,
    /// First of its tenant, which uses all that it may; it resumes when something of the tenant's ends.
    AtQuota,
    /// Needs more memory than is free, and has it reserved as it becomes free.
    Reserving,
    /// Has its memory and waits for a slot.
    Granted,
    /// Taken and not finished.
    Running,
}

/// How many [`State`]s there are.
pub(super) const STATES: usize = 6;

/// A key and its place.
#[derive(Debug)]
pub(super) struct Entry<K> {
    /// `None` while the node is free.
    pub(super) key: Option<K>,
    pub(super) hash: u64,
    /// The list of its member in its class, or `short` or `granted`.
    fifo: Links,
    /// All ready entries of a class by the time at which they came into it.
    age: Links,
    /// When a delayed entry becomes ready; when a running one does so again.
    pub(super) due: Time,
    /// When it was added, for the time that it waited.
    pub(super) since: Time,
    /// When it came into its class.
    pub(super) in_class_since: Time,
    pub(super) memory: u64,
    pub(super) fuel: u64,
    /// What its tenant is charged with while it runs or is granted.
    pub(super) charged: u64,
    pub(super) member: u32,
    /// The number of its ticket, while it runs.
    pub(super) ticket: u32,
    /// The reservation under which it was started.
    pub(super) reservation: u32,
    pub(super) state: State,
    pub(super) class: u8,
    /// Running, and to become ready again at `due`.
    pub(super) again: bool,
}

impl<K> Entry<K> {
    pub(super) fn new(key: K, hash: u64, member: u32, class: u8, cost: Cost, now: Time) -> Self {
        Self {
            key: Some(key),
            hash,
            fifo: Links::NONE,
            age: Links::NONE,
            due: now,
            since: now,
            in_class_since: now,
            memory: cost.memory,
            fuel: cost.fuel,
            charged: 0,
            member,
            ticket: 0,
            reservation: 0,
            state: State::Delayed,
            class,
            again: false,
        }
    }
}

/// Which list an entry is in.
pub(super) const FIFO: usize = 0;
pub(super) const AGE: usize = 1;

impl<K> Node for Entry<K> {
    fn links(&self, which: usize) -> &Links {
        if which == FIFO { &self.fifo } else { &self.age }
    }

    fn links_mut(&mut self, which: usize) -> &mut Links {
        if which == FIFO { &mut self.fifo } else { &mut self.age }
    }
}

/// Why a tenant takes no turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parked {
    /// It does take turns.
    No,
    /// It runs as many as it may; perhaps an entry of it waits for the tenant's memory.
    Quota,
    /// An entry of it waits for memory of all.
    Short,
    /// Its fuel is used up until then.
    Fuel(Time),
}

/// A tenant.
#[derive(Debug)]
pub(super) struct Group<G> {
    pub(super) key: Option<G>,
    pub(super) hash: u64,
    /// Its places in the rings of the classes.
    links: [Links; CLASSES],
    /// The members that have something in a class.
    pub(super) rings: [List; CLASSES],
    pub(super) quota: Quota,
    pub(super) parked: Parked,
    /// The entry that waits for memory of the tenant.
    pub(super) blocked: u32,
    pub(super) members: u32,
    /// Running and granted.
    pub(super) running: u32,
    pub(super) memory: u64,
    /// What is left of its fuel at `fuel_at`; below zero when the last ones used more than there was.
    pub(super) fuel: i64,
    pub(super) fuel_at: Time,
    /// The next point in time at which the fuel is looked at.
    pub(super) timer: Option<Time>,
}

impl<G> Group<G> {
    pub(super) fn new(key: G, hash: u64, quota: Quota, now: Time) -> Self {
        Self {
            key: Some(key),
            hash,
            links: [Links::NONE; CLASSES],
            rings: [List::EMPTY; CLASSES],
            quota,
            parked: Parked::No,
            blocked: NIL,
            members: 0,
            running: 0,
            memory: 0,
            fuel: quota.fuel_most(),
            fuel_at: now,
            timer: None,
        }
    }

    /// Brings the fuel up to date.
    pub(super) fn refuel(&mut self, now: Time) {
        let Some(rate) = self.quota.fuel else { return };
        let gained = now.since(self.fuel_at).as_nanos().saturating_mul(u128::from(rate.per_second)) / 1_000_000_000;
        // So little that it would be lost in rounding counts later.
        if gained > 0 {
            let gained = i64::try_from(gained).unwrap_or(i64::MAX);
            self.fuel = self.fuel.saturating_add(gained).min(self.quota.fuel_most());
            self.fuel_at = now;
        }
    }

    /// When the fuel reaches this much.
    pub(super) fn fuel_reaches(&self, wanted: i64) -> Time {
        let Some(rate) = self.quota.fuel else { return self.fuel_at };
        let missing = u128::try_from(i128::from(wanted) - i128::from(self.fuel)).unwrap_or(0);
        let nanos = (missing * 1_000_000_000).div_ceil(u128::from(rate.per_second.max(1)));
        self.fuel_at + std::time::Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl<G> Node for Group<G> {
    fn links(&self, which: usize) -> &Links {
        &self.links[which]
    }

    fn links_mut(&mut self, which: usize) -> &mut Links {
        &mut self.links[which]
    }
}

/// A part of a tenant that takes turns with the other parts.
#[derive(Debug)]
pub(super) struct Member<M> {
    pub(super) key: Option<M>,
    pub(super) hash: u64,
    /// Its places in its tenant's rings.
    links: [Links; CLASSES],
    /// What is ready, class by class.
    pub(super) lists: [List; CLASSES],
    pub(super) group: u32,
    /// Whatever state they are in.
    pub(super) entries: u32,
}

impl<M> Member<M> {
    pub(super) fn new(key: M, hash: u64, group: u32) -> Self {
        Self { key: Some(key), hash, links: [Links::NONE; CLASSES], lists: [List::EMPTY; CLASSES], group, entries: 0 }
    }
}

impl<M> Node for Member<M> {
    fn links(&self, which: usize) -> &Links {
        &self.links[which]
    }

    fn links_mut(&mut self, which: usize) -> &mut Links {
        &mut self.links[which]
    }
}

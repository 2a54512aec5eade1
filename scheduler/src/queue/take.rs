//! Whose turn it is, and what becomes free at the end of one.

use std::cmp::Reverse;
use std::hash::Hash;
use std::time::Duration;

use super::entry::{FIFO, Parked, State};
use super::slab::NIL;
use super::{CLASSES, Queue};
use crate::time::Time;

/// The share of the turns that a class has while all wait, the lowest first.
const SHARES: [i32; CLASSES] = [1, 3, 9];

/// Stands for a key that was taken; [`Queue::finish`] wants it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket {
    at: u32,
    number: u32,
}

/// A key that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken<K> {
    /// To finish it with.
    pub ticket: Ticket,
    /// The key.
    pub key: K,
    /// How long it has been ready.
    pub waited: Duration,
    /// The memory that is set aside for it: what it asked for when it was added the last time.
    pub memory: u64,
}

/// What becomes of a key that was finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finished {
    /// It is not in the queue any more.
    Done,
    /// It was added meanwhile, and waits again.
    Again,
    /// The ticket was used before. Nothing was done.
    Stale,
}

impl<K: Hash + Eq + Clone, G: Hash + Eq + Clone, M: Hash + Eq + Clone> Queue<K, G, M> {
    /// The key whose turn it is; `None` when none may run now.
    pub fn take(&mut self, now: Time) -> Option<Taken<K>> {
        self.advance(now);
        if self.running() >= self.settings.slots {
            return None;
        }
        let granted = self.granted.front();
        if granted != NIL {
            self.granted.remove(&mut self.entries, FIFO, granted);
            return self.start(granted, now);
        }
        while let Some(class) = self.next_class() {
            let group = self.rings[class].front();
            let node = &mut self.groups[group];
            node.refuel(now);
            if node.running >= node.quota.running {
                self.park(group, Parked::Quota);
                continue;
            }
            if node.fuel <= 0 {
                let due = node.fuel_reaches(1);
                self.park(group, Parked::Fuel(due));
                self.wake_for_fuel(group, due);
                continue;
            }
            let member = node.rings[class].front();
            let at = self.members[member].lists[class].front();
            let memory = self.entries[at].memory;
            let of_tenant = node.memory.saturating_add(memory) <= node.quota.memory;
            if !of_tenant || !self.fits(memory) {
                self.unlist(at);
                self.park(group, if of_tenant { Parked::Short } else { Parked::Quota });
                self.groups[group].blocked = at;
                if of_tenant {
                    self.reserve(at);
                } else {
                    self.set_state(at, State::AtQuota);
                }
                continue;
            }
            self.count_turn(class);
            self.unlist(at);
            self.rotate(group, member, class);
            self.charge(at);
            return self.start(at, now);
        }
        None
    }

    /// Gives a key's slot and memory back, and takes what it used off its tenant's fuel.
    pub fn finish(&mut self, ticket: Ticket, fuel: u64, now: Time) -> Finished {
        let Ticket { at, number } = ticket;
        if at >= self.entries.bound() {
            return Finished::Stale;
        }
        let entry = &self.entries[at];
        if entry.key.is_none() || entry.state != State::Running || entry.ticket != number {
            return Finished::Stale;
        }
        let (again, due, group) = (entry.again, entry.due, self.members[entry.member].group);
        self.discharge(at);
        let node = &mut self.groups[group];
        if node.quota.fuel.is_some() {
            node.refuel(now);
            node.fuel = node.fuel.saturating_sub(i64::try_from(fuel).unwrap_or(i64::MAX));
        }
        let finished = if again {
            self.set_again(at, false);
            if due > now {
                self.delay(at, due);
            } else {
                self.make_ready(at, now);
            }
            Finished::Again
        } else {
            self.remove(at, now);
            Finished::Done
        };
        if self.has_group(group) && self.groups[group].parked == Parked::Quota {
            self.resume(group);
        }
        self.grant();
        finished
    }

    /// What time alone changes: delays that are over, fuel that is there again, classes to move up in.
    fn advance(&mut self, now: Time) {
        while let Some(at) = self.delayed.pop_due(&mut self.entries, now) {
            self.make_ready(at, now);
        }
        while let Some(Reverse((due, group))) = self.fuel_timers.peek().copied()
            && due <= now
        {
            self.fuel_timers.pop();
            if !self.has_group(group) {
                continue;
            }
            let node = &mut self.groups[group];
            node.timer = node.timer.filter(|timer| *timer > due);
            if matches!(node.parked, Parked::Fuel(until) if until <= now) {
                self.resume(group);
            }
            self.remove_group(group, now);
        }
        for class in (0..CLASSES - 1).rev() {
            loop {
                let oldest = self.ages[class].front();
                if oldest == NIL || self.entries[oldest].in_class_since + self.settings.age > now {
                    break;
                }
                self.unlist(oldest);
                self.entries[oldest].class += 1;
                self.list(oldest, now);
            }
        }
    }

    /// The class whose turn it is: each saves up its share and pays for its turn with what all saved.
    fn next_class(&self) -> Option<usize> {
        let waits = (0..CLASSES).filter(|class| !self.rings[*class].is_empty());
        waits.max_by_key(|class| (self.credits[*class] + SHARES[*class], *class))
    }

    fn count_turn(&mut self, served: usize) {
        let mut all = 0;
        for ((ring, credit), share) in self.rings.iter().zip(&mut self.credits).zip(SHARES) {
            if ring.is_empty() {
                // Nobody saves up while nobody waits.
                *credit = 0;
            } else {
                *credit += share;
                all += share;
            }
        }
        self.credits[served] -= all;
    }

    /// The next turn is another member's, and another tenant's.
    fn rotate(&mut self, group: u32, member: u32, class: usize) {
        let node = &mut self.groups[group];
        if !self.members[member].lists[class].is_empty() {
            node.rings[class].remove(&mut self.members, class, member);
            node.rings[class].push_back(&mut self.members, class, member);
        }
        if !node.rings[class].is_empty() {
            self.rings[class].remove(&mut self.groups, class, group);
            self.rings[class].push_back(&mut self.groups, class, group);
        }
    }

    /// Takes a tenant out of all rings until [`Queue::resume`].
    fn park(&mut self, group: u32, why: Parked) {
        for class in 0..CLASSES {
            if !self.groups[group].rings[class].is_empty() {
                self.rings[class].remove(&mut self.groups, class, group);
            }
        }
        self.groups[group].parked = why;
    }

    /// Lets a parked tenant take turns again, its blocked entry first. It stays parked while that one can't be served.
    pub(super) fn resume(&mut self, group: u32) {
        if !self.has_group(group) || self.groups[group].parked == Parked::No {
            return;
        }
        let blocked = self.groups[group].blocked;
        if blocked != NIL {
            let node = &self.groups[group];
            let memory = self.entries[blocked].memory;
            let waits = self.entries[blocked].state == State::Reserving;
            if waits || node.running >= node.quota.running || node.memory.saturating_add(memory) > node.quota.memory {
                return;
            }
            if !self.fits(memory) {
                self.groups[group].parked = Parked::Short;
                self.reserve(blocked);
                return;
            }
            self.groups[group].blocked = NIL;
            self.charge(blocked);
            self.set_state(blocked, State::Granted);
            self.granted.push_back(&mut self.entries, FIFO, blocked);
        }
        let node = &mut self.groups[group];
        node.parked = Parked::No;
        for class in 0..CLASSES {
            if !self.groups[group].rings[class].is_empty() {
                self.rings[class].push_back(&mut self.groups, class, group);
            }
        }
    }

    /// Whether this much may be used now, beside the reservation if there is one.
    fn fits(&self, memory: u64) -> bool {
        let all = self.settings.memory;
        let first = self.short.front();
        let kept = if first == NIL { 0 } else { self.entries[first].memory };
        let free = self.memory.saturating_add(memory) <= all;
        free && (first == NIL || self.beside.saturating_add(memory).saturating_add(kept) <= all)
    }

    /// Puts an entry that is in no list behind those that wait for memory.
    fn reserve(&mut self, at: u32) {
        self.set_state(at, State::Reserving);
        if self.short.is_empty() {
            self.next_reservation();
        }
        self.short.push_back(&mut self.entries, FIFO, at);
    }

    fn next_reservation(&mut self) {
        self.reservation = self.reservation.wrapping_add(1);
        self.beside = 0;
    }

    /// Takes an entry that waits for memory out of their list.
    pub(super) fn leave_short(&mut self, at: u32) {
        let first = self.short.front() == at;
        self.short.remove(&mut self.entries, FIFO, at);
        if first {
            self.next_reservation();
        }
        let group = self.members[self.entries[at].member].group;
        self.groups[group].blocked = NIL;
    }

    /// Gives memory to those that wait for it, in their order.
    pub(super) fn grant(&mut self) {
        loop {
            let first = self.short.front();
            if first == NIL || self.memory.saturating_add(self.entries[first].memory) > self.settings.memory {
                return;
            }
            self.charge(first);
            self.leave_short(first);
            self.set_state(first, State::Granted);
            self.granted.push_back(&mut self.entries, FIFO, first);
            let group = self.members[self.entries[first].member].group;
            self.resume(group);
        }
    }

    fn charge(&mut self, at: u32) {
        let reserved = !self.short.is_empty() && self.short.front() != at;
        let entry = &mut self.entries[at];
        entry.charged = entry.memory;
        // Numbers begin with one, so that none means none.
        entry.reservation = if reserved { self.reservation } else { 0 };
        let (charged, group) = (entry.charged, self.members[entry.member].group);
        if reserved {
            self.beside += charged;
        }
        self.memory += charged;
        self.groups[group].memory += charged;
        self.groups[group].running += 1;
    }

    pub(super) fn discharge(&mut self, at: u32) {
        let entry = &mut self.entries[at];
        let charged = std::mem::take(&mut entry.charged);
        let group = self.members[entry.member].group;
        if entry.reservation != 0 && entry.reservation == self.reservation && !self.short.is_empty() {
            self.beside -= charged;
        }
        self.memory -= charged;
        self.groups[group].memory -= charged;
        self.groups[group].running -= 1;
    }

    fn start(&mut self, at: u32, now: Time) -> Option<Taken<K>> {
        self.set_state(at, State::Running);
        self.tickets = self.tickets.wrapping_add(1);
        let entry = &mut self.entries[at];
        entry.ticket = self.tickets;
        let (waited, memory) = (now.since(entry.since), entry.charged);
        Some(Taken { ticket: Ticket { at, number: self.tickets }, key: entry.key.clone()?, waited, memory })
    }

    fn has_group(&self, at: u32) -> bool {
        at < self.groups.bound() && self.groups[at].key.is_some()
    }

    pub(super) fn wake_for_fuel(&mut self, group: u32, due: Time) {
        let node = &mut self.groups[group];
        if node.timer.is_none_or(|timer| due < timer) {
            node.timer = Some(due);
            self.fuel_timers.push(Reverse((due, group)));
        }
    }
}

//! A work queue with one entry a key, fair between tenants, with priorities, delays and quotas.
//!
//! Nothing in here knows about renders, threads or clocks: keys and tenants are any values, and every call says what
//! time it is. All calls are constant in time, apart from delays (logarithmic) and changes of settings.
//!
//! - **One entry a key.** A key that waits is not queued twice. A key that runs is never given out a second time; when
//!   it is added meanwhile, it becomes ready when it is [finished](Queue::finish).
//! - **Order.** Three classes share the turns 9 : 3 : 1 while all of them wait. Within a class tenants take turns,
//!   within a tenant its members do, and within a member the first comes first. Who has waited for
//!   [`Settings::age`] moves up a class: what was added with the lowest priority is in the highest after twice that.
//! - **Delays.** Of several the earliest wins; an add without one overtakes them all.
//!   An operator bounds which class a tenant may ask for.
//! - **Quotas.** Running ones in all and for a tenant, memory in all and for a tenant, fuel for a tenant. A tenant at
//!   its quota waits in order, costs nothing and holds up nobody else. The first that needs more memory than is free
//!   has it reserved: others may only use what will be left beside it. What can never be served is refused at once.
//! - **Bounded.** [`Queue::add`] never waits; it says [`AddError::Full`].

mod add;
mod delayed;
mod entry;
mod settings;
mod slab;
mod take;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::hash_map::RandomState;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasher as _, Hash};

use hashbrown::HashTable;

use crate::model::Priority;
use crate::time::Time;
use delayed::Delayed;
use entry::{Entry, Group, Member, STATES};
use slab::{List, Slab};

pub use add::{AddError, Added, Request};
pub use entry::State;
pub use settings::{Cost, Fuel, Quota, Resource, Settings};
pub use take::{Finished, Taken, Ticket};

/// How many classes of priority there are; the highest number goes first.
const CLASSES: usize = 3;

/// How many entries there are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lengths {
    /// Wait for a point in time.
    pub delayed: usize,
    /// Wait for their turn.
    pub ready: usize,
    /// Wait for something of their tenant's to end.
    pub at_quota: usize,
    /// Wait for memory that is reserved for them.
    pub reserving: usize,
    /// Have their memory and wait for a slot.
    pub granted: usize,
    /// Taken and not finished.
    pub running: usize,
    /// Of the running, those that will be ready again when they are finished.
    pub again: usize,
}

impl Lengths {
    /// All that wait: everything that does not run. Those that run and wait for another turn are not among them.
    pub fn waiting(&self) -> usize {
        self.delayed + self.ready + self.at_quota + self.reserving + self.granted
    }
}

/// The queue. `K` is what is queued, `G` a tenant, `M` a part of a tenant that takes turns with its other parts.
///
/// ```
/// use portico_scheduler::queue::{Cost, Queue, Request, Settings};
/// use portico_scheduler::{model::Priority, time::Time};
/// let mut queue = Queue::new(Settings { slots: 1, ..Settings::default() });
/// let now = Time::default();
/// let request = Request { tenant: &"namespace", member: &"repository", priority: Priority::Normal, cost: Cost::default() };
/// queue.add(&"package", request, now).unwrap();
/// let taken = queue.take(now).unwrap();
/// assert_eq!(taken.key, "package");
/// assert!(queue.take(now).is_none());
/// queue.finish(taken.ticket, 0, now);
/// ```
#[derive(Debug)]
pub struct Queue<K, G, M> {
    settings: Settings,
    quotas: HashMap<G, Quota>,
    hasher: RandomState,
    entries: Slab<Entry<K>>,
    keys: HashTable<u32>,
    groups: Slab<Group<G>>,
    group_keys: HashTable<u32>,
    members: Slab<Member<M>>,
    member_keys: HashTable<u32>,
    delayed: Delayed,
    /// The tenants that have something ready, class by class.
    rings: [List; CLASSES],
    /// All ready entries, class by class, by the time at which they came into the class.
    ages: [List; CLASSES],
    /// What a class has saved up for its turn.
    credits: [i32; CLASSES],
    /// Entries that need more memory than is free, the earliest first: it has the reservation.
    short: List,
    granted: List,
    /// Points in time at which a tenant's fuel is to be looked at.
    fuel_timers: BinaryHeap<Reverse<(Time, u32)>>,
    counts: [usize; STATES],
    again: usize,
    /// Of the running and granted.
    memory: u64,
    /// Of those of them that were started beside the present reservation.
    beside: u64,
    reservation: u32,
    tickets: u32,
    draining: bool,
}

impl<K: Hash + Eq + Clone, G: Hash + Eq + Clone, M: Hash + Eq + Clone> Queue<K, G, M> {
    /// An empty queue.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            quotas: HashMap::new(),
            hasher: RandomState::new(),
            entries: Slab::new(),
            keys: HashTable::new(),
            groups: Slab::new(),
            group_keys: HashTable::new(),
            members: Slab::new(),
            member_keys: HashTable::new(),
            delayed: Delayed::default(),
            rings: [List::EMPTY; CLASSES],
            ages: [List::EMPTY; CLASSES],
            credits: [0; CLASSES],
            short: List::EMPTY,
            granted: List::EMPTY,
            fuel_timers: BinaryHeap::new(),
            counts: [0; STATES],
            again: 0,
            memory: 0,
            beside: 0,
            reservation: 0,
            tickets: 0,
            draining: false,
        }
    }

    /// How many entries there are in each state.
    pub fn lengths(&self) -> Lengths {
        let of = |state: State| self.counts[state as usize];
        Lengths {
            delayed: of(State::Delayed),
            ready: of(State::Ready),
            at_quota: of(State::AtQuota),
            reserving: of(State::Reserving),
            granted: of(State::Granted),
            running: of(State::Running),
            again: self.again,
        }
    }

    /// How many keys there are, whatever state they are in.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no key at all.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Where a key is, and whether it runs and waits for another turn.
    pub fn state(&self, key: &K) -> Option<(State, bool)> {
        let entry = &self.entries[self.find(key)?];
        Some((entry.state, entry.again))
    }

    /// Since when the key that has waited longest among those that could run has waited. Looks at every entry: for
    /// metrics.
    pub fn oldest(&self) -> Option<Time> {
        let waits = |state| !matches!(state, State::Delayed | State::Running);
        self.entries.iter().filter(|(_, e)| e.key.is_some() && waits(e.state)).map(|(_, e)| e.since).min()
    }

    /// Memory of those that run or are granted it, in bytes.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// When to call [`Queue::take`] again if nothing else happens; `None` when time alone changes nothing.
    pub fn next_wake(&self) -> Option<Time> {
        if self.running() >= self.settings.slots {
            return None;
        }
        let fuel = self.fuel_timers.peek().map(|timer| timer.0.0);
        self.delayed.next().into_iter().chain(fuel).min()
    }

    /// From now on nothing is added. What waits is still given out.
    pub fn drain(&mut self) {
        self.draining = true;
    }

    /// Whether [`Queue::drain`] was called and everything has been finished since.
    pub fn is_drained(&self) -> bool {
        self.draining && self.is_empty()
    }

    fn running(&self) -> usize {
        self.counts[State::Running as usize]
    }

    fn find(&self, key: &K) -> Option<u32> {
        self.find_hashed(key, self.hasher.hash_one(key))
    }

    fn find_hashed(&self, key: &K, hash: u64) -> Option<u32> {
        let same = |at: &u32| {
            let entry = &self.entries[*at];
            entry.hash == hash && entry.key.as_ref() == Some(key)
        };
        self.keys.find(hash, same).copied()
    }

    /// Counts an entry's move from one state to another.
    fn set_state(&mut self, at: u32, state: State) {
        let old = std::mem::replace(&mut self.entries[at].state, state);
        self.counts[old as usize] -= 1;
        self.counts[state as usize] += 1;
    }
}

fn class_of(priority: Priority) -> u8 {
    match priority {
        Priority::Low => 0,
        Priority::Normal => 1,
        Priority::High => 2,
    }
}

//! What the queue may hold and give out.

use std::collections::HashSet;
use std::hash::Hash;
use std::time::Duration;

use super::entry::{FIFO, Group, Parked};
use super::slab::NIL;
use super::{Queue, class_of};
use crate::model::Priority;
use crate::time::Time;

/// What the queue may hold and give out at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Keys that it holds, the running ones included.
    ///
    /// - Problem: whoever adds faster than the workers work fills the memory.
    /// - Mechanism: [`Queue::add`] answers [`super::AddError::Full`]; the caller finds the work again where it came from.
    /// - Default: 100,000.
    /// - Does not stop: long keys; a key costs some 250 bytes and its own text.
    pub keys: usize,

    /// Keys that run at once. None: nothing is given out, but adds are taken and refused as ever.
    ///
    /// - Default: 0. The owner of the workers sets it.
    pub slots: usize,

    /// Bytes of memory that the running ones may use together.
    ///
    /// - Problem: as many large renders as there are slots do not fit into the machine.
    /// - Mechanism: the [`Cost::memory`] of all that run stays within it. The first that does not fit has a
    ///   reservation: what is freed is kept for it, and others may only use what will be left beside it.
    /// - Default: no bound.
    /// - Does not stop: work that uses more than it said; the sandbox has that bound.
    pub memory: u64,

    /// What a tenant may use that has no quota of its own.
    pub quota: Quota,

    /// How long an entry waits in a class before it moves up into the next.
    ///
    /// - Problem: a class that is never empty starves the lower ones.
    /// - Mechanism: whoever waits this long moves up; besides, the lower classes always have their share of the turns.
    /// - Default: 30 s.
    /// - Does not stop: too much work for the workers; then the highest class too has to wait.
    pub age: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { keys: 100_000, slots: 0, memory: u64::MAX, quota: Quota::default(), age: Duration::from_secs(30) }
    }
}

/// What one tenant may use. By default there is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Keys that run at once.
    pub running: u32,
    /// Bytes of memory that they may use together.
    pub memory: u64,
    /// Fuel over time; `None`: as much as they want.
    pub fuel: Option<Fuel>,
    /// The most urgent class that it may ask for.
    ///
    /// - Problem: whoever may say how urgent something is says the most urgent.
    /// - Mechanism: what asks for a higher class is added with this one, and ages from there as any other.
    /// - Default: [`Priority::High`]: as it asks for.
    /// - Does not stop: ageing, which is everybody's right.
    pub highest: Priority,
}

impl Default for Quota {
    fn default() -> Self {
        Self { running: u32::MAX, memory: u64::MAX, fuel: None, highest: Priority::High }
    }
}

/// Fuel that a tenant may use over time. Work may begin while there is any left; what it used is taken off at its end.
/// So a tenant may overdraw by what its running work may use, and pays it back before the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fuel {
    /// What a tenant gets each second.
    pub per_second: u64,
    /// What it can save up.
    pub most: u64,
}

impl Quota {
    pub(super) fn fuel_most(&self) -> i64 {
        self.fuel.map_or(i64::MAX, |fuel| i64::try_from(fuel.most).unwrap_or(i64::MAX))
    }
}

/// What a key will use while it runs, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Bytes of memory.
    pub memory: u64,
    /// Fuel. Only looked at when it is added: more than a tenant can save up is refused.
    pub fuel: u64,
}

/// What there is never enough of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resource {
    /// Memory, in bytes.
    Memory,
    /// Fuel.
    Fuel,
    /// Running ones: the tenant may have none.
    Running,
}

impl Resource {
    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Fuel => "fuel",
            Self::Running => "running",
        }
    }
}

impl<K: Hash + Eq + Clone, G: Hash + Eq + Clone, M: Hash + Eq + Clone> Queue<K, G, M> {
    /// What the queue may hold and give out.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How many may run at once from now on. Those that run go on.
    pub fn set_slots(&mut self, slots: usize) {
        self.settings.slots = slots;
    }

    /// Other settings. Gives back the keys that wait and can never be served under them; they are forgotten.
    #[must_use]
    pub fn set_settings(&mut self, settings: Settings, now: Time) -> Vec<K> {
        self.settings = settings;
        self.apply(now)
    }

    /// Another quota for a tenant; `None` for that of all. Gives back what can never be served under it, as
    /// [`Queue::set_settings`] does.
    #[must_use]
    pub fn set_quota(&mut self, tenant: &G, quota: Option<Quota>, now: Time) -> Vec<K> {
        match quota {
            Some(quota) => self.quotas.insert(tenant.clone(), quota),
            None => self.quotas.remove(tenant),
        };
        self.apply(now)
    }

    pub(super) fn quota_of(&self, tenant: &G) -> Quota {
        self.quotas.get(tenant).copied().unwrap_or(self.settings.quota)
    }

    /// What there is never enough of for this cost.
    pub(super) fn never(&self, cost: Cost, quota: &Quota) -> Option<(Resource, u64, u64)> {
        let memory = self.settings.memory.min(quota.memory);
        if cost.memory > memory {
            return Some((Resource::Memory, cost.memory, memory));
        }
        if quota.running == 0 {
            return Some((Resource::Running, 1, 0));
        }
        let fuel = quota.fuel.map(|fuel| if fuel.per_second == 0 { 0 } else { fuel.most })?;
        (fuel == 0 || cost.fuel > fuel).then_some((Resource::Fuel, cost.fuel.max(1), fuel))
    }

    /// Brings tenants and waiting entries in line with the settings.
    fn apply(&mut self, now: Time) -> Vec<K> {
        let mut lowered = HashSet::new();
        for at in 0..self.groups.bound() {
            let Some(key) = &self.groups[at].key else { continue };
            let quota = self.quota_of(key);
            if quota.highest < self.groups[at].quota.highest {
                lowered.insert(at);
            }
            self.set_group_quota(at, quota, now);
        }
        if !lowered.is_empty() {
            self.lower(&lowered, now);
        }
        // Memory that was granted under the old settings may be more than there is now.
        while self.granted.front() != NIL {
            let at = self.granted.front();
            self.granted.remove(&mut self.entries, FIFO, at);
            self.discharge(at);
            let since = self.entries[at].since;
            self.make_ready(at, now);
            self.entries[at].since = since;
        }
        let waiting: Vec<u32> = self
            .entries
            .iter()
            .filter(|(_, e)| e.key.is_some() && e.state != super::State::Running)
            .map(|(at, _)| at)
            .collect();
        let mut hopeless = Vec::new();
        for at in waiting {
            let entry = &self.entries[at];
            let quota = self.groups[self.members[entry.member].group].quota;
            let cost = Cost { memory: entry.memory, fuel: entry.fuel };
            if self.never(cost, &quota).is_some()
                && let Some(key) = self.entries[at].key.clone()
            {
                self.forget(&key, now);
                hopeless.push(key);
            }
        }
        // Whoever waited for something may have it now; who still may not waits again at its next turn.
        for at in 0..self.groups.bound() {
            if self.groups[at].key.is_some() && self.groups[at].parked != Parked::No {
                self.resume(at);
            }
        }
        self.grant();
        hopeless
    }

    /// Takes what these tenants have in a class that they may not ask for any more down to the highest that they may.
    fn lower(&mut self, tenants: &HashSet<u32>, now: Time) {
        for at in 0..self.entries.bound() {
            let entry = &self.entries[at];
            if entry.key.is_none() {
                continue;
            }
            let (listed, group) = (entry.state == super::State::Ready, self.members[entry.member].group);
            let highest = class_of(self.groups[group].quota.highest);
            if entry.class <= highest || !tenants.contains(&group) {
                continue;
            }
            if listed {
                self.unlist(at);
            }
            self.entries[at].class = highest;
            if listed {
                self.list(at, now);
            }
        }
    }

    fn set_group_quota(&mut self, at: u32, quota: Quota, now: Time) {
        let group: &mut Group<G> = &mut self.groups[at];
        group.refuel(now);
        let used = group.quota.fuel_most().saturating_sub(group.fuel);
        let had_fuel = group.quota.fuel.is_some();
        group.quota = quota;
        group.fuel =
            if had_fuel && quota.fuel.is_some() { quota.fuel_most().saturating_sub(used) } else { quota.fuel_most() };
        group.fuel_at = now;
    }
}

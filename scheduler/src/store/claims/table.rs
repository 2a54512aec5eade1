//! Registrations and claims of a store that lives in one process.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use super::{Claim, ClaimOutcome, Instance, InstanceId, Registration};
use crate::model::{Revision, RevisionKey};
use crate::store::StoreError;

/// Registrations and claims of a store that lives in one process: whoever reaches the store reaches the table, and with
/// the process both end. Pure; its owner locks it.
#[derive(Debug)]
pub struct ClaimTable {
    lease_ms: u64,
    last: u64,
    instances: BTreeMap<InstanceId, Entry>,
    claims: HashMap<RevisionKey, Held>,
}

#[derive(Debug)]
struct Held {
    claim: Claim,
    /// When it was made or last named by its holder.
    named_ms: u64,
}

#[derive(Debug)]
struct Entry {
    instance: Instance,
    keys: HashSet<RevisionKey>,
}

impl ClaimTable {
    /// How long a registration lives without a heartbeat, unless its maker says otherwise.
    pub const LEASE: Duration = Duration::from_secs(15);

    /// A table with this lease time, at least a millisecond.
    pub fn new(lease: Duration) -> Self {
        let lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX).max(1);
        Self { lease_ms, last: 0, instances: BTreeMap::new(), claims: HashMap::new() }
    }

    /// Claims that are held.
    pub fn held(&self) -> usize {
        self.claims.len()
    }

    /// See [`super::Claims::register`].
    pub fn register(&mut self, registration: Registration, now_ms: u64) -> Instance {
        self.expire(now_ms);
        self.end(&registration.id);
        self.last += 1;
        let instance = Instance { registration, epoch: self.last, until_ms: now_ms.saturating_add(self.lease_ms) };
        let entry = Entry { instance: instance.clone(), keys: HashSet::new() };
        self.instances.insert(instance.registration.id.clone(), entry);
        instance
    }

    /// See [`super::Claims::heartbeat`].
    pub fn heartbeat(&mut self, instance: &Instance, held: &[Claim], now_ms: u64) -> Result<Vec<Instance>, StoreError> {
        self.expire(now_ms);
        let lease_ms = self.lease_ms;
        self.live(instance)?.instance.until_ms = now_ms.saturating_add(lease_ms);
        for claim in held.iter().filter(|claim| claim.instance == instance.registration.id) {
            if let Some(named) = self.claims.get_mut(&claim.key).filter(|named| named.claim == *claim) {
                named.named_ms = now_ms;
            }
        }
        // Its holder has had time to learn of it and does not: the answer was lost, or the release.
        let claims = &self.claims;
        let over =
            |key: &&RevisionKey| claims.get(*key).is_some_and(|held| held.named_ms.saturating_add(lease_ms) <= now_ms);
        let keys = self.instances.get(&instance.registration.id).map(|entry| entry.keys.iter());
        let unknown: Vec<_> = keys.into_iter().flatten().filter(over).cloned().collect();
        for key in &unknown {
            self.forget(key);
        }
        Ok(self.instances.values().map(|entry| entry.instance.clone()).collect())
    }

    /// See [`super::Claims::unregister`].
    pub fn unregister(&mut self, instance: &Instance, now_ms: u64) {
        self.expire(now_ms);
        if self.live(instance).is_ok() {
            self.end(&instance.registration.id);
        }
    }

    /// See [`super::Claims::claim`]; `current` is the revision as it is now, read under the same lock.
    pub fn claim(
        &mut self,
        instance: &Instance,
        key: &RevisionKey,
        current: Option<Revision>,
        now_ms: u64,
    ) -> Result<ClaimOutcome, StoreError> {
        self.expire(now_ms);
        self.live(instance)?;
        let Some(revision) = current.filter(|revision| revision.key == *key) else {
            self.forget(key);
            return Ok(ClaimOutcome::Gone);
        };
        let id = &instance.registration.id;
        if let Some(held) = self.claims.get(key).filter(|held| held.claim.instance != *id) {
            let by = held.claim.instance.clone();
            let until_ms = self.instances.get(&by).map_or(now_ms, |entry| entry.instance.until_ms);
            return Ok(ClaimOutcome::Held { by, until_ms });
        }
        if !revision.is_unfinished() {
            self.forget(key);
            return Ok(ClaimOutcome::Finished(Box::new(revision)));
        }
        // Also for whoever has it already: that one's release of the claim before, which this one may have overtaken, must
        // not give this one back.
        self.last += 1;
        let claim = Claim { key: key.clone(), instance: id.clone(), fence: self.last };
        self.claims.insert(key.clone(), Held { claim: claim.clone(), named_ms: now_ms });
        self.live(instance)?.keys.insert(key.clone());
        Ok(ClaimOutcome::Claimed(claim, Box::new(revision)))
    }

    /// See [`super::Claims::release`].
    pub fn release(&mut self, claim: &Claim) {
        if self.claims.get(&claim.key).is_some_and(|held| held.claim == *claim) {
            self.forget(&claim.key);
        }
    }

    /// Forgets the claim on a revision that is gone.
    pub fn forget(&mut self, key: &RevisionKey) {
        if let Some(held) = self.claims.remove(key)
            && let Some(entry) = self.instances.get_mut(&held.claim.instance)
        {
            entry.keys.remove(key);
        }
    }

    /// Drops all registrations and claims: what a store forgets whose session with its clients broke.
    pub fn clear(&mut self) {
        self.instances.clear();
        self.claims.clear();
    }

    fn live(&mut self, instance: &Instance) -> Result<&mut Entry, StoreError> {
        let id = &instance.registration.id;
        self.instances
            .get_mut(id)
            .filter(|entry| entry.instance.epoch == instance.epoch)
            .ok_or_else(|| StoreError::NotRegistered(id.clone()))
    }

    fn expire(&mut self, now_ms: u64) {
        let over = |entry: &&Entry| entry.instance.until_ms <= now_ms;
        let ids: Vec<_> = self.instances.values().filter(over).map(|e| e.instance.registration.id.clone()).collect();
        for id in &ids {
            self.end(id);
        }
    }

    fn end(&mut self, id: &InstanceId) {
        for key in self.instances.remove(id).map(|entry| entry.keys).unwrap_or_default() {
            self.claims.remove(&key);
        }
    }
}

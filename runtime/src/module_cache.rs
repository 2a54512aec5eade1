//! Loaded modules, each loaded once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::error::ModuleError;
use crate::module::{Digest, Module};

/// Modules kept in memory; beyond it, the one that was not used for the longest time goes.
const CAPACITY: usize = 256;

/// What tells modules apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// Part of the program: told apart by address and length.
    Embedded(usize, usize),
    /// Anything else: by the SHA-256 of the wasm.
    Wasm(Digest),
}

type Slot = Arc<OnceLock<Result<Module, ModuleError>>>;

/// Maps keys to loaded modules. Callers that ask for one key at the same time share one load.
#[derive(Default)]
pub(crate) struct ModuleCache {
    slots: Mutex<Slots>,
    digests: Mutex<Vec<(Weak<[u8]>, Digest)>>,
}

#[derive(Default)]
struct Slots {
    by_key: HashMap<Key, (Slot, u64)>,
    /// Counts requests: the order of last uses.
    clock: u64,
}

impl ModuleCache {
    /// The module of this key; `load` runs for the first request only, the others wait for it. A
    /// failure goes to all who waited, and the next request tries again.
    pub(crate) fn get_or_load(
        &self,
        key: Key,
        load: impl FnOnce() -> Result<Module, ModuleError>,
    ) -> Result<Module, ModuleError> {
        let slot = self.slot(key);
        // If `load` panics, the next in line runs its own.
        let result = slot.get_or_init(load).clone();
        if result.is_err() {
            self.forget(key, &slot);
        }
        result
    }

    fn slot(&self, key: Key) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.clock += 1;
        let now = slots.clock;
        if let Some((slot, used)) = slots.by_key.get_mut(&key) {
            *used = now;
            return Arc::clone(slot);
        }
        if slots.by_key.len() >= CAPACITY {
            let oldest = slots.by_key.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| *key);
            if let Some(oldest) = oldest {
                slots.by_key.remove(&oldest);
            }
        }
        let slot = Slot::default();
        slots.by_key.insert(key, (Arc::clone(&slot), now));
        slot
    }

    fn forget(&self, key: Key, failed: &Slot) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.by_key.get(&key).is_some_and(|(slot, _)| Arc::ptr_eq(slot, failed)) {
            slots.by_key.remove(&key);
        }
    }

    /// The digest of bytes that a caller brings again and again, computed once while they live.
    pub(crate) fn digest_of(&self, bytes: &Arc<[u8]>) -> Digest {
        let known = |digests: &mut Vec<(Weak<[u8]>, Digest)>| {
            digests.retain(|(known, _)| known.strong_count() > 0);
            let same = |known: &Weak<[u8]>| std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(bytes));
            digests.iter().find(|(known, _)| same(known)).map(|(_, digest)| *digest)
        };
        if let Some(digest) = known(&mut self.digests.lock().unwrap_or_else(PoisonError::into_inner)) {
            return digest;
        }
        // Not under the lock: hashing takes milliseconds. Two threads may both do it, with one result.
        let digest = Digest::of(bytes);
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        if known(&mut digests).is_none() {
            digests.push((Arc::downgrade(bytes), digest));
        }
        digest
    }
}

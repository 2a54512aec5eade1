//! Loaded modules, each loaded once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use crate::cancel::CancelToken;
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

/// Maps keys to loaded modules. Callers that ask for one key at the same time share one load.
#[derive(Default)]
pub(crate) struct ModuleCache {
    slots: Mutex<Slots>,
    digests: Mutex<Vec<(Weak<[u8]>, Digest)>>,
    /// Requests that found the module, or joined its load.
    pub(crate) hits: AtomicU64,
    /// Requests that began a load.
    pub(crate) misses: AtomicU64,
}

#[derive(Default)]
struct Slots {
    by_key: HashMap<Key, (Arc<Slot>, u64)>,
    /// Counts requests: the order of last uses.
    clock: u64,
}

/// One load, and those who wait for it.
#[derive(Default)]
struct Slot {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    phase: Phase,
    /// Those who want the result.
    waiting: usize,
    /// Ends a load that nobody waits for.
    stop: Option<Box<dyn FnOnce() + Send>>,
}

#[derive(Default)]
enum Phase {
    #[default]
    Loading,
    Done(Module),
    Failed(ModuleError),
    /// Nobody waited any more, or whoever loaded it panicked: whoever asks next loads it.
    Abandoned,
}

/// The duty to load a module; it may be carried to another thread. Dropped without a result, whoever waits next has it.
pub(crate) struct Loading {
    slot: Arc<Slot>,
}

impl ModuleCache {
    /// The module of this key; `load` runs for the first request only, the others wait for it. It may return before the
    /// module is there, when another thread has the [`Loading`]. A failure goes to all who waited, and the next request
    /// tries again. Whoever is cancelled waits no longer; the load goes on for the others.
    pub(crate) fn get_or_load(
        &self,
        key: Key,
        cancel: &CancelToken,
        load: impl FnOnce(Loading),
    ) -> Result<Module, ModuleError> {
        let (mut load, mut counted) = (Some(load), false);
        loop {
            let (slot, first) = self.join(key);
            if !std::mem::replace(&mut counted, true) {
                let counter = if first { &self.misses } else { &self.hits };
                counter.fetch_add(1, Ordering::Relaxed);
            }
            if first && let Some(load) = load.take() {
                load(Loading { slot: Arc::clone(&slot) });
            }
            if let Some(result) = slot.wait(cancel) {
                return result;
            }
            if load.is_none() {
                // Its own load came to nothing: whoever waits with one that was not tried takes over.
                return Err(ModuleError::Compile("it was given up; this is a fault of the program".into()));
            }
        }
    }

    /// The slot of a key, with the caller counted among those who wait. True when it is a new one.
    fn join(&self, key: Key) -> (Arc<Slot>, bool) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.clock += 1;
        let now = slots.clock;
        if let Some((slot, used)) = slots.by_key.get_mut(&key)
            && slot.join()
        {
            *used = now;
            return (Arc::clone(slot), false);
        }
        if slots.by_key.len() >= CAPACITY {
            let oldest = slots.by_key.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| *key);
            if let Some(oldest) = oldest {
                slots.by_key.remove(&oldest);
            }
        }
        let slot = Arc::new(Slot::default());
        slot.state().waiting = 1;
        slots.by_key.insert(key, (Arc::clone(&slot), now));
        (slot, true)
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

impl Slot {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while holding it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more who waits; false when there is nothing to wait for.
    fn join(&self) -> bool {
        let mut state = self.state();
        let useful = matches!(state.phase, Phase::Loading | Phase::Done(_));
        state.waiting += usize::from(useful);
        useful
    }

    /// Waits for the result; `None` when somebody else has to load it.
    fn wait(self: &Arc<Self>, cancel: &CancelToken) -> Option<Result<Module, ModuleError>> {
        let woken = Arc::downgrade(self);
        // A module that is there is not waited for, and needs no hook.
        let loading = matches!(self.state().phase, Phase::Loading);
        let hook = loading.then(|| {
            cancel.on_cancel(move || {
                if let Some(slot) = woken.upgrade() {
                    // Under the lock, so that it can't fall between a look at the flag and the wait.
                    let _state = slot.state();
                    slot.changed.notify_all();
                }
            })
        });
        let mut state = self.state();
        let result = loop {
            match &state.phase {
                Phase::Done(module) => break Some(Ok(module.clone())),
                Phase::Failed(error) => break Some(Err(error.clone())),
                Phase::Abandoned => break None,
                Phase::Loading if cancel.is_cancelled() => break Some(Err(ModuleError::Cancelled)),
                Phase::Loading => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        };
        state.waiting -= 1;
        let stop = if state.waiting == 0 && matches!(state.phase, Phase::Loading) { state.stop.take() } else { None };
        if stop.is_some() {
            state.phase = Phase::Abandoned;
        }
        drop(state);
        drop(hook);
        if let Some(stop) = stop {
            stop();
        }
        result
    }
}

impl Loading {
    /// Lets the load be ended by `stop` when nobody waits for it any more.
    pub(crate) fn stop_with(&self, stop: impl FnOnce() + Send + 'static) {
        self.slot.state().stop = Some(Box::new(stop));
    }

    /// Gives the result to all who wait.
    pub(crate) fn finish(self, result: Result<Module, ModuleError>) {
        self.end(match result {
            Ok(module) => Phase::Done(module),
            Err(error) => Phase::Failed(error),
        });
    }

    fn end(&self, phase: Phase) {
        let mut state = self.slot.state();
        if matches!(state.phase, Phase::Loading) {
            state.phase = phase;
        }
        state.stop = None;
        drop(state);
        self.slot.changed.notify_all();
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        self.end(Phase::Abandoned);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    use super::*;

    fn key() -> Key {
        Key::Embedded(1, 2)
    }

    /// Waits until so many wait for the key's load.
    fn until_waiting(cache: &ModuleCache, count: usize) {
        let waiting = || cache.slots.lock().unwrap().by_key.get(&key()).map_or(0, |(slot, _)| slot.state().waiting);
        while waiting() != count {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_failure_goes_to_all_who_waited_and_is_tried_again() {
        let cache = ModuleCache::default();
        let (sender, receiver) = channel();
        let loads = AtomicUsize::new(0);
        let load = || {
            cache.get_or_load(key(), &CancelToken::new(), |loading| {
                loads.fetch_add(1, Ordering::SeqCst);
                sender.clone().send(loading).unwrap();
            })
        };
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..5).map(|_| scope.spawn(load)).collect();
            until_waiting(&cache, 5);
            receiver.recv().unwrap().finish(Err(ModuleError::NoMemory));
            for thread in waiting {
                assert!(matches!(thread.join().unwrap(), Err(ModuleError::NoMemory)));
            }
            assert_eq!(loads.load(Ordering::SeqCst), 1);
            let again = scope.spawn(load);
            receiver.recv().unwrap().finish(Err(ModuleError::CompilingForbidden));
            assert!(matches!(again.join().unwrap(), Err(ModuleError::CompilingForbidden)));
        });
    }

    #[test]
    fn one_who_is_cancelled_leaves_and_the_others_go_on() {
        let cache = ModuleCache::default();
        let (sender, receiver) = channel();
        let stopped = Arc::new(AtomicUsize::new(0));
        let (first, second) = (CancelToken::new(), CancelToken::new());
        let load = |token: &CancelToken| {
            let stopped = Arc::clone(&stopped);
            cache.get_or_load(key(), token, |loading| {
                loading.stop_with(move || {
                    stopped.fetch_add(1, Ordering::SeqCst);
                });
                sender.clone().send(loading).unwrap();
            })
        };
        std::thread::scope(|scope| {
            // Whoever began the load leaves: it goes on for the other one.
            let one = scope.spawn(|| load(&first));
            let loading = receiver.recv().unwrap();
            let other = scope.spawn(|| load(&second));
            until_waiting(&cache, 2);
            first.cancel();
            assert!(matches!(one.join().unwrap(), Err(ModuleError::Cancelled)));
            assert_eq!(stopped.load(Ordering::SeqCst), 0);
            loading.finish(Err(ModuleError::NoMemory));
            assert!(matches!(other.join().unwrap(), Err(ModuleError::NoMemory)));

            // The last one leaves: the load is stopped, and whoever comes then begins another.
            let last = scope.spawn(|| load(&second));
            let given_up = receiver.recv().unwrap();
            second.cancel();
            assert!(matches!(last.join().unwrap(), Err(ModuleError::Cancelled)));
            assert_eq!(stopped.load(Ordering::SeqCst), 1);
            let next = CancelToken::new();
            let next = scope.spawn(move || load(&next));
            let loading = receiver.recv().unwrap();
            given_up.finish(Err(ModuleError::NoMemory));
            loading.finish(Err(ModuleError::CompilingForbidden));
            assert!(matches!(next.join().unwrap(), Err(ModuleError::CompilingForbidden)));
        });
    }

    #[test]
    fn a_load_that_is_dropped_is_taken_over() {
        let cache = ModuleCache::default();
        let (sender, receiver) = channel();
        let load = || cache.get_or_load(key(), &CancelToken::new(), |loading| sender.clone().send(loading).unwrap());
        std::thread::scope(|scope| {
            let first = scope.spawn(load);
            let loading = receiver.recv().unwrap();
            let second = scope.spawn(load);
            until_waiting(&cache, 2);
            // As when its thread panics.
            drop(loading);
            receiver.recv().unwrap().finish(Err(ModuleError::NoMemory));
            assert!(matches!(second.join().unwrap(), Err(ModuleError::NoMemory)));
            assert!(first.join().unwrap().is_err());
        });
    }
}

//! Stopping a render from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::engine::EngineInner;

/// Stops the renders that were started with it, at once and for good.
///
/// Clones are the same token. A function that is computing stops at its next loop head, normally within
/// a fraction of a millisecond; work that has not begun does not begin.
///
/// A cancel is never lost: whoever runs a function first arms its deadline and then looks at the flag;
/// whoever cancels first sets the flag and then moves the epoch. One gap of a few nanoseconds is left, where running
/// code was just asked by an earlier move of the epoch, has looked at the flag, and arms its next deadline; the
/// engine's ticker, 10 milliseconds later at most, closes it.
///
/// ```
/// let token = portico_runtime::CancelToken::new();
/// let other = token.clone();
/// other.cancel();
/// assert!(token.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct CancelToken {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    /// The engines on which something may be running under this token. Weak: a token that outlives its
    /// renders keeps no engine alive.
    engines: Mutex<Vec<Weak<EngineInner>>>,
    /// Wakes [`CancelToken::wait_timeout`]; goes with `engines`.
    wake: Condvar,
    /// What else a cancel is to do, with numbers to find it again.
    hooks: Mutex<Vec<(u64, Hook)>>,
    next_hook: AtomicU64,
}

impl CancelToken {
    /// A token that nobody has cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops everything that runs under this token. Doing so twice, or after the end, changes nothing.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let engines = self.engines();
        for engine in engines.iter().filter_map(Weak::upgrade) {
            engine.bump_epoch();
        }
        self.shared.wake.notify_all();
        // Not called under the lock: a hook may take locks of its own.
        let hooks: Vec<Hook> = self.hooks().iter().map(|(_, hook)| Arc::clone(hook)).collect();
        for hook in hooks {
            hook();
        }
    }

    /// Has a cancel call `hook` while the guard lives; a cancel that runs just then may call it a little later. Whoever
    /// registers looks at the flag afterwards: a cancel before this is not called for.
    pub(crate) fn on_cancel(&self, hook: impl Fn() + Send + Sync + 'static) -> OnCancel<'_> {
        let number = self.shared.next_hook.fetch_add(1, Ordering::Relaxed);
        self.hooks().push((number, Arc::new(hook)));
        OnCancel { token: self, number }
    }

    /// Whether [`cancel`](Self::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::SeqCst)
    }

    /// Waits until the token is cancelled, at most this long. True when it is cancelled.
    ///
    /// For those who wait on something that no epoch reaches, such as a child process.
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        let engines = self.engines();
        // A poisoned lock has a consistent list: nothing in this file panics while holding it.
        drop(self.shared.wake.wait_timeout_while(engines, timeout, |_| !self.is_cancelled()));
        self.is_cancelled()
    }

    /// From now on a cancel wakes the code that runs on this engine.
    pub(crate) fn watch(&self, engine: &Arc<EngineInner>) {
        let mut engines = self.engines();
        engines.retain(|known| known.strong_count() > 0);
        if !engines.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(engine))) {
            engines.push(Arc::downgrade(engine));
        }
    }

    fn hooks(&self) -> MutexGuard<'_, Vec<(u64, Hook)>> {
        self.shared.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn engines(&self) -> MutexGuard<'_, Vec<Weak<EngineInner>>> {
        self.shared.engines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Hook = Arc<dyn Fn() + Send + Sync>;

/// Keeps a hook of [`CancelToken::on_cancel`] registered.
pub(crate) struct OnCancel<'a> {
    token: &'a CancelToken,
    number: u64,
}

impl Drop for OnCancel<'_> {
    fn drop(&mut self) {
        self.token.hooks().retain(|(number, _)| *number != self.number);
    }
}

impl std::fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CancelToken").field("cancelled", &self.is_cancelled()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_are_the_same_token() {
        let token = CancelToken::new();
        let clone = token.clone();
        assert!(!clone.is_cancelled());
        token.cancel();
        token.cancel();
        assert!(clone.is_cancelled());
    }

    #[test]
    fn a_waiter_is_woken_by_the_cancel() {
        let token = CancelToken::new();
        let waiting = token.clone();
        let waiter = std::thread::spawn(move || waiting.wait_timeout(Duration::from_hours(1)));
        token.cancel();
        assert!(waiter.join().unwrap());
    }

    #[test]
    fn hooks_are_called_while_they_are_registered() {
        let token = CancelToken::new();
        let calls = Arc::new(AtomicU64::new(0));
        let count = |by: u64| {
            let calls = Arc::clone(&calls);
            token.on_cancel(move || {
                calls.fetch_add(by, Ordering::SeqCst);
            })
        };
        let _kept = count(1);
        drop(count(10));
        token.clone().cancel();
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn waiting_ends_without_a_cancel_too() {
        assert!(!CancelToken::new().wait_timeout(Duration::from_millis(1)));
    }
}

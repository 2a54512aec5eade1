//! What the dispatcher may hold and how it tries again.

use std::time::Duration;

/// The bounds of a [`Dispatcher`](super::Dispatcher).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchLimits {
    /// Calls in flight at once.
    ///
    /// - Problem: a store that is slow or throttles us gets slower with each further call.
    /// - Mechanism: the rest waits, merges, and goes by kind.
    /// - Default: 16.
    /// - Does not stop: one call that never returns keeps its place; the store's client has the deadline.
    pub in_flight: usize,

    /// Objects that have a call waiting.
    ///
    /// - Problem: with the store away, every revision that changes adds a waiting call.
    /// - Mechanism: beyond it a result or a deletion takes the place of the status call that came last; what finds
    ///   no place fails at once as transient. The revision stays unfinished in the store, where the sweep finds it.
    /// - Default: 100,000.
    /// - Does not stop: the size of one call; see `bytes`.
    pub waiting: usize,

    /// Bytes of files that waiting calls and those in flight hold.
    ///
    /// - Problem: results of large packages behind a slow store.
    /// - Mechanism: a result beyond it fails at once as transient and its render is done again later; the
    ///   scheduler starts no render while there is [no room](super::Dispatcher::has_room).
    /// - Default: 256 MiB.
    /// - Does not stop: one result that is larger by itself goes when nothing else is held.
    pub bytes: u64,

    /// Objects without any call whose last known state is kept, so that calls that change nothing are seen.
    /// The one that was used longest ago goes first. Default: 10,000.
    pub cached: usize,

    /// How often a call is sent before it fails for good. Default: 10. Failures that nobody classified: 8.
    pub attempts: u32,

    /// How long a call waits after its first failure; twice as long after each further one. Default: 100 ms.
    pub backoff: Duration,

    /// The longest such wait, unless the store asks for a longer one. Default: 30 s.
    pub backoff_max: Duration,

    /// How long a call waits until it is worth as much as a fresh call of the next more relevant kind.
    ///
    /// - Problem: under throttling, results for ever would leave no room for a status.
    /// - Mechanism: a call is overtaken only by those of a more relevant kind that come within this time (twice
    ///   this time for two kinds, and so on).
    /// - Default: 1 s.
    pub ageing: Duration,
}

impl Default for DispatchLimits {
    fn default() -> Self {
        Self {
            in_flight: 16,
            waiting: 100_000,
            bytes: 256 << 20,
            cached: 10_000,
            attempts: 10,
            backoff: Duration::from_millis(100),
            backoff_max: Duration::from_secs(30),
            ageing: Duration::from_secs(1),
        }
    }
}

//! What time it is for a store.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Gives a store its time. Leases are measured with it, so it never goes back.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;
}

/// The system's time when it was made, and from there on the time that has passed: a clock that is set back shortens
/// or lengthens no lease.
#[derive(Debug)]
pub struct SystemClock {
    start_ms: u64,
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { start_ms: millis(since), start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        self.start_ms + millis(self.start.elapsed())
    }
}

/// tokio's time, which a test can pause; from a start that it names.
#[derive(Debug)]
pub struct VirtualClock {
    start_ms: u64,
    start: tokio::time::Instant,
    ahead_ms: AtomicU64,
}

impl VirtualClock {
    /// A clock that now shows this.
    pub fn starting_at(start_ms: u64) -> Arc<Self> {
        Arc::new(Self { start_ms, start: tokio::time::Instant::now(), ahead_ms: AtomicU64::new(0) })
    }

    /// Puts it ahead, without waiting.
    pub fn advance_ms(&self, by: u64) {
        self.ahead_ms.fetch_add(by, Ordering::Relaxed);
    }
}

impl Clock for VirtualClock {
    fn now_ms(&self) -> u64 {
        self.start_ms + self.ahead_ms.load(Ordering::Relaxed) + millis(self.start.elapsed())
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

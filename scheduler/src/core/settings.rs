//! What an operator can set.

use std::time::Duration;

use crate::queue::{self, Cost};

/// How the scheduler behaves. See `docs/scheduler.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The queue: length, memory, quotas, ageing.
    pub queue: queue::Settings,
    /// What a render may use, for the quotas, where nobody says it of the revision: the sandbox's own limits. See
    /// [`super::Core::with_cost`].
    pub cost: Cost,
    /// Edits faster than a render.
    pub supersede: Supersede,
    /// Failures that may pass.
    pub backoff: Backoff,
    /// Failures in a row that nobody classified, before one counts as permanent. Default: 8.
    pub unclassified: u32,
    /// Results that wait for the store at one time; no render starts while there are as many.
    ///
    /// - Problem: a store that is slower than the workers lets results pile up in memory.
    /// - Default: 1,000.
    pub unsaved: usize,
    /// Bytes of files of such results. Default: 256 MiB.
    pub unsaved_bytes: u64,
    /// How much later than the scheduler that comes first for a revision each next one tries it, where several share a
    /// store.
    ///
    /// - Problem: all try the same ones in the same order, and each claim but one is in vain.
    /// - Mechanism: each revision has its own order of the schedulers; the second waits this long, the third twice as long,
    ///   and so on, each up to eight times longer by chance. After that they take what the first has not come to.
    /// - Default: 250 ms.
    pub head_start: Duration,
    /// Where the jitter begins: equal seeds and equal events give equal actions.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            queue: queue::Settings::default(),
            cost: Cost::default(),
            supersede: Supersede::default(),
            backoff: Backoff::default(),
            unclassified: 8,
            unsaved: 1_000,
            unsaved_bytes: 256 << 20,
            head_start: Duration::from_millis(250),
            seed: 0,
        }
    }
}

/// What edits that come faster than a render may do.
///
/// - Problem: each burns a render, or none ever ends.
/// - Mechanism: a superseded revision waits until it has been quiet for a while, twice as long after each further
///   supersession, but never longer than `quiet_max` in all; after `in_a_row` of them the next render may finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Supersede {
    /// How long without an edit, at first. Default: 25 ms.
    pub quiet: Duration,
    /// The longest such time, and the longest wait of all. Default: 1 s.
    pub quiet_max: Duration,
    /// Renders that may be superseded one after the other. Default: 5.
    pub in_a_row: u32,
}

impl Default for Supersede {
    fn default() -> Self {
        Self { quiet: Duration::from_millis(25), quiet_max: Duration::from_secs(1), in_a_row: 5 }
    }
}

impl Supersede {
    /// How long it has to be quiet after so many supersessions in a row.
    pub(super) fn quiet_after(&self, times: u32) -> Duration {
        double(self.quiet, times, self.quiet_max)
    }
}

/// How long to wait after failures that may pass. The numbers are the ones that job controllers in the field use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// After the first. Default: 10 s.
    pub base: Duration,
    /// At most. Default: 360 s.
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Duration::from_secs(10), max: Duration::from_mins(6) }
    }
}

impl Backoff {
    /// How long to wait after so many failures in a row: between three quarters of `base`, doubled each time, and the
    /// whole of it, so that those that failed together do not return together. A server's own word is obeyed.
    pub(super) fn after(&self, times: u32, retry_after: Option<Duration>, random: &mut fastrand::Rng) -> Duration {
        let whole = double(self.base, times, self.max);
        let jittered = whole.mul_f64(0.75 + 0.25 * random.f64());
        retry_after.map_or(jittered, |asked| jittered.max(asked))
    }
}

/// `base` for the first time, twice as much for each further one, at most `max`.
fn double(base: Duration, times: u32, max: Duration) -> Duration {
    base.saturating_mul(1 << times.saturating_sub(1).min(30)).min(max)
}

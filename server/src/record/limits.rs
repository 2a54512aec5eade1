//! How much of a render is kept and shown.

use std::time::Duration;

/// How much of a render is kept and shown.
///
/// Each field's comment has the same parts as those of [`portico_runtime::Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordLimits {
    /// Bytes of a record as JSON, and about of a live one in memory.
    ///
    /// - Problem: functions write as much as they like, and each revision has a record.
    /// - Mechanism: the middle of long texts is left out, the longest texts first; then steps from the middle. What is left
    ///   out is counted. The JSON is always whole.
    /// - Default: 1 MiB less 4 KiB, so that the store, whose [`log_bytes`] is 1 MiB, cuts nothing.
    /// - Does not stop: many revisions with a record each; the store's file grows with them.
    /// - Tested by `record::tests::bounds`: a render of 10,000 steps, texts of megabytes.
    ///
    /// [`log_bytes`]: portico_scheduler::store::StoreLimits::log_bytes
    pub record_bytes: usize,

    /// Bytes of one text of a step as it is taken into the record: its stderr, a message, a diff.
    ///
    /// - Problem: one long text would push out all others.
    /// - Mechanism: the middle is left out, with the number of its bytes in its place.
    /// - Default: 64 KiB.
    /// - Does not stop: many long texts; `record_bytes` does.
    /// - Tested by `record::tests::bounds`.
    pub text_bytes: usize,

    /// Steps of a record, and results and changed resources of a step.
    ///
    /// - Problem: each costs memory, also without a long text.
    /// - Mechanism: what comes after so many is counted, except for steps that failed.
    /// - Default: 1,000.
    /// - Does not stop: anything else.
    /// - Tested by `record::tests::bounds`.
    pub items: usize,

    /// Records of ended renders that are kept in memory: for those who know the id of a render that newer content
    /// superseded, and until the store has it.
    ///
    /// - Problem: a record that nobody will ever read again.
    /// - Mechanism: the oldest go.
    /// - Default: 64, of 1 MiB at most.
    /// - Does not stop: a reader that holds on to one; `followers` and `stall` do.
    /// - Tested by `record::tests::follow`: the oldest of three.
    pub ended: usize,

    /// Readers that follow a log at the same time.
    ///
    /// - Problem: each holds a connection and perhaps a record.
    /// - Mechanism: one more is refused with 429 and `Retry-After`.
    /// - Default: 256.
    /// - Does not stop: one user that takes all of them; the listener's limits of requests do.
    /// - Tested by `record::tests::follow`.
    pub followers: usize,

    /// Time that a reader may take nothing while there is something to read.
    ///
    /// - Problem: a reader that is asleep holds a record in memory.
    /// - Mechanism: its log ends, with a line that says so.
    /// - Default: 30 seconds.
    /// - Does not stop: one that reads a byte now and then; `follow` does.
    /// - Tested by `record::tests::follow`.
    pub stall: Duration,

    /// Time that a log can be followed.
    ///
    /// - Problem: a connection that is forgotten.
    /// - Mechanism: the log ends, with a line that says so.
    /// - Default: 1 hour.
    /// - Does not stop: whoever asks again.
    /// - Tested by `record::tests::follow`.
    pub follow: Duration,
}

impl Default for RecordLimits {
    fn default() -> Self {
        Self {
            record_bytes: (1 << 20) - (4 << 10),
            text_bytes: 64 << 10,
            items: 1000,
            ended: 64,
            followers: 256,
            stall: Duration::from_secs(30),
            follow: Duration::from_hours(1),
        }
    }
}

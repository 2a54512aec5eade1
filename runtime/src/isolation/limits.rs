//! What a worker may use.

use std::time::Duration;

/// What a process that renders for a tenant may use, on top of what [`Limits`](crate::Limits) says of functions.
///
/// Each field's comment has the same parts as those of [`Limits`](crate::Limits). The largest value of a field's type means
/// "no limit".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerLimits {
    /// Bytes of memory of a worker.
    ///
    /// - Problem: what a render needs outside linear memory: the package, its trees, outputs; and whatever somebody does who
    ///   broke out of the sandbox.
    /// - Mechanism: the worker sets `RLIMIT_DATA` before it looks at anything. Address space is not bounded: each instance
    ///   reserves 4 GiB of it without using them.
    /// - Default: 4 GiB, for a step's memory of 1 GiB and a large package.
    /// - Does not stop: several workers at the same time; bound their sum with a control group.
    /// - Tested by `tests/child/isolation.rs`: a worker with too little of it.
    pub memory: u64,

    /// Processor time of a worker in its whole life, in whole seconds, rounded up.
    ///
    /// - Problem: a worker that computes on when it should be dead.
    /// - Mechanism: `RLIMIT_CPU`, set by the worker.
    /// - Default: 1 hour. The deadlines of renders are far below; a worker that met it is replaced.
    /// - Does not stop: a worker that waits; `grace` does.
    /// - Tested by `tests/child/isolation.rs`: a worker with one second of it.
    pub cpu: Duration,

    /// Time that a render may take on top of [`Limits::render_time`](crate::Limits::render_time).
    ///
    /// - Problem: a worker that does not keep the deadline, or does not answer.
    /// - Mechanism: this process kills it.
    /// - Default: 10 seconds.
    /// - Does not stop: a render without a deadline.
    /// - Tested by `tests/child/isolation.rs`: a program that never answers.
    pub grace: Duration,

    /// Bytes of all that a worker says during a render: events, questions, the outcome.
    ///
    /// - Problem: an answer without end fills this process's memory.
    /// - Mechanism: a message that does not fit is not read, and the worker is killed.
    /// - Default: 512 MiB, twice the largest document.
    /// - Does not stop: an outcome that is large; the package's own bounds do when it is written.
    /// - Tested by `tests/child/isolation.rs`: a render with too little of it, a program that talks without end.
    pub answer_bytes: u64,

    /// Time that a worker without work is kept for its tenant's next render.
    ///
    /// - Problem: a start costs more than a small render; a worker that waits costs memory.
    /// - Mechanism: a thread ends those whose time is up.
    /// - Default: 30 seconds. Zero keeps none.
    /// - Does not stop: a state that one render leaves to the next one of the same tenant, if somebody broke out.
    /// - Tested by `tests/child/isolation.rs`: a worker that is kept, and one that ends.
    pub idle: Duration,

    /// Workers without work, of all tenants together.
    ///
    /// - Problem: many tenants with one worker each.
    /// - Mechanism: beyond it, the one that waits for the longest time ends.
    /// - Default: 16.
    /// - Does not stop: workers at work; whoever starts renders bounds them.
    /// - Tested by `tests/child/isolation.rs`: more tenants than that.
    pub idle_workers: usize,

    /// Renders after which a worker ends.
    ///
    /// - Problem: what a long life gathers.
    /// - Mechanism: counted; the worker is not kept any more.
    /// - Default: 1,000.
    /// - Does not stop: anything within one render.
    /// - Tested by `tests/child/isolation.rs`: a worker for one render.
    pub renders: u32,
}

impl Default for WorkerLimits {
    fn default() -> Self {
        Self {
            memory: 4 << 30,
            cpu: Duration::from_hours(1),
            grace: Duration::from_secs(10),
            answer_bytes: 512 << 20,
            idle: Duration::from_secs(30),
            idle_workers: 16,
            renders: 1_000,
        }
    }
}

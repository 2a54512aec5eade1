//! What host calls see of a running function.

use std::time::{Duration, Instant};

use wasmtime::{Memory, ResourceLimiter};

use crate::cancel::CancelToken;
use crate::error::Deadline;
use crate::limits::{Limits, StepLimits};
use crate::wasi::Context;

/// The data of a Store.
pub(crate) struct State {
    /// The world of the function that runs; replaced for each run.
    pub(crate) wasi: Context,
    /// The memory of the instance that runs. None while a start function runs.
    pub(crate) memory: Option<Memory>,
    pub(crate) limiter: Limiter,
    pub(crate) clock: Clock,
    pub(crate) cancel: CancelToken,
}

impl State {
    /// Asked whenever the epoch moved: may the function go on?
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        self.clock.check()
    }
}

/// Why the host ends a function. Travels through wasmtime as an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    #[error("exited with code {0}")]
    Exit(i32),
    #[error("cancelled")]
    Cancelled,
    #[error("deadline passed")]
    Deadline(Deadline),
    #[error("out of fuel")]
    OutOfFuel,
    #[error("stdout is full")]
    StdoutFull,
}

/// The two deadlines. Sleeps take no time but move the clock, so both are compared with real time plus
/// the time slept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// None: no deadline.
    step_end: Option<Instant>,
    render_end: Option<Instant>,
    slept_in_step: Duration,
    slept_in_render: Duration,
}

impl Clock {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            step_end: None,
            render_end: Instant::now().checked_add(limits.render_time),
            slept_in_step: Duration::ZERO,
            slept_in_render: Duration::ZERO,
        }
    }

    pub(crate) fn start_step(&mut self, now: Instant, limits: &StepLimits) {
        self.step_end = now.checked_add(limits.time);
        self.slept_in_step = Duration::ZERO;
    }

    /// How long the function that runs has slept.
    pub(crate) fn slept_in_step(&self) -> Duration {
        self.slept_in_step
    }

    pub(crate) fn sleep(&mut self, time: Duration) -> Result<(), Stop> {
        self.slept_in_step = self.slept_in_step.saturating_add(time);
        self.slept_in_render = self.slept_in_render.saturating_add(time);
        self.check()
    }

    pub(crate) fn check(&self) -> Result<(), Stop> {
        let now = Instant::now();
        // How long ago it passed, in time as the function sees it.
        let passed = |end: Option<Instant>, slept: Duration| {
            let end = end?;
            let ago = slept.checked_sub(end.saturating_duration_since(now))?;
            Some(ago.saturating_add(now.saturating_duration_since(end)))
        };
        let step = passed(self.step_end, self.slept_in_step);
        let render = passed(self.render_end, self.slept_in_render);
        // A long sleep passes both at once: the one that would have come first ended it.
        match (step, render) {
            (None, None) => Ok(()),
            (Some(step), Some(render)) if render > step => Err(Stop::Deadline(Deadline::Render)),
            (Some(_), _) => Err(Stop::Deadline(Deadline::Step)),
            (None, Some(_)) => Err(Stop::Deadline(Deadline::Render)),
        }
    }

    /// Real time left to the render.
    pub(crate) fn render_left(&self) -> Duration {
        self.render_end.map_or(Duration::MAX, |end| {
            end.saturating_duration_since(Instant::now()).saturating_sub(self.slept_in_render)
        })
    }
}

/// Counts the memory and tables of a Store.
///
/// The memory that a step may have is bounded by itself; what finished instances still hold comes on
/// top, and the sandbox bounds that by opening a fresh Store.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    memory: Gauge,
    table: Gauge,
}

#[derive(Debug, Default)]
struct Gauge {
    /// What a step may hold.
    limit: u64,
    /// What all instances of the Store hold.
    held: u64,
    /// What they held when the step began.
    at_start: u64,
    refused: bool,
}

impl Gauge {
    fn start(&mut self, limit: u64) {
        self.limit = limit;
        self.at_start = self.held;
        self.refused = false;
    }

    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> bool {
        let growth = (desired as u64).saturating_sub(current as u64);
        let held = self.held.saturating_add(growth);
        if held > self.at_start.saturating_add(self.limit) {
            self.refused = true;
            return false;
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            // The module's own maximum: not for us to explain. A pool has one too, which is no less than the usual limit.
            return false;
        }
        self.held = held;
        true
    }

    /// The system could not do what was allowed, or was asked for more than WebAssembly has. The first
    /// stays counted, as there is no telling the two apart, and a guest could make use of a mistake.
    fn failed(&mut self) {
        self.refused = true;
    }
}

impl Limiter {
    /// Nothing may be taken before this was called.
    pub(crate) fn start_step(&mut self, limits: &StepLimits) {
        self.memory.start(limits.memory);
        self.table.start(limits.table_elements);
    }

    /// Bytes that all instances of the Store hold.
    pub(crate) fn memory_held(&self) -> u64 {
        self.memory.held
    }

    /// Bytes that the step holds. Memories never shrink, so this is its peak too.
    pub(crate) fn memory_of_step(&self) -> u64 {
        self.memory.held - self.memory.at_start
    }

    /// Whether the step was refused memory.
    pub(crate) fn memory_refused(&self) -> bool {
        self.memory.refused
    }

    /// Whether the step was refused table elements.
    pub(crate) fn table_refused(&self) -> bool {
        self.table.refused
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.memory.grow(current, desired, maximum))
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        tracing::debug!("a memory could not grow: {error:#}");
        self.memory.failed();
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.table.grow(current, desired, maximum))
    }

    fn table_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        tracing::debug!("a table could not grow: {error:#}");
        self.table.failed();
        Ok(())
    }
}

#[cfg(test)]
impl State {
    pub(crate) fn for_tests(wasi: Context, limits: &Limits) -> Self {
        let mut limiter = Limiter::default();
        limiter.start_step(&limits.step());
        Self { wasi, memory: None, limiter, clock: Clock::new(limits), cancel: CancelToken::new() }
    }
}

//! Waiting, in a world where time passes only by waiting.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::Pollable;

use crate::sandbox::{Clock, Stop};
use crate::wasi::{MONOTONIC_START, WALL_START};

/// The clock of one run. Clones are the same clock: its owner, the Store and what waits for it share it.
#[derive(Clone)]
pub(crate) struct Time {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    clock: Clock,
    /// The earliest moment that something waits for, in nanoseconds of sleep.
    wanted: Option<u64>,
}

impl Time {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { shared: Arc::new(Mutex::new(Shared { clock, wanted: None })) }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        // What is in there is whole at any time.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clock as it stands, with what the run slept.
    pub(crate) fn clock(&self) -> Clock {
        self.shared().clock
    }

    /// Whether a deadline has passed.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        self.shared().clock.check()
    }

    /// Called when the function can only wait: time jumps to the earliest moment that it waits for. The jump counts
    /// against the deadlines as if it had been waited for. False if it waits for nothing that will ever come.
    pub(crate) fn pass(&self) -> Result<bool, Stop> {
        let mut shared = self.shared();
        let Some(wanted) = shared.wanted.take() else { return Ok(false) };
        let slept = slept(&shared.clock);
        shared.clock.sleep(Duration::from_nanos(wanted.saturating_sub(slept)))?;
        Ok(true)
    }

    /// What the monotonic clock shows, in nanoseconds.
    pub(crate) fn monotonic(&self) -> u64 {
        MONOTONIC_START.saturating_add(slept(&self.shared().clock))
    }

    /// What the wall clock shows, in nanoseconds since 1970.
    pub(crate) fn wall(&self) -> u64 {
        WALL_START.saturating_add(slept(&self.shared().clock))
    }

    /// Something to wait for: so many nanoseconds from now.
    pub(crate) fn after(&self, duration: u64) -> Alarm {
        Alarm { at: slept(&self.shared().clock).saturating_add(duration), time: self.clone() }
    }

    /// Something to wait for: when the monotonic clock shows this.
    pub(crate) fn at(&self, instant: u64) -> Alarm {
        Alarm { at: instant.saturating_sub(MONOTONIC_START), time: self.clone() }
    }
}

/// Time passes by sleeping alone.
fn slept(clock: &Clock) -> u64 {
    u64::try_from(clock.slept_in_step().as_nanos()).unwrap_or(u64::MAX)
}

/// A moment that a function waits for.
pub(crate) struct Alarm {
    at: u64,
    time: Time,
}

#[async_trait]
impl Pollable for Alarm {
    async fn ready(&mut self) {
        poll_fn(|_| {
            let mut shared = self.time.shared();
            if slept(&shared.clock) >= self.at {
                return Poll::Ready(());
            }
            // Nobody need wake us: who polls us lets time pass and polls again.
            shared.wanted = Some(shared.wanted.map_or(self.at, |wanted| wanted.min(self.at)));
            Poll::Pending
        })
        .await;
    }
}

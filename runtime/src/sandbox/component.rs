//! Running a component: in a Store of its own, as a future on this thread.

use std::pin::pin;
use std::sync::atomic::{Ordering, fence};
use std::task::{Poll, Waker};
use std::time::Instant;

use wasmtime::{Store, UpdateDeadline};

use super::slots::Permits;
use super::state::Stop;
use super::{Invocation, Left, RunOutput, Sandbox, not_startable, not_started};
use crate::cancel::CancelToken;
use crate::component::{Command, Time, World};
use crate::error::{RunError, RunFailure};
use crate::limits::StepLimits;

/// What one call may bring from the guest to the host, in bytes: a write of the size that streams allow, and its envelope.
const CALL_BYTES: usize = 2 << 20;

/// Handles that a component may hold at the same time, its own resources included.
const HANDLES: usize = 10_000;

impl Sandbox {
    /// Runs a component from start to exit.
    pub(super) fn run_component(
        &mut self,
        command: &Command,
        call: Invocation,
        limits: StepLimits,
        started: Instant,
    ) -> Result<RunOutput, RunError> {
        // Better no run than one that finds nothing where it was told to look.
        if !call.grants.directories().is_empty() {
            return Err(not_started(RunFailure::Directories, started));
        }
        // Dropped last: the Store gives its instances back before the permits for them go.
        let _permits = match self.component_permits(command.core_instances, &limits) {
            Ok(permits) => permits,
            Err(failure) => return Err(not_started(failure, started)),
        };
        let step = self.start_step(limits, started);
        let spare = std::mem::take(&mut self.spare);
        let world = World::new(call, &limits, self.clock, self.cancel.clone(), spare);
        let (time, stdio) = (world.time.clone(), world.stdio.clone());
        let mut store = match self.component_store(world, step.fuel) {
            Ok(store) => store,
            Err(error) => return Err(not_started(not_startable(&error), started)),
        };
        self.stores_created += 1;

        let mut instantiated = false;
        let result = drive(execute(&mut store, command, &mut instantiated), &time, &self.cancel);

        let fuel_left = store.get_fuel().unwrap_or(0);
        self.clock = time.clock();
        let left = Left::new(fuel_left, &store.data().limiter, &mut stdio.context());
        drop(store);
        let outcome = match result {
            Ok(Ok(())) => Ok(0),
            // The function says that it failed, and has no way to say more.
            Ok(Err(())) => Ok(1),
            Err(error) => self.end_of(&error, &step, &left).unwrap_or_else(|| {
                Err(if instantiated { RunFailure::BadCall(root_cause(&error)) } else { not_startable(&error) })
            }),
        };
        self.conclude(outcome, &step, left)
    }

    /// Slots for so many instances; none where instances are allocated on demand.
    fn component_permits(&mut self, count: u32, limits: &StepLimits) -> Result<Option<Permits>, RunFailure> {
        let Some(slots) = &self.engine.inner.slots else { return Ok(None) };
        let mut permits = Permits::none(slots);
        if !permits.try_take(count) {
            // Whoever waits holds nothing.
            self.store = None;
            permits
                .take(count, &self.cancel, self.clock.render_left())
                .map_err(|stop| self.stopped(stop, limits, false))?;
        }
        Ok(Some(permits))
    }

    fn component_store(&self, world: World, fuel: u64) -> wasmtime::Result<Store<World>> {
        let mut store = Store::try_new(&self.engine.inner.wasmtime, world)?;
        store.limiter(|world| &mut world.limiter);
        store.epoch_deadline_callback(|store| {
            store.data().check()?;
            Ok(UpdateDeadline::Continue(1))
        });
        store.set_hostcall_fuel(CALL_BYTES);
        store.set_max_component_handles(HANDLES);
        store.set_fuel(fuel)?;
        Ok(store)
    }
}

/// Arms the deadline and runs: start functions and then `run`, both under all limits.
async fn execute(
    store: &mut Store<World>,
    command: &Command,
    instantiated: &mut bool,
) -> wasmtime::Result<Result<(), ()>> {
    // First the deadline, then the look at the flag; see `Sandbox::run_program`.
    store.set_epoch_deadline(1);
    fence(Ordering::SeqCst);
    store.data().check()?;
    let instance = command.pre.instantiate_async(&mut *store).await?;
    *instantiated = true;
    instance.wasi_cli_run().call_run(store).await
}

/// Polls a run until it ends. It is pending only when the function waits for its clock, and then the clock jumps, which
/// may be the end of the run; the future is then dropped, and with it the guest's stack.
fn drive<T>(run: impl Future<Output = wasmtime::Result<T>>, time: &Time, cancel: &CancelToken) -> wasmtime::Result<T> {
    let mut run = pin!(run);
    let mut context = std::task::Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = run.as_mut().poll(&mut context) {
            return result;
        }
        if cancel.is_cancelled() {
            return Err(Stop::Cancelled.into());
        }
        if !time.pass()? {
            return Err(wasmtime::Error::msg("it waits for something that never comes"));
        }
    }
}

/// The innermost reason. What lies around it are the guest's calls, which the words of a failure do not show.
fn root_cause(error: &wasmtime::Error) -> String {
    error.root_cause().to_string()
}

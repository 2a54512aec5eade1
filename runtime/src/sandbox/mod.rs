//! The sandbox: everything that the functions of one render run in.

mod component;
mod slots;
mod state;

use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use wasmtime::{Store, Trap, UpdateDeadline, WasmBacktrace};

use self::slots::Permits;
pub(crate) use self::slots::Slots;
pub(crate) use self::state::{Clock, Limiter, State, Stop};
use crate::cancel::CancelToken;
use crate::engine::Engine;
use crate::error::{Deadline, RunError, RunFailure, TrapKind};
use crate::grant::Grants;
use crate::limits::{Limits, StepLimits};
use crate::module::{Module, ModuleInner, Program};
use crate::wasi::{Context, Stderr};

/// Calls shown of a crash.
const BACKTRACE_FRAMES: usize = 5;

/// Bytes shown of a function's name in a crash; C++ has longer ones.
const FRAME_NAME_BYTES: usize = 120;

/// One call of a function.
#[derive(Debug, Clone, Default)]
pub struct Invocation {
    /// `argv[0]`: the name of a [`FunctionModule`](crate::FunctionModule).
    pub name: String,
    /// Further arguments.
    pub args: Vec<String>,
    /// Directories and environment variables: none unless someone granted them.
    pub grants: Grants,
    /// What the function reads from stdin.
    pub stdin: Vec<u8>,
    /// Limits of this step, where they are others than the sandbox has for all.
    pub limits: Option<StepLimits>,
}

/// What a function that ran to an exit of its own left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutput {
    /// Its exit code, any number; 0 is success.
    pub exit_code: i32,
    /// What it wrote to stdout.
    pub stdout: Vec<u8>,
    /// What it wrote to stderr, up to [`Limits::stderr`]. The guest's own text: any bytes.
    pub stderr: Vec<u8>,
    /// Bytes of stderr that were not kept.
    pub stderr_dropped: u64,
    /// Instructions it used: the same for the same input.
    pub fuel_used: u64,
    /// The most linear memory it held, in bytes.
    pub peak_memory: u64,
    /// Whether it was refused memory beyond [`Limits::memory`]. With an exit code other than 0 this is
    /// probably the reason.
    pub memory_refused: bool,
    /// How long it ran.
    pub elapsed: Duration,
}

/// One render: a Store in which its functions run one after the other, each in a fresh instance with a
/// world of its own, under one fuel budget, one deadline and one cancel token. A component has a Store of its own for
/// each run, under the same budget.
///
/// A fresh Store with what is left of the budget takes over when finished functions hold too much
/// memory ([`Limits::retained_memory`]), when others wait for a pooled engine's slots, and after a
/// function that did not end by itself.
pub struct Sandbox {
    engine: Engine,
    limits: Limits,
    cancel: CancelToken,
    /// Dropped and made anew as the type's comment says.
    store: Option<LiveStore>,
    stores_created: u64,
    /// Fuel that is left, and all that was granted so far.
    fuel: u64,
    fuel_granted: u64,
    clock: Clock,
    /// A buffer that the last run left for the next one's output.
    spare: Vec<u8>,
}

/// Fields drop in this order: the Store gives its instances back before the permits for them go.
struct LiveStore {
    store: Store<State>,
    instances: u32,
    permits: Option<Permits>,
}

impl Sandbox {
    /// Makes a sandbox; the render's time runs from now on.
    pub fn new(engine: &Engine, limits: Limits, cancel: CancelToken) -> Self {
        cancel.watch(&engine.inner);
        Self {
            engine: engine.clone(),
            cancel,
            store: None,
            stores_created: 0,
            fuel: limits.fuel,
            fuel_granted: limits.fuel,
            clock: Clock::new(&limits),
            spare: Vec::new(),
            limits,
        }
    }

    /// Stores made so far.
    pub fn stores_created(&self) -> u64 {
        self.stores_created
    }

    /// Fuel that is left to the render.
    pub fn fuel_left(&self) -> u64 {
        self.fuel
    }

    /// The token that stops this render.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// The limits it was made with.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Runs a function from start to exit on this thread, which needs 2 MiB of stack.
    ///
    /// Any exit code is an output; an error is an end that the function did not choose.
    pub fn run(&mut self, module: &Module, call: Invocation) -> Result<RunOutput, RunError> {
        let started = Instant::now();
        let limits = call.limits.unwrap_or_else(|| self.limits.step());
        let for_input = self.limits.fuel_per_input_byte.saturating_mul(call.stdin.len() as u64);
        let granted = self.limits.fuel_per_step.saturating_add(for_input);
        self.fuel = self.fuel.saturating_add(granted);
        self.fuel_granted = self.fuel_granted.saturating_add(granted);

        match &*module.inner {
            ModuleInner::Core(program) => self.run_program(program, call, limits, started),
            ModuleInner::Component(command) => self.run_component(command, call, limits, started),
        }
    }

    /// Runs a core module.
    fn run_program(
        &mut self,
        program: &Program,
        call: Invocation,
        limits: StepLimits,
        started: Instant,
    ) -> Result<RunOutput, RunError> {
        let mut live = match self.take_store(&limits) {
            Ok(live) => live,
            Err(failure) => return Err(not_started(failure, started)),
        };
        let step = self.start_step(limits, started);
        live.instances += 1;
        let store = &mut live.store;
        let state = store.data_mut();
        state.wasi = Context::new(call, &limits, std::mem::take(&mut self.spare));
        state.memory = None;
        state.limiter.start_step(&limits);
        state.clock = self.clock;

        // First the deadline, then the look at the flag: a cancel that comes between the two moves the
        // epoch past the deadline, one that came before is seen here. `execute` looks after arming.
        let result = store.set_fuel(step.fuel).and_then(|()| execute(store, program));

        let fuel_left = store.get_fuel().unwrap_or(0);
        let state = store.data_mut();
        self.clock = state.clock;
        let left = Left::new(fuel_left, &state.limiter, &mut state.wasi);
        let outcome = match result {
            Ok(()) => Ok(0),
            Err(error) => self.end_of(&error, &step, &left).unwrap_or_else(|| Err(not_startable(&error))),
        };
        if outcome.is_ok() {
            // Given back now rather than before the next run: the host is about to read the output. After a failure
            // the Store goes with everything in it.
            self.store = Some(live).filter(|live| self.is_small(live));
        }
        self.conclude(outcome, &step, left)
    }

    /// Starts a step's time and finds its fuel. Not before it has its slots: waiting for them is not the function's doing.
    fn start_step(&mut self, limits: StepLimits, started: Instant) -> Step {
        self.clock.start_step(Instant::now(), &limits);
        Step { fuel: self.fuel.min(limits.fuel), own_budget: limits.fuel < self.fuel, limits, started }
    }

    /// What a run comes to. `outcome` is its exit code, if it ended by itself.
    fn conclude(&mut self, outcome: Result<i32, RunFailure>, step: &Step, left: Left) -> Result<RunOutput, RunError> {
        let Left { fuel, peak_memory, memory_refused, stdout, stderr, spare, .. } = left;
        let fuel_used = step.fuel - fuel.min(step.fuel);
        self.fuel -= fuel_used;
        self.spare = spare;
        match outcome {
            Ok(exit_code) => Ok(RunOutput {
                exit_code,
                stdout,
                stderr: stderr.kept,
                stderr_dropped: stderr.dropped,
                fuel_used,
                peak_memory,
                memory_refused,
                elapsed: step.started.elapsed(),
            }),
            Err(failure) => Err(RunError {
                failure,
                stderr: stderr.kept,
                stderr_dropped: stderr.dropped,
                fuel_used,
                peak_memory,
                elapsed: step.started.elapsed(),
            }),
        }
    }

    /// The Store for the next run, with room for one more instance.
    fn take_store(&mut self, limits: &StepLimits) -> Result<LiveStore, RunFailure> {
        let slots = self.engine.inner.slots.as_ref();
        let wanted = slots.is_some_and(|slots| slots.wanted());
        let usable = self
            .store
            .take()
            .filter(|live| !wanted && live.instances < self.engine.inner.store_instances && self.is_small(live));
        if let Some(mut live) = usable
            && live.permits.as_mut().is_none_or(|permits| permits.try_take(1))
        {
            return Ok(live);
        }
        // The old Store is gone by now, so nothing is held while waiting.
        let permits = slots
            .map(|slots| {
                let mut permits = Permits::none(slots);
                permits.take(1, &self.cancel, self.clock.render_left()).map(|()| permits)
            })
            .transpose()
            .map_err(|stop| self.stopped(stop, limits, false))?;
        let store = self.new_store().map_err(|error| not_startable(&error))?;
        self.stores_created += 1;
        Ok(LiveStore { store, instances: 0, permits })
    }

    /// True while the finished instances hold no more than they may.
    fn is_small(&self, live: &LiveStore) -> bool {
        live.store.data().limiter.memory_held() <= self.limits.retained_memory
    }

    fn new_store(&self) -> wasmtime::Result<Store<State>> {
        let state = State {
            wasi: Context::default(),
            memory: None,
            limiter: Limiter::default(),
            clock: self.clock,
            cancel: self.cancel.clone(),
        };
        let mut store = Store::try_new(&self.engine.inner.wasmtime, state)?;
        store.limiter(|state| &mut state.limiter);
        store.epoch_deadline_callback(|store| {
            store.data().check()?;
            Ok(UpdateDeadline::Continue(1))
        });
        Ok(store)
    }

    /// Why the host ended a step, in the words of the limits that held for it.
    fn stopped(&self, stop: Stop, limits: &StepLimits, own_budget: bool) -> RunFailure {
        match stop {
            Stop::Exit(code) => RunFailure::Start(format!("exited with code {code}")),
            Stop::Cancelled => RunFailure::Cancelled,
            Stop::Deadline(which) => {
                let limit = match which {
                    Deadline::Step => limits.time,
                    Deadline::Render => self.limits.render_time,
                };
                RunFailure::Deadline { which, limit }
            }
            Stop::OutOfFuel if own_budget => RunFailure::OutOfStepFuel { limit: limits.fuel },
            Stop::OutOfFuel => RunFailure::OutOfFuel { budget: self.fuel_granted },
            Stop::StdoutFull => RunFailure::StdoutTooLarge { limit: limits.stdout },
        }
    }

    /// What an error means that wasmtime reports: the function's exit, or why it failed. None if it is not the function's
    /// doing.
    fn end_of(&self, error: &wasmtime::Error, step: &Step, left: &Left) -> Option<Result<i32, RunFailure>> {
        let limits = &step.limits;
        let trap = error.downcast_ref::<Trap>();
        match error.downcast_ref::<Stop>() {
            Some(Stop::Exit(code)) => Some(Ok(*code)),
            Some(stop) => Some(Err(self.stopped(*stop, limits, step.own_budget))),
            None if trap == Some(&Trap::OutOfFuel) => Some(Err(self.stopped(Stop::OutOfFuel, limits, step.own_budget))),
            // A crash after a refusal is what that refusal led to.
            None if left.memory_refused => Some(Err(RunFailure::Memory { limit: limits.memory })),
            None if left.table_refused => Some(Err(RunFailure::Table { limit: limits.table_elements })),
            None => trap.map(|trap| Err(RunFailure::Trap { kind: kind(*trap), backtrace: backtrace(error) })),
        }
    }
}

/// The step that runs.
struct Step {
    limits: StepLimits,
    /// What it may use: its own budget, or what the render has left.
    fuel: u64,
    /// It is its own.
    own_budget: bool,
    started: Instant,
}

/// What a run left behind, however it ended.
struct Left {
    fuel: u64,
    peak_memory: u64,
    memory_refused: bool,
    table_refused: bool,
    stdout: Vec<u8>,
    stderr: Stderr,
    /// A buffer for the next run.
    spare: Vec<u8>,
}

impl Left {
    fn new(fuel: u64, limiter: &Limiter, context: &mut Context) -> Self {
        let (stdout, stderr, spare) = context.take_output();
        Self {
            fuel,
            peak_memory: limiter.memory_of_step(),
            memory_refused: limiter.memory_refused(),
            table_refused: limiter.table_refused(),
            stdout,
            stderr,
            spare,
        }
    }
}

/// The system's reason not to run a function.
fn not_startable(error: &wasmtime::Error) -> RunFailure {
    RunFailure::Start(format!("{error:#}"))
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox")
            .field("fuel_left", &self.fuel)
            .field("stores_created", &self.stores_created)
            .finish_non_exhaustive()
    }
}

/// Arms the deadline and runs: the module's start function and then `_start`, both under all limits.
fn execute(store: &mut Store<State>, program: &Program) -> wasmtime::Result<()> {
    store.set_epoch_deadline(1);
    // The other half of the fence in `CancelToken::cancel`: if the deadline above was armed with an epoch that a cancel
    // had already moved, the look at the flag below sees that cancel. Without it the two reads could change places.
    fence(Ordering::SeqCst);
    store.data().check()?;
    let instance = program.pre.instantiate(&mut *store)?;
    let memory = program.memory.and_then(|export| instance.get_module_export(&mut *store, &export)?.into_memory());
    store.data_mut().memory = memory;
    let start = instance
        .get_module_export(&mut *store, &program.start)
        .and_then(wasmtime::Extern::into_func)
        .ok_or_else(|| wasmtime::Error::msg("`_start` is not a function"))?;
    start.typed::<(), ()>(&mut *store)?.call(&mut *store, ())
}

fn not_started(failure: RunFailure, started: Instant) -> RunError {
    RunError {
        failure,
        stderr: Vec::new(),
        stderr_dropped: 0,
        fuel_used: 0,
        peak_memory: 0,
        elapsed: started.elapsed(),
    }
}

fn kind(trap: Trap) -> TrapKind {
    match trap {
        Trap::UnreachableCodeReached => TrapKind::Unreachable,
        Trap::StackOverflow => TrapKind::StackOverflow,
        Trap::MemoryOutOfBounds | Trap::HeapMisaligned => TrapKind::MemoryOutOfBounds,
        Trap::TableOutOfBounds => TrapKind::TableOutOfBounds,
        Trap::IndirectCallToNull | Trap::BadSignature => TrapKind::BadIndirectCall,
        Trap::IntegerDivisionByZero => TrapKind::DivisionByZero,
        Trap::IntegerOverflow => TrapKind::IntegerOverflow,
        Trap::BadConversionToInteger => TrapKind::BadConversion,
        _ => TrapKind::Other,
    }
}

/// The innermost named calls. Names come from the module: cut, and without control characters.
fn backtrace(error: &wasmtime::Error) -> Vec<String> {
    let Some(trace) = error.downcast_ref::<WasmBacktrace>() else { return Vec::new() };
    let named = trace.frames().iter().filter_map(|frame| frame.func_name());
    named
        .take(BACKTRACE_FRAMES)
        .map(|name| {
            let readable =
                rustc_demangle::try_demangle(name).map_or_else(|_| name.to_owned(), |name| format!("{name:#}"));
            let mut short: String = readable.chars().filter(|c| !c.is_control()).collect();
            short.truncate(short.floor_char_boundary(FRAME_NAME_BYTES));
            short
        })
        .collect()
}

//! The engine: what all renders of a process share.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use wasmtime::{Config, InstanceAllocationStrategy, Linker, OperatorCost, OptLevel, PoolingAllocationConfig};

use crate::cache::{CacheError, DiskCache};
use crate::compile::CompileLimits;
use crate::component::World;
use crate::module_cache::ModuleCache;
use crate::sandbox::{Slots, State};

/// Table elements that a pooled instance can have at most; see [`Limits::table_elements`](crate::Limits).
const POOL_TABLE_ELEMENTS: usize = 100_000;

/// What the host keeps of one component that runs, with all its instances, outside its memories and tables.
const COMPONENT_INSTANCE_BYTES: usize = 8 << 20;

/// Finished instances that one Store may collect where no pool bounds them.
const STORE_INSTANCES: u32 = 1_000;

/// How often running code looks at its deadline.
const TICK: Duration = Duration::from_millis(10);

/// Where instances get their memories from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// Each instance maps and unmaps its own memory. For a process that runs a few functions and ends.
    OnDemand,
    /// Instances take prepared slots: ten times faster, for processes that render again and again.
    /// The engine can't be made where the address space is too small.
    Pooling {
        /// Instances that can be alive at the same time, in all renders together. Each takes 4 GiB of
        /// address space, and memory only for what it uses.
        slots: u32,
        /// Bytes of a slot's memory that are cleared and kept instead of being given back to the system.
        keep_resident: usize,
    },
    /// [`Pooling`](Self::Pooling) with the sizes of [`Allocation::pooling`] where the address space
    /// allows it, else [`OnDemand`](Self::OnDemand).
    Auto,
}

impl Allocation {
    /// A pool for this machine: 8 slots a core, at least 32, each keeping up to 4 MiB.
    pub fn pooling() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let slots = u32::try_from(cores.saturating_mul(8)).unwrap_or(u32::MAX).clamp(32, 1024);
        Self::Pooling { slots, keep_resident: 4 << 20 }
    }
}

/// Who turns a wasm module into machine code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compiler {
    /// A child process for each module, bounded by [`EngineConfig::compile_limits`] and killed when nobody wants the module
    /// any more. The path is that of a program that calls [`serve_child`](crate::serve_child) first, of the same version as
    /// this library: `portico` does. Whoever uses the library names it; their own program is never started again by itself.
    Child(PathBuf),
    /// This process. The structure checks before it bound what a hostile module can cost, but not tightly: for modules that
    /// are trusted not to stop the process.
    InProcess,
    /// Nobody: only embedded modules and those that are in the compile cache can be loaded.
    Forbidden,
}

/// How to make an [`Engine`].
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// Where instances get their memories from. Default: on demand.
    pub allocation: Allocation,
    /// Where compiled modules are kept between processes. It is made if it is not there, and must belong
    /// to us alone. Default: nowhere.
    pub cache_dir: Option<PathBuf>,
    /// Who compiles. Default: this process.
    pub compiler: Compiler,
    /// What a child process may use to compile a module.
    pub compile_limits: CompileLimits,
    /// Largest wasm module that is accepted, in bytes. Default: 32 MiB.
    pub module_bytes: u64,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            allocation: Allocation::OnDemand,
            cache_dir: None,
            compiler: Compiler::InProcess,
            compile_limits: CompileLimits::default(),
            module_bytes: 32 << 20,
        }
    }
}

/// An engine could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// wasmtime refuses the settings, or the system has not got the address space for the pool.
    #[error("the WebAssembly engine can't be set up: {0}")]
    Setup(String),
    /// No thread for the clock that deadlines and cancels rest on.
    #[error("can't start the engine's clock thread")]
    Ticker(#[source] std::io::Error),
}

/// The wasmtime engine with all it needs: the clock behind deadlines, the pool, the loaded modules.
///
/// One for a process. Clones are the same engine; it ends when the last clone and the last
/// [`Sandbox`](crate::Sandbox) are gone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<EngineInner>,
}

/// What became of the requests for a module: one a step that runs in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModuleCounts {
    /// It was in memory, or on its way there.
    pub hits: u64,
    /// It had to be made ready.
    pub misses: u64,
    /// Of those, the ones that an earlier process had compiled.
    pub from_disk: u64,
}

pub(crate) struct EngineInner {
    pub(crate) wasmtime: wasmtime::Engine,
    pub(crate) linker: Linker<State>,
    /// What components see, made for the first of them.
    pub(crate) components: OnceLock<wasmtime::component::Linker<World>>,
    pub(crate) modules: ModuleCache,
    pub(crate) disk: Option<DiskCache>,
    pub(crate) compiler: Compiler,
    pub(crate) compile_limits: CompileLimits,
    pub(crate) module_bytes: u64,
    pub(crate) compilations: AtomicU64,
    pub(crate) mapped: AtomicU64,
    /// Stands in front of the pool; none where instances are allocated on demand.
    pub(crate) slots: Option<Arc<Slots>>,
    /// Instances after which a render goes on in a fresh Store.
    pub(crate) store_instances: u32,
    cache_error: Option<CacheError>,
    /// Last, so that it ends after everything that rests on it. None in the tests that show what works without.
    _ticker: Option<Ticker>,
}

impl Engine {
    /// Makes an engine with its clock running.
    ///
    /// A cache directory that can't be used is no error: the engine then compiles anew in each process,
    /// and [`cache_error`](Self::cache_error) tells why.
    pub fn new(config: EngineConfig) -> Result<Self, EngineError> {
        Self::with_clock(config, true)
    }

    /// An engine whose epoch moves by cancels alone: deadlines do not work on it, and a cancel that were lost would hang.
    #[cfg(test)]
    pub(crate) fn without_clock() -> Self {
        Self::with_clock(EngineConfig::default(), false).expect("an engine")
    }

    fn with_clock(config: EngineConfig, ticking: bool) -> Result<Self, EngineError> {
        let EngineConfig { allocation, cache_dir, compiler, compile_limits, module_bytes } = config;
        let setup = |error: wasmtime::Error| EngineError::Setup(format!("{error:#}"));

        let (wasmtime, slots) = match allocation {
            Allocation::OnDemand => (on_demand().map_err(setup)?, None),
            Allocation::Pooling { slots, keep_resident } => (pooled(slots, keep_resident).map_err(setup)?, Some(slots)),
            Allocation::Auto => {
                let Allocation::Pooling { slots, keep_resident } = Allocation::pooling() else {
                    unreachable!("`pooling` makes a pool")
                };
                match pooled(slots, keep_resident) {
                    Ok(engine) => (engine, Some(slots)),
                    Err(error) => {
                        tracing::debug!("no pool, allocating on demand: {error:#}");
                        (on_demand().map_err(setup)?, None)
                    }
                }
            }
        };
        let linker = crate::wasi::linker(&wasmtime).map_err(setup)?;
        let (disk, cache_error) = match cache_dir.map(|dir| DiskCache::open(&dir, &wasmtime)) {
            None => (None, None),
            Some(Ok(cache)) => (Some(cache), None),
            Some(Err(error)) => (None, Some(error)),
        };
        let ticker = ticking.then(|| Ticker::start(&wasmtime)).transpose().map_err(EngineError::Ticker)?;
        Ok(Self {
            inner: Arc::new(EngineInner {
                wasmtime,
                linker,
                components: OnceLock::new(),
                modules: ModuleCache::default(),
                disk,
                compiler,
                compile_limits,
                module_bytes,
                compilations: AtomicU64::new(0),
                mapped: AtomicU64::new(0),
                slots: slots.map(|total| Arc::new(Slots::new(total))),
                // A quarter of the pool, so that several renders find room without waiting.
                store_instances: slots.map_or(STORE_INSTANCES, |total| (total / 4).max(1)),
                cache_error,
                _ticker: ticker,
            }),
        })
    }

    /// Why compiled modules are not kept between processes although a directory was given.
    pub fn cache_error(&self) -> Option<&CacheError> {
        self.inner.cache_error.as_ref()
    }

    /// How many modules this engine compiled: those that were neither embedded nor cached.
    pub fn compilations(&self) -> u64 {
        self.inner.compilations.load(Ordering::Relaxed)
    }

    /// What became of the requests for a module so far.
    pub fn module_counts(&self) -> ModuleCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (modules, from_disk) = (&self.inner.modules, of(&self.inner.mapped));
        ModuleCounts { hits: of(&modules.hits), misses: of(&modules.misses), from_disk }
    }

    /// Whether instances come from a pool.
    pub fn is_pooled(&self) -> bool {
        self.inner.slots.is_some()
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("pooled", &self.is_pooled())
            .field("compiler", &self.inner.compiler)
            .finish_non_exhaustive()
    }
}

impl EngineInner {
    pub(crate) fn bump_epoch(&self) {
        self.wasmtime.increment_epoch();
    }
}

/// The settings that decide what compiled code looks like. Whatever differs here makes compiled modules
/// unusable for each other, so there is one place for it.
pub(crate) fn base_config() -> Config {
    let mut cost = OperatorCost::new();
    // Fresh pages are the host's work: 64 KiB to clear.
    cost.variable.memory_grow_per_page = u8::MAX;

    let mut config = Config::new();
    config
        .cranelift_opt_level(OptLevel::Speed)
        // The same input gives the same bytes on every processor.
        .cranelift_nan_canonicalization(true)
        .consume_fuel(true)
        .operator_cost(cost)
        .epoch_interruption(true)
        .concurrency_support(false)
        .parallel_compilation(true)
        // Sizes only debuggers and profilers would use.
        .native_unwind_info(false)
        .generate_address_map(false)
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(16))
        // Runs on the caller's stack: threads that run functions need 2 MiB.
        .max_wasm_stack(1 << 20)
        // Address space instead of bounds checks.
        .memory_reservation(4 << 30)
        .memory_guard_size(32 << 20)
        .memory_init_cow(true)
        // What no toolchain for WASI programs needs is attack surface.
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_relaxed_simd(false)
        .wasm_tail_call(false);
    crate::native::allow_in_place(&mut config);
    config
}

fn on_demand() -> wasmtime::Result<wasmtime::Engine> {
    wasmtime::Engine::new(&base_config())
}

fn pooled(slots: u32, keep_resident: usize) -> wasmtime::Result<wasmtime::Engine> {
    let mut pool = PoolingAllocationConfig::new();
    // `pagemap_scan` stays off, its default: a dirty page that is swapped out would escape the clearing.
    // A slot is an instance of a module with its memory and its table. A component takes as many as it has instances, so
    // none of its own bounds is reached before the slots run out; and one stack for all of them.
    pool.total_core_instances(slots)
        .total_memories(slots)
        .total_tables(slots)
        .total_stacks(slots)
        .total_component_instances(slots)
        .max_component_instance_size(COMPONENT_INSTANCE_BYTES)
        .max_core_instances_per_component(slots)
        .max_memories_per_component(slots)
        .max_tables_per_component(slots)
        .max_memories_per_module(1)
        .max_tables_per_module(1)
        .max_core_instance_size(4 << 20)
        .max_memory_size(4 << 30)
        .table_elements(POOL_TABLE_ELEMENTS)
        .linear_memory_keep_resident(keep_resident)
        .table_keep_resident(64 << 10)
        .max_unused_warm_slots(slots);
    let mut config = base_config();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    wasmtime::Engine::new(&config)
}

/// The thread that moves the epoch. It ends with the engine.
struct Ticker {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    fn start(engine: &wasmtime::Engine) -> std::io::Result<Self> {
        let (stop, stopped) = mpsc::channel::<()>();
        // Weak, so that the thread keeps nothing alive.
        let engine = engine.weak();
        let thread =
            std::thread::Builder::new().name("portico-clock".into()).stack_size(64 << 10).spawn(move || {
                while stopped.recv_timeout(TICK) == Err(mpsc::RecvTimeoutError::Timeout) {
                    match engine.upgrade() {
                        Some(engine) => engine.increment_epoch(),
                        None => break,
                    }
                }
            })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The closed channel wakes it at once, and it can't panic.
            drop(thread.join());
        }
    }
}

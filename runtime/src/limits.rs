//! How much a render may use.

mod layers;
mod name;

use std::time::Duration;

use portico_krm::yaml::ParseLimits;

pub(crate) use self::layers::step_limits;
pub use self::layers::{
    DecidedLimit, DecidedLimits, FunctionPattern, LimitLayers, LimitProfile, LimitSetting, LimitSettings, LimitSource,
    StepProfile,
};
pub(crate) use self::name::bytes;
pub use self::name::{LimitName, LimitUnit, LimitValue};
use crate::package::PackageLimits;

/// Everything a render may use, in one place.
///
/// Each field's comment has the same parts: the problem it solves, the mechanism, the default, what it
/// does not stop, how it goes together with host calls, and how it is tested. The largest value of a
/// field's type means "no limit"; switching one limit off never weakens or trips another, which
/// `sandbox/combinations.rs` tests for each alone, each beside each, and none.
///
/// ```
/// use portico_runtime::Limits;
/// let limits = Limits { memory: 256 << 20, ..Limits::default() };
/// assert_eq!(limits.stderr, 64 << 10);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Limits {
    /// Fuel a render starts with, in wasm instructions.
    ///
    /// - Problem: a function that computes for ever, on a machine of any speed.
    /// - Mechanism: wasmtime counts instructions at loop heads and function entries; one budget is
    ///   counted down over all steps of a render. The count is the same for the same input, every time.
    /// - Default: 2,000,000,000, about two seconds of an empty loop.
    /// - Does not stop: one bulk instruction is charged for its whole length before it runs, and is then
    ///   not divisible.
    /// - Host calls: each is charged a fixed amount and a part of the bytes it moves.
    /// - Tested by `sandbox/limits.rs`: an endless loop ends as out of fuel, two runs use the same count.
    pub fuel: u64,

    /// Fuel added for every step, before it runs.
    ///
    /// - Problem: a fixed budget is eaten up by what the programs of a long pipeline cost before they read
    ///   anything: the start of a language's runtime.
    /// - Mechanism: the budget grows by this much when a step begins. What a step leaves over is there for
    ///   the steps after it.
    /// - Default: 50,000,000, what the slowest runtimes in use take to start.
    /// - Does not stop: a pipeline with many steps has more in all; `step_fuel` bounds each, `render_time` all.
    /// - Host calls: none of their own.
    /// - Tested by `sandbox/limits.rs`: the budget that an out-of-fuel error names grows with the steps.
    pub fuel_per_step: u64,

    /// Fuel added for every byte of every step's input.
    ///
    /// - Problem: a fixed budget either refuses large packages or lets small ones burn minutes.
    /// - Mechanism: before a step runs, the budget grows by this much per byte on its stdin.
    /// - Default: 8,000, six times what parsing, editing and printing a byte of YAML costs.
    /// - Does not stop: a large input buys a long loop; `step_time` bounds that.
    /// - Host calls: none of their own.
    /// - Tested by `sandbox/limits.rs`: the budget that an out-of-fuel error names grows with the input.
    pub fuel_per_input_byte: u64,

    /// Fuel one step may use, whatever the render has left.
    ///
    /// - Problem: one function that uses up what the functions after it were to have; or a function of which
    ///   it is known how much it needs.
    /// - Mechanism: a step starts with this much, or with what the render has, if that is less.
    /// - Default: no limit beside that of the render. It is meant for profiles of functions.
    /// - Does not stop: as `fuel`.
    /// - Host calls: as `fuel`.
    /// - Tested by `sandbox/limits.rs`: a loop ends at its own budget, and the next step has the rest.
    pub step_fuel: u64,

    /// Time one step may take.
    ///
    /// - Problem: fuel does not know how slow or busy the machine is.
    /// - Mechanism: a thread moves the engine's epoch every 10 ms; running code looks at its deadline
    ///   whenever the epoch moved.
    /// - Default: 60 seconds.
    /// - Does not stop: compiling a module, which happens before; one bulk memory instruction.
    /// - Host calls: none blocks. A sleep takes no time, but its length counts as if it had.
    /// - Tested by `sandbox/limits.rs`: an endless loop with unlimited fuel, and a sleep of an hour.
    pub step_time: Duration,

    /// Time all steps of a render may take together, with the host's work between them.
    ///
    /// - Problem: many steps that each stay within `step_time`.
    /// - Mechanism: as `step_time`; the clock starts when the [`Sandbox`](crate::Sandbox) is made.
    /// - Default: 5 minutes.
    /// - Does not stop: host work between steps is not interrupted; the next step does not start.
    /// - Host calls: as `step_time`.
    /// - Tested by `sandbox/limits.rs`: sleeps of several steps add up.
    pub render_time: Duration,

    /// Bytes of linear memory that a step may hold.
    ///
    /// - Problem: a function that takes memory until the machine has none.
    /// - Mechanism: a limiter adds up all memories of the Store. The sum may reach this much on top of
    ///   what finished instances of the same Store still hold, which `retained_memory` bounds: so what a
    ///   step may have does not depend on the steps before it. A growth beyond is refused as WebAssembly
    ///   knows it (`memory.grow` answers -1); when the function ends in a trap after that, the error says
    ///   that it ran out of memory.
    /// - Default: 1 GiB.
    /// - Does not stop: memory of the host for stdin, stdout and stderr, each with its own bound; compiled
    ///   code, which the engine bounds.
    /// - Host calls: none allocates on a guest's word beyond `stdout` and `stderr`.
    /// - Tested by `sandbox/limits.rs`: a grower that traps, one that goes on, a first memory too large.
    pub memory: u64,

    /// Bytes of linear memory that finished instances may keep before a fresh Store is opened.
    ///
    /// - Problem: a Store frees its instances only when it is dropped, so a long pipeline would hold
    ///   the memory of all its functions.
    /// - Mechanism: after a step, when the finished instances hold more than this, the Store is dropped, and
    ///   the sandbox goes on in a fresh one with the remaining fuel, deadlines and limits.
    /// - Default: 32 MiB: a render of 1,000 objects stays in few Stores, one of 5,000 holds one step's memory.
    /// - Does not stop: one step's own use, see `memory`.
    /// - Host calls: none of their own.
    /// - Tested by `sandbox/stores.rs`: Stores are counted.
    pub retained_memory: u64,

    /// Elements of all tables of an instance.
    ///
    /// - Problem: tables are host memory, 8 bytes an element, outside linear memory.
    /// - Mechanism: the limiter, as for `memory`.
    /// - Default: 100,000; Go and C++ programs of tens of megabytes stay below 50,000.
    /// - Does not stop: a pooled engine has its own bound of 100,000, whatever stands here.
    /// - Host calls: none of their own.
    /// - Tested by `sandbox/limits.rs`: a table grower.
    pub table_elements: u64,

    /// Bytes a step may write to stdout.
    ///
    /// - Problem: stdout is kept in host memory until the step ends.
    /// - Mechanism: the write that would pass the bound ends the step.
    /// - Default: 128 MiB: a package of 20,000 objects has about 40 MB, and generators may double it.
    /// - Does not stop: output that is small but costly to parse; the YAML reader has its own bounds.
    /// - Host calls: checked before bytes are copied, so one huge write is as harmless as many small ones.
    /// - Tested by `sandbox/limits.rs`: a flood in one write and in single bytes.
    pub stdout: u64,

    /// Bytes of a step's stderr that are kept.
    ///
    /// - Problem: as for `stdout`, but a noisy function is no broken one.
    /// - Mechanism: what comes after the bound is thrown away and counted.
    /// - Default: 64 KiB.
    /// - Does not stop: control characters; whoever shows stderr on a terminal strips them.
    /// - Host calls: each write costs fuel whether its bytes are kept or not.
    /// - Tested by `sandbox/limits.rs`: a flood.
    pub stderr: u64,

    /// Bytes of a wasm module that is not part of this program.
    ///
    /// - Problem: what it takes to read, check and compile a module grows with its size.
    /// - Mechanism: looked at before anything else is done with the module, also when it is known already.
    ///   [`EngineConfig::module_bytes`](crate::EngineConfig::module_bytes) bounds it too, for all renders.
    /// - Default: 32 MiB; the largest functions in use have 15.
    /// - Does not stop: small modules that cost much to compile: ceilings on their structure do.
    /// - Host calls: none run yet.
    /// - Tested by `sandbox/modules.rs`: a module that one render may load and another may not.
    pub module_bytes: u64,

    /// Resources that a render may hold at any time: those of the package, and after each step those that
    /// the functions made of them.
    ///
    /// - Problem: a resource of six bytes takes a kilobyte of the host's memory on its way through a render.
    /// - Mechanism: counted while the package is read, and when a step's answer takes the place of its input.
    /// - Default: 200,000.
    /// - Does not stop: large resources; the bounds on bytes and nodes do.
    /// - Host calls: none of their own.
    /// - Tested by `render_tests/bounds.rs`: a package and an answer that hold one too many.
    pub resources: u64,

    /// What is read of a package. Each field there says what it stops.
    ///
    /// - Problem: a tree of files that fills the memory before a function runs.
    /// - Mechanism: counted while reading, before anything is parsed.
    /// - Default: [`PackageLimits::default`].
    /// - Does not stop: what functions make of the content.
    /// - Host calls: none run yet.
    /// - Tested by `package/read.rs` and `package/discover_tests.rs`, each field.
    pub package: PackageLimits,

    /// What YAML may hold: of files, of standard input, and of what functions write.
    ///
    /// - Problem: text that is small, and large or deep once it is read.
    /// - Mechanism: the reader counts depth, nodes and documents as it goes; aliases are never expanded.
    /// - Default: [`ParseLimits::default`].
    /// - Does not stop: many files that each stay within it; `package` and `resources` do.
    /// - Host calls: none of their own.
    /// - Tested by `yaml/hostile.rs` of the crate `portico-krm`, each field, and by `render_tests/bounds.rs`.
    #[serde(with = "crate::isolation::ParseLimitsForm")]
    pub yaml: ParseLimits,
}

impl Limits {
    /// No limit at all, but for the depth of YAML and of directories: whatever walks a tree needs stack for it.
    pub fn unlimited() -> Self {
        let package = PackageLimits::default();
        Self {
            fuel: u64::MAX,
            fuel_per_step: 0,
            fuel_per_input_byte: 0,
            step_fuel: u64::MAX,
            step_time: Duration::MAX,
            render_time: Duration::MAX,
            memory: u64::MAX,
            retained_memory: u64::MAX,
            table_elements: u64::MAX,
            stdout: u64::MAX,
            stderr: u64::MAX,
            module_bytes: u64::MAX,
            resources: u64::MAX,
            package: PackageLimits {
                entries: u64::MAX,
                files: u64::MAX,
                file_bytes: u64::MAX,
                package_bytes: u64::MAX,
                ignore_bytes: u64::MAX,
                ignore_patterns: u64::MAX,
                depth: package.depth,
            },
            yaml: ParseLimits::UNBOUNDED,
        }
    }

    /// Those that hold for a step by itself.
    pub fn step(&self) -> StepLimits {
        StepLimits {
            fuel: self.step_fuel,
            time: self.step_time,
            memory: self.memory,
            table_elements: self.table_elements,
            stdout: self.stdout,
            stderr: self.stderr,
        }
    }
}

/// The limits of one step: those of its render, unless a profile for its function says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepLimits {
    /// [`Limits::step_fuel`].
    pub fuel: u64,
    /// [`Limits::step_time`].
    pub time: Duration,
    /// [`Limits::memory`].
    pub memory: u64,
    /// [`Limits::table_elements`].
    pub table_elements: u64,
    /// [`Limits::stdout`].
    pub stdout: u64,
    /// [`Limits::stderr`].
    pub stderr: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel: 2_000_000_000,
            fuel_per_step: 50_000_000,
            fuel_per_input_byte: 8_000,
            step_fuel: u64::MAX,
            step_time: Duration::from_mins(1),
            render_time: Duration::from_mins(5),
            memory: 1 << 30,
            retained_memory: 32 << 20,
            table_elements: 100_000,
            stdout: 128 << 20,
            stderr: 64 << 10,
            module_bytes: 32 << 20,
            resources: 200_000,
            package: PackageLimits::default(),
            yaml: ParseLimits::default(),
        }
    }
}

//! How much a render may use.

use std::time::Duration;

/// Everything a render may use, in one place.
///
/// Each field's comment has the same parts: the problem it solves, the mechanism, the default, what it
/// does not stop, how it goes together with host calls, and how it is tested. The largest value of a
/// field's type means "no limit"; switching one limit off never weakens another.
///
/// ```
/// use portico_runtime::Limits;
/// let limits = Limits { memory: 256 << 20, ..Limits::default() };
/// assert_eq!(limits.stderr, 64 << 10);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
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

    /// Fuel added for every byte of every step's input.
    ///
    /// - Problem: a fixed budget either refuses large packages or lets small ones burn minutes.
    /// - Mechanism: before a step runs, the budget grows by this much per byte on its stdin.
    /// - Default: 8,000, six times what parsing, editing and printing a byte of YAML costs.
    /// - Does not stop: a large input buys a long loop; `step_time` bounds that.
    /// - Host calls: none of their own.
    /// - Tested by `sandbox/limits.rs`: the budget that an out-of-fuel error names grows with the input.
    pub fuel_per_input_byte: u64,

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
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel: 2_000_000_000,
            fuel_per_input_byte: 8_000,
            step_time: Duration::from_mins(1),
            render_time: Duration::from_mins(5),
            memory: 1 << 30,
            retained_memory: 32 << 20,
            table_elements: 100_000,
            stdout: 128 << 20,
            stderr: 64 << 10,
        }
    }
}

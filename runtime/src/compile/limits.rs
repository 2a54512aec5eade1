//! What compiling one module may use.

use std::time::Duration;

/// What a child process may use to compile one module ([`Compiler::Child`](crate::Compiler::Child)).
///
/// Before it, the module's size and structure are checked, in this process. Each field's comment has the same parts as those
/// of [`Limits`](crate::Limits). The largest value of a field's type means "no limit"; switching one off never weakens
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompileLimits {
    /// Bytes of memory of the compiling process.
    ///
    /// - Problem: a small module can make the compiler take gigabytes.
    /// - Mechanism: the child sets `RLIMIT_DATA` to this much and `RLIMIT_AS` to 2 GiB more, before it reads the module.
    ///   The allocation that does not fit ends it.
    /// - Default: 1 GiB, several times what the largest modules of Go and C++ need.
    /// - Does not stop: several modules that are compiled at the same time; each has its own child. macOS does not enforce
    ///   either limit.
    /// - Tested by `tests/child/compile.rs`: an honest module with too little of it, a costly one with enough for honest ones.
    pub memory: u64,

    /// Processor time of the compiling process, all threads together; in whole seconds, rounded up.
    ///
    /// - Problem: compiling takes more than linear time in the size of a function.
    /// - Mechanism: `RLIMIT_CPU`, set by the child.
    /// - Default: 2 minutes.
    /// - Does not stop: a child that waits; `time` does.
    /// - Tested by `tests/child/compile.rs`: a module of costly functions that the checks let pass.
    pub cpu: Duration,

    /// Time from the start of the compiling process to its answer.
    ///
    /// - Problem: a child that hangs, or gets no processor.
    /// - Mechanism: the parent kills the child's process group.
    /// - Default: 2 minutes.
    /// - Does not stop: the wait of a render, which ends earlier when it is cancelled.
    /// - Tested by `tests/child/compile.rs`: a costly module, and a program that never answers.
    pub time: Duration,

    /// Bytes of compiled code.
    ///
    /// - Problem: the answer is held in this process and kept on disk.
    /// - Mechanism: the parent reads no more than this and kills the child.
    /// - Default: 256 MiB, eight times the largest module; code is two to four times as large as its module.
    /// - Does not stop: many modules; the cache has its own bound.
    /// - Tested by `tests/child/compile.rs`: an honest module with too little of it, and a program that answers without end.
    pub code_bytes: u64,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self { memory: 1 << 30, cpu: Duration::from_mins(2), time: Duration::from_mins(2), code_bytes: 256 << 20 }
    }
}

/// Which of [`CompileLimits`] was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CompileLimit {
    /// [`CompileLimits::memory`].
    Memory,
    /// [`CompileLimits::cpu`].
    Cpu,
    /// [`CompileLimits::time`].
    Time,
    /// [`CompileLimits::code_bytes`].
    CodeBytes,
}

impl CompileLimits {
    /// How much there was of the one that was met.
    pub(crate) fn words(&self, met: CompileLimit) -> String {
        use crate::limits::bytes;
        match met {
            CompileLimit::Memory => format!("{} of memory", bytes(self.memory)),
            CompileLimit::Cpu => format!("{:?} of processor time", self.cpu),
            CompileLimit::Time => format!("{:?}", self.time),
            CompileLimit::CodeBytes => format!("{} for its code", bytes(self.code_bytes)),
        }
    }
}

//! What can go wrong between a module and its output, each with its own words.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::compile::CompileLimit;
use crate::limits::{LimitName, bytes};
use crate::report::Cause;

/// A function's module can't be used. Found before anything of it runs.
///
/// Clones are cheap: everyone who waited for the same module gets the same error.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// The file can't be read.
    #[error("can't read the module `{}`", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// A directory, pipe or device where a file was expected.
    #[error("`{}` is not a regular file", .path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// Larger than the engine accepts.
    #[error("the module is larger than the limit `moduleBytes` of {}", bytes(*.limit))]
    TooLarge {
        /// The bound, in bytes.
        limit: u64,
    },
    /// The bytes are no wasm module at all.
    #[error("not a WebAssembly module: {found}")]
    NotWasm {
        /// What they seem to be instead.
        found: &'static str,
    },
    /// A component, where a core module is expected: components can't be compiled into a program.
    #[error(
        "the module is a WebAssembly component, which can't be embedded; compile the function for WASI preview 1, for example with the Rust target `wasm32-wasip1`"
    )]
    EmbeddedComponent,
    /// It starts like a module but is damaged or breaks a rule of WebAssembly.
    #[error("the WebAssembly module is not valid: {0}")]
    Invalid(String),
    /// It uses a feature that functions do not get.
    #[error("the module uses {feature}, which is not supported; {advice}")]
    Unsupported {
        /// The feature's name.
        feature: &'static str,
        /// How to build it without.
        advice: &'static str,
    },
    /// It asks for more of something than any reasonable function: refused before compiling.
    #[error("the module has {found} {what}, more than the limit of {limit}")]
    Ceiling {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// The bound.
        limit: u64,
    },
    /// It needs something that no host of WASI programs offers.
    #[error("the module imports {imports}, which functions do not get; {advice}")]
    MissingImport {
        /// The unknown imports, the first few: as `module`.`name`, those of a component as `name`.
        imports: String,
        /// What that tells about how it was built, and what to do.
        advice: &'static str,
    },
    /// It imports or exports a known name with another signature.
    #[error("the module does not fit WASI: {0}")]
    Interface(String),
    /// It is no program.
    #[error("the module has no `_start` function to run; {advice}")]
    NoStart {
        /// What it seems to be, and what to do.
        advice: &'static str,
    },
    /// As `NoStart`, for a component.
    #[error("the component does not export `wasi:cli/run`, so there is nothing to run; {advice}")]
    NoRun {
        /// What to do.
        advice: &'static str,
    },
    /// It calls WASI but keeps its memory to itself.
    #[error("the module does not export its memory as `memory`, as WASI programs must")]
    NoMemory,
    /// It is not compiled yet and this engine must not compile.
    #[error("the module is not compiled, and compiling is switched off here")]
    CompilingForbidden,
    /// Compiling it needed more than one of [`CompileLimits`](crate::CompileLimits).
    #[error(
        "compiling the module needed more than {had}; split its largest functions, or compile it where there is more"
    )]
    CompileLimit {
        /// Which.
        limit: CompileLimit,
        /// How much there was.
        had: String,
    },
    /// The program that is to compile can't be started.
    #[error("can't start `{}` to compile the module", .program.display())]
    CompilerStart {
        /// The program.
        program: PathBuf,
        /// Why.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// The program that is to compile makes code that this one can't run.
    #[error(
        "`{}` compiles for another version of this program; give the path of the `portico` that belongs to it",
        .program.display()
    )]
    CompilerForeign {
        /// The program.
        program: PathBuf,
    },
    /// The compiling process ended without an answer.
    #[error("`{}` did not compile the module: {reason}", .program.display())]
    CompilerCrashed {
        /// The program.
        program: PathBuf,
        /// What is known: a signal, its last words.
        reason: String,
    },
    /// Whoever wanted the module was cancelled before it was there.
    #[error("cancelled")]
    Cancelled,
    /// The compiler gave up on a valid module.
    #[error("the module can't be compiled: {0}")]
    Compile(String),
    /// Embedded code that was made for another build of this program.
    #[error("the embedded module does not fit this build or this processor: {0}")]
    Embedded(String),
}

/// Which of the two deadlines passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    /// [`Limits::step_time`](crate::Limits::step_time).
    Step,
    /// [`Limits::render_time`](crate::Limits::render_time).
    Render,
}

/// What a function did that WebAssembly does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum TrapKind {
    /// It gave up by itself, as a panic or an abort does.
    Unreachable,
    /// It called itself too deeply.
    StackOverflow,
    /// It reached outside its memory.
    MemoryOutOfBounds,
    /// It reached outside a table.
    TableOutOfBounds,
    /// It called through a pointer to nothing, or to a function of another signature.
    BadIndirectCall,
    /// It divided an integer by zero.
    DivisionByZero,
    /// The result of an integer operation does not fit.
    IntegerOverflow,
    /// It turned a float that is not a number, or too large, into an integer.
    BadConversion,
    /// Any other.
    Other,
}

impl TrapKind {
    fn words(self) -> &'static str {
        match self {
            Self::Unreachable => "it gave up by itself, as a panic or a failed assertion does",
            Self::StackOverflow => "it overflowed its call stack",
            Self::MemoryOutOfBounds => "it accessed memory out of bounds",
            Self::TableOutOfBounds => "it accessed a table out of bounds",
            Self::BadIndirectCall => "it called an invalid function pointer",
            Self::DivisionByZero => "it divided an integer by zero",
            Self::IntegerOverflow => "an integer operation overflowed",
            Self::BadConversion => "it converted an invalid float to an integer",
            Self::Other => "it broke a rule of WebAssembly",
        }
    }
}

impl ModuleError {
    /// Why a step with this module cannot run.
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Self::Read { .. } | Self::NotAFile { .. } => Cause::NotFound,
            Self::TooLarge { .. } => Cause::Limit(LimitName::ModuleBytes),
            Self::NotWasm { .. } | Self::Invalid(_) => Cause::NotAModule,
            Self::MissingImport { .. } => Cause::MissingImport,
            Self::Ceiling { .. }
            | Self::CompilingForbidden
            | Self::Compile(_)
            | Self::CompileLimit { .. }
            | Self::CompilerStart { .. }
            | Self::CompilerForeign { .. }
            | Self::CompilerCrashed { .. } => Cause::NotCompiled,
            // Those that are no programs for this host, and whatever comes to that.
            _ => Cause::NotRunnable,
        }
    }
}

impl RunFailure {
    /// Why a step that ended so did not pass; `None` when it was cancelled, which is nobody's fault.
    pub(crate) fn cause(&self) -> Option<Cause> {
        Some(match self {
            Self::Cancelled => return None,
            Self::Trap { kind, .. } => Cause::Trap(*kind),
            Self::OutOfFuel { .. } => Cause::Limit(LimitName::Fuel),
            Self::OutOfStepFuel { .. } => Cause::Limit(LimitName::StepFuel),
            Self::Deadline { which: Deadline::Step, .. } => Cause::Limit(LimitName::StepTime),
            Self::Deadline { which: Deadline::Render, .. } => Cause::Limit(LimitName::RenderTime),
            Self::Memory { .. } => Cause::Limit(LimitName::Memory),
            Self::Table { .. } => Cause::Limit(LimitName::TableElements),
            Self::StdoutTooLarge { .. } => Cause::Limit(LimitName::Stdout),
            // To its host it is what a trap is to the machine.
            Self::BadCall(_) => Cause::Trap(TrapKind::Other),
            Self::Directories | Self::Start(_) => Cause::NotStarted,
        })
    }
}

impl std::fmt::Display for TrapKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.words())
    }
}

/// Why a function did not run to an exit of its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunFailure {
    /// It crashed.
    #[error("the function crashed: {kind}{}", trace(.backtrace))]
    Trap {
        /// How.
        kind: TrapKind,
        /// Its innermost calls, innermost first. The names are the guest's own: unchecked text.
        backtrace: Vec<String>,
    },
    /// It used up the render's fuel.
    #[error("the function used up the fuel budget of {budget} instructions; it may be in an endless loop")]
    OutOfFuel {
        /// All fuel granted to the render so far.
        budget: u64,
    },
    /// It used up the fuel that it may have for itself.
    #[error("the function used up its fuel of {limit} instructions; it may be in an endless loop")]
    OutOfStepFuel {
        /// [`Limits::step_fuel`](crate::Limits::step_fuel), or that of its profile.
        limit: u64,
    },
    /// It took too long.
    #[error("{}", deadline_words(*.which, *.limit))]
    Deadline {
        /// Which deadline.
        which: Deadline,
        /// How long it was.
        limit: Duration,
    },
    /// Someone asked for the render to stop.
    #[error("cancelled")]
    Cancelled,
    /// It ran out of memory: it was refused more, and crashed on that.
    #[error("the function ran out of memory: the limit is {}", bytes(*.limit))]
    Memory {
        /// [`Limits::memory`](crate::Limits::memory).
        limit: u64,
    },
    /// As `Memory`, for tables.
    #[error("the function ran out of table space: the limit is {limit} elements")]
    Table {
        /// [`Limits::table_elements`](crate::Limits::table_elements).
        limit: u64,
    },
    /// It wrote too much.
    #[error("the function wrote more than {} to stdout", bytes(*.limit))]
    StdoutTooLarge {
        /// [`Limits::stdout`](crate::Limits::stdout).
        limit: u64,
    },
    /// A component made a call that is against the rules of components or of WASI, which ends it.
    #[error("the function called its host in a way that is not allowed: {0}")]
    BadCall(String),
    /// A component, to which directories are granted that it could not be shown.
    #[error(
        "the function is a component, and components are not shown granted directories; render without the grant, or build the function for WASI preview 1, for example with the Rust target `wasm32-wasip1`"
    )]
    Directories,
    /// The system could not give it an instance.
    #[error("the function can't be started: {0}")]
    Start(String),
}

/// A function did not run to an exit of its own, and what it had done until then.
#[derive(Debug, thiserror::Error)]
#[error("{failure}")]
pub struct RunError {
    /// Why it ended.
    pub failure: RunFailure,
    /// What it wrote to stderr, up to [`Limits::stderr`](crate::Limits::stderr). The guest's own text:
    /// any bytes.
    pub stderr: Vec<u8>,
    /// Bytes of stderr that were not kept.
    pub stderr_dropped: u64,
    /// Instructions it used.
    pub fuel_used: u64,
    /// The most linear memory it held, in bytes.
    pub peak_memory: u64,
    /// How long it ran.
    pub elapsed: Duration,
}

fn trace(frames: &[String]) -> String {
    if frames.is_empty() { String::new() } else { format!(", in {}", frames.join(" < ")) }
}

fn deadline_words(which: Deadline, limit: Duration) -> String {
    match which {
        Deadline::Step => format!("the function did not end within {limit:?}"),
        Deadline::Render => format!("the render did not end within {limit:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_tells_where() {
        let failure =
            RunFailure::Trap { kind: TrapKind::DivisionByZero, backtrace: vec!["set::scale".into(), "main".into()] };
        assert_eq!(failure.to_string(), "the function crashed: it divided an integer by zero, in set::scale < main");
    }

    #[test]
    fn deadlines_say_whose_they_are() {
        let step = RunFailure::Deadline { which: Deadline::Step, limit: Duration::from_mins(1) };
        assert_eq!(step.to_string(), "the function did not end within 60s");
        let render = RunFailure::Deadline { which: Deadline::Render, limit: Duration::from_millis(1500) };
        assert_eq!(render.to_string(), "the render did not end within 1.5s");
    }
}

//! What a render tells about its steps: while it runs, through an [`Observer`], and afterwards.

use std::time::Duration;

use portico_krm::FunctionResult;
use serde::{Deserialize, Serialize};

use crate::changes::StepChanges;
use crate::error::TrapKind;
use crate::limits::LimitName;

/// Which list of the pipeline a function stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StepKind {
    /// Its output replaces its input.
    Mutator,
    /// Its output is checked and dropped.
    Validator,
}

/// Why a step did not pass, for programs that decide by it; people read [`StepReport::execution_error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Cause {
    /// It ended by itself with another exit code than 0.
    Exit,
    /// It crashed.
    Trap(TrapKind),
    /// It met a limit: of what it may use, of what its module may be, or of what its answer may hold.
    Limit(LimitName),
    /// What it wrote is not what an answer has to be.
    BadOutput,
    /// What it was to get cannot be sent to it.
    BadInput,
    /// Its `condition` cannot be evaluated.
    BadCondition,
    /// Its image name or command is none, or no source knows it.
    NotFound,
    /// It is a program, and programs may not run here.
    NotAllowed,
    /// Its file is no WebAssembly module, or a damaged one.
    NotAModule,
    /// Its module is none that can run here: another kind, a feature that is off, no `_start`.
    NotRunnable,
    /// Its module needs what functions do not get.
    MissingImport,
    /// Its module was not compiled: it asks for more than any reasonable function, or compiling failed or is not allowed.
    NotCompiled,
    /// The system could not start it.
    NotStarted,
}

impl Cause {
    /// A word for machines, in `camelCase`; it stays the same in later versions.
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::Exit => "exit",
            Cause::Trap(_) => "trap",
            Cause::Limit(LimitName::Fuel | LimitName::StepFuel) => "outOfFuel",
            Cause::Limit(LimitName::StepTime | LimitName::RenderTime) => "deadline",
            Cause::Limit(LimitName::Memory) => "memory",
            Cause::Limit(LimitName::TableElements) => "table",
            Cause::Limit(LimitName::Stdout) => "outputTooLarge",
            Cause::Limit(_) => "limit",
            Cause::BadOutput => "badOutput",
            Cause::BadInput => "badInput",
            Cause::BadCondition => "badCondition",
            Cause::NotFound => "notFound",
            Cause::NotAllowed => "notAllowed",
            Cause::NotAModule => "notAModule",
            Cause::NotRunnable => "notRunnable",
            Cause::MissingImport => "missingImport",
            Cause::NotCompiled => "notCompiled",
            Cause::NotStarted => "notStarted",
        }
    }
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StepState {
    /// Exit code 0 and output that passed all checks.
    Passed,
    /// It ran, or could not be started.
    Failed,
    /// Its condition said that it need not run.
    Skipped,
    /// An earlier step failed, or another function of its package cannot run.
    NotRun,
}

/// One function call of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReport {
    /// Slash path of the package from the root; empty for the root.
    pub package: String,
    /// How kpt shows the package: the root directory's name, then the last name of each nested package.
    pub package_name: String,
    /// Mutator or validator.
    pub kind: StepKind,
    /// Position in its list of the pipeline, from 0.
    pub index: usize,
    /// Position among all functions of its package, mutators first, from 1.
    pub number: usize,
    /// `name` of the function in the Kptfile, or empty.
    pub name: String,
    /// The full image; empty for an executable.
    pub image: String,
    /// The command as the Kptfile gives it; empty for an image.
    pub exec: String,
    /// How it ended.
    pub state: StepState,
    /// The function's exit code: 0 when it passed; 1 when it failed without one of its own, as kpt records it.
    pub exit_code: i32,
    /// Why it could not be started, was ended, or had its output refused; `None` when the exit code says it all.
    pub execution_error: Option<String>,
    /// What kpt would say in the place of [`StepReport::execution_error`], where it has other words.
    pub kpt_error: Option<String>,
    /// Why it did not pass; `None` when it passed or did not run.
    pub cause: Option<Cause>,
    /// Standard error, as text.
    pub stderr: String,
    /// Bytes of standard error that were dropped beyond the bound.
    pub stderr_dropped: u64,
    /// What the function reported.
    #[serde(with = "crate::isolation::results")]
    pub results: Vec<FunctionResult>,
    /// How many resources it got; `None` when it was not run.
    pub resources: Option<usize>,
    /// True when selectors or exclusions chose them.
    pub selective: bool,
    /// What it changed, when it passed and [`RenderOptions::changes`](crate::RenderOptions::changes) asks for it.
    pub changes: Option<StepChanges>,
    /// True when the function has an item in `results.yaml`: its answer was taken, or it gave none that could be read.
    /// One whose answer was read and refused has none.
    pub recorded: bool,
    /// Wall time.
    pub elapsed: Duration,
    /// Fuel it used; 0 for an executable.
    pub fuel: u64,
    /// Its peak of linear memory in bytes; 0 for an executable.
    pub peak_memory: u64,
}

impl StepReport {
    /// How progress names the function: the full image or the command.
    pub fn function(&self) -> &str {
        if self.image.is_empty() { &self.exec } else { &self.image }
    }

    /// The limit that it met, if it met one.
    pub fn exceeded(&self) -> Option<LimitName> {
        match self.cause {
            Some(Cause::Limit(name)) => Some(name),
            _ => None,
        }
    }

    /// How summaries name the function: its `name`, else the image, else the command.
    pub fn label(&self) -> &str {
        if self.name.is_empty() { self.function() } else { &self.name }
    }
}

/// Something that happens during a render, in order.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The turn of a package has come.
    PackageStarted {
        /// Slash path from the root; empty for the root.
        path: &'a str,
        /// How kpt shows it.
        name: &'a str,
        /// How many functions its pipeline has; perhaps none.
        functions: usize,
    },
    /// A function is about to run.
    StepStarted(&'a StepReport),
    /// A function passed.
    StepPassed(&'a StepReport),
    /// The condition of a function said that it need not run: nothing changed.
    StepSkipped {
        /// The step.
        step: &'a StepReport,
        /// The condition, a CEL expression.
        condition: &'a str,
    },
    /// A function failed; nothing of its package or of any other runs after it.
    StepFailed(&'a StepReport),
    /// All functions of a package passed.
    PackageFinished {
        /// Slash path from the root; empty for the root.
        path: &'a str,
        /// How kpt shows it.
        name: &'a str,
        /// How many functions its pipeline has; perhaps none.
        functions: usize,
    },
    /// Something to tell that does not stop the render.
    Warning(&'a str),
}

/// Gets the events of a render while it runs.
pub trait Observer {
    /// Called in the thread of the render; the render waits for it.
    fn event(&mut self, event: &Event<'_>);
}

/// Hears nothing.
impl Observer for () {
    fn event(&mut self, _: &Event<'_>) {}
}

impl<F: FnMut(&Event<'_>)> Observer for F {
    fn event(&mut self, event: &Event<'_>) {
        self(event);
    }
}

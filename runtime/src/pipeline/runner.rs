//! The seam between the pipeline and what runs its functions.

use std::time::Duration;

use crate::report::Cause;

/// A function that was found and may be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// The full image, or empty.
    pub(crate) image: String,
    /// The command, or empty.
    pub(crate) exec: String,
    /// The runner's own number for it.
    pub(crate) handle: usize,
    /// Something to tell about the way it was found.
    pub(crate) warning: Option<String>,
}

/// Why a function cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unresolved {
    /// The full image as far as it is known, or empty.
    pub(crate) image: String,
    /// The command, or empty.
    pub(crate) exec: String,
    /// What to tell, with what to do about it.
    pub(crate) message: String,
    /// kpt's words, where they differ.
    pub(crate) kpt: Option<String>,
    pub(crate) cause: Cause,
}

/// What a function did.
#[derive(Debug, Clone, Default)]
pub(crate) struct FunctionOutput {
    pub(crate) exit_code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) stderr_dropped: u64,
    pub(crate) fuel: u64,
    pub(crate) peak_memory: u64,
    pub(crate) elapsed: Duration,
    /// Why it did not end by itself with exit code 0, where that is known already.
    pub(crate) cause: Option<Cause>,
}

/// Why a function came to no end of its own.
#[derive(Debug)]
pub(crate) enum RunFailure {
    /// Somebody cancelled the render.
    Cancelled,
    /// A trap, a limit, a program that cannot be started.
    Ended {
        /// What happened, without the function's name.
        message: String,
        /// kpt's words, where they differ.
        kpt: Option<String>,
        /// What it wrote and used until then; its exit code and output mean nothing.
        so_far: Box<FunctionOutput>,
    },
}

/// The function's entry in a Kptfile, as far as finding it needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FunctionName<'a> {
    pub(crate) image: &'a str,
    pub(crate) tag: &'a str,
    pub(crate) exec: &'a str,
}

/// Finds and runs functions: the sandbox in earnest, closures in tests.
pub(crate) trait FunctionRunner {
    /// Finds the function; nothing runs.
    fn resolve(&mut self, name: FunctionName<'_>) -> Result<Resolved, Unresolved>;

    /// Runs it on a `ResourceList`.
    fn run(&mut self, handle: usize, stdin: Vec<u8>) -> Result<FunctionOutput, RunFailure>;

    /// True when the render is to stop.
    fn is_cancelled(&self) -> bool;
}

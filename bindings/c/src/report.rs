//! The result of a render, as C reads it.

use std::ffi::c_char;
use std::time::Duration;

use portico_runtime::package::Change;
use portico_runtime::{
    Cause, Event, Failure, FailureKind, FunctionReply, Observer, Outcome, StepKind, StepReport, StepState,
};

use crate::abi::{self, Text};

/// Warnings that are kept of a render; the functions of a package may be many, and each may bring one.
const WARNINGS: usize = 1_000;

/// Bytes with a zero behind them.
#[derive(Debug)]
struct Owned(Box<[u8]>);

impl Owned {
    fn new(bytes: impl Into<Vec<u8>>) -> Owned {
        let mut bytes = bytes.into();
        bytes.reserve_exact(1);
        bytes.push(0);
        Owned(bytes.into_boxed_slice())
    }

    fn text(&self) -> Text {
        Text { data: self.0.as_ptr().cast::<c_char>(), len: self.0.len() - 1 }
    }
}

/// The result of a render: `portico_result_t`. Immutable.
#[derive(Debug)]
pub struct Report {
    status: i32,
    message: Owned,
    failed_package: Owned,
    failed_step: i64,
    saved_on_failure: bool,
    results: Owned,
    packages: usize,
    changes: Vec<OwnedChange>,
    steps: Vec<OwnedStep>,
    warnings: Vec<Owned>,
    output: Owned,
}

#[derive(Debug)]
struct OwnedChange {
    path: Owned,
    /// None for a file that is to be gone.
    content: Option<Owned>,
}

#[derive(Debug)]
struct OwnedStep {
    package: Owned,
    name: Owned,
    image: Owned,
    execution_error: Owned,
    cause: Owned,
    stderr: Owned,
    stderr_dropped: u64,
    elapsed_nanoseconds: u64,
    fuel: u64,
    peak_memory: u64,
    resources: i64,
    exit_code: i32,
    kind: u32,
    index: u32,
    state: u32,
}

impl Report {
    pub(crate) fn new(outcome: Outcome, warnings: Warnings) -> Report {
        let results = Owned::new(outcome.results().to_yaml());
        let (status, message, failed_package, failed_step) = match outcome.failure {
            None => (abi::STATUS_RENDERED, String::new(), String::new(), None),
            Some(failure) => (status(failure.kind), failure.message, failure.package, failure.step),
        };
        Report {
            status,
            message: Owned::new(message),
            failed_package: Owned::new(failed_package),
            failed_step: failed_step.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1),
            saved_on_failure: outcome.saved_on_failure,
            results,
            packages: outcome.packages,
            changes: outcome.changes.into_iter().map(OwnedChange::new).collect(),
            steps: outcome.steps.into_iter().map(OwnedStep::new).collect(),
            warnings: warnings.0.into_iter().map(Owned::new).collect(),
            output: Owned::new([]),
        }
    }

    /// What one function came to.
    pub(crate) fn of_reply(reply: FunctionReply) -> Report {
        let (cause, message) = reply.failure.unzip();
        let step = StepReport {
            state: if cause.is_none() { StepState::Passed } else { StepState::Failed },
            exit_code: reply.exit_code,
            // What an exit code says already is not said twice.
            execution_error: message.clone().filter(|_| cause != Some(Cause::Exit)),
            cause,
            stderr: String::from_utf8_lossy(&reply.stderr).into_owned(),
            stderr_dropped: reply.stderr_dropped,
            results: reply.results,
            recorded: true,
            elapsed: reply.elapsed,
            fuel: reply.fuel,
            peak_memory: reply.peak_memory,
            ..step_of(reply.image)
        };
        let failure = message.map(|message| failure(FailureKind::Function, message));
        let outcome = Outcome { steps: vec![step], failure, ..Outcome::default() };
        let warnings = Warnings(reply.warning.into_iter().collect());
        Report { output: Owned::new(reply.output), ..Report::new(outcome, warnings) }
    }

    /// A function that could not be called.
    pub(crate) fn unresolved(image: String, cause: Cause, text: String) -> Report {
        let step = StepReport {
            state: StepState::Failed,
            exit_code: 1,
            execution_error: Some(text.clone()),
            cause: Some(cause),
            ..step_of(image)
        };
        let failure = Some(failure(FailureKind::Unresolved, text));
        Report::new(Outcome { steps: vec![step], failure, ..Outcome::default() }, Warnings::default())
    }

    pub(crate) fn output(&self) -> Text {
        self.output.text()
    }

    pub(crate) fn status(&self) -> i32 {
        self.status
    }

    pub(crate) fn message(&self) -> Text {
        self.message.text()
    }

    pub(crate) fn failed_package(&self) -> Text {
        self.failed_package.text()
    }

    pub(crate) fn failed_step(&self) -> i64 {
        self.failed_step
    }

    pub(crate) fn saved_on_failure(&self) -> bool {
        self.saved_on_failure
    }

    pub(crate) fn results(&self) -> Text {
        self.results.text()
    }

    pub(crate) fn packages(&self) -> usize {
        self.packages
    }

    pub(crate) fn change_count(&self) -> usize {
        self.changes.len()
    }

    pub(crate) fn change(&self, at: usize) -> Option<abi::Change> {
        self.changes.get(at).map(|change| abi::Change {
            path: change.path.text(),
            content: change.content.as_ref().map_or(Text::EMPTY, Owned::text),
            deleted: change.content.is_none().into(),
            reserved: 0,
        })
    }

    pub(crate) fn step_count(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn step(&self, at: usize) -> Option<abi::Step> {
        self.steps.get(at).map(|step| abi::Step {
            struct_size: size_of::<abi::Step>(),
            package: step.package.text(),
            name: step.name.text(),
            image: step.image.text(),
            execution_error: step.execution_error.text(),
            cause: step.cause.text(),
            stderr_text: step.stderr.text(),
            stderr_dropped: step.stderr_dropped,
            elapsed_nanoseconds: step.elapsed_nanoseconds,
            fuel: step.fuel,
            peak_memory: step.peak_memory,
            resources: step.resources,
            exit_code: step.exit_code,
            kind: step.kind,
            index: step.index,
            state: step.state,
        })
    }

    pub(crate) fn warning_count(&self) -> usize {
        self.warnings.len()
    }

    pub(crate) fn warning(&self, at: usize) -> Option<Text> {
        self.warnings.get(at).map(Owned::text)
    }
}

impl OwnedChange {
    fn new(change: Change) -> OwnedChange {
        match change {
            Change::Write { path, bytes } => OwnedChange { path: Owned::new(path), content: Some(Owned::new(bytes)) },
            Change::Delete { path } => OwnedChange { path: Owned::new(path), content: None },
        }
    }
}

impl OwnedStep {
    fn new(step: StepReport) -> OwnedStep {
        OwnedStep {
            package: Owned::new(step.package),
            name: Owned::new(step.name),
            // Commands can't be run here; they are told of as the Kptfile names them.
            image: Owned::new(if step.image.is_empty() { step.exec } else { step.image }),
            execution_error: Owned::new(step.execution_error.unwrap_or_default()),
            cause: Owned::new(step.cause.map_or("", Cause::as_str)),
            stderr: Owned::new(step.stderr),
            stderr_dropped: step.stderr_dropped,
            elapsed_nanoseconds: u64::try_from(step.elapsed.as_nanos()).unwrap_or(u64::MAX),
            fuel: step.fuel,
            peak_memory: step.peak_memory,
            resources: step.resources.and_then(|n| i64::try_from(n).ok()).unwrap_or(-1),
            exit_code: step.exit_code,
            kind: match step.kind {
                StepKind::Mutator => abi::STEP_MUTATOR,
                StepKind::Validator => abi::STEP_VALIDATOR,
            },
            index: u32::try_from(step.index).unwrap_or(u32::MAX),
            state: match step.state {
                StepState::Passed => abi::STEP_PASSED,
                StepState::Failed => abi::STEP_FAILED,
                StepState::Skipped => abi::STEP_SKIPPED,
                StepState::NotRun => abi::STEP_NOT_RUN,
            },
        }
    }
}

/// The only step of a call.
fn step_of(image: String) -> StepReport {
    StepReport {
        package: String::new(),
        package_name: String::new(),
        kind: StepKind::Mutator,
        index: 0,
        number: 1,
        name: String::new(),
        image,
        exec: String::new(),
        state: StepState::NotRun,
        exit_code: 0,
        execution_error: None,
        kpt_error: None,
        cause: None,
        stderr: String::new(),
        stderr_dropped: 0,
        results: Vec::new(),
        resources: None,
        selective: false,
        recorded: false,
        elapsed: Duration::ZERO,
        fuel: 0,
        peak_memory: 0,
        changes: None,
    }
}

/// Of a call: kpt has no words for it.
fn failure(kind: FailureKind, message: String) -> Failure {
    Failure { kind, package: String::new(), step: Some(0), message, kpt_condition: String::new(), kpt_error: None }
}

fn status(kind: FailureKind) -> i32 {
    match kind {
        FailureKind::Package => abi::STATUS_BAD_PACKAGE,
        FailureKind::Unresolved => abi::STATUS_UNRESOLVED,
        FailureKind::Function => abi::STATUS_FUNCTION_FAILED,
        FailureKind::Output => abi::STATUS_BAD_OUTPUT,
    }
}

/// Keeps the warnings of a render.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<String>);

impl Observer for Warnings {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Warning(text) = event
            && self.0.len() < WARNINGS
        {
            self.0.push((*text).to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_bounded() {
        let mut warnings = Warnings::default();
        for number in 0..=WARNINGS {
            warnings.event(&Event::Warning(&number.to_string()));
        }
        let report = Report::new(Outcome::default(), warnings);
        assert_eq!(report.warning_count(), WARNINGS);
        assert!(report.warning(WARNINGS - 1).is_some() && report.warning(WARNINGS).is_none());
    }
}

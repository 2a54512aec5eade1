//! The renderer of `portico-runtime` as the scheduler's backend.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use portico_runtime::package::{PackageFiles, PackageLimits, apply_to_map};
use portico_runtime::{
    CancelToken, Event, FailureKind, Observer, RenderError, RenderOptions, Renderer, StepReport, StepState, results_of,
    with_causes,
};

use super::backend::{Job, RenderBackend};
use crate::core::{Ended, Failure, Outcome};
use crate::model::{Ending, ErrorClass, Files, Reason};

/// Renders in this process, each function in its sandbox.
pub struct RuntimeBackend {
    renderer: Renderer,
    options: RenderOptions,
    limits: PackageLimits,
    configuration: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl RuntimeBackend {
    /// A backend of this renderer. `configuration` gives the digest of its functions and settings, see
    /// [`RenderBackend::configuration`]; where neither ever changes in the life of the process, a constant will do that
    /// is another one for another build.
    pub fn new(
        renderer: Renderer,
        options: RenderOptions,
        limits: PackageLimits,
        configuration: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self { renderer, options, limits, configuration: Box::new(configuration) }
    }
}

impl std::fmt::Debug for RuntimeBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RuntimeBackend").field("options", &self.options).finish_non_exhaustive()
    }
}

impl RenderBackend for RuntimeBackend {
    fn render(&self, job: &Job) -> Ended {
        let mut log = String::new();
        let mut observer = |event: &Event<'_>| {
            if let Event::Warning(text) = event {
                let _ = writeln!(log, "warning: {text}");
            }
        };
        let configuration = self.configuration();
        let attempt = attempt(job, &self.renderer, &self.options, &self.limits, configuration, &mut observer);
        if matches!(attempt.outcome, Outcome::Cancelled) {
            return Ended { outcome: attempt.outcome, log: Bytes::new(), fuel: 0 };
        }
        attempt.steps.iter().for_each(|step| log_step(&mut log, step));
        if !attempt.message.is_empty() {
            let _ = writeln!(log, "{}{}", if log.is_empty() { "" } else { "\n" }, attempt.message);
        }
        if !attempt.steps.is_empty() {
            let _ = write!(log, "\n{}", results_of(&attempt.steps).to_yaml());
        }
        let fuel = attempt.steps.iter().map(|step| step.fuel).sum();
        Ended { outcome: attempt.outcome, log: Bytes::from(log), fuel }
    }

    fn configuration(&self) -> u64 {
        (self.configuration)()
    }
}

/// What came of a package, before anybody writes a log of it.
#[derive(Debug)]
pub struct Attempt {
    /// What the scheduler is told.
    pub outcome: Outcome,
    /// What is to be said of it, in words; empty where it ended well or was cancelled.
    pub message: String,
    /// All functions of its plan, where it came so far.
    pub steps: Vec<StepReport>,
}

impl Attempt {
    /// One that ended so, without a step.
    pub fn ended(ending: Ending, files: Option<Files>) -> Self {
        let message = ending.message.clone();
        Self { message, outcome: Outcome::Rendered { ending, files }, steps: Vec::new() }
    }
}

/// Renders a job's package, for backends of this renderer. `configuration` is [`RenderBackend::configuration`]. A package
/// without a Kptfile is left alone, with a warning to the observer.
pub fn attempt(
    job: &Job,
    renderer: &Renderer,
    options: &RenderOptions,
    limits: &PackageLimits,
    configuration: u64,
    observer: &mut dyn Observer,
) -> Attempt {
    let Job { key, files, cancel, .. } = job;
    // Other functions, or another package, may do.
    let invalid = |message: &str| {
        let configuration = Some(configuration).filter(|digest| *digest != 0);
        Ending { configuration, ..Ending::failure(Reason::InvalidPackage, message) }
    };
    // Nothing says that it is a kpt package: nothing is touched.
    if !files.contains_key("Kptfile") {
        observer.event(&Event::Warning("no Kptfile: nothing to render"));
        return Attempt::ended(Ending::success(), None);
    }
    let contents = files.iter().map(|(path, content)| (path.as_str(), Arc::<[u8]>::from(&content[..])));
    let package = match PackageFiles::from_map(&format!("/{}", key.name), contents, limits) {
        Ok(package) => package,
        Err(error) => return Attempt::ended(invalid(&with_causes(&error)), None),
    };
    let token = CancelToken::new();
    let told = token.clone();
    cancel.on_cancel(move || told.cancel());
    // In isolation, no process renders for two tenants.
    let renderer = renderer.for_tenant(&key.namespace);
    let outcome = match renderer.render(&package, options, &token, observer) {
        Ok(outcome) => outcome,
        Err(RenderError::Cancelled) => {
            let (outcome, message) = (Outcome::Cancelled, String::new());
            return Attempt { outcome, message, steps: Vec::new() };
        }
        // The process that was to render it died or did not start: nobody knows whose fault that was.
        Err(error @ RenderError::Worker { .. }) => {
            let message = with_causes(&error);
            let outcome = Outcome::Broken(Failure::new(ErrorClass::Unclassified, message.clone()));
            return Attempt { outcome, message, steps: Vec::new() };
        }
        Err(error) => return Attempt::ended(invalid(&with_causes(&error)), None),
    };
    let ending = match outcome.failure {
        None => Ending::success(),
        Some(failure) => match failure.kind {
            FailureKind::Unresolved | FailureKind::Package => invalid(&failure.message),
            FailureKind::Function | FailureKind::Output => Ending::failure(Reason::RenderFailed, failure.message),
        },
    };
    let mut changed: BTreeMap<String, Bytes> = (**files).clone();
    let ended = match apply_to_map(&mut changed, outcome.changes) {
        Ok(()) => Attempt::ended(ending, Some(Arc::new(changed))),
        Err(error) => {
            let message = format!("the functions' output can't be saved: {error}");
            Attempt::ended(Ending::failure(Reason::RenderFailed, message), None)
        }
    };
    Attempt { steps: outcome.steps, ..ended }
}

/// A step's line, and what it wrote to stderr. Without times: the same package gives the same log.
fn log_step(log: &mut String, step: &StepReport) {
    let word = match step.state {
        StepState::Passed => "passed",
        StepState::Failed => "failed",
        StepState::Skipped => "skipped",
        StepState::NotRun => "not run",
    };
    let _ = writeln!(log, "{}: {word}", step.label());
    if let Some(error) = &step.execution_error {
        let _ = writeln!(log, "  {error}");
    }
    for line in step.stderr.lines() {
        let _ = writeln!(log, "  {line}");
    }
}

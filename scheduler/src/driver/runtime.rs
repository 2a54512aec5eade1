//! The renderer of `portico-runtime` as the scheduler's backend.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use portico_runtime::package::{PackageFiles, PackageLimits, apply_to_map};
use portico_runtime::{CancelToken, Event, FailureKind, RenderError, RenderOptions, Renderer, StepReport, StepState};

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
        let Job { key, files, cancel, .. } = job;
        // Nothing says that it is a kpt package: nothing is touched.
        if !files.contains_key("Kptfile") {
            return ended(Ending::success(), None, "no Kptfile: nothing to render\n".to_owned(), 0);
        }
        let contents = files.iter().map(|(path, content)| (path.as_str(), Arc::<[u8]>::from(&content[..])));
        let package = match PackageFiles::from_map(&format!("/{}", key.name), contents, &self.limits) {
            Ok(package) => package,
            Err(error) => return self.invalid(&text_of(&error)),
        };
        let token = CancelToken::new();
        let told = token.clone();
        cancel.on_cancel(move || told.cancel());
        let mut warnings = String::new();
        let mut observer = |event: &Event<'_>| {
            if let Event::Warning(text) = event {
                let _ = writeln!(warnings, "warning: {text}");
            }
        };
        // In isolation, no process renders for two tenants.
        let renderer = self.renderer.for_tenant(&key.namespace);
        let outcome = match renderer.render(&package, &self.options, &token, &mut observer) {
            Ok(outcome) => outcome,
            Err(RenderError::Cancelled) => {
                return Ended { outcome: Outcome::Cancelled, log: Bytes::new(), fuel: 0 };
            }
            // The process that was to render it died or did not start: nobody knows whose fault that was.
            Err(error @ RenderError::Worker { .. }) => {
                let failure = Failure::new(ErrorClass::Unclassified, text_of(&error));
                return Ended { log: Bytes::from(failure.message.clone()), outcome: Outcome::Broken(failure), fuel: 0 };
            }
            Err(error) => return self.invalid(&text_of(&error)),
        };
        let mut log = warnings;
        outcome.steps.iter().for_each(|step| log_step(&mut log, step));
        let fuel = outcome.steps.iter().map(|step| step.fuel).sum();
        let ending = match &outcome.failure {
            None => Ending::success(),
            Some(failure) => {
                let _ = writeln!(log, "\n{}", failure.message);
                match failure.kind {
                    // Other functions, or another package, may do.
                    FailureKind::Unresolved | FailureKind::Package => self.invalid_ending(&failure.message),
                    FailureKind::Function | FailureKind::Output => {
                        Ending::failure(Reason::RenderFailed, failure.message.clone())
                    }
                }
            }
        };
        let _ = write!(log, "\n{}", outcome.results().to_yaml());
        let mut changed: BTreeMap<String, Bytes> = (**files).clone();
        match apply_to_map(&mut changed, outcome.changes) {
            Ok(()) => ended(ending, Some(Arc::new(changed)), log, fuel),
            Err(error) => {
                let message = format!("the functions' output can't be saved: {error}");
                ended(Ending::failure(Reason::RenderFailed, message), None, log, fuel)
            }
        }
    }

    fn configuration(&self) -> u64 {
        (self.configuration)()
    }
}

impl RuntimeBackend {
    fn invalid_ending(&self, message: &str) -> Ending {
        let configuration = Some(self.configuration()).filter(|digest| *digest != 0);
        Ending { configuration, ..Ending::failure(Reason::InvalidPackage, message) }
    }

    fn invalid(&self, message: &str) -> Ended {
        ended(self.invalid_ending(message), None, format!("{message}\n"), 0)
    }
}

fn ended(ending: Ending, files: Option<Files>, log: String, fuel: u64) -> Ended {
    Ended { outcome: Outcome::Rendered { ending, files }, log: Bytes::from(log), fuel }
}

/// An error with its sources.
fn text_of(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let _ = write!(text, ": {error}");
        source = error.source();
    }
    text
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

//! The renderer as the scheduler's backend, with a record of what it does.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use portico_runtime::package::{PackageFiles, PackageLimits, apply_to_map};
use portico_runtime::{CancelToken, Event, FailureKind, RenderError, RenderOptions, Renderer, StepReport};
use portico_scheduler::core::{Ended, Failure, Outcome};
use portico_scheduler::driver::{Job, RenderBackend};
use portico_scheduler::model::{Ending, ErrorClass, Reason, RenderState, Revision, mirror};
use portico_scheduler::queue::Cost;

use super::live::Live;
use super::model::RecordOutcome;
use super::renders::Renders;

/// What holds for a render that begins now.
pub struct Effective {
    /// Renders.
    pub renderer: Renderer,
    /// How.
    pub options: RenderOptions,
    /// What a package may be.
    pub limits: PackageLimits,
}

/// Says what holds for the next render; it may change from one to the next.
pub trait RenderSettings: Send + Sync + 'static {
    /// What holds for the packages of a namespace.
    fn for_namespace(&self, namespace: &str) -> Effective;

    /// The digest of everything besides the package that decides how a render ends, see
    /// [`RenderBackend::configuration`]. Cheap.
    fn configuration(&self) -> u64;

    /// What a render in this namespace may use at most, for the queue's memory and the namespace's quota; `None`: nothing
    /// that counts. Asked under the scheduler's lock: cheap, and never calling back.
    fn cost(&self, namespace: &str) -> Option<Cost> {
        let _ = namespace;
        None
    }
}

/// Hears of each function that has run, to count it. Cheap, as the render waits for it.
pub trait StepMeter: Send + Sync + 'static {
    /// A function has passed or failed.
    fn step(&self, step: &StepReport);
}

/// Renders in this process, or where the renderer does, and keeps a record of each render.
pub struct Backend {
    settings: Arc<dyn RenderSettings>,
    renders: Arc<Renders>,
    meter: Option<Arc<dyn StepMeter>>,
}

impl Backend {
    /// A backend whose records are in `renders` while they are live.
    pub fn new(settings: Arc<dyn RenderSettings>, renders: Arc<Renders>) -> Self {
        Self { settings, renders, meter: None }
    }

    /// The same, with somebody who counts the steps.
    #[must_use]
    pub fn metered(self, meter: Arc<dyn StepMeter>) -> Self {
        Self { meter: Some(meter), ..self }
    }
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backend").field("renders", &self.renders).finish_non_exhaustive()
    }
}

impl RenderBackend for Backend {
    fn render(&self, job: &Job) -> Ended {
        let recording = Recording { renders: &self.renders, live: self.renders.begin(&job.key, job.content) };
        let id = recording.live.id();
        let _span = tracing::info_span!("render", render = %id, revision = %job.key, content = job.content.0).entered();
        tracing::info!("the render begins");
        let end = self.run(job, &recording.live);
        let log = recording.live.end(end.recorded, &end.message, &end.steps);
        let record = recording.live.record();
        tracing::info!(
            outcome = record.outcome.as_str(),
            steps = record.steps.len(),
            fuel = record.fuel,
            microseconds = record.elapsed_microseconds,
            "the render has ended{}{}",
            if end.message.is_empty() { "" } else { ": " },
            super::bound::cut(&end.message, 1 << 10),
        );
        Ended { outcome: end.outcome, log, fuel: record.fuel }
    }

    fn configuration(&self) -> u64 {
        self.settings.configuration()
    }

    fn cost(&self, revision: &Revision) -> Option<Cost> {
        self.settings.cost(&revision.key.namespace)
    }
}

/// Puts the record away however the render ends, a panic included.
struct Recording<'a> {
    renders: &'a Renders,
    live: Arc<Live>,
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        // Nothing changes where it has ended by itself.
        self.live.end(RecordOutcome::Broken, "the renderer panicked", &[]);
        self.renders.end(&self.live);
    }
}

/// How a render ended.
struct End {
    outcome: Outcome,
    recorded: RecordOutcome,
    message: String,
    steps: Vec<StepReport>,
}

impl End {
    fn rendered(ending: Ending, files: Option<portico_scheduler::model::Files>, steps: Vec<StepReport>) -> Self {
        let recorded = match ending.reason {
            _ if ending.rendered => RecordOutcome::Succeeded,
            Reason::InvalidPackage => RecordOutcome::Invalid,
            _ => RecordOutcome::Failed,
        };
        Self { recorded, message: ending.message.clone(), outcome: Outcome::Rendered { ending, files }, steps }
    }
}

impl Backend {
    fn run(&self, job: &Job, live: &Live) -> End {
        let Job { key, files, cancel, .. } = job;
        // Nothing says that it is a kpt package: nothing is touched.
        if !files.contains_key("Kptfile") {
            live.warn("no Kptfile: nothing to render");
            return End::rendered(Ending::success(), None, Vec::new());
        }
        let Effective { renderer, mut options, limits } = self.settings.for_namespace(&key.namespace);
        options.changes.get_or_insert_default();
        let contents = files.iter().map(|(path, content)| (path.as_str(), Arc::<[u8]>::from(&content[..])));
        let package = match PackageFiles::from_map(&format!("/{}", key.name), contents, &limits) {
            Ok(package) => package,
            Err(error) => return self.invalid(&text_of(&error)),
        };
        let token = CancelToken::new();
        let told = token.clone();
        cancel.on_cancel(move || told.cancel());
        // Of the step that runs now, for traces. A render that is begun anew begins its steps anew.
        let mut span = None;
        let mut observer = |event: &Event<'_>| {
            live.event(event);
            match event {
                Event::StepStarted(step) => {
                    // The one before ends first: spans on a thread lie within each other.
                    drop(span.take());
                    span = Some(tracing::info_span!("step", step = step.label()).entered());
                }
                Event::StepPassed(step) | Event::StepFailed(step) => {
                    tracing::debug!(state = ?step.state, fuel = step.fuel, elapsed = ?step.elapsed, "the step has ended");
                    drop(span.take());
                    if let Some(meter) = &self.meter {
                        meter.step(step);
                    }
                }
                _ => {}
            }
        };
        // In isolation, no process renders for two tenants.
        let renderer = renderer.for_tenant(&key.namespace);
        let outcome = match renderer.render(&package, &options, &token, &mut observer) {
            Ok(outcome) => outcome,
            Err(RenderError::Cancelled) => {
                let (outcome, recorded) = (Outcome::Cancelled, RecordOutcome::Stopped);
                return End { outcome, recorded, message: String::new(), steps: Vec::new() };
            }
            // The process that was to render it died or did not start: nobody knows whose fault that was.
            Err(error @ RenderError::Worker { .. }) => {
                let message = text_of(&error);
                let outcome = Outcome::Broken(Failure::new(ErrorClass::Unclassified, message.clone()));
                return End { outcome, recorded: RecordOutcome::Broken, message, steps: Vec::new() };
            }
            Err(error) => return self.invalid(&text_of(&error)),
        };
        let ending = match outcome.failure {
            None => Ending::success(),
            Some(failure) => match failure.kind {
                // Other functions, or another package, may do.
                FailureKind::Unresolved | FailureKind::Package => self.invalid_ending(&failure.message),
                FailureKind::Function | FailureKind::Output => Ending::failure(Reason::RenderFailed, failure.message),
            },
        };
        let mut changed: BTreeMap<String, Bytes> = (**files).clone();
        match apply_to_map(&mut changed, outcome.changes) {
            Ok(()) => {
                let changed = mirror(&Arc::new(changed), &RenderState::Ended(ending.clone()));
                End::rendered(ending, (changed != *files).then_some(changed), outcome.steps)
            }
            Err(error) => {
                let message = format!("the functions' output can't be saved: {error}");
                End::rendered(Ending::failure(Reason::RenderFailed, message), None, outcome.steps)
            }
        }
    }

    fn invalid_ending(&self, message: &str) -> Ending {
        let configuration = Some(self.configuration()).filter(|digest| *digest != 0);
        Ending { configuration, ..Ending::failure(Reason::InvalidPackage, message) }
    }

    fn invalid(&self, message: &str) -> End {
        End::rendered(self.invalid_ending(message), None, Vec::new())
    }
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

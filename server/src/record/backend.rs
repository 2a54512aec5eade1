//! The renderer as the scheduler's backend, with a record of what it does.

use std::sync::Arc;

use portico_runtime::package::PackageLimits;
use portico_runtime::{Event, LimitName, LimitSettings, LimitValue, RenderOptions, Renderer, StepReport};
use portico_scheduler::core::{Ended, Outcome};
use portico_scheduler::driver::{Attempt, Job, RenderBackend, attempt};
use portico_scheduler::model::{Ending, Reason, Revision};
use portico_scheduler::queue::Cost;

use super::deadline::Deadline;
use super::live::Live;
use super::model::RecordOutcome;
use super::renders::Renders;
use super::time::now_ms;
use super::wishes::{self, Wishes};
use crate::ops::traces::failed;

/// What holds for a render that begins now.
pub struct Effective {
    /// Renders.
    pub renderer: Renderer,
    /// How.
    pub options: RenderOptions,
    /// What a package may be.
    pub limits: PackageLimits,
    /// What the request asked for and did not get, in words for whoever asked.
    pub warnings: Vec<String>,
}

impl Effective {
    /// The same with less: of each limit the lower one, for every function.
    #[must_use]
    pub fn lowered(mut self, request: &LimitSettings) -> Self {
        let call = &mut self.options.call;
        for (name, asked) in request.iter() {
            let of_profiles = call.profiles.iter_mut().flat_map(|profile| &mut profile.limits);
            for (_, value) in of_profiles.filter(|(of, _)| *of == name) {
                *value = (*value).min(asked.value);
            }
            let holds = name.get(&call.limits);
            if asked.value < holds {
                name.set(&mut call.limits, asked.value);
            } else if asked.value > holds {
                self.warnings.push(refusal(name, asked.value, holds));
            }
        }
        self.limits = call.limits.package.clone();
        self
    }
}

/// What is said to whoever asked for more than there is.
pub(crate) fn refusal(name: LimitName, asked: LimitValue, holds: LimitValue) -> String {
    format!("limit `{name}`: {asked} was asked for, {holds} holds")
}

/// Says what holds for the next render; it may change from one to the next.
pub trait RenderSettings: Send + Sync + 'static {
    /// What holds for the packages of a namespace.
    fn for_namespace(&self, namespace: &str) -> Effective;

    /// The same for a render that asks for limits of its own. Without an operator's word on how far a tenant may go, it
    /// may go down.
    fn for_request(&self, namespace: &str, request: &LimitSettings) -> Effective {
        self.for_namespace(namespace).lowered(request)
    }

    /// The digest of everything besides the package that decides how a render ends, see
    /// [`RenderBackend::configuration`]. Cheap.
    fn configuration(&self) -> u64;

    /// What a render in this namespace that asks for these limits may use at most, for the queue's memory and the
    /// namespace's quota; `None`: nothing that counts. Asked under the scheduler's lock: cheap, and never calling back.
    fn cost(&self, namespace: &str, request: &LimitSettings) -> Option<Cost> {
        let _ = (namespace, request);
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
        let span = tracing::info_span!("render", render = %id, revision = %job.key, content = job.content.0).entered();
        tracing::info!("the render begins");
        let end = self.run(job, &recording.live);
        let log = recording.live.end(recorded(&end.outcome), &end.message, &end.steps);
        let record = recording.live.record();
        let message = super::bound::cut(&end.message, 1 << 10);
        if !matches!(record.outcome, RecordOutcome::Succeeded | RecordOutcome::Stopped) {
            failed(&span, &message);
        }
        tracing::info!(
            outcome = record.outcome.as_str(),
            steps = record.steps.len(),
            fuel = record.fuel,
            microseconds = record.elapsed_microseconds,
            "the render has ended{}{}",
            if end.message.is_empty() { "" } else { ": " },
            message,
        );
        Ended { outcome: end.outcome, log, fuel: record.fuel }
    }

    fn configuration(&self) -> u64 {
        self.settings.configuration()
    }

    fn cost(&self, revision: &Revision) -> Option<Cost> {
        // One whose wishes cannot be read is not rendered.
        let limits = wishes::limits_of(&revision.annotations).unwrap_or_default();
        self.settings.cost(&revision.key.namespace, &limits)
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

impl Backend {
    fn run(&self, job: &Job, live: &Live) -> Attempt {
        let wishes = match Wishes::read(&job.annotations) {
            Ok(wishes) => wishes,
            Err(error) => return Attempt::ended(Ending::failure(Reason::InvalidPackage, error.to_string()), None),
        };
        let Effective { renderer, mut options, limits, warnings } =
            self.settings.for_request(&job.key.namespace, &wishes.limits);
        options.changes.get_or_insert_default();
        options.style = wishes.style.unwrap_or(options.style);
        let mut deadline = match wishes.by_ms.map(|by| Deadline::at(by, now_ms())).transpose() {
            Ok(deadline) => deadline,
            Err(passed) => return Attempt::ended(passed, None),
        };
        if let Some(deadline) = &mut deadline {
            deadline.bound(&mut options.call.limits);
        }
        for warning in &warnings {
            live.event(&Event::Warning(warning));
        }
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
                    if let (Event::StepFailed(_), Some(span)) = (event, &span) {
                        failed(span, "");
                    }
                    drop(span.take());
                    if let Some(meter) = &self.meter {
                        meter.step(step);
                    }
                }
                _ => {}
            }
        };
        let mut attempt = attempt(job, &renderer, &options, &limits, self.configuration(), &mut observer);
        if let Some(deadline) = &deadline {
            deadline.judge(&mut attempt);
        }
        attempt
    }
}

/// The same, in a record's words.
fn recorded(outcome: &Outcome) -> RecordOutcome {
    match outcome {
        Outcome::Rendered { ending, .. } if ending.rendered => RecordOutcome::Succeeded,
        Outcome::Rendered { ending, .. } if ending.reason == Reason::InvalidPackage => RecordOutcome::Invalid,
        Outcome::Rendered { .. } => RecordOutcome::Failed,
        Outcome::Cancelled => RecordOutcome::Stopped,
        Outcome::Broken(_) => RecordOutcome::Broken,
    }
}

//! The render of a package: read, plan, run, check, write back.

use std::collections::HashSet;
use std::sync::Arc;

use portico_krm::annotations::{BFS_RENDERING, PACKAGE_PATH, SAVE_ON_RENDER_FAILURE};
use portico_krm::kptfile::{Condition, Experiments, RenderStatus, RenderStep, StatusMode, StatusUpdate};
use portico_krm::results::{ResultDocument, StepResult};

use crate::call::Caller;
use crate::cancel::CancelToken;
use crate::changes::ChangeOptions;
use crate::engine::Engine;
use crate::function::Sources;
use crate::grant::Grants;
use crate::image::ImagePrefix;
use crate::isolation::{WorkerConfig, Workers};
use crate::limits::{Limits, StepProfile};
use crate::load::{Loaded, dot, load};
use crate::outcome::{Failure, FailureKind, Outcome, RenderError};
use crate::package::PackageFiles;
use crate::pipeline::{FunctionRunner, Hydrated, Item, Package, Run, Stop, StopReason, hydrate, root_relative};
use crate::report::{Event, Observer, StepKind, StepReport, StepState};
use crate::write_back::{WriteBack, WriteStyle};

/// How functions are called.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    /// What they may use.
    pub limits: Limits,
    /// What some of them may use instead; where several match, a later one goes before an earlier one.
    pub profiles: Vec<StepProfile>,
    /// Where short image names live.
    pub image_prefix: ImagePrefix,
    /// True when `exec:` functions may run: with all rights of this process.
    pub allow_exec: bool,
    /// Directories and environment variables that functions see. None by default, and none that a Kptfile
    /// names. Programs (`exec:`) get the variables; they see the machine's files anyway.
    pub grants: Grants,
}

/// What a render is to do.
#[derive(Debug, Clone)]
pub struct RenderOptions {
    /// How functions are called.
    pub call: CallOptions,
    /// How changed files are written.
    pub style: WriteStyle,
    /// How much of the outcome goes into the root Kptfile.
    pub status: StatusMode,
    /// True when the result goes elsewhere: the outcome holds resources instead of changes, and no status.
    pub out_of_place: bool,
    /// True when Config Connector resources are to name functions as their makers (`KRM_DISABLE_ATTRIBUTION` unset).
    pub attribution: bool,
    /// Fields of Kptfiles that kpt does not know and that are to have an effect.
    pub experiments: Experiments,
    /// Steps are to say what they changed; `None` costs nothing.
    pub changes: Option<ChangeOptions>,
}

impl Default for RenderOptions {
    fn default() -> Self {
        RenderOptions {
            call: CallOptions::default(),
            style: WriteStyle::default(),
            status: StatusMode::default(),
            out_of_place: false,
            attribution: true,
            experiments: Experiments::default(),
            changes: None,
        }
    }
}

/// Renders packages. One for a process is enough; it can be used from many threads.
#[derive(Clone)]
pub struct Renderer {
    pub(crate) engine: Engine,
    pub(crate) sources: Sources,
    /// Where renders run, when not in this process.
    workers: Option<Arc<Workers>>,
    tenant: String,
}

impl Renderer {
    /// A renderer on this engine with functions from these sources.
    pub fn new(engine: Engine, sources: Sources) -> Renderer {
        Renderer { engine, sources, workers: None, tenant: String::new() }
    }

    /// The same renderer with its renders in child processes, one for each tenant, which have neither files nor sockets nor
    /// other programs. They are killed with the last clone of this renderer.
    ///
    /// Functions are found and compiled in this process, or where its engine compiles. Commands (`exec:`) can't be run.
    /// A worker that dies is replaced once in a render, which then begins anew: its events are told again.
    #[must_use]
    pub fn isolated(self, workers: WorkerConfig) -> Renderer {
        Renderer { workers: Some(Arc::new(Workers::new(workers))), ..self }
    }

    /// Refuses what a worker does not do, rather than to do it here.
    pub(crate) fn not_isolated(&self, what: &str) -> Result<(), RenderError> {
        match self.workers {
            Some(_) => {
                Err(RenderError::Input(format!("{what} is not done in isolation; switch off the one or the other")))
            }
            None => Ok(()),
        }
    }

    /// The same renderer for the packages of one tenant: with [`isolated`](Self::isolated), no process renders for two.
    #[must_use]
    pub fn for_tenant(&self, tenant: &str) -> Renderer {
        Renderer { tenant: tenant.to_owned(), ..self.clone() }
    }

    /// Renders a package. Nothing is written: the outcome says what is to be.
    ///
    /// An `Err` means that the render did not begin or was cancelled; a render that failed is an [`Outcome`] with a
    /// [`Failure`]. Runs on the calling thread, which functions keep busy.
    ///
    /// A cancel at any time before this returns makes it return [`RenderError::Cancelled`]: from within a function at
    /// once, from within the host's own work (reading an answer, which [`Limits::stdout`] bounds, or mapping resources
    /// to files) when that piece is done.
    pub fn render(
        &self,
        files: &PackageFiles,
        options: &RenderOptions,
        cancel: &CancelToken,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RenderError> {
        if let Some(workers) = &self.workers {
            return workers.render(&self.tenant, self, files, options, cancel, observer);
        }
        let mut caller = Caller::new(&self.engine, &self.sources, &options.call, cancel);
        let mut outcome = render_with(files, options, &mut caller, observer)?;
        outcome.stores = caller.stores_created();
        Ok(outcome)
    }
}

/// [`Renderer::render`] with whatever runs functions.
pub(crate) fn render_with(
    files: &PackageFiles,
    options: &RenderOptions,
    runner: &mut dyn FunctionRunner,
    observer: &mut dyn Observer,
) -> Result<Outcome, RenderError> {
    if runner.is_cancelled() {
        return Err(RenderError::Cancelled);
    }
    let outcome = begin(files, options, runner, observer)?;
    // A cancel that came while the host worked on the last answer or on the files.
    if runner.is_cancelled() { Err(RenderError::Cancelled) } else { Ok(outcome) }
}

fn begin(
    files: &PackageFiles,
    options: &RenderOptions,
    runner: &mut dyn FunctionRunner,
    observer: &mut dyn Observer,
) -> Result<Outcome, RenderError> {
    let Loaded { mut packages, root_kptfile, files: paths, failure } =
        load(files, &options.call.limits, options.experiments)?;
    let mut outcome = Outcome { packages: packages.len(), failure, ..Outcome::default() };
    let write = WriteBack { files, paths: &paths, style: options.style, limits: &options.call.limits.yaml };
    if outcome.failure.is_some() {
        outcome.steps = packages.iter().flat_map(Package::reports).collect();
        finish_failed(&mut outcome, None, options, &write);
        return Ok(outcome);
    }
    let inputs: HashSet<u32> =
        packages.iter().flat_map(|p| &p.own).filter_map(|item| Some(item.source?.file)).collect();
    let mut run = Run {
        runner,
        observer,
        steps: Vec::new(),
        reached: HashSet::new(),
        kpt_style: options.style == WriteStyle::Kpt,
        announce: true,
        limits: &options.call.limits,
        changes: options.changes.as_ref(),
        resources: packages.iter().map(|package| package.own.len() as u64).sum(),
    };
    let breadth_first = root_kptfile.flag(BFS_RENDERING);
    let Hydrated { items, stop } = hydrate(&mut run, &mut packages, breadth_first);
    let Run { steps, reached, runner, .. } = run;
    if runner.is_cancelled() {
        return Err(RenderError::Cancelled);
    }
    outcome.steps = steps;
    if let Some(Stop { package, reason }) = stop {
        outcome.failure = Some(failure_of(&packages, package, reason, breadth_first)?);
        let unreached = packages.iter().enumerate().filter(|(at, _)| !reached.contains(at));
        outcome.steps.extend(unreached.flat_map(|(_, package)| package.reports()));
        let state = root_kptfile.flag(SAVE_ON_RENDER_FAILURE).then_some(items);
        finish_failed(&mut outcome, state, options, &write);
        return Ok(outcome);
    }
    let finished = place(items, &packages[0].abs, options.attribution).and_then(|items| {
        if options.out_of_place {
            return Ok(Finished::Resources(items));
        }
        let status = StatusUpdate {
            condition: Condition::rendered(),
            render_status: render_status(&outcome.steps, options.style),
            mode: options.status,
        };
        write.changes(items, Some(&inputs), Some(&status)).map(Finished::Changes)
    });
    match finished {
        Ok(Finished::Resources(items)) => {
            outcome.resources = items.into_iter().map(|item| out_of_place(item).resource).collect();
        }
        Ok(Finished::Changes(written)) => {
            for warning in &written.warnings {
                observer.event(&Event::Warning(warning));
            }
            outcome.changes = written.changes;
        }
        Err(text) => {
            outcome.failure = Some(Failure {
                kind: FailureKind::Output,
                package: String::new(),
                step: None,
                message: format!("failed to save resources: {text}"),
                kpt_condition: format!("pkg.render: pkg .: failed to save resources: {text}"),
                kpt_error: Some(format!("Error: failed to save resources: {text}")),
            });
            finish_failed(&mut outcome, None, options, &write);
        }
    }
    Ok(outcome)
}

enum Finished {
    Resources(Vec<Item>),
    Changes(crate::write_back::Written),
}

/// Turns package-relative paths into root-relative ones and attributes the resources.
pub(crate) fn place(mut items: Vec<Item>, root: &str, attribution: bool) -> Result<Vec<Item>, String> {
    for Item { resource, .. } in &mut items {
        let path = root_relative(resource, root)?;
        if resource.path() != Some(&path) {
            resource.set_path(&path);
        }
        resource.remove_annotation(PACKAGE_PATH);
        if attribution {
            resource.attribute_to_functions();
        }
    }
    Ok(items)
}

/// The resource as it leaves the package: with its path, index and sequence style, without marks.
pub(crate) fn out_of_place(mut item: Item) -> Item {
    use portico_krm::annotations::{KPT_RESOURCE_ID, MIGRATION_ID};
    item.resource.clear_id();
    item.resource.remove_annotation(MIGRATION_ID);
    item.resource.remove_annotation(KPT_RESOURCE_ID);
    item
}

/// The status, and the resources as they stood when the root Kptfile asks for them.
fn finish_failed(outcome: &mut Outcome, state: Option<Vec<Item>>, options: &RenderOptions, write: &WriteBack<'_>) {
    if options.out_of_place {
        return;
    }
    let Some(failure) = &outcome.failure else { return };
    let message = match options.style {
        WriteStyle::Kpt => failure.kpt_condition.clone(),
        WriteStyle::Preserve => failure.message.clone(),
    };
    let status = StatusUpdate {
        condition: Condition::render_failed(message),
        render_status: render_status(&outcome.steps, options.style),
        mode: options.status,
    };
    let saved = state
        .filter(|items| !items.is_empty())
        .and_then(|items| place(items, &write.files.root, options.attribution).ok())
        .and_then(|items| write.changes(items, None, Some(&status)).ok());
    if let Some(written) = saved {
        outcome.saved_on_failure = true;
        outcome.changes = written.changes;
        if outcome.changes.iter().any(|change| change.path() == "Kptfile") {
            return;
        }
    }
    outcome.changes.extend(write.status_only(&status));
}

/// A pipeline's stop in our words and in kpt's.
fn failure_of(
    packages: &[Package],
    at: usize,
    reason: StopReason,
    breadth_first: bool,
) -> Result<Failure, RenderError> {
    let StopReason::Failed { kind, step, message, kpt, in_pipeline } = reason else {
        return Err(RenderError::Cancelled);
    };
    let package = packages[at].path.clone();
    let text = kpt.as_deref().unwrap_or("already handled error");
    let root = packages[0].abs.as_str();
    let text_shown = if root.is_empty() || root == "/" { text.to_owned() } else { text.replace(root, ".") };
    let kpt_condition = match (in_pipeline, breadth_first && at != 0) {
        (true, false) => format!("pkg.render: pkg {}:\n\tpipeline.run: {text_shown}", dot(&package)),
        (true, true) => format!("pkg.render: pkg .:\n\tpipeline.run: pkg {}: {text_shown}", dot(&package)),
        (false, _) => format!("pkg.render: pkg {}: {text_shown}", dot(&package)),
    };
    let kpt_error = kpt.map(|text| {
        // kpt prints an invalid Kptfile as a block of its own.
        if text.starts_with("Kptfile is invalid:") { text.trim_end().to_owned() } else { format!("Error: {text}") }
    });
    Ok(Failure { kind, package, step, message, kpt_condition, kpt_error })
}

/// The steps as the Kptfile records them: those that ran or were to run when the render failed.
fn render_status(steps: &[StepReport], style: WriteStyle) -> RenderStatus {
    let mut status = RenderStatus::default();
    for step in steps.iter().filter(|step| step.state != StepState::NotRun) {
        let execution_error = match (&step.kpt_error, style) {
            (Some(kpt), WriteStyle::Kpt) => kpt.clone(),
            _ => step.execution_error.clone().unwrap_or_default(),
        };
        let recorded = RenderStep {
            name: step.name.clone(),
            image: step.image.clone(),
            exec: step.exec.clone(),
            // kpt keeps nothing of a function whose output it refused
            stderr: if execution_error.is_empty() || style == WriteStyle::Preserve {
                step.stderr.clone()
            } else {
                String::new()
            },
            results: if execution_error.is_empty() || style == WriteStyle::Preserve {
                step.results.clone()
            } else {
                Vec::new()
            },
            exit_code: step.exit_code,
            skipped: step.state == StepState::Skipped,
            execution_error,
        };
        match step.kind {
            StepKind::Mutator => status.mutation_steps.push(recorded),
            StepKind::Validator => status.validation_steps.push(recorded),
        }
    }
    status
}

impl Outcome {
    /// The content of `results.yaml`.
    pub fn results(&self) -> ResultDocument {
        results_of(&self.steps)
    }
}

/// The content of `results.yaml`: the functions whose answers were taken, and those that failed by themselves, in order.
pub fn results_of(steps: &[StepReport]) -> ResultDocument {
    let recorded = steps.iter().filter(|step| step.recorded || step.state == StepState::Skipped);
    let items: Vec<StepResult> = recorded
        .map(|step| StepResult {
            image: step.image.clone(),
            exec: step.exec.clone(),
            stderr: step.stderr.clone(),
            exit_code: step.exit_code,
            results: step.results.clone(),
            skipped: step.state == StepState::Skipped,
        })
        .collect();
    ResultDocument { exit_code: i32::from(steps.iter().any(|step| step.state == StepState::Failed)), items }
}

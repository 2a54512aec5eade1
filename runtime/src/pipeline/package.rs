//! The pipeline of one package.

use std::collections::HashSet;
use std::fmt::Write as _;

use portico_krm::paths::{clean, config_scope};
use portico_krm::yaml::Tree;
use portico_krm::{Resource, Selector};

use super::checks::{Problem, krm_problem};
use super::list::Item;
use super::runner::{FunctionName, FunctionOutput, FunctionRunner, Resolved, RunFailure, Unresolved};
use super::select::{Rest, matches, select};
use super::step::{Answer, Config, Refusal, Scope, clear_marks, read_output, write_input};
use crate::changes::{ChangeOptions, StepChanges, changes};
use crate::condition;
use crate::limits::Limits;
use crate::outcome::FailureKind;
use crate::report::{Cause, Event, Observer, StepKind, StepReport, StepState};

/// A package as the pipeline sees it.
#[derive(Debug)]
pub(crate) struct Package {
    /// Slash path from the root; empty for the root.
    pub(crate) path: String,
    /// How kpt shows it.
    pub(crate) name: String,
    /// Its absolute directory, as in the package-path annotation.
    pub(crate) abs: String,
    /// Direct subpackages.
    pub(crate) children: Vec<usize>,
    pub(crate) mutators: Vec<PlannedFunction>,
    pub(crate) validators: Vec<PlannedFunction>,
    /// A functionConfig that is not among its own resources: our words and kpt's.
    pub(crate) missing_config: Option<(String, String)>,
    /// Its own resources; taken when the render begins.
    pub(crate) own: Vec<Item>,
}

/// A function as its Kptfile declares it, its configuration read.
#[derive(Debug, Clone)]
pub(crate) struct PlannedFunction {
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) tag: String,
    pub(crate) exec: String,
    pub(crate) config: ConfigSource,
    pub(crate) selectors: Vec<Selector>,
    pub(crate) exclude: Vec<Selector>,
    /// CEL; empty for always.
    pub(crate) condition: String,
}

/// Where the functionConfig comes from.
#[derive(Debug, Clone)]
pub(crate) enum ConfigSource {
    /// There is none.
    None,
    /// `configMap`, as a resource.
    Map(Resource),
    /// `configPath`: the live resource of that path, else what the file held.
    Path {
        /// Package-relative, cleaned.
        path: String,
        on_disk: Resource,
    },
}

/// Why the render stopped.
#[derive(Debug)]
pub(crate) struct Stop {
    /// The package in whose pipeline it happened.
    pub(crate) package: usize,
    pub(crate) reason: StopReason,
}

#[derive(Debug)]
pub(crate) enum StopReason {
    Cancelled,
    Failed {
        kind: FailureKind,
        /// The step in [`Run::steps`].
        step: Option<usize>,
        /// The whole story.
        message: String,
        /// kpt's words; `None` where kpt says "already handled error".
        kpt: Option<String>,
        /// kpt reports it as an error of the pipeline, not of the package.
        in_pipeline: bool,
    },
}

/// What all packages of a render share.
pub(crate) struct Run<'a> {
    pub(crate) runner: &'a mut dyn FunctionRunner,
    pub(crate) observer: &'a mut dyn Observer,
    /// Every step so far.
    pub(crate) steps: Vec<StepReport>,
    /// Packages whose steps are among them.
    pub(crate) reached: HashSet<usize>,
    /// Comments come back as kpt does it.
    pub(crate) kpt_style: bool,
    /// False where there is no package to speak of.
    pub(crate) announce: bool,
    pub(crate) limits: &'a Limits,
    /// Steps are to say what they changed.
    pub(crate) changes: Option<&'a ChangeOptions>,
    /// How many resources there are, in all packages.
    pub(crate) resources: u64,
}

/// The state of the list, and why it went no further.
type Progress = (Vec<Item>, Result<(), Stop>);

impl Package {
    fn functions(&self) -> impl Iterator<Item = (StepKind, usize, &PlannedFunction)> {
        let mutators = self.mutators.iter().enumerate().map(|(at, f)| (StepKind::Mutator, at, f));
        mutators.chain(self.validators.iter().enumerate().map(|(at, f)| (StepKind::Validator, at, f)))
    }

    /// Reports of all its functions, none of them run, with images as the Kptfile has them.
    pub(crate) fn reports(&self) -> Vec<StepReport> {
        let report = |(place, (kind, index, f)): (usize, (StepKind, usize, &PlannedFunction))| StepReport {
            package: self.path.clone(),
            package_name: self.name.clone(),
            kind,
            index,
            number: place + 1,
            name: f.name.clone(),
            image: f.image.clone(),
            exec: f.exec.clone(),
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
            changes: None,
            recorded: false,
            elapsed: std::time::Duration::ZERO,
            fuel: 0,
            peak_memory: 0,
        };
        self.functions().enumerate().map(report).collect()
    }
}

impl Run<'_> {
    /// Runs the pipeline of a package on its own resources and those below it.
    pub(crate) fn package(&mut self, packages: &[Package], at: usize, items: Vec<Item>) -> Progress {
        let package = &packages[at];
        self.reached.insert(at);
        let stop = |reason| Err(Stop { package: at, reason });
        let (path, name) = (package.path.as_str(), package.name.as_str());
        let functions = package.mutators.len() + package.validators.len();
        if self.announce {
            self.observer.event(&Event::PackageStarted { path, name, functions });
        }
        if functions == 0 {
            let bad: Vec<&Item> = items.iter().filter(|item| krm_problem(&item.resource).is_some()).collect();
            let Some((message, kpt)) = input_problems(packages, &bad) else {
                if self.announce {
                    self.observer.event(&Event::PackageFinished { path, name, functions });
                }
                return (items, Ok(()));
            };
            let kind = FailureKind::Package;
            return (items, stop(StopReason::Failed { kind, step: None, message, kpt: Some(kpt), in_pipeline: false }));
        }
        if let Some((message, kpt)) = package.missing_config.clone() {
            let kind = FailureKind::Package;
            return (items, stop(StopReason::Failed { kind, step: None, message, kpt: Some(kpt), in_pipeline: false }));
        }
        let mut reports = package.reports();
        let resolved = match self.resolve_all(package, &mut reports) {
            Ok(resolved) => resolved,
            Err(reason) => return (items, stop(reason)),
        };
        if let Err(reason) = self.check_input(packages, at, &items, &mut reports) {
            return (items, stop(reason));
        }
        let mut items = items;
        let mut pending = reports.into_iter();
        for ((_, _, function), resolved) in package.functions().zip(&resolved) {
            let Some(report) = pending.next() else { break };
            let (next, outcome) = self.step(package, function, resolved, report, items);
            items = next;
            if let Err(reason) = outcome {
                self.steps.extend(pending);
                return (items, stop(reason));
            }
        }
        if self.announce {
            self.observer.event(&Event::PackageFinished { path, name, functions });
        }
        (items, Ok(()))
    }

    /// Finds every function of the package before the first one runs.
    fn resolve_all(&mut self, package: &Package, reports: &mut Vec<StepReport>) -> Result<Vec<Resolved>, StopReason> {
        let mut all = Vec::with_capacity(reports.len());
        let mut failed: Option<(usize, Unresolved)> = None;
        for (place, (_, _, function)) in package.functions().enumerate() {
            let name = FunctionName { image: &function.image, tag: &function.tag, exec: &function.exec };
            match self.runner.resolve(name) {
                Ok(resolved) => {
                    reports[place].image.clone_from(&resolved.image);
                    if let Some(warning) = &resolved.warning {
                        self.observer.event(&Event::Warning(warning));
                    }
                    all.push(resolved);
                }
                Err(_) if self.runner.is_cancelled() => return Err(StopReason::Cancelled),
                Err(unresolved) => {
                    if !unresolved.image.is_empty() {
                        reports[place].image.clone_from(&unresolved.image);
                    }
                    failed.get_or_insert((place, unresolved));
                }
            }
        }
        let Some((place, unresolved)) = failed else { return Ok(all) };
        let step = self.steps.len() + place;
        fail_without_running(&mut reports[place], &unresolved.message, unresolved.kpt.as_deref(), unresolved.cause);
        let kpt = unresolved.kpt.unwrap_or_else(|| unresolved.message.clone());
        let message = format!(
            "function \"{}\" ({}): {}",
            reports[place].function(),
            place_of(&reports[place]),
            unresolved.message
        );
        self.steps.append(reports);
        Err(StopReason::Failed {
            kind: FailureKind::Unresolved,
            step: Some(step),
            message,
            kpt: Some(kpt),
            in_pipeline: true,
        })
    }

    /// Refuses documents that are no resources before anything runs, all at once; those that no function of the
    /// package would get are none of its business.
    fn check_input(
        &mut self,
        packages: &[Package],
        at: usize,
        items: &[Item],
        reports: &mut Vec<StepReport>,
    ) -> Result<(), StopReason> {
        let mut first = None;
        let mut bad = Vec::new();
        for item in items.iter().filter(|item| krm_problem(&item.resource).is_some()) {
            let wanted =
                packages[at].functions().position(|(_, _, f)| matches(&f.selectors, &f.exclude, &item.resource));
            if let Some(place) = wanted {
                first = Some(first.map_or(place, |first: usize| first.min(place)));
                bad.push(item);
            }
        }
        let (Some(place), Some((message, kpt))) = (first, input_problems(packages, &bad)) else { return Ok(()) };
        let step = self.steps.len() + place;
        let report = &mut reports[place];
        if let Some((_, _, function)) = packages[at].functions().nth(place) {
            let chosen = items.iter().filter(|i| matches(&function.selectors, &function.exclude, &i.resource));
            report.resources = Some(chosen.count());
            report.selective = !(function.selectors.is_empty() && function.exclude.is_empty());
        }
        // kpt checks the input of a function that it has announced.
        self.observer.event(&Event::StepStarted(report));
        fail_without_running(report, &message, Some(&kpt), Cause::BadInput);
        self.observer.event(&Event::StepFailed(report));
        self.steps.append(reports);
        Err(StopReason::Failed {
            kind: FailureKind::Package,
            step: Some(step),
            message,
            kpt: Some(kpt),
            in_pipeline: true,
        })
    }

    fn step(
        &mut self,
        package: &Package,
        function: &PlannedFunction,
        resolved: &Resolved,
        mut report: StepReport,
        items: Vec<Item>,
    ) -> (Vec<Item>, Result<(), StopReason>) {
        if self.runner.is_cancelled() {
            return (items, Err(StopReason::Cancelled));
        }
        let (chosen, rest) = select(items, &function.selectors, &function.exclude);
        report.resources = Some(chosen.len());
        report.selective = rest.is_selective();
        if !function.condition.is_empty() {
            let condition = &function.condition;
            let trees: Vec<&Tree> = chosen.iter().map(|item| &item.resource.tree).collect();
            let verdict = condition::holds(condition, &trees);
            match verdict {
                Ok(true) => {}
                Ok(false) => {
                    report.state = StepState::Skipped;
                    self.observer.event(&Event::StepSkipped { step: &report, condition });
                    self.steps.push(report);
                    let mut chosen = chosen;
                    clear_marks(&mut chosen);
                    return (rest.restore(chosen), Ok(()));
                }
                Err(error) => {
                    let (label, place) = (report.function(), place_of(&report));
                    let message = format!("function \"{label}\" ({place}): condition `{condition}`: {error}");
                    let cause = Cause::BadCondition;
                    let reason = self.fail(report, Refusal::Output { message, kpt: None, recorded: false, cause });
                    let mut chosen = chosen;
                    clear_marks(&mut chosen);
                    return (rest.restore(chosen), Err(reason));
                }
            }
        }
        self.observer.event(&Event::StepStarted(&report));

        let elsewhere = self.resources.saturating_sub(chosen.len() as u64);
        let (config, default_dir) = config_of(function, &chosen, &rest, &package.abs);
        let (label, place) = (report.function().to_owned(), place_of(&report));
        let scope = Scope {
            package_path: &package.abs,
            default_dir: &default_dir,
            function: &label,
            place: &place,
            mutator: report.kind == StepKind::Mutator,
            kpt_style: self.kpt_style,
            yaml: &self.limits.yaml,
            room: self.limits.resources.saturating_sub(elsewhere),
            resources: self.limits.resources,
        };
        let (mut chosen, outcome) = self.call(resolved.handle, chosen, config, &scope, &mut report);
        match outcome {
            Ok(answer) => {
                report.state = StepState::Passed;
                report.recorded = true;
                if let Some(options) = self.changes.filter(|_| scope.mutator) {
                    report.changes = Some(match &answer {
                        Answer::Items(items) => {
                            // The answer has lost its ids already.
                            for item in &mut chosen {
                                item.resource.clear_id();
                            }
                            changes(&chosen, items, options)
                        }
                        Answer::Same => StepChanges::default(),
                    });
                }
                self.observer.event(&Event::StepPassed(&report));
                self.steps.push(report);
                match answer {
                    Answer::Items(items) if scope.mutator => {
                        self.resources = elsewhere.saturating_add(items.len() as u64);
                        (rest.merge(items), Ok(()))
                    }
                    Answer::Same if scope.mutator => (rest.merge(chosen), Ok(())),
                    _ => {
                        clear_marks(&mut chosen);
                        (rest.restore(chosen), Ok(()))
                    }
                }
            }
            Err(interruption) => {
                clear_marks(&mut chosen);
                let reason = match interruption {
                    Interruption::Cancelled => StopReason::Cancelled,
                    Interruption::Refused(refusal) => self.fail(report, refusal),
                };
                (rest.restore(chosen), Err(reason))
            }
        }
    }

    /// Runs the function on the chosen resources, which come back as they are, still marked.
    fn call(
        &mut self,
        handle: usize,
        chosen: Vec<Item>,
        config: Config,
        scope: &Scope<'_>,
        report: &mut StepReport,
    ) -> (Vec<Item>, Result<Answer, Interruption>) {
        let refused = |refusal| Err(Interruption::Refused(refusal));
        let (mut chosen, input) = write_input(chosen, config, scope);
        let (bytes, sent) = match input {
            Ok(input) => input,
            Err(error) => {
                let kpt = error.to_string();
                let message = format!("function \"{}\" ({}): {kpt}", scope.function, scope.place);
                return (
                    chosen,
                    refused(Refusal::Output { message, kpt: Some(kpt), recorded: false, cause: Cause::BadInput }),
                );
            }
        };
        match self.runner.run(handle, bytes) {
            // Reading a large answer takes a while; there is no need to begin.
            Ok(_) if self.runner.is_cancelled() => (chosen, Err(Interruption::Cancelled)),
            Ok(mut output) => {
                note(report, &output);
                let (results, answer) = read_output(&mut output, &mut chosen, sent, scope);
                if self.runner.is_cancelled() {
                    return (chosen, Err(Interruption::Cancelled));
                }
                report.results = results;
                (chosen, answer.map_err(Interruption::Refused))
            }
            Err(RunFailure::Cancelled) => (chosen, Err(Interruption::Cancelled)),
            Err(RunFailure::Ended { message, kpt, so_far }) => {
                note(report, &so_far);
                let message = if report.package_name.is_empty() {
                    format!("{message} in step {} ({})", report.number, scope.function)
                } else {
                    let (number, package) = (report.number, &report.package_name);
                    format!("{message} in step {number} ({}) of package \"{package}\"", scope.function)
                };
                // Whoever asks for the name of the limit finds it in every message that a limit is the cause of.
                let message = match report.exceeded() {
                    Some(name) => format!("{message} (limit `{name}`)"),
                    None => message,
                };
                let cause = so_far.cause.unwrap_or(Cause::NotStarted);
                (chosen, refused(Refusal::Output { message, kpt, recorded: true, cause }))
            }
        }
    }

    fn fail(&mut self, mut report: StepReport, refusal: Refusal) -> StopReason {
        report.state = StepState::Failed;
        let step = Some(self.steps.len());
        let (message, kpt) = match refusal {
            Refusal::Exit => {
                report.recorded = true;
                report.cause.get_or_insert(Cause::Exit);
                (shortened(exit_message(&report)), None)
            }
            Refusal::Output { message, kpt, recorded, cause } => {
                let (message, kpt) = (shortened(message), kpt.map(shortened));
                report.recorded = recorded;
                report.cause = Some(cause);
                report.exit_code = 1;
                report.execution_error = Some(message.clone());
                report.kpt_error.clone_from(&kpt);
                (message.clone(), Some(kpt.unwrap_or(message)))
            }
        };
        self.observer.event(&Event::StepFailed(&report));
        self.steps.push(report);
        StopReason::Failed { kind: FailureKind::Function, step, message, kpt, in_pipeline: true }
    }
}

/// The longest message about a failed step, in bytes. It goes into the Kptfile's status, and names, paths and values in
/// it come from the function.
const MAX_MESSAGE: usize = 8 << 10;

/// The beginning of a message that is too long, and how much is missing.
fn shortened(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        let kept = message.floor_char_boundary(MAX_MESSAGE);
        let missing = message.len() - kept;
        message.truncate(kept);
        _ = write!(message, "... ({missing} more bytes)");
    }
    message
}

enum Interruption {
    Cancelled,
    Refused(Refusal),
}

/// `step 2 of package "app"`
fn place_of(report: &StepReport) -> String {
    if report.package_name.is_empty() {
        // One function on a stream or a plain directory.
        return format!("step {}", report.number);
    }
    format!("step {} of package \"{}\"", report.number, report.package_name)
}

/// Standard error as kpt records and shows it: of a program as it is, of an image without the last line break.
fn output_text(stderr: &[u8], program: bool) -> std::borrow::Cow<'_, str> {
    let shown = stderr.strip_suffix(b"\n").filter(|_| !program);
    String::from_utf8_lossy(shown.unwrap_or(stderr))
}

fn note(report: &mut StepReport, output: &FunctionOutput) {
    report.exit_code = output.exit_code;
    report.stderr = output_text(&output.stderr, !report.exec.is_empty()).into_owned();
    report.stderr_dropped = output.stderr_dropped;
    report.elapsed = output.elapsed;
    report.fuel = output.fuel;
    report.peak_memory = output.peak_memory;
    report.cause = output.cause;
}

/// What a failed function says for itself: its error results, else the first line of its stderr.
fn exit_message(report: &StepReport) -> String {
    let start =
        format!("function \"{}\" ({}) failed with exit code {}", report.function(), place_of(report), report.exit_code);
    let errors: Vec<String> =
        report.results.iter().filter(|r| r.is_error()).take(10).map(ToString::to_string).collect();
    let more = report.results.iter().filter(|r| r.is_error()).count().saturating_sub(errors.len());
    let stderr = report.stderr.lines().map(str::trim).find(|line| !line.is_empty());
    match (errors.is_empty(), stderr) {
        (false, _) if more > 0 => format!("{start}: {} and {more} more", errors.join("; ")),
        (false, _) => format!("{start}: {}", errors.join("; ")),
        (true, Some(line)) => format!("{start}: {line}"),
        (true, None) => start,
    }
}

fn fail_without_running(report: &mut StepReport, message: &str, kpt: Option<&str>, cause: Cause) {
    report.cause = Some(cause);
    report.state = StepState::Failed;
    report.exit_code = 1;
    report.execution_error = Some(message.to_owned());
    report.kpt_error = kpt.map(str::to_owned);
}

/// The functionConfig of a call and the directory of files that the function names no place for.
fn config_of(function: &PlannedFunction, chosen: &[Item], rest: &Rest, package_path: &str) -> (Config, String) {
    let (path, on_disk) = match &function.config {
        ConfigSource::None => return (Config::None, String::new()),
        ConfigSource::Map(resource) => return (Config::Own(resource.clone()), String::new()),
        ConfigSource::Path { path, on_disk } => (path, on_disk),
    };
    let is_it = |item: &Item| {
        item.resource.package_path() == Some(package_path)
            && item.resource.path().is_some_and(|own| clean(own) == *path)
    };
    let dir = config_scope(path);
    if let Some(place) = chosen.iter().position(is_it) {
        return (Config::Chosen(place), dir);
    }
    match rest.items().find(|item| is_it(item)) {
        Some(item) => (Config::Own(item.resource.clone()), dir),
        None => (Config::Own(on_disk.clone()), String::new()),
    }
}

/// How many documents a message lists.
const MAX_LISTED: usize = 100;

/// Our message and kpt's for documents that are no resources; `None` when there are none.
fn input_problems(packages: &[Package], bad: &[&Item]) -> Option<(String, String)> {
    const START: &str = "input resource list must contain only KRM resources:";
    let problems: Vec<(Problem, &Item)> =
        bad.iter().filter_map(|item| Some((krm_problem(&item.resource)?, *item))).collect();
    let kpt = format!("{START} {}", problems.first()?.0);
    let mut message = START.to_owned();
    for (problem, item) in problems.iter().take(MAX_LISTED) {
        message.push_str("\n  ");
        message.push_str(&problem.located(&packages[0].abs, item));
    }
    if problems.len() > MAX_LISTED {
        _ = write!(message, "\n  and {} more", problems.len() - MAX_LISTED);
    }
    message.push_str("\nfiles that are no resources can be named in the package's .krmignore");
    Some((message, kpt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_a_function_made_too_long_is_cut() {
        assert_eq!(shortened("short".to_owned()), "short");
        let long = shortened("\u{e4}".repeat(MAX_MESSAGE));
        assert!(long.len() < MAX_MESSAGE + 32 && long.ends_with("\u{e4}... (8192 more bytes)"), "{}", long.len());
    }

    #[test]
    fn standard_error_of_a_program_is_kept_as_it_is_and_that_of_an_image_loses_its_last_line_break() {
        assert_eq!(output_text(b"one\n two \n", true), "one\n two \n");
        assert_eq!(output_text(b"one\n two \n", false), "one\n two ");
        assert_eq!(output_text(b"one\n\n", false), "one\n");
        assert_eq!(output_text(b"one", false), "one");
    }
}

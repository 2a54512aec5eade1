//! Renders a package twice and compares every step: the same input must give the same bytes and the same fuel.

use std::fmt;

use crate::call::Caller;
use crate::cancel::CancelToken;
use crate::eval::{EvalInput, EvalOptions, eval_with, to_resource_list};
use crate::module::Digest;
use crate::outcome::{Outcome, RenderError};
use crate::package::PackageFiles;
use crate::pipeline::{FunctionName, FunctionOutput, FunctionRunner, Resolved, RunFailure, Unresolved};
use crate::renderer::{CallOptions, RenderOptions, Renderer, render_with};
use crate::report::{Observer, StepReport, StepState};

/// Bytes of outputs that are kept to show where they differ. Of what comes after them only digests are.
const KEPT: usize = 256 << 20;

/// Bytes of a line that a message shows.
const SHOWN: usize = 200;

/// Two renders of the same package did not do the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The step, in [`Outcome::steps`] of the first render; `None` where every step did the same.
    pub step: Option<usize>,
    /// What differs; both values where they can be shown. Parts of it are text of the function.
    pub what: String,
}

impl Difference {
    /// The whole sentence, with the step's name.
    pub fn message(&self, steps: &[StepReport]) -> String {
        match self.step.and_then(|step| steps.get(step)) {
            Some(step) => {
                let package = match step.package_name.as_str() {
                    "" => String::new(),
                    name => format!(" of package \"{name}\""),
                };
                let (number, function, what) = (step.number, step.function(), &self.what);
                format!("step {number} ({function}){package} is not deterministic: {what}")
            }
            None => format!("the render is not deterministic: {}", self.what),
        }
    }
}

impl Renderer {
    /// Renders the package twice, in sandboxes of their own, and compares what every step got, wrote and used. The
    /// second render ends with the first difference. The observer hears of the first render alone.
    ///
    /// Functions in the sandbox cannot tell the two renders apart: their clock is frozen, their random numbers are
    /// seeded. Programs (`exec`) can, and so can what a function was granted to read, when it changes in between.
    pub fn verify(
        &self,
        files: &PackageFiles,
        options: &RenderOptions,
        cancel: &CancelToken,
        observer: &mut dyn Observer,
    ) -> Result<(Outcome, Option<Difference>), RenderError> {
        self.not_isolated("the comparison of two renders")?;
        self.twice(&options.call, cancel, observer, |runner, observer| render_with(files, options, runner, observer))
    }

    /// As [`verify`](Self::verify), for [`eval`](Self::eval).
    pub fn verify_eval(
        &self,
        input: EvalInput<'_>,
        options: &EvalOptions,
        cancel: &CancelToken,
        observer: &mut dyn Observer,
    ) -> Result<(Outcome, Option<Difference>), RenderError> {
        self.not_isolated("the comparison of two runs")?;
        let call = CallOptions { allow_exec: true, ..options.call.clone() };
        self.twice(&call, cancel, observer, |runner, observer| eval_with(input, options, runner, observer))
    }

    fn twice(
        &self,
        call: &CallOptions,
        cancel: &CancelToken,
        observer: &mut dyn Observer,
        mut render: impl FnMut(&mut dyn FunctionRunner, &mut dyn Observer) -> Result<Outcome, RenderError>,
    ) -> Result<(Outcome, Option<Difference>), RenderError> {
        let mut first = Recorder::new(Caller::new(&self.engine, &self.sources, call, cancel), Vec::new());
        let mut outcome = render(&mut first, observer)?;
        let Recorder { runner, records, .. } = first;
        outcome.stores = runner.stores_created();
        drop(runner);
        let mut second = Recorder::new(Caller::new(&self.engine, &self.sources, call, cancel), records);
        let again = render(&mut second, &mut ());
        if let Some((run, what)) = second.difference {
            let difference = Difference { step: step_of_run(&outcome, run), what };
            return Ok((outcome, Some(difference)));
        }
        let again = again?;
        let what = if second.before.len() > second.records.len() {
            Some("the second render ended before the first".to_owned())
        } else if same_result(&outcome, &again) {
            None
        } else {
            Some("every step did the same, and what came of it differs; that is a fault of this program".to_owned())
        };
        Ok((outcome, what.map(|what| Difference { step: None, what })))
    }
}

/// The step of the n-th run: some steps are skipped, or fail without being run.
fn step_of_run(outcome: &Outcome, run: usize) -> Option<usize> {
    let ran = |step: &StepReport| matches!(step.state, StepState::Passed | StepState::Failed);
    let mut steps = outcome.steps.iter().enumerate().filter(|(_, step)| ran(step));
    steps.nth(run).map(|(at, _)| at)
}

fn same_result(first: &Outcome, second: &Outcome) -> bool {
    first.changes == second.changes
        && first.failure == second.failure
        && to_resource_list(first.resources.clone(), None) == to_resource_list(second.resources.clone(), None)
}

/// What one run of a function got, did and used.
#[derive(Debug)]
struct Record {
    input: Digest,
    /// Why it came to no end of its own.
    ended: Option<String>,
    exit_code: i32,
    output: Digest,
    /// The output itself, while there is room.
    stdout: Option<Vec<u8>>,
    stderr: Vec<u8>,
    fuel: u64,
}

/// Runs functions and keeps what they did; the second time it compares.
struct Recorder<R> {
    runner: R,
    records: Vec<Record>,
    /// Bytes of outputs that may still be kept.
    room: usize,
    /// Of the first render, when this is the second one.
    before: Vec<Record>,
    /// The run that did something else, and what.
    difference: Option<(usize, String)>,
}

impl<R: FunctionRunner> Recorder<R> {
    fn new(runner: R, before: Vec<Record>) -> Recorder<R> {
        Recorder { runner, records: Vec::new(), room: KEPT, before, difference: None }
    }

    fn record(&mut self, input: Digest, result: &Result<FunctionOutput, RunFailure>) {
        let (output, ended) = match result {
            Ok(output) => (output, None),
            Err(RunFailure::Ended { message, so_far, .. }) => (&**so_far, Some(message.clone())),
            // A cancelled render is compared with nothing.
            Err(RunFailure::Cancelled) => return,
        };
        let stdout = (output.stdout.len() <= self.room).then(|| output.stdout.clone());
        self.room -= stdout.as_ref().map_or(0, Vec::len);
        let record = Record {
            input,
            ended,
            exit_code: output.exit_code,
            output: Digest::of(&output.stdout),
            stdout,
            stderr: output.stderr.clone(),
            fuel: output.fuel,
        };
        let run = self.records.len();
        if let Some(before) = self.before.get(run) {
            self.difference = compare(before, &record).map(|what| (run, what));
        }
        self.records.push(record);
    }
}

impl<R: FunctionRunner> FunctionRunner for Recorder<R> {
    fn resolve(&mut self, name: FunctionName<'_>) -> Result<Resolved, Unresolved> {
        self.runner.resolve(name)
    }

    fn run(&mut self, handle: usize, stdin: Vec<u8>) -> Result<FunctionOutput, RunFailure> {
        let input = Digest::of(&stdin);
        let result = self.runner.run(handle, stdin);
        self.record(input, &result);
        // Whatever comes after the first difference only follows from it.
        if self.difference.is_some() { Err(RunFailure::Cancelled) } else { result }
    }

    fn is_cancelled(&self) -> bool {
        self.difference.is_some() || self.runner.is_cancelled()
    }
}

/// What the second run did otherwise: the cause before what follows from it.
fn compare(first: &Record, second: &Record) -> Option<String> {
    if first.input != second.input {
        return Some("it got another input, which is a fault of this program".to_owned());
    }
    if first.ended != second.ended {
        let end = |ended: &Option<String>| ended.clone().unwrap_or_else(|| "it ended by itself".to_owned());
        return Some(format!("the first time {}, the second time {}", end(&first.ended), end(&second.ended)));
    }
    if first.output != second.output {
        return Some(match (&first.stdout, &second.stdout) {
            (Some(first), Some(second)) => format!("its standard output differs {}", Lines(first, second)),
            _ => "its standard output differs".to_owned(),
        });
    }
    if first.exit_code != second.exit_code {
        return Some(format!("its exit code was {}, and then {}", first.exit_code, second.exit_code));
    }
    if first.stderr != second.stderr {
        return Some(format!("its standard error differs {}", Lines(&first.stderr, &second.stderr)));
    }
    (first.fuel != second.fuel).then(|| format!("it used {} fuel, and then {}", first.fuel, second.fuel))
}

/// The first line in which two texts differ.
struct Lines<'a>(&'a [u8], &'a [u8]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut first, mut second) = (self.0.split(|b| *b == b'\n'), self.1.split(|b| *b == b'\n'));
        let mut number = 1;
        loop {
            match (first.next(), second.next()) {
                (Some(a), Some(b)) if a == b => number += 1,
                (None, None) => return write!(f, "in length"),
                (a, b) => return write!(f, "on line {number}: {}, and then {}", shown(a), shown(b)),
            }
        }
    }
}

fn shown(line: Option<&[u8]>) -> String {
    let Some(line) = line else { return "nothing".to_owned() };
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
    let more = if line.len() > SHOWN { "..." } else { "" };
    format!("`{text}{more}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            input: Digest::of(b"in"),
            ended: None,
            exit_code: 0,
            output: Digest::of(b"a\nb\n"),
            stdout: Some(b"a\nb\n".to_vec()),
            stderr: b"said\n".to_vec(),
            fuel: 100,
        }
    }

    fn with_output(stdout: &[u8]) -> Record {
        Record { output: Digest::of(stdout), stdout: Some(stdout.to_vec()), ..record() }
    }

    #[test]
    fn what_is_the_same_is_no_difference() {
        assert_eq!(compare(&record(), &record()), None);
    }

    #[test]
    fn each_difference_is_told_with_both_values() {
        let what = |second: &Record| compare(&record(), second).unwrap_or_default();
        assert_eq!(what(&with_output(b"a\nc\n")), "its standard output differs on line 2: `b`, and then `c`");
        assert_eq!(what(&with_output(b"a\nb\nc\n")), "its standard output differs on line 3: ``, and then `c`");
        assert_eq!(what(&with_output(b"a\nb")), "its standard output differs on line 3: ``, and then nothing");
        let long = what(&with_output(&[b'x'; 5000]));
        assert!(long.len() < 300 && long.ends_with("xxx...`"), "{long}");
        assert_eq!(what(&Record { exit_code: 3, ..record() }), "its exit code was 0, and then 3");
        let stderr = b"said more\n".to_vec();
        let said = "its standard error differs on line 1: `said`, and then `said more`";
        assert_eq!(what(&Record { stderr, ..record() }), said);
        assert_eq!(what(&Record { fuel: 101, ..record() }), "it used 100 fuel, and then 101");
        let ended = Some("time limit 1s exceeded".to_owned());
        let said = "the first time it ended by itself, the second time time limit 1s exceeded";
        assert_eq!(what(&Record { ended, ..record() }), said);
        assert!(what(&Record { input: Digest::of(b"other"), ..record() }).contains("a fault of this program"));
    }

    #[test]
    fn outputs_that_were_too_large_to_keep_are_still_compared() {
        let second = Record { stdout: None, ..with_output(b"other") };
        assert_eq!(compare(&record(), &second), Some("its standard output differs".to_owned()));
        assert_eq!(compare(&record(), &Record { stdout: None, ..record() }), None);
    }
}

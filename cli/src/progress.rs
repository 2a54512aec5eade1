//! The events of a render as lines on standard error: kpt's words, or JSON.

use std::time::Duration;

use portico_runtime::{Event, Observer, Outcome, StepReport, StepState};
use serde_json::json;

use crate::printer::Printer;

/// Prints the events of a render.
pub(crate) struct Lines<'p>(pub(crate) &'p Printer);

impl Observer for Lines<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if self.0.json() {
            self.json(event);
        } else {
            self.plain(event);
        }
    }
}

impl Lines<'_> {
    fn plain(&self, event: &Event<'_>) {
        let printer = self.0;
        match event {
            Event::PackageStarted { name, .. } => printer.line(&format!("Package \"{name}\":")),
            Event::StepStarted(step) => {
                let count = match step.resources {
                    Some(n) if step.selective => format!(" on {n} resource(s)"),
                    _ => String::new(),
                };
                let package = match step.package_name.as_str() {
                    // One function on a stream or a plain directory.
                    "" => String::new(),
                    name => format!(" on package \"{name}\""),
                };
                printer.tagged("RUNNING", &format!("{}{count}{package}", quoted(step.function())));
            }
            Event::StepPassed(step) => {
                printer.tagged("PASS", &format!("{} in {}", quoted(step.function()), shown(step.elapsed)));
                self.details(step);
            }
            Event::StepSkipped { step, condition } => {
                printer.tagged("SKIPPED", &format!("\"{}\": its condition is false: {condition}", step.function()));
            }
            Event::StepFailed(step) => {
                printer.tagged("FAIL", &format!("{} in {}", quoted(step.function()), shown(step.elapsed)));
                self.details(step);
                if step.execution_error.is_none() {
                    printer.line(&format!("  Exit code: {}", step.exit_code));
                    if printer.kpt_words {
                        printer.line("");
                    }
                }
            }
            // kpt leaves a line behind a package whose pipeline ran.
            Event::PackageFinished { functions, .. } if *functions > 0 => printer.line(""),
            Event::Warning(text) => printer.warning(text),
            _ => {}
        }
    }

    fn details(&self, step: &StepReport) {
        let printer = self.0;
        if !step.results.is_empty() {
            printer.line("  [Results]:");
            for result in &step.results {
                printer.line(&format!("    {result}"));
            }
        }
        if !step.stderr.is_empty() {
            printer.line("  Stderr:");
            // kpt shows the end of a last line as an empty one.
            let text = if printer.kpt_words { step.stderr.as_str() } else { step.stderr.trim_end() };
            for line in text.split('\n') {
                printer.line(&format!("    {}", line.trim()));
            }
            if step.stderr_dropped > 0 {
                printer.line(&format!("    ({} more bytes were dropped)", step.stderr_dropped));
            }
        }
        if printer.verbose > 0 {
            let memory = bytesize::ByteSize(step.peak_memory).display().iec();
            printer.line(&format!("  Used: {} fuel, {memory} memory, {:?}", step.fuel, step.elapsed));
        }
    }

    fn json(&self, event: &Event<'_>) {
        let value = match event {
            Event::PackageStarted { path, name, functions } => {
                json!({"event": "packageStarted", "path": path, "package": name, "functions": functions})
            }
            Event::StepStarted(step) => step_object("stepStarted", step),
            Event::StepPassed(step) => step_object("stepPassed", step),
            Event::StepSkipped { step, condition } => {
                let mut value = step_object("stepSkipped", step);
                value["condition"] = json!(condition);
                value
            }
            Event::StepFailed(step) => step_object("stepFailed", step),
            Event::PackageFinished { path, name, .. } => {
                json!({"event": "packageFinished", "path": path, "package": name})
            }
            Event::Warning(text) => json!({"event": "warning", "message": text}),
            _ => return,
        };
        self.0.object(&value);
    }
}

fn step_object(event: &str, step: &StepReport) -> serde_json::Value {
    let mut value = json!({
        "event": event,
        "package": step.package,
        "step": step.number,
        "function": step.function(),
        "name": step.name,
    });
    if let Some(count) = step.resources {
        value["resources"] = json!(count);
    }
    if event != "stepStarted" {
        value["exitCode"] = json!(step.exit_code);
        value["seconds"] = json!(step.elapsed.as_secs_f64());
        value["fuel"] = json!(step.fuel);
        value["peakMemory"] = json!(step.peak_memory);
        value["stderr"] = json!(step.stderr);
        value["results"] = json!(step.results.iter().map(ToString::to_string).collect::<Vec<_>>());
        if let Some(error) = &step.execution_error {
            value["error"] = json!(error);
        }
        if let Some(cause) = step.cause {
            value["cause"] = json!(cause.as_str());
        }
        if let Some(limit) = step.exceeded() {
            value["limit"] = json!(limit.as_str());
        }
    }
    value
}

/// A command may hold quotes itself; they are escaped as kpt does it.
fn quoted(function: &str) -> String {
    format!("\"{}\"", function.replace('\\', "\\\\").replace('"', "\\\""))
}

/// kpt rounds to milliseconds.
fn shown(elapsed: Duration) -> String {
    match elapsed.as_millis() {
        0 => "0s".to_owned(),
        ms if ms < 1000 => format!("{ms}ms"),
        ms if ms % 1000 == 0 => format!("{}s", ms / 1000),
        ms => format!("{}.{}s", ms / 1000, format!("{:03}", ms % 1000).trim_end_matches('0')),
    }
}

/// What did not run.
pub(crate) fn not_run(printer: &Printer, outcome: &Outcome) {
    for step in outcome.steps.iter().filter(|s| s.state == StepState::NotRun) {
        if printer.json() {
            printer.object(&step_object("stepNotRun", step));
        } else {
            printer
                .tagged("SKIP", &format!("{} on package \"{}\": not run", quoted(step.function()), step.package_name));
        }
    }
}

/// The line behind the last package.
pub(crate) fn summary(printer: &Printer, outcome: &Outcome, in_place: bool) {
    let executed = outcome.executed();
    let packages = outcome.packages;
    if let Some(confinement) = outcome.confinement.filter(|_| printer.verbose > 0) {
        printer.line(&format!("rendered in a process of its own, which is held to: {confinement}"));
    }
    if printer.json() {
        printer.object(&json!({
            "event": "summary", "executed": executed, "packages": packages, "failed": outcome.failure.is_some(),
        }));
    }
    if outcome.failure.is_none() && in_place {
        printer.line(&format!("Successfully executed {executed} function(s) in {packages} package(s)."));
    } else if outcome.saved_on_failure && executed > 0 {
        printer.line(&format!("Partially executed {executed} function(s) in {packages} package(s)."));
    } else if outcome.saved_on_failure {
        printer.line(&format!("Failed to execute any functions in {packages} package(s)."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_of_a_command_are_escaped() {
        assert_eq!(quoted(r#"sed -e "s/a\b/c/""#), r#""sed -e \"s/a\\b/c/\"""#);
        assert_eq!(quoted("reg.io/f:v1"), "\"reg.io/f:v1\"");
    }

    #[test]
    fn times_are_shown_as_kpt_shows_them() {
        assert_eq!(shown(Duration::from_micros(300)), "0s");
        assert_eq!(shown(Duration::from_millis(13)), "13ms");
        assert_eq!(shown(Duration::from_millis(1200)), "1.2s");
        assert_eq!(shown(Duration::from_secs(2)), "2s");
    }
}

//! A record as people read it. The parts follow each other as the render goes on, so that a log that is followed and one
//! that is read in the end are the same.

use std::fmt::Write as _;
use std::time::Duration;

use bytesize::ByteSize;

use super::model::{
    Finding, Record, RecordChange, RecordChanges, RecordOutcome, RecordStep, RecordWarning, StepOutcome,
};

/// The whole record.
pub(super) fn whole(record: &Record) -> String {
    let mut out = String::new();
    began(&mut out, record);
    let mut warnings = record.warnings.iter().peekable();
    for (place, step) in record.steps.iter().enumerate() {
        while let Some(warning) = warnings.next_if(|warning| warning.after_steps <= place) {
            warned(&mut out, warning);
        }
        if step.start_microseconds.is_some() {
            step_began(&mut out, step);
        }
        if step.state != StepOutcome::Running {
            step_ended(&mut out, step);
        }
    }
    warnings.for_each(|warning| warned(&mut out, warning));
    if record.outcome != RecordOutcome::Running {
        ended(&mut out, record);
    }
    out
}

/// Its first line.
pub(super) fn began(out: &mut String, record: &Record) {
    if record.render.as_str().is_empty() {
        _ = writeln!(out, "{}/{}, content version {}", record.namespace, record.name, record.content_version);
    } else {
        let Record { render, namespace, name, content_version, start_time, .. } = record;
        _ = writeln!(out, "render {render} of {namespace}/{name}, content version {content_version}, at {start_time}");
    }
}

/// A step begins.
pub(super) fn step_began(out: &mut String, step: &RecordStep) {
    let at = step.start_microseconds.unwrap_or_default();
    _ = write!(out, "\n[{}] ", duration(at));
    title(out, step);
}

/// A step has ended, or never began.
pub(super) fn step_ended(out: &mut String, step: &RecordStep) {
    match (step.state, step.start_microseconds) {
        (StepOutcome::NotRun, _) => {
            _ = write!(out, "\nnot run: ");
            title(out, step);
            return;
        }
        (StepOutcome::Skipped, _) => {
            out.push_str("\nskipped, because `");
            line(out, &step.condition);
            out.push_str("` is false: ");
            title(out, step);
            return;
        }
        (_, None) => {
            _ = write!(out, "\n{}: ", step.state.as_str());
            title(out, step);
        }
        (state, Some(_)) => {
            _ = write!(out, "  {} in {}", state.as_str(), duration(step.elapsed_microseconds));
            if step.fuel > 0 {
                let memory = ByteSize(step.peak_memory_bytes).display().iec();
                _ = write!(out, ", fuel {}, memory {memory}", grouped(step.fuel));
            }
            if let Some(resources) = step.resources {
                let chosen = if step.selective { " chosen" } else { "" };
                _ = write!(out, ", {resources} resources{chosen}");
            }
            if step.exit_code != 0 {
                _ = write!(out, ", exit code {}", step.exit_code);
            }
            out.push('\n');
        }
    }
    if let Some(changes) = &step.changes {
        changed(out, changes);
    }
    if !step.error.is_empty() {
        indented(out, "  error: ", &step.error);
    }
    for result in &step.results {
        finding(out, result);
    }
    if step.results_left_out > 0 {
        _ = writeln!(out, "  [{} results left out]", step.results_left_out);
    }
    if !step.stderr.is_empty() {
        indented(out, "  stderr: ", &step.stderr);
    }
    if step.stderr_dropped_bytes > 0 {
        _ = writeln!(out, "  [{} bytes of stderr dropped]", step.stderr_dropped_bytes);
    }
}

/// A warning.
pub(super) fn warned(out: &mut String, warning: &RecordWarning) {
    out.push('\n');
    indented(out, "warning: ", &warning.message);
}

/// Its last lines.
pub(super) fn ended(out: &mut String, record: &Record) {
    if record.steps_left_out > 0 {
        _ = writeln!(out, "\n[{} steps left out]", record.steps_left_out);
    }
    out.push('\n');
    let word = record.outcome.as_str();
    let after = format!("{word} after {}", duration(record.elapsed_microseconds));
    let start = if record.render.as_str().is_empty() { word.to_owned() } else { after };
    if record.message.is_empty() {
        _ = writeln!(out, "{start}");
    } else {
        indented(out, &format!("{start}: "), &record.message);
    }
}

fn title(out: &mut String, step: &RecordStep) {
    let kind = if step.kind == "validator" { "validator, " } else { "" };
    let package = if step.package_name.is_empty() { "." } else { &step.package_name };
    _ = write!(out, "{kind}step {} of package ", step.number);
    line(out, package);
    out.push_str(": ");
    line(out, step.function());
    if !step.name.is_empty() {
        out.push_str(" (");
        line(out, &step.name);
        out.push(')');
    }
    out.push('\n');
}

fn changed(out: &mut String, changes: &RecordChanges) {
    for change in &changes.resources {
        let RecordChange { change, resource, path, old_path, diff } = change;
        let from = old_path.as_ref().map(|old| format!(", was in {old}")).unwrap_or_default();
        let path = if path.is_empty() { String::new() } else { format!(" in {path}") };
        indented(out, &format!("  {change} "), &format!("{resource}{path}{from}\n{diff}"));
    }
    if changes.left_out > 0 {
        _ = writeln!(out, "  [{} changed resources left out]", changes.left_out);
    }
}

fn finding(out: &mut String, result: &Finding) {
    let mut about = String::new();
    if let Some(of) = &result.resource_ref {
        let parts = [&of.api_version, &of.kind, &of.namespace, &of.name];
        let parts: Vec<&str> = parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        about.push_str(&parts.join("/"));
    }
    if let Some(file) = &result.file {
        _ = write!(about, "{}{}", if about.is_empty() { "" } else { " in " }, file.path);
    }
    if let Some(field) = &result.field {
        _ = write!(about, "{}{}", if about.is_empty() { "" } else { ", " }, field.path);
    }
    let about = if about.is_empty() { about } else { format!("{about}: ") };
    indented(out, &format!("  [{}] {about}", result.severity()), &result.message);
}

/// A text behind its first words, its further lines a little to the right of them.
fn indented(out: &mut String, first: &str, text: &str) {
    let depth = first.len() - first.trim_start().len() + 2;
    line(out, first);
    for (place, rest) in text.trim_end().lines().enumerate() {
        if place > 0 {
            _ = write!(out, "\n{:depth$}", "");
        }
        line(out, rest);
    }
    out.push('\n');
}

/// A line of a text that comes from elsewhere. What a terminal acts on, or what turns the direction of text around, is shown
/// as what it is.
fn line(out: &mut String, text: &str) {
    for c in text.chars() {
        let acts = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') || (c.is_control() && c != '\t');
        if acts {
            _ = write!(out, "{}", c.escape_default());
        } else {
            out.push(c);
        }
    }
}

/// As people say it: `12.3 ms`.
fn duration(microseconds: u64) -> String {
    match microseconds {
        0..1_000 => format!("{microseconds} us"),
        1_000..1_000_000 => format!("{:.1} ms", Duration::from_micros(microseconds).as_secs_f64() * 1e3),
        _ => format!("{:.2} s", Duration::from_micros(microseconds).as_secs_f64()),
    }
}

/// With a comma between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

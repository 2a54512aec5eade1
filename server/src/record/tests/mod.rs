//! Records of renders that a script makes up, and the logs that are read from them.

mod bounds;
mod follow;

use std::time::Duration;

use portico_krm::FunctionResult;
use portico_krm::results::{Field, ResourceRef};
use portico_runtime::{Cause, ChangeKind, Event, ResourceChange, StepChanges, StepKind, StepReport, StepState};
use portico_scheduler::model::RevisionKey;
use portico_scheduler::store::RenderLog;

use super::limits::RecordLimits;
use super::live::{Form, Live};
use super::model::StepOutcome::{Failed, NotRun, Passed, Skipped, Stopped};
use super::model::{Record, RecordOutcome, StepOutcome};
use super::text;

fn key(name: &str) -> RevisionKey {
    RevisionKey::new("team-a", name, &format!("uid-of-{name}"))
}

/// A step that passed.
fn step(index: usize) -> StepReport {
    StepReport {
        package: String::new(),
        package_name: "web".into(),
        kind: StepKind::Mutator,
        index,
        number: index + 1,
        name: String::new(),
        image: format!("example.com/fn{index}:v1"),
        exec: String::new(),
        state: StepState::Passed,
        exit_code: 0,
        execution_error: None,
        kpt_error: None,
        cause: None,
        stderr: String::new(),
        stderr_dropped: 0,
        results: Vec::new(),
        resources: Some(3),
        selective: false,
        changes: None,
        recorded: true,
        elapsed: Duration::from_micros(1500),
        fuel: 1_234_567,
        peak_memory: 3 << 20,
    }
}

fn failed(index: usize) -> StepReport {
    StepReport {
        state: StepState::Failed,
        exit_code: 1,
        cause: Some(Cause::Exit),
        stderr: "first line\nsecond \u{1b}[31mline\u{202e}".into(),
        results: vec![FunctionResult {
            message: "no such port".into(),
            severity: Some("error".into()),
            resource_ref: Some(ResourceRef { kind: "Service".into(), name: "web".into(), ..ResourceRef::default() }),
            field: Some(Field { path: "spec.ports".into(), current_value: Some("80".into()), proposed_value: None }),
            ..FunctionResult::default()
        }],
        ..step(index)
    }
}

fn not_run(index: usize) -> StepReport {
    StepReport { state: StepState::NotRun, resources: None, recorded: false, fuel: 0, ..step(index) }
}

fn run(live: &Live, report: &StepReport) {
    live.event(&Event::StepStarted(&StepReport { state: StepState::NotRun, ..report.clone() }));
    match report.state {
        StepState::Failed => live.event(&Event::StepFailed(report)),
        _ => live.event(&Event::StepPassed(report)),
    }
}

fn changing(index: usize, diff: &str) -> StepReport {
    let change = ResourceChange {
        kind: ChangeKind::Changed,
        resource: "v1/Service/web".into(),
        path: "svc.yaml".into(),
        old_path: None,
        diff: diff.into(),
    };
    StepReport { changes: Some(StepChanges { resources: vec![change], left_out: 2 }), ..step(index) }
}

/// A render with a bit of everything.
fn full(limits: RecordLimits) -> Live {
    let live = Live::new(&key("web.v1"), 7, limits);
    let (changing, failed) = (changing(0, "@@ -1 +1 @@\n-a: 1\n+a: 2\n"), failed(2));
    run(&live, &changing);
    live.event(&Event::Warning("mind the gap"));
    let skipped = StepReport { state: StepState::Skipped, ..step(1) };
    live.event(&Event::StepSkipped { step: &skipped, condition: "false" });
    run(&live, &failed);
    live.end(RecordOutcome::Failed, "it failed", &[changing, skipped, failed, not_run(3)]);
    live
}

#[test]
fn a_record_says_what_each_step_did() {
    let live = full(RecordLimits::default());
    let record: Record = serde_json::from_slice(&live.json().unwrap()).unwrap();
    assert_eq!(record, live.record(), "JSON holds all of it");
    let states: Vec<StepOutcome> = record.steps.iter().map(|step| step.state).collect();
    assert_eq!(states, [Passed, Skipped, Failed, NotRun]);
    assert_eq!((record.fuel, record.peak_memory_bytes), (2 * 1_234_567, 3 << 20));
    assert_eq!(record.failed_step().unwrap().number, 3);
    let list = record.result_list();
    assert_eq!(list["exitCode"], 1);
    assert_eq!(list["items"].as_array().unwrap().len(), 3);
    assert_eq!(list["items"][2]["results"][0]["resourceRef"]["name"], "web");
}

#[test]
fn the_text_is_the_same_while_it_is_followed_and_in_the_end() {
    let live = full(RecordLimits::default());
    let (followed, _, ended) = live.read(0, Form::Text, usize::MAX);
    assert!(ended);
    assert_eq!(followed, text::whole(&live.record()));
    let again = Live::ended(live.record(), RecordLimits::default());
    assert_eq!(again.read(0, Form::Text, usize::MAX).0, followed);
    // The times are those of this run.
    let line = |start: &str| followed.lines().filter(|line| line.trim_start().starts_with(start)).count();
    for (start, times) in [
        ("render ", 1),
        ("passed in 1.5 ms, fuel 1,234,567, memory 3.0 MiB, 3 resources", 1),
        ("changed v1/Service/web in svc.yaml", 1),
        ("+a: 2", 1),
        ("[2 changed resources left out]", 1),
        ("warning: mind the gap", 1),
        ("skipped, because `false` is false: step 2 of package web: example.com/fn1:v1", 1),
        ("[error] Service/web, spec.ports: no such port", 1),
        ("stderr: first line", 1),
        // What would change the terminal's colour is shown as what it is.
        ("second \\u{1b}[31mline\\u{202e}", 1),
        ("not run: step 4 of package web: example.com/fn3:v1", 1),
        ("failed after ", 1),
    ] {
        assert_eq!(line(start), times, "{start}: {followed}");
    }
    assert!(followed.ends_with(": it failed\n"), "{followed}");
}

#[test]
fn a_render_that_begins_anew_says_so_and_loses_nothing() {
    let live = Live::new(&key("web.v1"), 7, RecordLimits::default());
    run(&live, &step(0));
    live.event(&Event::StepStarted(&not_run(1)));
    // The process died; another one begins with the first step.
    run(&live, &step(0));
    run(&live, &step(1));
    live.end(RecordOutcome::Succeeded, "", &[step(0), step(1)]);
    let record = live.record();
    let states: Vec<StepOutcome> = record.steps.iter().map(|step| step.state).collect();
    assert_eq!(states, [Passed, Stopped, Passed, Passed]);
    assert_eq!(record.warnings.len(), 1);
}

#[test]
fn a_step_is_stopped_with_its_render() {
    let live = Live::new(&key("web.v1"), 7, RecordLimits::default());
    live.event(&Event::StepStarted(&not_run(0)));
    assert_eq!(live.record().outcome, RecordOutcome::Running);
    live.end(RecordOutcome::Stopped, "", &[]);
    // Whatever comes later changes nothing.
    live.end(RecordOutcome::Broken, "the renderer panicked", &[]);
    let record = live.record();
    assert_eq!((record.outcome, record.steps[0].state), (RecordOutcome::Stopped, Stopped));
}

#[test]
fn values_of_secrets_in_results_are_not_kept() {
    let mut report = failed(0);
    let result = &mut report.results[0];
    result.resource_ref.as_mut().unwrap().kind = "Secret".into();
    result.field.as_mut().unwrap().current_value = Some("hunter2".into());
    let live = Live::new(&key("web.v1"), 7, RecordLimits::default());
    run(&live, &report);
    let json = live.end(RecordOutcome::Failed, "no", &[report]);
    assert!(!String::from_utf8_lossy(&json).contains("hunter2"));
}

#[test]
fn a_reason_without_a_render_is_a_record_too() {
    let log = RenderLog {
        content: portico_scheduler::model::ContentVersion(3),
        kept: true,
        ended_ms: 0,
        text: "no room".into(),
    };
    let record = Record::stored(&key("web.v1"), &log);
    assert_eq!((record.outcome, record.message.as_str()), (RecordOutcome::Broken, "no room"));
    assert_eq!(text::whole(&record), "team-a/web.v1, content version 3\n\nbroken off: no room\n");
}

//! Records stay small, whatever functions write.

use portico_krm::FunctionResult;
use portico_runtime::{StepReport, StepState};
use serde_json::Value;

use super::{changing, failed, key, not_run, run, step};
use crate::record::bound::cut;
use crate::record::limits::RecordLimits;
use crate::record::live::{Form, Live};
use crate::record::model::{Record, RecordOutcome, StepOutcome};

fn parsed(json: &[u8]) -> Record {
    serde_json::from_slice(json).unwrap()
}

#[test]
fn a_text_that_is_cut_twice_says_how_much_is_gone_in_all() {
    let text = format!("head{}tail", "é".repeat(50_000));
    let once = cut(&text, 10_000);
    let twice = cut(&once, 1_000);
    assert!(once.len() <= 10_000 && twice.len() <= 1_000);
    assert!(twice.starts_with("head") && twice.ends_with("tail"), "{twice}");
    let said: usize = twice.split_once('[').unwrap().1.split_once(' ').unwrap().0.parse().unwrap();
    // The first note is gone as well.
    let kept = twice.len() - format!("\n[{said} bytes left out]\n").len();
    assert!((text.len() - kept..text.len() - kept + 48).contains(&said), "{said}");
    // Whoever writes such a note himself gains nothing.
    let forged = format!("a\n[{} bytes left out]\n{}", u64::MAX, "b".repeat(100));
    assert!(cut(&forged, 60).contains("bytes left out"));
    assert_eq!(cut("short", 5), "short");
    assert!(cut(&text, 0).len() < 64);
}

#[test]
fn a_render_of_ten_thousand_steps_fits_and_shows_the_one_that_failed() {
    let limits = RecordLimits { record_bytes: 200_000, items: 200, ..RecordLimits::default() };
    let live = Live::new(&key("large"), 1, limits);
    let mut reports = Vec::new();
    for index in 0..10_000 {
        let mut report = changing(index, &"+ a line\n".repeat(1_000));
        report.stderr = "a line\n".repeat(1_000);
        run(&live, &report);
        reports.push(report);
        assert!(live.size() <= 3 * limits.record_bytes, "{} after {index} steps", live.size());
    }
    let last = StepReport { stderr: "the reason".into(), ..failed(10_000) };
    run(&live, &last);
    reports.extend([last, not_run(10_001)]);
    let json = live.end(RecordOutcome::Failed, &"why ".repeat(100_000), &reports);
    assert!(json.len() <= limits.record_bytes, "{}", json.len());
    let record = parsed(&json);
    let failed = record.failed_step().unwrap();
    assert_eq!((failed.number, failed.stderr.as_str()), (10_001, "the reason"));
    assert_eq!(record.steps.len() + record.steps_left_out, 10_002);
    assert!(record.steps.iter().filter(|step| step.state == StepOutcome::Passed).count() > 20, "the texts go first");
    assert_eq!(record.fuel, 10_001 * 1_234_567);
    // Also what is read of it in memory.
    let (text, _, ended) = live.read(0, Form::Text, usize::MAX);
    assert!(ended && text.len() < 4 * limits.record_bytes, "{}", text.len());
}

#[test]
fn texts_that_json_makes_longer_fit_too() {
    let limits = RecordLimits { record_bytes: 50_000, ..RecordLimits::default() };
    let live = Live::new(&key("large"), 1, limits);
    // Six bytes each.
    let report = StepReport { stderr: "\u{1}".repeat(1 << 20), ..failed(0) };
    run(&live, &report);
    let json = live.end(RecordOutcome::Failed, &"\u{2}".repeat(1 << 20), &[report]);
    assert!(json.len() <= limits.record_bytes, "{}", json.len());
    assert!(parsed(&json).steps[0].stderr.contains("bytes left out"));
}

#[test]
fn results_and_their_parts_are_bounded() {
    let limits = RecordLimits { record_bytes: 100_000, ..RecordLimits::default() };
    let mut result = FunctionResult { message: "m".repeat(1 << 20), ..FunctionResult::default() };
    result.tags = (0..1_000).map(|n| (format!("tag{n}"), "t".repeat(2_000))).collect();
    result.severity = Some("s".repeat(1 << 20));
    let report = StepReport { results: vec![result; 5], state: StepState::Passed, ..step(0) };
    let mut many = step(1);
    many.results = vec![FunctionResult { message: "one of many".into(), ..FunctionResult::default() }; 100_000];
    let live = Live::new(&key("large"), 1, limits);
    run(&live, &report);
    run(&live, &many);
    assert!(live.size() <= 3 * limits.record_bytes, "{}", live.size());
    let json = live.end(RecordOutcome::Succeeded, "", &[report, many]);
    assert!(json.len() <= limits.record_bytes, "{}", json.len());
    let record = parsed(&json);
    assert_eq!(record.steps[1].results.len() + record.steps[1].results_left_out, 100_000);
}

#[test]
fn warnings_without_end_and_a_bound_that_is_too_small_leave_a_record() {
    let limits = RecordLimits { record_bytes: 2_000, ..RecordLimits::default() };
    let live = Live::new(&key("small"), 1, limits);
    for n in 0..10_000 {
        live.warn(&format!("warning {n} {}", "w".repeat(1_000)));
    }
    run(&live, &step(0));
    let json = live.end(RecordOutcome::Succeeded, "", &[step(0)]);
    assert!(json.len() <= limits.record_bytes, "{}", json.len());
    // Nothing that it names is lost.
    let tiny = Live::new(&key("small"), 1, RecordLimits { record_bytes: 1, ..limits });
    run(&tiny, &step(0));
    let value: Value = serde_json::from_slice(&tiny.end(RecordOutcome::Succeeded, "", &[step(0)])).unwrap();
    assert_eq!((value["name"].as_str(), value["stepsLeftOut"].as_u64()), (Some("small"), Some(1)));
}

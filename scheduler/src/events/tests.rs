//! Aggregation, budgets and bounds of events.

use std::time::Duration;

use super::*;
use crate::model::RevisionKey;
use crate::time::Time;

fn key(name: &str) -> RevisionKey {
    RevisionKey::new("ns", name, name)
}

/// A failure that differs from others by its number.
fn failure(number: u64) -> TurningPoint {
    TurningPoint::Failed(format!("error {number}"))
}

const ALL: [TurningPoint; 8] = [
    TurningPoint::Scheduled,
    TurningPoint::Started,
    TurningPoint::Succeeded,
    TurningPoint::Failed(String::new()),
    TurningPoint::Superseded { finished: true },
    TurningPoint::Superseded { finished: false },
    TurningPoint::Cancelled,
    TurningPoint::Conflict,
];

#[test]
fn every_turning_point_has_its_event() {
    let mut recorder = Recorder::new(EventLimits::default());
    let (now, a) = (Time::default(), key("a"));
    let told: Vec<_> = ALL.iter().filter_map(|turn| recorder.record(&a, turn, now, 7)).collect();
    let reasons: Vec<_> = told.iter().map(|event| event.reason.as_str()).collect();
    let wanted = [
        "RenderScheduled",
        "RenderStarted",
        "RenderSucceeded",
        "RenderFailed",
        "RenderSuperseded",
        "RenderSuperseded",
        "RenderCancelled",
        "RenderConflict",
    ];
    assert_eq!(reasons, wanted);
    let warnings = told.iter().filter(|event| event.kind.as_str() == "Warning");
    assert_eq!(warnings.map(|event| event.reason).collect::<Vec<_>>(), [EventReason::RenderFailed]);
    assert!(told.iter().all(|event| event.regarding == a && (event.count, event.first_ms, event.last_ms) == (1, 7, 7)));
    assert!(told[4].note.ends_with("finished, but a newer render is under way, dropping the results"));
}

#[test]
fn equal_events_become_one_with_a_count() {
    let (mut recorder, ring) = (Recorder::new(EventLimits::default()), Ring::new(100));
    let (now, a) = (Time::default(), key("a"));
    for (wall, turn) in [(1, failure(1)), (2, failure(2)), (3, failure(1)), (4, failure(1))] {
        ring.tell(&recorder.record(&a, &turn, now, wall).unwrap());
    }
    // Another object's equal event is another one.
    ring.tell(&recorder.record(&key("b"), &failure(1), now, 5).unwrap());
    let events: Vec<_> = ring.of(&a).iter().map(|e| (e.note.to_string(), e.count, e.first_ms, e.last_ms)).collect();
    let note = |number| format!("the render failed: error {number}");
    assert_eq!(events, [(note(2), 1, 2, 2), (note(1), 3, 1, 4)], "the latest stands last");
    assert_eq!(ring.of(&key("b")).len(), 1);
    assert_eq!(recorder.counters(), EventCounters { told: 5, repeated: 2, ..EventCounters::default() });
}

#[test]
fn an_object_has_a_budget() {
    let limits = EventLimits { reserve: 0, ..EventLimits::default() };
    let mut recorder = Recorder::new(limits.clone());
    let (mut now, a) = (Time::default(), key("a"));
    let told = (0..100).filter(|number| recorder.record(&a, &failure(*number), now, 0).is_some()).count();
    assert_eq!(told, 25);
    assert_eq!(recorder.counters().dropped, 75);
    assert!(recorder.record(&key("b"), &failure(0), now, 0).is_some(), "each has its own");
    now = now + limits.refill.saturating_sub(Duration::from_nanos(1));
    assert!(recorder.record(&a, &failure(200), now, 0).is_none());
    now = now + Duration::from_nanos(1);
    assert!(recorder.record(&a, &failure(201), now, 0).is_some(), "one more for each refill time");
    assert!(recorder.record(&a, &failure(202), now, 0).is_none());
    // And never more than the burst, however long nothing happens.
    now = now + limits.refill * 1_000;
    let told = (300..400).filter(|number| recorder.record(&a, &failure(*number), now, 0).is_some()).count();
    assert_eq!(told, 25);
}

#[test]
fn a_repetition_beyond_the_budget_is_counted_and_told_later() {
    let limits = EventLimits { burst: 2, reserve: 0, ..EventLimits::default() };
    let mut recorder = Recorder::new(limits.clone());
    let (now, a) = (Time::default(), key("a"));
    let told = (0..10).filter_map(|wall| recorder.record(&a, &TurningPoint::Scheduled, now, wall)).count();
    assert_eq!((told, recorder.counters().held_back), (2, 8));
    let event = recorder.record(&a, &TurningPoint::Scheduled, now + limits.refill, 50).unwrap();
    assert_eq!((event.count, event.first_ms, event.last_ms), (11, 0, 50));
}

#[test]
fn the_end_of_a_render_is_told_after_a_hundred_edits() {
    let mut recorder = Recorder::new(EventLimits::default());
    let (now, a) = (Time::default(), key("a"));
    for _ in 0..100 {
        for turn in [TurningPoint::Scheduled, TurningPoint::Started, TurningPoint::Superseded { finished: false }] {
            recorder.record(&a, &turn, now, 0);
        }
    }
    assert!(recorder.record(&a, &failure(1), now, 0).is_some());
    assert_eq!(recorder.counters().told, 21, "the reserve is not used up by them");
}

#[test]
fn a_note_keeps_both_ends_of_a_long_error() {
    let error = format!("first {} last", "é".repeat(5_000));
    let note = TurningPoint::Failed(error).note();
    assert!(note.len() <= NOTE_BYTES, "{}", note.len());
    assert!(note.starts_with("the render failed: first") && note.ends_with("last"));
    assert!(note.contains("bytes left out"));
    assert!(ALL.iter().all(|turn| turn.note().len() <= NOTE_BYTES));
}

#[test]
fn what_the_recorder_remembers_is_bounded() {
    let limits = EventLimits { objects: 3, series: 2, reserve: 0, ..EventLimits::default() };
    let mut recorder = Recorder::new(limits);
    let now = Time::default();
    for name in ["a", "b", "c", "a", "d"] {
        recorder.record(&key(name), &TurningPoint::Scheduled, now, 0);
    }
    assert_eq!(recorder.objects(), 3);
    // `b` was heard of longest ago: it begins anew. `a` is remembered.
    assert_eq!(recorder.record(&key("a"), &TurningPoint::Scheduled, now, 0).unwrap().count, 3);
    assert_eq!(recorder.record(&key("b"), &TurningPoint::Scheduled, now, 0).unwrap().count, 1);
    // Two series an object: the third displaces the one that happened longest ago.
    for number in [1, 2, 1, 3, 1, 2] {
        recorder.record(&key("z"), &failure(number), now, 0);
    }
    assert_eq!(recorder.record(&key("z"), &failure(1), now, 0).unwrap().count, 4);
    recorder.forget(&key("z"));
    assert_eq!(recorder.record(&key("z"), &failure(1), now, 0).unwrap().count, 1);
}

#[test]
fn the_ring_keeps_the_last_ones() {
    let (mut recorder, ring) = (Recorder::new(EventLimits::default()), Ring::new(3));
    let now = Time::default();
    for name in ["a", "b", "c", "a", "d"] {
        ring.tell(&recorder.record(&key(name), &TurningPoint::Scheduled, now, 0).unwrap());
    }
    let names = |events: &[(u64, std::sync::Arc<RenderEvent>)]| -> Vec<String> {
        events.iter().map(|(_, event)| event.regarding.name.to_string()).collect()
    };
    let all = ring.after(0, 10);
    assert_eq!(names(&all), ["c", "a", "d"], "a repetition is as new as its last time");
    assert_eq!(names(&ring.after(all[0].0, 1)), ["a"], "reading goes on where it ended");
    assert!(ring.of(&key("b")).is_empty());
    ring.forget(&key("a"));
    assert_eq!((ring.len(), ring.of(&key("a")).len()), (2, 0));
    assert!(!ring.is_empty());
}

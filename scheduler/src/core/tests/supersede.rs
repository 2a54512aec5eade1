//! Edits that come while a render waits, runs or is saved.

use std::time::Duration;

use super::world::{World, good};
use crate::core::{Acquired, Event, Outcome, RenderExecutionStatus, Settings};
use crate::events::TurningPoint;
use crate::model::RenderState;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn world(workers: usize) -> World {
    World::new(Settings::default(), workers)
}

#[test]
fn none_scheduled_ongoing_and_none_again() {
    let mut world = world(0);
    let key = world.create("namespace", "a");
    assert_eq!(world.core.status(&key), RenderExecutionStatus::None);
    world.notify();
    assert_eq!(world.core.status(&key), RenderExecutionStatus::Scheduled);
    world.edit_seen(&key);
    assert_eq!(world.core.lengths().waiting(), 1);
    world.on(Event::Workers(1));
    assert_eq!(world.core.status(&key), RenderExecutionStatus::Ongoing);
    let run = world.run_of(&key).unwrap();
    world.give(run);
    assert_eq!(world.state(&key), Some(RenderState::Rendering));
    world.end(run, good());
    assert_eq!(world.core.status(&key), RenderExecutionStatus::Ongoing);
    world.answer_all();
    assert_eq!(world.core.status(&key), RenderExecutionStatus::None);
    assert_eq!(world.state(&key).unwrap(), RenderState::Ended(crate::model::Ending::success()));
    assert!(world.core.is_idle());
}

/// Scenario 50.
#[test]
fn a_hundred_edits_in_200_ms_cost_one_cancelled_and_one_complete_render() {
    let mut world = world(4);
    let key = world.draft("a");
    let first = world.run_of(&key).unwrap();
    world.give(first);
    let mut most = 0;
    for _ in 0..100 {
        world.wait(ms(2));
        world.edit_seen(&key);
        most = most.max(world.core.lengths().waiting() + world.core.lengths().again);
        let stopped: Vec<_> = world.runs.iter().filter(|(_, run)| run.stopped).map(|(run, _)| *run).collect();
        for run in stopped {
            world.end(run, Outcome::Cancelled);
        }
        // Whatever starts meanwhile gets its content at once, and can be superseded from then on.
        let next = world.run_of(&key).filter(|run| world.runs[run].content.is_none());
        if let Some(run) = next {
            world.give(run);
        }
    }
    assert_eq!(most, 1);
    assert_eq!(world.core.counters().started, 1);
    world.finish_everything();
    assert_eq!((world.core.counters().started, world.core.counters().superseded), (2, 1));
    assert_eq!(world.saved.len(), 1);
    assert_eq!(world.conflicts, 0);
    assert!(world.now.since(crate::time::Time::default()) < ms(300));
}

#[test]
fn the_quiet_period_doubles_and_ends_at_the_latest_after_a_second() {
    let mut world = world(1);
    let key = world.draft("a");
    for expected in [25, 50, 100, 200, 400] {
        let run = world.run_of(&key).unwrap();
        world.give(run);
        world.edit_seen(&key);
        assert!(world.runs[&run].stopped);
        world.end(run, Outcome::Cancelled);
        world.wait(ms(expected - 1));
        assert_eq!(world.run_of(&key), None, "{expected}");
        world.wait(ms(1));
        assert!(world.run_of(&key).is_some(), "{expected}");
    }
}

#[test]
fn edits_for_ever_do_not_put_the_render_off_for_more_than_a_second() {
    let mut world = world(1);
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    world.give(run);
    world.edit_seen(&key);
    world.end(run, Outcome::Cancelled);
    let mut waited = 0;
    while world.run_of(&key).is_none() {
        world.wait(ms(10));
        waited += 10;
        world.edit_seen(&key);
    }
    assert_eq!(waited, 1000);
}

#[test]
fn edits_for_ever_faster_than_the_render_give_results_all_the_same() {
    let mut world = world(1);
    let key = world.draft("a");
    let (mut complete, mut ended) = (0, 0);
    // An edit every 10 ms, a render of 50 ms, for a minute.
    for _ in 0..6_000 {
        world.edit_seen(&key);
        let Some(run) = world.run_of(&key) else {
            world.wait(ms(10));
            continue;
        };
        if world.runs[&run].content.is_none() {
            world.give(run);
        }
        for _ in 0..5 {
            world.wait(ms(10));
            world.edit_seen(&key);
            if world.runs[&run].stopped {
                break;
            }
        }
        let stopped = world.runs[&run].stopped;
        complete += usize::from(!stopped);
        ended += 1;
        world.end(run, if stopped { Outcome::Cancelled } else { good() });
    }
    // Every sixth may finish; each waits for at most a second before.
    assert!(complete >= 8, "{complete}");
    assert_eq!(world.logs.len(), ended, "what any of them said can be read, to its end or until it was stopped");
    // Nothing of old content was ever written.
    assert!(world.saved.is_empty() && world.saves.is_empty());
    world.finish_everything();
    assert_eq!(world.saved.len(), 1);
}

#[test]
fn an_edit_while_the_content_is_being_read_costs_nothing() {
    let mut world = world(1);
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    world.edit_seen(&key);
    assert!(!world.runs[&run].stopped);
    world.give(run);
    world.end(run, good());
    world.answer_all();
    world.notify();
    assert_eq!((world.core.counters().started, world.saved.len()), (1, 1));
    assert!(world.core.is_idle());
}

#[test]
fn a_superseded_result_that_came_all_the_same_is_dropped() {
    let mut world = world(1);
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    world.give(run);
    world.edit_seen(&key);
    world.end(run, good());
    assert!(world.saves.is_empty());
    assert_eq!(world.told(&key, &TurningPoint::Superseded { finished: true }), 1);
    assert_eq!(world.core.status(&key), RenderExecutionStatus::Scheduled);
}

/// Scenario 51.
#[test]
fn the_result_of_older_content_is_refused_once_and_the_new_content_scheduled_once() {
    let mut world = world(1);
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    world.give(run);
    world.end(run, good());
    // Another client is faster, and its notification late.
    world.edit(&key);
    world.answer_all();
    assert_eq!((world.conflicts, world.saves.len()), (1, 0));
    assert_eq!(world.told(&key, &TurningPoint::Conflict), 1);
    assert_eq!(world.core.status(&key), RenderExecutionStatus::Ongoing);
    world.notify();
    world.render(&key);
    assert_eq!(world.core.counters().started, 2);
    assert_eq!(world.saved.keys().map(|(_, content)| *content).collect::<Vec<_>>().len(), 1);
    assert!(world.core.is_idle());
}

#[test]
fn without_foreign_writes_there_is_no_conflict_and_one_render_an_edit() {
    let mut world = world(2);
    let key = world.draft("a");
    world.render(&key);
    for edit in 2..100 {
        world.edit_seen(&key);
        // The scheduler's own writes come back as notifications, also late ones.
        world.render(&key);
        assert!(world.core.is_idle());
        assert_eq!(world.core.counters().started, edit);
    }
    assert_eq!(world.conflicts, 0);
    assert_eq!(world.core.counters().superseded, 0);
}

#[test]
fn old_notifications_schedule_nothing() {
    let mut world = world(1);
    let key = world.create("namespace", "a");
    let old = world.store[&key].clone();
    world.notify();
    world.render(&key);
    world.on(Event::Seen(Box::new(old.clone())));
    assert!(world.core.is_idle());
    // After a restart nothing is remembered; the claim shows the truth.
    world.core = crate::core::Core::new(Settings::default());
    world.on(Event::Workers(1));
    world.on(Event::Seen(Box::new(old)));
    let run = world.run_of(&key).unwrap();
    world.give(run);
    assert!(world.core.is_idle());
    assert_eq!(world.core.counters().started, 0);
}

#[test]
fn content_that_is_older_than_what_was_seen_is_read_again_and_never_rendered() {
    let mut world = world(1);
    let key = world.create("namespace", "a");
    let old = world.store[&key].clone();
    world.edit(&key);
    world.notify();
    let run = world.run_of(&key).unwrap();
    world.acquired(run, Acquired::Content(Box::new(old)));
    assert_eq!((world.core.counters().started, world.run_of(&key)), (0, None));
    world.wait(ms(25));
    world.render(&key);
    assert!(world.core.is_idle());
}

#[test]
fn a_waiting_render_is_not_put_off_by_an_edit() {
    let mut world = world(1);
    let busy = world.draft("busy");
    let key = world.draft("a");
    world.edit_seen(&key);
    world.render(&busy);
    assert!(world.run_of(&key).is_some());
    assert_eq!(world.told(&key, &TurningPoint::Scheduled), 1);
}

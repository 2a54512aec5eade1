//! Failures by their class, and what follows them.

use std::time::Duration;

use super::world::{World, bad, broken, good};
use crate::core::{Acquired, Event, Failure, Outcome, RenderExecutionStatus, Settings};
use crate::events::TurningPoint;
use crate::model::{Ending, ErrorClass, Reason, RenderState};

fn world() -> World {
    World::new(Settings::default(), 1)
}

/// Lets the present run of the only revision end so, and says how long it waits then.
fn fail(world: &mut World, key: &crate::model::RevisionKey, outcome: Outcome) -> Duration {
    let run = world.run_of(key).expect("a worker has it");
    world.give(run);
    world.wake = None;
    world.end(run, outcome);
    let wake = world.wake.expect("it is tried again");
    let wait = wake.since(world.now);
    world.now = wake;
    world.on(Event::Tick);
    wait
}

fn seconds(wait: Duration, most: u64) -> bool {
    let most = Duration::from_secs(most);
    wait <= most && wait >= most.mul_f64(0.75)
}

/// Founding document 001: only transient errors are delayed, from 10 s to 360 s, and success resets the delay.
#[test]
fn a_transient_failure_waits_twice_as_long_each_time() {
    let mut world = world();
    let key = world.draft("a");
    for most in [10, 20, 40, 80, 160, 320, 360, 360, 360, 360] {
        let wait = fail(&mut world, &key, broken(ErrorClass::Transient));
        assert!(seconds(wait, most), "{wait:?} instead of {most} s");
    }
    let Some(RenderState::Waiting(why)) = world.state(&key) else { panic!("{:?}", world.state(&key)) };
    assert!(why.contains("out of order"), "{why}");
    world.render(&key);
    world.edit_seen(&key);
    let wait = fail(&mut world, &key, broken(ErrorClass::Transient));
    assert!(seconds(wait, 10), "{wait:?}");
}

#[test]
fn a_servers_word_on_when_to_come_back_is_obeyed() {
    let mut world = world();
    let key = world.draft("a");
    let busy = |seconds| {
        let retry_after = Some(Duration::from_secs(seconds));
        Outcome::Broken(Failure { retry_after, ..Failure::new(ErrorClass::Transient, "busy") })
    };
    assert_eq!(fail(&mut world, &key, busy(900)), Duration::from_mins(15));
    assert!(seconds(fail(&mut world, &key, busy(1)), 20));
}

#[test]
fn an_unclassified_failure_is_transient_eight_times_and_then_permanent() {
    let mut world = world();
    let key = world.draft("a");
    for _ in 0..8 {
        fail(&mut world, &key, broken(ErrorClass::Unclassified));
    }
    let run = world.run_of(&key).unwrap();
    world.give(run);
    world.end(run, broken(ErrorClass::Unclassified));
    world.answer_all();
    world.notify();
    let Some(RenderState::Ended(ending)) = world.state(&key) else { panic!("{:?}", world.state(&key)) };
    assert_eq!((ending.reason, ending.message.as_str()), (Reason::InfrastructureFailed, "out of order"));
    assert!(world.core.is_idle());
    // New content is new hope.
    world.edit_seen(&key);
    fail(&mut world, &key, broken(ErrorClass::Unclassified));
}

#[test]
fn a_functions_failure_is_recorded_and_never_tried_again() {
    let mut world = world();
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    world.give(run);
    world.end(run, bad());
    world.answer_all();
    world.notify();
    let failed = Ending::failure(Reason::RenderFailed, "set-labels: no such label");
    assert_eq!(world.state(&key), Some(RenderState::Ended(failed)));
    world.wait(Duration::from_hours(10));
    assert!(world.core.is_idle() && world.runs.is_empty());
    assert_eq!(world.told(&key, &TurningPoint::Failed("set-labels: no such label".to_owned())), 1);
}

/// Founding document 004: a permanent configuration error made the launcher loop. Scenario 54 (a) and (b).
#[test]
fn a_permanent_configuration_error_ends_the_item_until_something_changes() {
    let mut world = world();
    world.on(Event::Configuration(1));
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    world.give(run);
    world.end(run, broken(ErrorClass::Permanent));
    world.answer_all();
    world.notify();
    assert!(world.core.is_idle());
    world.wait(Duration::from_hours(10));
    assert_eq!(world.core.counters().started, 1);
    assert!(matches!(world.state(&key), Some(RenderState::Ended(Ending { reason: Reason::InvalidPackage, .. }))));

    // The module that was missing is there: the scheduler looks at what was invalid, and renders it.
    world.on(Event::Configuration(2));
    assert_eq!(world.lists_of_invalid, 2);
    let revision = world.store[&key].clone();
    world.on(Event::Seen(Box::new(revision)));
    world.notify();
    world.render(&key);
    assert_eq!(world.state(&key), Some(RenderState::Ended(Ending::success())));
}

/// Founding document 004: configuration was read and compared again and again.
#[test]
fn configuration_is_compared_by_its_content() {
    let mut world = world();
    for digest in [1, 1, 1, 2, 2] {
        world.on(Event::Configuration(digest));
    }
    assert_eq!(world.lists_of_invalid, 2);
    // What is invalid under this very configuration stays so.
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    world.give(run);
    world.end(run, broken(ErrorClass::Permanent));
    world.answer_all();
    world.notify();
    let revision = world.store[&key].clone();
    world.on(Event::Seen(Box::new(revision)));
    world.notify();
    assert!(world.core.is_idle());
}

#[test]
fn new_content_does_not_wait_for_the_failure_of_the_old() {
    let mut world = world();
    let key = world.draft("a");
    for _ in 0..5 {
        fail(&mut world, &key, broken(ErrorClass::Transient));
    }
    let run = world.run_of(&key).unwrap();
    world.give(run);
    world.end(run, broken(ErrorClass::Transient));
    assert_eq!(world.run_of(&key), None);
    world.edit_seen(&key);
    assert!(world.run_of(&key).is_some());
}

/// Scenario 54 (a): what is not there yet is neither rendered nor written back.
#[test]
fn empty_and_partial_reads_are_not_there_yet() {
    let mut world = world();
    let key = world.draft("a");
    for _ in 0..12 {
        let run = world.run_of(&key).unwrap();
        world.wake = None;
        world.acquired(run, Acquired::NotYet("2 of 3 files".to_owned()));
        world.now = world.wake.expect("it is tried again");
        world.on(Event::Tick);
    }
    assert_eq!((world.core.counters().started, world.saves.len()), (0, 0));
    world.render(&key);
    assert!(world.core.is_idle());
}

#[test]
fn a_failed_read_is_tried_again_and_a_permanent_one_is_recorded() {
    let mut world = world();
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    world.acquired(run, Acquired::Failed(Failure::new(ErrorClass::Transient, "no route")));
    assert_eq!(world.core.status(&key), RenderExecutionStatus::Scheduled);
    world.wait(Duration::from_secs(10));
    let run = world.run_of(&key).unwrap();
    world.acquired(run, Acquired::Failed(Failure::new(ErrorClass::Permanent, "damaged")));
    world.answer_all();
    world.notify();
    assert!(world.core.is_idle());
    assert!(matches!(world.state(&key), Some(RenderState::Ended(Ending { reason: Reason::InvalidPackage, .. }))));
}

#[test]
fn a_result_that_the_store_never_takes_becomes_its_reason() {
    let mut world = world();
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    world.give(run);
    world.end(run, good());
    let save = *world.saves.keys().next().unwrap();
    world.saves.clear();
    let failure = crate::dispatch::Failure::new(ErrorClass::Permanent, "too large");
    world.on(Event::Saved { save, written: crate::dispatch::Outcome::Failed(failure) });
    world.answer_all();
    world.notify();
    let Some(RenderState::Ended(ending)) = world.state(&key) else { panic!() };
    assert!(ending.message.contains("too large"), "{}", ending.message);
    assert!(world.core.is_idle());
}

#[test]
fn a_result_that_is_lost_on_its_way_is_rendered_again() {
    let mut world = world();
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    world.give(run);
    world.end(run, good());
    let save = *world.saves.keys().next().unwrap();
    world.saves.clear();
    let failure = crate::dispatch::Failure::new(ErrorClass::Transient, "no room");
    world.on(Event::Saved { save, written: crate::dispatch::Outcome::Failed(failure) });
    world.wait(Duration::from_secs(10));
    world.render(&key);
    assert_eq!(world.saved.len(), 1);
}

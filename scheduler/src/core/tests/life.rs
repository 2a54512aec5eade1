//! Cancelling, deleting, stopping, and bounds.

use std::time::Duration;

use super::world::{World, broken, good};
use crate::core::{Acquired, Core, Ended, Event, Outcome, RenderExecutionStatus, Settings};
use crate::events::TurningPoint;
use crate::model::{Ending, ErrorClass, Lifecycle, Reason, RenderState, Revision, RevisionKey};
use crate::queue::{self, Cost, Quota};

fn world(workers: usize) -> World {
    World::new(Settings::default(), workers)
}

fn cancel(world: &mut World, key: &RevisionKey) {
    world.on(Event::Cancel { key: key.clone(), why: "by hand".to_owned() });
}

fn cancelled() -> RenderState {
    RenderState::Ended(Ending::failure(Reason::Cancelled, "by hand"))
}

#[test]
fn a_waiting_render_that_is_cancelled_ends_so() {
    let mut world = world(0);
    let key = world.draft("a");
    cancel(&mut world, &key);
    cancel(&mut world, &key);
    assert_eq!(world.saves.len(), 1);
    world.answer_all();
    world.notify();
    assert_eq!(world.state(&key), Some(cancelled()));
    assert!(world.core.is_idle());
    cancel(&mut world, &key);
    assert_eq!((world.saves.len(), world.core.counters().cancelled), (0, 1));
}

#[test]
fn a_running_render_that_is_cancelled_stops_at_once_and_ends_so() {
    let mut world = world(1);
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    world.give(run);
    cancel(&mut world, &key);
    assert!(world.runs[&run].stopped);
    cancel(&mut world, &key);
    world.end(run, Outcome::Cancelled);
    world.answer_all();
    world.notify();
    assert_eq!(world.state(&key), Some(cancelled()));
    assert_eq!(world.told(&key, &TurningPoint::Cancelled), 1);
    assert!(world.core.is_idle());
}

/// Founding document 004: a request was cancelled while it was being locked. And a claim was left held on an early return.
#[test]
fn an_item_cancelled_while_it_is_being_claimed_gives_the_claim_back() {
    let mut world = world(1);
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    cancel(&mut world, &key);
    world.give(run);
    assert_eq!(world.runs.len(), 0, "released");
    assert_eq!(world.core.lengths().running, 0);
    world.answer_all();
    world.notify();
    assert_eq!(world.state(&key), Some(cancelled()));
    assert!(world.core.is_idle());
}

/// Founding document 004: the claim was left held when a second look showed that there was nothing to do.
#[test]
fn every_early_return_gives_the_claim_back() {
    let answers = |world: &World, key: &RevisionKey| {
        let revision = Box::new(world.store[key].clone());
        let failure = crate::core::Failure::new(crate::model::ErrorClass::Transient, "no");
        let mut done = revision.clone();
        done.lifecycle = Lifecycle::Published;
        [
            Acquired::Held(Duration::from_secs(1)),
            Acquired::Finished(done.clone()),
            Acquired::Content(done),
            Acquired::Gone,
            Acquired::NotYet("nothing".to_owned()),
            Acquired::Failed(failure),
        ]
    };
    for which in 0..6 {
        let mut world = world(1);
        let key = world.draft("a");
        let run = world.run_of(&key).unwrap();
        let answer = answers(&world, &key)[which].clone();
        world.acquired(run, answer);
        assert_eq!((world.runs.len(), world.core.lengths().running), (0, 0), "{which}");
    }
}

#[test]
fn an_edit_after_a_cancel_is_rendered() {
    let mut world = world(1);
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    world.give(run);
    cancel(&mut world, &key);
    world.edit_seen(&key);
    world.end(run, Outcome::Cancelled);
    assert!(world.saves.is_empty(), "its successor will say how it ends");
    world.finish_everything();
    assert_eq!(world.state(&key), Some(RenderState::Ended(Ending::success())));
}

#[test]
fn a_cancel_takes_the_successor_of_a_superseded_render_with_it() {
    let mut world = world(1);
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    world.give(run);
    world.edit_seen(&key);
    cancel(&mut world, &key);
    world.end(run, Outcome::Cancelled);
    world.answer_all();
    world.notify();
    assert_eq!(world.state(&key), Some(cancelled()));
    assert!(world.core.is_idle());
}

/// Founding document 001: a deletion is handled at once and leaves nothing behind.
#[test]
fn a_deletion_stops_the_render_at_once_and_leaves_no_trace() {
    let mut world = world(1);
    let key = world.draft("a");
    let run = world.run_of(&key).unwrap();
    world.give(run);
    world.edit_seen(&key);
    world.edit_seen(&key);
    let told = world.told.len();
    world.delete(&key);
    assert!(world.runs[&run].stopped);
    world.end(run, good());
    assert!(world.core.is_idle() && world.saves.is_empty() && world.runs.is_empty());
    assert_eq!(world.told.len(), told);
    world.wait(Duration::from_hours(1));
    assert!(world.core.is_idle());
}

/// Founding document 001: keys that are gone or make no sense were tried again for ever.
#[test]
fn deleted_keys_are_forgotten_in_every_state() {
    for step in 0..5 {
        let mut world = world(usize::from(step > 0));
        let key = world.draft("a");
        if step > 1 {
            let run = world.run_of(&key).unwrap();
            world.give(run);
            match step {
                3 => world.end(run, good()),
                4 => world.end(run, super::world::broken(crate::model::ErrorClass::Transient)),
                _ => {}
            }
        }
        let save = world.saves.keys().next().copied();
        world.delete(&key);
        if let Some(run) = world.run_of(&key) {
            if world.runs[&run].content.is_none() {
                world.give(run);
            } else {
                world.end(run, Outcome::Cancelled);
            }
        }
        if let Some(save) = save {
            world.answer(save);
        }
        assert!(world.core.is_idle(), "{step}: {:?}", world.core);
        assert_eq!(world.core.lengths(), queue::Lengths::default(), "{step}");
        // A name that is used again is another revision.
        let again = world.draft("a");
        assert_ne!(again, key);
        world.on(Event::Workers(1));
        world.render(&again);
        assert!(world.core.is_idle());
    }
}

#[test]
fn what_stops_waits_and_what_waits_is_not_lost() {
    let mut world = world(2);
    let keys: Vec<_> = ["a", "b", "c"].map(|name| world.draft(name)).into();
    let runs: Vec<_> = keys[..2].iter().map(|key| world.run_of(key).unwrap()).collect();
    world.give(runs[0]);
    world.on(Event::Stop);
    assert!(runs.iter().all(|run| world.runs[run].stopped));
    world.end(runs[0], Outcome::Cancelled);
    world.give(runs[1]);
    assert!(world.runs.is_empty());
    for key in &keys {
        assert_eq!(world.core.status(key), RenderExecutionStatus::Scheduled);
        assert_eq!(world.state(key), Some(RenderState::Scheduled));
    }
    world.on(Event::Workers(1));
    world.finish_everything();
    assert_eq!(world.saved.len(), 3);
}

#[test]
fn what_a_full_queue_leaves_in_the_store_is_taken_up_when_there_is_room() {
    let settings = Settings { queue: queue::Settings { keys: 4, ..queue::Settings::default() }, ..Settings::default() };
    let mut world = World::new(settings, 0);
    let keys: Vec<_> = (0..10).map(|n| world.draft(&n.to_string())).collect();
    assert_eq!(world.core.lengths().waiting(), 4);
    assert_eq!(world.core.counters().overflowed, 6);
    assert!(keys.iter().all(|key| world.state(key) == Some(RenderState::Scheduled)));
    world.on(Event::Workers(1));
    world.finish_everything();
    assert_eq!(world.saved.len(), 10);
}

#[test]
fn what_can_never_run_is_told_so_at_once() {
    let settings = Settings { cost: Cost { memory: 2 << 30, fuel: 0 }, ..Settings::default() };
    let mut world = World::new(settings, 0);
    let poor = Some(Quota { memory: 1 << 30, ..Quota::default() });
    assert!(world.core.set_quota(&"namespace".into(), poor, world.now).is_empty());
    let key = world.draft("a");
    world.answer_all();
    world.notify();
    let Some(RenderState::Ended(ending)) = world.state(&key) else { panic!() };
    assert!(ending.message.contains("can never be served"), "{}", ending.message);
    assert!(world.core.is_idle());
}

/// Scenario 61: a store that is slower than the workers.
#[test]
fn results_that_wait_for_the_store_are_bounded() {
    let mut world = World::new(Settings { unsaved: 2, ..Settings::default() }, 1);
    for n in 0..5 {
        world.draft(&n.to_string());
    }
    for _ in 0..2 {
        let run = *world.runs.keys().next().unwrap();
        world.give(run);
        world.end(run, good());
    }
    assert!(world.runs.is_empty());
    assert_eq!((world.core.unsaved(), world.core.lengths().ready), (2, 3));
    let save = *world.saves.keys().next().unwrap();
    world.answer(save);
    assert_eq!(world.runs.len(), 1);
}

#[test]
fn a_slot_is_free_while_the_result_is_being_saved() {
    let mut world = world(1);
    let first = world.draft("a");
    let second = world.draft("b");
    let run = world.run_of(&first).unwrap();
    world.give(run);
    world.end(run, good());
    assert!(world.run_of(&second).is_some());
    // Its own unfinished state, seen late, does not start it again.
    let revision = world.store[&first].clone();
    world.on(Event::Seen(Box::new(revision)));
    assert_eq!(world.core.lengths().waiting(), 0);
}

#[test]
fn a_revision_that_another_scheduler_finished_is_let_go() {
    let mut world = world(1);
    let running = world.draft("a");
    let waiting = world.draft("b");
    let run = world.run_of(&running).unwrap();
    world.give(run);
    for key in [&running, &waiting] {
        let mut revision = world.store[key].clone();
        let digest = revision.content_digest;
        RenderState::Ended(Ending::success()).write(&mut revision.conditions, digest, 0);
        revision.object_version.0 += 100;
        world.on(Event::Seen(Box::new(revision)));
    }
    assert!(world.runs[&run].stopped);
    world.end(run, Outcome::Cancelled);
    assert!(world.core.is_idle() && world.saves.is_empty());
}

/// What was stopped, or broke, said something until then: it can be read. Whoever says nothing costs no write.
#[test]
fn what_a_render_said_until_it_was_stopped_is_kept() {
    let mut world = world(1);
    let key = world.draft("a");
    let content = world.store[&key].content_version;
    let run = world.run_of(&key).unwrap();
    world.give(run);
    cancel(&mut world, &key);
    world.end(run, Outcome::Cancelled);
    assert_eq!(world.logs, [content], "cancelled");

    let broken_at = world.draft("b");
    let run = world.run_of(&broken_at).unwrap();
    world.give(run);
    world.end(run, broken(ErrorClass::Transient));
    assert_eq!(world.logs, [content, world.store[&broken_at].content_version], "broken, and tried again later");

    let silent = world.draft("c");
    let run = world.run_of(&silent).unwrap();
    world.give(run);
    world.edit_seen(&silent);
    let ended = Ended { outcome: Outcome::Cancelled, log: bytes::Bytes::new(), fuel: 0 };
    world.on(Event::Ended { run, ended, digest: None });
    assert_eq!(world.logs.len(), 2, "it said nothing");
}

/// What a render may use is the limits' word on this revision: a large one is given what it needs, in its turn, and none is
/// begun that can never have it.
#[test]
fn a_large_render_has_its_memory_reserved_and_one_that_is_too_large_is_refused() {
    let queue = queue::Settings { memory: 100, ..queue::Settings::default() };
    let settings = Settings { queue, cost: Cost { memory: 30, fuel: 0 }, ..Settings::default() };
    let mut world = World::new(settings, 0);
    let costs = |revision: &Revision| match &*revision.key.namespace {
        "large" => Some(Cost { memory: 80, fuel: 0 }),
        "huge" => Some(Cost { memory: 101, fuel: 0 }),
        _ => None,
    };
    world.core = std::mem::replace(&mut world.core, Core::new(Settings::default())).with_cost(costs);
    world.on(Event::Workers(9));
    let first = world.draft("first");
    world.give(world.run_of(&first).unwrap());
    let large = world.create("large", "large");
    let huge = world.create("huge", "huge");
    world.notify();
    let small: Vec<_> = (0..3).map(|n| world.draft(&format!("small{n}"))).collect();
    // 30 of 100 are used, 80 are kept for the large one: nothing of 30 fits beside it.
    assert_eq!(world.core.lengths().reserving, 2);
    assert!(world.run_of(&large).is_none() && small.iter().all(|key| world.run_of(key).is_none()));
    world.end(world.run_of(&first).unwrap(), good());
    assert!(world.run_of(&large).is_some(), "it has what became free");
    world.render(&large);
    assert!(small.iter().all(|key| world.run_of(key).is_some()));
    let Some(RenderState::Ended(ending)) = world.state(&huge) else { panic!("{:?}", world.state(&huge)) };
    assert_eq!(ending.reason, Reason::InvalidPackage);
    assert!(ending.message.contains("101 of memory"), "{}", ending.message);
}

/// What a revision asks for may grow while it waits, or while it is being read: no render has more than was set aside.
#[test]
fn what_turns_out_to_need_more_memory_waits_until_it_has_it() {
    let queue = queue::Settings { memory: 100, ..queue::Settings::default() };
    let mut world = World::new(Settings { queue, ..Settings::default() }, 0);
    let costs = |revision: &Revision| {
        let memory = revision.annotations.get("memory").and_then(|memory| memory.parse().ok());
        Some(Cost { memory: memory.unwrap_or(30), fuel: 0 })
    };
    world.core = std::mem::replace(&mut world.core, Core::new(Settings::default())).with_cost(costs);
    let asks = |world: &mut World, key: &RevisionKey, memory: &str| {
        let annotations = &mut world.store.get_mut(key).unwrap().annotations;
        annotations.insert("memory".to_owned(), memory.to_owned());
    };
    world.on(Event::Workers(2));
    let first = world.draft("first");
    world.give(world.run_of(&first).unwrap());
    let grows = world.draft("grows");
    let run = world.run_of(&grows).unwrap();
    // Nobody has told of it: it is seen when its content is.
    asks(&mut world, &grows, "80");
    world.give(run);
    assert!(world.run_of(&grows).is_none(), "30 of 100 are used, 80 are wanted");
    assert_eq!(world.core.lengths().reserving, 1);
    world.end(world.run_of(&first).unwrap(), good());
    world.render(&grows);
    assert_eq!(world.state(&grows), Some(RenderState::Ended(Ending::success())));

    let huge = world.draft("huge");
    let run = world.run_of(&huge).unwrap();
    asks(&mut world, &huge, "101");
    world.give(run);
    world.answer_all();
    let Some(RenderState::Ended(ending)) = world.state(&huge) else { panic!("{:?}", world.state(&huge)) };
    assert!(ending.message.contains("101 of memory"), "{}", ending.message);
}

//! Restarts, lost notifications, sweeps.

use super::world::World;
use crate::core::{Event, Settings};

fn world(workers: usize) -> World {
    World::new(Settings::default(), workers)
}

/// Scenario 53: the truth is in the store.
#[test]
fn a_new_core_takes_up_all_that_is_unfinished_and_nothing_else() {
    let mut world = world(1);
    let done = world.draft("done");
    world.render(&done);
    let running = world.draft("running");
    let run = world.run_of(&running).unwrap();
    world.give(run);
    world.draft("waiting");
    // Crash: everything but the store is gone.
    world.core = crate::core::Core::new(Settings::default());
    (world.runs, world.saves, world.unseen) = Default::default();
    world.on(Event::Workers(2));
    world.list(false);
    world.finish_everything();
    assert_eq!(world.saved.values().copied().collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(world.core.counters().started, 2);
}

#[test]
fn a_sweep_acts_only_on_what_two_passes_saw() {
    let mut world = world(1);
    let lost = world.create("namespace", "lost");
    world.unseen.clear();
    world.list(true);
    assert_eq!(world.run_of(&lost), None);
    // Changed since: its notification may still come.
    world.edit(&lost);
    world.unseen.clear();
    world.list(true);
    assert_eq!(world.run_of(&lost), None);
    world.list(true);
    assert!(world.run_of(&lost).is_some());
    assert_eq!(world.core.counters().swept, 1);
}

#[test]
fn a_sweep_whose_listing_failed_concludes_nothing() {
    let mut world = world(1);
    let key = world.draft("a");
    let lost = world.create("namespace", "lost");
    let state = world.store[&lost].clone();
    world.unseen.clear();
    world.on(Event::ListBegin { sweep: true });
    world.on(Event::Page(vec![state]));
    world.on(Event::ListFailed);
    world.on(Event::ListEnd);
    assert!(world.looks.is_empty());
    world.list(true);
    assert_eq!(world.run_of(&lost), None);
    assert!(world.run_of(&key).is_some());
}

/// Deletion, also one learned from a relist, stops the render.
#[test]
fn what_a_listing_does_not_show_is_looked_at() {
    let mut world = world(1);
    let key = world.draft("a");
    let waiting = world.draft("b");
    let run = world.run_of(&key).unwrap();
    world.give(run);
    world.store.remove(&key);
    world.store.remove(&waiting);
    world.unseen.clear();
    world.list(false);
    world.answer_all();
    assert!(world.runs[&run].stopped);
    world.end(run, crate::core::Outcome::Cancelled);
    assert!(world.core.is_idle() && world.saves.is_empty());
}

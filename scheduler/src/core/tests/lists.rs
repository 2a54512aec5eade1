//! Restarts, lost notifications, sweeps.

use std::time::Duration;

use super::world::World;
use crate::core::{Event, Peers, Settings};
use crate::store::{Instance, InstanceId, Registration, share};

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

/// Document 004: many workers tried the same items, to find them locked. Each scheduler leaves to the others what they come
/// first for, for a while; when they do not come to it, it helps.
#[test]
fn what_another_scheduler_comes_first_for_is_left_to_it_for_a_while() {
    let instance = |id: &str| Instance {
        registration: Registration { id: InstanceId(id.into()), version: "1".into(), catalog: "c".into(), memory: 1 },
        epoch: 1,
        until_ms: 1,
    };
    let all = vec![instance("me"), instance("other")];
    let me = all[0].registration.id.clone();
    let mut world = world(100);
    world.on(Event::Peers(Some(Peers { me: me.clone(), all: all.clone() })));
    let keys: Vec<_> = (0..20).map(|n| world.draft(&format!("p{n}"))).collect();
    let first = |key: &_| share(key, &me, &all) == 0;
    assert!(keys.iter().any(&first) && !keys.iter().all(&first));
    for key in &keys {
        assert_eq!(world.run_of(key).is_some(), first(key), "{key}");
    }
    let (head_start, moment) = (Settings::default().head_start, Duration::from_millis(1));
    world.now = world.now + head_start.saturating_sub(moment);
    world.on(Event::Tick);
    assert_eq!(world.runs.len(), keys.iter().filter(|key| first(key)).count());
    // Nine times the head start, and all are tried.
    world.now = world.now + (head_start * 8 + moment);
    world.on(Event::Tick);
    assert_eq!(world.runs.len(), keys.len());
}

//! Random schedules of everything that can happen, against what must always hold.

use std::time::Duration;

use proptest::prelude::*;

use super::world::{World, bad, broken, good};
use crate::core::{Acquired, Event, Outcome, Settings};
use crate::model::{ErrorClass, RevisionKey};
use crate::queue;

#[derive(Debug, Clone)]
enum Step {
    Edit(usize),
    Delete(usize),
    Cancel(usize),
    Create(usize),
    /// The core sees the next so many notifications.
    Notify(usize),
    /// Notifications are lost.
    Lose,
    /// Old states are seen again.
    Replay(usize),
    Give(usize),
    NotYet(usize),
    Held(usize),
    Refuse(usize),
    End(usize, u8),
    Answer(usize),
    Look,
    Wait(u64),
    List(bool),
    Workers(usize),
    Stop,
    Crash,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..5usize).prop_map(Step::Edit),
        1 => (0..5usize).prop_map(Step::Delete),
        2 => (0..5usize).prop_map(Step::Cancel),
        3 => (0..5usize).prop_map(Step::Create),
        8 => (1..4usize).prop_map(Step::Notify),
        1 => Just(Step::Lose),
        1 => (0..50usize).prop_map(Step::Replay),
        6 => (0..4usize).prop_map(Step::Give),
        1 => (0..4usize).prop_map(Step::NotYet),
        1 => (0..4usize).prop_map(Step::Held),
        1 => (0..4usize).prop_map(Step::Refuse),
        8 => (0..4usize, 0..8u8).prop_map(|(which, how)| Step::End(which, how)),
        6 => (0..4usize).prop_map(Step::Answer),
        2 => Just(Step::Look),
        4 => (0..2_000u64).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::List),
        1 => (0..4usize).prop_map(Step::Workers),
        1 => Just(Step::Stop),
        1 => Just(Step::Crash),
    ];
    prop::collection::vec(step, 1..200)
}

fn settings() -> Settings {
    Settings { queue: queue::Settings { keys: 4, ..queue::Settings::default() }, unsaved: 3, ..Settings::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// Whatever happens in whatever order: no revision is with two workers (the world sees to that), every run is released
    /// once, nothing stale is written (the store's rules refuse it, and the core never asks twice), cancelling twice is
    /// cancelling once, and in the end the newest content of every revision has ended in exactly one way.
    #[test]
    fn everything_ends_and_nothing_is_written_twice(steps in steps()) {
        let mut world = World::new(settings(), 2);
        let mut keys: [Option<RevisionKey>; 5] = Default::default();
        let mut made = 0;
        let mut seen = Vec::new();
        for step in steps {
            match step {
                Step::Create(n) => if keys[n].is_none() {
                    made += 1;
                    keys[n] = Some(world.create("namespace", &format!("{n}-{made}")));
                },
                Step::Edit(n) => if let Some(key) = &keys[n] { world.edit(key); },
                Step::Delete(n) => if let Some(key) = keys[n].take() { world.delete(&key); },
                Step::Cancel(n) => if let Some(key) = &keys[n] {
                    let cancel = Event::Cancel { key: key.clone(), why: "by hand".to_owned() };
                    world.on(cancel.clone());
                    let before = (world.saves.len(), world.told.len(), world.core.lengths());
                    world.on(cancel);
                    prop_assert_eq!(before, (world.saves.len(), world.told.len(), world.core.lengths()));
                },
                Step::Notify(count) => for _ in 0..count.min(world.unseen.len()) {
                    let revision = world.unseen.remove(0);
                    seen.push(revision.clone());
                    world.on(Event::Seen(Box::new(revision)));
                },
                Step::Lose => world.unseen.clear(),
                Step::Replay(n) => if let Some(revision) = seen.get(n) {
                    world.on(Event::Seen(Box::new(revision.clone())));
                },
                Step::Give(n) | Step::NotYet(n) | Step::Held(n) | Step::Refuse(n) => {
                    let waiting = world.runs.iter().filter(|(_, run)| run.content.is_none()).nth(n);
                    let Some(run) = waiting.map(|(run, _)| *run) else { continue };
                    match step {
                        Step::NotYet(_) => world.acquired(run, Acquired::NotYet("nothing".to_owned())),
                        Step::Held(_) => world.acquired(run, Acquired::Held(Duration::from_secs(3))),
                        Step::Refuse(_) => {
                            let failure = crate::core::Failure::new(ErrorClass::Transient, "no");
                            world.acquired(run, Acquired::Failed(failure));
                        }
                        _ => world.give(run),
                    }
                }
                Step::End(n, how) => {
                    let Some((run, stopped)) = world.runs.iter().filter(|(_, run)| run.rendering).nth(n)
                        .map(|(run, running)| (*run, running.stopped)) else { continue };
                    world.end(run, match how {
                        // Told to stop, most do; some had just ended.
                        0..6 if stopped => Outcome::Cancelled,
                        0 => bad(),
                        1 => broken(ErrorClass::Transient),
                        2 => broken(ErrorClass::Unclassified),
                        3 => broken(ErrorClass::Permanent),
                        _ => good(),
                    });
                }
                Step::Answer(n) => if let Some(save) = world.saves.keys().nth(n).copied() { world.answer(save); },
                Step::Look => for key in std::mem::take(&mut world.looks) {
                    let event = match world.store.get(&key) {
                        Some(revision) => Event::Seen(Box::new(revision.clone())),
                        None => Event::Gone(key),
                    };
                    world.on(event);
                },
                Step::Wait(time) => world.wait(Duration::from_millis(time)),
                Step::List(sweep) => world.list(sweep),
                Step::Workers(workers) => world.on(Event::Workers(workers)),
                Step::Stop => world.on(Event::Stop),
                Step::Crash => {
                    world.core = crate::core::Core::new(settings());
                    (world.runs, world.saves, world.looks) = Default::default();
                    world.on(Event::Workers(2));
                    world.list(false);
                }
            }
            prop_assert!(world.core.unsaved() <= 3 + 2 + 5, "bounded by the setting, the workers and the cancelled");
            prop_assert_eq!(world.core.lengths().running, world.runs.len());
        }
        world.on(Event::Workers(2));
        world.finish_everything();
        // Lost notifications are found by the sweep.
        for _ in 0..3 {
            world.list(true);
            world.finish_everything();
        }
        for key in keys.iter().flatten() {
            prop_assert!(!world.store[key].is_unfinished(), "{}: {:?}", key, world.store[key].conditions);
        }
        prop_assert!(world.saved.values().all(|times| *times == 1), "saved twice: {:?}", world.saved);
    }
}

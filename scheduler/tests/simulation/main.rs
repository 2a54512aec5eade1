//! A deterministic simulation: one to five schedulers, each the pure core and the pure dispatcher, share a store over a
//! network that is slow and loses messages; schedulers crash, are cut off and come back; clients write, cancel, propose
//! and delete all the while. One thread, one virtual clock, one seed: a run can be had again, to the last message.
//!
//! What must hold is checked at each write that the store accepts, now and then, and at the end, when all faults have
//! ceased. See [`oracle`].
//!
//! A run that fails prints its plan. `PORTICO_SIMULATION=THAT cargo test -p portico-scheduler --test simulation replay`
//! has it again; with `PORTICO_SIMULATION_TRACE=1` it prints each message.

mod clients;
mod faults;
mod network;
mod node;
mod oracle;
mod plan;
mod world;

use std::time::Duration;

use plan::Plan;
use world::World;

const HOUR: Duration = Duration::from_hours(1);

#[test]
fn a_day() {
    let summary = World::new(Plan { length: 24 * HOUR, ..Plan::new(1, 3) }).run();
    assert!(summary.changes > 5_000 && summary.crashes > 50 && summary.cuts > 50, "{summary:?}");
    assert!(summary.conflicts > 0 && summary.superseded > 100 && summary.proposed > 100, "{summary:?}");
    assert_eq!(summary.told.len(), 7, "each turning point was told: {summary:?}");
}

#[test]
fn an_hour_with_any_number_of_schedulers() {
    for nodes in 1..=5 {
        for seed in 0..3 {
            World::new(Plan { length: HOUR, ..Plan::new(100 + seed, nodes) }).run();
        }
    }
}

#[test]
fn an_hour_of_edits_faster_than_a_render() {
    for seed in 0..3 {
        let pause = Duration::from_millis(300);
        let summary = World::new(Plan { length: HOUR, pause, packages: 8, ..Plan::new(200 + seed, 2) }).run();
        assert!(summary.changes > 5_000, "{summary:?}");
    }
}

#[test]
fn without_faults_each_edit_is_one_render_and_nothing_conflicts() {
    for nodes in 1..=5 {
        let (pause, packages) = (Duration::from_secs(20), 400);
        let plan = Plan { length: 2 * HOUR, pause, packages, faults: false, calm: true, ..Plan::new(300, nodes) };
        let summary = World::new(plan).run();
        assert_eq!((summary.conflicts, summary.superseded), (0, 0), "{summary:?}");
        assert_eq!(summary.saved, summary.changes, "{summary:?}");
        if nodes == 1 {
            assert_eq!(summary.renders, summary.changes, "{summary:?}");
        }
    }
}

#[test]
fn the_same_seed_is_the_same_run() {
    let run = || World::new(Plan { length: HOUR, ..Plan::new(400, 3) }).run();
    let (first, second) = (run(), run());
    assert_eq!(first, second);
    assert_ne!(first.hash, World::new(Plan { length: HOUR, ..Plan::new(401, 3) }).run().hash);
}

/// `cargo xtask soak`: a month and a million accepted changes, from a seed that nobody has seen; and many short runs.
#[test]
fn a_month() {
    if std::env::var_os("PORTICO_SOAK").is_none() {
        return;
    }
    let seed = fastrand::u64(..);
    let (length, pause) = (30 * 24 * HOUR, Duration::from_secs(3));
    let summary = World::new(Plan { length, pause, packages: 60, ..Plan::new(seed, 3) }).run();
    assert!(summary.changes >= 1_000_000, "{summary:?}");
    for round in 0..200 {
        World::new(Plan { length: HOUR, ..Plan::new(seed.wrapping_add(round), 1 + (round as usize) % 5) }).run();
    }
}

/// The plan that a failed run has printed.
#[test]
fn replay() {
    let Ok(text) = std::env::var("PORTICO_SIMULATION") else { return };
    let plan = Plan::parse(&text).expect("`PORTICO_SIMULATION` is a plan as a failed run prints it");
    World::new(plan).run();
}

//! Idle means idle; deferred means asleep. (The share of a processor that it takes: `benches/scheduler.rs`.)

use std::time::Duration;

use portico_scheduler::core::Failure;
use portico_scheduler::driver::Settings;
use portico_scheduler::model::ErrorClass;
use portico_scheduler::queue::Quota;
use portico_scheduler::store::memory::FaultPlan;
use tokio::time::sleep;

use super::world::{Does, Timed, World, ms, until};

/// Events that the core hears in a minute of paused time.
async fn events_in_a_minute(world: &World) -> u64 {
    let before = world.scheduler.counters().events;
    sleep(Duration::from_mins(1)).await;
    world.scheduler.counters().events - before
}

#[tokio::test(start_paused = true)]
async fn five_hundred_that_wait_for_another_try_wake_nobody() {
    let away = Failure { retry_after: Some(Duration::from_hours(1)), ..Failure::new(ErrorClass::Transient, "away") };
    let workers = Timed::with(ms(1), move |_| Does::Breaks(away.clone()));
    let world = World::new(workers, Settings::default(), FaultPlan::default());
    world.scheduler.start_processing(8);
    for n in 0..500 {
        world.create("namespace", &format!("p{n}"), "1").await;
    }
    until(|| world.scheduler.lengths().delayed == 500).await;
    sleep(Duration::from_secs(10)).await;
    let events = events_in_a_minute(&world).await;
    assert!(events <= 30, "{events} wake-ups in a minute");
}

/// Founding document 004: a launcher at its quota took all of a processor.
#[tokio::test(start_paused = true)]
async fn a_tenant_at_its_quota_wakes_nobody() {
    let world = World::simple(Duration::from_hours(2), 8);
    world.scheduler.set_quota("namespace", Some(Quota { running: 1, ..Quota::default() }));
    for n in 0..500 {
        world.create("namespace", &format!("p{n}"), "1").await;
    }
    until(|| world.workers.running() == 1).await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(world.scheduler.lengths().waiting(), 499);
    let events = events_in_a_minute(&world).await;
    assert!(events <= 30, "{events} wake-ups in a minute");
}

#[tokio::test(start_paused = true)]
async fn with_no_slot_free_nobody_wakes() {
    let world = World::simple(Duration::from_hours(2), 2);
    for n in 0..500 {
        world.create(&format!("namespace{}", n % 7), &format!("p{n}"), "1").await;
    }
    until(|| world.workers.running() == 2).await;
    sleep(Duration::from_secs(10)).await;
    let events = events_in_a_minute(&world).await;
    assert!(events <= 30, "{events} wake-ups in a minute");
}

//! One namespace with 10,000 packages does not starve another.

use std::time::Duration;

use portico_scheduler::driver::Settings;
use portico_scheduler::model::Priority;
use portico_scheduler::store::memory::FaultPlan;
use tokio::time::{Instant, sleep};

use super::world::{Timed, World, ms, store, until};

#[tokio::test(start_paused = true)]
async fn a_newcomer_starts_within_workers_and_one_render_times() {
    let world = World::simple(ms(50), 4);
    for n in 0..10_000 {
        world.create("a", &format!("p{n}"), "1").await;
    }
    until(|| world.workers.running() == 4).await;
    sleep(ms(20)).await;
    let asked = Instant::now();
    let key = world.create("b", "one", "1").await;
    until(|| !world.workers.runs_of(&key).is_empty()).await;
    let waited = world.workers.runs_of(&key)[0].began.duration_since(asked);
    assert!(waited <= ms(100), "{waited:?}");
    assert!(world.scheduler.lengths().waiting() > 9_900, "not after all of A's");
}

#[tokio::test(start_paused = true)]
async fn low_priorities_have_their_share_of_a_constant_high_load() {
    let world = World::simple(ms(50), 4);
    let mut low = Vec::new();
    for n in 0..20 {
        low.push(world.create_as("a", &format!("low{n}"), "1", Priority::Low).await);
    }
    // Twice as much as four workers can do.
    for n in 0..1_600 {
        world.create_as("a", &format!("high{n}"), "1", Priority::High).await;
        sleep(ms(6)).await;
    }
    let done = low.iter().filter(|key| !world.workers.runs_of(key).is_empty()).count();
    assert_eq!(done, 20, "in ten seconds");
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_old_and_new_have_equal_rights() {
    let (client, clock) = store();
    for n in 0..10_000 {
        let files = super::world::package("1");
        let new = portico_scheduler::store::NewRevision::new("a", &format!("p{n}"), "repository", files);
        portico_scheduler::store::PackageStore::create(&client, new).await.unwrap();
    }
    let world = World::on(client, clock, Timed::new(ms(50)), Settings::default(), FaultPlan::default());
    world.scheduler.start_processing(4);
    until(|| world.workers.running() == 4).await;
    let key = world.create("b", "new", "1").await;
    let asked = Instant::now();
    // New work of A itself comes behind A's old work, which goes on.
    world.create("a", "new", "1").await;
    until(|| !world.workers.runs_of(&key).is_empty()).await;
    assert!(asked.elapsed() <= ms(150), "{:?}", asked.elapsed());
    sleep(Duration::from_secs(2)).await;
    let edits = world.workers.log();
    assert!(edits.iter().filter(|run| &*run.key.namespace == "a").count() >= 150);
}

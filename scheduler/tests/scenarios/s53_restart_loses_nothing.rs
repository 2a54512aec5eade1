//! All accepted work is finished after a crash at any moment, once. (`kill -9` of a real process: `tests/kill.rs`.)

use std::collections::BTreeMap;

use portico_scheduler::driver::Settings;
use portico_scheduler::model::RenderState;
use portico_scheduler::store::memory::FaultPlan;
use portico_scheduler::store::{MemoryStore, PackageStore as _};
use tokio::time::sleep;

use super::world::{Timed, World, ms, package, rendered, store};

#[tokio::test(start_paused = true)]
async fn fifty_packages_and_twenty_crashes() {
    let (client, clock) = store();
    let mut keys = Vec::new();
    for n in 0..50 {
        let new =
            portico_scheduler::store::NewRevision::new("namespace", &format!("p{n}"), "r", package(&n.to_string()));
        keys.push(client.create(new).await.unwrap().key);
    }
    let mut random = fastrand::Rng::with_seed(53);
    let mut finished: BTreeMap<usize, usize> = BTreeMap::new();
    for _ in 0..20 {
        let before = finished_of(&client, &keys).await;
        let workers = Timed::new(ms(40));
        let world =
            World::on(client.clone(), clock.clone(), workers.clone(), Settings::default(), FaultPlan::default());
        world.scheduler.start_processing(3);
        sleep(ms(random.u64(1..150))).await;
        // The process dies: its session with the store is cut, and nothing that it still does matters.
        let session = world.scheduler.store().clone();
        session.partition(true);
        drop(world);
        for run in workers.log() {
            let n: usize = run.edit.parse().unwrap();
            assert!(!before.contains(&n), "{n} had been finished before the crash and was rendered again");
            *finished.entry(n).or_default() += 1;
        }
    }
    let world = World::on(client.clone(), clock, Timed::new(ms(40)), Settings::default(), FaultPlan::default());
    world.scheduler.start_processing(3);
    world.all_rendered(&keys).await;
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(world.files(key).await, rendered(&n.to_string()));
        let writes = client.history(key).await.unwrap();
        assert_eq!(writes.len(), 2, "the client's, and one result");
    }
}

async fn finished_of(store: &MemoryStore, keys: &[portico_scheduler::model::RevisionKey]) -> Vec<usize> {
    let mut finished = Vec::new();
    for (n, key) in keys.iter().enumerate() {
        if matches!(store.revision(key).await.unwrap().render_state(), Some(RenderState::Ended(_))) {
            finished.push(n);
        }
    }
    finished
}

#[tokio::test(start_paused = true)]
async fn a_stop_loses_nothing_and_a_start_goes_on() {
    let world = World::simple(ms(100), 2);
    let mut keys = Vec::new();
    for n in 0..10 {
        keys.push(world.create("namespace", &format!("p{n}"), &n.to_string()).await);
    }
    sleep(ms(150)).await;
    world.scheduler.stop_processing().await;
    assert_eq!(world.workers.running(), 0);
    let lengths = world.scheduler.lengths();
    assert_eq!((lengths.running, lengths.waiting()), (0, 8));
    sleep(ms(60_000)).await;
    assert_eq!(world.scheduler.lengths().waiting(), 8);
    world.scheduler.start_processing(2);
    world.all_rendered(&keys).await;
}

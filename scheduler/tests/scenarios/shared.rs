//! Several schedulers on one store.

use std::sync::Arc;
use std::time::Duration;

use portico_scheduler::driver::{RenderScheduler, Settings, Shared};
use portico_scheduler::events::Ring;
use portico_scheduler::store::memory::{Fault, FaultPlan, Operation, Point};
use portico_scheduler::store::{InstanceId, MemoryStore, NewRevision, PackageStore as _, Registration, VirtualClock};
use tokio::time::{Instant, sleep};

use super::world::{Timed, ms, package, rendered, store, until};

fn join(
    client: &MemoryStore,
    clock: &Arc<VirtualClock>,
    name: &str,
    workers: &Arc<Timed>,
) -> RenderScheduler<MemoryStore> {
    join_with(client, clock, name, workers, FaultPlan::default())
}

fn join_with(
    client: &MemoryStore,
    clock: &Arc<VirtualClock>,
    name: &str,
    workers: &Arc<Timed>,
    faults: FaultPlan,
) -> RenderScheduler<MemoryStore> {
    let registration = Registration {
        id: InstanceId(name.into()),
        version: "1".to_owned(),
        catalog: "same".to_owned(),
        memory: 1 << 30,
    };
    let shared = Shared { registration, lease: Duration::from_secs(15) };
    let scheduler = RenderScheduler::with(
        client.session(faults),
        workers.clone(),
        Arc::new(Ring::new(100)),
        Settings::default(),
        Some(shared),
        clock.clone(),
    );
    scheduler.start_processing(2);
    scheduler
}

#[tokio::test(start_paused = true)]
async fn three_share_the_work_and_two_take_over_from_one_that_dies() {
    let (client, clock) = store();
    let workers: Vec<_> = (0..3).map(|_| Timed::new(ms(50))).collect();
    let mut all: Vec<_> =
        workers.iter().enumerate().map(|(n, workers)| join(&client, &clock, &format!("s{n}"), workers)).collect();
    let mut keys = Vec::new();
    for n in 0..90 {
        let new = NewRevision::new("namespace", &format!("p{n}"), "repository", package(&n.to_string()));
        keys.push(client.create(new).await.unwrap().key);
    }
    until(|| workers.iter().map(|workers| workers.log().len()).sum::<usize>() >= 30).await;
    assert!(workers.iter().all(|workers| !workers.log().is_empty()), "all of them work");
    // The first is cut off from the store with two renders running, and never comes back.
    all[0].store().partition(true);
    let dead = all.remove(0);
    let died = Instant::now();
    for key in &keys {
        all[0].rendered(key).await.unwrap();
    }
    assert!(died.elapsed() <= Duration::from_secs(17), "{:?}", died.elapsed());
    drop(dead);
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(client.get(key).await.unwrap().files, rendered(&n.to_string()));
        assert_eq!(client.history(key).await.unwrap().len(), 2, "saved once");
        let living = workers[1..].iter().map(|workers| workers.runs_of(key).len()).sum::<usize>();
        assert!(living <= 1, "claimed by both");
    }
}

/// Founding document 004: after a reconnect work began before the own registration was back.
#[tokio::test(start_paused = true)]
async fn nothing_is_rendered_without_a_registration() {
    let (client, clock) = store();
    let workers = Timed::new(ms(50));
    let scheduler = join(&client, &clock, "one", &workers);
    let new = |name: &str| NewRevision::new("namespace", name, "repository", package("1"));
    let first = client.create(new("first")).await.unwrap().key;
    scheduler.rendered(&first).await.unwrap();
    // The store forgets everybody. Until the next heartbeat has brought the registration back, no claim is given.
    client.forget_registrations();
    let second = client.create(new("second")).await.unwrap().key;
    let asked = Instant::now();
    sleep(ms(1)).await;
    assert!(workers.runs_of(&second).is_empty());
    scheduler.rendered(&second).await.unwrap();
    assert!(asked.elapsed() <= Duration::from_secs(11), "{:?}", asked.elapsed());
    scheduler.close().await;
    assert_eq!(client.claims_held(), 0);
}

/// A read that takes longer than the lease: the claim has ended meanwhile, and another scheduler may have its own.
#[tokio::test(start_paused = true)]
async fn what_was_claimed_before_the_registration_ended_is_not_begun() {
    let (client, clock) = store();
    let workers = Timed::new(ms(50));
    let mut faults = FaultPlan::default().on(Point::After(Operation::Get), 1, Fault::Delay(Duration::from_secs(20)));
    for nth in 2..=6 {
        faults = faults.on(Point::Before(Operation::Heartbeat), nth, Fault::Unavailable { retry_after: None });
    }
    let scheduler = join_with(&client, &clock, "one", &workers, faults);
    let asked = Instant::now();
    let key = client.create(NewRevision::new("namespace", "slow", "repository", package("1"))).await.unwrap().key;
    scheduler.rendered(&key).await.unwrap();
    let runs = workers.runs_of(&key);
    assert_eq!(runs.len(), 1);
    let began = runs[0].began - asked;
    assert!(began >= Duration::from_secs(25), "begun after {began:?}, without a registration");
    scheduler.close().await;
    assert_eq!(client.claims_held(), 0);
}

//! Many edits to one package cost at most two renders.

use portico_scheduler::core::RenderExecutionStatus;
use tokio::time::{Instant, sleep};

use super::world::{World, edit_of, ms, rendered, until};

async fn burst(workers: usize) {
    let world = World::simple(ms(500), workers);
    let key = world.create("namespace", "package", "0").await;
    until(|| world.workers.running() == 1).await;
    let mut entries = 0;
    for edit in 1..=100 {
        sleep(ms(2)).await;
        let before = Instant::now();
        let revision = world.edit(&key, &edit.to_string()).await;
        world.scheduler.changed(revision);
        let status = world.scheduler.schedule_render(&key).await.unwrap();
        assert_ne!(status, RenderExecutionStatus::None);
        assert!(before.elapsed() <= ms(50), "no caller waits");
        let lengths = world.scheduler.lengths();
        entries = entries.max(lengths.waiting() + lengths.again);
    }
    assert_eq!(entries, 1);
    let waiters = (0..100).map(|_| {
        let (scheduler, key) = (world.scheduler.clone(), key.clone());
        tokio::spawn(async move { scheduler.rendered(&key).await.unwrap() })
    });
    let mut results = Vec::new();
    for waiter in waiters.collect::<Vec<_>>() {
        results.push(waiter.await.unwrap());
    }
    assert!(results.iter().all(|result| *result == results[0]));
    let runs = world.workers.runs_of(&key);
    let cancelled = runs.iter().filter(|run| run.cancelled).count();
    assert_eq!((cancelled, runs.len() - cancelled), (1, 1), "{runs:?}");
    assert_eq!(world.files(&key).await, rendered("100"));
    assert_eq!(edit_of(&world.files(&key).await), "100");
    assert_eq!(world.scheduler.counters().conflicts, 0);
}

#[tokio::test(start_paused = true)]
async fn with_one_worker() {
    burst(1).await;
}

#[tokio::test(start_paused = true)]
async fn with_four_workers() {
    burst(4).await;
}

#[tokio::test(start_paused = true)]
async fn edits_that_never_end_are_rendered_all_the_same() {
    let world = World::simple(ms(50), 1);
    let key = world.create("namespace", "package", "0").await;
    for edit in 1..=6_000 {
        sleep(ms(10)).await;
        world.edit(&key, &edit.to_string()).await;
    }
    let ended = world.workers.runs_of(&key).iter().filter(|run| !run.cancelled && run.ended.is_some()).count();
    assert!(ended >= 8, "{ended} in a minute");
    // What the last of them said can be read, although its files are gone.
    let log = world.scheduler.last_log(&key).await.unwrap().unwrap();
    assert!(!log.kept && !log.text.is_empty());
    world.scheduler.rendered(&key).await.unwrap();
    assert_eq!(world.files(&key).await, rendered("6000"));
}

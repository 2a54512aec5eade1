//! The result of an older content never overwrites newer content.

use portico_scheduler::driver::Settings;
use portico_scheduler::store::memory::{Fault, FaultPlan, Operation, Point};
use tokio::time::sleep;

use super::world::{Timed, World, ms, rendered, until};

async fn raced(faults: FaultPlan) {
    let slow = Fault::Delay(ms(1_000));
    let faults = faults.on(Point::Before(Operation::SaveResult), 1, slow);
    let world = World::new(Timed::new(ms(10)), Settings::default(), faults);
    world.scheduler.start_processing(1);
    let key = world.create("namespace", "package", "1").await;
    // The render of version 1 has ended and is on its way into the store.
    until(|| world.workers.log().first().is_some_and(|run| run.ended.is_some())).await;
    sleep(ms(100)).await;
    world.edit(&key, "2").await;
    world.scheduler.rendered(&key).await.unwrap();
    assert_eq!(world.files(&key).await, rendered("2"));
    sleep(ms(10_000)).await;
    let edits: Vec<_> = world.workers.runs_of(&key).into_iter().map(|run| run.edit).collect();
    assert_eq!(edits, ["1", "2"], "queued once, and the old one not again");
    let history: Vec<_> = world.client.history_of(&key).await;
    assert!(!history.contains(&rendered("1")), "the old result was never stored");
}

trait HistoryOf {
    async fn history_of(&self, key: &portico_scheduler::model::RevisionKey) -> Vec<portico_scheduler::model::Files>;
}

impl HistoryOf for portico_scheduler::store::MemoryStore {
    async fn history_of(&self, key: &portico_scheduler::model::RevisionKey) -> Vec<portico_scheduler::model::Files> {
        use portico_scheduler::store::PackageStore as _;
        let mut all = Vec::new();
        for entry in self.history(key).await.unwrap() {
            all.push(self.content(key, entry.version).await.unwrap());
        }
        all
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_overtaken_is_refused_by_the_store() {
    raced(FaultPlan::default()).await;
}

#[tokio::test(start_paused = true)]
async fn with_reads_that_lag() {
    let plan = FaultPlan::seeded(7).by_chance(Point::Before(Operation::Get), 0.3, Fault::StaleRead(1)).by_chance(
        Point::Before(Operation::Revision),
        0.3,
        Fault::StaleRead(1),
    );
    raced(plan).await;
}

/// Eight writers, random pauses.
#[tokio::test(start_paused = true)]
async fn the_end_is_the_render_of_the_last_accepted_write() {
    let faults = FaultPlan::seeded(51)
        .by_chance(Point::Before(Operation::SaveResult), 0.3, Fault::Delay(ms(20)))
        .by_chance(Point::After(Operation::SaveResult), 0.1, Fault::Unavailable { retry_after: None })
        .by_chance(Point::Before(Operation::Get), 0.1, Fault::StaleRead(2));
    let world = std::sync::Arc::new(World::new(Timed::new(ms(15)), Settings::default(), faults));
    world.scheduler.start_processing(2);
    let mut random = fastrand::Rng::with_seed(51);
    for round in 0..50 {
        let key = world.create("namespace", &format!("package{round}"), "0").await;
        let last = std::sync::Arc::new(std::sync::Mutex::new((0, String::new())));
        let writers = (0..8).map(|writer| {
            let (world, key, last) = (world.clone(), key.clone(), last.clone());
            let pauses: Vec<_> = (0..25).map(|_| random.u64(0..60)).collect();
            tokio::spawn(async move {
                for (n, pause) in pauses.into_iter().enumerate() {
                    sleep(ms(pause)).await;
                    let edit = format!("{writer}-{n}");
                    let version = world.edit(&key, &edit).await.content_version.0;
                    let mut last = last.lock().unwrap();
                    if version > last.0 {
                        *last = (version, edit);
                    }
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
        world.scheduler.rendered(&key).await.unwrap();
        let (_, edit) = last.lock().unwrap().clone();
        assert_eq!(world.files(&key).await, rendered(&edit), "round {round}");
    }
}

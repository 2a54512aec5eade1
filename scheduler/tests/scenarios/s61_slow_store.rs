//! Dispatch does not wait for status writes or the network.

use std::time::Duration;

use portico_scheduler::driver::Settings;
use portico_scheduler::store::memory::{Fault, FaultPlan, Operation, Point};
use tokio::time::Instant;

use super::world::{Timed, World, ms, rendered, until};

#[tokio::test(start_paused = true)]
async fn renders_do_not_wait_for_a_store_that_takes_two_seconds_a_write() {
    let slow = Fault::Delay(Duration::from_secs(2));
    let away = Fault::Unavailable { retry_after: None };
    let mut faults = FaultPlan::seeded(61);
    for operation in [Operation::SaveResult, Operation::SetState] {
        faults = faults.by_chance(Point::Before(operation), 1.0, slow).by_chance(Point::Before(operation), 0.1, away);
    }
    let world = World::new(Timed::new(ms(10)), Settings::default(), faults);
    world.scheduler.start_processing(4);
    let mut keys = Vec::new();
    for n in 0..200 {
        keys.push(world.create("namespace", &format!("p{n}"), &n.to_string()).await);
    }
    let began = Instant::now();
    until(|| world.workers.log().iter().filter(|run| run.ended.is_some()).count() == 200).await;
    let took = began.elapsed();
    assert!(took <= ms(200 * 10 / 4) + Duration::from_secs(2), "{took:?}");
    world.all_rendered(&keys).await;
    assert_eq!(world.workers.log().len(), 200, "none was rendered again because its write was still under way");
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(world.files(key).await, rendered(&n.to_string()));
    }
    let written = world.scheduler.write_counters();
    // Two a revision at most, and most of what would only have said that a render runs was never sent.
    assert!(written.executed <= 400, "{written:?}");
    assert!(written.overwritten + written.skipped > 0, "{written:?}");
}

//! "Not there yet" is retried with backoff; a permanent error is not.

use std::sync::atomic::Ordering;
use std::time::Duration;

use portico_scheduler::driver::Settings;
use portico_scheduler::model::{Reason, RenderState};
use portico_scheduler::store::PackageStore as _;
use portico_scheduler::store::memory::{Fault, FaultPlan, Operation, Point};
use tokio::time::{Instant, sleep};

use super::world::{Does, Timed, World, ms, rendered, until};

#[tokio::test(start_paused = true)]
async fn a_module_that_comes_later_is_found_without_a_new_submit() {
    let there = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = there.clone();
    let does = move |_: &str| if seen.load(Ordering::SeqCst) { Does::Well } else { Does::Invalid };
    let workers = Timed::with(ms(5), does);
    workers.configuration.store(1, Ordering::SeqCst);
    let world = World::new(workers, Settings::default(), FaultPlan::default());
    world.scheduler.start_processing(1);
    let key = world.create("namespace", "package", "1").await;
    let waits = world.scheduler.rendered(&key).await.unwrap();
    let Some(RenderState::Ended(ending)) = waits.render_state() else { panic!() };
    assert_eq!((ending.reason, ending.rendered), (Reason::InvalidPackage, false));
    assert!(ending.message.contains("`late`"), "the status says what it waits for");
    sleep(Duration::from_secs(3)).await;
    assert_eq!(world.workers.log().len(), 1);
    there.store(true, Ordering::SeqCst);
    world.workers.configuration.store(2, Ordering::SeqCst);
    sleep(Duration::from_secs(6)).await;
    assert_eq!(world.files(&key).await, rendered("1"));
    assert_eq!(world.workers.log().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_content_that_comes_later_is_rendered_whole() {
    let mut faults = FaultPlan::default();
    for nth in 1..=5 {
        faults = faults.on(Point::Before(Operation::Get), nth, Fault::PartialRead);
    }
    let away = Fault::Unavailable { retry_after: Some(Duration::from_secs(20)) };
    let faults = faults.on(Point::Before(Operation::Get), 6, away);
    let world = World::new(Timed::new(ms(5)), Settings::default(), faults);
    world.scheduler.start_processing(1);
    let began = Instant::now();
    let key = world.create("namespace", "package", "1").await;
    sleep(Duration::from_secs(5)).await;
    let state = world.client.revision(&key).await.unwrap().render_state();
    let Some(RenderState::Waiting(why)) = state else { panic!("{state:?}") };
    assert!(why.contains("not available"), "{why}");
    world.scheduler.rendered(&key).await.unwrap();
    assert_eq!(world.files(&key).await, rendered("1"));
    assert_eq!(world.workers.log().len(), 1, "a part was never rendered");
    assert!(began.elapsed() >= Duration::from_secs(20), "the store's word is obeyed");
}

#[tokio::test(start_paused = true)]
async fn what_is_invalid_fails_once() {
    let workers = Timed::with(ms(5), |edit| if edit == "2" { Does::Well } else { Does::Invalid });
    workers.configuration.store(1, Ordering::SeqCst);
    let world = World::new(workers, Settings::default(), FaultPlan::default());
    world.scheduler.start_processing(1);
    let key = world.create("namespace", "package", "1").await;
    sleep(Duration::from_hours(24)).await;
    assert_eq!(world.workers.log().len(), 1);
    world.edit(&key, "2").await;
    world.scheduler.rendered(&key).await.unwrap();
    assert_eq!(world.files(&key).await, rendered("2"));
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_is_dropped_at_once() {
    let world = World::simple(Duration::from_hours(1), 1);
    let running = world.create("namespace", "running", "1").await;
    let waiting = world.create("namespace", "waiting", "1").await;
    until(|| world.workers.running() == 1).await;
    world.client.delete(&running, None).await.unwrap();
    world.client.delete(&waiting, None).await.unwrap();
    let told = Instant::now();
    until(|| world.workers.running() == 0).await;
    assert!(told.elapsed() <= ms(10));
    let lengths = world.scheduler.lengths();
    assert_eq!((lengths.running, lengths.waiting()), (0, 0));
    assert!(world.events.of(&running).is_empty() && world.events.of(&waiting).is_empty());
}

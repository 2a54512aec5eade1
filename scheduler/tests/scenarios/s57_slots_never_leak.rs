//! The concurrency limit is exact for ever.

use portico_scheduler::core::Failure;
use portico_scheduler::driver::Settings;
use portico_scheduler::model::ErrorClass;
use portico_scheduler::store::PackageStore as _;
use portico_scheduler::store::memory::{Fault, FaultPlan, Operation, Point};
use tokio::time::sleep;

use super::world::{Does, Timed, World, ms, until};

#[tokio::test(start_paused = true)]
async fn a_thousand_renders_that_end_in_every_way() {
    let does = |edit: &str| match edit.parse::<u32>().unwrap_or(0) % 8 {
        0 => Does::Fails,
        1 => Does::Panics,
        2 => Does::Breaks(Failure::new(ErrorClass::Transient, "away")),
        3 => Does::Breaks(Failure::new(ErrorClass::Permanent, "never")),
        4 => Does::IgnoresCancel,
        _ => Does::Well,
    };
    let faults = FaultPlan::seeded(57)
        .by_chance(Point::Before(Operation::SaveResult), 0.05, Fault::Conflict)
        .by_chance(Point::Before(Operation::SaveResult), 0.05, Fault::Unavailable { retry_after: None })
        .by_chance(Point::Before(Operation::Get), 0.05, Fault::Unavailable { retry_after: None });
    let world = World::new(Timed::with(ms(10), does), Settings::default(), faults);
    world.scheduler.start_processing(3);
    let mut random = fastrand::Rng::with_seed(57);
    let mut keys = Vec::new();
    for n in 0..1_000 {
        let key = world.create("namespace", &format!("p{n}"), &n.to_string()).await;
        if random.u8(..) < 60 {
            sleep(ms(random.u64(0..30))).await;
        }
        match random.u8(0..8) {
            0 => world.scheduler.cancel(&key, "by hand").await.unwrap(),
            1 => {
                let _ = world.client.delete(&key, None).await;
                continue;
            }
            2 => drop(world.edit(&key, &random.u32(..).to_string()).await),
            // A client that waits for the result and goes away.
            3 => drop(tokio::time::timeout(ms(3), world.scheduler.rendered(&key)).await),
            _ => {}
        }
        keys.push(key);
    }
    // What panics or is away for ever ends after eight more attempts; the rest at once.
    sleep(std::time::Duration::from_hours(3)).await;
    assert!(world.workers.peak() <= 3);
    let lengths = world.scheduler.lengths();
    assert_eq!((lengths.running, world.workers.running()), (0, 0), "{lengths:?}");
    // Exactly three are free.
    for n in 0..6 {
        world.create("other", &format!("last{n}"), "7").await;
    }
    until(|| world.workers.running() == 3).await;
    assert_eq!(world.scheduler.lengths().running, 3);
    assert_eq!(world.workers.peak(), 3);
}

/// Founding document 003: a worker's crash harms no neighbour.
#[tokio::test(start_paused = true)]
async fn a_panic_harms_no_neighbour() {
    let does = |edit: &str| if edit == "bad" { Does::Panics } else { Does::Well };
    let world = World::new(Timed::with(ms(50), does), Settings::default(), FaultPlan::default());
    world.scheduler.start_processing(4);
    let bad = world.create("namespace", "bad", "bad").await;
    let mut good = Vec::new();
    for n in 0..20 {
        good.push(world.create("namespace", &format!("p{n}"), "1").await);
    }
    world.all_rendered(&good).await;
    assert!(good.iter().all(|key| world.workers.runs_of(key).len() == 1));
    let ended = world.scheduler.rendered(&bad).await.unwrap();
    let Some(portico_scheduler::model::RenderState::Ended(ending)) = ended.render_state() else { panic!() };
    assert!(ending.message.contains("the renderer has a fault"), "{}", ending.message);
    assert_eq!(world.workers.runs_of(&bad).len(), 9);
}

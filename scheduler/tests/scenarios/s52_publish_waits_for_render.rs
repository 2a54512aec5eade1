//! Nothing is proposed or published unless the render of exactly this content succeeded.

use portico_scheduler::driver::Settings;
use portico_scheduler::model::{Lifecycle, RevisionKey};
use portico_scheduler::store::memory::FaultPlan;
use portico_scheduler::store::{ClientUpdate, Expected, MemoryStore, PackageStore as _, StoreError};
use tokio::time::sleep;

use super::world::{Does, Timed, World, ms, rendered};

async fn ask(store: &MemoryStore, key: &RevisionKey, to: Lifecycle) -> Result<(), StoreError> {
    let seen = store.revision(key).await?;
    store.update(key, Expected::Object(seen.object_version), ClientUpdate::lifecycle(to)).await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn two_hundred_times() {
    let world = World::simple(ms(20), 2);
    let second = world.client.session(FaultPlan::default());
    let mut refused = 0;
    for round in 0..200_u64 {
        let key = world.create("namespace", &format!("package{round}"), "1").await;
        // At once, and at every moment of the render.
        loop {
            match ask(&second, &key, Lifecycle::Proposed).await {
                Err(StoreError::RenderPending { .. }) => refused += 1,
                Ok(()) => break,
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            sleep(ms(1 + round % 7)).await;
        }
        assert_eq!(world.files(&key).await, rendered("1"), "proposed what was not rendered");
        ask(&second, &key, Lifecycle::Published).await.unwrap();
    }
    assert!(refused >= 200);
}

#[tokio::test(start_paused = true)]
async fn a_failed_render_is_not_proposed() {
    let world = World::new(Timed::with(ms(5), |_| Does::Fails), Settings::default(), FaultPlan::default());
    world.scheduler.start_processing(1);
    let key = world.create("namespace", "package", "bad").await;
    world.scheduler.rendered(&key).await.unwrap();
    let refused = ask(&world.client, &key, Lifecycle::Proposed).await;
    assert!(matches!(refused, Err(StoreError::RenderFailed { .. })), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn an_edit_between_the_check_and_the_change_makes_the_change_fail() {
    let world = World::simple(ms(5), 1);
    let key = world.create("namespace", "package", "1").await;
    let seen = world.scheduler.rendered(&key).await.unwrap();
    world.edit(&key, "2").await;
    let expected = Expected::Object(seen.object_version);
    let refused = world.client.update(&key, expected, ClientUpdate::lifecycle(Lifecycle::Proposed)).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    let pending = ask(&world.client, &key, Lifecycle::Proposed).await;
    assert!(matches!(pending, Err(StoreError::RenderPending { .. })), "{pending:?}");
}

//! What is there after the process ended.

use portico_scheduler::model::RenderState;
use portico_scheduler::store::{ClaimOutcome, ClientUpdate, Expected, PackageStore as _};

use super::claims::registration;
use super::*;

pub(crate) async fn all_that_was_answered_is_there<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let done = rendered(&store, "done").await;
    let waits = store.create(new("waits", package("one"))).await.unwrap();
    let seen = Expected::Content(waits.content_version);
    let waits = store.update(&waits.key, seen, ClientUpdate::files(package("two"))).await.unwrap();
    let runs = store.create(new("runs", package("x"))).await.unwrap();
    let runs = store.set_state(&runs.key, runs.content_version, RenderState::Rendering).await.unwrap();
    let gone = rendered(&store, "gone").await;
    store.delete(&gone.key, None).await.unwrap();
    let version = store.page(Select::All, None, 1).await.unwrap().version;
    drop(store);

    let fixture = fixture.restart().await;
    let store = fixture.store();
    assert_eq!(store.page(Select::All, None, 1).await.unwrap().version, version);
    assert_eq!(all(&store, Select::All, 2).await, [done.clone(), waits.clone(), runs.clone()]);
    assert_eq!(all(&store, Select::Unfinished, 2).await, [waits.clone(), runs.clone()]);
    let read = store.get(&waits.key).await.unwrap().checked().unwrap();
    assert_eq!((read.revision, read.files), (waits.clone(), package("two")));
    assert_eq!(store.history(&waits.key).await.unwrap().len(), 2);
    assert_eq!(&store.log(&done.key).await.unwrap().unwrap().text[..], b"said\n");
    // What ran before is still of the newest content: its result may be saved by whoever renders it anew.
    store.save_result(&runs.key, runs.content_version, success(None)).await.unwrap();
    let next = store.create(new("gone", package("x"))).await.unwrap();
    assert!(next.object_version > version && next.key != gone.key);
}

pub(crate) async fn pages_go_on_after_a_restart<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    for i in 0..5 {
        store.create(new(&format!("p{i}"), package("x"))).await.unwrap();
    }
    let first = store.page(Select::Unfinished, None, 2).await.unwrap();
    drop(store);
    let fixture = fixture.restart().await;
    let rest = fixture.store().page(Select::Unfinished, first.next, 100).await.unwrap();
    let names: Vec<_> = rest.revisions.iter().map(|revision| revision.key.name.to_string()).collect();
    assert_eq!(names, ["p2", "p3", "p4"]);
}

pub(crate) async fn claims_end_with_their_process<F: Fixture>() {
    let (fixture, clock) = timed::<F>();
    let store = fixture.store();
    let old = store.register(registration("a")).await.unwrap();
    let made = store.create(new("p", package("x"))).await.unwrap();
    assert!(matches!(store.claim(&old, &made.key).await.unwrap(), ClaimOutcome::Claimed(..)));
    drop(store);
    let fixture = fixture.restart().await;
    let store = fixture.store();
    // At the latest when the lease has run out.
    clock.advance_ms(u64::try_from(LEASE.as_millis()).unwrap() + 1);
    assert_eq!(refused(store.heartbeat(&old, &[]).await), "NotRegistered");
    let new = store.register(registration("a2")).await.unwrap();
    assert!(matches!(store.claim(&new, &made.key).await.unwrap(), ClaimOutcome::Claimed(..)));
}

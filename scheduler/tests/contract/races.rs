//! Many writers at once.

use std::sync::atomic::{AtomicUsize, Ordering};

use portico_scheduler::model::Lifecycle;
use portico_scheduler::store::{Change, ClaimOutcome, ClientUpdate, Expected, PackageStore as _, Watch as _};
use tokio::task::JoinSet;

use super::claims::registration;
use super::*;

/// Lets others go first, at most so many times.
async fn pause(times: u32) {
    for _ in 0..fastrand::u32(0..=times) {
        tokio::task::yield_now().await;
    }
}

/// 1,000 proposals race with as many edits and with the renders of those (report 52): whoever gets through, nothing goes
/// on whose render is not that of exactly this content.
pub(crate) async fn nothing_unrendered_is_ever_published<F: Fixture>() {
    const EACH: usize = 250;
    let limits = StoreLimits { events: 100_000, ..StoreLimits::default() };
    let fixture = F::new(limits, LEASE, VirtualClock::starting_at(START_MS));
    let store = fixture.store();
    let made = store.create(new("p", package("start"))).await.unwrap();
    let mut watch = store.watch(made.object_version).await.unwrap();
    let mut tasks = JoinSet::new();
    let (accepted, working) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(8)));
    for writer in 0..4 {
        let (store, key, left) = (store.clone(), made.key.clone(), Arc::clone(&working));
        tasks.spawn(async move {
            for i in 0..EACH {
                pause(40).await;
                let seen = Expected::Content(store.revision(&key).await.unwrap().content_version);
                let edit = ClientUpdate::files(package(&format!("{writer} {i}")));
                match store.update(&key, seen, edit).await {
                    Ok(edited) => assert!(edited.is_unfinished() && edited.lifecycle == Lifecycle::Draft),
                    Err(error) => assert!(["Conflict", "NotADraft"].contains(&kind(&error).as_str()), "{error}"),
                }
            }
            left.fetch_sub(1, Ordering::SeqCst);
        });
        let (store, key, accepted, left) =
            (fixture.store(), made.key.clone(), Arc::clone(&accepted), Arc::clone(&working));
        tasks.spawn(async move {
            for _ in 0..EACH {
                pause(10).await;
                let seen = Expected::Object(store.revision(&key).await.unwrap().object_version);
                match store.update(&key, seen, ClientUpdate::lifecycle(Lifecycle::Proposed)).await {
                    Ok(proposed) => {
                        accepted.fetch_add(1, Ordering::SeqCst);
                        assert!(proposed.is_rendered(), "{proposed:?}");
                        // Back, so that the others have something to do. Whoever is too late has lost.
                        let seen = Expected::Object(proposed.object_version);
                        let _ = store.update(&key, seen, ClientUpdate::lifecycle(Lifecycle::Draft)).await;
                    }
                    Err(error) => {
                        assert!(["RenderPending", "Conflict"].contains(&kind(&error).as_str()), "{error}");
                    }
                }
            }
            left.fetch_sub(1, Ordering::SeqCst);
        });
    }
    for _ in 0..2 {
        let (store, key, working) = (store.clone(), made.key.clone(), Arc::clone(&working));
        tasks.spawn(async move {
            while working.load(Ordering::SeqCst) > 0 {
                let snapshot = store.get(&key).await.unwrap().checked().unwrap();
                pause(3).await;
                let result = success(Some(render(&snapshot.files)));
                if let Err(error) = store.save_result(&key, snapshot.revision.content_version, result).await {
                    let allowed = ["Conflict", "AlreadyFinished", "NotADraft"];
                    assert!(allowed.contains(&kind(&error).as_str()), "{error}");
                }
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    let end = store.revision(&made.key).await.unwrap();
    // Every state that the object ever had.
    loop {
        let event = watch.next().await.unwrap();
        let Change::Put(revision) = &event.change else { panic!("nobody deletes") };
        assert!(revision.lifecycle == Lifecycle::Draft || revision.is_rendered(), "{revision:?}");
        if event.version == end.object_version {
            break;
        }
    }
    assert!(accepted.load(Ordering::SeqCst) > 0, "no proposal got through: the race showed nothing");
}

/// Eight writers and two workers on one package (report 51): what stays is the render of the last write that was accepted.
pub(crate) async fn the_last_write_wins_and_is_rendered<F: Fixture>() {
    let rounds: usize = std::env::var("PORTICO_SOAK").map_or(20, |_| 1250);
    let fixture = usual::<F>();
    let store = fixture.store();
    let made = store.create(new("p", package("start"))).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let (store, key) = (store.clone(), made.key.clone());
        writers.spawn(async move {
            let mut last = None;
            for i in 0..rounds {
                let files = package(&format!("{writer} {i}"));
                loop {
                    let seen = Expected::Content(store.revision(&key).await.unwrap().content_version);
                    if let Ok(edited) = store.update(&key, seen, ClientUpdate::files(files.clone())).await {
                        last = Some((edited.content_version, files));
                        break;
                    }
                }
            }
            last.unwrap()
        });
    }
    let (done, _) = tokio::sync::watch::channel(false);
    let mut workers = JoinSet::new();
    for _ in 0..2 {
        let (store, key, done) = (store.clone(), made.key.clone(), done.subscribe());
        workers.spawn(async move {
            loop {
                let last = *done.borrow();
                let snapshot = store.get(&key).await.unwrap().checked().unwrap();
                if snapshot.revision.is_unfinished() {
                    pause(20).await;
                    let result = success(Some(render(&snapshot.files)));
                    let _ = store.save_result(&key, snapshot.revision.content_version, result).await;
                } else if last {
                    return;
                } else {
                    tokio::task::yield_now().await;
                }
            }
        });
    }
    let mut newest = None;
    while let Some(last) = writers.join_next().await {
        newest = newest.max(Some(last.unwrap()));
    }
    done.send_replace(true);
    while let Some(worker) = workers.join_next().await {
        worker.unwrap();
    }
    let (_, files) = newest.unwrap();
    assert_eq!(store.get(&made.key).await.unwrap().files, render(&files));
}

pub(crate) async fn one_of_many_writers_wins<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let made = store.create(new("p", package("start"))).await.unwrap();
    let seen = Expected::Object(made.object_version);
    let mut tasks = JoinSet::new();
    for i in 0..100 {
        let (store, key) = (store.clone(), made.key.clone());
        tasks.spawn(async move { store.update(&key, seen, ClientUpdate::files(package(&i.to_string()))).await });
    }
    let mut won = Vec::new();
    while let Some(result) = tasks.join_next().await {
        won.extend(result.unwrap().ok());
    }
    assert_eq!(won.len(), 1);
    assert_eq!(store.revision(&made.key).await.unwrap(), won[0]);
    assert_eq!(store.history(&made.key).await.unwrap().len(), 2);
}

pub(crate) async fn one_of_many_claims_wins<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let made = store.create(new("p", package("start"))).await.unwrap();
    let mut tasks = JoinSet::new();
    for i in 0..50 {
        let (store, key) = (store.clone(), made.key.clone());
        tasks.spawn(async move {
            let instance = store.register(registration(&i.to_string())).await.unwrap();
            store.claim(&instance, &key).await.unwrap()
        });
    }
    let mut won = 0;
    while let Some(outcome) = tasks.join_next().await {
        match outcome.unwrap() {
            ClaimOutcome::Claimed(..) => won += 1,
            ClaimOutcome::Held { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(won, 1);
}

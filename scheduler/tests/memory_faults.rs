//! The faults of the store in memory: each does what it says, scripted and by chance, and a seed says which.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use portico_scheduler::model::{Ending, ErrorClass, Files, Revision};
use portico_scheduler::store::memory::{Fault, FaultPlan, Operation, Point, Trip};
use portico_scheduler::store::{
    Change, Claims as _, ClientUpdate, Expected, InstanceId, MemoryStore, NewRevision, PackageStore as _, Registration,
    RenderResult, Select, StoreError, StoreLimits, VirtualClock, Watch as _,
};

fn package(text: &str) -> Files {
    Arc::new(
        [("Kptfile", text), ("a.yaml", "a"), ("b.yaml", "b")]
            .map(|(p, t)| (p.into(), Bytes::copy_from_slice(t.as_bytes())))
            .into(),
    )
}

async fn create(store: &MemoryStore, name: &str) -> Result<Revision, StoreError> {
    store.create(NewRevision::new("ns", name, "repo", package("one"))).await
}

async fn edit(store: &MemoryStore, revision: &Revision, text: &str) -> Result<Revision, StoreError> {
    let seen = Expected::Content(revision.content_version);
    store.update(&revision.key, seen, ClientUpdate::files(package(text))).await
}

#[tokio::test(start_paused = true)]
async fn a_call_takes_long() {
    let late = FaultPlan::default().on(Point::Before(Operation::Create), 2, Fault::Delay(Duration::from_mins(1)));
    let store = MemoryStore::default().session(late);
    let start = tokio::time::Instant::now();
    create(&store, "a").await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
    create(&store, "b").await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_mins(1));
    let fault = Fault::Delay(Duration::from_mins(1));
    assert_eq!(store.trips(), [Trip { point: Point::Before(Operation::Create), nth: 2, fault }]);
}

#[tokio::test]
async fn a_write_fails_before_and_after_it_is_done() {
    let base = MemoryStore::default();
    let made = create(&base, "a").await.unwrap();
    let unavailable = Fault::Unavailable { retry_after: Some(Duration::from_secs(3)) };
    let store = base.session(
        FaultPlan::default()
            .on(Point::Before(Operation::Update), 1, unavailable)
            .on(Point::After(Operation::Update), 1, unavailable)
            .on(Point::Before(Operation::Update), 3, Fault::Conflict),
    );
    let error = edit(&store, &made, "two").await.unwrap_err();
    assert_eq!((error.class(), error.retry_after()), (ErrorClass::Transient, Some(Duration::from_secs(3))));
    assert_eq!(base.get(&made.key).await.unwrap().files, package("one"), "nothing was done");
    // The answer is lost: it was done, and who tries again sees a conflict.
    assert_eq!(edit(&store, &made, "two").await.unwrap_err().class(), ErrorClass::Transient);
    assert_eq!(base.get(&made.key).await.unwrap().files, package("two"));
    assert!(matches!(edit(&store, &made, "three").await, Err(StoreError::Conflict { .. })), "a made-up one");
    assert!(matches!(edit(&store, &made, "three").await, Err(StoreError::Conflict { .. })), "a real one");
}

#[tokio::test]
async fn reads_are_stale_and_partial() {
    let base = MemoryStore::default();
    let one = create(&base, "a").await.unwrap();
    let two = edit(&base, &one, "two").await.unwrap();
    let three = edit(&base, &two, "three").await.unwrap();
    let plan = |fault| FaultPlan::default().on(Point::Before(Operation::Get), 1, fault);
    for (back, expected, text) in [(1, &two, "two"), (2, &one, "one"), (8, &one, "one")] {
        let stale = base.session(plan(Fault::StaleRead(back))).get(&one.key).await.unwrap().checked().unwrap();
        assert_eq!((&stale.revision, stale.files), (expected, package(text)), "whole, but old");
    }
    let store = base.session(plan(Fault::PartialRead));
    let part = store.get(&one.key).await.unwrap();
    assert_eq!(part.revision, three, "it does not say that it is a part");
    assert!(part.files.len() < 3);
    let error = part.checked().unwrap_err();
    assert!(matches!(error, StoreError::Incomplete(_)));
    assert_eq!(error.class(), ErrorClass::Transient, "not there yet");
    store.get(&one.key).await.unwrap().checked().unwrap();
}

#[tokio::test]
async fn notifications_are_lost_and_come_late() {
    let base = MemoryStore::default();
    let start = base.page(Select::All, None, 1).await.unwrap().version;
    let store = base.session(FaultPlan::default().on(Point::Notify, 1, Fault::LoseNotification).on(
        Point::Notify,
        2,
        Fault::ReorderNotification,
    ));
    let mut watch = base.watch(start).await.unwrap();
    for name in ["lost", "late", "first", "last"] {
        create(&store, name).await.unwrap();
    }
    let mut seen = Vec::new();
    for _ in 0..3 {
        let event = watch.next().await.unwrap();
        assert!(matches!(event.change, Change::Put(_)));
        seen.push(event.change.key().name.to_string());
    }
    assert_eq!(seen, ["first", "late", "last"]);
    assert_eq!(base.page(Select::Unfinished, None, 10).await.unwrap().revisions.len(), 4, "a sweep finds it");
}

#[tokio::test(start_paused = true)]
async fn a_process_crashes_at_a_named_point() {
    let base = MemoryStore::default();
    for (point, kept) in [(Point::Before(Operation::Create), false), (Point::After(Operation::Create), true)] {
        let name = format!("{point:?}").replace(['(', ')'], "-");
        let store = base.session(FaultPlan::default().on(point, 1, Fault::Crash));
        let call = tokio::spawn({
            let (store, name) = (store.clone(), name.clone());
            async move { create(&store, &name).await }
        });
        store.crashed().await;
        // It never returns, and nothing more comes from this process, also not through a watch.
        let later = async { (create(&store, "later").await.is_ok(), call.await.is_ok()) };
        assert!(tokio::time::timeout(Duration::from_hours(1), later).await.is_err());
        assert_eq!(base.find("ns", &name).await.is_ok(), kept);
        assert!(base.find("ns", "later").await.is_err());
    }
}

#[tokio::test]
async fn a_session_is_cut_off_and_joins_again() {
    let base = MemoryStore::new(VirtualClock::starting_at(0), StoreLimits::default(), Duration::from_secs(10));
    let store = base.session(FaultPlan::default().on(Point::Before(Operation::Find), 1, Fault::Partition));
    let made = create(&store, "a").await.unwrap();
    let mut watch = store.watch(made.object_version).await.unwrap();
    assert!(matches!(store.find("ns", "a").await, Err(StoreError::Unavailable { .. })));
    assert!(matches!(edit(&store, &made, "x").await, Err(StoreError::Unavailable { .. })));
    assert!(matches!(watch.next().await, Err(StoreError::Unavailable { .. })));
    let edited = edit(&base, &made, "meanwhile").await.unwrap();
    store.partition(false);
    assert_eq!(store.find("ns", "a").await.unwrap(), edited);
    assert_eq!(watch.next().await.unwrap().version, edited.object_version);
    let id = InstanceId("a".into());
    let me = Registration { id, version: "1".into(), catalog: "c".into(), memory: 1 };
    let me = store.register(me).await.unwrap();
    base.forget_registrations();
    assert!(matches!(store.heartbeat(&me, &[]).await, Err(StoreError::NotRegistered(_))));
}

#[tokio::test]
async fn a_seed_says_what_goes_wrong() {
    let run = async |seed| {
        let plan = FaultPlan::seeded(seed)
            .by_chance(Point::Before(Operation::Create), 0.3, Fault::Unavailable { retry_after: None })
            .by_chance(Point::Notify, 0.2, Fault::LoseNotification);
        let store = MemoryStore::default().session(plan);
        for i in 0..200 {
            let _ = create(&store, &format!("p{i}")).await;
        }
        store.trips()
    };
    let (one, again, other) = (run(1).await, run(1).await, run(2).await);
    assert_eq!(one, again);
    assert_ne!(one, other);
    assert!(one.len() > 30 && one.iter().any(|trip| trip.point == Point::Notify));
}

/// Report 51 with a cache that lags: workers render what their caches show, and in the end the render of the last accepted
/// write stands there all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_from_lagging_caches_replace_nothing() {
    let render = |files: &Files| -> Files {
        let text = String::from_utf8_lossy(&files["Kptfile"]).into_owned();
        let text = text.strip_prefix("rendered ").unwrap_or(&text);
        package(&format!("rendered {text}"))
    };
    let base = MemoryStore::default();
    let made = create(&base, "p").await.unwrap();
    let (key, done) = (made.key.clone(), Arc::new(std::sync::atomic::AtomicBool::new(false)));
    let mut workers = tokio::task::JoinSet::new();
    for seed in 0..2 {
        let lags = FaultPlan::seeded(seed)
            .by_chance(Point::Before(Operation::Get), 0.5, Fault::StaleRead(1))
            .by_chance(Point::Before(Operation::Get), 0.3, Fault::StaleRead(5));
        let (store, key, done) = (base.session(lags), key.clone(), Arc::clone(&done));
        workers.spawn(async move {
            let (mut refused, mut last) = (0, false);
            loop {
                let shown = store.get(&key).await.unwrap().checked().unwrap();
                tokio::task::yield_now().await;
                let result =
                    RenderResult { files: Some(render(&shown.files)), ending: Ending::success(), log: Bytes::new() };
                let saved = store.save_result(&key, shown.revision.content_version, result).await;
                refused += u32::from(matches!(saved, Err(StoreError::Conflict { .. })));
                if store.page(Select::Unfinished, None, 1).await.unwrap().revisions.is_empty() {
                    if last {
                        return refused;
                    }
                    last = done.load(std::sync::atomic::Ordering::SeqCst);
                }
                tokio::task::yield_now().await;
            }
        });
    }
    let mut newest = made;
    for i in 0..300 {
        let text = format!("edit {i}");
        loop {
            let current = base.revision(&key).await.unwrap();
            if let Ok(edited) = edit(&base, &current, &text).await {
                newest = edited;
                break;
            }
        }
        tokio::task::yield_now().await;
    }
    done.store(true, std::sync::atomic::Ordering::SeqCst);
    let refused: u32 = workers.join_all().await.into_iter().sum();
    assert!(refused > 0, "no cache lagged");
    let end = base.get(&key).await.unwrap();
    assert_eq!(end.files, package("rendered edit 299"));
    assert!(end.revision.is_rendered() && end.revision.content_version > newest.content_version);
}

//! Failures that the founding documents tell of, as far as stores and claims keep them away. Each test names the document
//! and what went wrong there.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use portico_scheduler::model::{Ending, Files, RenderState, Revision, RevisionKey};
use portico_scheduler::store::embedded::EmbeddedOptions;
use portico_scheduler::store::memory::{Fault, FaultPlan, Operation, Point};
use portico_scheduler::store::{
    Change, ClaimOutcome, Claims as _, ClientUpdate, Clock, EmbeddedStore, Expected, Instance, InstanceId, MemoryStore,
    NewRevision, PackageStore, PageToken, Presence, Registration, RenderResult, Select, StoreError, StoreLimits,
    VirtualClock, Watch as _, WatchEvent, share,
};

fn package(text: &str) -> Files {
    Arc::new([("Kptfile".to_owned(), Bytes::copy_from_slice(text.as_bytes()))].into())
}

fn success(files: Option<Files>, log: &str) -> RenderResult {
    RenderResult { files, ending: Ending::success(), log: Bytes::copy_from_slice(log.as_bytes()) }
}

fn registration(id: &str) -> Registration {
    Registration { id: InstanceId(id.into()), version: "1".into(), catalog: "c".into(), memory: 1 << 30 }
}

async fn create<S: PackageStore>(store: &S, name: &str) -> Revision {
    store.create(NewRevision::new("ns", name, "repo", package(name))).await.unwrap()
}

async fn edit<S: PackageStore>(store: &S, revision: &Revision, text: &str) -> Revision {
    let seen = Expected::Content(revision.content_version);
    store.update(&revision.key, seen, ClientUpdate::files(package(text))).await.unwrap()
}

async fn unfinished<S: PackageStore>(store: &S) -> Vec<Revision> {
    let (mut all, mut after): (_, Option<PageToken>) = (Vec::new(), None);
    loop {
        let page = store.page(Select::Unfinished, after, 500).await.unwrap();
        all.extend(page.revisions);
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

/// Document 003: events that come faster than they are handled need a buffer that outlives the process. Here a burst comes
/// while nothing renders at all; each caller has its answer, and after a restart all is there, once, in order.
#[tokio::test]
async fn from_003_bursts_are_buffered_durably() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    let mut burst = tokio::task::JoinSet::new();
    for i in 0..200 {
        let store = store.clone();
        burst.spawn(async move {
            let mut revision = create(&store, &format!("p{i}")).await;
            for text in ["two", "three", "four", "newest"] {
                revision = edit(&store, &revision, text).await;
            }
            revision
        });
    }
    let mut answered = burst.join_all().await;
    store.close().await;
    let store = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    answered.sort_by_key(|revision| revision.content_version);
    assert_eq!(unfinished(&store).await, answered, "a burst of edits is one item of work, the oldest first");
    for revision in answered {
        assert_eq!(store.get(&revision.key).await.unwrap().checked().unwrap().files, package("newest"));
    }
}

/// Document 003: without a pod for each render a build "has no status" and no log. Here both are read from the store after
/// every scheduler is gone.
#[tokio::test]
async fn from_003_status_and_log_without_any_pod() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    let instance = store.register(registration("worker")).await.unwrap();
    let (done, runs, waits) =
        (create(&store, "done").await, create(&store, "runs").await, create(&store, "waits").await);
    store.save_result(&done.key, done.content_version, success(None, "step 1\nstep 2\n")).await.unwrap();
    store.set_state(&runs.key, runs.content_version, RenderState::Rendering).await.unwrap();
    store.unregister(&instance).await.unwrap();
    store.close().await;
    let store = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    let state = async |key| store.revision(key).await.unwrap().render_state().unwrap();
    assert_eq!(state(&done.key).await, RenderState::Ended(Ending::success()));
    assert_eq!(state(&runs.key).await, RenderState::Rendering);
    assert_eq!(state(&waits.key).await, RenderState::Scheduled);
    assert_eq!(&store.log(&done.key).await.unwrap().unwrap().text[..], b"step 1\nstep 2\n");
}

/// Document 004 (If80624cad9): two workers act on cached data; the one with the older cache takes away what the other has
/// given to a new request. Here a claim is checked against the store, an old claim gives nothing back, and an old result
/// replaces nothing.
#[tokio::test]
async fn from_004_a_stale_cache_and_two_workers() {
    let base = MemoryStore::default();
    let stale = base.session(FaultPlan::default().by_chance(Point::Before(Operation::Get), 1.0, Fault::StaleRead(8)));
    let (one, two) =
        (base.register(registration("one")).await.unwrap(), stale.register(registration("two")).await.unwrap());
    let made = create(&base, "p").await;
    // Both have it in their caches as waiting; `one` renders it.
    let cached = stale.get(&made.key).await.unwrap();
    let ClaimOutcome::Claimed(first, _) = base.claim(&one, &made.key).await.unwrap() else { panic!("it is free") };
    let done = base.save_result(&made.key, made.content_version, success(Some(package("result")), "")).await.unwrap();
    base.release(&first).await.unwrap();
    // The cache of `two` still says that it waits.
    assert!(stale.get(&made.key).await.unwrap().revision.is_unfinished());
    let ClaimOutcome::Finished(current) = stale.claim(&two, &made.key).await.unwrap() else {
        panic!("claimed from a cache")
    };
    assert_eq!(*current, done);
    // An edit comes, `two` works on it; what `one` still knows of the old claim harms nobody.
    edit(&base, &done, "edited").await;
    let ClaimOutcome::Claimed(second, current) = stale.claim(&two, &made.key).await.unwrap() else {
        panic!("it is free")
    };
    base.release(&first).await.unwrap();
    assert!(matches!(base.claim(&one, &made.key).await.unwrap(), ClaimOutcome::Held { .. }));
    // A worker that renders what its cache gives saves nothing.
    let old = stale.get(&made.key).await.unwrap();
    assert_eq!(old.revision.content_version, cached.revision.content_version);
    let late = stale.save_result(&made.key, old.revision.content_version, success(Some(package("old")), "")).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })));
    stale.save_result(&made.key, current.content_version, success(None, "")).await.unwrap();
    stale.release(&second).await.unwrap();
    assert_eq!(base.get(&made.key).await.unwrap().files, package("edited"));
}

/// Document 004 (Ifcf52bbca0): after locking and checking again, an early return forgot to unlock. Here a claim that finds
/// nothing to do leaves none behind, on each way out.
#[tokio::test]
async fn from_004_no_claim_is_left_held_on_an_early_return() {
    let store = MemoryStore::default();
    let me = store.register(registration("me")).await.unwrap();
    let (done, gone) = (create(&store, "done").await, create(&store, "gone").await);
    store.save_result(&done.key, done.content_version, success(None, "")).await.unwrap();
    store.delete(&gone.key, None).await.unwrap();
    assert!(matches!(store.claim(&me, &done.key).await.unwrap(), ClaimOutcome::Finished(_)));
    assert_eq!(store.claim(&me, &gone.key).await.unwrap(), ClaimOutcome::Gone);
    store.unregister(&me).await.unwrap();
    assert!(store.claim(&me, &done.key).await.is_err());
    assert_eq!(store.claims_held(), 0);
}

/// Document 004 (I1949cf8c6b): after a reconnect the caches filled before the component's own registration was back, and
/// work went on without it. Here a scheduler asks before each item, and the store refuses it as well.
#[tokio::test]
async fn from_004_nothing_is_processed_before_the_own_registration_is_seen() {
    let clock = VirtualClock::starting_at(1000);
    let lease = Duration::from_secs(10);
    let base = MemoryStore::new(Arc::clone(&clock) as Arc<dyn Clock>, StoreLimits::default(), lease);
    let store = base.session(FaultPlan::default());
    let mut presence = Presence::new();
    assert!(!presence.may_work(clock.now_ms()), "nothing is seen yet");
    let me = store.register(registration("me")).await.unwrap();
    assert!(!presence.may_work(clock.now_ms()), "having registered is not having seen it");
    presence.saw(&me, store.heartbeat(&me, &[]).await.unwrap());
    assert!(presence.may_work(clock.now_ms()));

    // The connection breaks; the server forgets who was there.
    store.partition(true);
    assert!(store.heartbeat(&me, &[]).await.is_err());
    presence.lost();
    base.forget_registrations();
    for i in 0..3000 {
        create(&base, &format!("p{i}")).await;
    }
    store.partition(false);
    // The cache is back, with thousands of items: none may be taken.
    let cache = unfinished(&store).await;
    assert_eq!(cache.len(), 3000);
    assert!(!presence.may_work(clock.now_ms()));
    assert!(matches!(store.claim(&me, &cache[0].key).await, Err(StoreError::NotRegistered(_))));
    assert!(matches!(store.heartbeat(&me, &[]).await, Err(StoreError::NotRegistered(_))));
    let again = store.register(registration("me")).await.unwrap();
    // Another's view, and the old registration of the same name, are not it.
    presence.saw(&again, vec![me.clone()]);
    assert!(!presence.may_work(clock.now_ms()));
    presence.saw(&again, store.heartbeat(&again, &[]).await.unwrap());
    assert!(presence.may_work(clock.now_ms()));
    assert!(matches!(store.claim(&again, &cache[0].key).await.unwrap(), ClaimOutcome::Claimed(..)));
    // And no longer than the lease that was seen.
    clock.advance_ms(10_001);
    assert!(!presence.may_work(clock.now_ms()));
}

/// Document 004 (Ic48b872184): many workers lock the same item only to find it another's. Four schedulers with 10,000 items
/// spend at most 1.2 claims a render, without a word to each other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_004_four_schedulers_seldom_claim_the_same() {
    const ITEMS: usize = 10_000;
    let limits = StoreLimits { events: 2 * ITEMS, ..StoreLimits::default() };
    let store = MemoryStore::new(VirtualClock::starting_at(0), limits, Duration::from_hours(1));
    for i in 0..ITEMS {
        create(&store, &format!("p{i}")).await;
    }
    let mut instances = Vec::new();
    for id in ["a", "b", "c", "d"] {
        instances.push(store.register(registration(id)).await.unwrap());
    }
    let (claims, renders) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut schedulers = tokio::task::JoinSet::new();
    for (n, me) in instances.into_iter().enumerate() {
        let (store, claims, renders) = (store.session(FaultPlan::default()), Arc::clone(&claims), Arc::clone(&renders));
        // One is three times as fast as the slowest.
        schedulers.spawn(async move { scheduler(&store, &me, n % 3, &claims, &renders).await });
    }
    let each: Vec<usize> = schedulers.join_all().await;
    assert_eq!(renders.load(Ordering::SeqCst), ITEMS, "each once");
    let ratio = claims.load(Ordering::SeqCst) * 100 / ITEMS;
    assert!(ratio <= 120, "{ratio} claims for 100 renders; {each:?}");
    assert!(each.iter().all(|share| *share > ITEMS / 50), "{each:?}");
    assert_eq!(unfinished(&store).await, []);
}

/// Works through what waits, own items first and then the others' from their end, as its cache shows them; gives how many it
/// rendered.
async fn scheduler(
    store: &MemoryStore,
    me: &Instance,
    slowness: usize,
    claims: &AtomicUsize,
    renders: &AtomicUsize,
) -> usize {
    let (all, id) = (store.heartbeat(me, &[]).await.unwrap(), &me.registration.id);
    let mut watch = store.watch(store.page(Select::All, None, 1).await.unwrap().version).await.unwrap();
    // The cache: what waits, kept by the watch.
    let mut waiting: BTreeMap<(usize, Reverse<u64>), RevisionKey> = BTreeMap::new();
    let place = |revision: &Revision| match share(&revision.key, id, &all) {
        0 => (0, Reverse(u64::MAX - revision.content_version.0)),
        rank => (rank, Reverse(revision.content_version.0)),
    };
    let finished = |event: Result<WatchEvent, StoreError>,
                    waiting: &mut BTreeMap<(usize, Reverse<u64>), RevisionKey>,
                    held: &mut HashSet<RevisionKey>| {
        if let Change::Put(revision) = event.unwrap().change
            && !revision.is_unfinished()
        {
            waiting.remove(&place(&revision));
            held.remove(&revision.key);
        }
    };
    for revision in unfinished(store).await {
        waiting.insert(place(&revision), revision.key);
    }
    let (mut mine, mut held) = (0, HashSet::new());
    loop {
        while let Some(event) = at_once(std::pin::pin!(watch.next())) {
            finished(event, &mut waiting, &mut held);
        }
        let Some((_, key)) = waiting.pop_first() else {
            if held.is_empty() {
                return mine;
            }
            finished(watch.next().await, &mut waiting, &mut held);
            continue;
        };
        claims.fetch_add(1, Ordering::SeqCst);
        match store.claim(me, &key).await.unwrap() {
            ClaimOutcome::Claimed(claim, revision) => {
                for _ in 0..=slowness {
                    tokio::task::yield_now().await;
                }
                store.save_result(&key, revision.content_version, success(None, "")).await.unwrap();
                renders.fetch_add(1, Ordering::SeqCst);
                store.release(&claim).await.unwrap();
                mine += 1;
            }
            // Its owner is at it: the watch will say when it is done, or the lease runs out.
            ClaimOutcome::Held { .. } => drop(held.insert(key)),
            ClaimOutcome::Finished(_) | ClaimOutcome::Gone => {}
        }
        tokio::task::yield_now().await;
    }
}

/// What a future has to say without waiting.
fn at_once<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}

/// The ranks of all schedulers for a key are 0, 1, 2 and so on; each comes first about equally often; and when one leaves,
/// what was others' stays theirs.
#[test]
fn shares_are_even_and_stable() {
    let all: Vec<Instance> = ["a", "b", "c", "d"]
        .iter()
        .map(|id| Instance { registration: registration(id), epoch: 1, until_ms: 1 })
        .collect();
    let rest = &all[..3];
    let mut first: HashMap<&InstanceId, usize> = HashMap::new();
    for i in 0..4000 {
        let key = RevisionKey::new("ns", "name", &format!("uid-{i}"));
        let ranks: Vec<usize> = all.iter().map(|i| share(&key, &i.registration.id, &all)).collect();
        assert_eq!(ranks.iter().copied().collect::<HashSet<_>>(), (0..4).collect());
        let owner = &all[ranks.iter().position(|rank| *rank == 0).unwrap()].registration.id;
        *first.entry(owner).or_default() += 1;
        if *owner != all[3].registration.id {
            assert_eq!(share(&key, owner, rest), 0);
        }
    }
    assert!(first.values().all(|count| (800..1200).contains(count)), "{first:?}");
}

/// The documentation names a test for each failure; it is there, under that name.
#[test]
fn the_documented_tests_exist() {
    fn sources(directory: &std::path::Path, all: &mut String) {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                sources(&path, all);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                all.push_str(&std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let (root, mut all) = (std::path::Path::new(env!("CARGO_MANIFEST_DIR")), String::new());
    sources(&root.join("src"), &mut all);
    sources(&root.join("tests"), &mut all);
    let text = std::fs::read_to_string(root.join("../docs/scheduler.md")).unwrap();
    let (_, table) = text.split_once("## What others had to learn").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let rows = table.lines().filter_map(|line| line.rsplit_once(" | ")).filter(|(_, tests)| tests.contains("::"));
    let mut found = 0;
    for (_, tests) in rows {
        for name in tests.split('`').skip(1).step_by(2).flat_map(|path| path.split([':', '{', '}', ',', ' '])) {
            // Modules are one word or have a number in front; tests are sentences.
            if name.matches('_').count() >= 3 {
                let is_module = name.starts_with('s') && name[1..].starts_with(|c: char| c.is_ascii_digit());
                assert!(is_module || all.contains(&format!("fn {name}(")), "`{name}` is not there");
                found += 1;
            }
        }
    }
    assert!(found > 25, "{found}");
}

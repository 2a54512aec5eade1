//! Watches.

use portico_scheduler::model::{ObjectVersion, RenderState};
use portico_scheduler::store::{Change, PackageStore as _, Watch as _, WatchEvent};

use super::*;

pub(crate) async fn every_write_is_seen_in_order<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let start = store.page(Select::All, None, 1).await.unwrap().version;
    let mut watch = store.watch(start).await.unwrap();
    let made = store.create(new("a", package("one"))).await.unwrap();
    let now = store.set_state(&made.key, made.content_version, RenderState::Rendering).await.unwrap();
    store.set_state(&made.key, made.content_version, RenderState::Rendering).await.unwrap();
    let done = store.save_result(&made.key, made.content_version, success(None)).await.unwrap();
    store.delete(&made.key, None).await.unwrap();
    let mut before = None;
    for expected in [made, now, done.clone()].map(Arc::new) {
        let event = watch.next().await.unwrap();
        let (version, change) = (expected.object_version, Change::Put(Arc::clone(&expected)));
        assert_eq!(event, WatchEvent { version, change, before: before.replace(expected) });
    }
    let gone = watch.next().await.unwrap();
    assert_eq!(gone.change, Change::Deleted(done.key.clone()));
    assert_eq!(gone.before, before, "who selects must see whether it was theirs");
    assert!(gone.version > done.object_version);
    let end = store.page(Select::All, None, 1).await.unwrap();
    assert_eq!(end.version, gone.version, "each write moves the store by one, and no-ops don't");
}

pub(crate) async fn a_watch_resumes<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let mut made = Vec::new();
    for name in ["a", "b", "c"] {
        made.push(store.create(new(name, package("x"))).await.unwrap());
    }
    let mut watch = store.watch(made[0].object_version).await.unwrap();
    let event = watch.next().await.unwrap();
    assert_eq!(event.change.key(), &made[1].key);
    let mut resumed = store.watch(event.version).await.unwrap();
    assert_eq!(resumed.next().await.unwrap().change.key(), &made[2].key);
    let beyond = ObjectVersion(made[2].object_version.0 + 100);
    assert_eq!(refused(store.watch(beyond).await.map(drop)), "TooOld", "another store's version");
}

pub(crate) async fn a_slow_watch_lists_again<F: Fixture>() {
    let limits = StoreLimits { events: 4, ..StoreLimits::default() };
    let fixture = F::new(limits, LEASE, VirtualClock::starting_at(START_MS));
    let store = fixture.store();
    let first = store.create(new("a", package("x"))).await.unwrap();
    let mut slow = store.watch(first.object_version).await.unwrap();
    let mut last = first.clone();
    for i in 0..6 {
        last = store.create(new(&format!("b{i}"), package("x"))).await.unwrap();
    }
    assert_eq!(refused(slow.next().await), "TooOld");
    assert_eq!(refused(store.watch(first.object_version).await.map(drop)), "TooOld");
    let listed = all(&store, Select::All, 100).await;
    assert_eq!(listed.len(), 7);
    let mut again = store.watch(last.object_version).await.unwrap();
    store.delete(&first.key, None).await.unwrap();
    assert_eq!(again.next().await.unwrap().change, Change::Deleted(first.key));
}

pub(crate) async fn a_watch_waits<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let mut watch = store.watch(ObjectVersion(0)).await.unwrap();
    // Polled and dropped: it takes nothing with it.
    for _ in 0..3 {
        let nothing = std::pin::pin!(watch.next());
        assert!(futures_poll(nothing).is_none());
    }
    let waiting = tokio::spawn(async move { watch.next().await });
    let made = store.create(new("a", package("x"))).await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().change, Change::Put(Arc::new(made)));
}

/// Polls once.
fn futures_poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.poll(&mut context) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}

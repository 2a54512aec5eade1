//! Lists and history.

use portico_scheduler::model::Lifecycle;
use portico_scheduler::store::{ClientUpdate, Expected, PackageStore as _, Writer};

use super::*;

fn names(revisions: &[Revision]) -> Vec<String> {
    revisions.iter().map(|revision| revision.key.name.to_string()).collect()
}

pub(crate) async fn the_oldest_change_comes_first<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let mut made = Vec::new();
    for i in 0..25 {
        made.push(store.create(new(&format!("p{i:02}"), package("x"))).await.unwrap());
    }
    // The third one changes, and is the youngest now; what the scheduler or labels say is no change.
    let seen = Expected::Content(made[2].content_version);
    store.update(&made[2].key, seen, ClientUpdate::files(package("y"))).await.unwrap();
    let labels = ClientUpdate { labels: Some([("a".into(), "b".into())].into()), ..ClientUpdate::default() };
    store.update(&made[0].key, Expected::Content(made[0].content_version), labels).await.unwrap();
    let mut expected: Vec<_> = (0..25).filter(|i| *i != 2).map(|i| format!("p{i:02}")).collect();
    expected.push("p02".into());
    for size in [1, 7, 25, 1000] {
        for select in [Select::All, Select::Drafts, Select::Unfinished] {
            assert_eq!(names(&all(&store, select, size).await), expected, "{select:?} by {size}");
        }
    }
    let page = store.page(Select::All, None, 0).await.unwrap();
    assert_eq!(page.revisions.len(), 1, "at least one");
}

pub(crate) async fn selections<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    store.create(new("waits", package("x"))).await.unwrap();
    rendered(&store, "done").await;
    let proposed = rendered(&store, "proposed").await;
    let seen = Expected::Object(proposed.object_version);
    store.update(&proposed.key, seen, ClientUpdate::lifecycle(Lifecycle::Proposed)).await.unwrap();
    assert_eq!(names(&all(&store, Select::All, 2).await), ["waits", "done", "proposed"]);
    assert_eq!(names(&all(&store, Select::Drafts, 2).await), ["waits", "done"]);
    assert_eq!(names(&all(&store, Select::Unfinished, 2).await), ["waits"]);
}

pub(crate) async fn a_change_while_paging_is_not_missed<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let mut made = Vec::new();
    for i in 0..6 {
        made.push(store.create(new(&format!("p{i}"), package("x"))).await.unwrap());
    }
    let first = store.page(Select::Unfinished, None, 3).await.unwrap();
    assert_eq!(names(&first.revisions), ["p0", "p1", "p2"]);
    for i in [1, 4] {
        let seen = Expected::Content(made[i].content_version);
        store.update(&made[i].key, seen, ClientUpdate::files(package("y"))).await.unwrap();
    }
    store.delete(&made[2].key, None).await.unwrap();
    let rest = store.page(Select::Unfinished, first.next, 100).await.unwrap();
    assert_eq!(names(&rest.revisions), ["p3", "p5", "p1", "p4"]);
    assert!(rest.next.is_none() && rest.version > first.version);
}

pub(crate) async fn the_last_versions_are_kept<F: Fixture>() {
    let limits = StoreLimits { history: 3, ..StoreLimits::default() };
    let fixture = F::new(limits, LEASE, VirtualClock::starting_at(START_MS));
    let store = fixture.store();
    let mut at = store.create(new("a", package("0"))).await.unwrap();
    let mut versions = vec![(at.content_version, package("0"), Writer::Client)];
    for i in 1..5 {
        let seen = Expected::Content(at.content_version);
        at = store.update(&at.key, seen, ClientUpdate::files(package(&i.to_string()))).await.unwrap();
        versions.push((at.content_version, package(&i.to_string()), Writer::Client));
    }
    let result = render(&package("4"));
    at = store.save_result(&at.key, at.content_version, success(Some(result.clone()))).await.unwrap();
    versions.push((at.content_version, result, Writer::Render));
    let history = store.history(&at.key).await.unwrap();
    let expected: Vec<_> = versions.iter().rev().take(3).collect();
    assert_eq!(history.len(), 3);
    for (entry, (version, files, by)) in history.iter().zip(expected) {
        assert_eq!((entry.version, entry.by, entry.digest), (*version, *by, ContentDigest::of(files)));
        assert_eq!(store.content(&at.key, *version).await.unwrap(), *files);
    }
    assert_eq!(refused(store.content(&at.key, versions[2].0).await), "NoSuchContent");
}

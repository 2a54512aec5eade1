//! Bounds.

use portico_scheduler::store::{ClientUpdate, Expected, PackageStore as _, StoreError};

use super::*;

fn limit(error: &StoreError) -> &'static str {
    match error {
        StoreError::TooLarge { limit, .. } => limit,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn every_limit_trips<F: Fixture>() {
    let limits = StoreLimits {
        files: 3,
        package_bytes: 1000,
        path_bytes: 20,
        name_bytes: 10,
        labels: 2,
        annotations: 2,
        annotation_bytes: 50,
        document_bytes: 50,
        conditions: 2,
        text_bytes: 100,
        history: 2,
        page: 2,
        events: 10,
        event_bytes: 10_000,
        log_bytes: 200,
    };
    let fixture = F::new(limits, LEASE, VirtualClock::starting_at(START_MS));
    let store = fixture.store();
    let made = store.create(new("a", package("x"))).await.unwrap();
    let many = files(&[("a", ""), ("b", ""), ("c", ""), ("d", "")]);
    let large = files(&[("a", &"x".repeat(600)), ("b", &"x".repeat(400))]);
    let long = files(&[("a/path/beyond/twenty/bytes", "")]);
    for (bad, name) in [(many, "files"), (large, "package_bytes"), (long, "path_bytes")] {
        let error = store.create(new("b", bad.clone())).await.unwrap_err();
        assert_eq!(limit(&error), name);
        assert!(error.to_string().contains(name), "{error}");
        let update = ClientUpdate::files(bad.clone());
        let error = store.update(&made.key, Expected::Content(made.content_version), update).await.unwrap_err();
        assert_eq!(limit(&error), name);
        let result = store.save_result(&made.key, made.content_version, success(Some(bad))).await;
        assert_eq!(limit(&result.unwrap_err()), name);
    }
    let error = store.create(new("beyond-ten-bytes", package("x"))).await.unwrap_err();
    assert_eq!(limit(&error), "name_bytes");

    let labels = |n: usize, value: &str| Some((0..n).map(|i| (i.to_string(), value.to_owned())).collect());
    let conditions = |n: usize, text: usize| {
        let one =
            |i: usize| Condition { message: "x".repeat(text), ..condition(&format!("C{i}"), ConditionStatus::True) };
        Some((0..n).map(one).collect())
    };
    let updates = [
        (ClientUpdate { labels: labels(3, ""), ..ClientUpdate::default() }, "labels"),
        (ClientUpdate { labels: labels(1, &"x".repeat(100)), ..ClientUpdate::default() }, "text_bytes"),
        (ClientUpdate { annotations: labels(3, ""), ..ClientUpdate::default() }, "annotations"),
        (ClientUpdate { annotations: labels(1, &"x".repeat(50)), ..ClientUpdate::default() }, "annotation_bytes"),
        (ClientUpdate { document: Some("x".repeat(51).into()), ..ClientUpdate::default() }, "document_bytes"),
        (ClientUpdate { conditions: conditions(3, 0), ..ClientUpdate::default() }, "conditions"),
        (ClientUpdate { conditions: conditions(1, 100), ..ClientUpdate::default() }, "text_bytes"),
    ];
    for (update, name) in updates {
        let error = store.update(&made.key, Expected::Content(made.content_version), update).await.unwrap_err();
        assert_eq!(limit(&error), name);
    }
    assert_eq!(store.revision(&made.key).await.unwrap(), made, "nothing of all that was kept");

    let log = RenderResult { log: format!("first{}last", "x".repeat(1000)).into(), ..success(None) };
    store.save_result(&made.key, made.content_version, log).await.unwrap();
    let log = store.log(&made.key).await.unwrap().unwrap().text;
    assert!(log.len() <= 200 && log.starts_with(b"first") && log.ends_with(b"last"), "{log:?}");
    for name in ["b", "c"] {
        store.create(new(name, package("x"))).await.unwrap();
    }
    assert_eq!(store.page(Select::All, None, 100).await.unwrap().revisions.len(), 2);
    assert_eq!(all(&store, Select::All, 100).await.len(), 3);
}

pub(crate) async fn bad_names_and_paths_are_refused<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    for name in ["", "a/b", "a\0b", "a\nb"] {
        assert_eq!(refused(store.create(new(name, package("x"))).await), "Invalid", "{name:?}");
    }
    for path in ["", "/a", "a//b", "a/", "../a", "a/./b", "a\0b"] {
        let created = store.create(new("a", files(&[(path, "x")]))).await;
        assert_eq!(refused(created), "Invalid", "{path:?}");
    }
    assert_eq!(refused(store.create(new("a", files(&[]))).await), "NoFiles");
    let made = store.create(new("a", package("x"))).await.unwrap();
    let seen = Expected::Content(made.content_version);
    assert_eq!(refused(store.update(&made.key, seen, ClientUpdate::files(files(&[]))).await), "NoFiles");
    let emptied = store.save_result(&made.key, made.content_version, success(Some(files(&[])))).await;
    assert_eq!(refused(emptied), "NoFiles", "a render that lost everything deletes nothing");
    assert_eq!(all(&store, Select::All, 10).await, [made]);
}

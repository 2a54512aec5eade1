//! Watches: from any version, by selection, with bookmarks, of objects and of files.

use std::pin::pin;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use kube::api::{DynamicObject, PostParams, WatchEvent, WatchParams};
use kube::runtime::watcher;
use portico_scheduler::store::StoreLimits;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::harness::{PATIENCE, Setup, World, condition, path, revision};

fn kinds(events: &[Value]) -> Vec<(&str, &str)> {
    events.iter().map(|event| (event["type"].as_str().unwrap(), name(event))).collect()
}

fn name(event: &Value) -> &str {
    event["object"]["metadata"]["name"].as_str().unwrap_or_default()
}

async fn version(world: &World) -> String {
    world.get(&path("packagerevisions", "")).await["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_watch_shows_what_is_and_what_comes() {
    let world = World::new().await;
    world.draft("a", "v1").await;
    let api = world.revisions();
    let mut stream = pin!(api.watch(&WatchParams::default(), "0").await.unwrap());
    let next = async |stream: &mut std::pin::Pin<&mut _>| -> WatchEvent<DynamicObject> {
        let next: Result<Option<WatchEvent<DynamicObject>>, kube::Error> =
            timeout(PATIENCE, futures_util::TryStreamExt::try_next(stream)).await.expect("an event comes");
        next.unwrap().unwrap()
    };
    assert!(matches!(next(&mut stream).await, WatchEvent::Added(object) if condition(&object, "Rendered") == "True"));
    world.revisions().create(&PostParams::default(), &revision("b", "v1")).await.unwrap();
    assert!(matches!(next(&mut stream).await, WatchEvent::Added(object) if condition(&object, "Rendered").is_empty()));
    loop {
        match next(&mut stream).await {
            WatchEvent::Modified(object) if condition(&object, "Rendered") == "True" => break,
            WatchEvent::Modified(_) => {}
            other => panic!("{other:?}"),
        }
    }
    world.revisions().delete("r.b.v1", &kube::api::DeleteParams::default()).await.unwrap();
    assert!(matches!(next(&mut stream).await, WatchEvent::Deleted(_)));
}

#[tokio::test]
async fn a_watch_resumes_from_any_version_that_is_kept() {
    let store_limits = StoreLimits { events: 20, ..StoreLimits::default() };
    let setup = Setup { store_limits, ..Setup::default() };
    let world = World::with(setup).await;
    // Zero, the version of an empty store, would be any version.
    world.draft("before", "v1").await;
    let first = version(&world).await;
    world.draft("a", "v1").await;
    let address = path("packagerevisions", "");
    let events =
        world.raw("GET", &format!("{address}?watch=1&resourceVersion={first}&timeoutSeconds=1"), &[], "").await;
    let events = events.events();
    assert_eq!(events[0]["type"], "ADDED");
    assert!(events.len() > 1 && events[1..].iter().all(|event| event["type"] == "MODIFIED"));
    // From the middle: what comes after it, and nothing twice.
    let middle = events[0]["object"]["metadata"]["resourceVersion"].as_str().unwrap();
    let rest = world.raw("GET", &format!("{address}?watch=1&resourceVersion={middle}&timeoutSeconds=1"), &[], "").await;
    assert_eq!(rest.events(), events[1..]);
    for n in 0..30 {
        world.revisions().create(&PostParams::default(), &revision("b", &format!("v{n}"))).await.unwrap();
    }
    let old = world.raw("GET", &format!("{address}?watch=1&resourceVersion={first}"), &[], "").await;
    assert_eq!((old.code, old.json()["reason"].as_str()), (410, Some("Expired")));
    let future = world.raw("GET", &format!("{address}?watch=1&resourceVersion=99999999"), &[], "").await;
    assert_eq!(future.code, 410);
}

#[tokio::test]
async fn what_enters_a_selection_is_added_and_what_leaves_it_deleted() {
    let world = World::new().await;
    let draft = world.draft("a", "v1").await;
    let name = draft.metadata.name.unwrap();
    let from = version(&world).await;
    let label = async |value: Value| {
        let patch = kube::api::Patch::Merge(json!({"metadata": {"labels": {"team": value}}}));
        world.revisions().patch(&name, &kube::api::PatchParams::default(), &patch).await.unwrap();
    };
    label(json!("x")).await;
    label(json!("y")).await;
    label(json!("x")).await;
    label(Value::Null).await;
    let address = path("packagerevisions", "");
    let query = format!("{address}?watch=1&resourceVersion={from}&labelSelector=team%3Dx&timeoutSeconds=1");
    let events = world.raw("GET", &query, &[], "").await.events();
    let n = &*name;
    assert_eq!(kinds(&events), [("ADDED", n), ("DELETED", n), ("ADDED", n), ("DELETED", n)]);
    assert_eq!(events[1]["object"]["metadata"]["labels"]["team"], "x", "as it was");
    let versions: Vec<u64> = events
        .iter()
        .map(|event| event["object"]["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap())
        .collect();
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
    // The same by a field.
    let from = version(&world).await;
    world.step(&name, "Proposed").await.unwrap();
    let query =
        format!("{address}?watch=1&resourceVersion={from}&fieldSelector=spec.lifecycle%3DDraft&timeoutSeconds=1");
    assert_eq!(kinds(&world.raw("GET", &query, &[], "").await.events()), [("DELETED", n)]);
}

#[tokio::test]
async fn bookmarks_tell_how_far_a_watch_is() {
    let mut setup = Setup::default();
    setup.limits.bookmark = Duration::from_millis(100);
    let world = World::with(setup).await;
    world.draft("a", "v1").await;
    let from = version(&world).await;
    let address = path("packagerevisions", "");
    let query = format!(
        "{address}?watch=1&resourceVersion={from}&allowWatchBookmarks=true&labelSelector=none&timeoutSeconds=1"
    );
    let watching = world.raw("GET", &query, &[], "");
    let (answer, _) = tokio::join!(watching, world.draft("b", "v1"));
    let events = answer.events();
    assert!(events.iter().all(|event| event["type"] == "BOOKMARK"), "{events:?}");
    let last = events.last().unwrap()["object"]["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    assert!(last.parse::<u64>().unwrap() > from.parse().unwrap(), "it moves with what is not selected");
    let without = world.raw("GET", &query.replace("&allowWatchBookmarks=true", ""), &[], "").await;
    assert_eq!(without.body, "");
}

#[tokio::test]
async fn first_objects_can_be_streamed_and_their_end_is_marked() {
    let world = World::new().await;
    world.draft("a", "v1").await;
    world.draft("b", "v1").await;
    let address = path("packagerevisions", "");
    let query = format!(
        "{address}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1"
    );
    let events = world.raw("GET", &query, &[], "").await.events();
    assert_eq!(kinds(&events[..2]), [("ADDED", "r.a.v1"), ("ADDED", "r.b.v1")]);
    assert_eq!(events[2]["type"], "BOOKMARK");
    assert_eq!(events[2]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    let bad = world.raw("GET", &format!("{address}?watch=1&sendInitialEvents=true"), &[], "").await;
    assert_eq!(bad.code, 400);
}

#[tokio::test]
async fn kube_rs_watchers_follow_in_both_ways() {
    let world = World::new().await;
    world.draft("a", "v1").await;
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let mut stream = pin!(watcher(world.revisions(), config));
        let mut seen = Vec::new();
        loop {
            match timeout(PATIENCE, stream.try_next()).await.unwrap().unwrap().unwrap() {
                watcher::Event::InitApply(object) => seen.push(object.metadata.name.unwrap()),
                watcher::Event::InitDone => break,
                _ => {}
            }
        }
        assert!(seen.contains(&"r.a.v1".to_owned()));
        let workspace = format!("v{}", seen.len() + 10);
        world.revisions().create(&PostParams::default(), &revision("c", &workspace)).await.unwrap();
        let applied = timeout(PATIENCE, stream.next()).await.unwrap().unwrap().unwrap();
        assert!(matches!(applied, watcher::Event::Apply(_)), "{applied:?}");
    }
}

#[tokio::test]
async fn files_can_be_watched() {
    let world = World::new().await;
    world.draft("a", "v1").await;
    let address = path("packagerevisionresources", "");
    let from = version(&world).await;
    world.write("r.a.v1", &[("a.yaml", "kind: A\n")]).await;
    world.rendered("r.a.v1").await;
    world.revisions().delete("r.a.v1", &kube::api::DeleteParams::default()).await.unwrap();
    let gone =
        world.raw("GET", &format!("{address}?watch=1&resourceVersion={from}&timeoutSeconds=1"), &[], "").await.events();
    assert_eq!(gone.last().unwrap()["type"], "DELETED", "the files of what is gone are gone");
    world.draft("b", "v1").await;
    let query = format!("{address}?watch=1&timeoutSeconds=1");
    let watching = world.raw("GET", &query, &[], "");
    let (answer, _) = tokio::join!(watching, world.write("r.b.v1", &[("a.yaml", "kind: A\n")]));
    let events = answer.events();
    assert_eq!(kinds(&events[..1]), [("ADDED", "r.b.v1")]);
    assert!(events[1..].iter().any(|event| event["object"]["spec"]["resources"]["a.yaml"] == "kind: A\n"));
}

#[tokio::test]
async fn tables_can_be_watched() {
    let world = World::new().await;
    world.draft("a", "v1").await;
    world.draft("b", "v1").await;
    let query = format!("{}?watch=1&timeoutSeconds=1", path("packagerevisions", ""));
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let events = world.raw("GET", &query, &accept, "").await.events();
    assert!(events[0]["object"]["columnDefinitions"].is_array() && events[1]["object"]["columnDefinitions"].is_null());
    assert_eq!(events[1]["object"]["rows"][0]["cells"][0], "r.b.v1");
}

#[tokio::test]
async fn watches_end_with_the_server() {
    let world = World::new().await;
    let query = format!("{}?watch=1", path("packagerevisions", ""));
    let (answer, ()) = tokio::join!(world.raw("GET", &query, &[], ""), async {
        world.draft("a", "v1").await;
        world.app.close();
    });
    assert_eq!(answer.code, 200);
}

#[tokio::test]
async fn a_watch_ends_by_itself() {
    let mut setup = Setup::default();
    setup.limits.watch = Duration::from_millis(50);
    let world = World::with(setup).await;
    let answer = world.raw("GET", &format!("{}?watch=1", path("packagerevisions", "")), &[], "").await;
    assert_eq!((answer.code, &*answer.body), (200, ""));
}

/// A client that does not read holds up nobody, and is told to list again.
#[tokio::test]
async fn a_slow_watcher_is_told_to_list_again() {
    use http_body_util::BodyExt as _;
    let store_limits = StoreLimits { events: 50, ..StoreLimits::default() };
    let setup = Setup { store_limits, ..Setup::default() };
    let world = World::with(setup).await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    let from = version(&world).await;
    let query = format!("{}?watch=1&resourceVersion={from}&timeoutSeconds=30", path("packagerevisions", ""));
    let request = axum::http::Request::get(query).body(kube::client::Body::empty()).unwrap();
    let slow = world.client.send(request).await.unwrap();
    // More than the buffers of a connection hold, of large objects.
    let large = "x".repeat(100 << 10);
    for n in 0..300 {
        let patch = kube::api::Patch::Merge(json!({"metadata": {"annotations": {"large": format!("{n}{large}")}}}));
        world.revisions().patch(&name, &kube::api::PatchParams::default(), &patch).await.unwrap();
    }
    let read = timeout(PATIENCE, slow.into_body().collect()).await.unwrap().unwrap().to_bytes();
    let last = String::from_utf8_lossy(&read).lines().last().unwrap().to_owned();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!((&last["type"], &last["object"]["code"]), (&json!("ERROR"), &json!(410)));
}

//! Events in both forms.

use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use super::harness::{NS, World, refused};

async fn failed_once(world: &World) -> String {
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    world.write(&name, &[("fail", "no")]).await;
    world.rendered(&name).await;
    name
}

#[tokio::test]
async fn renders_are_told_of_in_both_forms() {
    let world = World::new().await;
    let name = failed_once(&world).await;
    let uid = world.revisions().get(&name).await.unwrap().metadata.uid.unwrap();
    let core: Api<k8s_openapi::api::core::v1::Event> = Api::namespaced(world.client.clone(), NS);
    let selector = format!("involvedObject.name={name},involvedObject.uid={uid},involvedObject.kind=PackageRevision");
    let list = core.list(&ListParams::default().fields(&selector)).await.unwrap();
    let reasons: Vec<String> = list.items.iter().filter_map(|event| event.reason.clone()).collect();
    for reason in ["RenderScheduled", "RenderStarted", "RenderSucceeded", "RenderFailed"] {
        assert!(reasons.iter().any(|told| told == reason), "{reasons:?}");
    }
    let warning = core.list(&ListParams::default().fields("type=Warning,reason=RenderFailed")).await.unwrap();
    assert_eq!(warning.items[0].message.as_deref(), Some("the render failed: no"));
    let one = warning.items[0].metadata.name.as_deref().unwrap();
    assert_eq!(core.get(one).await.unwrap().reason.as_deref(), Some("RenderFailed"));
    assert_eq!(refused(core.get("none").await).code, 404);

    let new: Api<k8s_openapi::api::events::v1::Event> = Api::namespaced(world.client.clone(), NS);
    let list =
        new.list(&ListParams::default().fields(&format!("regarding.name={name},reason=RenderFailed"))).await.unwrap();
    assert_eq!(list.items[0].note.as_deref(), Some("the render failed: no"));
    assert_eq!(refused(new.list(&ListParams::default().fields("involvedObject.name=a")).await).code, 400);
    let post = world.raw("POST", &format!("/api/v1/namespaces/{NS}/events"), &[], "{}").await;
    assert_eq!(post.code, 405);
}

#[tokio::test]
async fn events_come_in_pages() {
    let world = World::new().await;
    failed_once(&world).await;
    let address = format!("/api/v1/namespaces/{NS}/events");
    let all = world.get(&address).await["items"].as_array().unwrap().clone();
    let (mut paged, mut token) = (Vec::new(), String::new());
    loop {
        let page = world.get(&format!("{address}?limit=2&continue={token}")).await;
        paged.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["metadata"]["continue"].as_str() {
            Some(next) => next.clone_into(&mut token),
            None => break,
        }
    }
    assert_eq!(paged, all);
}

#[tokio::test]
async fn events_can_be_watched_and_resumed() {
    let world = World::new().await;
    let address = format!("/api/v1/namespaces/{NS}/events");
    let from = world.get(&address).await["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let watching = format!("{address}?watch=1&resourceVersion={from}&timeoutSeconds=1");
    let (answer, name) = tokio::join!(world.raw("GET", &watching, &[], ""), failed_once(&world));
    let events = answer.events();
    assert!(events.iter().any(|event| event["object"]["reason"] == "RenderFailed"), "{events:?}");
    assert!(events.iter().all(|event| event["object"]["involvedObject"]["name"] == name));
    let middle = events[0]["object"]["metadata"]["resourceVersion"].as_str().unwrap();
    let rest = world.raw("GET", &watching.replace(&from, middle), &[], "").await.events();
    assert!(!rest.iter().any(|event| event["object"]["metadata"] == events[0]["object"]["metadata"]));
    let old = world.raw("GET", &format!("{address}?watch=1&resourceVersion=7"), &[], "").await;
    assert_eq!((old.code, old.json()["reason"].as_str()), (410, Some("Expired")));
    let marked = format!(
        "{address}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1"
    );
    let events = world.raw("GET", &marked, &[], "").await.events();
    let marks: Vec<&Value> = events.iter().filter(|event| event["type"] == "BOOKMARK").collect();
    assert_eq!(marks.len(), 1);
    assert_eq!(marks[0]["object"]["metadata"]["annotations"], json!({"k8s.io/initial-events-end": "true"}));
}

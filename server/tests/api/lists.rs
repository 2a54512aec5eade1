//! Lists: selectors, pages, versions, forms.

use kube::api::{Api, DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};

use super::harness::{NS, OwnNamespace, Setup, World, path, refused, resource, revision};

async fn made(world: &World, count: usize) {
    for n in 0..count {
        let mut object = revision(&format!("p{n:02}"), "v1");
        object.metadata.labels = Some([("even".to_owned(), (n % 2 == 0).to_string())].into());
        world.revisions().create(&PostParams::default(), &object).await.unwrap();
    }
}

fn names(list: &[DynamicObject]) -> Vec<&str> {
    list.iter().map(|object| object.metadata.name.as_deref().unwrap()).collect()
}

#[tokio::test]
async fn an_empty_list_is_a_list() {
    let world = World::new().await;
    let list = world.revisions().list(&ListParams::default()).await.unwrap();
    assert!(list.items.is_empty() && list.metadata.resource_version.is_some());
    let body = world.get("/apis/porch.kpt.dev/v1alpha1/packagerevisions").await;
    assert_eq!((&body["kind"], &body["items"]), (&json!("PackageRevisionList"), &json!([])));
}

#[tokio::test]
async fn a_list_shows_what_was_answered_before() {
    let world = World::new().await;
    for n in 0..50 {
        let name = format!("r.p.v{n}");
        world.revisions().create(&PostParams::default(), &revision("p", &format!("v{n}"))).await.unwrap();
        let list = world.revisions().list(&ListParams::default()).await.unwrap();
        assert_eq!(list.items.len(), n + 1);
        assert!(names(&list.items).contains(&&*name));
    }
}

#[tokio::test]
async fn selectors_choose() {
    let world = World::new().await;
    made(&world, 6).await;
    let list = async |params: ListParams| world.revisions().list(&params).await;
    let even = list(ListParams::default().labels("even in (true),even")).await.unwrap();
    assert_eq!(names(&even.items), ["r.p00.v1", "r.p02.v1", "r.p04.v1"]);
    let one = list(ListParams::default().fields("metadata.name=r.p03.v1")).await.unwrap();
    assert_eq!(names(&one.items), ["r.p03.v1"]);
    let package = list(ListParams::default().fields("spec.packageName=p01,spec.lifecycle!=Published")).await.unwrap();
    assert_eq!(names(&package.items), ["r.p01.v1"]);
    let bad = refused(list(ListParams::default().fields("status.phase=x")).await);
    assert_eq!(bad.code, 400);
    assert!(bad.message.contains("field label not supported: status.phase"), "{}", bad.message);
    let bad = refused(list(ListParams::default().labels("a in (")).await);
    assert_eq!(bad.code, 400, "{}", bad.message);
}

#[tokio::test]
async fn pages_are_of_one_instant() {
    let world = World::new().await;
    made(&world, 7).await;
    let first = world.revisions().list(&ListParams::default().limit(3)).await.unwrap();
    assert_eq!(names(&first.items), ["r.p00.v1", "r.p01.v1", "r.p02.v1"]);
    assert_eq!(first.metadata.remaining_item_count, Some(4));
    let token = first.metadata.continue_.clone().unwrap();
    // What changes meanwhile is not seen by the other pages.
    world.revisions().create(&PostParams::default(), &revision("p03a", "v1")).await.unwrap();
    world.revisions().delete("r.p05.v1", &kube::api::DeleteParams::default()).await.unwrap();
    let second = world.revisions().list(&ListParams::default().limit(3).continue_token(&token)).await.unwrap();
    assert_eq!(names(&second.items), ["r.p03.v1", "r.p04.v1", "r.p05.v1"]);
    assert_eq!(second.metadata.resource_version, first.metadata.resource_version);
    let last = second.metadata.continue_.unwrap();
    let third = world.revisions().list(&ListParams::default().limit(3).continue_token(&last)).await.unwrap();
    assert_eq!((names(&third.items), third.metadata.continue_.as_deref().unwrap_or_default()), (vec!["r.p06.v1"], ""));
    // A token is good for the same question only.
    let other = ListParams::default().labels("even=true").limit(3).continue_token(&token);
    assert_eq!(refused(world.revisions().list(&other).await).code, 410);
    let none = ListParams::default().limit(3).continue_token("none");
    assert_eq!(refused(world.revisions().list(&none).await).code, 400);
}

#[tokio::test]
async fn rests_that_are_too_many_are_gone() {
    let mut setup = Setup::default();
    setup.limits.list_rests = 4;
    let world = World::with(setup).await;
    made(&world, 4).await;
    let first = world.revisions().list(&ListParams::default().limit(1)).await.unwrap();
    world.revisions().list(&ListParams::default().limit(1)).await.unwrap();
    let old = ListParams::default().limit(1).continue_token(first.metadata.continue_.as_deref().unwrap());
    let status = refused(world.revisions().list(&old).await);
    assert_eq!((status.code, &*status.reason), (410, "Expired"));
}

#[tokio::test]
async fn versions_are_waited_for_and_compared() {
    let mut setup = Setup::default();
    setup.limits.catch_up = std::time::Duration::from_millis(50);
    let world = World::with(setup).await;
    world.draft("a", "v1").await;
    let address = path("packagerevisions", "");
    let list = world.get(&address).await;
    let version: u64 = list["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    let of = async |query: String| world.raw("GET", &format!("{address}?{query}"), &[], "").await;
    assert_eq!(of(format!("resourceVersion={version}")).await.code, 200);
    assert_eq!(of("resourceVersion=0".into()).await.code, 200);
    assert_eq!(of(format!("resourceVersion={version}&resourceVersionMatch=Exact")).await.code, 200);
    let past = of(format!("resourceVersion={}&resourceVersionMatch=Exact", version - 1)).await;
    assert_eq!((past.code, past.json()["reason"].as_str()), (410, Some("Expired")));
    let future = of(format!("resourceVersion={}", version + 1000)).await;
    assert_eq!((future.code, future.json()["reason"].as_str()), (504, Some("Timeout")));
    assert_eq!(future.json()["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    assert_eq!(of("resourceVersion=x".into()).await.code, 400);
    assert_eq!(of("resourceVersionMatch=Exact".into()).await.code, 400);
}

#[tokio::test]
async fn tables_and_metadata_alone() {
    let world = World::new().await;
    world.draft("net/core", "v1").await;
    let address = path("packagerevisions", "");
    let form = async |accept: &str| world.raw("GET", &address, &[("accept", accept)], "").await.json();
    let table = form("application/json;as=Table;v=v1;g=meta.k8s.io,application/json").await;
    assert_eq!(table["kind"], "Table");
    let columns = table["columnDefinitions"].as_array().unwrap();
    let shown: Vec<&Value> = columns.iter().filter(|column| column["priority"] == 0).map(|c| &c["name"]).collect();
    assert_eq!(shown, ["Name", "Package", "Workspace", "Revision", "Lifecycle", "Rendered", "Age"]);
    let row = &table["rows"][0];
    assert_eq!(
        row["cells"].as_array().unwrap()[..6],
        [json!("r.net.core.v1"), json!("net/core"), json!("v1"), json!(""), json!("Draft"), json!("True")]
    );
    assert_eq!(row["object"]["kind"], "PartialObjectMetadata");
    let metadata = form("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io").await;
    assert_eq!(metadata["kind"], "PartialObjectMetadataList");
    assert_eq!(metadata["items"][0]["metadata"]["name"], "r.net.core.v1");
    assert_eq!(metadata["items"][0].get("spec"), None);
    let none = world.raw("GET", &address, &[("accept", "application/yaml")], "").await;
    assert_eq!(none.code, 406);
    let one = path("packagerevisionresources", "r.net.core.v1");
    let table = world.raw("GET", &one, &[("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")], "").await.json();
    assert_eq!(table["rows"][0]["cells"][4], 3, "three files");
}

#[tokio::test]
async fn files_are_listed_with_their_revisions() {
    let world = World::new().await;
    made(&world, 3).await;
    let list = world.resources().list(&ListParams::default().labels("even=true")).await.unwrap();
    assert_eq!(names(&list.items), ["r.p00.v1", "r.p02.v1"]);
    assert!(list.items.iter().all(|item| item.data["spec"]["resources"]["Kptfile"].is_string()));
}

#[tokio::test]
async fn a_tenant_sees_its_own_namespace_alone() {
    let world = World::with(Setup { authorizer: std::sync::Arc::new(OwnNamespace), ..Setup::default() }).await;
    world.draft("a", "v1").await;
    let bob = [("x-user", "bob")];
    let one = path("packagerevisions", "r.a.v1");
    let ways = [
        ("GET", one.clone()),
        ("GET", path("packagerevisions", "")),
        ("GET", format!("{}?watch=1", path("packagerevisions", ""))),
        ("GET", "/apis/porch.kpt.dev/v1alpha1/packagerevisions".into()),
        ("GET", path("packagerevisionresources", "r.a.v1")),
        ("PUT", one.clone()),
        ("PATCH", one.clone()),
        ("DELETE", one.clone()),
        ("DELETE", path("packagerevisions", "")),
        ("POST", path("packagerevisions", "")),
        ("GET", format!("{one}/log")),
        ("POST", format!("{one}/cancel")),
        ("POST", format!("{one}/render")),
        ("GET", format!("{one}/approval")),
        ("PUT", format!("{one}/approval")),
        ("PATCH", format!("{one}/approval")),
        ("GET", format!("/api/v1/namespaces/{NS}/events")),
        ("GET", "/apis/events.k8s.io/v1/events".into()),
        ("GET", "/api/v1/namespaces".into()),
    ];
    for (method, address) in ways {
        let answer = world.raw(method, &address, &bob, "{}").await;
        assert_eq!((answer.code, answer.json()["reason"].as_str()), (403, Some("Forbidden")), "{method} {address}");
        assert!(answer.body.contains("is forbidden: User \\\"bob\\\" cannot"), "{}", answer.body);
    }
    // A clone reads what it clones.
    let clone = json!({"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": "r.a.v1"}}}});
    let spec = json!({"packageName": "b", "repository": "r", "workspaceName": "v1", "tasks": [clone]});
    let body = json!({ "spec": spec }).to_string();
    let address = "/apis/porch.kpt.dev/v1alpha1/namespaces/bob/packagerevisions";
    let cloned = world.raw("POST", address, &bob, &body).await;
    assert_eq!(cloned.code, 422, "it is not in that namespace: {}", cloned.body);
}

#[tokio::test]
async fn namespaces_are_those_that_are_used() {
    let world = World::new().await;
    world.draft("a", "v1").await;
    let other: Api<DynamicObject> =
        Api::namespaced_with(world.client.clone(), "other", &resource("PackageRevision", "packagerevisions"));
    let mut object = revision("a", "v1");
    object.metadata.namespace = None;
    other.create(&PostParams::default(), &object).await.unwrap();
    let list = world.get("/api/v1/namespaces").await;
    let names: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["default", "other"]);
    assert_eq!(world.get("/api/v1/namespaces/other").await["status"]["phase"], "Active");
    assert_eq!(world.raw("GET", "/api/v1/namespaces/none", &[], "").await.code, 404);
    let all: Api<DynamicObject> = Api::all_with(world.client.clone(), &resource("PackageRevision", "packagerevisions"));
    assert_eq!(all.list(&ListParams::default()).await.unwrap().items.len(), 2);
}

//! Discovery, schemas, reviews.

use kube::discovery::{Discovery, verbs};
use serde_json::json;

use super::harness::{OwnNamespace, Setup, World};

#[tokio::test]
async fn kube_rs_finds_all_that_there_is() {
    let world = World::new().await;
    let discovery = Discovery::new(world.client.clone()).run().await.unwrap();
    let group = discovery.get("porch.kpt.dev").unwrap();
    let (resource, capabilities) = group.recommended_kind("PackageRevision").unwrap();
    assert_eq!((&*resource.plural, &*resource.version), ("packagerevisions", "v1alpha1"));
    assert!(capabilities.supports_operation(verbs::DELETE_COLLECTION));
    assert!(capabilities.subresources.iter().any(|(part, _)| part.plural == "approval"));
    let (_, files) = group.recommended_kind("PackageRevisionResources").unwrap();
    assert!(files.supports_operation(verbs::WATCH) && !files.supports_operation(verbs::CREATE));
    assert!(Discovery::new(world.client.clone()).run_aggregated().await.unwrap().get("porch.kpt.dev").is_some());
    let version = world.client.apiserver_version().await.unwrap();
    assert!(version.git_version.contains("portico"), "{}", version.git_version);
}

#[tokio::test]
async fn schemas_are_published() {
    let world = World::new().await;
    let index = world.get("/openapi/v3").await;
    let document = index["paths"]["apis/porch.kpt.dev/v1alpha1"]["serverRelativeURL"].as_str().unwrap();
    let schemas = world.get(document).await["components"]["schemas"].clone();
    let described = schemas.as_object().unwrap().keys().any(|name| name.ends_with(".PackageRevision"));
    assert!(described, "{:?}", schemas.as_object().unwrap().keys());
    assert_eq!(world.raw("GET", "/openapi/v3/apis/none/v1", &[], "").await.code, 404);
    assert_eq!(world.raw("GET", "/openapi/v2", &[], "").await.code, 404);
}

#[tokio::test]
async fn a_client_can_ask_who_it_is_and_what_it_may() {
    let world = World::with(Setup { authorizer: std::sync::Arc::new(OwnNamespace), ..Setup::default() }).await;
    let bob = [("x-user", "bob"), ("content-type", "application/json")];
    let who = world.raw("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", &bob, "{}").await;
    assert_eq!((who.code, &who.json()["status"]["userInfo"]["username"]), (201, &json!("bob")));
    let may = async |namespace: &str| {
        let attributes =
            json!({"verb": "get", "group": "porch.kpt.dev", "resource": "packagerevisions", "namespace": namespace});
        let review = json!({"kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}}).to_string();
        world.raw("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &bob, &review).await.json()
    };
    assert_eq!(may("bob").await["status"], json!({"allowed": true}));
    assert_eq!(may("default").await["status"], json!({"allowed": false, "reason": "no role allows it"}));
    let none = world.raw("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &bob, "{}").await;
    assert_eq!(none.code, 400, "{}", none.body);
}

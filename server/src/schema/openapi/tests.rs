//! The documents, as clients fetch them.

use axum::body::to_bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::respond;

async fn get(path: &str, query: &str) -> (StatusCode, HeaderMap, Value) {
    let answer = respond(path, query, &HeaderMap::new()).expect("a document");
    let (parts, body) = answer.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    (parts.status, parts.headers, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn the_index_leads_to_each_document() {
    let (_, _, index) = get("/openapi/v3", "").await;
    let paths = index["paths"].as_object().unwrap();
    let names: Vec<&str> = paths.keys().map(String::as_str).collect();
    assert_eq!(names, ["apis/porch.kpt.dev/v1alpha1", "api/v1", "apis/events.k8s.io/v1"]);
    for entry in paths.values() {
        let place = entry["serverRelativeURL"].as_str().unwrap();
        let (path, query) = place.split_once('?').unwrap();
        let (status, headers, document) = get(path, query).await;
        assert_eq!(status, StatusCode::OK);
        assert!(headers[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
        assert_eq!(document["openapi"], "3.0.0");
        // Each reference leads somewhere in the same document.
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
        }
        assert!(!text.contains("\"default\":"), "defaults say nothing");
    }
    assert!(respond("/openapi/v3/apis/apps/v1", "", &HeaderMap::new()).is_none());
    assert!(respond("/openapi/v2", "", &HeaderMap::new()).is_none());
}

#[tokio::test]
async fn what_a_client_has_is_not_sent_again() {
    let (_, headers, _) = get("/openapi/v3/apis/porch.kpt.dev/v1alpha1", "").await;
    let etag = headers[header::ETAG].clone();
    let again = HeaderMap::from_iter([(header::IF_NONE_MATCH, etag)]);
    let answer = respond("/openapi/v3/apis/porch.kpt.dev/v1alpha1", "", &again).unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_MODIFIED);
    let other = HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_static("\"x\", W/\"y\""))]);
    assert_eq!(respond("/openapi/v3", "", &other).unwrap().status(), StatusCode::OK);
    let old = respond("/openapi/v3/apis/porch.kpt.dev/v1alpha1", "hash=OLD", &HeaderMap::new()).unwrap();
    assert_eq!(old.status(), StatusCode::MOVED_PERMANENTLY);
    assert!(
        old.headers()[header::LOCATION].to_str().unwrap().starts_with("/openapi/v3/apis/porch.kpt.dev/v1alpha1?hash=")
    );
}

#[tokio::test]
async fn kinds_operations_and_lists_are_marked_as_clients_look_for_them() {
    let (_, _, document) = get("/openapi/v3/apis/porch.kpt.dev/v1alpha1", "").await;
    let kind = json!({"group": "porch.kpt.dev", "version": "v1alpha1", "kind": "PackageRevision"});
    let schemas = &document["components"]["schemas"];
    let revision = &schemas["dev.kpt.porch.v1alpha1.PackageRevision"];
    assert_eq!(revision["x-kubernetes-group-version-kind"], json!([kind]));
    assert_eq!(
        revision["properties"]["metadata"]["allOf"][0]["$ref"],
        "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    );
    let status = &schemas["dev.kpt.porch.v1alpha1.PackageRevisionStatus"]["properties"]["conditions"];
    assert_eq!(
        (&status["x-kubernetes-list-type"], &status["x-kubernetes-list-map-keys"]),
        (&json!("map"), &json!(["type"]))
    );
    let lifecycle = &schemas["dev.kpt.porch.v1alpha1.PackageRevisionSpec"]["properties"]["lifecycle"];
    assert_eq!(lifecycle["enum"], json!(["Draft", "Proposed", "Published", "DeletionProposed"]));
    assert_eq!(lifecycle["type"], "string");
    assert!(lifecycle["description"].as_str().is_some_and(|text| text.starts_with("Where the revision stands:")));
    let patch =
        &document["paths"]["/apis/porch.kpt.dev/v1alpha1/namespaces/{namespace}/packagerevisions/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"], kind);
    for wanted in ["fieldValidation", "fieldManager", "force", "dryRun"] {
        let parameters = patch["parameters"].as_array().unwrap();
        assert!(parameters.iter().any(|p| p["name"] == wanted && p["in"] == "query"), "{wanted}");
    }
    let mut ids: Vec<&str> = Vec::new();
    for item in document["paths"].as_object().unwrap().values() {
        let operations = item.as_object().unwrap().values();
        ids.extend(operations.filter_map(|operation| operation.get("operationId")?.as_str()));
    }
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "each operation has a name of its own");
}

//! What is served, and to whom.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use portico_scheduler::core::{Ended, Outcome};
use portico_scheduler::driver::{Job, RenderBackend, RenderScheduler, Settings};
use portico_scheduler::events::Ring;
use portico_scheduler::model::{ContentVersion, Ending, RevisionKey};
use portico_scheduler::store::embedded::EmbeddedOptions;
use portico_scheduler::store::{EmbeddedStore, NewRevision, PackageStore as _};
use tower::ServiceExt as _;

use super::{FILES, Ui, router};
use crate::auth::{Attributes, Authorizer, Identity};
use crate::record::{RecordLimits, Renders};

struct Idle;

impl RenderBackend for Idle {
    fn render(&self, _: &Job) -> Ended {
        let outcome = Outcome::Rendered { ending: Ending::success(), files: None };
        Ended { outcome, log: Bytes::new(), fuel: 0 }
    }
}

/// A user sees the namespace of their name; nobody else sees anything.
struct Own;

impl Authorizer for Own {
    fn allows(&self, who: &Identity, what: &Attributes<'_>) -> Result<(), String> {
        let page = what.resource.starts_with('/') && &*who.user != "system:anonymous";
        if page || what.namespace == &*who.user { Ok(()) } else { Err(format!("{} may not", who.user)) }
    }
}

async fn ask(ui: &axum::Router, path: &str, user: Option<&str>) -> Response {
    let mut request = Request::get(path).body(Body::empty()).unwrap();
    if let Some(user) = user {
        request.extensions_mut().insert(Identity { user: user.into(), groups: Vec::new().into() });
    }
    ui.clone().oneshot(request).await.unwrap()
}

async fn world() -> (axum::Router, Arc<Renders>, tempfile::TempDir) {
    let file = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(&file.path().join("store"), EmbeddedOptions::default()).unwrap();
    let scheduler = RenderScheduler::new(store, Arc::new(Idle), Arc::new(Ring::new(10)), Settings::default());
    for (namespace, name) in [("anna", "a"), ("anna", "b"), ("bert", "c")] {
        let files = Arc::new([("a.yaml".to_owned(), Bytes::from_static(b"a: b\n"))].into());
        let made = scheduler.store().create(NewRevision::new(namespace, name, "repo", files)).await.unwrap();
        scheduler.changed(made);
    }
    let renders = Renders::new(RecordLimits::default());
    let ui = router(Ui { scheduler, renders: Arc::clone(&renders), authorizer: Arc::new(Own) });
    (ui, renders, file)
}

#[tokio::test]
async fn every_file_is_served_under_a_policy_that_lets_nothing_else_in() {
    let (ui, _, _file) = world().await;
    for (name, kind, content) in FILES {
        let response = ask(&ui, &format!("/ui/{name}"), None).await;
        assert_eq!(response.status(), StatusCode::OK, "{name}");
        let headers = response.headers().clone();
        assert_eq!(headers[header::CONTENT_TYPE], kind);
        assert!(headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap().starts_with("default-src 'self';"));
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(to_bytes(response.into_body(), usize::MAX).await.unwrap(), content);
        let known = Request::get(format!("/ui/{name}")).header(header::IF_NONE_MATCH, &headers[header::ETAG]);
        let again = ui.clone().oneshot(known.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        // Nothing that makes markup of text, and no address elsewhere.
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "https://",
            " style=",
            "onclick=",
        ] {
            assert!(!content.contains(word), "{name}: {word}");
        }
        assert!(!content.replace("http://www.w3.org/2000/svg", "").contains("http://"), "{name}");
    }
    assert_eq!(ask(&ui, "/ui", None).await.headers()[header::LOCATION], "/ui/");
    assert_eq!(ask(&ui, "/ui/..%2fCargo.toml", None).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_queue_shows_a_tenant_to_those_who_may_list_its_revisions() {
    let (ui, renders, _file) = world().await;
    let live = renders.begin(&RevisionKey::new("anna", "a", "uid"), ContentVersion(1));
    for (user, tenants) in [("anna", vec![("anna", 2)]), ("bert", vec![("bert", 1)]), ("carl", vec![])] {
        let response = ask(&ui, "/ui/api/queue", Some(user)).await;
        assert_eq!(response.status(), StatusCode::OK);
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let queue: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let shown = queue["tenants"].as_array().unwrap().iter();
        let shown: Vec<(&str, u64)> =
            shown.map(|row| (row["namespace"].as_str().unwrap(), row["waiting"].as_u64().unwrap())).collect();
        assert_eq!(shown, tenants, "{user}");
        assert_eq!(queue["ready"], 3);
        let running: Vec<&str> =
            queue["renders"].as_array().unwrap().iter().map(|render| render["render"].as_str().unwrap()).collect();
        assert_eq!(running, if user == "anna" { vec![live.id().as_str()] } else { vec![] }, "{user}");
    }
    assert_eq!(ask(&ui, "/ui/api/queue", None).await.status(), StatusCode::FORBIDDEN);
}

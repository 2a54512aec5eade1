//! Namespaces: those that have a package revision. Nobody makes or deletes one; clients that ask for them, as completion and
//! user interfaces do, shall not fail.

use std::sync::Arc;

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::App;
use super::request::{Caller, Target};
use super::selection::Selection;
use super::show::Wanted;
use super::status::Status;
use super::types::Kind;
use super::{list, table, time};

const KIND: Kind = Kind::Namespace;

fn object(name: &str, since_ms: u64, version: u64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {
            "name": name, "uid": format!("namespace-{name}"), "resourceVersion": version.to_string(),
            "creationTimestamp": time::seconds(since_ms), "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
    })
}

fn item(wanted: Wanted, name: &str, since_ms: u64, version: u64) -> Value {
    wanted.item(|| object(name, since_ms, version), || table::namespace(name, since_ms, time::now_ms()))
}

/// Lists them. They can't be watched: a client is told so, and lists again at its own pace.
pub(super) async fn list(app: Arc<App>, caller: Caller) -> Result<Response, Status> {
    if caller.query.watch {
        return Err(Status::method_not_allowed("namespaces can't be watched here: list them"));
    }
    app.authorize(&caller, "list", Target::all(KIND, ""))?;
    let wanted = Wanted::of(&caller, KIND)?;
    let selection = Selection::of(KIND, None, &caller.query)?;
    app.cache.fresh().await?;
    let (namespaces, version) = app.cache.namespaces();
    let selected = namespaces
        .iter()
        .filter(|(name, since)| !selection.selects() || selection.has_object(&object(name, **since, version.0)));
    let items = selected.map(|(name, since)| item(wanted, name, *since, version.0));
    Ok(list::whole(wanted, &json!({"resourceVersion": version.0.to_string()}), items))
}

/// One of them.
pub(super) async fn get(app: Arc<App>, caller: Caller, name: &str) -> Result<Response, Status> {
    app.authorize(&caller, "get", Target::one(KIND, name, name))?;
    let wanted = Wanted::of(&caller, KIND)?;
    app.cache.fresh().await?;
    let (namespaces, version) = app.cache.namespaces();
    let since = namespaces.get(name).ok_or_else(|| Status::not_found(KIND, name))?;
    let version = version.0;
    Ok(Json(wanted.alone(item(wanted, name, *since, version), &version.to_string(), true)).into_response())
}

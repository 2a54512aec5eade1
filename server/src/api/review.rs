//! What a client may ask of itself: who it is, and what it may do. `kubectl auth can-i` and `kubectl auth whoami`.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::App;
use super::request::Caller;
use super::status::{Cause, Status};
use crate::auth::Attributes;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    resource_attributes: Option<ResourceAttributes>,
    non_resource_attributes: Option<PathAttributes>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResourceAttributes {
    namespace: String,
    verb: String,
    group: String,
    resource: String,
    subresource: String,
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PathAttributes {
    path: String,
    verb: String,
}

/// Answers a `SelfSubjectAccessReview`. Everybody may ask.
pub(super) fn access(app: &App, caller: &Caller, mut review: Value) -> Result<Response, Status> {
    let bad =
        |error: serde_json::Error| Status::bad_request(format!("the SelfSubjectAccessReview can't be read: {error}"));
    let spec: Spec = serde_json::from_value(review["spec"].clone()).map_err(bad)?;
    let attributes = match (&spec.resource_attributes, &spec.non_resource_attributes) {
        (Some(asked), None) => Attributes {
            verb: &asked.verb,
            group: &asked.group,
            resource: &asked.resource,
            subresource: &asked.subresource,
            namespace: &asked.namespace,
            name: &asked.name,
        },
        (None, Some(asked)) => {
            Attributes { verb: &asked.verb, group: "", resource: &asked.path, subresource: "", namespace: "", name: "" }
        }
        _ => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            let cause = Cause::required("spec", why);
            return Err(Status::bad_request(format!("spec: {}", cause.message)).because(cause));
        }
    };
    review["status"] = match app.authorizer.allows(&caller.identity, &attributes) {
        Ok(()) => json!({"allowed": true}),
        Err(why) => json!({"allowed": false, "reason": why}),
    };
    Ok((StatusCode::CREATED, Json(review)).into_response())
}

/// Answers a `SelfSubjectReview`. Everybody may ask.
pub(super) fn identity(caller: &Caller) -> Response {
    let identity = &caller.identity;
    let review = json!({
        "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": null},
        "status": {"userInfo": {"username": &*identity.user, "groups": &*identity.groups}},
    });
    (StatusCode::CREATED, Json(review)).into_response()
}

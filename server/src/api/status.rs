//! Errors as Kubernetes' clients expect them.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use portico_scheduler::model::Reason as RenderReason;
use portico_scheduler::store::StoreError;
use serde::{Deserialize, Serialize};

use super::types::Kind;

/// What clients are told to wait before they come back, in seconds, where nobody knows better.
const RETRY_AFTER: u64 = 1;

/// A failure in Kubernetes' own form, as body of an HTTP answer and as object of an `ERROR` event of a watch.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    kind: &'static str,
    api_version: &'static str,
    metadata: Empty,
    #[serde(rename = "status")]
    outcome: &'static str,
    /// What went wrong, in words for people.
    pub message: String,
    /// In one word for programs.
    pub reason: String,
    /// The object, and the causes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Details>>,
    /// The HTTP status code.
    pub code: u16,
}

/// `{}`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Empty {}

/// What a [`Status`] is about.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Details {
    /// The object's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Its resource, as Kubernetes puts it into this field; for invalid objects its kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Its uid.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// One entry a fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// When to come back, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

/// A fault of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// In one word, such as `FieldValueInvalid`.
    pub reason: String,
    /// In words.
    pub message: String,
    /// Where, such as `spec.lifecycle`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
}

impl Cause {
    fn new(reason: &str, field: &str, message: String) -> Self {
        Self { reason: reason.to_owned(), message, field: field.to_owned() }
    }

    /// A value that can't be; `problem` says why and what can.
    pub fn invalid(field: &str, value: &str, problem: &str) -> Self {
        Self::new("FieldValueInvalid", field, format!("Invalid value: {value:?}: {problem}"))
    }

    /// A value that is missing.
    pub fn required(field: &str, problem: &str) -> Self {
        let words = if problem.is_empty() { "Required value".to_owned() } else { format!("Required value: {problem}") };
        Self::new("FieldValueRequired", field, words)
    }

    /// A value that may not be there, or not be changed.
    pub fn forbidden(field: &str, problem: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {problem}"))
    }

    /// A value that is not one of those that can be.
    pub fn not_supported(field: &str, value: &str, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        let words = format!("Unsupported value: {value:?}: supported values: {}", supported.join(", "));
        Self::new("FieldValueNotSupported", field, words)
    }
}

impl Status {
    /// Any failure.
    pub fn new(code: StatusCode, reason: &str, message: impl Into<String>) -> Self {
        Self {
            kind: "Status",
            api_version: "v1",
            metadata: Empty {},
            outcome: "Failure",
            message: message.into(),
            reason: reason.to_owned(),
            details: None,
            code: code.as_u16(),
        }
    }

    /// The answer to a deletion that is done.
    pub fn deleted(kind: Kind, name: &str, uid: &str) -> Self {
        let mut done = Self::new(StatusCode::OK, "", "").about(kind, name);
        done.outcome = "Success";
        if let Some(details) = &mut done.details {
            uid.clone_into(&mut details.uid);
        }
        done
    }

    /// With the object that it is about.
    #[must_use]
    pub fn about(mut self, kind: Kind, name: &str) -> Self {
        let details = self.details.get_or_insert_default();
        name.clone_into(&mut details.name);
        kind.group().clone_into(&mut details.group);
        kind.plural().clone_into(&mut details.kind);
        self
    }

    /// With another cause.
    #[must_use]
    pub fn because(mut self, cause: Cause) -> Self {
        self.details.get_or_insert_default().causes.push(cause);
        self
    }

    /// With a word on when to come back.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = Some(seconds);
        self
    }

    /// There is no such object.
    pub fn not_found(kind: Kind, name: &str) -> Self {
        let message = format!("{} {name:?} not found", kind.qualified());
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(kind, name)
    }

    /// There is no such path.
    pub fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(StatusCode::NOT_FOUND, "NotFound", message)
    }

    /// The name is taken.
    pub fn already_exists(kind: Kind, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", kind.qualified());
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(kind, name)
    }

    /// What the client saw is not what is there, or it can't be done as things stand now.
    pub fn conflict(kind: Kind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", kind.qualified());
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(kind, name)
    }

    /// The object has changed since the client read it, in Kubernetes' words.
    pub fn modified(kind: Kind, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(kind, name, why)
    }

    /// The object has these faults. Must have at least one.
    pub fn invalid(kind: Kind, name: &str, causes: Vec<Cause>) -> Self {
        let group = match kind.group() {
            "" => String::new(),
            group => format!(".{group}"),
        };
        let words: Vec<String> = causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let words = match &words[..] {
            [one] => one.clone(),
            all => format!("[{}]", all.join(", ")),
        };
        let message = format!("{}{group} {name:?} is invalid: {words}", kind.name());
        let mut status = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message);
        status.details = Some(Box::new(Details {
            name: name.to_owned(),
            group: kind.group().to_owned(),
            kind: kind.name().to_owned(),
            causes,
            ..Details::default()
        }));
        status
    }

    /// The request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// The resource has no such verb.
    pub fn method_not_allowed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    /// What was read is not kept any more: list again.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// Not now.
    pub fn unavailable(message: impl Into<String>, retry_after: u64) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message).retry_after(retry_after)
    }

    /// A fault of ours.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
    }

    /// What the store says, of an object of this kind and name.
    pub fn of_store(error: &StoreError, kind: Kind, name: &str) -> Self {
        let said = || error.to_string();
        match error {
            StoreError::NotFound(_) | StoreError::NoSuchName { .. } => Self::not_found(kind, name),
            StoreError::Exists(_) => Self::already_exists(kind, name),
            StoreError::Conflict { .. } => Self::modified(kind, name),
            StoreError::AlreadyFinished { .. } => Self::conflict(kind, name, &said()),
            // Another try may pass: as a conflict, and not as an invalid object, so that clients tell them apart.
            StoreError::RenderPending { content, to, .. } => {
                let why = format!(
                    "it can't become {to:?}: render pending for version {}; wait until the condition RenderFinished is True",
                    content.0
                );
                let cause = Cause::new("RenderPending", "spec.lifecycle", why.clone());
                Self::conflict(kind, name, &why).because(cause).retry_after(RETRY_AFTER)
            }
            StoreError::RenderFailed { content, reason, to, .. } => {
                let cancelled = *reason == RenderReason::Cancelled;
                let verb = if cancelled { "was cancelled" } else { "failed" };
                let why = format!(
                    "Forbidden: it can't become {to:?}: the render of version {} {verb} ({}); change the package and let it \
                     render",
                    content.0,
                    reason.as_str()
                );
                Self::invalid(kind, name, vec![Cause::new("RenderFailed", "spec.lifecycle", why)])
            }
            StoreError::Lifecycle { from, to, .. } => {
                let why = format!("it is {from:?} and can't become {to:?}");
                Self::invalid(kind, name, vec![Cause::forbidden("spec.lifecycle", &why)])
            }
            StoreError::NotADraft { lifecycle, .. } => {
                let why = format!("it is {lifecycle:?}: only the files of a draft can change");
                Self::invalid(kind, name, vec![Cause::forbidden("spec.resources", &why)])
            }
            StoreError::NoFiles(_) => {
                let why = "a package has at least one file";
                Self::invalid(kind, name, vec![Cause::required("spec.resources", why)])
            }
            StoreError::Invalid { what, value, problem, .. } => {
                let field = match *what {
                    "path" => "spec.resources",
                    "repository" => "spec.repository",
                    "namespace" => "metadata.namespace",
                    _ => "metadata.name",
                };
                Self::invalid(kind, name, vec![Cause::invalid(field, value, problem)])
            }
            StoreError::TooLarge { what, size, limit, max, .. } => {
                let message = format!("{what} is {size}, and the limit `{limit}` is {max}");
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message).about(kind, name)
            }
            StoreError::TooOld { after } => {
                Self::expired(format!("too old resource version: {}; list again", after.0)).about(kind, name)
            }
            StoreError::NoSuchContent { .. } => Self::expired(said()).about(kind, name),
            // What exactly is for the operator's log: it may name files, and other tenants' objects.
            StoreError::Corrupt { .. } => {
                tracing::error!(%error, "the store is damaged");
                Self::internal("the store is damaged; the operator finds more in the server's log").about(kind, name)
            }
            StoreError::Incomplete(_)
            | StoreError::NotRegistered(_)
            | StoreError::Unavailable { .. }
            | StoreError::Full { .. }
            | StoreError::Io { .. }
            | StoreError::Closed => {
                tracing::warn!(%error, "the store does not answer");
                let after = error.retry_after().map_or(RETRY_AFTER, |after| after.as_secs().max(1));
                let why = match error {
                    StoreError::Full { .. } => "there is no room left in the store: nothing was written",
                    _ => "the store does not answer at the moment; try again",
                };
                Self::unavailable(why, after).about(kind, name)
            }
        }
    }
}

impl IntoResponse for Status {
    fn into_response(self) -> Response {
        let code = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry_after = self.details.as_ref().and_then(|details| details.retry_after_seconds);
        let mut response = (code, Json(self)).into_response();
        // For what is over and done with, as a conflict, coming back is the client's own decision.
        if let Some(seconds) = retry_after
            && matches!(code, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
        {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use portico_scheduler::model::{ContentVersion, Lifecycle, RevisionKey};

    use super::*;

    fn key() -> RevisionKey {
        RevisionKey::new("ns", "a", "1")
    }

    #[test]
    fn a_pending_render_is_a_conflict_with_its_version_and_a_failed_one_is_not() {
        let pending = StoreError::RenderPending { key: key(), content: ContentVersion(7), to: Lifecycle::Proposed };
        let status = Status::of_store(&pending, Kind::PackageRevision, "a");
        assert_eq!((status.code, &*status.reason), (409, "Conflict"));
        let causes = &status.details.as_ref().unwrap().causes;
        assert_eq!((&*causes[0].reason, &*causes[0].field), ("RenderPending", "spec.lifecycle"));
        assert!(status.message.contains("render pending for version 7"), "{}", status.message);

        let failed = StoreError::RenderFailed {
            key: key(),
            content: ContentVersion(7),
            reason: RenderReason::RenderFailed,
            to: Lifecycle::Proposed,
        };
        let status = Status::of_store(&failed, Kind::PackageRevision, "a");
        assert_eq!((status.code, &*status.reason), (422, "Invalid"));
        assert_eq!(status.details.as_ref().unwrap().causes[0].reason, "RenderFailed");
    }

    #[test]
    fn the_form_is_kubernetes_own() {
        let status = Status::not_found(Kind::PackageRevision, "a");
        let json = serde_json::to_value(&status).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "packagerevisions.porch.kpt.dev \"a\" not found", "reason": "NotFound",
                "details": {"name": "a", "group": "porch.kpt.dev", "kind": "packagerevisions"}, "code": 404,
            })
        );
    }

    #[test]
    fn several_faults_are_one_message() {
        let causes =
            vec![Cause::required("spec.packageName", ""), Cause::invalid("spec.repository", "A", "is no name")];
        let status = Status::invalid(Kind::PackageRevision, "a", causes);
        assert_eq!(
            status.message,
            "PackageRevision.porch.kpt.dev \"a\" is invalid: [spec.packageName: Required value, spec.repository: Invalid \
             value: \"A\": is no name]"
        );
    }

    #[test]
    fn overload_says_when_to_come_back() {
        let response = Status::unavailable("no", 3).into_response();
        assert_eq!(response.headers()[header::RETRY_AFTER], "3");
    }
}

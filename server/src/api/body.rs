//! What clients send, read into typed objects.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::App;
use super::request::Caller;
use super::status::Status;
use super::types::Kind;
use crate::patch::PatchError;
use crate::schema::{self, Body, BodyError, DecodeError, FieldValidation, Format, Limits};

/// What a client is told beside the answer, in the `Warning` header.
pub(super) type Warnings = Vec<String>;

/// The bytes of a body.
pub(super) fn bytes(body: Result<Bytes, BytesRejection>) -> Result<Bytes, Status> {
    body.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let message =
                "the body is larger than this server takes: send less, or ask the operator for a larger limit";
            Status::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
        }
        _ => Status::bad_request(format!("the body can't be read: {error}")),
    })
}

impl From<BodyError> for Status {
    fn from(error: BodyError) -> Self {
        coded(error.status(), error.to_string())
    }
}

impl From<DecodeError> for Status {
    fn from(error: DecodeError) -> Self {
        coded(error.status(), error.to_string())
    }
}

impl From<PatchError> for Status {
    fn from(error: PatchError) -> Self {
        let causes = error.causes();
        causes.into_iter().fold(coded(error.status(), error.to_string()), Self::because)
    }
}

fn coded((code, reason): (u16, &str), message: String) -> Status {
    Status::new(StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST), reason, message)
}

impl App {
    /// The bounds of what is decoded.
    pub(super) fn body_limits(&self) -> Limits {
        Limits { bytes: self.limits.body_bytes, ..Limits::default() }
    }

    /// The object that a client sends.
    pub(super) fn read(&self, caller: &Caller, body: &[u8], kind: Kind) -> Result<(Value, Warnings), Status> {
        let format = Format::of(Some(&*caller.content_type))?;
        let Body { value, duplicates } = Body::read(body, format, &self.body_limits())?;
        let warnings = check_fields(caller, kind, &value, &duplicates)?;
        Ok((value, warnings))
    }
}

/// Looks for fields that are unknown or stand there twice, as `fieldValidation` says.
pub(super) fn check_fields(
    caller: &Caller,
    kind: Kind,
    value: &Value,
    duplicates: &[String],
) -> Result<Warnings, Status> {
    let validation = FieldValidation::parse(caller.query.validation.as_deref())?;
    Ok(schema::validate(value, duplicates, schema::structure(kind), validation)?)
}

/// A JSON value as a typed object. Null is as good as nothing, as it is in Kubernetes.
pub(super) fn typed<T: DeserializeOwned>(value: Value, kind: Kind) -> Result<T, Status> {
    schema::typed(value, schema::structure(kind)).map_err(|error: DecodeError| {
        let (kind, version) = (kind.name(), kind.version());
        let message = format!("{kind} in version {version:?} cannot be handled as a {kind}: {error}");
        coded(error.status(), message)
    })
}

/// The answer with what the client should know besides.
pub(super) fn with_warnings(mut response: Response, warnings: &[String]) -> Response {
    for warning in schema::warning_headers(warnings) {
        if let Ok(value) = HeaderValue::try_from(warning) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    response
}

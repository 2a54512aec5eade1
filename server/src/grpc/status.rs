//! Statuses that clients can act on: what to do in words, when to come back in details.

use std::time::Duration;

use bytes::Bytes;
use prost::Message as _;
use prost_types::Any;
use tonic::{Code, Status};
use tonic_types::pb::RetryInfo;

use super::pool::PoolError;
use super::settings::{Settings, TEXT_BYTES};
use super::text::condition_safe;

/// The text of a status, safe for wherever it ends.
pub(crate) fn safe(text: &str) -> String {
    condition_safe(text, TEXT_BYTES)
}

/// A status with details (`grpc-status-details-bin`).
pub(crate) fn with_details(code: Code, text: &str, details: Vec<Any>) -> Status {
    let text = safe(text);
    let status = tonic_types::Status { code: code.into(), message: text.clone(), details };
    Status::with_details(code, text, Bytes::from(status.encode_to_vec()))
}

/// A message with the full name of its type.
pub(crate) fn any(name: &str, message: &impl prost::Message) -> Any {
    Any { type_url: format!("type.googleapis.com/{name}"), value: message.encode_to_vec() }
}

/// One that asks to come back.
pub(crate) fn come_back(code: Code, text: &str, after: Duration) -> Status {
    let retry = RetryInfo { retry_delay: prost_types::Duration::try_from(after).ok() };
    with_details(code, text, vec![any("google.rpc.RetryInfo", &retry)])
}

/// The caller has waited for as long as it said.
pub(crate) fn deadline(timeout: Duration) -> Status {
    Status::deadline_exceeded(format!("the call did not end within the {timeout:?} of its `grpc-timeout`"))
}

pub(crate) fn message_too_large(most: usize) -> Status {
    let text = format!("the request is larger than the {most} bytes that this server reads (`grpc.receiveBytes`)");
    Status::resource_exhausted(text)
}

pub(crate) fn too_much_held(most: u64, after: Duration) -> Status {
    let text =
        format!("all requests together hold more than the {most} bytes that they may (`grpc.heldBytes`); try again");
    come_back(Code::ResourceExhausted, &text, after)
}

/// What those are told whose call would go on for ever.
pub(crate) const LEAVING: &str = "this server stops; go on with another one";

pub(crate) fn too_many_last(most: usize, after: Duration) -> Status {
    let text = format!("{most} calls that last are there already (`grpc.lasting`); try again");
    come_back(Code::ResourceExhausted, &text, after)
}

pub(crate) fn of_pool(error: PoolError, settings: &Settings) -> Status {
    match error {
        PoolError::Full(_) | PoolError::Waited(_) => {
            come_back(Code::Unavailable, &format!("{error}; try again"), settings.retry_after)
        }
        PoolError::Panicked => Status::internal(error.to_string()),
    }
}

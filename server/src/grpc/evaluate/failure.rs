//! The error table: what a caller is told of a function that did not pass.

use std::fmt::Write as _;

use bytes::Bytes;
use portico_krm::ResourceList;
use portico_krm::yaml::ParseLimits;
use portico_runtime::{CallError, Cause, FunctionReply, LimitName};
use prost::Message as _;
use tonic::{Code, Status};
use tonic_types::pb::BadRequest;
use tonic_types::pb::bad_request::FieldViolation;

use super::bytes_of;
use crate::grpc::proto::v1::FunctionFailure;
use crate::grpc::settings::TEXT_BYTES;
use crate::grpc::status::{any, safe, with_details};
use crate::grpc::text::ends;

/// The type of the details.
const FAILURE: &str = "portico.v1.FunctionFailure";

/// Longest part of the text that each of results and standard error takes.
const PART: usize = TEXT_BYTES * 3 / 8;

/// A call that did not take place.
pub(super) fn call_error(error: CallError) -> Status {
    let text = safe(&error.to_string());
    match error {
        CallError::Name(_) => wrong("image", &text),
        CallError::Input { too_large: false, .. } => wrong("resource_list", &text),
        CallError::Input { too_large: true, .. } => Status::resource_exhausted(text),
        CallError::NotFound { image, text } => not_found(&image, &text),
        CallError::Unusable { image, text, cause } => {
            let failure = FunctionFailure {
                image: image.clone(),
                exit_code: 1,
                cause: cause.as_str().to_owned(),
                error: safe(&text),
                ..FunctionFailure::default()
            };
            with_details(
                code_of(cause),
                &format!("function `{image}` cannot be used: {text}"),
                vec![any(FAILURE, &failure)],
            )
        }
        CallError::Refused(_) => Status::failed_precondition(text),
        _ => Status::cancelled(text),
    }
}

/// A field of the request cannot be used: in words, and for programs.
pub(super) fn wrong(field: &str, text: &str) -> Status {
    let violation = FieldViolation { field: field.to_owned(), description: safe(text), ..FieldViolation::default() };
    let wrong = BadRequest { field_violations: vec![violation] };
    with_details(Code::InvalidArgument, text, vec![any("google.rpc.BadRequest", &wrong)])
}

/// No module is known by the name.
pub(super) fn not_found(image: &str, text: &str) -> Status {
    let text = if text.contains(image) { text.to_owned() } else { format!("function `{image}`: {text}") };
    Status::not_found(safe(&text))
}

/// The image stands outside what the operator allows.
pub(super) fn not_allowed(image: &str, prefixes: &[String]) -> Status {
    let allowed: Vec<String> = prefixes.iter().map(|prefix| format!("`{prefix}`")).collect();
    let text = format!(
        "function `{image}` is not taken from there: this server takes functions from {} alone",
        if allowed.is_empty() { "nowhere".to_owned() } else { allowed.join(", ") }
    );
    Status::not_found(safe(&text))
}

pub(super) fn response_too_large(image: &str, size: usize, most: usize) -> Status {
    let text = format!(
        "function `{image}` passed, and its answer of {size} bytes is larger than the {most} that may be sent; raise the \
         limit of the client and `grpc.sendBytes` of the server, or make the package smaller"
    );
    Status::resource_exhausted(safe(&text))
}

/// A function that ran and failed: text for people, details for programs.
pub(super) fn not_passed(reply: &FunctionReply, details_bytes: usize, limits: &ParseLimits) -> Status {
    let Some((cause, error)) = &reply.failure else { return Status::internal("a function that passed has failed") };
    let mut text = format!("function `{}` failed: {error}", reply.image);
    let mut results = String::new();
    for result in &reply.results {
        let severity = result.severity.as_deref().unwrap_or("info");
        let _ = write!(results, "{}[{severity}] {}", if results.is_empty() { "" } else { "; " }, result.message);
        if results.len() > 2 * PART {
            break;
        }
    }
    if !results.is_empty() {
        let _ = write!(text, "; results: {}", ends(&results, PART));
    }
    let stderr = String::from_utf8_lossy(&reply.stderr);
    let stderr = stderr.trim();
    if !stderr.is_empty() {
        let _ = write!(text, "; stderr: {}", ends(stderr, PART));
    }
    let failure = details(reply, *cause, error, details_bytes, limits);
    with_details(code_of(*cause), &text, vec![any(FAILURE, &failure)])
}

fn code_of(cause: Cause) -> Code {
    match cause {
        Cause::NotFound => Code::NotFound,
        Cause::Limit(LimitName::StepTime | LimitName::RenderTime) => Code::DeadlineExceeded,
        Cause::Limit(_) => Code::ResourceExhausted,
        _ => Code::Internal,
    }
}

/// What fits into this many bytes of a failure.
fn details(reply: &FunctionReply, cause: Cause, error: &str, most: usize, limits: &ParseLimits) -> FunctionFailure {
    let mut failure = FunctionFailure {
        image: reply.image.clone(),
        exit_code: reply.exit_code,
        cause: cause.as_str().to_owned(),
        error: safe(error),
        truncated: reply.stderr_dropped > 0,
        ..FunctionFailure::default()
    };
    let mut room = most.saturating_sub(failure.encoded_len() + 64);
    let list = ResourceList::parse(&reply.output, limits).ok();
    // Half of the room at most: results say more than standard error.
    let stderr_most = if list.is_some() { room / 2 } else { room };
    if reply.stderr.len() <= stderr_most {
        failure.stderr = Bytes::copy_from_slice(&reply.stderr);
    } else {
        failure.truncated = true;
        let text = String::from_utf8_lossy(&reply.stderr);
        failure.stderr = if stderr_most < 128 { Bytes::new() } else { bytes_of(ends(&text, stderr_most).into_owned()) };
    }
    room = room.saturating_sub(failure.stderr.len());
    if let Some(list) = list {
        let (kept, whole) = within(list, &reply.output, room);
        failure.resource_list = kept;
        failure.truncated |= !whole;
    }
    failure
}

/// The list as it was written if that fits, else as many of its results as do, without items. Whether that is all.
fn within(mut list: ResourceList, written: &[u8], room: usize) -> (Bytes, bool) {
    if written.len() <= room {
        return (Bytes::copy_from_slice(written), true);
    }
    list.items.clear();
    list.function_config = None;
    loop {
        let text = list.to_yaml();
        if text.len() <= room {
            return (bytes_of(text), false);
        }
        if list.results.is_empty() {
            return (Bytes::new(), false);
        }
        // Halved, so that many results cost little.
        list.results.truncate(list.results.len() / 2);
    }
}

#[cfg(test)]
mod tests {
    use portico_krm::FunctionResult;

    use super::*;

    fn failed(results: usize, stderr: &str) -> FunctionReply {
        let list = ResourceList {
            results: (0..results).map(|n| FunctionResult::new("error", format!("value {n} is wrong"))).collect(),
            ..ResourceList::default()
        };
        FunctionReply {
            image: "reg.io/f:v1".to_owned(),
            exit_code: 3,
            output: list.to_yaml().into_bytes(),
            results: list.results,
            stderr: stderr.as_bytes().to_vec(),
            failure: Some((Cause::Exit, "it ended with exit code 3".to_owned())),
            ..FunctionReply::default()
        }
    }

    fn detail(status: &Status) -> FunctionFailure {
        let status = tonic_types::Status::decode(status.details()).unwrap();
        assert_eq!(status.details[0].type_url, "type.googleapis.com/portico.v1.FunctionFailure");
        FunctionFailure::decode(&*status.details[0].value).unwrap()
    }

    #[test]
    fn a_failure_tells_people_and_programs() {
        let reply = failed(1, "first line\nsecond\x1b line\n");
        let status = not_passed(&reply, 16 << 10, &ParseLimits::default());
        assert_eq!(status.code(), Code::Internal);
        assert_eq!(
            status.message(),
            "function `reg.io/f:v1` failed: it ended with exit code 3; results: [error] value 0 is wrong; \
             stderr: first line | second\\u{1b} line"
        );
        let failure = detail(&status);
        assert_eq!((failure.exit_code, &*failure.cause, failure.truncated), (3, "exit", false));
        assert_eq!(failure.resource_list, reply.output);
        assert_eq!(failure.stderr, reply.stderr);
    }

    #[test]
    fn text_and_details_stay_within_their_bounds() {
        let reply = failed(5_000, &"x\n".repeat(500_000));
        for most in [0, 100, 1_000, 16 << 10] {
            let status = not_passed(&reply, most, &ParseLimits::default());
            assert!(status.message().len() <= TEXT_BYTES);
            assert!(status.message().contains("value 0 is wrong"), "{}", status.message());
            let failure = detail(&status);
            assert!(failure.truncated);
            assert!(failure.encoded_len() <= most.max(200), "{most}: {}", failure.encoded_len());
            if most > 1_000 {
                let list = ResourceList::parse(&failure.resource_list, &ParseLimits::default()).unwrap();
                assert!(list.results.len() > 20);
            }
        }
    }

    #[test]
    fn each_cause_has_its_code() {
        for (cause, code) in [
            (Cause::Exit, Code::Internal),
            (Cause::BadOutput, Code::Internal),
            (Cause::Limit(LimitName::StepTime), Code::DeadlineExceeded),
            (Cause::Limit(LimitName::Fuel), Code::ResourceExhausted),
            (Cause::Limit(LimitName::Memory), Code::ResourceExhausted),
        ] {
            let reply = FunctionReply { failure: Some((cause, "it".to_owned())), ..failed(0, "") };
            assert_eq!(not_passed(&reply, 1_000, &ParseLimits::default()).code(), code, "{cause:?}");
        }
    }
}

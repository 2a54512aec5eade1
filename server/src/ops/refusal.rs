//! Answers that the listener gives itself, as Kubernetes' `Status` objects.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};

/// Why a request was not passed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("no credentials, or none that are known here; send a bearer token or a client certificate")]
    Unauthenticated,
    #[error("user `{user}` may not {verb} the path `{path}`: {why}")]
    Forbidden { user: String, verb: String, path: String, why: String },
    #[error("{0}")]
    Foreign(String),
    #[error("{what} (`requests.{setting}`); try again later")]
    Overload { what: &'static str, setting: &'static str, after: Duration },
    #[error("the body has more than {0} bytes, which is `requests.bodyBytes`")]
    TooLarge(u64),
    #[error("the body did not come within {}, which is `requests.time`", humantime::format_duration(*.0))]
    SlowBody(Duration),
    #[error("the body can't be read: {0}")]
    BrokenBody(String),
    #[error("there was no answer within {}, which is `requests.time`; it may come to pass all the same", humantime::format_duration(*.0))]
    NoAnswer(Duration),
}

impl Refusal {
    /// The reason word of Kubernetes, and the code.
    fn class(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Unauthenticated => (StatusCode::UNAUTHORIZED, "Unauthorized"),
            Self::Forbidden { .. } | Self::Foreign(_) => (StatusCode::FORBIDDEN, "Forbidden"),
            Self::Overload { .. } => (StatusCode::TOO_MANY_REQUESTS, "TooManyRequests"),
            Self::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge"),
            Self::SlowBody(_) => (StatusCode::REQUEST_TIMEOUT, "Timeout"),
            Self::BrokenBody(_) => (StatusCode::BAD_REQUEST, "BadRequest"),
            Self::NoAnswer(_) => (StatusCode::GATEWAY_TIMEOUT, "Timeout"),
        }
    }

    /// The setting of `requests` that refuses it, if one does.
    pub(crate) fn setting(&self) -> Option<&'static str> {
        match self {
            Self::Overload { setting, .. } => Some(setting),
            Self::TooLarge(_) => Some("bodyBytes"),
            Self::SlowBody(_) | Self::NoAnswer(_) => Some("time"),
            Self::Unauthenticated | Self::Forbidden { .. } | Self::Foreign(_) | Self::BrokenBody(_) => None,
        }
    }

    /// The answer.
    pub(crate) fn response(&self) -> Response<Body> {
        let (code, reason) = self.class();
        let mut status = serde_json::json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.to_string(),
            "reason": reason,
            "code": code.as_u16(),
        });
        let after = match self {
            // Whole seconds, at least one: zero would be asked again at once.
            Self::Overload { after, .. } => {
                Some(after.as_secs() + u64::from(after.subsec_nanos() > 0)).map(|s| s.max(1))
            }
            _ => None,
        };
        if let Some(seconds) = after {
            status["details"] = serde_json::json!({ "retryAfterSeconds": seconds });
        }
        let mut response = Response::new(Body::from(status.to_string()));
        *response.status_mut() = code;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if *self == Self::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overload_says_when_to_come_back_in_whole_seconds() {
        for (after, seconds) in [(0, "1"), (1, "1"), (1_000, "1"), (1_001, "2")] {
            let refusal =
                Refusal::Overload { what: "too much", setting: "inFlight", after: Duration::from_millis(after) };
            let response = refusal.response();
            assert_eq!(response.status(), 429);
            assert_eq!(response.headers()[header::RETRY_AFTER], seconds, "{after}");
        }
    }

    #[test]
    fn who_is_not_known_is_told_how_to_be() {
        let response = Refusal::Unauthenticated.response();
        assert_eq!(response.headers()[header::WWW_AUTHENTICATE], "Bearer");
    }
}

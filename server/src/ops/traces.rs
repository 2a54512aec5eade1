//! Spans of requests, and where they go.

use axum::http::Request;
use tracing::Span;

/// The span of a request; what is told within it carries its fields.
pub(crate) fn request_span<B>(request: &Request<B>) -> Span {
    let method = request.method().as_str();
    tracing::debug_span!("request", method, path = request.uri().path())
}

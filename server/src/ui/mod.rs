//! The page at `/ui`, for people who would rather look than read.
//!
//! Its files are part of the program, and it asks for nothing from elsewhere: its policy lets a browser load from this server
//! alone. It has no rights of its own. The files hold nothing that is anybody's, so that everybody may have them; what they
//! show they get from the Kubernetes API with the token of whoever looks. `/ui/api/queue` is the one answer that is its own.

mod queue;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use sha2::{Digest as _, Sha256};

pub use queue::{Queue, Rendering, TenantQueue};

use crate::Scheduler;
use crate::auth::Authorizer;
use crate::record::Renders;

/// Loads from this server alone, runs no text as program, sends no form, and stands in no other page.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

/// What is served: name, type, content.
const FILES: [(&str, &str, &str); 9] = [
    ("", "text/html; charset=utf-8", include_str!("assets/index.html")),
    ("style.css", "text/css; charset=utf-8", include_str!("assets/style.css")),
    ("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
    ("app.js", SCRIPT, include_str!("assets/app.js")),
    ("api.js", SCRIPT, include_str!("assets/api.js")),
    ("dom.js", SCRIPT, include_str!("assets/dom.js")),
    ("list.js", SCRIPT, include_str!("assets/list.js")),
    ("render.js", SCRIPT, include_str!("assets/render.js")),
    ("queue.js", SCRIPT, include_str!("assets/queue.js")),
];

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// What the page needs of the server.
pub struct Ui {
    /// Knows the queue.
    pub scheduler: Scheduler,
    /// Knows what runs.
    pub renders: Arc<Renders>,
    /// Who may see which tenant.
    pub authorizer: Arc<dyn Authorizer>,
}

/// `/ui` and all below it.
pub fn router(ui: Ui) -> Router {
    Router::new()
        .route("/ui", get(|| async { Redirect::permanent("/ui/") }))
        .route("/ui/", get(|headers: HeaderMap| async move { file("", &headers) }))
        .route("/ui/{file}", get(|Path(name): Path<String>, headers: HeaderMap| async move { file(&name, &headers) }))
        .route("/ui/api/queue", get(queue::queue))
        .with_state(Arc::new(ui))
}

fn file(name: &str, headers: &HeaderMap) -> Response {
    let Some((_, kind, content)) = FILES.iter().find(|(known, ..)| *known == name) else {
        return (StatusCode::NOT_FOUND, "there is no such file; the page is at `/ui/`\n").into_response();
    };
    let tag = tag(content);
    let same = headers.get_all(header::IF_NONE_MATCH).iter().any(|known| *known == tag);
    let mut response =
        if same { StatusCode::NOT_MODIFIED.into_response() } else { (*content).to_owned().into_response() };
    let fixed = [
        (header::CONTENT_TYPE, *kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        // Another version of the program has other files, which belong together.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response.headers_mut().insert(header::ETAG, tag);
    response
}

/// Says which content it is.
fn tag(content: &str) -> HeaderValue {
    let digest: [u8; 32] = Sha256::digest(content).into();
    let mut start = String::new();
    for byte in &digest[..12] {
        // A string never fails to take text.
        _ = write!(start, "{byte:02x}");
    }
    // Digits and quotes are always a header's value.
    HeaderValue::from_str(&format!("\"{start}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

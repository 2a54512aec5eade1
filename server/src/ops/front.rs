//! What every request passes before its handler: who sends it, whether there is room, its body, its time.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Method, Request, Response, header, request};
use hyper::body::Incoming;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use tracing::Instrument as _;

use super::admission::{Admission, Lasting, Pass};
use super::body::{Guarded, Until, read};
use super::listen::Peer;
use super::metrics::Metrics;
use super::refusal::Refusal;
use super::site::foreign;
use super::traces;
use crate::auth::{Attributes, Authenticator, Authorizer, Identity};

/// Paths whose handlers ask the authorizer themselves; discovery is for everybody who is known.
const ASKING: [&str; 5] = ["/api", "/apis", "/openapi", "/version", "/ui"];

/// Where the page is. Its files say nothing of anybody; what it shows is asked of the API with the reader's credentials.
const PAGE: &str = "/ui";

/// What the page asks for besides the API.
const PAGE_DATA: &str = "/ui/api/";

/// Everything behind the listener.
pub(crate) struct Front {
    pub(crate) admission: Arc<Admission>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) metrics: Arc<Metrics>,
    /// Handlers that ask nobody who they are.
    pub(crate) health: Router,
    /// All others.
    pub(crate) router: Router,
    /// Watches end when this is cancelled.
    pub(crate) ending: CancellationToken,
}

impl Front {
    /// Answers a request.
    pub(crate) async fn answer(&self, peer: &Peer, request: Request<Incoming>) -> Response<Body> {
        let span = traces::request_span(&request);
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let begun = Instant::now();
        async {
            let response = self.admitted(peer, request).await.unwrap_or_else(|refusal| self.refused(&refusal));
            let (status, elapsed) = (response.status().as_u16(), begun.elapsed());
            traces::answered(status);
            tracing::debug!(%method, path, status, ?elapsed, "answered");
            response
        }
        .instrument(span)
        .await
    }

    /// The answer to what is refused here. It is counted by the limit that refuses it.
    pub(crate) fn refused(&self, refusal: &Refusal) -> Response<Body> {
        if let Some(setting) = refusal.setting() {
            self.metrics.refused(setting);
        }
        refusal.response()
    }

    async fn admitted(&self, peer: &Peer, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        let path = request.uri().path();
        if is_below(path, &["/livez", "/readyz", "/healthz"]) {
            // Whoever looks after this process must not be refused because others ask too much.
            return Ok(handle(&self.health, request.map(|_| Body::empty())).await);
        }
        let (mut parts, incoming) = request.into_parts();
        if !self.authenticator.is_required()
            && let Some(why) = foreign(&parts, peer)
        {
            return Err(Refusal::Foreign(why));
        }
        let public = is_page(&parts);
        let who = match self.authenticator.identify(peer.certificate.as_ref(), &parts.headers) {
            Ok(who) => who,
            Err(_) if public => Identity::anonymous(),
            Err(_) => {
                // Guessing has a bound, too.
                drop(self.admission.enter(&at_address("unauthenticated", peer), Lasting::Request)?);
                return Err(Refusal::Unauthenticated);
            }
        };
        if !public {
            self.authorized(&who, &parts)?;
        }
        let lasting = lasting(&parts);
        let mut pass = self.admission.enter(&counted_as(&who, peer), lasting)?;
        let limits = self.admission.limits();
        let deadline = Instant::now().checked_add(limits.time);
        let body =
            within(deadline, read(incoming, &limits, &mut pass)).await.ok_or(Refusal::SlowBody(limits.time))??;
        parts.extensions.insert(who);
        let request = Request::from_parts(parts, Body::from(body));
        let response = within(deadline, handle(&self.router, request)).await;
        let response = response.ok_or(Refusal::NoAnswer(limits.time))?;
        Ok(self.guarded(response, lasting, deadline, pass))
    }

    /// Paths that are no resources are asked about here.
    fn authorized(&self, who: &Identity, parts: &request::Parts) -> Result<(), Refusal> {
        let path = parts.uri.path();
        if is_below(path, &ASKING) {
            return Ok(());
        }
        let verb = parts.method.as_str().to_ascii_lowercase();
        let what = Attributes { verb: &verb, group: "", resource: path, subresource: "", namespace: "", name: "" };
        self.authorizer.allows(who, &what).map_err(|why| Refusal::Forbidden {
            user: who.user.to_string(),
            verb: verb.clone(),
            path: path.to_owned(),
            why,
        })
    }

    fn guarded(
        &self,
        response: Response<Body>,
        lasting: Lasting,
        deadline: Option<Instant>,
        pass: Pass,
    ) -> Response<Body> {
        let until = match (lasting, deadline) {
            (Lasting::Request, Some(at)) => Until::deadline(at),
            // Without a deadline it ends with the server at the latest.
            (Lasting::Request, None) | (Lasting::Watch, _) => Until::ending(&self.ending),
        };
        response.map(|body| Body::new(Guarded::new(body, until, pass)))
    }
}

/// The future's value, unless the deadline comes first.
async fn within<T>(deadline: Option<Instant>, future: impl Future<Output = T>) -> Option<T> {
    match deadline {
        Some(at) => tokio::time::timeout_at(at, future).await.ok(),
        None => Some(future.await),
    }
}

async fn handle(router: &Router, request: Request<Body>) -> Response<Body> {
    let mut response = match router.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    // Nothing here is for a cache or for a guess at its kind.
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// True for one of these paths and whatever is below them.
fn is_below(path: &str, tops: &[&str]) -> bool {
    tops.iter().any(|top| path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// True for the files of the page.
fn is_page(parts: &request::Parts) -> bool {
    let path = parts.uri.path();
    let reads = matches!(parts.method, Method::GET | Method::HEAD);
    reads && (path == "/" || is_below(path, &[PAGE]) && !path.starts_with(PAGE_DATA))
}

/// How long a request may last, by its query.
fn lasting(parts: &request::Parts) -> Lasting {
    let asks = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        matches!(key, "watch" | "follow") && matches!(value, "" | "1" | "true" | "True" | "TRUE" | "t" | "T")
    };
    let lasts = parts.method == Method::GET && parts.uri.query().unwrap_or_default().split('&').any(asks);
    if lasts { Lasting::Watch } else { Lasting::Request }
}

/// The name by which a user is counted: those without credentials by where they come from.
fn counted_as(who: &Identity, peer: &Peer) -> Arc<str> {
    if *who == Identity::anonymous() { at_address(&who.user, peer) } else { Arc::clone(&who.user) }
}

fn at_address(name: &str, peer: &Peer) -> Arc<str> {
    // No user's name has a line break that a header or a certificate could bring: nobody counts as another one.
    let mut text = format!("{name}\n");
    if let Some(address) = peer.address {
        // A string never fails to take text.
        _ = write!(text, "{address}");
    }
    text.into()
}

/// The most that a body may have, for handlers that would bound it themselves: it has been bounded.
pub(crate) fn unbounded() -> axum::extract::DefaultBodyLimit {
    axum::extract::DefaultBodyLimit::disable()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(method: &str, uri: &str) -> request::Parts {
        Request::builder().method(method).uri(uri).body(()).expect("a request").into_parts().0
    }

    #[test]
    fn watches_and_followed_logs_last() {
        for (method, uri, expected) in [
            ("GET", "/apis/a?watch=1", Lasting::Watch),
            ("GET", "/apis/a?limit=5&watch=true", Lasting::Watch),
            ("GET", "/apis/a/log?follow=true", Lasting::Watch),
            ("GET", "/apis/a?watch", Lasting::Watch),
            ("GET", "/apis/a?watch=false", Lasting::Request),
            ("GET", "/apis/a?fieldSelector=watch=1", Lasting::Request),
            ("POST", "/apis/a?watch=1", Lasting::Request),
            ("GET", "/watch", Lasting::Request),
        ] {
            assert_eq!(lasting(&parts(method, uri)), expected, "{method} {uri}");
        }
    }

    #[test]
    fn only_the_pages_files_are_for_everybody() {
        for (method, uri, expected) in [
            ("GET", "/", true),
            ("GET", "/ui", true),
            ("GET", "/ui/page.css?x=/ui/api/", true),
            ("GET", "/ui/api/queue", false),
            ("POST", "/ui/page.css", false),
            ("GET", "/uix", false),
            ("GET", "/metrics", false),
            ("GET", "/apis", false),
        ] {
            assert_eq!(is_page(&parts(method, uri)), expected, "{method} {uri}");
        }
    }
}

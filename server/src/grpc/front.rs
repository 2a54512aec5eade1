//! What every call passes before its service: its deadline, the bytes that are held for it, who asks, and its span.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::codegen::http::{HeaderMap, Request, Response};
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};
use tower::Service;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::settings::Settings;
use super::status;
use crate::auth::Identity;
use crate::ops::traces::{QUIET, follow};

type Body = tonic::body::Body;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The path whose errors of decoding become `RESOURCE_EXHAUSTED`.
const EVALUATE: &str = "/evaluator.FunctionEvaluator/EvaluateFunction";

/// Services for which nobody needs credentials: they tell nothing that is anybody's.
const OPEN: [&str; 2] = ["/grpc.health.v1.Health/", "/grpc.reflection."];

/// Calls that last until somebody ends them: they have a bound of their own, and end when the server stops.
const LASTING: [&str; 5] = [
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/portico.v1.RenderService/Logs",
    "/portico.v1.RenderService/Watch",
];

/// Finds out who calls.
pub trait Identify: Send + Sync + 'static {
    /// Who has sent a call with this `authorization`; an error, in words for the caller, where that is no valid one.
    fn identify(&self, authorization: Option<&str>) -> Result<Identity, String>;
}

/// Nobody is known: Porch sends no credentials.
#[derive(Debug, Clone, Copy, Default)]
pub struct Anonymous;

impl Identify for Anonymous {
    fn identify(&self, _: Option<&str>) -> Result<Identity, String> {
        Ok(Identity::anonymous())
    }
}

/// When the caller stops waiting, in the extensions of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(pub(crate) Instant);

/// Bytes that are held for a call, in the extensions of its request: counted against all others until the last clone is
/// gone.
#[derive(Debug)]
pub(crate) struct Held {
    all: Arc<AtomicU64>,
    most: u64,
    mine: AtomicU64,
}

impl Held {
    fn new(all: &Arc<AtomicU64>, most: u64) -> Self {
        Self { all: Arc::clone(all), most, mine: AtomicU64::new(0) }
    }

    /// Counts bytes that came. False when that is more than all calls together may hold; a single one may always go on.
    fn take(&self, bytes: u64) -> bool {
        self.add(bytes);
        let (all, mine) = (self.all.load(Ordering::SeqCst), self.mine.load(Ordering::SeqCst));
        all <= self.most || all == mine
    }

    /// Counts bytes that are there, whatever the bound.
    pub(crate) fn add(&self, bytes: u64) {
        self.mine.fetch_add(bytes, Ordering::SeqCst);
        self.all.fetch_add(bytes, Ordering::SeqCst);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.all.fetch_sub(*self.mine.get_mut(), Ordering::SeqCst);
    }
}

/// Stands before the services.
#[derive(Clone)]
pub(crate) struct Front<S> {
    inner: S,
    settings: Arc<Settings>,
    identify: Arc<dyn Identify>,
    held: Arc<AtomicU64>,
    /// Places of the calls that last.
    lasting: Arc<Semaphore>,
    leaving: CancellationToken,
}

impl<S> Front<S> {
    /// `leaving` is told when the server stops.
    pub(crate) fn new(
        inner: S,
        settings: Arc<Settings>,
        identify: Arc<dyn Identify>,
        leaving: CancellationToken,
    ) -> Self {
        let lasting = Arc::new(Semaphore::new(settings.lasting.min(Semaphore::MAX_PERMITS)));
        Self { inner, settings, identify, held: Arc::default(), lasting, leaving }
    }

    fn prepare(&self, path: &str, headers: &HeaderMap) -> Result<Prepared, Status> {
        let timeout = timeout_of(headers)?;
        let open = OPEN.iter().any(|service| path.starts_with(service))
            || (path == EVALUATE && self.settings.evaluate_without_credentials);
        let authorization = headers.get("authorization").map(|value| value.to_str()).transpose();
        let authorization = authorization.map_err(|_| Status::unauthenticated("`authorization` is no text"))?;
        let identity = if open && authorization.is_none() {
            Identity::anonymous()
        } else {
            self.identify.identify(authorization).map_err(Status::unauthenticated)?
        };
        Ok(Prepared { identity, timeout, lasts: self.place(path)? })
    }

    /// A place for a call that lasts; nothing for one that does not.
    fn place(&self, path: &str) -> Result<Option<Lasts>, Status> {
        if !LASTING.contains(&path) {
            return Ok(None);
        }
        match Arc::clone(&self.lasting).try_acquire_owned() {
            Ok(place) => Ok(Some(Lasts { leaving: Box::pin(self.leaving.clone().cancelled_owned()), _place: place })),
            Err(_) => Err(status::too_many_last(self.settings.lasting, self.settings.retry_after)),
        }
    }
}

/// What is known of a call before its service sees it.
struct Prepared {
    identity: Identity,
    timeout: Option<Duration>,
    lasts: Option<Lasts>,
}

/// What a call that lasts holds.
struct Lasts {
    leaving: Pin<Box<WaitForCancellationFutureOwned>>,
    _place: OwnedSemaphorePermit,
}

impl<S, B> Service<Request<B>> for Front<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let span = span_of(request.uri().path(), request.headers());
        let (parts, body) = request.into_parts();
        let Prepared { identity, timeout, lasts } = match self.prepare(parts.uri.path(), &parts.headers) {
            Ok(prepared) => prepared,
            Err(status) => return Box::pin(async { Ok(status.into_http()) }),
        };
        let held = Arc::new(Held::new(&self.held, self.settings.held_bytes));
        let retry_after = self.settings.retry_after;
        let body = Body::new(CountedBody { inner: Box::pin(body), held: Arc::clone(&held), retry_after });
        let mut request = Request::from_parts(parts, body);
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let evaluates = request.uri().path() == EVALUATE;
        let receive_bytes = self.settings.receive_bytes;
        if let Some(deadline) = deadline {
            request.extensions_mut().insert(Deadline(deadline));
        }
        request.extensions_mut().insert(identity);
        request.extensions_mut().insert(Arc::clone(&held));
        let answer = self.inner.call(request);
        let answer = async move {
            let response = match deadline {
                None => answer.await,
                Some(at) => match tokio::time::timeout_at(at, answer).await {
                    Ok(response) => response,
                    // The call was dropped with that, and what it did has stopped.
                    Err(_) => Ok(status::deadline(timeout.unwrap_or_default()).into_http()),
                },
            };
            let Ok(response) = response;
            let too_long = |status: &Status| evaluates && status.code() == Code::OutOfRange;
            if response.extensions().get::<Status>().is_some_and(too_long) {
                return Ok(status::message_too_large(receive_bytes).into_http());
            }
            Ok(response.map(|body| Body::new(HeldBody { inner: body, lasts, _held: held })))
        };
        Box::pin(answer.instrument(span))
    }
}

/// How long the caller waits.
fn timeout_of(headers: &HeaderMap) -> Result<Option<Duration>, Status> {
    let Some(value) = headers.get("grpc-timeout") else { return Ok(None) };
    let parsed = value.to_str().ok().and_then(parse_timeout);
    parsed.map(Some).ok_or_else(|| Status::invalid_argument("`grpc-timeout` is no time of the protocol"))
}

/// A time of the protocol: at most eight digits and a unit.
fn parse_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let n: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(n * 3600),
        "M" => Duration::from_secs(n * 60),
        "S" => Duration::from_secs(n),
        "m" => Duration::from_millis(n),
        "u" => Duration::from_micros(n),
        "n" => Duration::from_nanos(n),
        _ => return None,
    })
}

/// The span of a call, below the one that the caller names by `traceparent` (W3C Trace Context).
fn span_of(path: &str, headers: &HeaderMap) -> Span {
    let method = path.trim_start_matches('/');
    if OPEN.iter().any(|service| path.starts_with(service)) && !headers.contains_key("traceparent") {
        return tracing::info_span!(target: QUIET, "grpc", method);
    }
    let span =
        tracing::info_span!("grpc", method, trace_id = Empty, parent_id = Empty, revision = Empty, content = Empty,);
    if let Some((trace, parent)) = headers.get("traceparent").and_then(|value| parse_traceparent(value.to_str().ok()?))
    {
        span.record("trace_id", trace).record("parent_id", parent);
    }
    follow(&span, headers);
    span
}

/// Trace and parent of `VERSION-TRACE-PARENT-FLAGS`.
fn parse_traceparent(text: &str) -> Option<(&str, &str)> {
    let mut parts = text.split('-');
    let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
    };
    let set = |part: &str| part.bytes().any(|b| b != b'0');
    // A later version may have more parts, and keeps these.
    let form = hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
    (form && hex(trace, 32) && hex(parent, 16) && hex(flags, 2) && set(trace) && set(parent)).then_some((trace, parent))
}

/// A number that a caller says in its metadata; nonsense is refused rather than read over.
pub(crate) fn number(metadata: &MetadataMap, key: &'static str) -> Result<Option<usize>, Status> {
    let Some(value) = metadata.get(key) else { return Ok(None) };
    let parsed = value.to_str().ok().and_then(|text| text.parse().ok());
    parsed.map(Some).ok_or_else(|| Status::invalid_argument(format!("`{key}` is no number of bytes")))
}

/// A word that a caller says in its metadata.
pub(crate) fn word<'m>(metadata: &'m MetadataMap, key: &'static str) -> Result<Option<&'m str>, Status> {
    let Some(value) = metadata.get(key) else { return Ok(None) };
    value.to_str().map(Some).map_err(|_| Status::invalid_argument(format!("`{key}` is no text of ASCII characters")))
}

/// The body of a request, whose bytes are counted as they come.
struct CountedBody<B> {
    inner: Pin<Box<B>>,
    held: Arc<Held>,
    retry_after: Duration,
}

impl<B> HttpBody for CountedBody<B>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = match std::task::ready!(self.inner.as_mut().poll_frame(cx)) {
            None => return Poll::Ready(None),
            Some(Err(error)) => return Poll::Ready(Some(Err(Status::from_error(error.into())))),
            Some(Ok(frame)) => frame,
        };
        let length = frame.data_ref().map_or(0, Bytes::len) as u64;
        if self.held.take(length) {
            return Poll::Ready(Some(Ok(frame)));
        }
        Poll::Ready(Some(Err(status::too_much_held(self.held.most, self.retry_after))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The body of a response: what is held for the call is held until it is sent.
struct HeldBody {
    inner: Body,
    /// `None` where it ends by itself, and after its end.
    lasts: Option<Lasts>,
    _held: Arc<Held>,
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        // What there is to tell is told before the end.
        if let ready @ Poll::Ready(_) = Pin::new(&mut self.inner).poll_frame(cx) {
            return ready;
        }
        let Some(lasts) = &mut self.lasts else { return Poll::Pending };
        std::task::ready!(lasts.leaving.as_mut().poll(cx));
        self.lasts = None;
        self.inner = Body::empty();
        let mut trailers = HeaderMap::new();
        if let Err(error) = Status::unavailable(status::LEAVING).add_header(&mut trailers) {
            return Poll::Ready(Some(Err(error)));
        }
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_protocol() {
        assert_eq!(parse_timeout("1H"), Some(Duration::from_hours(1)));
        assert_eq!(parse_timeout("99999999n"), Some(Duration::from_nanos(99_999_999)));
        assert_eq!(parse_timeout("250m"), Some(Duration::from_millis(250)));
        for wrong in ["", "S", "1", "1s", "123456789S", "-1S", "1 S", "1é"] {
            assert_eq!(parse_timeout(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_trace_is_taken_over_as_the_standard_says() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let good = format!("00-{trace}-00f067aa0ba902b7-01");
        assert_eq!(parse_traceparent(&good), Some((trace, "00f067aa0ba902b7")));
        assert_eq!(parse_traceparent(&format!("cc{}-more", &good[2..])), Some((trace, "00f067aa0ba902b7")));
        for wrong in [
            "",
            "00",
            &format!("{good}-more"),
            &format!("ff{}", &good[2..]),
            &good.to_uppercase(),
            &good.replace(trace, &"0".repeat(32)),
            &good.replace("00f067aa0ba902b7", "0"),
        ] {
            assert_eq!(parse_traceparent(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_all_calls_hold_is_bounded_and_given_back() {
        let all = Arc::new(AtomicU64::new(0));
        let one = Held::new(&all, 100);
        assert!(one.take(150), "a single one goes on");
        let other = Held::new(&all, 100);
        assert!(!other.take(1));
        drop(one);
        assert!(other.take(99));
        drop(other);
        assert_eq!(all.load(Ordering::SeqCst), 0);
    }
}

//! Connections: accepted, bounded, perhaps with TLS, each served until it ends or the server does.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::address::{Listener, Stream};
use super::front::Front;
use super::limits::RequestLimits;
use super::refusal::Refusal;
use super::stall::Stall;
use super::tls::Tls;
use crate::auth::Identity;
use crate::linger::{Lent, linger};

/// Connections beyond the bound that are told so.
const TOLD: usize = 64;

/// How long to wait when nothing can be accepted: descriptors are all in use, say.
const PAUSE: Duration = Duration::from_millis(100);

/// Who is at the other end.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    /// The address; none for a socket in the file system.
    pub(crate) address: Option<IpAddr>,
    /// Whom the client's certificate names.
    pub(crate) certificate: Option<Identity>,
}

/// Serves one listener.
pub(crate) struct Acceptor {
    pub(crate) listener: Listener,
    pub(crate) front: Arc<Front>,
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) connections: TaskTracker,
    /// No further connection is accepted, and those that there are end after their requests.
    pub(crate) ending: CancellationToken,
    /// They end at once.
    pub(crate) abort: CancellationToken,
}

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Acceptor").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl Acceptor {
    /// Accepts until the end is near.
    pub(crate) async fn run(self) {
        let most = self.front.admission.limits().connections.clamp(1, Semaphore::MAX_PERMITS);
        let (places, told) = (Arc::new(Semaphore::new(most)), Arc::new(Semaphore::new(TOLD)));
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.ending.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            let stream = match accepted {
                Ok(stream) => stream,
                // It was gone before we had it.
                Err(error) if is_of_one_connection(&error) => continue,
                Err(error) => {
                    tracing::error!(%error, "no connection can be accepted at the moment");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let (place, full) = match Arc::clone(&places).try_acquire_owned() {
                Ok(place) => (place, false),
                Err(_) => match Arc::clone(&told).try_acquire_owned() {
                    Ok(place) => (place, true),
                    Err(_) => continue,
                },
            };
            let connection = Connection {
                front: Arc::clone(&self.front),
                full,
                ending: self.ending.clone(),
                abort: self.abort.clone(),
                _place: place,
            };
            let tls = self.tls.clone();
            self.connections.spawn(async move { connection.serve(stream, tls.as_deref()).await });
        }
    }
}

/// True for errors that say nothing about the listener.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, InvalidInput, NotConnected};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | InvalidInput | NotConnected)
}

struct Connection {
    front: Arc<Front>,
    /// There are too many: this one is told so.
    full: bool,
    ending: CancellationToken,
    abort: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl Connection {
    async fn serve(self, stream: Stream, tls: Option<&Tls>) {
        let limits = self.front.admission.limits();
        match stream {
            Stream::Unix(stream) => self.http(stream, Peer { address: None, certificate: None }, &limits).await,
            Stream::Tcp(stream, address) => match tls {
                None => self.http(stream, Peer { address: Some(address), certificate: None }, &limits).await,
                Some(tls) => {
                    let handshake = tokio::time::timeout(limits.handshake, tls.accept(stream));
                    let accepted = tokio::select! {
                        () = self.abort.cancelled() => return,
                        accepted = handshake => accepted,
                    };
                    match accepted {
                        Ok(Ok((stream, certificate))) => {
                            self.http(stream, Peer { address: Some(address), certificate }, &limits).await;
                        }
                        Ok(Err(error)) => tracing::debug!(%address, %error, "the TLS handshake failed"),
                        Err(_) => tracing::debug!(%address, "the TLS handshake took too long"),
                    }
                }
            },
        }
    }

    async fn http<I>(self, io: I, peer: Peer, limits: &RequestLimits)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (io, returned) = Lent::new(Stall::new(io, limits.time));
        // Those that are told to come back have few places, which others wait for.
        if self.until_it_ends(io, peer, limits).await
            && !self.full
            && let Ok(io) = returned.await
        {
            tokio::select! {
                () = self.abort.cancelled() => {}
                () = linger(io) => {}
            }
        }
    }

    /// Serves the connection; whether it came to an end of its own, and is not to be cut.
    async fn until_it_ends<I>(&self, io: I, peer: Peer, limits: &RequestLimits) -> bool
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let builder = builder(limits);
        let asked = Arc::new(AtomicBool::new(false));
        let (front, peer, full) = (Arc::clone(&self.front), Arc::new(peer), self.full);
        let service = {
            let asked = Arc::clone(&asked);
            service_fn(move |request: Request<Incoming>| {
                asked.store(true, Ordering::Relaxed);
                let (front, peer) = (Arc::clone(&front), Arc::clone(&peer));
                async move {
                    let response = if full { too_many(&front) } else { front.answer(&peer, request).await };
                    Ok::<Response<Body>, Infallible>(response)
                }
            })
        };
        let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
        let mut first = pin!(tokio::time::sleep(limits.head_time.min(Duration::from_secs(1 << 30))));
        let (mut ends, mut waits) = (false, true);
        loop {
            tokio::select! {
                result = connection.as_mut() => {
                    if let Err(error) = result {
                        tracing::debug!(%error, "a connection broke");
                    }
                    return true;
                }
                () = self.abort.cancelled() => return false,
                () = self.ending.cancelled(), if !ends => {
                    ends = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = first.as_mut(), if waits => {
                    waits = false;
                    if !asked.load(Ordering::Relaxed) {
                        return false;
                    }
                }
            }
        }
    }
}

fn builder(limits: &RequestLimits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    let head_bytes = limits.head_bytes.max(8 << 10);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.head_time).max_buf_size(head_bytes);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(head_bytes).unwrap_or(u32::MAX))
        .max_concurrent_streams(u32::try_from(limits.in_flight.max(1)).unwrap_or(u32::MAX))
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}

/// What a connection hears that is one too many.
fn too_many(front: &Front) -> Response<Body> {
    let what = "too many connections at one time";
    let refusal = Refusal::Overload { what, setting: "connections", after: Duration::from_secs(1) };
    let mut response = front.refused(&refusal);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

//! Bodies on their way: read whole and bounded on the way in, guarded on the way out.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::admission::Pass;
use super::limits::RequestLimits;
use super::refusal::Refusal;

/// Reads a body whole, within its bound and that of all bodies.
pub(crate) async fn read<B>(mut body: B, limits: &RequestLimits, pass: &mut Pass) -> Result<Bytes, Refusal>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let most = limits.body_bytes;
    let hint = body.size_hint();
    if hint.lower() > most {
        return Err(Refusal::TooLarge(most));
    }
    let told = hint.upper();
    pass.take_body(told.unwrap_or(most).min(most))?;
    // What is told may be a lie: room is made as it comes.
    let mut whole = BytesMut::with_capacity(told.unwrap_or(0).min(64 << 10) as usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Refusal::BrokenBody(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() as u64 + data.len() as u64 > most {
            return Err(Refusal::TooLarge(most));
        }
        whole.extend_from_slice(&data);
    }
    pass.body_is(whole.len() as u64);
    Ok(whole.freeze())
}

/// When an answer has to be over.
pub(crate) enum Until {
    /// At this time; then the connection is cut, as the client would take half an answer for a whole one.
    Deadline(Pin<Box<Sleep>>),
    /// When the server ends: a watch then ends as if its time were over.
    Ending(Pin<Box<WaitForCancellationFutureOwned>>),
}

impl Until {
    pub(crate) fn deadline(at: Instant) -> Self {
        Self::Deadline(Box::pin(tokio::time::sleep_until(at)))
    }

    pub(crate) fn ending(token: &CancellationToken) -> Self {
        Self::Ending(Box::pin(token.clone().cancelled_owned()))
    }
}

/// An answer that holds its pass until its last byte is taken, and that ends in time.
pub(crate) struct Guarded {
    inner: Body,
    until: Option<Until>,
    pass: Option<Pass>,
}

impl Guarded {
    pub(crate) fn new(inner: Body, until: Until, pass: Pass) -> Self {
        Self { inner, until: Some(until), pass: Some(pass) }
    }

    fn over(&mut self) {
        self.until = None;
        self.pass = None;
    }
}

/// The client took too long for its answer.
#[derive(Debug, thiserror::Error)]
#[error("the answer was not taken in time")]
struct TooSlow;

impl HttpBody for Guarded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        match &mut this.until {
            // It is over.
            None => return Poll::Ready(None),
            Some(Until::Deadline(at)) => {
                if at.as_mut().poll(cx).is_ready() {
                    this.over();
                    return Poll::Ready(Some(Err(axum::Error::new(TooSlow))));
                }
            }
            Some(Until::Ending(ending)) => {
                if ending.as_mut().poll(cx).is_ready() {
                    this.over();
                    return Poll::Ready(None);
                }
            }
        }
        let frame = std::task::ready!(Pin::new(&mut this.inner).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            this.over();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.until.is_none() || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

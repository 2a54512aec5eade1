//! The end of a connection, so that what was sent last arrives.
//!
//! - Problem: a socket that is closed while something of the client's is unread is reset, and whoever is in between, or the
//!   client itself, may throw away what it had not read yet: the last answers, or the word to go elsewhere. There is always
//!   something unread where a body was refused, or where a client of HTTP/2 says at any time how much it takes.
//! - Mechanism: only the sending half is closed; what still comes is read and dropped until the client closes its half.
//! - Default: at most 2 s and 64 MiB, the largest body that is taken unless somebody says otherwise; fixed.
//! - Does not stop: a client from holding its place among the connections for that long.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::sync::oneshot;

const TIME: Duration = Duration::from_secs(2);
const BYTES: u64 = 64 << 20;

/// Ends a connection over which nothing is to be sent any more.
pub(crate) async fn linger<I: AsyncRead + AsyncWrite + Unpin>(mut io: I) {
    let rest = async {
        // A client that is gone already wants nothing any more.
        if io.shutdown().await.is_ok() {
            let _ = tokio::io::copy(&mut io.take(BYTES), &mut tokio::io::sink()).await;
        }
    };
    let _ = tokio::time::timeout(TIME, rest).await;
}

/// A stream for somebody who keeps what he is given: dropped, it comes back.
#[derive(Debug)]
pub(crate) struct Lent<I> {
    // There until the drop.
    io: Option<I>,
    back: Option<oneshot::Sender<I>>,
}

impl<I> Lent<I> {
    /// The stream to give away, and where it comes back.
    pub(crate) fn new(io: I) -> (Self, oneshot::Receiver<I>) {
        let (back, returned) = oneshot::channel();
        (Self { io: Some(io), back: Some(back) }, returned)
    }
}

impl<I: Unpin> Lent<I> {
    fn io(&mut self) -> io::Result<Pin<&mut I>> {
        self.io.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl<I> Drop for Lent<I> {
    fn drop(&mut self) {
        if let (Some(io), Some(back)) = (self.io.take(), self.back.take()) {
            // Nobody wants it any more: then it is closed here.
            let _ = back.send(io);
        }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Lent<I> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.io()?.poll_read(cx, buffer)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Lent<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.io()?.poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io()?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io()?.poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io()?.poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex};
    use tokio::task::JoinHandle;

    use super::*;

    async fn lingering() -> (DuplexStream, JoinHandle<()>) {
        let (mut server, client) = duplex(64 << 10);
        server.write_all(b"the end").await.unwrap();
        (client, tokio::spawn(linger(server)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_still_sends_reads_to_the_end() {
        let (mut client, end) = lingering().await;
        let mut read = String::new();
        // More than there is room for: somebody takes it.
        client.write_all(&vec![0; 200 << 10]).await.unwrap();
        client.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "the end");
        assert!(!end.is_finished());
        drop(client);
        end.await.unwrap();
    }

    #[tokio::test]
    async fn what_was_lent_comes_back_when_it_is_dropped() {
        let (server, mut client) = duplex(64);
        let (mut lent, returned) = Lent::new(server);
        lent.write_all(b"one").await.unwrap();
        drop(lent);
        returned.await.unwrap().write_all(b" two").await.unwrap();
        let mut read = String::new();
        client.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "one two");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_closes_is_not_waited_for() {
        let (client, end) = lingering().await;
        let began = tokio::time::Instant::now();
        end.await.unwrap();
        assert_eq!(began.elapsed(), TIME);
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_without_end_is_cut() {
        let (mut client, end) = lingering().await;
        let much = vec![0; 64 << 10];
        while client.write_all(&much).await.is_ok() {}
        let began = tokio::time::Instant::now();
        end.await.unwrap();
        assert!(began.elapsed() < TIME, "the bound of bytes, not that of time");
    }
}

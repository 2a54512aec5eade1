//! A connection whose peer does not take what is written ends.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Fails a write that nothing moves for a while. An answer's own deadline can't see this: it is asked for more only when
/// there is room.
pub(crate) struct Stall<I> {
    io: I,
    patience: Duration,
    /// Since when nothing moves, and until when that is borne.
    waits: Option<Pin<Box<Sleep>>>,
}

impl<I> Stall<I> {
    pub(crate) fn new(io: I, patience: Duration) -> Self {
        Self { io, patience, waits: None }
    }

    fn bounded<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.waits = None;
            return result;
        }
        let patience = self.patience;
        let waits = self.waits.get_or_insert_with(|| {
            // Farther than a timer reaches is for ever.
            let at = Instant::now().checked_add(patience);
            Box::pin(tokio::time::sleep_until(at.unwrap_or_else(|| Instant::now() + Duration::from_secs(1 << 30))))
        });
        std::task::ready!(waits.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not take its answer")))
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Stall<I> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, to)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Stall<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.io).poll_write(cx, from);
        self.bounded(cx, result)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.io).poll_flush(cx);
        self.bounded(cx, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.io).poll_shutdown(cx);
        self.bounded(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.io).poll_write_vectored(cx, from);
        self.bounded(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_write_that_nothing_moves_fails_in_time() {
        let (ours, theirs) = tokio::io::duplex(8);
        let mut ours = Stall::new(ours, Duration::from_mins(1));
        let begun = Instant::now();
        let error = ours.write_all(&[0; 100]).await.expect_err("nobody reads");
        assert_eq!((error.kind(), begun.elapsed().as_secs()), (io::ErrorKind::TimedOut, 60));
        drop(theirs);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_slowly_is_borne() {
        let (ours, mut theirs) = tokio::io::duplex(8);
        let mut ours = Stall::new(ours, Duration::from_mins(1));
        let reads = tokio::spawn(async move {
            let mut got = 0;
            while got < 100 {
                tokio::time::sleep(Duration::from_secs(50)).await;
                got += tokio::io::AsyncReadExt::read(&mut theirs, &mut [0; 8]).await.expect("it is open");
            }
        });
        ours.write_all(&[0; 100]).await.expect("it moves");
        reads.await.expect("all is read");
    }
}

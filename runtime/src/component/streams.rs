//! Standard input and output, as streams of WASI 0.2. All are in memory, so none is ever waited for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use crate::wasi::Context;

/// The most bytes that one call moves: bounds what the host sets aside for it. A guest that wants to read more gets this
/// much, and one that wants to write more is told how much it may.
pub(super) const CALL_BYTES: usize = 1 << 20;

/// What a run reads and writes, shared by all streams that it opens on it.
#[derive(Clone)]
pub(crate) struct Stdio {
    context: Arc<Mutex<Context>>,
}

impl Stdio {
    pub(crate) fn new(context: Context) -> Self {
        Self { context: Arc::new(Mutex::new(context)) }
    }

    /// The context itself, for its owner and while a stream is at work.
    pub(crate) fn context(&self) -> MutexGuard<'_, Context> {
        // Nothing in there panics half way.
        self.context.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream that reads stdin.
pub(super) struct Stdin(pub(super) Stdio);

#[async_trait]
impl Pollable for Stdin {
    async fn ready(&mut self) {}
}

impl InputStream for Stdin {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let mut context = self.0.context();
        let size = size.min(CALL_BYTES).min(context.stdin_left());
        if context.stdin_left() == 0 {
            return Err(StreamError::Closed);
        }
        let mut bytes = vec![0; size];
        context.read_stdin(&mut bytes);
        Ok(bytes.into())
    }
}

/// A stream that writes to stdout.
pub(super) struct Stdout(pub(super) Stdio);

#[async_trait]
impl Pollable for Stdout {
    async fn ready(&mut self) {}
}

impl OutputStream for Stdout {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let mut context = self.0.context();
        context.reserve_stdout(bytes.len()).map_err(|stop| StreamError::Trap(stop.into()))?;
        context.write_stdout(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CALL_BYTES)
    }
}

/// A stream that writes to stderr.
pub(super) struct Stderr(pub(super) Stdio);

#[async_trait]
impl Pollable for Stderr {
    async fn ready(&mut self) {}
}

impl OutputStream for Stderr {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.0.context().write_stderr(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CALL_BYTES)
    }
}

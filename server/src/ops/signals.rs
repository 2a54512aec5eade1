//! When the process is asked to end.

use tokio_util::sync::CancellationToken;

/// How a server is told to end.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    /// In order: nothing new is taken, what is begun is finished.
    pub soon: CancellationToken,
    /// At once.
    pub now: CancellationToken,
}

impl Stop {
    /// One that SIGTERM and SIGINT set off: the first one `soon`, the next one `now`.
    pub fn on_signals() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let stop = Self::default();
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let told = stop.clone();
        tokio::spawn(async move {
            for token in [told.soon, told.now] {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                token.cancel();
            }
        });
        Ok(stop)
    }
}

//! Threads for functions and renders: so many at once, so many that wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use portico_runtime::{CancelToken, FunctionReply};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::record::StepMeter;

/// Counts and times the calls that need the processor, `EvaluateFunction` and `Render`, and what they run. It is told at
/// once and must not block.
pub trait CallMeter: StepMeter {
    /// One more call waits for a worker, or one fewer.
    fn waiting(&self, more: bool);
    /// A call has waited for this long: it has a worker now, is sent away, or its caller has gone. Calls for which there
    /// was no room to wait are none.
    fn waited(&self, how_long: Duration);
    /// One more call has a worker, or one fewer.
    fn running(&self, more: bool);
    /// `EvaluateFunction` ran this.
    fn function(&self, reply: &FunctionReply);
}

/// Runs work of the processor on threads of its own.
#[derive(Clone)]
pub(crate) struct Pool {
    permits: Arc<Semaphore>,
    /// Calls that were let in and have no permit yet.
    waiting: Arc<AtomicUsize>,
    queue: usize,
    queue_time: Duration,
    meter: Arc<dyn CallMeter>,
}

/// Why work was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PoolError {
    /// As many wait as may.
    #[error("{0} calls are waiting for a worker already")]
    Full(usize),
    /// It has waited for as long as it may.
    #[error("no worker became free within {0:?}")]
    Waited(Duration),
    /// The work panicked.
    #[error("the call ended in a panic, which is a fault of this program; its log has more")]
    Panicked,
}

impl Pool {
    pub(crate) fn new(concurrency: usize, queue: usize, queue_time: Duration, meter: Arc<dyn CallMeter>) -> Self {
        let permits = Arc::new(Semaphore::new(concurrency.clamp(1, Semaphore::MAX_PERMITS)));
        Self { permits, waiting: Arc::default(), queue, queue_time, meter }
    }

    pub(crate) fn meter(&self) -> &Arc<dyn CallMeter> {
        &self.meter
    }

    /// Does this on a thread. Dropped before the end, it tells the token, and the permit is free again when the work has
    /// ended.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CancelToken) -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        let permit = if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            self.meter.waited(Duration::ZERO);
            permit
        } else {
            let _place = Place::take(self)?;
            let permit = Arc::clone(&self.permits).acquire_owned();
            match tokio::time::timeout(self.queue_time, permit).await {
                Ok(Ok(permit)) => permit,
                _ => return Err(PoolError::Waited(self.queue_time)),
            }
        };
        let running = Runs::new(&self.meter);
        let guard = CancelOnDrop(CancelToken::new());
        let token = guard.0.clone();
        let span = tracing::Span::current();
        let work = tokio::task::spawn_blocking(move || {
            let _held = (permit, running);
            span.in_scope(|| work(&token))
        });
        let done = work.await.map_err(|_| PoolError::Panicked);
        drop(guard);
        done
    }

    /// How many wait for a permit.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }
}

/// A place among those that wait, until the wait is over one way or another.
struct Place<'a> {
    pool: &'a Pool,
    since: Instant,
}

impl<'a> Place<'a> {
    fn take(pool: &'a Pool) -> Result<Self, PoolError> {
        let one_more = |n: usize| (n < pool.queue).then_some(n + 1);
        match pool.waiting.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more) {
            Ok(_) => {
                pool.meter.waiting(true);
                Ok(Self { pool, since: Instant::now() })
            }
            Err(n) => Err(PoolError::Full(n)),
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.pool.waiting.fetch_sub(1, Ordering::SeqCst);
        self.pool.meter.waiting(false);
        self.pool.meter.waited(self.since.elapsed());
    }
}

/// A call that has a worker.
struct Runs(Arc<dyn CallMeter>);

impl Runs {
    fn new(meter: &Arc<dyn CallMeter>) -> Self {
        meter.running(true);
        Self(Arc::clone(meter))
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.running(false);
    }
}

/// A caller that is gone wants nothing any more.
struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::ops::metrics::Metrics;

    fn pool(concurrency: usize, queue: usize, queue_time: Duration) -> Pool {
        Pool::new(concurrency, queue, queue_time, Arc::new(Metrics::new()))
    }

    /// Work that lasts until it is told to stop.
    fn until_cancelled(token: &CancelToken) {
        while !token.wait_timeout(Duration::from_mins(1)) {}
    }

    #[tokio::test]
    async fn what_is_beyond_the_queue_is_sent_away() {
        let pool = pool(1, 1, Duration::from_mins(1));
        let running = tokio::spawn({
            let pool = pool.clone();
            async move { pool.run(until_cancelled).await }
        });
        let waits = tokio::spawn({
            let pool = pool.clone();
            async move { pool.run(|_| 7).await }
        });
        while pool.waiting() < 1 {
            tokio::task::yield_now().await;
        }
        assert_eq!(pool.run(|_| ()).await, Err(PoolError::Full(1)));
        running.abort();
        assert_eq!(waits.await.unwrap(), Ok(7));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever() {
        let pool = pool(1, 10, Duration::from_secs(5));
        let held = Arc::clone(&pool.permits).acquire_owned().await.unwrap();
        assert_eq!(pool.run(|_| ()).await, Err(PoolError::Waited(Duration::from_secs(5))));
        assert_eq!(pool.waiting(), 0);
        drop(held);
        assert_eq!(pool.run(|_| 1).await, Ok(1));
    }

    #[tokio::test]
    async fn a_caller_that_goes_stops_its_work_and_keeps_the_permit_until_then() {
        let pool = pool(1, 10, Duration::from_mins(1));
        let (started, begun) = mpsc::channel();
        let call = tokio::spawn({
            let pool = pool.clone();
            async move {
                pool.run(move |token| {
                    started.send(()).unwrap();
                    until_cancelled(token);
                })
                .await
            }
        });
        tokio::task::spawn_blocking(move || begun.recv()).await.unwrap().unwrap();
        assert_eq!(pool.permits.available_permits(), 0);
        call.abort();
        assert_eq!(pool.run(CancelToken::is_cancelled).await, Ok(false));
    }

    #[tokio::test]
    async fn a_panic_ends_the_call_alone() {
        let pool = pool(1, 1, Duration::from_secs(5));
        let panics = pool.run(|_| if std::hint::black_box(true) { panic!("on purpose") } else { 1 }).await;
        assert_eq!(panics, Err(PoolError::Panicked));
        assert_eq!(pool.run(|_| 2).await, Ok(2));
    }
}

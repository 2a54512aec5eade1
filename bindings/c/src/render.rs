//! One render: where it stands, and its end, for any number of threads that wait for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portico_runtime::CancelToken;

use crate::error::Error;
use crate::report::Report;

/// How a render ended.
pub(crate) type End = Result<Arc<Report>, Error>;

/// A render: `portico_render_t`.
#[derive(Debug, Default)]
pub struct Render {
    token: CancelToken,
    stage: Mutex<Stage>,
    ended: Condvar,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Waiting,
    Running,
    Ended(End),
}

impl Render {
    pub(crate) fn token(&self) -> &CancelToken {
        &self.token
    }

    /// Whoever is to do it asks before the work; false when it has ended already.
    pub(crate) fn begin(&self) -> bool {
        let mut stage = self.lock();
        let begins = matches!(*stage, Stage::Waiting);
        if begins {
            *stage = Stage::Running;
        }
        begins
    }

    /// Stops it: one that waits has ended with this, one that runs ends soon.
    pub(crate) fn cancel(&self) {
        self.token.cancel();
        let mut stage = self.lock();
        if matches!(*stage, Stage::Waiting) {
            *stage = Stage::Ended(Err(Error::Cancelled));
            self.ended.notify_all();
        }
    }

    /// Ends it; the first end counts.
    pub(crate) fn end(&self, end: Result<Report, Error>) {
        let mut stage = self.lock();
        if !matches!(*stage, Stage::Ended(_)) {
            *stage = Stage::Ended(end.map(Arc::new));
            self.ended.notify_all();
        }
    }

    /// Waits for the end, at most this long; for ever without a bound. `None`: it has not ended.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> Option<End> {
        let going_on = |stage: &mut Stage| !matches!(stage, Stage::Ended(_));
        let stage = self.lock();
        let stage = match timeout {
            None => self.ended.wait_while(stage, going_on).unwrap_or_else(PoisonError::into_inner),
            Some(timeout) => {
                let waited = self.ended.wait_timeout_while(stage, timeout, going_on);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        match &*stage {
            Stage::Ended(end) => Some(end.clone()),
            Stage::Waiting | Stage::Running => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stage> {
        // Nothing panics while it is held.
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_who_waits_gets_the_first_end() {
        let render = Arc::new(Render::default());
        assert!(render.wait(Some(Duration::ZERO)).is_none());
        let waiters: Vec<_> = (0..4)
            .map(|_| {
                let render = Arc::clone(&render);
                std::thread::spawn(move || render.wait(None))
            })
            .collect();
        render.end(Err(Error::Cancelled));
        render.end(Err(Error::Panic("late".into())));
        for waiter in waiters {
            assert!(matches!(waiter.join().unwrap(), Some(Err(Error::Cancelled))));
        }
    }

    #[test]
    fn a_cancel_ends_what_waits_and_asks_what_runs() {
        let waiting = Render::default();
        waiting.cancel();
        assert!(matches!(waiting.wait(Some(Duration::ZERO)), Some(Err(Error::Cancelled))));
        assert!(!waiting.begin());

        let running = Render::default();
        assert!(running.begin());
        running.cancel();
        assert!(running.wait(Some(Duration::ZERO)).is_none());
        assert!(running.token().is_cancelled());
    }
}

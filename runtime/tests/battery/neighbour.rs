//! Somebody else who renders on the same engine, all the time.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longer than any render of the neighbour takes.
const FOREVER: Duration = Duration::from_mins(2);

/// Between two renders.
const PAUSE: Duration = Duration::from_millis(2);

/// A thread that does something again and again while it is wanted.
pub(crate) struct Neighbour {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    wanted: bool,
    over: bool,
    /// How often it was done.
    rounds: u64,
    fault: Option<String>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Neighbour {
    /// `render` fails when it did not get what it always gets.
    pub(crate) fn new(render: impl Fn() -> Result<(), String> + Send + 'static) -> Neighbour {
        let shared = Arc::new(Shared::default());
        let inner = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            loop {
                let state = inner.changed.wait_while(inner.state(), |state| !state.wanted && !state.over);
                if state.unwrap_or_else(PoisonError::into_inner).over {
                    return;
                }
                let result = render();
                let mut state = inner.state();
                state.rounds += 1;
                if let Err(fault) = result {
                    state.fault.get_or_insert(fault);
                }
                inner.changed.notify_all();
                // Others want the processor, too.
                drop(inner.changed.wait_timeout_while(state, PAUSE, |state| !state.over));
            }
        });
        Neighbour { shared, thread: Some(thread) }
    }

    /// Does something while the neighbour renders: it has rendered before, and once more behind it.
    pub(crate) fn during(&self, body: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        self.shared.state().wanted = true;
        self.shared.changed.notify_all();
        self.round()?;
        let result = body();
        // The first may have begun before the body ended.
        let neighbour = self.round().and_then(|()| self.round());
        self.shared.state().wanted = false;
        result.and(neighbour)
    }

    /// Waits for the end of a round.
    fn round(&self) -> Result<(), String> {
        let state = self.shared.state();
        let before = state.rounds;
        let waited = self.shared.changed.wait_timeout_while(state, FOREVER, |state| state.rounds == before);
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            return Err("the neighbour got no answer".to_owned());
        }
        state.fault.take().map_or(Ok(()), |fault| Err(format!("the neighbour: {fault}")))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.shared.state().over = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

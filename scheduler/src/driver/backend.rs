//! Whatever renders: what the driver asks of it, and how it is told to stop.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::core::Ended;
use crate::model::{ContentVersion, Files, Revision, RevisionKey};
use crate::queue::Cost;

/// Renders packages. Called from many threads at once.
pub trait RenderBackend: Send + Sync + 'static {
    /// Renders a package, on the calling thread, from its beginning to its end. Nothing that it does not return may
    /// remain. A panic is caught and counts as a failure that nobody classified.
    ///
    /// Once the job's `cancel` is told to stop it is to return within milliseconds; what it returns then is dropped.
    fn render(&self, job: &Job) -> Ended;

    /// The digest of everything besides the package that decides how a render ends: functions, modules, settings. While
    /// it stays the same, what could not be rendered is not tried again. Asked now and then: it is to be cheap. Zero:
    /// nobody knows.
    fn configuration(&self) -> u64 {
        0
    }

    /// What a render of this revision may use at most, by the limits that hold for it; `None`:
    /// [`crate::core::Settings::cost`]. Asked each time that a revision is seen, under the scheduler's lock: it must be
    /// cheap and must not call back.
    fn cost(&self, revision: &Revision) -> Option<Cost> {
        let _ = revision;
        None
    }
}

/// A render to be done.
#[derive(Debug, Clone)]
pub struct Job {
    /// Of what.
    pub key: RevisionKey,
    /// The content version that the files are.
    pub content: ContentVersion,
    /// Its files.
    pub files: Files,
    /// The revision's annotations, as they were read together with the files.
    pub annotations: Arc<BTreeMap<String, String>>,
    /// Tells it to stop.
    pub cancel: Arc<Cancel>,
}

/// A render's end to come.
pub type Rendering = Pin<Box<dyn Future<Output = Ended> + Send>>;

/// Where renders run. The scheduler gives out no more of them at once than it has workers.
pub trait Workers: Send + Sync + 'static {
    /// Renders. A panic is caught by the caller.
    fn run(&self, job: Job) -> Rendering;

    /// As [`RenderBackend::configuration`].
    fn configuration(&self) -> u64 {
        0
    }

    /// As [`RenderBackend::cost`].
    fn cost(&self, revision: &Revision) -> Option<Cost> {
        let _ = revision;
        None
    }
}

/// A thread for each render, as long as it lasts. Threads that have nothing to do end after some seconds and give their
/// memory back.
pub struct Threads {
    backend: Arc<dyn RenderBackend>,
}

impl Threads {
    /// Threads on which this backend renders.
    pub fn new(backend: Arc<dyn RenderBackend>) -> Self {
        Self { backend }
    }
}

impl std::fmt::Debug for Threads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Threads").finish_non_exhaustive()
    }
}

impl Workers for Threads {
    fn run(&self, job: Job) -> Rendering {
        let backend = Arc::clone(&self.backend);
        Box::pin(async move {
            let render = move || backend.render(&job);
            // The panic goes on to whoever waits for this.
            tokio::task::spawn_blocking(render).await.unwrap_or_else(|error| resume_unwind(error.into_panic()))
        })
    }

    fn configuration(&self) -> u64 {
        self.backend.configuration()
    }

    fn cost(&self, revision: &Revision) -> Option<Cost> {
        self.backend.cost(revision)
    }
}

/// Tells a render to stop.
#[derive(Default)]
pub struct Cancel {
    state: Mutex<State>,
    told: Condvar,
}

#[derive(Default)]
struct State {
    cancelled: bool,
    then: Vec<Box<dyn FnOnce() + Send>>,
}

impl Cancel {
    /// One that nobody has told.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells it. Twice is once.
    pub fn cancel(&self) {
        let then = {
            let mut state = self.lock();
            state.cancelled = true;
            std::mem::take(&mut state.then)
        };
        self.told.notify_all();
        for then in then {
            then();
        }
    }

    /// Whether it was told.
    pub fn is_cancelled(&self) -> bool {
        self.lock().cancelled
    }

    /// Does this as soon as it is told, on the thread that tells; at once when it was told already. It is told when its
    /// render has ended, too, however that was.
    pub fn on_cancel(&self, then: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        if state.cancelled {
            drop(state);
            then();
        } else {
            state.then.push(Box::new(then));
        }
    }

    /// Waits until it is told.
    pub async fn cancelled(&self) {
        let (sender, told) = oneshot::channel();
        self.on_cancel(move || {
            let _ = sender.send(());
        });
        // The sender is kept until then, or for as long as this is.
        let _ = told.await;
    }

    /// Waits on this thread until it is told, at most this long. Whether it was.
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        let state = self.lock();
        let waited = self.told.wait_timeout_while(state, timeout, |state| !state.cancelled);
        waited.map_or_else(|poisoned| poisoned.into_inner().0.cancelled, |(state, _)| state.cancelled)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held: what is to be done is done outside.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Cancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cancel").field("cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}

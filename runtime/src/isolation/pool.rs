//! The workers of a process: started when they are needed, kept for a while for the same tenant.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::WorkerConfig;
use super::talk::{End, talk};
use super::worker_process::Worker;
use crate::cancel::CancelToken;
use crate::outcome::{Outcome, RenderError};
use crate::package::PackageFiles;
use crate::renderer::{RenderOptions, Renderer};
use crate::report::{Event, Observer};

/// Modules after which a worker is replaced: it keeps them all in its cache, which has 256 places.
const MODULES: usize = 128;

/// Starts, keeps and ends workers.
pub(crate) struct Workers {
    config: WorkerConfig,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Those without work, in the order in which they lost it.
    idle: Vec<Idle>,
    /// A thread looks after them.
    watched: bool,
    /// Nobody will want them any more.
    closed: bool,
}

struct Idle {
    tenant: String,
    ends: Option<Instant>,
    worker: Worker,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.closed = true;
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        self.shared.changed.notify_all();
        drop(idle);
    }
}

impl Workers {
    pub(crate) fn new(config: WorkerConfig) -> Workers {
        Workers { config, shared: Arc::default() }
    }

    /// Renders in a worker of this tenant. One that dies is replaced once.
    pub(crate) fn render(
        &self,
        tenant: &str,
        renderer: &Renderer,
        files: &PackageFiles,
        options: &RenderOptions,
        cancel: &CancelToken,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RenderError> {
        if options.call.allow_exec {
            let text = "an isolated render cannot run programs (`exec`): switch off the one or the other";
            return Err(RenderError::Input(text.to_owned()));
        }
        let mut worker = match self.take(tenant) {
            Some(worker) => worker,
            None => self.start()?,
        };
        let mut first = true;
        loop {
            if cancel.is_cancelled() {
                return Err(RenderError::Cancelled);
            }
            let reason = match talk(&mut worker, &self.config, renderer, files, options, cancel, observer) {
                Ok(outcome) => {
                    self.keep(tenant, worker);
                    return Ok(outcome);
                }
                Err(End::Answered(error)) => {
                    self.keep(tenant, worker);
                    return Err(error);
                }
                Err(End::Cancelled) => return Err(RenderError::Cancelled),
                Err(End::Refused(reason)) => return Err(RenderError::Worker { reason }),
                Err(End::Broken(reason)) => reason,
                Err(End::Died) => worker.end(&self.config),
            };
            if cancel.is_cancelled() {
                return Err(RenderError::Cancelled);
            }
            if !first {
                let reason = format!("twice, and in the end: {reason}");
                return Err(RenderError::Worker { reason });
            }
            first = false;
            tracing::debug!("a worker died: {reason}");
            observer.event(&Event::Warning(&format!(
                "the process that renders the package died ({reason}); it is rendered anew in a fresh one"
            )));
            worker = self.start()?;
        }
    }

    fn start(&self) -> Result<Worker, RenderError> {
        Worker::start(&self.config).map_err(|error| RenderError::Worker {
            reason: format!("`{}` cannot be started: {error}", self.config.program.display()),
        })
    }

    /// A worker that this tenant used before.
    fn take(&self, tenant: &str) -> Option<Worker> {
        let mut state = self.shared.state();
        let mut dead = Vec::new();
        let found = loop {
            let Some(at) = state.idle.iter().rposition(|idle| idle.tenant == tenant) else { break None };
            let Idle { worker, .. } = state.idle.remove(at);
            if worker.lives() {
                break Some(worker);
            }
            dead.push(worker);
        };
        drop(state);
        drop(dead);
        found
    }

    /// Keeps a worker for its tenant's next render.
    fn keep(&self, tenant: &str, mut worker: Worker) {
        let limits = &self.config.limits;
        worker.renders += 1;
        if worker.renders >= limits.renders || worker.sent.len() >= MODULES || limits.idle.is_zero() {
            return;
        }
        let ends = Instant::now().checked_add(limits.idle);
        let mut state = self.shared.state();
        state.idle.push(Idle { tenant: tenant.to_owned(), ends, worker });
        let beyond = state.idle.len().saturating_sub(limits.idle_workers);
        let too_many: Vec<Idle> = state.idle.drain(..beyond).collect();
        let watch = !state.watched && !state.idle.is_empty();
        state.watched |= watch;
        drop(state);
        // Killed and reaped outside the lock.
        drop(too_many);
        if watch {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("portico-workers".into()).stack_size(128 << 10);
            if let Err(error) = thread.spawn(move || watch_over(&shared)) {
                tracing::debug!("nobody ends workers without work: {error}");
                let mut state = self.shared.state();
                state.watched = false;
                let unwatched = std::mem::take(&mut state.idle);
                drop(state);
                drop(unwatched);
            }
        }
    }
}

/// Ends workers whose time is up, as long as there are any.
fn watch_over(shared: &Shared) {
    let mut state = shared.state();
    loop {
        let now = Instant::now();
        let up = |idle: &Idle| idle.ends.is_some_and(|ends| ends <= now);
        if state.idle.iter().any(up) {
            let (over, left) = std::mem::take(&mut state.idle).into_iter().partition(up);
            state.idle = left;
            drop(state);
            let over: Vec<Idle> = over;
            drop(over);
            state = shared.state();
            continue;
        }
        if state.closed || state.idle.is_empty() {
            state.watched = false;
            return;
        }
        state = match state.idle.iter().filter_map(|idle| idle.ends).min() {
            Some(next) => {
                let wait = next.saturating_duration_since(now);
                shared.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
            }
            None => shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
        };
    }
}

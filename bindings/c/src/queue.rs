//! The threads of an engine, and what waits for them.
//!
//! Threads are started when there is more to do than those that are there can take, up to a bound, and stay until the
//! engine is freed. None is the caller's: functions need a stack that is large enough, and signals that are blocked.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::error::Error;
use crate::render::Render;
use crate::report::Report;
use crate::signals;

/// Functions run on the stack of these threads: 1 MiB of it is theirs, and reading YAML that is deeply nested takes the
/// rest. Address space; memory only for what is used.
const STACK: usize = 4 << 20;

/// What a thread does for a render; how it ends.
pub(crate) type Work = Box<dyn FnOnce(&Render) -> Result<Report, Error> + Send>;

/// A render to be done.
pub(crate) struct Job {
    pub(crate) render: Arc<Render>,
    pub(crate) work: Work,
}

impl Job {
    /// Does it, whatever happens.
    fn run(self) {
        let Job { render, work } = self;
        if !render.begin() {
            return;
        }
        let done = catch_unwind(AssertUnwindSafe(|| work(&render)));
        render.end(done.unwrap_or_else(|panic| Err(Error::Panic(words(&*panic)))));
    }
}

/// What a panic said.
pub(crate) fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without words".to_owned())
}

/// Jobs and the threads that do them. Dropping it cancels what is not done, and waits for the threads.
pub(crate) struct Queue {
    shared: Arc<Shared>,
    threads: usize,
    waiting: usize,
}

struct Shared {
    state: Mutex<State>,
    more: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// What each thread is doing, by its number.
    running: Vec<Option<Arc<Render>>>,
    idle: usize,
    threads: Vec<JoinHandle<()>>,
    closed: bool,
}

impl Queue {
    /// A queue with at most so many threads and so many jobs that wait for them.
    pub(crate) fn new(threads: usize, waiting: usize) -> Queue {
        let shared = Shared { state: Mutex::default(), more: Condvar::new() };
        Queue { shared: Arc::new(shared), threads, waiting }
    }

    /// Takes a job; it is done at once where a thread is free.
    pub(crate) fn submit(&self, job: Job) -> Result<(), Error> {
        let mut state = self.shared.lock();
        let room = self.waiting + state.idle + (self.threads - state.threads.len());
        if state.jobs.len() >= room {
            // Those that were cancelled only hold what nobody wants.
            state.jobs.retain(|job| !job.render.token().is_cancelled());
        }
        if state.jobs.len() >= room {
            return Err(Error::Busy { waiting: state.jobs.len() });
        }
        if state.jobs.len() >= state.idle && state.threads.len() < self.threads {
            match self.start(state.threads.len()) {
                Ok(thread) => {
                    state.threads.push(thread);
                    state.running.push(None);
                    // It will be, in a moment.
                    state.idle += 1;
                }
                // Those that are there will do it.
                Err(_) if !state.threads.is_empty() => {}
                Err(error) => return Err(Error::thread(&error)),
            }
        }
        state.jobs.push_back(job);
        drop(state);
        self.shared.more.notify_one();
        Ok(())
    }

    fn start(&self, number: usize) -> std::io::Result<JoinHandle<()>> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("portico-render".into()).stack_size(STACK);
        signals::blocked(|| thread.spawn(move || shared.work(number)))
    }
}

impl Shared {
    /// The life of a thread.
    fn work(&self, number: usize) {
        let mut state = self.lock();
        loop {
            if state.closed {
                return;
            }
            let Some(job) = state.jobs.pop_front() else {
                state = self.more.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.idle -= 1;
            state.running[number] = Some(Arc::clone(&job.render));
            drop(state);
            job.run();
            state = self.lock();
            state.running[number] = None;
            state.idle += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Jobs are not done while it is held, and nothing else panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        let (jobs, threads) = (std::mem::take(&mut state.jobs), std::mem::take(&mut state.threads));
        for render in state.running.iter().flatten().chain(jobs.iter().map(|job| &job.render)) {
            render.cancel();
        }
        drop(state);
        self.shared.more.notify_all();
        drop(jobs);
        for thread in threads {
            // What a job does is caught; there is nothing else to fail.
            drop(thread.join());
        }
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("threads", &self.threads).field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// A job that says that it began and then waits until it is told or cancelled.
    fn blocking(began: &mpsc::Sender<()>) -> (Arc<Render>, Job) {
        let (render, began) = (Arc::new(Render::default()), began.clone());
        let work = Box::new(move |render: &Render| {
            let _ = began.send(());
            render.token().wait_timeout(Duration::MAX);
            Err(Error::Cancelled)
        });
        (Arc::clone(&render), Job { render, work })
    }

    #[test]
    fn what_waits_is_bounded_and_a_cancelled_job_makes_room() {
        let queue = Queue::new(1, 2);
        let (began, begun) = mpsc::channel();
        let jobs: Vec<_> = (0..4).map(|_| blocking(&began)).collect();
        let renders: Vec<_> = jobs.iter().map(|(render, _)| Arc::clone(render)).collect();
        let mut jobs = jobs.into_iter().map(|(_, job)| job);
        queue.submit(jobs.next().unwrap()).unwrap();
        begun.recv().unwrap();
        queue.submit(jobs.next().unwrap()).unwrap();
        queue.submit(jobs.next().unwrap()).unwrap();
        let refused = queue.submit(blocking(&began).1).unwrap_err();
        assert!(matches!(refused, Error::Busy { waiting: 2 }), "{refused}");
        renders[1].cancel();
        queue.submit(jobs.next().unwrap()).unwrap();
        assert!(matches!(renders[1].wait(Some(Duration::ZERO)), Some(Err(Error::Cancelled))));
        assert!(renders[2].wait(Some(Duration::ZERO)).is_none());
    }

    #[test]
    fn the_end_of_the_queue_is_the_end_of_everything_in_it() {
        let queue = Queue::new(2, 10);
        let (began, begun) = mpsc::channel();
        let renders: Vec<_> = (0..5)
            .map(|_| {
                let (render, job) = blocking(&began);
                queue.submit(job).unwrap();
                render
            })
            .collect();
        begun.recv().unwrap();
        begun.recv().unwrap();
        drop(queue);
        for render in renders {
            assert!(matches!(render.wait(Some(Duration::ZERO)), Some(Err(Error::Cancelled))));
        }
        assert!(begun.try_recv().is_err(), "what waited did not begin");
    }

    #[test]
    fn a_panic_ends_its_render_alone() {
        let queue = Queue::new(1, 10);
        let submit = |work: Work| {
            let render = Arc::new(Render::default());
            queue.submit(Job { render: Arc::clone(&render), work }).unwrap();
            render
        };
        let first = submit(Box::new(|_| panic!("no {}", "luck")));
        let second = submit(Box::new(|_| Err(Error::Cancelled)));
        match first.wait(None) {
            Some(Err(Error::Panic(words))) => assert_eq!(words, "no luck"),
            other => panic!("{other:?}"),
        }
        assert!(matches!(second.wait(None), Some(Err(Error::Cancelled))));
    }
}

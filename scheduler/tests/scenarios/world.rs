//! Workers in paused time, clients, and a store.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use portico_scheduler::core::{Ended, Failure, Outcome};
use portico_scheduler::driver::{Job, RenderScheduler, Rendering, Settings, Workers};
use portico_scheduler::events::Ring;
use portico_scheduler::model::{Ending, Files, Priority, Reason, Revision, RevisionKey};
use portico_scheduler::store::memory::FaultPlan;
use portico_scheduler::store::{
    ClientUpdate, Expected, MemoryStore, NewRevision, PackageStore as _, StoreLimits, VirtualClock,
};
use tokio::time::Instant;

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// What a render does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Does {
    Well,
    Fails,
    Invalid,
    Breaks(Failure),
    Panics,
    /// It does not listen.
    IgnoresCancel,
}

/// A render that began.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) key: RevisionKey,
    pub(crate) edit: String,
    pub(crate) began: Instant,
    pub(crate) ended: Option<Instant>,
    pub(crate) cancelled: bool,
}

/// Workers whose renders take paused time.
pub(crate) struct Timed {
    pub(crate) time: Duration,
    script: Box<dyn Fn(&str) -> Does + Send + Sync>,
    pub(crate) configuration: AtomicU64,
    log: Arc<Mutex<Vec<Run>>>,
    running: Arc<AtomicUsize>,
    peak: Arc<AtomicUsize>,
}

impl Timed {
    pub(crate) fn new(time: Duration) -> Arc<Self> {
        Self::with(time, |_| Does::Well)
    }

    /// What a render does depends on the edit.
    pub(crate) fn with(time: Duration, script: impl Fn(&str) -> Does + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            time,
            script: Box::new(script),
            configuration: AtomicU64::new(0),
            log: Arc::default(),
            running: Arc::default(),
            peak: Arc::default(),
        })
    }

    pub(crate) fn log(&self) -> Vec<Run> {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn runs_of(&self, key: &RevisionKey) -> Vec<Run> {
        self.log().into_iter().filter(|run| run.key == *key).collect()
    }

    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::SeqCst)
    }
}

/// Counts a render as long as it lives, however it ends.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What a render of this edit leaves.
pub(crate) fn rendered(edit: &str) -> Files {
    let mut files = (*package(edit)).clone();
    files.insert("rendered".to_owned(), Bytes::from(format!("rendered {edit}")));
    Arc::new(files)
}

pub(crate) fn package(edit: &str) -> Files {
    Arc::new(BTreeMap::from([("edit".to_owned(), Bytes::from(edit.to_owned()))]))
}

pub(crate) fn edit_of(files: &Files) -> String {
    String::from_utf8(files["edit"].to_vec()).unwrap()
}

impl Workers for Timed {
    fn run(&self, job: Job) -> Rendering {
        let edit = edit_of(&job.files);
        let does = (self.script)(&edit);
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(running, Ordering::SeqCst);
        let counted = Counted(Arc::clone(&self.running));
        let (log, time) = (Arc::clone(&self.log), self.time);
        let place = {
            let mut log = log.lock().unwrap();
            assert!(
                log.iter().all(|run| run.key != job.key || run.ended.is_some()),
                "two renders of `{}` at once",
                job.key
            );
            let began = Instant::now();
            log.push(Run { key: job.key.clone(), edit: edit.clone(), began, ended: None, cancelled: false });
            log.len() - 1
        };
        let configuration = Some(self.configuration.load(Ordering::SeqCst));
        Box::pin(async move {
            let _counted = counted;
            let end = End { log, place };
            if does == Does::IgnoresCancel {
                tokio::time::sleep(time).await;
            } else {
                tokio::select! {
                    () = tokio::time::sleep(time) => {}
                    () = job.cancel.cancelled() => {
                        end.log.lock().unwrap()[place].cancelled = true;
                        return ended(Outcome::Cancelled, "");
                    }
                }
            }
            match does {
                Does::Well | Does::IgnoresCancel => {
                    let files = Some(rendered(&edit));
                    ended(Outcome::Rendered { ending: Ending::success(), files }, &edit)
                }
                Does::Fails => {
                    let ending = Ending::failure(Reason::RenderFailed, format!("{edit} is no good"));
                    ended(Outcome::Rendered { ending, files: None }, &edit)
                }
                Does::Invalid => {
                    let ending = Ending::failure(Reason::InvalidPackage, "no function is known by the name `late`");
                    let ending = Ending { configuration, ..ending };
                    ended(Outcome::Rendered { ending, files: None }, &edit)
                }
                Does::Breaks(failure) => ended(Outcome::Broken(failure), &edit),
                Does::Panics => panic!("the renderer has a fault"),
            }
        })
    }

    fn configuration(&self) -> u64 {
        self.configuration.load(Ordering::SeqCst)
    }
}

/// Writes down when a render ended, also by a panic.
struct End {
    log: Arc<Mutex<Vec<Run>>>,
    place: usize,
}

impl Drop for End {
    fn drop(&mut self) {
        if let Ok(mut log) = self.log.lock() {
            log[self.place].ended = Some(Instant::now());
        }
    }
}

fn ended(outcome: Outcome, log: &str) -> Ended {
    Ended { outcome, log: Bytes::from(log.to_owned()), fuel: 1 }
}

/// A scheduler, its store, and a client's session with it.
pub(crate) struct World {
    pub(crate) scheduler: RenderScheduler<MemoryStore>,
    pub(crate) client: MemoryStore,
    pub(crate) workers: Arc<Timed>,
    pub(crate) events: Arc<Ring>,
}

pub(crate) fn store() -> (MemoryStore, Arc<VirtualClock>) {
    let clock = VirtualClock::starting_at(1_700_000_000_000);
    let limits = StoreLimits { events: 200_000, ..StoreLimits::default() };
    (MemoryStore::new(clock.clone(), limits, ms(15_000)), clock)
}

impl World {
    pub(crate) fn new(workers: Arc<Timed>, settings: Settings, faults: FaultPlan) -> Self {
        let (client, clock) = store();
        Self::on(client, clock, workers, settings, faults)
    }

    /// On a store that is there already.
    pub(crate) fn on(
        client: MemoryStore,
        clock: Arc<VirtualClock>,
        workers: Arc<Timed>,
        settings: Settings,
        faults: FaultPlan,
    ) -> Self {
        let events = Arc::new(Ring::new(10_000));
        let session = client.session(faults);
        let scheduler = RenderScheduler::with(session, workers.clone(), events.clone(), settings, None, clock);
        Self { scheduler, client, workers, events }
    }

    pub(crate) fn simple(time: Duration, workers: usize) -> Self {
        let world = Self::new(Timed::new(time), Settings::default(), FaultPlan::default());
        world.scheduler.start_processing(workers);
        world
    }

    /// A client makes a draft; the scheduler hears of it from the store's watch.
    pub(crate) async fn create(&self, namespace: &str, name: &str, edit: &str) -> RevisionKey {
        self.create_as(namespace, name, edit, Priority::Normal).await
    }

    pub(crate) async fn create_as(&self, namespace: &str, name: &str, edit: &str, priority: Priority) -> RevisionKey {
        let new = NewRevision { priority, ..NewRevision::new(namespace, name, "repository", package(edit)) };
        self.client.create(new).await.unwrap().key
    }

    /// A client replaces the files, whatever they are.
    pub(crate) async fn edit(&self, key: &RevisionKey, edit: &str) -> Revision {
        loop {
            let expected = Expected::Content(self.client.revision(key).await.unwrap().content_version);
            if let Ok(revision) = self.client.update(key, expected, ClientUpdate::files(package(edit))).await {
                return revision;
            }
        }
    }

    /// The stored files.
    pub(crate) async fn files(&self, key: &RevisionKey) -> Files {
        self.client.get(key).await.unwrap().files
    }

    /// Waits until all of them have been rendered.
    pub(crate) async fn all_rendered(&self, keys: &[RevisionKey]) {
        for key in keys {
            self.scheduler.rendered(key).await.unwrap();
        }
    }
}

/// Waits until something is so, in small steps of paused time.
pub(crate) async fn until(what: impl Fn() -> bool) {
    for _ in 0..1_000_000 {
        if what() {
            return;
        }
        tokio::time::sleep(ms(1)).await;
    }
    panic!("it never came to be so");
}

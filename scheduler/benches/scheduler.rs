//! The scheduler in real time on a store in memory: how soon a render starts and stops, and scenarios 50, 56, 59 and 61.
//!
//! `cargo bench -p portico-scheduler --no-default-features --bench scheduler`
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use portico_scheduler::core::{Ended, Failure, Outcome};
use portico_scheduler::driver::{Job, RenderBackend, RenderScheduler, Settings};
use portico_scheduler::events::Ring;
use portico_scheduler::model::{Ending, ErrorClass, Files, RevisionKey};
use portico_scheduler::store::memory::{Fault, FaultPlan, Operation, Point};
use portico_scheduler::store::{
    ClientUpdate, Expected, MemoryStore, NewRevision, PackageStore as _, StoreLimits, SystemClock,
};
use tokio::sync::mpsc;

/// A render that takes some time and tells when it begins and when it was told to stop.
struct Sleeping {
    time: Duration,
    breaks: bool,
    began: mpsc::UnboundedSender<(RevisionKey, Instant)>,
    stopped: Mutex<Vec<Instant>>,
}

impl RenderBackend for Sleeping {
    fn render(&self, job: &Job) -> Ended {
        let Job { key, files, cancel, .. } = job;
        // The other end may have seen enough.
        let _ = self.began.send((key.clone(), Instant::now()));
        let outcome = if cancel.wait_timeout(self.time) {
            self.stopped.lock().expect("no panic holds it").push(Instant::now());
            Outcome::Cancelled
        } else if self.breaks {
            let retry_after = Some(Duration::from_hours(1));
            Outcome::Broken(Failure { retry_after, ..Failure::new(ErrorClass::Transient, "away") })
        } else {
            let mut files = (**files).clone();
            files.insert("rendered".to_owned(), Bytes::from_static(b"yes"));
            Outcome::Rendered { ending: Ending::success(), files: Some(Arc::new(files)) }
        };
        Ended { outcome, log: Bytes::new(), fuel: 0 }
    }
}

type Begins = mpsc::UnboundedReceiver<(RevisionKey, Instant)>;

struct World {
    scheduler: RenderScheduler<MemoryStore>,
    client: MemoryStore,
    backend: Arc<Sleeping>,
    begins: Begins,
}

fn world(time: Duration, breaks: bool, workers: usize, faults: FaultPlan) -> World {
    let (began, begins) = mpsc::unbounded_channel();
    let backend = Arc::new(Sleeping { time, breaks, began, stopped: Mutex::default() });
    let limits = StoreLimits { events: 1_000_000, ..StoreLimits::default() };
    let client = MemoryStore::new(Arc::new(SystemClock::default()), limits, Duration::from_secs(15));
    let session = client.session(faults);
    let scheduler = RenderScheduler::new(session, backend.clone(), Arc::new(Ring::new(1_000)), Settings::default());
    scheduler.start_processing(workers);
    World { scheduler, client, backend, begins }
}

fn package(edit: u64) -> Files {
    let content = Bytes::from(format!("edit: {edit}\n").repeat(100));
    Arc::new(BTreeMap::from([("config.yaml".to_owned(), content)]))
}

async fn create(client: &MemoryStore, namespace: &str, n: u64) -> RevisionKey {
    client.create(NewRevision::new(namespace, &format!("p{n}"), "repository", package(0))).await.expect("taken").key
}

async fn edit(client: &MemoryStore, key: &RevisionKey, edit: u64) {
    let seen = client.revision(key).await.expect("it is there").content_version;
    client.update(key, Expected::Content(seen), ClientUpdate::files(package(edit))).await.expect("taken");
}

fn show(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: usize| times[(times.len() - 1) * part / 100];
    println!("{what}: median {:?}, p99 {:?}, most {:?} of {}", at(50), at(99), at(100), times.len());
}

#[tokio::main]
async fn main() {
    start().await;
    stop().await;
    burst().await;
    fair().await;
    idle().await;
    slow_store().await;
    restart().await;
}

async fn start() {
    let mut world = world(Duration::ZERO, false, 4, FaultPlan::default());
    let key = create(&world.client, "a", 0).await;
    world.begins.recv().await;
    world.scheduler.rendered(&key).await.expect("it ends");
    let mut times = Vec::new();
    for n in 1..=1_000 {
        let asked = Instant::now();
        edit(&world.client, &key, n).await;
        let (_, began) = world.begins.recv().await.expect("it begins");
        times.push(began - asked);
        world.scheduler.rendered(&key).await.expect("it ends");
    }
    show("update to render start, idle", times);
}

async fn stop() {
    let mut world = world(Duration::from_mins(10), false, 4, FaultPlan::default());
    let mut asked = Vec::new();
    for n in 0..1_000 {
        let key = create(&world.client, "a", n).await;
        world.begins.recv().await;
        asked.push(Instant::now());
        world.scheduler.cancel(&key, "bench").await.expect("it is there");
        world.scheduler.rendered(&key).await.expect("it ends");
    }
    let stopped = world.backend.stopped.lock().expect("no panic holds it").clone();
    show("cancel to stop", asked.iter().zip(stopped).map(|(asked, stopped)| stopped - *asked).collect());
}

async fn burst() {
    let mut world = world(Duration::from_millis(500), false, 1, FaultPlan::default());
    let key = create(&world.client, "a", 0).await;
    world.begins.recv().await;
    let mut calls = Vec::new();
    for n in 1..=100 {
        tokio::time::sleep(Duration::from_millis(2)).await;
        let asked = Instant::now();
        edit(&world.client, &key, n).await;
        world.scheduler.schedule_render(&key).await.expect("it is there");
        calls.push(asked.elapsed());
    }
    world.scheduler.rendered(&key).await.expect("it ends");
    let counters = world.scheduler.counters();
    show("50: a submit call", calls);
    println!("50: {} renders, {} of them cancelled", counters.started, counters.superseded);
}

async fn fair() {
    let mut world = world(Duration::from_millis(50), false, 4, FaultPlan::default());
    for n in 0..10_000 {
        create(&world.client, "a", n).await;
    }
    for _ in 0..20 {
        world.begins.recv().await;
    }
    let asked = Instant::now();
    let newcomer = create(&world.client, "b", 0).await;
    loop {
        let (key, began) = world.begins.recv().await.expect("it begins");
        if key == newcomer {
            println!(
                "56: the newcomer starts after {:?}, {} others wait",
                began - asked,
                world.scheduler.lengths().waiting()
            );
            return;
        }
    }
}

async fn idle() {
    let world = world(Duration::ZERO, true, 8, FaultPlan::default());
    for n in 0..500 {
        create(&world.client, "a", n).await;
    }
    while world.scheduler.lengths().delayed < 500 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (before, events) = (processor_time(), world.scheduler.counters().events);
    let seconds = 20;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let used = processor_time().saturating_sub(before);
    let woken = world.scheduler.counters().events - events;
    println!("59: 500 wait for {seconds} s: {used:?} of processor time, {woken} events");
}

/// Of this process, to 10 ms.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

async fn slow_store() {
    let slow = Fault::Delay(Duration::from_secs(2));
    let away = Fault::Unavailable { retry_after: None };
    let mut faults = FaultPlan::seeded(61);
    for operation in [Operation::SaveResult, Operation::SetState] {
        faults = faults.by_chance(Point::Before(operation), 1.0, slow).by_chance(Point::Before(operation), 0.1, away);
    }
    let mut world = world(Duration::from_millis(10), false, 4, faults);
    let mut keys = Vec::new();
    let asked = Instant::now();
    for n in 0..200 {
        keys.push(create(&world.client, "a", n).await);
    }
    for _ in 0..200 {
        world.begins.recv().await;
    }
    println!("61: the last of 200 renders began after {:?}", asked.elapsed());
    for key in &keys {
        world.scheduler.rendered(key).await.expect("it ends");
    }
    println!("61: all are saved after {:?}: {:?}", asked.elapsed(), world.scheduler.write_counters());
}

async fn restart() {
    let old = world(Duration::ZERO, false, 0, FaultPlan::default());
    for n in 0..100_000 {
        create(&old.client, &format!("namespace{}", n % 1_000), n).await;
    }
    let store = old.client.session(FaultPlan::default());
    let (backend, asked) = (old.backend.clone(), Instant::now());
    let scheduler = RenderScheduler::new(store, backend, Arc::new(Ring::new(1_000)), Settings::default());
    while scheduler.lengths().waiting() < 100_000 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    println!("restart: 100,000 revisions are scheduled after {:?}", asked.elapsed());
}

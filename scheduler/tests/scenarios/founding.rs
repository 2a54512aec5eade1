//! Failures that the founding documents tell of, as far as the driver keeps them away; others stand beside what they are
//! about.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portico_scheduler::core::{Counters, Waited};
use portico_scheduler::driver::{Meter, RenderEnd, Settings};
use portico_scheduler::store::memory::FaultPlan;
use tokio::time::sleep;

use super::world::{Timed, World, ms, until};

/// Writes down what it is told.
#[derive(Debug, Default)]
struct Told(Mutex<Heard>);

#[derive(Debug, Default)]
struct Heard {
    started: Vec<Waited>,
    ended: Vec<(RenderEnd, Duration)>,
    worked: Vec<Duration>,
    turns: u64,
    lags: Vec<Duration>,
}

impl Meter for Told {
    fn started(&self, waited: Waited) {
        self.0.lock().unwrap().started.push(waited);
    }

    fn ended(&self, end: RenderEnd, took: Duration) {
        self.0.lock().unwrap().ended.push((end, took));
    }

    fn worked(&self, took: Duration) {
        self.0.lock().unwrap().worked.push(took);
    }

    fn turn(&self, _: Duration) {
        self.0.lock().unwrap().turns += 1;
    }

    fn lag(&self, lag: Duration) {
        self.0.lock().unwrap().lags.push(lag);
    }
}

fn metered(workers: Arc<Timed>) -> (World, Arc<Told>) {
    let told = Arc::new(Told::default());
    let settings = Settings { meter: told.clone(), ..Settings::default() };
    (World::new(workers, settings, FaultPlan::default()), told)
}

/// Document 004: after its configuration was read anew, the launcher counted with a metrics client that nobody asked any
/// more. Here one set of counters lasts as long as the scheduler: nothing that it goes through begins them anew, and what
/// comes after still counts.
#[tokio::test(start_paused = true)]
async fn from_004_the_counters_go_on_across_a_reload() {
    let (world, told) = metered(Timed::new(ms(5)));
    let mut before = Counters::default();
    let mut counted = async |renders: u64, what: &str| {
        let key = world.create("namespace", &format!("p{renders}"), "1").await;
        world.scheduler.rendered(&key).await.unwrap();
        let now = world.scheduler.counters();
        assert_eq!((now.started, now.succeeded), (renders, renders), "{what}");
        assert!(now.events > before.events && now.failed + now.conflicts == 0, "{what}: {now:?}");
        let heard = told.0.lock().unwrap();
        assert_eq!(heard.started.len() as u64, renders, "{what}");
        assert!(heard.turns >= now.events, "{what}");
        assert!(world.scheduler.write_counters().executed >= 2 * renders, "{what}");
        before = now;
    };
    world.scheduler.start_processing(1);
    counted(1, "first").await;
    world.scheduler.stop_processing().await;
    world.scheduler.start_processing(2);
    counted(2, "stopped and started").await;
    world.workers.configuration.store(7, Ordering::SeqCst);
    world.scheduler.configuration_changed();
    counted(3, "other configuration").await;
    world.scheduler.store().partition(true);
    until(|| !world.scheduler.is_watching()).await;
    world.scheduler.store().partition(false);
    until(|| world.scheduler.is_watching()).await;
    counted(4, "reconnected").await;
    world.scheduler.set_quota("namespace", None);
    counted(5, "other quotas").await;
}

/// Whoever times what the scheduler does hears of waits, renders, turns and of how late changes are seen.
#[tokio::test(start_paused = true)]
async fn a_meter_hears_what_takes_time() {
    let (world, told) = metered(Timed::new(ms(100)));
    world.scheduler.start_processing(1);
    let first = world.create("namespace", "first", "1").await;
    until(|| world.workers.running() == 1).await;
    let second = world.create("namespace", "second", "1").await;
    sleep(ms(50)).await;
    let running = world.scheduler.running();
    assert!(running.renders == 1 && running.total == running.longest && running.longest >= ms(50), "{running:?}");
    world.all_rendered(&[first.clone(), second]).await;
    {
        let heard = told.0.lock().unwrap();
        let turns: Vec<_> = heard.started.iter().map(|waited| waited.turn.as_millis()).collect();
        assert!(turns[0] <= 1 && (98..=101).contains(&turns[1]), "{turns:?}");
        assert!(heard.ended.iter().all(|(end, took)| (*end, *took) == (RenderEnd::Succeeded, ms(100))), "{heard:?}");
        assert_eq!((heard.ended.len(), heard.worked.len()), (2, 2));
        assert!(heard.worked.iter().all(|took| *took >= ms(100)), "{heard:?}");
        assert!(heard.lags.len() >= 2, "each change of content is seen: {heard:?}");
    }
    // An edit that stops a render waits for quiet, which is no wait for a worker.
    world.edit(&first, "2").await;
    until(|| world.workers.running() == 1).await;
    world.edit(&first, "3").await;
    world.scheduler.rendered(&first).await.unwrap();
    let heard = told.0.lock().unwrap();
    assert!(heard.ended.iter().any(|(end, took)| *end == RenderEnd::Stopped && *took < ms(100)), "{heard:?}");
    let waited = heard.started.last().unwrap();
    assert!(waited.scheduled >= ms(25) && waited.turn <= ms(1), "{waited:?}");
}

/// Document 003: idle workers cost nothing. The threads that rendered end, and their memory goes with them.
#[test]
#[cfg(target_os = "linux")]
fn from_003_idle_workers_give_memory_back() {
    use portico_scheduler::core::{Ended, Outcome};
    use portico_scheduler::driver::{Job, RenderBackend, RenderScheduler};
    use portico_scheduler::events::Ring;
    use portico_scheduler::model::Ending;
    use portico_scheduler::store::{MemoryStore, NewRevision, PackageStore as _};

    /// Every render waits until all run.
    struct Together(std::sync::Barrier);

    impl RenderBackend for Together {
        fn render(&self, _: &Job) -> Ended {
            self.0.wait();
            let outcome = Outcome::Rendered { ending: Ending::success(), files: None };
            Ended { outcome, log: bytes::Bytes::new(), fuel: 0 }
        }
    }

    const NAME: &str = "idle-workers";
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name.trim() == NAME).count()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .thread_name(NAME)
        .thread_keep_alive(ms(50))
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = MemoryStore::default();
        let backend = Arc::new(Together(std::sync::Barrier::new(32)));
        let scheduler = RenderScheduler::new(store.clone(), backend, Arc::new(Ring::new(10)), Settings::default());
        scheduler.start_processing(32);
        let mut keys = Vec::new();
        for n in 0..32 {
            let new = NewRevision::new("namespace", &format!("p{n}"), "repository", super::world::package("1"));
            keys.push(store.create(new).await.unwrap().key);
        }
        for key in keys {
            scheduler.rendered(&key).await.unwrap();
        }
        // All were there at once, and none stays but the one of the runtime itself.
        let began = std::time::Instant::now();
        while threads() > 1 {
            assert!(began.elapsed() < Duration::from_mins(1), "{} threads are idle", threads());
            sleep(ms(5)).await;
        }
        assert_eq!(scheduler.counters().succeeded, 32);
    });
}

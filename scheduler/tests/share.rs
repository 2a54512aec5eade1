//! Several schedulers on one store share the work, and spend few claims on it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use portico_scheduler::core::{Ended, Outcome};
use portico_scheduler::driver::{Job, RenderScheduler, Rendering, Settings, Shared, Workers};
use portico_scheduler::events::Ring;
use portico_scheduler::model::{Ending, RevisionKey};
use portico_scheduler::store::memory::{FaultPlan, Operation};
use portico_scheduler::store::{
    Clock, InstanceId, MemoryStore, NewRevision, PackageStore as _, Registration, Select, StoreLimits, VirtualClock,
};

const LEASE: Duration = Duration::from_secs(15);

/// Renders that take paused time.
struct Timed {
    time: Duration,
    renders: Arc<Mutex<HashMap<RevisionKey, Vec<usize>>>>,
    me: usize,
}

impl Workers for Timed {
    fn run(&self, job: Job) -> Rendering {
        self.renders.lock().unwrap().entry(job.key).or_default().push(self.me);
        let time = self.time;
        Box::pin(async move {
            tokio::time::sleep(time).await;
            let outcome = Outcome::Rendered { ending: Ending::success(), files: None };
            Ended { outcome, log: Bytes::new(), fuel: 1 }
        })
    }
}

/// Document 004 (Ic48b872184), at the level of whole schedulers: 10,000 revisions wait, four schedulers take them, one of them
/// three times slower than the fastest. Each is rendered once, with at most 1.2 claims a render.
#[tokio::test(start_paused = true)]
async fn four_schedulers_spend_few_claims() {
    const ITEMS: usize = 10_000;
    let clock = VirtualClock::starting_at(1_800_000_000_000);
    let limits = StoreLimits { events: 10 * ITEMS, ..StoreLimits::default() };
    let base = MemoryStore::new(Arc::clone(&clock) as Arc<dyn Clock>, limits, LEASE);
    for i in 0..ITEMS {
        let files = Arc::new(BTreeMap::from([("edit".to_owned(), Bytes::from(i.to_string()))]));
        let tenant = format!("tenant{}", i % 7);
        base.create(NewRevision::new(&tenant, &format!("p{i}"), "repo", files)).await.unwrap();
    }
    let renders = Arc::default();
    let mut schedulers = Vec::new();
    for me in 0..4 {
        let store = base.session(FaultPlan::default());
        let time = Duration::from_millis(20 + 20 * (me as u64 % 3));
        let workers = Arc::new(Timed { time, renders: Arc::clone(&renders), me });
        let id = InstanceId(format!("scheduler{me}").into());
        let registration = Registration { id, version: "1".into(), catalog: "c".into(), memory: 1 << 30 };
        let shared = Shared { registration, lease: LEASE };
        let (ring, settings) = (Arc::new(Ring::new(100)), Settings::default());
        let clock = Arc::clone(&clock) as Arc<dyn Clock>;
        let scheduler = RenderScheduler::with(store.clone(), workers, ring, settings, Some(shared), clock);
        scheduler.start_processing(4);
        schedulers.push((store, scheduler));
    }
    let began = tokio::time::Instant::now();
    while !base.page(Select::Unfinished, None, 1).await.unwrap().revisions.is_empty() {
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(began.elapsed() < Duration::from_hours(1), "it does not end");
    }
    let took = began.elapsed();
    let claims: u64 = schedulers.iter().map(|(store, _)| store.calls(Operation::Claim)).sum();
    let renders = renders.lock().unwrap();
    assert_eq!(renders.len(), ITEMS);
    let twice = renders.values().filter(|by| by.len() != 1).count();
    let mut each = [0; 4];
    renders.values().flatten().for_each(|me| each[*me] += 1);
    assert_eq!(twice, 0, "rendered more than once; {each:?}");
    let ratio = claims * 100 / ITEMS as u64;
    assert!(ratio <= 120, "{ratio} claims for 100 renders; {each:?}, {took:?}");
}

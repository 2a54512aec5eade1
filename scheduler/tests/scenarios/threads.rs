//! Renders on real threads: panics, and a cancel that the thread hears.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use portico_scheduler::core::{Ended, Outcome};
use portico_scheduler::driver::{Job, RenderBackend, RenderScheduler, Settings};
use portico_scheduler::events::Ring;
use portico_scheduler::model::{Ending, Reason, RenderState};
use portico_scheduler::store::{MemoryStore, NewRevision, PackageStore as _};
use tokio::sync::mpsc;

use super::world::package;

/// Tells when it begins, and waits to be cancelled if the package says so.
struct Blocking {
    began: mpsc::UnboundedSender<String>,
    at_once: AtomicUsize,
}

impl RenderBackend for Blocking {
    fn render(&self, Job { files, cancel, .. }: &Job) -> Ended {
        let edit = super::world::edit_of(files);
        self.at_once.fetch_add(1, Ordering::SeqCst);
        self.began.send(edit.clone()).unwrap();
        let outcome = match edit.as_str() {
            "waits" if cancel.wait_timeout(Duration::from_mins(10)) => Outcome::Cancelled,
            "panics" => panic!("a fault in the renderer"),
            _ => Outcome::Rendered { ending: Ending::success(), files: None },
        };
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        Ended { outcome, log: Bytes::new(), fuel: 0 }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_is_told_to_stop_and_its_slot_is_free() {
    let (began, mut begins) = mpsc::unbounded_channel();
    let backend = Arc::new(Blocking { began, at_once: AtomicUsize::new(0) });
    let store = MemoryStore::default();
    let scheduler = RenderScheduler::new(store.clone(), backend.clone(), Arc::new(Ring::new(100)), Settings::default());
    scheduler.start_processing(1);
    let new = |name: &str, edit: &str| NewRevision::new("namespace", name, "repository", package(edit));
    let waits = store.create(new("waits", "waits")).await.unwrap().key;
    let next = store.create(new("next", "next")).await.unwrap().key;
    assert_eq!(begins.recv().await.unwrap(), "waits");
    scheduler.cancel(&waits, "no longer wanted").await.unwrap();
    assert_eq!(begins.recv().await.unwrap(), "next");
    let cancelled = scheduler.rendered(&waits).await.unwrap().render_state();
    assert_eq!(cancelled, Some(RenderState::Ended(Ending::failure(Reason::Cancelled, "no longer wanted"))));
    scheduler.rendered(&next).await.unwrap();
    // A thread that panics is missed by nobody.
    let panics = store.create(new("panics", "panics")).await.unwrap().key;
    let after = store.create(new("after", "after")).await.unwrap().key;
    scheduler.rendered(&after).await.unwrap();
    assert!(store.revision(&panics).await.unwrap().is_unfinished(), "it is tried again");
    scheduler.close().await;
}

/// Tells when it begins, and whether it was told to stop.
struct Told(mpsc::UnboundedSender<bool>);

impl RenderBackend for Told {
    fn render(&self, job: &Job) -> Ended {
        self.0.send(false).unwrap();
        // Far longer than the word takes on a busy machine.
        self.0.send(job.cancel.wait_timeout(Duration::from_secs(20))).unwrap();
        Ended { outcome: Outcome::Cancelled, log: Bytes::new(), fuel: 0 }
    }
}

/// The tasks that wait for renders go with their runtime. What renders must hear of it all the same, or a runtime that
/// waits for its threads would wait for ever.
#[test]
fn a_scheduler_that_outlives_its_runtime_stops_what_renders() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (told, mut tells) = mpsc::unbounded_channel();
    let scheduler = runtime.block_on(async {
        let (store, ring) = (MemoryStore::default(), Arc::new(Ring::new(100)));
        let scheduler = RenderScheduler::new(store.clone(), Arc::new(Told(told)), ring, Settings::default());
        scheduler.start_processing(1);
        store.create(NewRevision::new("namespace", "waits", "repository", package("waits"))).await.unwrap();
        assert_eq!(tells.recv().await, Some(false));
        scheduler
    });
    runtime.shutdown_background();
    drop(scheduler);
    assert_eq!(tells.blocking_recv(), Some(true));
}

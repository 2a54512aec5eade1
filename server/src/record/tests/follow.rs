//! The log subresource, with renders that do what they are told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use axum::body::to_bytes;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt as _;
use portico_runtime::{Event, StepReport};
use portico_scheduler::core::{Ended, Outcome};
use portico_scheduler::driver::{Job, RenderBackend, RenderScheduler, Settings};
use portico_scheduler::events::Ring;
use portico_scheduler::model::{Ending, Files, RevisionKey};
use portico_scheduler::store::embedded::EmbeddedOptions;
use portico_scheduler::store::{ClientUpdate, EmbeddedStore, Expected, NewRevision, PackageStore as _, RenderLog};
use serde_json::Value;

use super::{not_run, run, step};
use crate::Scheduler;
use crate::record::limits::RecordLimits;
use crate::record::log::{LogError, LogQuery, log};
use crate::record::model::{Record, RecordOutcome};
use crate::record::renders::Renders;

/// What a render is to do next.
enum Order {
    Begin(StepReport),
    Step(StepReport),
    End,
}

/// Renders as it is told, and stops when it is cancelled.
struct Obedient {
    renders: Arc<Renders>,
    orders: Mutex<mpsc::Receiver<Order>>,
}

impl RenderBackend for Obedient {
    fn render(&self, job: &Job) -> Ended {
        let orders = self.orders.lock().unwrap();
        let live = self.renders.begin(&job.key, job.content);
        let (recorded, outcome) = loop {
            if job.cancel.is_cancelled() {
                break (RecordOutcome::Stopped, Outcome::Cancelled);
            }
            match orders.recv_timeout(Duration::from_millis(2)) {
                Ok(Order::Begin(report)) => live.event(&Event::StepStarted(&report)),
                Ok(Order::Step(report)) => run(&live, &report),
                Ok(Order::End) => {
                    let outcome = Outcome::Rendered { ending: Ending::success(), files: None };
                    break (RecordOutcome::Succeeded, outcome);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                // Nobody tells it anything any more but to stop.
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    job.cancel.wait_timeout(Duration::from_mins(10));
                }
            }
        };
        let log = live.end(recorded, "", &[]);
        self.renders.end(&live);
        Ended { outcome, log, fuel: 0 }
    }
}

struct World {
    scheduler: Scheduler,
    renders: Arc<Renders>,
    orders: mpsc::Sender<Order>,
    key: RevisionKey,
    file: tempfile::TempDir,
}

fn files(content: &str) -> Files {
    Arc::new(BTreeMap::from([("a.yaml".to_owned(), Bytes::from(content.to_owned()))]))
}

impl World {
    /// A revision that waits to be rendered.
    async fn new(limits: RecordLimits) -> Self {
        let file = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(&file.path().join("store"), EmbeddedOptions::default()).unwrap();
        let (renders, (orders, obeyed)) = (Renders::new(limits), mpsc::channel());
        let backend = Obedient { renders: Arc::clone(&renders), orders: Mutex::new(obeyed) };
        let ring = Arc::new(Ring::new(100));
        let scheduler = RenderScheduler::new(store, Arc::new(backend), ring, Settings::default());
        let new = NewRevision::new("team-a", "web.v1", "blueprints", files("first"));
        let key = scheduler.store().create(new).await.unwrap().key;
        Self { scheduler, renders, orders, key, file }
    }

    async fn ask(&self, query: &[(&str, &str)]) -> Result<Response, LogError> {
        let query = LogQuery::parse(query.iter().copied())?;
        log(&self.renders, &self.scheduler, &self.key, &query).await
    }

    async fn read(&self, query: &[(&str, &str)]) -> String {
        all(self.ask(query).await.unwrap()).await
    }

    fn order(&self, order: Order) {
        self.orders.send(order).unwrap();
    }

    /// Waits until the render that runs now has come so far.
    async fn reached(&self, entries: usize) {
        let mut began = self.renders.began();
        let live = loop {
            match self.renders.live(&self.key) {
                Some(live) => break live,
                None => began.changed().await.unwrap(),
            }
        };
        live.subscribe().wait_for(|told| *told >= entries).await.unwrap();
    }

    async fn edit(&self, content: &str) {
        let revision = self.scheduler.store().revision(&self.key).await.unwrap();
        let expected = Expected::Content(revision.content_version);
        let update = ClientUpdate::files(files(content));
        let edited = self.scheduler.store().update(&self.key, expected, update).await.unwrap();
        self.scheduler.changed(edited);
    }
}

async fn all(response: Response) -> String {
    String::from_utf8(to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap()
}

/// Reads until a text has come.
async fn until(body: &mut axum::body::BodyDataStream, text: &str) -> String {
    let mut read = String::new();
    while !read.contains(text) {
        let part = body.next().await.unwrap_or_else(|| panic!("no `{text}` in: {read}"));
        read.push_str(std::str::from_utf8(&part.unwrap()).unwrap());
    }
    read
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_is_followed_while_it_is_written_and_read_afterwards() {
    let world = World::new(RecordLimits::default()).await;
    assert!(matches!(world.ask(&[]).await, Err(LogError::NotYet(_))));
    // It waits for the render to begin.
    let mut body = world.ask(&[("follow", "true")]).await.unwrap().into_body().into_data_stream();
    world.scheduler.start_processing(1);
    let mut read = until(&mut body, "render ").await;
    world.order(Order::Step(step(0)));
    read += &until(&mut body, "passed in").await;
    assert_eq!(world.read(&[]).await, read, "what there is now");
    world.order(Order::Begin(not_run(1)));
    read += &until(&mut body, "step 2 of").await;
    world.order(Order::Step(step(2)));
    world.order(Order::End);
    while let Some(part) = body.next().await {
        read.push_str(std::str::from_utf8(&part.unwrap()).unwrap());
    }
    world.scheduler.rendered(&world.key).await.unwrap();
    assert_eq!(world.read(&[]).await, read);
    assert_eq!(world.read(&[("follow", "")]).await, read);
    assert!(read.contains("succeeded after"), "{read}");

    // Another process knows it from the store alone.
    let id = world.renders.last(&world.key).unwrap().id().clone();
    let World { scheduler, key, file, .. } = world;
    scheduler.close().await;
    drop(scheduler);
    let again = World::reopened(&file, key).await;
    assert_eq!(again.read(&[]).await, read);
    assert_eq!(again.read(&[("follow", "true")]).await, read);
    assert_eq!(again.read(&[("render", id.as_str())]).await, read);
    let record: Record = serde_json::from_str(&again.read(&[("format", "json")]).await).unwrap();
    assert_eq!((record.render, record.steps.len()), (id, 3));
}

impl World {
    async fn reopened(file: &tempfile::TempDir, key: RevisionKey) -> Self {
        let path = file.path().join("store");
        // The thread that writes gives the file back on its own.
        let store = loop {
            match EmbeddedStore::open(&path, EmbeddedOptions::default()) {
                Ok(store) => break store,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let (renders, (orders, obeyed)) = (Renders::new(RecordLimits::default()), mpsc::channel());
        let backend = Obedient { renders: Arc::clone(&renders), orders: Mutex::new(obeyed) };
        let scheduler = RenderScheduler::new(store, Arc::new(backend), Arc::new(Ring::new(100)), Settings::default());
        Self { scheduler, renders, orders, key, file: tempfile::tempdir().unwrap() }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_follows_sees_the_next_render_where_one_is_superseded() {
    let world = World::new(RecordLimits::default()).await;
    world.scheduler.start_processing(1);
    world.order(Order::Begin(not_run(0)));
    world.reached(2).await;
    let first = world.renders.live(&world.key).unwrap().id().clone();
    let mut body = world.ask(&[("follow", "true")]).await.unwrap().into_body().into_data_stream();
    until(&mut body, "step 1 of").await;
    world.edit("second").await;
    let read = until(&mut body, "stopped after").await + &until(&mut body, "render ").await;
    assert!(!read.contains("succeeded"), "{read}");
    world.order(Order::End);
    until(&mut body, "succeeded after").await;
    assert!(body.next().await.is_none(), "there is nothing to render any more");
    // What was asked for by its id is that one alone.
    let named = world.read(&[("follow", "true"), ("render", first.as_str())]).await;
    assert!(
        named.contains(first.as_str()) && named.trim_end().lines().last().unwrap().starts_with("stopped"),
        "{named}"
    );
    assert!(matches!(world.ask(&[("render", "another")]).await, Err(LogError::NotKept { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_and_a_deletion_end_what_is_followed() {
    for delete in [false, true] {
        let world = World::new(RecordLimits::default()).await;
        world.scheduler.start_processing(1);
        world.order(Order::Begin(not_run(0)));
        world.reached(2).await;
        let response = world.ask(&[("follow", "true")]).await.unwrap();
        if delete {
            world.scheduler.store().delete(&world.key, None).await.unwrap();
            world.scheduler.deleted(&world.key);
        } else {
            world.scheduler.cancel(&world.key, "no longer wanted").await.unwrap();
        }
        let read = all(response).await;
        assert!(read.contains("stopped after"), "{read}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_followed_as_json_has_an_object_a_line() {
    let world = World::new(RecordLimits::default()).await;
    world.scheduler.start_processing(1);
    world.order(Order::Step(step(0)));
    world.reached(3).await;
    let response = world.ask(&[("follow", "1"), ("format", "json")]).await.unwrap();
    world.order(Order::End);
    let read = all(response).await;
    let types = |read: &str| {
        let lines = read.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| line["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(types(&read), ["Began", "StepBegan", "StepEnded", "Ended"]);
    world.scheduler.rendered(&world.key).await.unwrap();
    let tail = world.read(&[("follow", "1"), ("format", "json"), ("tailLines", "1")]).await;
    assert_eq!(types(&tail), ["Ended"]);
    let last: Value = serde_json::from_str(&tail).unwrap();
    assert_eq!((&last["record"]["outcome"], &last["record"]["name"]), (&"Succeeded".into(), &"web.v1".into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_and_the_beginning_of_a_log_can_be_had_alone() {
    let world = World::new(RecordLimits::default()).await;
    world.scheduler.start_processing(1);
    world.order(Order::Step(step(0)));
    world.reached(3).await;
    // Of what is there already, the last lines; then all that comes.
    let response = world.ask(&[("follow", "true"), ("tailLines", "1")]).await.unwrap();
    let mut body = response.into_body().into_data_stream();
    assert!(until(&mut body, "passed in").await.starts_with("  passed in"));
    world.order(Order::End);
    until(&mut body, "succeeded after").await;
    let whole = world.read(&[]).await;
    let start = whole.trim_end().rmatch_indices('\n').nth(1).unwrap().0 + 1;
    assert_eq!(world.read(&[("tailLines", "2")]).await, whole[start..]);
    assert_eq!(world.read(&[("tailLines", "1000")]).await, whole);
    assert_eq!(world.read(&[("tailLines", "0")]).await, "");
    assert_eq!(world.read(&[("limitBytes", "10")]).await, whole[..10]);
    assert_eq!(world.read(&[("limitBytes", "10"), ("follow", "true")]).await, whole[..10]);
}

#[test]
fn a_query_that_is_wrong_is_told_so() {
    for (query, words) in [
        (&[("follow", "perhaps")][..], "`follow=perhaps`: `true` or `false`"),
        (&[("format", "xml")], "`format=xml`: `text` or `json`"),
        (&[("tailLines", "-1")], "`tailLines=-1`: a whole number, not negative"),
        (&[("limitBytes", "many")], "`limitBytes=many`: a whole number, not negative"),
        (&[("format", "json"), ("tailLines", "1")], "`tailLines` goes with text"),
    ] {
        let error = LogQuery::parse(query.iter().copied()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.status(), StatusCode::BAD_REQUEST);
    }
    // As Kubernetes does: what is not known does not matter.
    assert_eq!(LogQuery::parse([("pretty", "true"), ("follow", "false")]).unwrap(), LogQuery::default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_is_a_bound_on_those_who_follow_and_their_places_come_back() {
    let world = World::new(RecordLimits { followers: 1, ..RecordLimits::default() }).await;
    let first = world.ask(&[("follow", "true")]).await.unwrap();
    let refused = world.ask(&[("follow", "true")]).await.unwrap_err();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS, "{refused}");
    drop(first);
    while world.ask(&[("follow", "true")]).await.is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_takes_nothing_is_cut_with_a_word() {
    let limits = RecordLimits { stall: Duration::from_millis(5), ..RecordLimits::default() };
    let world = World::new(limits).await;
    world.scheduler.start_processing(1);
    for index in 0..100 {
        world.order(Order::Step(StepReport { stderr: "s".repeat(20_000), ..step(index) }));
    }
    world.reached(201).await;
    let response = world.ask(&[("follow", "true")]).await.unwrap();
    world.renders.cut().wait_for(|cut| *cut == 1).await.unwrap();
    let read = all(response).await;
    assert!(read.ends_with("\n[the log ends here: the reader is too slow; ask again to go on]\n"), "{}", read.len());
    assert!(read.len() < 1 << 20, "{}", read.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_follows_for_ever() {
    let world = World::new(RecordLimits { follow: Duration::from_millis(5), ..RecordLimits::default() }).await;
    // Nobody renders.
    let read = world.read(&[("follow", "true")]).await;
    assert_eq!(read, "\n[the log ends here: it was followed for long; ask again to go on]\n");
    let line: Value = serde_json::from_str(&world.read(&[("follow", "true"), ("format", "json")]).await).unwrap();
    assert_eq!(line["type"], "Cut");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_scheduler_said_last_counts_where_it_gave_up_without_a_render() {
    let world = World::new(RecordLimits::default()).await;
    world.scheduler.start_processing(1);
    world.order(Order::End);
    let revision = world.scheduler.rendered(&world.key).await.unwrap();
    assert!(world.read(&[]).await.contains("succeeded after"));
    let log =
        RenderLog { content: revision.content_version, kept: false, ended_ms: 0, text: "no quota is enough".into() };
    world.scheduler.store().save_log(&world.key, log).await.unwrap();
    assert!(world.read(&[]).await.ends_with("broken off: no quota is enough\n"));
    assert!(world.read(&[("follow", "true")]).await.ends_with("broken off: no quota is enough\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_oldest_records_go_first() {
    let world = World::new(RecordLimits { ended: 2, ..RecordLimits::default() }).await;
    world.scheduler.start_processing(1);
    let mut ids = Vec::new();
    for edit in ["b", "c", "d"] {
        world.reached(1).await;
        ids.push(world.renders.live(&world.key).unwrap().id().clone());
        world.order(Order::End);
        world.scheduler.rendered(&world.key).await.unwrap();
        world.edit(edit).await;
    }
    let kept = ids.iter().map(|id| world.renders.find(&world.key, id.as_str()).is_some());
    assert_eq!(kept.collect::<Vec<_>>(), [false, true, true]);
}

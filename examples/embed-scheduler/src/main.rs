//! The render scheduler in a program of one's own: it schedules, supersedes, crashes and recovers, and tells of it.
//!
//!     cargo run --release -p embed-scheduler
//!
//! The store is one file; the functions are those that are embedded in Portico.
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use portico_catalog::Catalog;
use portico_runtime::package::PackageLimits;
use portico_runtime::{Engine, EngineConfig, RenderOptions, Renderer, Sources};
use portico_scheduler::driver::{RenderScheduler, RuntimeBackend, Settings};
use portico_scheduler::events::{EventReason, EventSink, RenderEvent};
use portico_scheduler::model::{Files, RenderState, Revision, RevisionKey};
use portico_scheduler::store::embedded::EmbeddedOptions;
use portico_scheduler::store::{ClientUpdate, EmbeddedStore, Expected, NewRevision, PackageStore as _, Select};
use tokio::sync::mpsc;

/// How many drafts the process that crashes accepts.
const DRAFTS: usize = 12;

#[tokio::main]
async fn main() -> Result<()> {
    // The process that crashes is this program too.
    if let Some(store) = std::env::args_os().nth(1) {
        return accept_and_crash(&PathBuf::from(store)).await;
    }
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("store.redb");

    println!("1. Schedule: a client stores a package and does not wait for its render.");
    let (scheduler, mut events) = open(&file)?;
    let store = scheduler.store().clone();
    let draft = store.create(NewRevision::new("shop", "web.v1", "blueprints", package(2_000_000, "first"))).await?;
    println!("   accepted: {}", says(&draft));
    scheduler.start_processing(2);
    heard(&mut events, EventReason::RenderStarted).await?;
    println!("   status: {:?}", scheduler.render_execution_status(&draft.key));

    println!("2. Supersede: an edit while the render runs stops it, and the new content is rendered.");
    let edit = ClientUpdate::files(package(1_000, "second"));
    let edited = store.update(&draft.key, Expected::Content(draft.content_version), edit).await?;
    scheduler.changed(edited);
    heard(&mut events, EventReason::RenderSuperseded).await?;
    heard(&mut events, EventReason::RenderSucceeded).await?;
    let rendered = scheduler.rendered(&draft.key).await?;
    println!("   now: {}", says(&rendered));
    check(&store, &draft.key, "second").await?;
    let log = scheduler.last_log(&draft.key).await?.context("a render leaves a log")?;
    for line in String::from_utf8_lossy(&log.text).lines().take(2) {
        println!("   log: {line}");
    }
    scheduler.close().await;
    drop((scheduler, store));

    println!("3. Crash: another process accepts {DRAFTS} drafts and dies when the first of them is rendered.");
    let ended = Command::new(std::env::current_exe()?).arg(&file).status()?;
    ensure!(!ended.success(), "it was to crash");
    println!("   it ended: {ended}");

    println!("4. Recover: whoever opens the store next takes up what is unfinished. Nobody submits anything again.");
    let (scheduler, _events) = open(&file)?;
    let store = scheduler.store().clone();
    let unfinished = store.page(Select::Unfinished, None, 1_000).await?.revisions.len();
    println!("   {unfinished} of {DRAFTS} drafts are unfinished");
    ensure!(unfinished > 0, "it crashed too late");
    scheduler.start_processing(2);
    let mut done = 0;
    for revision in store.page(Select::All, None, 1_000).await?.revisions {
        let rendered = scheduler.rendered(&revision.key).await?;
        ensure!(matches!(rendered.render_state(), Some(RenderState::Ended(end)) if end.rendered), says(&rendered));
        if rendered.key.name.starts_with("draft") {
            check(&store, &rendered.key, "draft").await?;
            done += 1;
        }
    }
    ensure!(done == DRAFTS, "{done} of {DRAFTS} drafts are there");
    println!("   {done} of {DRAFTS} drafts are rendered");
    scheduler.close().await;
    Ok(())
}

/// Accepts drafts, begins to render them, and dies without a word to anybody.
async fn accept_and_crash(file: &Path) -> Result<()> {
    let (scheduler, mut events) = open(file)?;
    for n in 0..DRAFTS {
        let new = NewRevision::new("shop", &format!("draft{n}"), "blueprints", package(100_000, "draft"));
        scheduler.store().create(new).await?;
    }
    scheduler.start_processing(2);
    heard(&mut events, EventReason::RenderSucceeded).await?;
    std::process::abort();
}

type Events = mpsc::UnboundedReceiver<RenderEvent>;

/// Opens the store, and puts a scheduler with the embedded functions on it.
fn open(file: &Path) -> Result<(RenderScheduler<EmbeddedStore>, Events)> {
    let engine = Engine::new(EngineConfig::default())?;
    let renderer = Renderer::new(engine, Sources::new(vec![Arc::new(Catalog)]));
    // The functions are part of the program: they never change in its life.
    let backend = RuntimeBackend::new(renderer, RenderOptions::default(), PackageLimits::default(), || 1);
    let store = EmbeddedStore::open(file, EmbeddedOptions::default())?;
    let (sender, events) = mpsc::unbounded_channel();
    let scheduler = RenderScheduler::new(store, Arc::new(backend), Arc::new(Told(sender)), Settings::default());
    Ok((scheduler, events))
}

/// Tells of events, and passes them on.
struct Told(mpsc::UnboundedSender<RenderEvent>);

impl EventSink for Told {
    fn tell(&self, event: &RenderEvent) {
        println!("   event: {} {}: {}", event.regarding, event.reason.as_str(), event.note);
        // Whoever does not listen any more has heard enough.
        let _ = self.0.send(event.clone());
    }

    fn forget(&self, _: &RevisionKey) {}
}

/// Waits for an event of this kind.
async fn heard(events: &mut Events, reason: EventReason) -> Result<()> {
    while let Some(event) = events.recv().await {
        if event.reason == reason {
            return Ok(());
        }
        if event.reason == EventReason::RenderFailed {
            bail!("{}", event.note);
        }
    }
    bail!("the scheduler ended before {}", reason.as_str())
}

/// A package whose pipeline counts so far, and then sets a namespace.
fn package(count: u64, namespace: &str) -> Files {
    let kptfile = format!(
        "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web
pipeline:
  mutators:
    - image: starlark:latest
      configPath: count.yaml
    - image: set-namespace:latest
      configMap:
        namespace: {namespace}
"
    );
    let script = format!(
        "apiVersion: fn.kpt.dev/v1alpha1
kind: StarlarkRun
metadata:
  name: count
  annotations:
    config.kubernetes.io/local-config: \"true\"
source: |
  def count():
    sum = 0
    for i in range({count}):
      sum += i
    return sum
  count()
"
    );
    let web = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n";
    let files = [("Kptfile", kptfile.as_str()), ("count.yaml", script.as_str()), ("web.yaml", web)];
    Arc::new(BTreeMap::from(files.map(|(path, text)| (path.to_owned(), Bytes::from(text.to_owned())))))
}

/// Whether what is stored has been rendered with this namespace.
async fn check(store: &EmbeddedStore, key: &RevisionKey, namespace: &str) -> Result<()> {
    let files = store.get(key).await?.checked()?.files;
    let web = files.get("web.yaml").context("the package has lost a file")?;
    let text = String::from_utf8_lossy(web);
    ensure!(text.contains(&format!("namespace: {namespace}\n")), "not rendered: {text}");
    Ok(())
}

/// The two conditions in a line.
fn says(revision: &Revision) -> String {
    let each = revision.conditions.iter().map(|c| {
        let message = if c.message.is_empty() { String::new() } else { format!(": {}", c.message) };
        format!("{}={:?} ({}{message})", c.kind, c.status, c.reason)
    });
    each.collect::<Vec<_>>().join(", ")
}

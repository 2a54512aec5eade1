//! `kill -9` at any moment (report 53): what was answered is there, nothing is saved twice, nothing that was finished runs
//! again, and in the end all is as if nobody had been killed.
//!
//! The child is this very binary, told by an environment variable what to do. It says on standard output what the store has
//! answered; its parent kills it after a random number of such lines.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use bytes::Bytes;
use portico_scheduler::core::{Ended, Outcome};
use portico_scheduler::driver::{Job, RenderBackend, RenderScheduler, Settings};
use portico_scheduler::events::Ring;
use portico_scheduler::model::{ContentDigest, Ending, Files, RenderState, mirror};
use portico_scheduler::store::embedded::{EmbeddedOptions, OpenError};
use portico_scheduler::store::{
    Change, ClientUpdate, EmbeddedStore, Expected, NewRevision, PackageStore as _, Select, StoreError, Watch as _,
    Writer,
};

const STORE: &str = "PORTICO_KILL_STORE";
const EDITS: &str = "PORTICO_KILL_EDITS";
const FULL: &str = "PORTICO_KILL_FULL";
const PACKAGES: u32 = 100;

/// What the client writes as the `edit`th content of a package.
fn content(package: u32, edit: u32) -> Files {
    let edit = edit.to_string();
    let kptfile = format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p{package}\n");
    Arc::new(BTreeMap::from([
        ("Kptfile".to_owned(), Bytes::from(kptfile)),
        ("edit".to_owned(), Bytes::from(edit)),
        ("shared.yaml".to_owned(), Bytes::from_static(b"kind: Shared\n")),
    ]))
}

/// What a render makes of it.
fn render(files: &Files) -> Files {
    let mut rendered = (**files).clone();
    rendered.remove("rendered");
    let digest = ContentDigest::of(&rendered);
    rendered.insert("rendered".into(), digest.to_string().into());
    Arc::new(rendered)
}

fn edit_of(files: &Files) -> u32 {
    std::str::from_utf8(&files["edit"]).unwrap().parse().unwrap()
}

/// A line to the parent, whole or not at all.
fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n@{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// The child: no test by itself.
#[test]
fn child() {
    let Some(store) = std::env::var_os(STORE) else { return };
    let edits = std::env::var(EDITS).unwrap().parse().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    if std::env::var_os(FULL).is_some() {
        runtime.block_on(fill(Path::new(&store)));
    } else {
        runtime.block_on(work(Path::new(&store), edits));
    }
    tell("done");
}

/// Writes until there is no room, and then says that reading goes on.
async fn fill(path: &Path) {
    let store = EmbeddedStore::open(path, EmbeddedOptions::default()).unwrap();
    let mut last = None;
    for i in 0.. {
        let files: Files = Arc::new([("Kptfile".to_owned(), Bytes::from(i.to_string().repeat(20_000)))].into());
        match store.create(NewRevision::new("ns", &format!("p{i}"), "repo", files)).await {
            Ok(revision) => {
                tell(&format!("kept {}", revision.key.name));
                last = Some(revision);
            }
            Err(error) => {
                assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
                let last = last.unwrap();
                assert_eq!(store.get(&last.key).await.unwrap().checked().unwrap().revision, last);
                return;
            }
        }
    }
}

/// Says what it begins to render.
struct Telling;

impl RenderBackend for Telling {
    fn render(&self, Job { key, files, .. }: &Job) -> Ended {
        tell(&format!("render {} {}", key.name, edit_of(files)));
        let outcome = Outcome::Rendered { ending: Ending::success(), files: Some(render(files)) };
        Ended { outcome, log: Bytes::from_static(b"log"), fuel: 1 }
    }
}

/// The scheduler, and clients that edit each package so many times. All go on where the store says that they were.
async fn work(path: &Path, edits: u32) {
    let store = EmbeddedStore::open(path, EmbeddedOptions::default()).unwrap();
    tell("open");
    let mut watch = store.watch(store.page(Select::All, None, 1).await.unwrap().version).await.unwrap();
    let watcher = tokio::spawn({
        let store = store.clone();
        async move {
            let mut told = HashSet::new();
            while let Ok(event) = watch.next().await {
                let Change::Put(revision) = event.change else { continue };
                if !revision.is_rendered() || !told.insert(revision.content_version) {
                    continue;
                }
                let saved = store.get(&revision.key).await.unwrap().checked().unwrap();
                if saved.revision.content_version == revision.content_version {
                    tell(&format!("saved {} {}", revision.key.name, edit_of(&saved.files)));
                }
            }
        }
    });
    let settings = Settings::default();
    let scheduler = RenderScheduler::new(store.clone(), Arc::new(Telling), Arc::new(Ring::new(1000)), settings);
    scheduler.start_processing(4);
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..4 {
        let (store, scheduler) = (store.clone(), scheduler.clone());
        clients.spawn(async move {
            for package in (client..PACKAGES).step_by(4) {
                edit(&store, &scheduler, package, edits).await;
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    for package in 0..PACKAGES {
        let revision = store.find("ns", &format!("p{package}")).await.unwrap();
        scheduler.rendered(&revision.key).await.unwrap();
    }
    scheduler.close().await;
    watcher.abort();
}

async fn edit(store: &EmbeddedStore, scheduler: &RenderScheduler<EmbeddedStore>, package: u32, edits: u32) {
    let name = format!("p{package}");
    let mut done = match store.find("ns", &name).await {
        Ok(revision) => edit_of(&store.get(&revision.key).await.unwrap().checked().unwrap().files),
        Err(StoreError::NoSuchName { .. }) => 0,
        Err(error) => panic!("{error:?}"),
    };
    while done < edits {
        let files = content(package, done + 1);
        let answer = match store.find("ns", &name).await {
            Ok(revision) => {
                let seen = Expected::Content(revision.content_version);
                store.update(&revision.key, seen, ClientUpdate::files(files)).await
            }
            Err(_) => store.create(NewRevision::new("ns", &name, "repo", files)).await,
        };
        match answer {
            Ok(revision) => {
                done += 1;
                tell(&format!("edited {name} {done}"));
                // Half of them wait for the result, the others supersede what runs.
                if fastrand::bool() {
                    scheduler.rendered(&revision.key).await.unwrap();
                }
            }
            // A result came in between.
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

fn spawn(store: &Path, edits: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["child", "--exact", "--nocapture", "--test-threads=1"])
        .env(STORE, store)
        .env(EDITS, edits.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What the parent heard.
#[derive(Debug, Default)]
struct Heard {
    edited: HashMap<String, u32>,
    /// Edits whose result was saved, and said to be.
    saved: HashSet<(String, u32)>,
}

impl Heard {
    fn line(&mut self, line: &str) {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["edited", name, edit] => {
                let edit = edit.parse().unwrap();
                let last = self.edited.insert(name.into(), edit).unwrap_or_default();
                assert!(edit > last, "`{name}` lost edit {last}, which was answered");
            }
            ["render", name, edit] => {
                let rendered = (name.to_owned(), edit.parse().unwrap());
                assert!(!self.saved.contains(&rendered), "{rendered:?} was finished and ran again");
            }
            ["saved", name, edit] => {
                let saved = (name.to_owned(), edit.parse().unwrap());
                assert!(self.saved.insert(saved.clone()), "{saved:?} was saved twice");
            }
            ["open"] => {}
            _ => panic!("{line:?}"),
        }
    }
}

/// Runs the child until it has said so many lines, then kills it; `None`: until it is done. Says whether it was done.
fn run(store: &Path, edits: u32, lines: Option<u32>, heard: &mut Heard) -> bool {
    let mut child = spawn(store, edits);
    let mut said = 0;
    let mut killed = lines == Some(0);
    if killed {
        child.kill().unwrap();
    }
    let mut done = false;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        // What it said before it was killed counts, though it is read after.
        let line = line.unwrap();
        let Some(line) = line.strip_prefix('@') else { continue };
        if line == "done" {
            done = true;
            continue;
        }
        heard.line(line);
        said += 1;
        if lines.is_some_and(|lines| said >= lines) && !killed {
            child.kill().unwrap();
            killed = true;
        }
    }
    let status = child.wait().unwrap();
    assert!(killed || (done && status.success()), "the child failed: {status}");
    done
}

#[tokio::test]
async fn nothing_is_lost_or_doubled_by_kills_at_any_moment() {
    let kills: u32 = std::env::var("PORTICO_SOAK").map_or(20, |_| 500);
    // Some 30 lines a life, of which about 2.5 belong to an edit.
    let edits = (kills * 30 * 2 / 5 / PACKAGES).max(3);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut heard = Heard::default();
    let mut killed = 0;
    let mut random = fastrand::Rng::new();
    while killed < kills {
        // Sometimes before it has opened the store, or while.
        let lines = if random.u32(0..10) == 0 { 0 } else { random.u32(1..60) };
        if run(&path, edits, Some(lines), &mut heard) {
            break;
        }
        killed += 1;
    }
    assert!(killed >= kills * 3 / 4, "the work was done after {killed} kills");
    run(&path, edits, None, &mut heard);

    let undisturbed = directory.path().join("undisturbed");
    run(&undisturbed, edits, None, &mut Heard::default());
    let (store, other) = (open(&path), open(&undisturbed));
    let report = store.check().await.unwrap();
    assert!(report.is_sound(), "{report:#?}");
    assert_eq!((report.revisions, report.unfinished), (u64::from(PACKAGES), 0));
    for package in 0..PACKAGES {
        let name = format!("p{package}");
        let revision = store.find("ns", &name).await.unwrap();
        let snapshot = store.get(&revision.key).await.unwrap().checked().unwrap();
        assert!(revision.is_rendered());
        let twin = other.get(&other.find("ns", &name).await.unwrap().key).await.unwrap().checked().unwrap();
        assert_eq!(snapshot.files, twin.files, "not as if nobody had been killed");
        let accepted = mirror(&content(package, edits), &RenderState::Scheduled);
        let ended = RenderState::Ended(Ending::success());
        assert_eq!(snapshot.files, mirror(&render(&accepted), &ended), "what the client wrote, and the conditions");
        let history = store.history(&revision.key).await.unwrap();
        for pair in history.windows(2) {
            assert!(pair[0].by == Writer::Client || pair[1].by == Writer::Client, "saved twice: {history:?}");
        }
    }
}

/// While one process has the store another one is told so, also by a process that was killed and waits to be reaped.
#[test]
fn the_lock_goes_with_its_process() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut child = spawn(&path, 1_000_000);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while lines.next().unwrap().unwrap() != "@open" {}
    let error = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    open(&path);
}

fn open(path: &Path) -> EmbeddedStore {
    EmbeddedStore::open(path, EmbeddedOptions::default()).unwrap()
}

/// A real file that may not grow: the write is refused, and all that was answered is there.
#[tokio::test]
async fn a_file_that_may_not_grow_keeps_all_that_was_answered() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    // The shell's limit counts in blocks of 512 or 1,024 bytes. Without the signal a write beyond it is an error.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 4000; exec \"$0\" child --exact --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .env(STORE, &path)
        .env(EDITS, "0")
        .env(FULL, "1")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("@done"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let kept: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("@kept ")).collect();
    assert!(kept.len() > 10, "{said}");
    let store = open(&path);
    let page = store.page(Select::All, None, 1000).await.unwrap();
    assert_eq!(page.revisions.iter().map(|revision| &*revision.key.name).collect::<Vec<_>>(), kept);
    assert!(store.check().await.unwrap().is_sound());
    store.create(NewRevision::new("ns", "more", "repo", content(0, 0))).await.unwrap();
}

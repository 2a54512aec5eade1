//! What the store in a file costs: commits, and a restart with 100,000 revisions that wait.
//!
//! `cargo bench -p portico-scheduler --no-default-features --bench store`; `TMPDIR` says which disk.

#![expect(clippy::print_stdout, reason = "the figures are the output")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use portico_scheduler::model::Files;
use portico_scheduler::store::embedded::EmbeddedOptions;
use portico_scheduler::store::rules::Content;
use portico_scheduler::store::{ClientUpdate, EmbeddedStore, Expected, NewRevision, PackageStore as _, Select};

const REVISIONS: usize = 100_000;

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "fill", path, quick] => runtime.block_on(fill(Path::new(path), quick == "true")),
        [_, "restart", path, quick] => runtime.block_on(restart(Path::new(path), quick == "true")),
        [_, "accept", ..] => acceptance(),
        _ => {
            acceptance();
            for quick in [true, false] {
                runtime.block_on(commits(quick));
            }
            for quick in [true, false] {
                restarts(quick);
            }
        }
    }
}

fn options(quick_repair: bool) -> EmbeddedOptions {
    EmbeddedOptions { quick_repair, ..EmbeddedOptions::default() }
}

/// Three files, 1.5 KB: two of its own, and one that all share.
fn package(i: usize, edit: usize) -> Files {
    Arc::new(BTreeMap::from([
        ("Kptfile".to_owned(), Bytes::from(kptfile(i))),
        ("deploy.yaml".to_owned(), Bytes::from(format!("edit: {edit}\n{}", "# pad\n".repeat(120)))),
        ("shared.yaml".to_owned(), Bytes::from("kind: Shared\n".repeat(30))),
    ]))
}

/// 500 bytes, as people write them.
fn kptfile(i: usize) -> String {
    let pipeline = "pipeline:\n  mutators:\n    - image: set-labels:latest\n      configMap:\n        app: web\n    - image: \
                    set-namespace:latest\n      configPath: namespace.yaml\n  validators:\n    - image: kubeconform:latest\n";
    let info = "info:\n  description: a package of the benchmark\n  keywords: [web, shop]\n  man: README.md\n";
    format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p{i}\n{info}{pipeline}")
}

/// What the acceptance of a client's files takes: the two conditions in the Kptfile, and the digest.
fn acceptance() {
    let file = |size: usize| Bytes::from("kind: Deployment # some line\n".repeat(size / 29));
    for (what, count, size) in [("1.5 KB", 2, 500), ("20 KB", 10, 2_000), ("1 MB", 100, 10_000)] {
        let mut files: BTreeMap<_, _> = (0..count).map(|n| (format!("file{n}.yaml"), file(size))).collect();
        files.insert("Kptfile".to_owned(), Bytes::from(kptfile(0)));
        let files: Files = Arc::new(files);
        let time = |work: &dyn Fn(&Files) -> Content| {
            let mut times: Vec<Duration> = (0..1_000)
                .map(|_| {
                    let start = Instant::now();
                    std::hint::black_box(work(std::hint::black_box(&files)));
                    start.elapsed()
                })
                .collect();
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64() * 1e6
        };
        let (accepted, digest) = (time(&Content::accepted), time(&Content::rendered));
        println!("accepting {what}: {accepted:.0} µs, of which the digest {digest:.0} µs");
    }
}

/// Writes by so many writers at once, for two seconds each.
async fn commits(quick: bool) {
    for writers in [1, 16, 64, 256] {
        let directory = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(&directory.path().join("store"), options(quick)).unwrap();
        let end = Instant::now() + Duration::from_secs(2);
        let mut tasks = tokio::task::JoinSet::new();
        for writer in 0..writers {
            let store = store.clone();
            tasks.spawn(async move {
                let new = NewRevision::new("ns", &format!("p{writer}"), "repo", package(writer, 0));
                let mut revision = store.create(new).await.unwrap();
                let mut times = Vec::new();
                while Instant::now() < end {
                    let update = ClientUpdate::files(package(writer, times.len()));
                    let start = Instant::now();
                    let seen = Expected::Object(revision.object_version);
                    revision = store.update(&revision.key, seen, update).await.unwrap();
                    times.push(start.elapsed());
                }
                times
            });
        }
        let start = Instant::now();
        let mut times: Vec<Duration> = tasks.join_all().await.into_iter().flatten().collect();
        let seconds = start.elapsed().as_secs_f64();
        times.sort_unstable();
        let stats = store.stats();
        println!(
            "quick_repair {quick}, {writers} writers: {:.0} writes/s, {:.0} commits/s, {:.1} writes a commit, \
             median {:.2} ms, 99th percentile {:.2} ms",
            times.len() as f64 / seconds,
            stats.commits as f64 / seconds,
            stats.writes as f64 / stats.commits as f64,
            times[times.len() / 2].as_secs_f64() * 1e3,
            times[times.len() * 99 / 100].as_secs_f64() * 1e3,
        );
    }
}

/// Fills a store in a child, kills the child, and restarts in another one.
fn restarts(quick: bool) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let child = |mode: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(mode).arg(&path).arg(quick.to_string()).stdout(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut filling = child("fill");
    let mut lines = BufReader::new(filling.stdout.take().unwrap()).lines();
    println!("quick_repair {quick}: {}", lines.next().unwrap().unwrap());
    filling.kill().unwrap();
    filling.wait().unwrap();
    println!("quick_repair {quick}: the file has {} MB", std::fs::metadata(&path).unwrap().len() / 1_000_000);
    for time in ["first, after kill -9", "second"] {
        let output = child("restart").wait_with_output().unwrap();
        print!("quick_repair {quick}, restart, {time}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

async fn fill(path: &Path, quick: bool) {
    let start = Instant::now();
    let store = EmbeddedStore::open(path, options(quick)).unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..256 {
        let store = store.clone();
        tasks.spawn(async move {
            for i in (writer..REVISIONS).step_by(256) {
                let new = NewRevision::new("ns", &format!("p{i}"), "repo", package(i, 0));
                store.create(new).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    println!("{REVISIONS} revisions made in {:.1} s, {} commits", start.elapsed().as_secs_f64(), store.stats().commits);
    // Until it is killed.
    std::future::pending::<()>().await;
}

async fn restart(path: &Path, quick: bool) {
    let start = Instant::now();
    let store = EmbeddedStore::open(path, options(quick)).unwrap();
    let opened = start.elapsed();
    let (mut found, mut after, mut last) = (0, None, None);
    loop {
        let page = store.page(Select::Unfinished, after, 1000).await.unwrap();
        for revision in &page.revisions {
            assert!(last < Some(revision.content_version));
            last = Some(revision.content_version);
        }
        found += page.revisions.len();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, REVISIONS);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map_or("unknown", str::trim);
    println!(
        "opened in {:.2} s, all {found} that wait listed after {:.2} s, peak memory {peak}",
        opened.as_secs_f64(),
        start.elapsed().as_secs_f64(),
    );
}

//! The scheduler with the real renderer and the embedded functions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use portico_catalog::Catalog;
use portico_runtime::package::PackageLimits;
use portico_runtime::{Engine, EngineConfig, RenderOptions, Renderer, Sources};
use portico_scheduler::driver::{RenderScheduler, RuntimeBackend, Settings};
use portico_scheduler::events::Ring;
use portico_scheduler::model::{Ending, Files, Reason, RenderState, Revision, RevisionKey, mirror};
use portico_scheduler::store::{MemoryStore, NewRevision, PackageStore as _};
use portico_tests::{conformance_directory, copy_tree, files_below, repository, run_portico};

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n";

/// One for the process: the embedded functions run where they lie, and only one engine can own that place.
static ENGINE: LazyLock<Engine> = LazyLock::new(|| Engine::new(EngineConfig::default()).expect("an engine"));

fn scheduler(workers: usize) -> RenderScheduler<MemoryStore> {
    let renderer = Renderer::new(ENGINE.clone(), Sources::new(vec![Arc::new(Catalog)]));
    let backend = RuntimeBackend::new(renderer, RenderOptions::default(), PackageLimits::default(), || 1);
    let sink = Arc::new(Ring::new(100));
    let scheduler = RenderScheduler::new(MemoryStore::default(), Arc::new(backend), sink, Settings::default());
    scheduler.start_processing(workers);
    scheduler
}

fn files<const N: usize>(files: [(&str, &str); N]) -> Files {
    Arc::new(BTreeMap::from(files.map(|(path, text)| (path.to_owned(), Bytes::from(text.to_owned())))))
}

async fn render(scheduler: &RenderScheduler<MemoryStore>, name: &str, files: Files) -> Result<(Revision, Files)> {
    let key = scheduler.store().create(NewRevision::new("namespace", name, "repository", files)).await?.key;
    let revision = scheduler.rendered(&key).await?;
    Ok((revision, scheduler.store().get(&key).await?.files))
}

fn ending(revision: &Revision) -> Result<Ending> {
    match revision.render_state() {
        Some(RenderState::Ended(ending)) => Ok(ending),
        state => anyhow::bail!("not ended: {state:?}"),
    }
}

async fn log(scheduler: &RenderScheduler<MemoryStore>, key: &RevisionKey) -> Result<String> {
    let log = scheduler.last_log(key).await?.context("a render leaves a log")?;
    Ok(String::from_utf8_lossy(&log.text).into_owned())
}

#[tokio::test]
async fn a_broken_kptfile_is_told_with_file_and_line_and_nothing_is_touched() -> Result<()> {
    let scheduler = scheduler(1);
    let broken = files([("Kptfile", &format!("{KPTFILE}pipline: {{}}\n")), ("a.yaml", "a: 1\n")]);
    let (revision, after) = render(&scheduler, "broken", broken.clone()).await?;
    let ending = ending(&revision)?;
    ensure!(ending.reason == Reason::InvalidPackage && !ending.rendered);
    ensure!(ending.message.contains("Kptfile:5"), "{}", ending.message);
    ensure!(after == broken);
    Ok(())
}

#[tokio::test]
async fn without_a_kptfile_nothing_is_touched() -> Result<()> {
    let scheduler = scheduler(1);
    let plain = files([("a.yaml", "a:   1\n"), ("README", "text")]);
    let (revision, after) = render(&scheduler, "plain", plain.clone()).await?;
    ensure!(ending(&revision)? == Ending::success());
    ensure!(after == plain);
    Ok(())
}

#[tokio::test]
async fn an_unknown_function_is_permanent_and_a_functions_failure_is_a_result() -> Result<()> {
    let scheduler = scheduler(2);
    let unknown = format!("{KPTFILE}pipeline:\n  mutators:\n    - image: no-such-function:v1\n");
    let (revision, _) = render(&scheduler, "unknown", files([("Kptfile", &unknown)])).await?;
    let end = ending(&revision)?;
    ensure!(end.reason == Reason::InvalidPackage && end.configuration == Some(1));
    ensure!(end.message.contains("no-such-function"), "{}", end.message);

    let bad = format!("{KPTFILE}pipeline:\n  mutators:\n    - image: set-namespace:latest\n");
    let package = files([("Kptfile", &bad), ("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n")]);
    let (revision, after) = render(&scheduler, "bad", package.clone()).await?;
    let end = ending(&revision)?;
    ensure!(end.reason == Reason::RenderFailed, "{end:?}");
    ensure!(after["a.yaml"] == package["a.yaml"], "the original files");
    let kptfile = String::from_utf8_lossy(&after["Kptfile"]).into_owned();
    ensure!(kptfile.contains("type: RenderFinished") && kptfile.contains("reason: RenderFailed"), "{kptfile}");
    let log = log(&scheduler, &revision.key).await?;
    ensure!(log.contains("set-namespace") && log.contains("failed"), "{log}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_that_computes_is_stopped() -> Result<()> {
    let scheduler = scheduler(1);
    let kptfile =
        format!("{KPTFILE}pipeline:\n  mutators:\n    - image: starlark:latest\n      configPath: run.yaml\n");
    let run = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: run\nsource: |\n  def run():\n    \
               for i in range(1000000000):\n      pass\n  run()\n";
    let new = NewRevision::new("namespace", "endless", "repository", files([("Kptfile", &kptfile), ("run.yaml", run)]));
    let key = scheduler.store().create(new).await?.key;
    while scheduler.counters().started == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    scheduler.cancel(&key, "no longer wanted").await?;
    let revision = scheduler.rendered(&key).await?;
    ensure!(ending(&revision)? == Ending::failure(Reason::Cancelled, "no longer wanted"));
    scheduler.stop_processing().await;
    Ok(())
}

/// Scenario 64: the command line, and the scheduler with one and with eight workers, twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s64_the_same_result_everywhere() -> Result<()> {
    let mut packages: Vec<PathBuf> = ["hello", "shop"].map(|name| repository().join("examples").join(name)).into();
    if let Some(shared) = conformance_directory() {
        for entry in std::fs::read_dir(shared.join("reports"))? {
            packages.push(entry?.path().join("package"));
        }
    }
    // What a map of files can hold; and what is large or slow on purpose is left to other tests.
    packages.retain(|package| {
        let slow = ["33-", "46-", "47-"].iter().any(|slow| package.to_string_lossy().contains(slow));
        package.join("Kptfile").is_file() && !slow && !has_links(package)
    });
    ensure!(packages.len() >= 2);
    let one = scheduler(1);
    let eight = scheduler(8);
    for (n, package) in packages.iter().enumerate() {
        let place = tempfile::tempdir()?;
        let copy = place.path().join("package");
        copy_tree(package, &copy)?;
        let before = all(package)?;
        // What is rendered is what was accepted: its Kptfile says so.
        let accepted = mirror(&before, &RenderState::Scheduled);
        std::fs::write(copy.join("Kptfile"), &accepted["Kptfile"])?;
        let ran = run_portico(&copy, &["render".to_owned(), ".".to_owned()], b"")?;
        let by_hand = all(&copy)?;
        for (round, scheduler) in [&one, &eight, &one, &eight].into_iter().enumerate() {
            let new = NewRevision::new(&format!("round{n}-{round}"), "package", "repository", before.clone());
            let key = scheduler.store().create(new).await?.key;
            let revision = scheduler.rendered(&key).await?;
            let end = ending(&revision)?;
            ensure!(end.rendered == (ran.code == 0), "{}: {end:?}\n{}", package.display(), ran.stderr);
            let after = scheduler.store().get(&key).await?.files;
            // What the renderer does not take for a package stays as it is. Besides, the Kptfile shows the scheduler's two
            // conditions.
            let expected = mirror(&by_hand, &RenderState::Ended(end));
            ensure!(after == expected, "{} in round {round}", package.display());
        }
    }
    Ok(())
}

fn all(directory: &Path) -> Result<Files> {
    let files = files_below(directory)?;
    Ok(Arc::new(files.into_iter().map(|(path, content)| (path, Bytes::from(content))).collect()))
}

fn has_links(directory: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(directory) else { return true };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => has_links(&entry.path()),
        Ok(kind) => !kind.is_file(),
        Err(_) => true,
    })
}

//! `cargo xtask bench`: whole-process figures, ratios in one run; then the benchmarks of the runtime and of the catalog.
//!
//! The peer is `kpt` where it is on the PATH, with pass-through executables as functions: kpt's own work, without any
//! container. Every figure is the median of several runs, the two programs in turn. The targets are printed beside the
//! figures; `docs/benchmarks.md` says what stands in the way of those that are missed.

#![expect(clippy::cast_precision_loss, reason = "figures for people")]

mod measure;
mod packages;

use std::path::Path;

use anyhow::{Context, Result};

pub(crate) use measure::child;
use measure::{Usage, median};

use crate::{binary, cargo, say};

const FUNCTIONS_20: [&str; 4] = [
    "{image: set-namespace, configMap: {namespace: bench}}",
    "{image: set-labels, configMap: {tier: bench}}",
    "{image: starlark, configPath: script.yaml}",
    "{image: no-op}",
];
const FUNCTIONS_1000: [&str; 4] = [
    "{image: set-namespace, configMap: {namespace: first}}",
    "{image: set-labels, configMap: {tier: bench}}",
    "{image: set-namespace, configMap: {namespace: second}}",
    "{image: no-op}",
];
/// Four that change every object.
const FUNCTIONS_EDIT: [&str; 4] = [
    "{image: apply-setters, configMap: {name: other}}",
    "{image: set-labels, configMap: {tier: bench}}",
    "{image: set-namespace, configMap: {namespace: first}}",
    "{image: set-annotations, configMap: {owner: bench}}",
];
const PASS_THROUGH: [&str; 4] = ["{exec: cat}"; 4];

/// Runs all benchmarks.
pub(crate) fn run() -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let root = temporary.path();
    let portico = binary();
    let kpt = which("kpt");
    if kpt.is_none() {
        say("bench: `kpt` is not on the PATH: the ratios are skipped");
    }

    let list = medians(20, &[(portico.as_path(), &["functions", "list"][..])], || Ok(()))?;
    show("portico functions list", &list[0]);
    target("wall time", list[0].wall * 1e3, Bound::AtMost(5.0), "ms");

    let ours = packages::write(&root.join("ours20"), 20, &FUNCTIONS_20)?;
    let theirs = packages::write(&root.join("theirs20"), 20, &PASS_THROUGH)?;
    let (small, peer) = compare("20 resources, 4 steps", &portico, kpt.as_deref(), &ours, &theirs, 11)?;
    target("wall time", small.wall * 1e3, Bound::AtMost(20.0), "ms");
    if let Some(peer) = peer {
        target("less wall time than kpt", peer.wall / small.wall, Bound::AtLeast(8.0), "times");
    }

    let ours = packages::write(&root.join("ours1000"), 1000, &FUNCTIONS_1000)?;
    let theirs = packages::write(&root.join("theirs1000"), 1000, &PASS_THROUGH)?;
    let (large, peer) = compare("1,000 Deployments, 4 steps", &portico, kpt.as_deref(), &ours, &theirs, 3)?;
    if let Some(peer) = peer {
        target("less CPU than kpt", peer.cpu() / large.cpu(), Bound::AtLeast(40.0), "times");
    }

    let ours = packages::write(&root.join("ours-edit"), 1000, &FUNCTIONS_EDIT)?;
    let (edited, peer) = compare("1,000 Deployments, 4 editing steps", &portico, kpt.as_deref(), &ours, &theirs, 3)?;
    if let Some(peer) = peer {
        target("less CPU than kpt", peer.cpu() / edited.cpu(), Bound::AtLeast(40.0), "times");
    }

    let mut first = None;
    for count in [1_000, 5_000, 20_000] {
        let package = packages::write(&root.join(format!("scale{count}")), count, &FUNCTIONS_1000)?;
        let usage = render(&portico, &package, 3)?;
        show(&format!("{count} Deployments, 4 steps ({:.1} MB)", packages::size(&package)? as f64 / 1e6), &usage);
        if count == 5_000 {
            target("peak memory", usage.peak as f64 / 1e6, Bound::AtMost(150.0), "MB");
        }
        let each = usage.cpu() / count as f64;
        let first = *first.get_or_insert(each);
        if count == 20_000 {
            target("CPU an object, of that in the package of 1,000", each / first, Bound::AtMost(1.25), "times");
        }
    }
    say("");
    cargo(&["bench", "--package", "portico-catalog", "--bench", "functions"])?;
    say("");
    cargo(&["bench", "--package", "portico-catalog", "--bench", "native_ratio"])?;
    say("");
    cargo(&["bench", "--package", "portico-runtime", "--bench", "host_overhead"])
}

/// What a figure has to be.
#[derive(Clone, Copy)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

fn target(what: &str, value: f64, bound: Bound, unit: &str) {
    let (met, words, limit) = match bound {
        Bound::AtMost(limit) => (value <= limit, "at most", limit),
        Bound::AtLeast(limit) => (value >= limit, "at least", limit),
    };
    let verdict = if met { "met" } else { "missed" };
    say(format!("    {what}: {value:.2} {unit}, target {words} {limit}: {verdict}"));
}

/// Our render, and kpt's where it is there.
fn compare(
    what: &str,
    portico: &Path,
    kpt: Option<&Path>,
    ours: &Path,
    theirs: &Path,
    runs: usize,
) -> Result<(Usage, Option<Usage>)> {
    let Some(kpt) = kpt else {
        let usage = render(portico, ours, runs)?;
        show(what, &usage);
        return Ok((usage, None));
    };
    let (ours_args, theirs_args) = (["render", path(ours)?], ["fn", "render", path(theirs)?, "--allow-exec"]);
    let reset = || {
        packages::reset(ours)?;
        packages::reset(theirs)
    };
    let both = medians(runs, &[(portico, &ours_args[..]), (kpt, &theirs_args[..])], reset)?;
    show(&format!("{what}: portico render"), &both[0]);
    show(&format!("{what}: kpt fn render, 4 times cat"), &both[1]);
    say(format!(
        "    {:.1} times less wall time, {:.1} times less CPU",
        both[1].wall / both[0].wall,
        both[1].cpu() / both[0].cpu()
    ));
    Ok((both[0], Some(both[1])))
}

fn render(portico: &Path, package: &Path, runs: usize) -> Result<Usage> {
    let args = ["render", path(package)?];
    Ok(medians(runs, &[(portico, &args[..])], || packages::reset(package))?.remove(0))
}

/// The programs in turn, one warm-up each; the median of each figure.
fn medians(runs: usize, commands: &[(&Path, &[&str])], before: impl Fn() -> Result<()>) -> Result<Vec<Usage>> {
    let mut all = vec![Vec::new(); commands.len()];
    for run in 0..=runs {
        before()?;
        for (at, (program, args)) in commands.iter().enumerate() {
            let usage = measure::measure(program, args)?;
            if run > 0 {
                all[at].push(usage);
            }
        }
    }
    Ok(all.iter().map(|runs| median(runs)).collect())
}

fn show(what: &str, usage: &Usage) {
    say(format!(
        "{what}: {:.1} ms wall, {:.1} ms CPU, {:.1} MB peak",
        usage.wall * 1e3,
        usage.cpu() * 1e3,
        usage.peak as f64 / 1e6
    ));
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().context("the temporary directory has a UTF-8 name")
}

fn which(name: &str) -> Option<std::path::PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|d| d.join(name)).find(|p| p.is_file())
}

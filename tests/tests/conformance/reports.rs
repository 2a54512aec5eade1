//! Cases from public bug reports: `expect.md` says in words what must hold, here it is checked. Preserve style.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use portico_tests::{Ran, copy_tree, expect_same, files_below, probes_directory, run_portico};

use crate::{Case, Verdict};

type Files = BTreeMap<String, Vec<u8>>;

/// A copy of one case.
struct Report {
    directory: PathBuf,
    temporary: tempfile::TempDir,
    before: Files,
}

impl Report {
    fn open(directory: &Path) -> Result<Report> {
        let temporary = tempfile::tempdir()?;
        copy_tree(directory, temporary.path())?;
        let before = files_below(&temporary.path().join("package"))?;
        Ok(Report { directory: directory.to_path_buf(), temporary, before })
    }

    fn package(&self) -> PathBuf {
        self.temporary.path().join("package")
    }

    /// Renders the package with the given further flags.
    fn render(&self, flags: &[&str]) -> Result<Ran> {
        let mut args = vec!["render".to_owned(), "package".to_owned()];
        args.push(format!("--function-dir={}", probes_directory()?.display()));
        args.extend(flags.iter().map(|f| (*f).to_owned()));
        run_portico(self.temporary.path(), &args, &[])
    }

    fn after(&self) -> Result<Files> {
        files_below(&self.package())
    }

    fn text(&self, path: &str) -> Result<String> {
        let path = self.package().join(path);
        std::fs::read_to_string(&path).with_context(|| path.display().to_string())
    }

    fn succeeds(&self, flags: &[&str]) -> Result<Ran> {
        let ran = self.render(flags)?;
        ensure!(ran.code == 0, "exit code {}\n{}", ran.code, ran.stderr);
        Ok(ran)
    }

    fn fails(&self, flags: &[&str]) -> Result<Ran> {
        let ran = self.render(flags)?;
        ensure!(ran.code == 1, "exit code {}, wanted 1\n{}", ran.code, ran.stderr);
        Ok(ran)
    }

    /// The files of `expected/` come out with exactly its bytes; no other file changes. The Kptfile is an item like any
    /// other, so that a function may have edited it, and counts only where `expected/` holds it.
    fn exact(&self) -> Result<()> {
        self.succeeds(&["--status=none"])?;
        let mut wanted = self.before.clone();
        let expected = files_below(&self.directory.join("expected"))?;
        let mut after = self.after()?;
        if !expected.contains_key("Kptfile") {
            wanted.remove("Kptfile");
            after.remove("Kptfile").context("the Kptfile is there")?;
        }
        wanted.extend(expected);
        same_files(&wanted, &after)
    }

    fn unchanged(&self) -> Result<()> {
        same_files(&self.before, &self.after()?)
    }
}

fn same_files(wanted: &Files, actual: &Files) -> Result<()> {
    for (path, bytes) in wanted {
        let is = actual.get(path).with_context(|| format!("`{path}` is gone"))?;
        expect_same(path, &String::from_utf8_lossy(bytes), &String::from_utf8_lossy(is))?;
    }
    if let Some(path) = actual.keys().find(|p| !wanted.contains_key(*p)) {
        bail!("`{path}` is new");
    }
    Ok(())
}

fn contains(text: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(text.contains(part), "the output does not contain `{part}`:\n{text}");
    }
    Ok(())
}

pub(crate) fn cases(root: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(root.join("reports"))? {
        let directory = entry?.path();
        let base = directory.file_name().context("has a name")?.to_string_lossy().into_owned();
        let number: u32 = base[..2].parse()?;
        let Some(check) = check(number) else { continue };
        cases.push(Case {
            name: format!("reports/{base}"),
            run: Box::new(move || {
                check(&Report::open(&directory)?)?;
                Ok(Verdict::Passed)
            }),
        });
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

type Check = fn(&Report) -> Result<()>;

/// The check of a report; `None` for those whose functions or subject do not exist yet.
fn check(number: u32) -> Option<Check> {
    Some(match number {
        1 | 3 | 4 | 6 | 7 | 8 | 9 | 11 | 15 | 34 | 35 | 36 | 38 | 41 | 42 | 44 => Report::exact,
        12 => duplicate_key,
        16 => kptfile_unchanged,
        17 => only_a_configuration,
        18 => config_path_in_subdirectory,
        19 => changed_configuration,
        21 => path_outside,
        22 => subpackage_paths,
        23 => symlinks,
        24 => prints_nothing,
        25 => prints_garbage,
        26 => failing_step,
        28 => not_krm,
        29 => malformed,
        30 => kptfile_typo,
        31 => conditional_steps,
        33 => big_package,
        39 => the_same_again,
        46 => never_ends,
        47 => huge_object,
        _ => return None,
    })
}

/// The configuration is an item itself: upsert-resource finds it and replaces it by itself.
fn only_a_configuration(report: &Report) -> Result<()> {
    let ran = report.succeeds(&["--status=none"])?;
    contains(&ran.stderr, &["Successfully executed 1 function(s) in 1 package(s)."])?;
    report.unchanged()
}

/// A second and a third render change nothing.
fn the_same_again(report: &Report) -> Result<()> {
    (0..3).try_for_each(|_| report.exact())
}

fn duplicate_key(report: &Report) -> Result<()> {
    let ran = report.fails(&["--status=none"])?;
    contains(&ran.stderr, &["dup.yaml", "8", "size", "6"])?;
    report.unchanged()
}

/// The decision: the Kptfile is an item like any other, so set-labels labels it (as kpt does), and a status is only appended.
fn kptfile_unchanged(report: &Report) -> Result<()> {
    report.succeeds(&["--status=full"])?;
    let before = String::from_utf8(report.before["Kptfile"].clone())?;
    let after = report.text("Kptfile")?;
    let (body, _) = after.split_once("status:\n").context("a status was recorded")?;
    let diff = similar::TextDiff::from_lines(before.as_str(), body);
    let added: Vec<&str> = diff
        .iter_all_changes()
        .filter(|c| c.tag() != similar::ChangeTag::Equal)
        .map(|c| {
            ensure!(c.tag() == similar::ChangeTag::Insert, "a line was lost or changed: {c}");
            Ok(c.value().trim())
        })
        .collect::<Result<_>>()?;
    ensure!(added.iter().all(|l| ["labels:", "tier: back"].contains(l)), "unexpected lines: {added:?}");
    // A second render changes nothing.
    let first = report.after()?;
    report.succeeds(&["--status=full"])?;
    same_files(&first, &report.after()?)
}

fn config_path_in_subdirectory(report: &Report) -> Result<()> {
    report.succeeds(&["--status=none"])?;
    let first = report.after()?;
    ensure!(first.contains_key("conf/configmap_made.yaml"), "files: {:?}", first.keys());
    report.succeeds(&["--status=none"])?;
    same_files(&first, &report.after()?)
}

/// The configuration of a step is what the steps before it left, in the same render.
fn changed_configuration(report: &Report) -> Result<()> {
    report.succeeds(&["--status=none"])?;
    contains(&report.text("ns.yaml")?, &["namespace: blue # kpt-set: ${ns}"])?;
    contains(&report.text("a.yaml")?, &["namespace: blue"])
}

fn path_outside(report: &Report) -> Result<()> {
    let refused = ["../made.yaml", "a/../../x.yaml", "\"a\\0b.yaml\"", "\"a\\nb.yaml\"", ".git/config", "Kptfile"];
    let kptfile = String::from_utf8(report.before["Kptfile"].clone())?;
    for path in refused {
        let text = kptfile.replace("../made.yaml", path);
        std::fs::write(report.package().join("Kptfile"), &text)?;
        let ran = report.fails(&["--status=none"])?;
        ensure!(ran.stderr.contains("generate"), "`{path}`: the message does not name the function:\n{}", ran.stderr);
        let mut wanted = report.before.clone();
        wanted.insert("Kptfile".into(), text.into_bytes());
        same_files(&wanted, &report.after()?).with_context(|| format!("`{path}`"))?;
        ensure!(!report.temporary.path().join("made.yaml").exists(), "written outside");
    }
    let text = kptfile.replace("../made.yaml", "/etc/x.yaml");
    std::fs::write(report.package().join("Kptfile"), text)?;
    report.succeeds(&["--status=none"])?;
    ensure!(report.package().join("etc/x.yaml").exists(), "an absolute path becomes one below the package");
    Ok(())
}

fn subpackage_paths(report: &Report) -> Result<()> {
    let ran = report.succeeds(&["--status=none"])?;
    report.unchanged()?;
    let order = ["Package \"package/db/inner\"", "Package \"package/db\"", "Package \"package\""];
    let places: Vec<usize> = order
        .iter()
        .map(|line| ran.stderr.find(line).with_context(|| format!("no line {line}:\n{}", ran.stderr)))
        .collect::<Result<_>>()?;
    ensure!(places.is_sorted(), "packages are rendered depth first:\n{}", ran.stderr);
    // What the root's function sees: paths relative to each item's own package.
    let root = &ran.stderr[places[2]..];
    ensure!(root.matches("Kptfile").count() >= 3, "three Kptfiles reach the root:\n{root}");
    ensure!(!root.contains("db/inner/cm.yaml"), "paths are relative to the owning package:\n{root}");
    contains(root, &["db/configmap_x.yaml", "dir/cm.yaml"])
}

fn symlinks(report: &Report) -> Result<()> {
    let package = report.package();
    // The data hold a link as a file with its target in it.
    for (link, target) in [("linked.yaml", "../outside/secret.yaml"), ("linkdir", "../outside")] {
        let path = package.join(link);
        if !path.symlink_metadata()?.is_symlink() {
            ensure!(std::fs::read_to_string(&path)?.trim() == target, "`{link}` stands for a link to {target}");
            std::fs::remove_file(&path)?;
            std::os::unix::fs::symlink(target, &path)?;
        }
    }
    std::os::unix::fs::symlink("nowhere.yaml", package.join("dangling.yaml"))?;
    std::os::unix::fs::symlink("cycle-b.yaml", package.join("cycle-a.yaml"))?;
    std::os::unix::fs::symlink("cycle-a.yaml", package.join("cycle-b.yaml"))?;
    let secret = std::fs::read(report.temporary.path().join("outside/secret.yaml"))?;
    let ran = report.succeeds(&["--status=none"])?;
    contains(&ran.stderr, &["linked.yaml", "linkdir", "dangling.yaml", "cycle-a.yaml"])?;
    ensure!(report.text("cm.yaml")? != String::from_utf8(report.before["cm.yaml"].clone())?, "cm.yaml is labelled");
    ensure!(std::fs::read(report.temporary.path().join("outside/secret.yaml"))? == secret, "edited through a link");
    for link in ["linked.yaml", "linkdir", "dangling.yaml", "cycle-a.yaml"] {
        ensure!(package.join(link).symlink_metadata()?.is_symlink(), "`{link}` is no link any more");
    }
    // Rendering through a link to the package itself.
    std::os::unix::fs::symlink("package", report.temporary.path().join("link"))?;
    let args = ["render", "link", "--status=none", &format!("--function-dir={}", probes_directory()?.display())];
    let ran = run_portico(report.temporary.path(), &args.map(String::from), &[])?;
    ensure!(ran.code == 0, "{}", ran.stderr);
    Ok(())
}

fn prints_nothing(report: &Report) -> Result<()> {
    let ran = report.fails(&["--status=none"])?;
    contains(&ran.stderr, &["empty", "wrote no ResourceList"])?;
    report.unchanged()
}

fn prints_garbage(report: &Report) -> Result<()> {
    let ran = report.fails(&["--status=none"])?;
    contains(&ran.stderr, &["garbage", "this: is: not: yaml", "garbage: about to print", "line 1"])?;
    report.unchanged()
}

fn failing_step(report: &Report) -> Result<()> {
    let results = report.temporary.path().join("results");
    let flag = format!("--results-dir={}", results.display());
    let ran = report.fails(&["--status=none", &flag])?;
    contains(&ran.stderr, &["cannot reach the quota table", "fail3", "not run"])?;
    report.unchanged()?;
    let text = std::fs::read_to_string(results.join("results.yaml"))?;
    contains(&text, &["exitCode: 3", "cannot reach the quota table"])?;

    report.fails(&["--status=full"])?;
    let kptfile = report.text("Kptfile")?;
    contains(&kptfile, &["type: Rendered", "status: \"False\"", "reason: RenderFailed", "exit code 3"])?;
    ensure!(!kptfile.contains("already handled error"), "{kptfile}");
    let mut wanted = report.before.clone();
    wanted.insert("Kptfile".into(), kptfile.into_bytes());
    same_files(&wanted, &report.after()?)?;

    // With the annotation the state after root/1 is written.
    let text = String::from_utf8(report.before["Kptfile"].clone())?
        .replace("  name: case\n", "  name: case\n  annotations:\n    kpt.dev/save-on-render-failure: \"true\"\n");
    std::fs::write(report.package().join("Kptfile"), text)?;
    report.fails(&["--status=full"])?;
    contains(&report.text("a.yaml")?, &["probe: \"yes\""])?;
    contains(&report.text("sub/b.yaml")?, &["probe: \"yes\""])
}

fn not_krm(report: &Report) -> Result<()> {
    let ran = report.fails(&["--status=none"])?;
    contains(&ran.stderr, &["values.yaml:1", "two.yaml:1", "two.yaml:5", ".krmignore", "metadata.name", "apiVersion"])?;
    report.unchanged()
}

fn malformed(report: &Report) -> Result<()> {
    let ran = report.fails(&["--status=none"])?;
    contains(&ran.stderr, &["deep/bad.yaml:5", "deep/tab.yaml:4", "deep/second.yaml:"])?;
    ensure!(
        ran.stderr.contains("deep/second.yaml:9") || ran.stderr.contains("deep/second.yaml:10"),
        "lines count from the top of the file:\n{}",
        ran.stderr
    );
    contains(&ran.stderr, &["\n", "data:", "name: t", "open"])?;
    report.unchanged()
}

fn kptfile_typo(report: &Report) -> Result<()> {
    let ran = report.fails(&[])?;
    contains(&ran.stderr, &["Kptfile:7", "unknown field info.pipeline (did you mean top-level pipeline?)"])?;
    report.unchanged()
}

fn deployment(file: usize, document: usize) -> String {
    let name = format!("app-{file}-{document}");
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name} # kpt-set: ${{name}}\n  labels:\n    app: {name}\n\
         spec:\n  replicas: 3 # how many\n  selector:\n    matchLabels:\n      app: {name}\n  template:\n    metadata:\n      \
         labels:\n        app: {name}\n    spec:\n      containers:\n        - name: c\n          image: \
         registry.example.com/team/app:{document}\n          env:\n            - name: A\n              value: \"1\"\n            \
         - name: B\n              value: \"2\"\n"
    )
}

fn big_package(report: &Report) -> Result<()> {
    for (files, documents) in [(100, 10), (600, 20)] {
        let mut before = Files::new();
        for file in 0..files {
            let text = (0..documents).map(|d| deployment(file, d)).collect::<Vec<_>>().join("---\n");
            std::fs::write(report.package().join(format!("f{file:04}.yaml")), &text)?;
            before.insert(format!("f{file:04}.yaml"), text.into_bytes());
        }
        report.succeeds(&["--status=none"])?;
        let after = report.after()?;
        for (path, text) in &before {
            let old = std::str::from_utf8(text)?;
            let new = std::str::from_utf8(&after[path])?;
            let mut added = 0;
            for change in similar::TextDiff::from_lines(old, new).iter_all_changes() {
                match change.tag() {
                    similar::ChangeTag::Equal => {}
                    similar::ChangeTag::Insert if change.value().trim() == "step: \"5\"" => added += 1,
                    _ => bail!("{path}: unexpected change {change}"),
                }
            }
            ensure!(added >= documents, "{path}: {added} labels added for {documents} objects");
        }
    }
    Ok(())
}

fn never_ends(report: &Report) -> Result<()> {
    let kptfile = |probe: &str| {
        format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: case\npipeline:\n  mutators:\n  - image: probe.local/{probe}:v1\n    configMap:\n      ms: \"3600000\"\n"
        )
    };
    let limits = ["--status=none", "--timeout=2s", "--max-memory=64MiB", "--fuel=unlimited"];
    for (probe, message) in [
        ("spin", "time limit 2s exceeded in step 1"),
        ("grow", "memory limit 64 MiB exceeded"),
        ("sleep", "time limit 2s exceeded in step 1"),
    ] {
        let text = kptfile(probe);
        std::fs::write(report.package().join("Kptfile"), &text)?;
        let ran = report.fails(&limits)?;
        contains(&ran.stderr, &[message, probe])?;
        ensure!(!ran.stderr.contains("internal error") && !ran.stderr.contains("unreachable"), "{}", ran.stderr);
        let mut wanted = report.before.clone();
        wanted.insert("Kptfile".into(), text.into_bytes());
        same_files(&wanted, &report.after()?)?;
    }
    // The limit of a step alone, the render's off.
    std::fs::write(report.package().join("Kptfile"), kptfile("identity"))?;
    report.succeeds(&["--status=none", "--timeout=0", "--fn-timeout=2s"])?;
    Ok(())
}

fn huge_object(report: &Report) -> Result<()> {
    let blob = "0123456789abcdef".repeat(5 * 65536);
    let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: huge\ndata:\n  blob: {blob}\n");
    std::fs::write(report.package().join("huge.yaml"), &text)?;
    let ran = report.succeeds(&["--status=none"])?;
    let after = report.text("huge.yaml")?;
    ensure!(after.contains(&format!("\n  blob: {blob}\n")), "the blob is unchanged to the byte");
    ensure!(after.len() > text.len() && after.len() < text.len() + 100, "a label was added");
    ensure!(ran.stderr.len() < 10_000, "the messages do not hold the blob");
    Ok(())
}

/// Without the flag the field is refused, with a hint; with it the first step is skipped, the second one runs, the third
/// one fails because no resource has the field that it asks for.
fn conditional_steps(report: &Report) -> Result<()> {
    let refused = report.fails(&[])?;
    contains(&refused.stderr, &["pipeline.mutators[0].condition", "--experimental-conditions"])?;
    report.unchanged()?;

    let flag = "--experimental-conditions";
    let failed = report.fails(&[flag, "--status=none"])?;
    let third = "condition `resources.all(r, r.spec.replicas > 0)`: there is no field `spec`";
    contains(&failed.stderr, &["[SKIPPED]", "[PASS]", "[FAIL]", "(step 3 of package \"package\")", third])?;
    report.unchanged()?;

    // Without the third step the others come through.
    let kptfile = report.text("Kptfile")?;
    let at = kptfile.rfind("    - image:").context("the third step")?;
    std::fs::write(report.package().join("Kptfile"), &kptfile[..at])?;
    report.succeeds(&[flag])?;
    let a = report.text("a.yaml")?;
    contains(&a, &["has-a: \"true\""])?;
    ensure!(!a.contains("has-secret") && !a.contains("broken"), "a.yaml:\n{a}");
    contains(&report.text("Kptfile")?, &["state: skipped"])
}

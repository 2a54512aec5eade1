//! `--check` and `--diff`: nothing is written.

use anyhow::{Result, ensure};
use portico_tests::cli::Place;

fn place() -> Result<Place> {
    Place::with_mutator("image: set-labels:v0.2.5\n    configMap:\n      tier: web")
}

const DIFF: &str = "\
--- a/Kptfile
+++ b/Kptfile
@@ -2,6 +2,8 @@
 kind: Kptfile
 metadata:
   name: pkg
+  labels:
+    tier: web
 pipeline:
   mutators:
   - image: set-labels:v0.2.5
--- a/a.yaml
+++ b/a.yaml
@@ -2,3 +2,5 @@
 kind: ConfigMap
 metadata:
   name: a
+  labels:
+    tier: web
";

#[test]
fn a_diff_goes_to_standard_output_and_nothing_is_written() -> Result<()> {
    let place = place()?;
    let before = place.state()?;
    place.run("render pkg --diff")?.exits(0)?.prints(DIFF)?;
    place.run("render pkg --diff -q")?.exits(0)?.prints(DIFF)?.says("")?;
    ensure!(place.state()? == before, "a diff writes nothing");
    Ok(())
}

#[test]
fn a_check_exits_with_1_and_names_the_files_until_the_package_is_rendered() -> Result<()> {
    let place = place()?;
    let before = place.state()?;
    place
        .run("render pkg --check")?
        .exits(1)?
        .prints("")?
        .mentions(&["would change: Kptfile\n", "would change: a.yaml\n"])?;
    place.run("render pkg --check --diff -q")?.exits(1)?.prints(DIFF)?;
    ensure!(place.state()? == before, "a check writes nothing");
    place.run("render pkg")?.exits(0)?;
    place.run("render pkg --check")?.exits(0)?.prints("")?;
    place.run("render pkg --diff -q")?.exits(0)?.prints("")?.says("")?;
    Ok(())
}

#[test]
fn a_failing_render_fails_the_check_and_records_nothing() -> Result<()> {
    let place = Place::with_mutator("image: probe.local/fail3:v1")?;
    let before = place.state()?;
    for flag in ["--check", "--diff"] {
        let ran = place.run(&format!("render pkg {flag} --function-dir $PROBES"))?;
        ran.exits(1)?.prints("")?.mentions(&["failed with exit code 3"])?;
    }
    ensure!(place.state()? == before, "a check writes nothing");
    Ok(())
}

#[test]
fn a_diff_shows_new_and_deleted_files_against_dev_null() -> Result<()> {
    let place = Place::with_mutator("image: probe.local/generate:v1\n    configMap: {name: made, path: made.yaml}")?;
    let ran = place.run("render pkg --diff -q --function-dir $PROBES")?;
    ran.exits(0)?;
    ensure!(ran.stdout.contains("--- /dev/null\n+++ b/"), "{}", ran.stdout);
    Ok(())
}

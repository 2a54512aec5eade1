//! `-o`, `--results-dir`, `--yaml-style`, and standard output that cannot be written.

use std::process::Stdio;

use anyhow::{Result, ensure};
use portico_tests::cli::Place;
use portico_tests::expect_same;

const LABELS: &str = "image: set-labels:v0.2.5\n    configMap:\n      tier: web";

#[test]
fn stdout_gets_a_resource_list_and_the_package_stays_as_it_was() -> Result<()> {
    let place = Place::with_mutator(LABELS)?;
    let before = place.state()?;
    place.run("render pkg -o stdout -q")?.exits(0)?.says("")?.prints(
        "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: pkg
    annotations:
      config.kubernetes.io/index: '0'
      config.kubernetes.io/path: 'Kptfile'
      internal.config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/path: 'Kptfile'
      internal.config.kubernetes.io/seqindent: 'compact'
    labels:
      tier: web
  pipeline:
    mutators:
    - image: set-labels:v0.2.5
      configMap:
        tier: web
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
    annotations:
      config.kubernetes.io/index: '0'
      config.kubernetes.io/path: 'a.yaml'
      internal.config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/path: 'a.yaml'
      internal.config.kubernetes.io/seqindent: 'compact'
    labels:
      tier: web
",
    )?;
    ensure!(place.state()? == before, "output elsewhere leaves the package alone");
    Ok(())
}

#[test]
fn unwrap_gives_documents_and_no_success_line() -> Result<()> {
    let place = Place::with_mutator(LABELS)?;
    let ran = place.run("render pkg -o unwrap")?;
    ran.exits(0)?;
    ensure!(!ran.stderr.contains("Successfully"), "{}", ran.stderr);
    let documents: Vec<&str> = ran.stdout.split("---\n").collect();
    ensure!(documents.len() == 2, "{}", ran.stdout);
    expect_same(
        "the second document",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    tier: web\n",
        documents[1],
    )
}

#[test]
fn a_directory_is_made_with_its_parents_and_must_not_exist() -> Result<()> {
    let place = Place::with_mutator(LABELS)?;
    place.run("render pkg -o out/deep -q")?.exits(0)?;
    ensure!(place.read("out/deep/a.yaml")?.contains("tier: web"), "written");
    ensure!(!place.read("pkg/a.yaml")?.contains("tier: web"), "the package stays");
    place
        .run("render pkg -o out/deep")?
        .exits(1)?
        .says("error: directory \"out/deep\" already exists, please delete the directory and retry\n")?;
    Ok(())
}

#[test]
fn a_failed_render_puts_nothing_anywhere() -> Result<()> {
    let place = Place::with_mutator("image: probe.local/fail3:v1")?;
    let before = place.state()?;
    for target in ["stdout", "unwrap", "out"] {
        place.run(&format!("render pkg -o {target} --function-dir $PROBES"))?.exits(1)?.prints("")?;
    }
    ensure!(place.state()? == before, "nothing was written");
    Ok(())
}

#[test]
fn results_are_written_on_success_and_on_failure() -> Result<()> {
    let place = Place::with_mutator("image: probe.local/two-results-exit1:v1")?;
    let ran = place.run("render pkg --results-dir res/sub --function-dir $PROBES")?;
    ran.exits(1)?.mentions(&["For complete results, see res/sub/results.yaml\n"])?;
    expect_same(
        "results.yaml",
        "\
apiVersion: kpt.dev/v1
kind: FunctionResultList
metadata:
  name: fnresults
exitCode: 1
items:
  - image: probe.local/two-results-exit1:v1
    exitCode: 1
    results:
      - message: the value is not allowed
        severity: error
        resourceRef:
          apiVersion: v1
          kind: ConfigMap
          name: a
        field:
          path: spec.replicas
          currentValue: \"3\"
          proposedValue: \"1\"
        file:
          path: a.yaml
      - message: the package has no owner
        severity: warning
",
        &place.read("res/sub/results.yaml")?,
    )?;
    let passing = Place::with_mutator("image: no-op")?;
    passing.run("render pkg --results-dir res -o unwrap")?.exits(0)?;
    ensure!(passing.read("res/results.yaml")?.contains("exitCode: 0"), "written with -o too");
    passing.write("blocked", "")?;
    passing.run("render pkg --results-dir blocked/x")?.exits(1)?.mentions(&["`--results-dir blocked/x`"])?;
    Ok(())
}

#[test]
fn the_style_of_kpt_formats_whole_files_and_preserve_leaves_them() -> Result<()> {
    let odd = "# head\n\napiVersion: v1\nkind: ConfigMap\nmetadata:\n    name:   'a'   # c\n";
    let place = Place::with_mutator("image: no-op")?;
    place.write("pkg/a.yaml", odd)?;
    place.run("render pkg -q")?.exits(0)?;
    expect_same("preserved", odd, &place.read("pkg/a.yaml")?)?;
    place.run("render pkg -q --yaml-style=kpt")?.exits(0)?;
    expect_same(
        "formatted",
        "# head\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: 'a' # c\n",
        &place.read("pkg/a.yaml")?,
    )
}

#[test]
fn a_reader_that_goes_away_is_no_error() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    // More than a pipe holds.
    place.write(
        "pkg/big.yaml",
        &format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  k: {}\n", "x".repeat(1 << 20)),
    )?;
    for line in [
        "render pkg -o stdout -q",
        "source pkg",
        "render pkg --yaml-style kpt --diff -q",
        "eval pkg -i no-op -o unwrap -q",
    ] {
        let mut child = place.command(line)?.stdout(Stdio::piped()).spawn()?;
        drop(child.stdout.take());
        let output = child.wait_with_output()?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.code() == Some(0) && stderr.is_empty(), "{line}: {:?} {stderr}", output.status);
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_below_standard_output_is_an_error() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    for line in ["render pkg -o stdout -q", "source pkg", "functions list"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full")?;
        let output = place.command(line)?.stdout(full).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.code() == Some(1), "{line}: {:?}", output.status);
        ensure!(stderr.starts_with("error: cannot write to standard output: No space left"), "{line}: {stderr}");
    }
    Ok(())
}

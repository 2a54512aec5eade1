//! `portico source` and `portico sink`, and pipes of commands.

use anyhow::{Result, ensure};
use portico_tests::cli::{Place, config_map};
use portico_tests::expect_same;

#[test]
fn a_package_goes_through_source_eval_and_sink() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    let source = place.run("source pkg")?;
    source.exits(0)?.says("")?;
    let evaluated = place.run_on(&source.stdout, "eval - -i set-labels:v0.2.5 -q -- tier=web")?;
    evaluated.exits(0)?;
    let sunk = place.run_on(&evaluated.stdout, "sink out/new")?;
    sunk.exits(0)?.says("")?.prints("")?;
    expect_same("a.yaml", &format!("{}  labels:\n    tier: web\n", config_map("a")), &place.read("out/new/a.yaml")?)?;
    ensure!(place.has("out/new/Kptfile") && !place.read("pkg/a.yaml")?.contains("tier"), "the package stays");
    Ok(())
}

#[test]
fn a_round_trip_gives_the_files_back() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    place.write("pkg/sub/two.yaml", &format!("{}---\n{}", config_map("b"), config_map("c")))?;
    place.write(
        "pkg/x.json",
        "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"ConfigMap\",\n  \"metadata\": {\n    \"name\": \"j\"\n  }\n}\n",
    )?;
    let source = place.run("source pkg")?;
    place.run_on(&source.stdout, "sink out")?.exits(0)?;
    let root = place.path()?;
    let (before, after) =
        (portico_tests::files_below(&root.join("pkg"))?, portico_tests::files_below(&root.join("out"))?);
    ensure!(before == after, "{before:?}\n{after:?}");
    Ok(())
}

#[test]
fn source_unwraps_and_takes_a_function_config() -> Result<()> {
    let place = Place::with(&[
        ("pkg/a.yaml", &config_map("a")),
        ("pkg/b.yaml", &config_map("b")),
        ("fn.yaml", &config_map("fn")),
    ])?;
    place.run("source pkg -o unwrap")?.exits(0)?.prints(&format!("{}---\n{}", config_map("a"), config_map("b")))?;
    let with = place.run("source pkg --fn-config fn.yaml")?;
    with.exits(0)?;
    ensure!(
        with.stdout.ends_with("functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: fn\n"),
        "{}",
        with.stdout
    );
    place
        .run("source pkg --fn-config gone.yaml")?
        .exits(1)?
        .says("error: `--fn-config gone.yaml`: No such file or directory (os error 2)\n")?;
    place.write("fn.yaml", "")?;
    place
        .run("source pkg --fn-config fn.yaml")?
        .exits(1)?
        .says("error: `--fn-config fn.yaml` must hold exactly one resource\n")?;
    place.run("source gone")?.exits(1)?.mentions(&["cannot open the package `gone`"])?;
    Ok(())
}

#[test]
fn sink_wants_a_new_directory_and_a_resource_list() -> Result<()> {
    let place = Place::with(&[("there/file", "")])?;
    place
        .run("sink there")?
        .exits(1)?
        .says("error: directory \"there\" already exists, please delete the directory and retry\n")?;
    place
        .run_on("just text", "sink out")?
        .exits(1)?
        .mentions(&["error: the input is no ResourceList: line 1, column 1: "])?;
    ensure!(!place.has("out"), "nothing was made");
    let list = |path: &str| {
        format!(
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n    annotations:\n      config.kubernetes.io/path: '{path}'\n"
        )
    };
    place.run_on(&list("../escape.yaml"), "sink out")?.exits(1)?.mentions(&["../escape.yaml"])?;
    ensure!(!place.has("escape.yaml") && !place.has("out"), "nothing outside, nothing half made");
    place.run_on(&list("ok/a.yaml"), "sink out")?.exits(0)?;
    expect_same("a.yaml", &config_map("a"), &place.read("out/ok/a.yaml")?)
}

//! `portico render` in place: where the package is, and packages that cannot be rendered.

use anyhow::{Result, ensure};
use portico_tests::cli::{KPTFILE, Place, config_map, kptfile_with};
use portico_tests::expect_same;

const SET_NAMESPACE: &str = "image: set-namespace:v0.4.5\n    configMap:\n      namespace: prod";

const PROGRESS: &str = "\
Package \"pkg\":
[RUNNING] \"ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.5\" on package \"pkg\"
[PASS] \"ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.5\" in 0s
  [Results]:
    [info]: namespace [default] updated to \"prod\", 1 value(s) changed
    [info]: all `depends-on` annotations are up-to-date. no `namespace` changed

Successfully executed 1 function(s) in 1 package(s).
";

fn place() -> Result<Place> {
    let a = "# kept\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name:   a   # spacing stays\n  namespace: default\n";
    Place::with(&[("pkg/Kptfile", &kptfile_with(SET_NAMESPACE)), ("pkg/a.yaml", a), ("pkg/notes.txt", "no YAML: [\n")])
}

#[test]
fn a_render_in_place_changes_only_what_the_function_changed() -> Result<()> {
    let place = place()?;
    place.run("render pkg")?.exits(0)?.says(PROGRESS)?.prints("")?;
    let a = "# kept\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name:   a   # spacing stays\n  namespace: prod\n";
    expect_same("a.yaml", a, &place.read("pkg/a.yaml")?)?;
    expect_same("notes.txt", "no YAML: [\n", &place.read("pkg/notes.txt")?)
}

#[test]
fn the_package_may_be_named_from_anywhere() -> Result<()> {
    let place = place()?;
    std::fs::create_dir(place.path()?.join("elsewhere"))?;
    let pkg = place.path()?.join("pkg");
    let absolute = format!("render {} --diff -q", pkg.display());
    let expected = place.run("render pkg --diff -q")?.exits(0)?.stdout.clone();
    ensure!(expected.contains("+  namespace: prod"), "{expected}");
    for (directory, line) in
        [("elsewhere", absolute.as_str()), ("pkg", "render --diff -q"), ("pkg", "render . --diff -q")]
    {
        let output = place.command(line)?.current_dir(place.path()?.join(directory)).output()?;
        expect_same(line, &expected, &String::from_utf8_lossy(&output.stdout))?;
    }
    Ok(())
}

#[test]
fn a_link_to_the_package_is_followed_with_a_warning() -> Result<()> {
    let place = place()?;
    std::os::unix::fs::symlink("pkg", place.path()?.join("link"))?;
    let warning =
        "[WARN] resolved symlink \"link\" to \"pkg\", please note that the symlinks within the package are ignored\n";
    place.run("render link")?.exits(0)?.says(&format!("{warning}{PROGRESS}"))?;
    Ok(())
}

#[test]
fn subpackages_come_first_and_are_counted() -> Result<()> {
    let place = Place::with(&[
        ("pkg/Kptfile", &kptfile_with("image: no-op")),
        ("pkg/db/Kptfile", &kptfile_with("image: no-op").replace("name: pkg", "name: db")),
        ("pkg/plain/Kptfile", KPTFILE),
    ])?;
    place.run("render pkg")?.exits(0)?.says(
        "\
Package \"pkg/db\":
[RUNNING] \"ghcr.io/kptdev/krm-functions-catalog/no-op:latest\" on package \"pkg/db\"
[PASS] \"ghcr.io/kptdev/krm-functions-catalog/no-op:latest\" in 0s

Package \"pkg/plain\":
Package \"pkg\":
[RUNNING] \"ghcr.io/kptdev/krm-functions-catalog/no-op:latest\" on package \"pkg\"
[PASS] \"ghcr.io/kptdev/krm-functions-catalog/no-op:latest\" in 0s

Successfully executed 2 function(s) in 3 package(s).
",
    )?;
    Ok(())
}

#[test]
fn a_package_without_a_pipeline_passes() -> Result<()> {
    let place = Place::with(&[("pkg/Kptfile", KPTFILE), ("pkg/a.yaml", &config_map("a"))])?;
    place
        .run("render pkg --status=none")?
        .exits(0)?
        .says("Package \"pkg\":\nSuccessfully executed 0 function(s) in 1 package(s).\n")?;
    expect_same("Kptfile", KPTFILE, &place.read("pkg/Kptfile")?)
}

#[test]
fn a_directory_that_is_not_there_is_named() -> Result<()> {
    let place = Place::with(&[("file", "")])?;
    place
        .run("render gone")?
        .exits(1)?
        .says("error: cannot open the package `gone`: No such file or directory (os error 2)\n")?;
    place
        .run("render file")?
        .exits(1)?
        .says("error: `file` is not a directory; give the directory that holds the Kptfile\n")?;
    let here = place.path()?;
    place.run("render .")?.exits(1)?.says(&format!("error: no Kptfile found at `{}`\n", here.display()))?;
    place
        .run("render . --yaml-style kpt")?
        .exits(1)?
        .says(&format!("Error: No Kptfile found at \"{}\". \n", here.display()))?;
    Ok(())
}

#[test]
fn a_broken_kptfile_is_told_with_line_field_and_a_guess_and_nothing_is_written() -> Result<()> {
    let cases = [
        ("pipeline:\n  mutators:\n  - image: [\n", "error: Kptfile:8: did not find expected node content (column 1)\n"),
        (
            "pipeline:\n  mutaters:\n  - image: no-op\n",
            "error: Kptfile:6: unknown field pipeline.mutaters (did you mean mutators?) (column 3)\n",
        ),
        (
            "pipeline:\n  mutators:\n  - image: \"No Op\"\n",
            "error: Kptfile:7: pipeline.mutators[0].image: invalid reference format\n",
        ),
        (
            "pipeline:\n  mutators:\n  - image: no-op\n    exec: cat\n",
            "error: Kptfile:7: pipeline.mutators[0]: must not specify both `image` and `exec` at the same time\n",
        ),
        (
            "info: {man: a}\ninfo: {man: b}\n",
            "error: Kptfile:6: mapping key `info` is already defined in this mapping (`info` is first defined here at \
             line 5, column 1) (column 1)\n",
        ),
    ];
    for (rest, message) in cases {
        let place = Place::with(&[("pkg/Kptfile", &format!("{KPTFILE}{rest}")), ("pkg/a.yaml", &config_map("a"))])?;
        let before = place.state()?;
        place.run("render pkg")?.exits(1)?.says(message)?;
        ensure!(place.state()? == before, "a refused Kptfile is left alone");
    }
    let place = Place::with(&[("pkg/Kptfile", "")])?;
    place
        .run("render pkg")?
        .exits(1)?
        .says("error: Kptfile: it is empty: a Kptfile starts with `apiVersion: kpt.dev/v1` and `kind: Kptfile`\n")?;
    let place = Place::with(&[("pkg/Kptfile", "apiVersion: kpt.dev/v1alpha1\nkind: Kptfile\n")])?;
    place.run("render pkg")?.exits(1)?.says(
        "error: Kptfile:1: apiVersion kpt.dev/v1alpha1 is an old version of the Kptfile schema: use kpt.dev/v1 \
         (column 13)\n",
    )?;
    Ok(())
}

#[test]
fn every_file_that_is_no_resource_is_listed_in_one_run() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    place.write("pkg/values.yaml", "replicas: 3\n")?;
    place.write("pkg/sub/nameless.yaml", "apiVersion: v1\nkind: ConfigMap\n")?;
    place.run("render pkg")?.exits(1)?.mentions(&[
        "input resource list must contain only KRM resources",
        "values.yaml:1: resource must have `apiVersion`",
        "sub/nameless.yaml:1: resource must have `metadata.name`",
        ".krmignore",
    ])?;
    place.write("pkg/.krmignore", "values.yaml\nsub/\n")?;
    place.run("render pkg -q")?.exits(0)?;
    Ok(())
}

#[test]
fn malformed_yaml_is_told_with_file_line_and_text() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    place.write("pkg/b.yaml", "a: [b\nc: d\n")?;
    place.write("pkg/c.yaml", "a: \"b\n")?;
    place.run("render pkg")?.exits(1)?.mentions(&[
        "b.yaml:2: did not find expected ',' or ']' (column 2); the collection starts here on line 1\n    c: d\n",
        "c.yaml:2: found unexpected end of stream",
    ])?;
    Ok(())
}

#[test]
fn a_function_that_nobody_knows_fails_before_anything_runs_with_a_guess() -> Result<()> {
    let mutators = "image: no-op\n  - image: set-label:v0.2\n    configMap: {a: b}";
    let place = Place::with_mutator(mutators)?;
    place.run("render pkg")?.exits(1)?.says(
        "\
Package \"pkg\":
error: function \"ghcr.io/kptdev/krm-functions-catalog/set-label:v0.2\" (step 2 of package \"pkg\"): no function is \
         known by the name `ghcr.io/kptdev/krm-functions-catalog/set-label:v0.2` (did you mean `set-labels`?); give \
         its module with `--function IMAGE=FILE.wasm` or put it into a directory given with `--function-dir`
[SKIP] \"ghcr.io/kptdev/krm-functions-catalog/no-op:latest\" on package \"pkg\": not run
",
    )?;
    Ok(())
}

//! Configuration files, profiles of functions, the operator's maximum, and `--explain-limits`.

use anyhow::{Context, Result, ensure};
use portico_tests::Ran;
use portico_tests::cli::Place;

/// The row of a limit in the table, its columns separated by single spaces.
fn row(ran: &Ran, name: &str) -> Result<String> {
    let line = ran.stdout.lines().find(|line| line.split_whitespace().next() == Some(name));
    let line = line.with_context(|| format!("no row for `{name}`:\n{}", ran.stdout))?;
    Ok(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn every_limit_is_explained_and_nothing_runs() -> Result<()> {
    // No package, no function: the table needs neither.
    let place = Place::with(&[])?;
    for line in [
        "render --explain-limits",
        "eval --explain-limits",
        "eval -i no-op --explain-limits",
        "fn render gone --explain-limits",
    ] {
        let ran = place.run(line)?;
        ran.exits(0)?.says("")?;
        ensure!(ran.stdout.lines().count() == 24, "{}", ran.stdout);
        ensure!(ran.stdout.lines().all(|line| line.ends_with(" default")), "{}", ran.stdout);
        ensure!(row(&ran, "memory")? == "memory 1 GiB default", "{}", ran.stdout);
        ensure!(row(&ran, "stepTime")? == "stepTime 60s default", "{}", ran.stdout);
        ensure!(row(&ran, "stepFuel")? == "stepFuel unlimited default", "{}", ran.stdout);
    }
    Ok(())
}

#[test]
fn a_file_is_found_by_flag_variable_and_home() -> Result<()> {
    let place = Place::with(&[
        ("flag.yaml", "limits: {memory: 11MiB}\n"),
        ("variable.yaml", "limits: {memory: 22MiB}\n"),
        ("config-home/portico/config.yaml", "limits:\n  memory: 33MiB\n"),
    ])?;
    let home = place.path()?.join("config-home/portico/config.yaml").display().to_string();
    let plain = place.run("render --explain-limits")?;
    ensure!(row(&plain, "memory")? == format!("memory 33 MiB {home}:2"), "{}", plain.stdout);
    let variable = [("PORTICO_CONFIG", "variable.yaml")];
    let named = place.run_env(&variable, "render --explain-limits")?;
    ensure!(row(&named, "memory")? == "memory 22 MiB variable.yaml:1", "{}", named.stdout);
    let both = place.run_env(&variable, "render --explain-limits --config flag.yaml")?;
    ensure!(row(&both, "memory")? == "memory 11 MiB flag.yaml:1", "{}", both.stdout);
    let empty = place.run_env(&[("PORTICO_CONFIG", "")], "render --explain-limits")?;
    ensure!(row(&empty, "memory")?.contains("33 MiB"), "{}", empty.stdout);
    Ok(())
}

#[test]
fn a_file_that_was_named_must_be_there_and_be_right() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    place.write("wrong.yaml", "limits:\n  memory: 10MiB\n  memry: 10MiB\n")?;
    place.write("directory/x", "")?;
    let before = place.state()?;
    for (file, words) in [
        ("gone.yaml", "error: the configuration file `gone.yaml` does not exist\n"),
        ("wrong.yaml", "error: wrong.yaml:3: `limits`: unknown limit `memry`; known here: fuel, fuelPerStep,"),
        ("directory", "error: cannot read the configuration file `directory`: it is no file\n"),
    ] {
        for command in ["render pkg", "eval pkg -i no-op", "source pkg", "sink new"] {
            place.run(&format!("{command} --config {file}"))?.exits(1)?.prints("")?.mentions(&[words])?;
        }
    }
    ensure!(place.state()? == before, "nothing ran");
    Ok(())
}

#[test]
fn a_flag_goes_before_the_file_and_the_maximum_before_both() -> Result<()> {
    let place = Place::with_mutator("image: probe.local/grow:v1")?;
    place.write("c.yaml", "limits:\n  memory: 20MiB\nmaximum:\n  memory: 30MiB\n  renderTime: 2m\n")?;
    let ran = place.run("render --config c.yaml --explain-limits")?;
    ensure!(row(&ran, "memory")? == "memory 20 MiB c.yaml:2", "{}", ran.stdout);
    ensure!(
        row(&ran, "renderTime")? == "renderTime 120s default, which asks for 300s; capped by c.yaml:5",
        "{}",
        ran.stdout
    );
    let ran = place.run("render --config c.yaml --max-memory 1GiB --explain-limits")?;
    ran.exits(0)?
        .says("[WARN] limit `memory`: --max-memory asks for 1 GiB, the maximum is 30 MiB (c.yaml:4); 30 MiB holds\n")?;
    ensure!(
        row(&ran, "memory")? == "memory 30 MiB --max-memory, which asks for 1 GiB; capped by c.yaml:4",
        "{}",
        ran.stdout
    );
    let render = "render pkg --function-dir $PROBES --config c.yaml";
    place.run(render)?.exits(1)?.mentions(&[
        "error: memory limit 20 MiB exceeded in step 1 (probe.local/grow:v1) of package \"pkg\" (limit `memory`)\n",
        "a function that needs more gets it with `--max-memory`; now it is 20 MiB (c.yaml:2)\n",
    ])?;
    place.run(&format!("{render} --max-memory 10MiB"))?.exits(1)?.mentions(&[
        "error: memory limit 10 MiB exceeded",
        "a function that needs more gets it with `--max-memory`\n",
    ])?;
    place.run(&format!("{render} --max-memory unlimited"))?.exits(1)?.mentions(&[
        "[WARN] limit `memory`: --max-memory asks for unlimited, the maximum is 30 MiB (c.yaml:4); 30 MiB holds\n",
        "error: memory limit 30 MiB exceeded",
        "`memory` is at its maximum of 30 MiB (c.yaml:4)\n",
    ])?;
    Ok(())
}

#[test]
fn a_profile_holds_for_its_functions_alone() -> Result<()> {
    let place = Place::with_mutator("image: no-op\n  - image: probe.local/grow:v1")?;
    place.write(
        "c.yaml",
        "functions:\n- image: probe.local/*\n  limits:\n    memory: 12MiB\n    stepFuel: 5G\n- name: no-op\n  limits: {memory: 1KiB}\n",
    )?;
    // The other function's profile leaves it too little to begin.
    let ran = place.run("render pkg --function-dir $PROBES --config c.yaml")?;
    ran.exits(1)?.mentions(&[
        "error: memory limit 1 KiB exceeded in step 1",
        "now it is 1 KiB (profile `no-op` (c.yaml:7))\n",
    ])?;
    // The request goes before a profile.
    let ran = place.run("render pkg --function-dir $PROBES --config c.yaml --max-memory 40MiB")?;
    ran.exits(1)?.mentions(&["[PASS] \"ghcr.io/", "error: memory limit 40 MiB exceeded in step 2"])?;
    place.write("c.yaml", "functions:\n- image: probe.local/*\n  limits:\n    memory: 12MiB\n    stepFuel: 5G\n")?;
    let ran = place.run("render pkg --function-dir $PROBES --config c.yaml")?;
    ran.exits(1)?
        .mentions(&["[PASS] \"ghcr.io/", "error: memory limit 12 MiB exceeded in step 2 (probe.local/grow:v1)"])?;
    let ran = place.run("render --config c.yaml --explain-limits")?;
    ensure!(ran.stdout.contains("\nfunctions `probe.local/*`\n  stepFuel"), "{}", ran.stdout);
    ensure!(ran.stdout.contains("12 MiB  profile `probe.local/*` (c.yaml:4)\n"), "{}", ran.stdout);
    Ok(())
}

#[test]
fn each_limit_trips_from_the_command_line() -> Result<()> {
    let deep = format!("{}x{}", "[".repeat(40), "]".repeat(40));
    for (function, limit, words) in [
        ("image: probe.local/spin:v1", "fuel=1M", "used up the fuel budget"),
        ("image: probe.local/spin:v1", "stepFuel=1M", "used up its fuel of 1000000 instructions"),
        ("image: probe.local/spin:v1", "stepTime=50ms", "time limit 50ms exceeded"),
        ("image: probe.local/spin:v1", "renderTime=50ms", "time limit 50ms exceeded"),
        ("image: probe.local/grow:v1", "memory=10MiB", "memory limit 10 MiB exceeded"),
        ("image: no-op", "tableElements=1", "ran out of table space: the limit is 1 elements"),
        ("image: no-op", "stdout=10", "wrote more than 10 bytes to stdout"),
        ("image: probe.local/spin:v1", "moduleBytes=100", "larger than the limit `moduleBytes` of 100 bytes"),
        ("image: no-op", "resources=2", "`deep.yaml`: 3 resources at least, the limit is 2"),
        ("image: no-op", "package.entries=2", "the limit is 2; make the package smaller"),
        ("image: no-op", "package.files=2", "the limit is 2; make the package smaller"),
        ("image: no-op", "package.fileBytes=20", "bytes, the limit is 20; make the package smaller"),
        ("image: no-op", "package.bytes=50", "bytes in all, the limit is 50; make the package smaller"),
        ("image: no-op", "package.depth=1", "directories above its entries, the limit is 1; make the package smaller"),
        ("image: no-op", "package.ignoreBytes=3", "bytes, the limit is 3; make the package smaller"),
        ("image: no-op", "package.ignorePatterns=1", "the limit is 1; make the package smaller"),
        ("image: no-op", "yaml.depth=20", "deep.yaml:6: nested deeper than the limit `yaml.depth` of 20"),
        ("image: no-op", "yaml.bytes=100", "bytes, more than the limit `yaml.bytes` of 100"),
        ("image: no-op", "yaml.nodes=20", "more nodes than the limit `yaml.nodes` allows"),
        ("image: no-op", "yaml.documents=1", "more documents than the limit `yaml.documents` of 1"),
    ] {
        let place = Place::with_mutator(function)?;
        let config = portico_tests::cli::config_map("b");
        place.write("pkg/deep.yaml", &format!("{config}deep:\n  {deep}\n"))?;
        place.write("pkg/many.yaml", &format!("{config}---\n{}", portico_tests::cli::config_map("c")))?;
        place.write("pkg/one/two/a.yaml", "")?;
        place.write("pkg/.krmignore", "*.a\n*.b\n")?;
        let before = place.state()?;
        let ran = place.run(&format!("render pkg --function-dir $PROBES --status=none --limit {limit}"))?;
        let name = limit.split('=').next().unwrap_or_default();
        ran.exits(1)?.mentions(&[words])?;
        ensure!(ran.stderr.contains(&format!("`{name}`")), "the message names `{name}`:\n{}", ran.stderr);
        ensure!(place.state()? == before, "{limit}: nothing was written");
        // Where the package is what is too large, the flag that helps is named as well.
        if name.starts_with("package.") {
            ran.mentions(&[&format!("with `--limit {name}=")])?;
        }
    }
    Ok(())
}

#[test]
fn a_wrong_limit_is_told_with_what_to_write() -> Result<()> {
    let place = Place::with(&[])?;
    for (value, words) in [
        ("stdin=5", "no limit is called `stdin`; `--explain-limits` lists them"),
        ("stdout", "write NAME=VALUE, such as `stdout=64MiB`"),
        ("stdout=lots", "write `64MiB`, `1GiB` or `unlimited`"),
        ("memory=0", "nothing could run with `memory` at 0; for no limit write `unlimited`"),
    ] {
        place.run(&format!("render --limit {value}"))?.exits(2)?.mentions(&[words])?;
    }
    Ok(())
}

#[test]
fn commands_that_only_read_have_the_configured_limits_too() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    place.write("c.yaml", "maximum: {resources: 1, package: {files: 1}}\n")?;
    place
        .run("source pkg --config c.yaml")?
        .exits(1)?
        .prints("")?
        .mentions(&["the limit is 1; make the package smaller"])?;
    place.write("c.yaml", "limits: {resources: 1}\n")?;
    let two = "kind: A\nmetadata: {name: a}\n---\nkind: A\nmetadata: {name: b}\n";
    place.run_on(two, "sink new --config c.yaml")?.exits(1)?.mentions(&["or raise the limit `resources`"])?;
    ensure!(!place.has("new"), "nothing was written");
    Ok(())
}

#[test]
fn what_a_file_grants_is_seen_and_a_flag_goes_before_it() -> Result<()> {
    let place = Place::with_mutator("exec: sh name.sh")?;
    place.write("name.sh", "sed \"s/name: a$/name: $REGION/\"\n")?;
    place.write("c.yaml", "grants:\n  environment: {REGION: eu}\n")?;
    let ran = place.run("render pkg --allow-exec --config c.yaml --diff")?;
    ensure!(ran.stdout.contains("+  name: eu\n"), "{}", ran.stdout);
    let ran = place.run("render pkg --allow-exec --config c.yaml --diff -e REGION=us")?;
    ensure!(ran.stdout.contains("+  name: us\n"), "{}", ran.stdout);

    place.write("c.yaml", "grants:\n  directories:\n  - {source: /gone/for/good, target: /data}\n")?;
    place.run("render pkg --config c.yaml")?.exits(1)?.mentions(&[
        "error: c.yaml:3: directory `/gone/for/good`: can't open `/gone/for/good`: No such file or directory",
    ])?;
    let data = place.path()?.join("data");
    place.write("data/file", "x")?;
    place.write("c.yaml", &format!("grants:\n  directories:\n  - {{source: {}, target: data}}\n", data.display()))?;
    place
        .run("eval pkg -i no-op --config c.yaml")?
        .exits(1)?
        .mentions(&["error: c.yaml:3: directory `", "write an absolute path without `..`"])?;
    place.write("c.yaml", &format!("grants:\n  directories:\n  - {{source: {}, target: /data}}\n", data.display()))?;
    place.run("eval pkg -i no-op --config c.yaml")?.exits(0)?;
    Ok(())
}

#[test]
fn json_progress_names_cause_and_limit() -> Result<()> {
    let place = Place::with_mutator("image: probe.local/spin:v1")?;
    let ran = place.run("render pkg --function-dir $PROBES --progress json --fuel 1M")?;
    ran.exits(1)?.mentions(&["\"cause\":\"outOfFuel\"", "\"limit\":\"fuel\""])?;
    let place = Place::with_mutator("image: probe.local/fail3:v1")?;
    let ran = place.run("render pkg --function-dir $PROBES --progress json")?;
    ran.exits(1)?.mentions(&["\"cause\":\"exit\""])?;
    ensure!(!ran.stderr.contains("\"limit\""), "{}", ran.stderr);
    Ok(())
}

//! How progress and errors look: plain, JSON, quiet, coloured, and what guests write.

use anyhow::{Context, Result, ensure};
use portico_tests::cli::Place;

#[test]
fn quiet_and_none_print_errors_alone() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    for flag in ["-q", "--quiet", "--progress none"] {
        place.run(&format!("render pkg {flag}"))?.exits(0)?.says("")?.prints("")?;
    }
    let failing = Place::with_mutator("image: probe.local/fail3:v1")?;
    for flag in ["-q", "--progress none"] {
        failing.run(&format!("render pkg {flag} --function-dir $PROBES"))?.exits(1)?.says(
            "error: function \"probe.local/fail3:v1\" (step 1 of package \"pkg\") failed with exit code 3: cannot reach \
             the quota table\n",
        )?;
    }
    Ok(())
}

#[test]
fn json_progress_is_one_object_a_line_with_the_error_among_them() -> Result<()> {
    let place =
        Place::with_mutator("image: no-op\n  - image: probe.local/fail3:v1\n    name: quota\n  - image: no-op")?;
    let ran = place.run("render pkg --progress json --function-dir $PROBES")?;
    ran.exits(1)?.prints("")?;
    let mut events = Vec::new();
    for line in ran.stderr.lines() {
        // JSON is YAML.
        let object: serde_yaml::Value = serde_yaml::from_str(line).with_context(|| line.to_owned())?;
        let text = |key: &str| object.get(key).and_then(|v| v.as_str()).unwrap_or_default().to_owned();
        events.push(text("event"));
        if text("event") == "stepFailed" {
            ensure!(text("name") == "quota" && text("stderr") == "cannot reach the quota table", "{line}");
            ensure!(object.get("exitCode").and_then(serde_yaml::Value::as_i64) == Some(3), "{line}");
        }
    }
    let expected =
        ["packageStarted", "stepStarted", "stepPassed", "stepStarted", "stepFailed", "summary", "error", "stepNotRun"];
    ensure!(events == expected, "{events:?}");
    Ok(())
}

#[test]
fn json_progress_carries_every_error_that_is_no_wrong_command_line() -> Result<()> {
    let place = Place::with(&[("broken/Kptfile", "a: [\n"), ("none/a.yaml", "")])?;
    let told = |message: &str| format!("{{\"event\":\"error\",\"message\":\"{message}\"}}\n");
    place
        .run("render gone --progress json")?
        .exits(1)?
        .says(&told("cannot open the package `gone`: No such file or directory (os error 2)"))?;
    place
        .run("source gone --progress json")?
        .exits(1)?
        .mentions(&["{\"event\":\"error\",\"message\":\"cannot open"])?;
    place
        .run("render broken --progress json")?
        .exits(1)?
        .mentions(&["{\"event\":\"error\",\"message\":\"Kptfile:2: "])?;
    let none = place.path()?.join("none");
    place
        .run("render none --progress json")?
        .exits(1)?
        .says(&told(&format!("no Kptfile found at `{}`", none.display())))?;
    Ok(())
}

#[test]
fn colours_are_off_without_a_terminal_and_on_when_asked_for() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    for flag in ["", "--color auto", "--color never"] {
        ensure!(!place.run(&format!("render pkg {flag}"))?.stderr.contains('\u{1b}'), "`{flag}` is plain");
    }
    let coloured = place.run("render pkg --color always")?.stderr;
    ensure!(coloured.contains("\u{1b}[32m[PASS]\u{1b}[0m \"ghcr.io"), "{coloured:?}");
    Ok(())
}

/// `script` gives the program a terminal.
#[test]
fn no_color_is_heeded_on_a_terminal() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    let binary = portico_tests::portico_binary()?;
    let run = |no_color: Option<&str>, flag: &str| -> Result<Option<String>> {
        let line = format!("{} render pkg {flag}", binary.display());
        let mut command = std::process::Command::new("script");
        command.args(["-q", "-e", "-c", &line, "/dev/null"]).current_dir(place.path()?).env_remove("NO_COLOR");
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        match command.stdin(std::process::Stdio::null()).output() {
            Ok(output) => Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    };
    let Some(coloured) = run(None, "")? else { return Ok(()) };
    ensure!(coloured.contains("\u{1b}[32m[PASS]"), "a terminal gets colours: {coloured:?}");
    for (no_color, flag) in [(Some("1"), ""), (None, "--color never"), (Some("1"), "--color auto")] {
        let plain = run(no_color, flag)?.unwrap_or_default();
        ensure!(plain.contains("[PASS]") && !plain.contains('\u{1b}'), "{no_color:?} {flag}: {plain:?}");
    }
    ensure!(run(Some(""), "")?.unwrap_or_default().contains('\u{1b}'), "an empty NO_COLOR says nothing");
    ensure!(run(Some("1"), "--color always")?.unwrap_or_default().contains('\u{1b}'), "the flag wins");
    Ok(())
}

#[test]
fn what_a_function_writes_cannot_act_on_the_terminal() -> Result<()> {
    let command = r#"exec: sh -c "printf 'a\\033[31mred\\007\\r\\tb\\n\\302\\233c' >&2; cat""#;
    let place = Place::with_mutator(command)?;
    let ran = place.run("render pkg --allow-exec --status=none")?;
    ran.exits(0)?.mentions(&["  Stderr:\n    a\\u{1b}[31mred\\u{7}\\u{d}\tb\n    \\u{9b}c\n"])?;
    ensure!(!ran.stderr.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')), "{:?}", ran.stderr);
    Ok(())
}

#[test]
fn results_are_shown_in_the_words_of_kpt() -> Result<()> {
    let place = Place::with_mutator("image: probe.local/two-results-exit1:v1")?;
    place.run("render pkg --function-dir $PROBES --status=none")?.exits(1)?.mentions(&[
        "[FAIL] \"probe.local/two-results-exit1:v1\" in ",
        "  [Results]:\n    [error] v1/ConfigMap/a spec.replicas: the value is not allowed\n    [warning]: the \
         package has no owner\n  Exit code: 1\n",
    ])?;
    Ok(())
}

#[test]
fn in_kpt_style_the_line_of_kpt_comes_first_and_nothing_twice() -> Result<()> {
    let place = Place::with_mutator("image: gone.example.com/f:v1")?;
    place.run("render pkg --yaml-style kpt --status=none")?.exits(1)?.says(
        "\
Package \"pkg\":
Error: no function is known by the name `gone.example.com/f:v1`; give its module with `--function IMAGE=FILE.wasm` or \
         put it into a directory given with `--function-dir` 
function \"gone.example.com/f:v1\" (step 1 of package \"pkg\")
",
    )?;
    Ok(())
}

#[test]
fn output_that_is_no_resource_list_is_shown_with_the_reason() -> Result<()> {
    let garbage = Place::with_mutator("image: probe.local/garbage:v1")?;
    garbage.run("render pkg --function-dir $PROBES")?.exits(1)?.mentions(&[
        "wrote something that is no ResourceList: line 1, column 9: mapping values are not allowed in this context",
    ])?;
    let empty = Place::with_mutator("image: probe.local/empty:v1")?;
    empty.run("render pkg --function-dir $PROBES")?.exits(1)?.mentions(&[
        "wrote no ResourceList: its output is empty although it exited with code 0; to delete all resources a function \
         writes `items: []`",
    ])?;
    ensure!(empty.has("pkg/a.yaml"), "nothing was deleted");
    Ok(())
}

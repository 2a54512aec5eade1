//! `--verify-determinism`: everything runs twice, and what differs is named.

use anyhow::{Result, ensure};
use portico_tests::cli::Place;

/// Counts its runs in a file, and puts the number where the script says.
fn counter(then: &str) -> String {
    format!("n=$(cat runs 2>/dev/null || echo 0)\necho $((n+1)) > runs\n{then}\n")
}

#[test]
fn functions_of_the_sandbox_do_the_same_twice_and_the_result_is_written() -> Result<()> {
    let place = Place::with_mutator("image: set-labels\n    configMap: {a: b}\n  - image: no-op")?;
    let ran = place.run("render pkg --verify-determinism")?;
    ran.exits(0)?
        .mentions(&["Every function wrote the same bytes and used the same fuel twice.\nSuccessfully executed 2 "])?;
    ensure!(ran.stderr.matches("[RUNNING]").count() == 2, "the second render is silent:\n{}", ran.stderr);
    ensure!(place.read("pkg/a.yaml")?.contains("a: b"), "the result was written");
    place.run("eval pkg -i no-op --verify-determinism")?.exits(0)?.mentions(&["used the same fuel twice"])?;
    Ok(())
}

#[test]
fn a_program_that_writes_something_else_is_named_with_the_line() -> Result<()> {
    let place = Place::with_mutator("image: no-op\n  - exec: sh count.sh\n  - image: no-op")?;
    place.write("count.sh", &counter("sed \"s/name: a$/name: a$n/\""))?;
    let before = place.state()?;
    let ran = place.run("render pkg --allow-exec --verify-determinism")?;
    ran.exits(1)?.prints("")?.mentions(&[
        "error: step 2 (sh count.sh) of package \"pkg\" is not deterministic: its standard output differs on line ",
        "name: a0`, and then `",
        "name: a1`; nothing was written\n",
    ])?;
    let mut after = place.state()?;
    after.remove("runs");
    ensure!(after == before, "nothing was written");
    Ok(())
}

#[test]
fn other_exit_codes_and_other_words_are_named_too() -> Result<()> {
    let place = Place::with_mutator("exec: sh count.sh")?;
    place.write("count.sh", &counter("cat; exit $n"))?;
    let ran = place.run("render pkg --allow-exec --verify-determinism")?;
    ran.exits(1)?.mentions(&[
        "step 1 (sh count.sh) of package \"pkg\" is not deterministic: its exit code was 0, and then 1; ",
    ])?;

    let place = Place::with_mutator("image: no-op")?;
    place.write("count.sh", &counter("cat; echo run $n >&2"))?;
    let ran = place.run("eval pkg --exec 'sh count.sh' --verify-determinism")?;
    ran.exits(1)?.mentions(&[
        "error: step 1 (sh count.sh) is not deterministic: its standard error differs on line 1: `run 0`, and then `run 1`; ",
    ])?;
    Ok(())
}

#[test]
fn a_failure_that_comes_twice_is_told_as_without_the_flag() -> Result<()> {
    let place = Place::with_mutator("image: probe.local/fail3:v1")?;
    let ran = place.run("render pkg --function-dir $PROBES --verify-determinism")?;
    ran.exits(1)?.mentions(&["used the same fuel twice", "failed with exit code 3"])?;
    Ok(())
}

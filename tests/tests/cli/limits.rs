//! Bounds of fuel, time and memory, set on the command line.

use anyhow::{Result, ensure};
use portico_tests::cli::Place;

#[test]
fn an_endless_loop_runs_out_of_fuel_and_is_told_what_to_do() -> Result<()> {
    let place = Place::with_mutator("image: probe.local/spin:v1")?;
    place.run("render pkg --function-dir $PROBES --fuel 1M --status=none")?.exits(1)?.says(
        "\
Package \"pkg\":
[RUNNING] \"probe.local/spin:v1\" on package \"pkg\"
[FAIL] \"probe.local/spin:v1\" in 0s
error: the function used up the fuel budget of 1000000 instructions; it may be in an endless loop in step 1 \
         (probe.local/spin:v1) of package \"pkg\" (limit `fuel`)
a function that needs more gets it with `--fuel`
",
    )?;
    Ok(())
}

#[test]
fn a_deadline_ends_a_function_whose_fuel_is_unlimited() -> Result<()> {
    let place = Place::with_mutator("image: probe.local/spin:v1")?;
    place.run("render pkg --function-dir $PROBES --fuel unlimited --fn-timeout 50ms")?.exits(1)?.mentions(&[
        "error: time limit 50ms exceeded in step 1 (probe.local/spin:v1) of package \"pkg\" (limit `stepTime`)\n",
        "`--fn-timeout`\n",
    ])?;
    place
        .run("render pkg --function-dir $PROBES --fuel unlimited --timeout 50ms")?
        .exits(1)?
        .mentions(&["error: time limit 50ms exceeded in step 1 (probe.local/spin:v1)", "`--timeout`\n"])?;
    Ok(())
}

#[test]
fn a_function_that_takes_too_much_memory_is_told_the_limit() -> Result<()> {
    let place = Place::with_mutator("image: probe.local/grow:v1")?;
    place.run("render pkg --function-dir $PROBES --max-memory 10MiB")?.exits(1)?.mentions(&[
        "error: memory limit 10 MiB exceeded in step 1 (probe.local/grow:v1) of package \"pkg\" (limit `memory`)\n",
        "`--max-memory`\n",
    ])?;
    Ok(())
}

#[test]
fn verbose_tells_what_a_step_used() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    let ran = place.run("render pkg -v")?;
    let line = ran.exits(0)?.stderr.lines().find(|l| l.starts_with("  Used: ")).unwrap_or_default();
    ensure!(line.contains(" fuel, ") && line.contains(" MiB memory, "), "{}", ran.stderr);
    Ok(())
}

#[test]
fn values_that_are_no_limits_are_refused_with_an_example() -> Result<()> {
    let place = Place::with(&[])?;
    let cases = [
        ("--timeout soon", "write `90s`, `5m` or `unlimited`"),
        ("--fn-timeout=-1", "--fn-timeout"),
        ("--fuel many", "write a whole number, with K, M or G behind it, or `unlimited`"),
        ("--max-memory 10Mx", "write `64MiB`, `1GiB` or `unlimited`"),
    ];
    for (flags, advice) in cases {
        place.run(&format!("render {flags}"))?.exits(2)?.mentions(&[advice])?;
    }
    Ok(())
}

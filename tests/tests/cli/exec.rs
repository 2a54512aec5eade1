//! `exec:` functions: programs outside the sandbox.

use anyhow::{Result, ensure};
use portico_tests::cli::{Place, make_fifo};

use crate::interrupts::Lifeline;

#[test]
fn programs_run_only_when_allowed() -> Result<()> {
    let place = Place::with_mutator("exec: cat")?;
    place.run("render pkg --status=none")?.exits(1)?.says(
        "Package \"pkg\":\nerror: function \"cat\" (step 1 of package \"pkg\"): must run with `--allow-exec` option to \
         allow running function binaries\n",
    )?;
    place.run("render pkg --allow-exec")?.exits(0)?.mentions(&["[PASS] \"cat\" in "])?;
    Ok(())
}

#[test]
fn a_program_that_takes_too_long_dies_with_all_its_children() -> Result<()> {
    let place = Place::with_mutator("exec: sh tree.sh")?;
    make_fifo(&place.path()?.join("lifeline"))?;
    place.write(
        "tree.sh",
        "exec 9>lifeline\necho started >&9\nsleep 1000 &\n(sleep 1000; sleep 1000) &\nsleep 1000\n",
    )?;
    let lifeline = Lifeline::open(&place.path()?.join("lifeline"));
    let ran = place.run("render pkg --allow-exec --fn-timeout 300ms")?;
    ran.exits(1)?.mentions(&[
        "error: time limit 300ms exceeded in step 1 (sh tree.sh) of package \"pkg\" (limit `stepTime`)\n",
        "`--fn-timeout`\n",
    ])?;
    lifeline.ends()
}

#[test]
fn a_program_killed_by_a_signal_fails_the_step() -> Result<()> {
    let place = Place::with_mutator("exec: sh -c 'kill -KILL $$'")?;
    let ran = place.run("render pkg --allow-exec")?;
    ran.exits(1)?;
    ensure!(ran.stderr.contains("[FAIL]"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn a_command_that_cannot_be_split_or_started_is_told() -> Result<()> {
    let place = Place::with_mutator("exec: \"cat 'open\"")?;
    place.run("render pkg --allow-exec")?.exits(1)?.mentions(&["cat 'open"])?;
    let gone = Place::with_mutator("exec: ./gone.sh")?;
    gone.run("render pkg --allow-exec")?
        .exits(1)?
        .mentions(&["cannot start `./gone.sh`: No such file or directory"])?;
    Ok(())
}

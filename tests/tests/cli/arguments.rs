//! Command lines: kpt's spellings, its flags without effect, and wrong ones.

use anyhow::{Result, ensure};
use portico_tests::cli::Place;

#[test]
fn a_wrong_command_line_exits_with_2_and_shows_usage() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    let before = place.state()?;
    let cases = [
        ("", "Usage: portico <COMMAND>"),
        ("rendr pkg", "a similar subcommand exists: 'render'"),
        ("render pkg --frobnicate", "unexpected argument '--frobnicate'"),
        ("render pkg --yaml-style neat", "[possible values: preserve, kpt]"),
        ("render pkg --status some", "[possible values: full, conditions, none]"),
        ("render pkg --progress loud", "[possible values: auto, plain, json, none]"),
        ("render pkg -q -v", "cannot be used with"),
        ("render pkg --function nothing", "write IMAGE=FILE.wasm"),
        ("render pkg --function Bad!=x.wasm", "each part of the name must be lower-case letters"),
        ("render pkg --image-prefix https://reg.io", "an image prefix has no scheme"),
        ("render pkg --image-pull-policy sometimes", "[possible values: Always, IfNotPresent, Never]"),
        ("fn", "Usage: portico fn <COMMAND>"),
        ("eval pkg", "<--image <IMAGE>|--exec <COMMAND>|--explain-limits>"),
        ("eval pkg -i no-op --exec cat", "cannot be used with"),
        ("eval pkg -i ''", "a value is required for '--image <IMAGE>'"),
        ("eval pkg --exec ''", "a value is required for '--exec <COMMAND>'"),
        ("eval pkg -i no-op -- color", "write KEY=VALUE"),
        ("eval pkg -i no-op --match-labels color", "write KEY=VALUE"),
        ("eval pkg -i no-op --fn-config f.yaml -- a=b", "cannot be used with"),
        ("eval pkg -i no-op --type generator", "[possible values: mutator, validator]"),
        ("source pkg -o dir", "[possible values: stdout, unwrap]"),
        ("sink", "<DIR>"),
        ("functions", "Usage: portico functions <COMMAND>"),
    ];
    for (line, part) in cases {
        let ran = place.run(line)?;
        ran.exits(2)?.prints("")?.mentions(&[part])?;
    }
    ensure!(place.state()? == before, "nothing ran");
    Ok(())
}

#[test]
fn the_commands_of_kpt_take_its_flags_without_effect() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    for line in [
        "fn render pkg --truncate-output=false --image-pull-policy always --allow-network --allow-alpha-wasm",
        "fn render pkg --image-pull-policy=IfNotPresent --stack-trace --log-flush-frequency 5s --kubeconfig none",
        "--truncate-output=false --stack-trace=true fn render pkg extra positional",
        "fn eval pkg --image no-op --network --as-current-user --truncate-output -v=3",
        "fn eval pkg --exec cat --v=1",
        "fn source pkg --truncate-output=false",
    ] {
        place.run(line)?.exits(0)?;
    }
    Ok(())
}

#[test]
fn kpts_spelling_does_what_ours_does() -> Result<()> {
    let (ours, kpts) = (Place::with_mutator("image: no-op")?, Place::with_mutator("image: no-op")?);
    ours.run("render pkg")?.exits(0)?;
    kpts.run("fn render pkg")?.exits(0)?;
    ensure!(ours.state()? == kpts.state()?, "render");
    let (ours, kpts) = (ours.run("source pkg")?, kpts.run("fn source pkg")?);
    ensure!(ours.stdout == kpts.stdout && ours.code == 0, "source");
    Ok(())
}

#[test]
fn help_and_version_go_to_standard_output() -> Result<()> {
    let place = Place::with(&[])?;
    for line in ["--help", "-h", "render --help", "fn eval --help", "functions --help", "--version"] {
        let ran = place.run(line)?;
        ran.exits(0)?.says("")?;
        ensure!(ran.stdout.contains("portico") || ran.stdout.contains("Usage:"), "{line}: {}", ran.stdout);
    }
    let help = place.run("--help")?.stdout;
    for code in ["  0  ", "  1  ", "  2  ", "  130  "] {
        ensure!(help.contains(code), "the help lists exit code{code}");
    }
    Ok(())
}

#[test]
fn short_image_names_get_the_prefix_of_flag_or_environment() -> Result<()> {
    let place = Place::with_mutator("image: identity:v1")?;
    let running = |prefix: &str| format!("[RUNNING] \"{prefix}identity:v1\" on package \"pkg\"\n");
    let line = "render pkg --function-dir $PROBES";
    place.run(line)?.exits(0)?.mentions(&[&running("ghcr.io/kptdev/krm-functions-catalog/")])?;
    let env = [("KPT_IMAGE_PREFIX", "reg.example.com/env/")];
    place.run_env(&env, line)?.exits(0)?.mentions(&[&running("reg.example.com/env/")])?;
    let flag = format!("{line} --image-prefix reg.example.com/flag");
    place.run_env(&env, &flag)?.exits(0)?.mentions(&[&running("reg.example.com/flag/")])?;
    place.run_env(&[("KPT_IMAGE_PREFIX", "http://x")], line)?.exits(2)?.mentions(&["an image prefix has no scheme"])?;
    Ok(())
}

//! `--isolation process`, and modules that are compiled in a process of their own.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use portico_tests::cli::{Place, config_map, kptfile_with};
use portico_tests::{copy_tree, expect_same, repository};

/// Every case of the repository.
fn packages(below: &Path, found: &mut Vec<std::path::PathBuf>) -> Result<()> {
    if below.join(".expected").is_dir() {
        found.push(below.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(below)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            packages(&entry.path(), found)?;
        }
    }
    Ok(())
}

#[test]
fn every_case_comes_out_the_same() -> Result<()> {
    let mut cases = Vec::new();
    packages(&repository().join("tests/cases"), &mut cases)?;
    ensure!(cases.len() > 30, "only {} cases", cases.len());
    let mut passed = 0;
    for (case, style) in cases.into_iter().zip(["preserve", "kpt"].into_iter().cycle()) {
        let place = Place::with(&[])?;
        let package = place.path()?.join("pkg");
        let mut seen = Vec::new();
        for flags in ["", " --isolation process"] {
            drop(std::fs::remove_dir_all(&package));
            copy_tree(&case, &package)?;
            std::fs::remove_dir_all(package.join(".expected"))?;
            // The times of steps are left out.
            let line = format!("render pkg --function-dir $PROBES --yaml-style {style} --progress none{flags}");
            let ran = place.run(&line)?;
            passed += usize::from(ran.code == 0);
            seen.push((ran.code, ran.stdout.clone(), ran.stderr.clone(), place.state()?));
        }
        ensure!(seen[0] == seen[1], "{}: {:#?}", case.display(), seen.iter().map(|s| &s.2).collect::<Vec<_>>());
    }
    ensure!(passed > 60, "only {passed} renders passed");
    Ok(())
}

#[test]
fn the_outcome_says_what_the_process_is_held_to() -> Result<()> {
    let place = Place::with_mutator("image: set-namespace:v0.4.5\n    configMap:\n      namespace: prod")?;
    let ran = place.run("render pkg -v --isolation process")?;
    ran.exits(0)?;
    ensure!(ran.stderr.contains("rendered in a process of its own, which is held to: "), "{}", ran.stderr);
    let here = Place::with_mutator("image: set-namespace:v0.4.5\n    configMap:\n      namespace: prod")?;
    let ran = here.run("render pkg -v")?;
    ran.exits(0)?;
    ensure!(!ran.stderr.contains("process of its own"), "{}", ran.stderr);
    expect_same("a.yaml", &here.read("pkg/a.yaml")?, &place.read("pkg/a.yaml")?)
}

#[test]
fn programs_and_isolation_exclude_each_other() -> Result<()> {
    let place = Place::with_mutator("exec: cat")?;
    let before = place.state()?;
    let words =
        "error: `--isolation process` and `--allow-exec` exclude each other: an isolated render runs no programs\n";
    place.run("render pkg --isolation process --allow-exec")?.exits(1)?.says(words)?;
    ensure!(place.state()? == before, "something was written");
    Ok(())
}

/// A program that crosses the line between what the checks refuse and what they let pass: so many variables and loops.
fn module(functions: usize, variables: usize, loops: usize) -> Result<Vec<u8>> {
    let one = format!("(func (local {}) {})", "i32 ".repeat(variables), "(loop)".repeat(loops));
    let text = format!(r#"(module (memory (export "memory") 1) (func (export "_start")) {})"#, one.repeat(functions));
    wat::parse_str(text).context("the text is a module")
}

#[test]
fn a_module_of_ours_is_compiled_in_isolation_or_not() -> Result<()> {
    for flags in ["", " --isolation process"] {
        let place = Place::with(&[("pkg/Kptfile", &kptfile_with("image: own:v1")), ("pkg/a.yaml", &config_map("a"))])?;
        // It prints nothing: that is said of it, and so it was compiled and has run.
        std::fs::write(place.path()?.join("own.wasm"), module(2, 10, 10)?)?;
        let ran = place.run(&format!("render pkg --function own=own.wasm{flags}"))?;
        ran.exits(1)?;
        ensure!(ran.stderr.contains("own:v1") && !ran.stderr.contains("cannot use"), "{}", ran.stderr);
    }
    Ok(())
}

#[test]
fn the_module_that_costs_a_compiler_seconds_is_refused() -> Result<()> {
    let place = Place::with_mutator("image: bomb:v1")?;
    let bomb = module(1, 2400, 2400)?;
    ensure!(bomb.len() < 48 << 10, "{} bytes", bomb.len());
    std::fs::write(place.path()?.join("bomb.wasm"), bomb)?;
    let ran = place.run("render pkg --function bomb=bomb.wasm")?;
    ran.exits(1)?;
    ensure!(
        ran.stderr.contains("variables times loops in one function, more than the limit of 2000000"),
        "{}",
        ran.stderr
    );
    Ok(())
}

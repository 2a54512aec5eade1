//! `portico functions`.

use anyhow::{Context, Result, ensure};
use portico_tests::cli::Place;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};

#[test]
fn the_list_names_each_function_with_its_newest_tag_and_purpose() -> Result<()> {
    let place = Place::with(&[])?;
    let ran = place.run("functions list")?;
    ran.exits(0)?.says("")?;
    let line = ran.stdout.lines().find(|l| l.starts_with("set-namespace ")).context("set-namespace is built in")?;
    let words: Vec<&str> = line.split_whitespace().collect();
    ensure!(words[1].starts_with("v0.4.") && words[2..].join(" ").contains("namespace"), "{line}");
    let mut sorted: Vec<&str> = ran.stdout.lines().collect();
    sorted.sort_unstable();
    ensure!(sorted == ran.stdout.lines().collect::<Vec<_>>(), "the list is sorted");
    Ok(())
}

#[test]
fn the_json_list_holds_the_same_functions() -> Result<()> {
    let place = Place::with(&[])?;
    let plain = place.run("functions list")?.stdout;
    let json = place.run("functions list --json")?;
    json.exits(0)?;
    let all: Vec<serde_yaml::Value> = serde_yaml::from_str(&json.stdout)?;
    let names: Vec<&str> = all.iter().filter_map(|f| f.get("name")?.as_str()).collect();
    let expected: Vec<&str> = plain.lines().filter_map(|l| l.split_whitespace().next()).collect();
    ensure!(names == expected, "{names:?} and {expected:?}");
    Ok(())
}

#[test]
fn a_catalog_function_is_shown_by_any_of_its_names() -> Result<()> {
    let place = Place::with(&[])?;
    let shown = place.run("functions inspect set-labels")?;
    shown.exits(0)?;
    for part in ["name      set-labels\n", "digest    sha256:", "tags      v0.1.0, "] {
        ensure!(shown.stdout.contains(part), "no `{part}` in:\n{}", shown.stdout);
    }
    let full = place.run("functions inspect gcr.io/kpt-fn/set-labels:v0.2.5")?;
    full.exits(0)?;
    ensure!(full.stdout.starts_with("name      set-labels\n"), "{}", full.stdout);
    Ok(())
}

#[test]
fn what_cannot_be_shown_is_told_with_the_reason() -> Result<()> {
    let place = Place::with(&[("bad.wasm", "hello"), ("cut.wasm", "\0asm\u{1}\0\0\0\u{7}")])?;
    place
        .run("functions inspect frobnicate")?
        .exits(1)?
        .says("error: no function `frobnicate` is built in; `portico functions list` shows what is\n")?;
    place
        .run("functions inspect gone.wasm")?
        .exits(1)?
        .says("error: cannot read `gone.wasm`: No such file or directory (os error 2)\n")?;
    place
        .run("functions inspect bad.wasm")?
        .exits(1)?
        .says("error: cannot use `bad.wasm`: not a WebAssembly module: it does not start with the bytes `\\0asm`\n")?;
    place.run("functions inspect cut.wasm")?.exits(1)?.mentions(&["error: cannot use `cut.wasm`: "])?;
    Ok(())
}

#[test]
fn a_module_of_ones_own_is_checked_and_shown() -> Result<()> {
    let place = Place::with(&[])?;
    let ran = place.run("functions inspect $PROBES/identity.wasm")?;
    ran.exits(0)?.says("")?;
    ensure!(ran.stdout.contains("kind      WASI preview 1 command\n"), "{}", ran.stdout);
    Ok(())
}

/// A program for preview 1 as a component for WASI 0.2.
pub(crate) fn component(module: &[u8]) -> Result<Vec<u8>> {
    wit_component::ComponentEncoder::default()
        .module(module)?
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER)?
        .validate(true)
        .encode()
}

#[test]
fn a_component_of_ones_own_is_checked_shown_and_run() -> Result<()> {
    let place = Place::with_mutator("image: mine")?;
    std::fs::write(place.path()?.join("mine.wasm"), component(&wat::parse_str(COPY)?)?)?;
    let ran = place.run("functions inspect mine.wasm")?;
    ran.exits(0)?.says("")?;
    ensure!(ran.stdout.contains("kind      WASI 0.2 command (a component)\n"), "{}", ran.stdout);

    let before = place.read("pkg/a.yaml")?;
    place.run("render pkg --function mine=mine.wasm --status=none")?.exits(0)?.mentions(&["[PASS]"])?;
    ensure!(place.read("pkg/a.yaml")? == before, "a copy changes nothing");
    place
        .run("render pkg --function mine=mine.wasm --status=none --max-memory 64KiB")?
        .exits(1)?
        .mentions(&["memory"])?;
    Ok(())
}

/// Copies standard input to standard output.
const COPY: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (func (export "_start")
    (loop $more
      (i32.store (i32.const 0) (i32.const 1024))
      (i32.store (i32.const 4) (i32.const 65536))
      (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
      (if (i32.load (i32.const 8)) (then
        (i32.store (i32.const 4) (i32.load (i32.const 8)))
        (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
        (br $more))))))"#;

#[test]
fn a_function_comes_from_the_flag_before_the_directory_before_the_catalog() -> Result<()> {
    let place = Place::with_mutator("image: no-op:v0.1")?;
    let probes = portico_tests::probes_directory()?;
    std::fs::create_dir(place.path()?.join("functions"))?;
    // All probes are one program; the name under which it is called tells which one it is.
    std::fs::copy(probes.join("fail3.wasm"), place.path()?.join("functions/fail3.wasm"))?;
    place.write("functions/no-op.wasm", "not wasm")?;
    place.run("render pkg -q")?.exits(0)?;
    place
        .run("render pkg --function-dir functions")?
        .exits(1)?
        .mentions(&["cannot use `functions/no-op.wasm`: not a WebAssembly module"])?;
    place.write("other.wasm", "nor this")?;
    for name in
        ["no-op", "ghcr.io/kptdev/krm-functions-catalog/no-op", "ghcr.io/kptdev/krm-functions-catalog/no-op:v0.1"]
    {
        place
            .run(&format!("render pkg --function-dir functions --function {name}=other.wasm"))?
            .exits(1)?
            .mentions(&["cannot use `other.wasm`"])?;
    }
    // A name with another tag is another function.
    place.run("render pkg -q --function ghcr.io/kptdev/krm-functions-catalog/no-op:v0.2=other.wasm")?.exits(0)?;
    Ok(())
}

#[test]
fn places_of_functions_that_are_not_there_are_told() -> Result<()> {
    let place = Place::with_mutator("image: mine:v1")?;
    place.run("render pkg --function-dir gone")?.exits(1)?.says("error: `--function-dir gone` is no directory\n")?;
    place.run("render pkg --function mine=gone.wasm")?.exits(1)?.mentions(&[
        "cannot use `gone.wasm` as function `ghcr.io/kptdev/krm-functions-catalog/mine:v1`: No such file or directory",
    ])?;
    Ok(())
}

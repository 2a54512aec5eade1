//! What the author of a function is told about a module that cannot run, or that ran badly.

use anyhow::{Result, ensure};
use portico_tests::Ran;
use portico_tests::cli::Place;

/// Renders a package with a function made of WebAssembly text.
fn told(text: &str) -> Result<(Place, Ran)> {
    told_of(&wat::parse_str(text)?)
}

/// Renders a package with a function of these bytes.
fn told_of(module: &[u8]) -> Result<(Place, Ran)> {
    let place = Place::with_mutator("image: mine")?;
    std::fs::write(place.path()?.join("mine.wasm"), module)?;
    let ran = place.run("render pkg --function mine=mine.wasm --status=none")?;
    Ok((place, ran))
}

/// A function that writes a text to a file descriptor and exits with a code.
fn writing(fd: u32, text: &str, code: u32) -> String {
    let escaped = text.bytes().fold(String::new(), |all, byte| all + &format!("\\{byte:02x}"));
    format!(
        r#"(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "{escaped}")
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 16))
    (i32.store (i32.const 4) (i32.const {}))
    (drop (call $write (i32.const {fd}) (i32.const 0) (i32.const 1) (i32.const 8)))
    (call $exit (i32.const {code}))))"#,
        text.len()
    )
}

#[test]
fn a_module_for_javascript_hosts_is_told_from_a_function() -> Result<()> {
    let (_place, ran) = told(r#"(module (import "gojs" "runtime.wasmExit" (func (param i32))))"#)?;
    ran.exits(1)?.mentions(&[
        "cannot use `mine.wasm`",
        "imports `gojs`.`runtime.wasmExit`",
        "(`GOOS=js`): build it with `GOOS=wasip1 GOARCH=wasm`",
    ])?;
    let (_place, ran) =
        told(r#"(module (import "__wbindgen_placeholder__" "__wbindgen_throw" (func (param i32 i32))))"#)?;
    ran.exits(1)?.mentions(&["with wasm-bindgen: build it for `wasm32-wasip1`"])?;
    Ok(())
}

#[test]
fn a_module_without_start_is_told_to_become_a_program() -> Result<()> {
    // What `wasm32-unknown-unknown` makes of a program.
    let (_place, ran) = told(
        r#"(module (memory (export "memory") 1) (func (export "main") (param i32 i32) (result i32) i32.const 0))"#,
    )?;
    ran.exits(1)?.mentions(&["has no `_start` function", "`wasm32-wasip1`"])?;
    let (_place, ran) = told(r#"(module (memory (export "memory") 1) (func (export "_initialize")))"#)?;
    ran.exits(1)?.mentions(&["has no `_start` function", "built as a library (reactor)"])?;
    Ok(())
}

#[test]
fn a_missing_import_is_named() -> Result<()> {
    let (_place, ran) =
        told(r#"(module (import "env" "sqlite3_open" (func)) (memory (export "memory") 1) (func (export "_start")))"#)?;
    ran.exits(1)?.mentions(&["imports `env`.`sqlite3_open`, which functions do not get", "unresolved symbols"])?;
    let (_place, ran) = told(
        r#"(module (import "wasi_snapshot_preview1" "sock_connect" (func)) (memory (export "memory") 1) (func (export "_start")))"#,
    )?;
    ran.exits(1)?.mentions(&["`wasi_snapshot_preview1`.`sock_connect`", "it is not part of WASI preview 1"])?;
    Ok(())
}

#[test]
fn a_component_that_is_no_program_is_told_to_become_one() -> Result<()> {
    let (_place, ran) = told_of(b"\0asm\x0d\0\x01\0")?;
    ran.exits(1)?.mentions(&["does not export `wasi:cli/run`", "WASI 0.2", "`wasm32-wasip2`"])?;
    let (_place, ran) = told(r#"(component (import "wasi:http/outgoing-handler@0.2.0" (instance)))"#)?;
    ran.exits(1)?.mentions(&["imports `wasi:http/outgoing-handler@0.2.0`", "functions have no network"])?;
    // What a toolchain for WASI 0.2 makes before it makes the component.
    let (_place, ran) =
        told(r#"(module (import "wasi:cli/exit@0.2.0" "exit" (func (param i32))) (func (export "_start")))"#)?;
    ran.exits(1)?.mentions(&["the inner part of a component only", "`wasm32-wasip2`", "`wasm32-wasip1`"])?;
    Ok(())
}

#[test]
fn a_panic_is_told_with_its_message_and_its_place() -> Result<()> {
    let place = Place::with_mutator("image: probe.local/panic:v1")?;
    place.run("render pkg --function-dir $PROBES")?.exits(1)?.mentions(&[
        "[FAIL] \"probe.local/panic:v1\"",
        "error: the function panicked at tests/probes/src/hostile.rs:",
        "no owner for Service checkout in step 1 (probe.local/panic:v1) of package \"pkg\"",
    ])?;
    let kptfile = place.read("pkg/Kptfile")?;
    ensure!(kptfile.contains("no owner for Service checkout"), "{kptfile}");
    Ok(())
}

#[test]
fn a_panic_of_a_go_program_is_told_by_its_first_line() -> Result<()> {
    let said = "panic: no owner for Service checkout\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:3 +0x2\n";
    let (_place, ran) = told(&writing(2, said, 2))?;
    ran.exits(1)?.mentions(&[
        "    goroutine 1 [running]:\n",
        "  Exit code: 2\n",
        "failed with exit code 2: panic: no owner for Service checkout",
    ])?;
    Ok(())
}

#[test]
fn an_exit_code_is_told_with_the_first_words_of_stderr() -> Result<()> {
    let (_place, ran) = told(&writing(2, "\ncannot read the quota table\nmore\n", 7))?;
    ran.exits(1)?.mentions(&["  Exit code: 7\n", "failed with exit code 7: cannot read the quota table\n"])?;
    let (_place, ran) = told(&writing(2, "", 7))?;
    ran.exits(1)?.mentions(&["failed with exit code 7\n"])?;
    Ok(())
}

#[test]
fn text_on_stdout_that_is_no_resource_list_is_shown_with_its_line() -> Result<()> {
    let (place, ran) =
        told(&writing(1, "apiVersion: config.kubernetes.io/v1\nitems: []\ndone: 3 objects: changed\n", 0))?;
    ran.exits(1)?.mentions(&["line 3", "done: 3 objects: changed"])?;
    ensure!(!place.read("pkg/Kptfile")?.contains("done"), "nothing of it is written");
    let (_place, ran) = told(&writing(1, "checking objects\nall fine\n", 0))?;
    ran.exits(1)?.mentions(&["line 1", "checking objects"])?;
    Ok(())
}

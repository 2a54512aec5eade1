//! Guests, and how to run them.

use std::sync::Arc;

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};
use wit_component::ComponentEncoder;

use portico_runtime::{
    CancelToken, Engine, EngineConfig, FunctionModule, Invocation, Limits, Module, ModuleCode, RunError, RunOutput,
    Sandbox,
};

/// What every guest begins with. The memory has two pages; calls leave their numbers at the start of it.
const PRELUDE: &str = r#"
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 2)
  ;; Writes $length bytes from $address to $fd.
  (func $write (param $fd i32) (param $address i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $address))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $fd_write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
"#;

/// Copies stdin to stdout, 32 KiB at a time.
pub(crate) const ECHO: &str = r#"
  (func (export "_start")
    (loop $more
      (i32.store (i32.const 0) (i32.const 1024))
      (i32.store (i32.const 4) (i32.const 32768))
      (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
      (if (i32.load (i32.const 8))
        (then
          (call $write (i32.const 1) (i32.const 1024) (i32.load (i32.const 8)))
          (br $more)))))
"#;

/// Computes for ever.
pub(crate) const SPIN: &str = r#"(func (export "_start") (loop $again (br $again)))"#;

/// Says `ready` on stdout's sibling, then computes for ever.
pub(crate) const GREET_AND_SPIN: &str = r#"
  (data (i32.const 1024) "about to spin")
  (func (export "_start")
    (call $write (i32.const 2) (i32.const 1024) (i32.const 13))
    (loop $again (br $again)))
"#;

/// A wasm module from the prelude and this text.
pub(crate) fn wasm(body: &str) -> Vec<u8> {
    importing("", body)
}

/// As [`wasm`], with further imports of WASI: name, parameters and results of each.
pub(crate) fn importing(imports: &str, body: &str) -> Vec<u8> {
    bare(&format!("(module {imports} {PRELUDE} {body})"))
}

/// A wasm module from this text alone.
pub(crate) fn bare(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The same program as a component for WASI 0.2, made as toolchains make them: with the adapter that gives a program
/// for preview 1 its calls. The program must export its memory.
pub(crate) fn component(wasm: &[u8]) -> Vec<u8> {
    ComponentEncoder::default()
        .module(wasm)
        .and_then(|encoder| {
            encoder.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER)
        })
        .and_then(|encoder| encoder.validate(true).encode())
        .unwrap_or_else(|error| panic!("{error:#}"))
}

pub(crate) fn engine() -> Engine {
    Engine::new(EngineConfig::default()).expect("an engine")
}

pub(crate) fn function(wasm: Vec<u8>) -> FunctionModule {
    FunctionModule { name: "guest".into(), code: ModuleCode::Wasm(Arc::from(wasm)) }
}

pub(crate) fn load(engine: &Engine, body: &str) -> Module {
    engine.load(&function(wasm(body))).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn stdin(bytes: impl Into<Vec<u8>>) -> Invocation {
    Invocation { name: "guest".into(), stdin: bytes.into(), ..Invocation::default() }
}

/// Runs a guest once, in a sandbox of its own.
pub(crate) fn run(engine: &Engine, body: &str, limits: Limits, input: &[u8]) -> Result<RunOutput, RunError> {
    let module = load(engine, body);
    Sandbox::new(engine, limits, CancelToken::new()).run(&module, stdin(input))
}

/// That the engine still does its work.
pub(crate) fn assert_works(engine: &Engine) {
    let output = run(engine, ECHO, Limits::default(), b"still here").expect("the engine works");
    assert_eq!(output.stdout, b"still here");
}

//! Which modules are taken, and what is said of the others.

use std::path::PathBuf;
use std::sync::{Arc, Barrier};

use portico_runtime::{
    CancelToken, Compiler, Engine, EngineConfig, FunctionModule, Limits, ModuleCode, ModuleCounts, ModuleError,
    PrecompiledCode, Sandbox, precompile,
};

use crate::guests::{ECHO, assert_works, bare, engine, function, importing, stdin, wasm};

fn refusal(wasm: Vec<u8>) -> ModuleError {
    let engine = engine();
    let error = engine.load(&function(wasm)).expect_err("refused");
    assert_works(&engine);
    error
}

/// Items of a module, one for each number.
fn each(count: u32, item: impl Fn(u32) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_no_module_is_told_for_what_it_is() {
    for (bytes, words) in [
        (&b""[..], "not a WebAssembly module: the file is empty"),
        (b"\x7fELF\x02\x01", "not a WebAssembly module: it is native code"),
        (b"#!/bin/sh\n", "not a WebAssembly module: it is a script"),
        (b"apiVersion: v1\n", "not a WebAssembly module: it does not start with"),
        (b"\n (module)", "not a WebAssembly module: it is WebAssembly text"),
        (b"\0asm\x0d\0\x01\0", "the component does not export `wasi:cli/run`"),
        (b"\0asm", "the WebAssembly module is not valid: "),
        (b"\0asm\x02\0\0\0", "the WebAssembly module is not valid: "),
    ] {
        let error = refusal(bytes.to_vec()).to_string();
        assert!(error.starts_with(words), "{error}");
    }
}

#[test]
fn a_truncated_or_damaged_module_is_refused_wherever_it_breaks() {
    let engine = engine();
    let whole = wasm(ECHO);
    let accepted = (0..whole.len()).filter(|length| engine.load(&function(whole[..*length].to_vec())).is_ok());
    // Cut exactly before the names for debuggers, it is a whole module.
    assert_eq!(accepted.count(), 1);
    for position in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[position] ^= 0xff;
        // Some damage goes unnoticed; none may panic.
        drop(engine.load(&function(damaged)));
    }
    assert_works(&engine);
}

#[test]
fn unknown_imports_are_named_before_anything_runs() {
    let import = |module: &str, name: &str| {
        bare(&format!(
            r#"(module (import "{module}" "{name}" (func)) (memory (export "memory") 1) (func (export "_start")))"#
        ))
    };
    for (module, name, advice) in [
        ("gojs", "runtime.wasmExit", "GOOS=wasip1"),
        ("go", "debug", "GOOS=wasip1"),
        ("wasi_unstable", "fd_write", "early draft of WASI"),
        ("wasi", "thread-spawn", "threads are not supported"),
        ("env", "abort", "browser"),
        ("wbg", "__wbg_log", "wasm-bindgen"),
        ("wasi:cli/exit@0.2.0", "exit", "WASI preview 2"),
        ("wasi_snapshot_preview1", "fd_teleport", "not part of WASI preview 1"),
        ("my_host", "call", "stdin, stdout, stderr"),
    ] {
        let error = refusal(import(module, name)).to_string();
        assert!(error.contains(&format!("`{module}`.`{name}`")), "{error}");
        assert!(error.contains(advice), "{error}");
    }
}

#[test]
fn a_known_import_of_another_type_is_refused() {
    let wasm = bare(
        r#"(module
             (import "wasi_snapshot_preview1" "fd_write" (func (param i32) (result i32)))
             (memory (export "memory") 1)
             (func (export "_start")))"#,
    );
    let error = refusal(wasm);
    assert!(matches!(error, ModuleError::Interface(_)), "{error:?}");
    assert!(error.to_string().contains("fd_write"), "{error}");
}

#[test]
fn a_module_that_is_no_program_is_refused_with_advice() {
    let library = refusal(bare(r#"(module (func (export "run")))"#)).to_string();
    assert!(library.contains("no `_start`") && library.contains("wasm32-wasip1"), "{library}");
    let reactor = refusal(bare(r#"(module (func (export "_initialize")))"#)).to_string();
    assert!(reactor.contains("reactor"), "{reactor}");
    // Something of that name that is not a function, or takes arguments.
    let global = refusal(bare(r#"(module (global (export "_start") i32 (i32.const 0)))"#));
    assert!(matches!(global, ModuleError::NoStart { .. }), "{global:?}");
    let parameter = refusal(bare(r#"(module (func (export "_start") (param i32)))"#));
    assert!(matches!(parameter, ModuleError::NoStart { .. }), "{parameter:?}");
}

#[test]
fn a_program_that_hides_its_memory_is_refused() {
    let wasm = bare(
        r#"(module
             (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
             (memory 1)
             (func (export "_start")))"#,
    );
    assert!(matches!(refusal(wasm), ModuleError::NoMemory));
}

#[test]
fn features_that_functions_do_not_get_are_named() {
    let start = r#"(func (export "_start"))"#;
    for (text, words) in [
        (format!("(module (memory i64 1) {start})"), "64-bit memory"),
        (format!("(module (memory 1 2 shared) {start})"), "shared memory"),
        (format!("(module (memory 1) (memory 1) {start})"), "several memories"),
    ] {
        let error = refusal(bare(&text)).to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn more_of_anything_than_reasonable_is_refused_before_compiling() {
    let start = r#"(func (export "_start"))"#;
    let repeat = |item: &str, times: usize| item.repeat(times);
    for (text, words) in [
        (format!("(module {} {start})", repeat("(import \"a\" \"b\" (func))", 65)), "65 imports"),
        (format!("(module {start} {})", each(10_001, |n| format!("(export \"{n}\" (func 0))"))), "10002 exports"),
        (format!("(module {start} {})", repeat("(func)", 100_001)), "100002 functions"),
        (format!("(module (table 1 funcref) (table 1 funcref) {start})"), "2 tables"),
        (format!("(module (table 100001 funcref) {start})"), "100001 table elements"),
        (
            format!("(module (memory 1) {start} {})", repeat("(data (i32.const 0) \"\")", 100_001)),
            "100001 data segments",
        ),
        (
            // The shape that takes compilers seconds and hundreds of megabytes.
            format!("(module {start} (func (local {}) {}))", repeat("i32 ", 2400), repeat("(loop)", 2400)),
            "variables times loops in one function",
        ),
    ] {
        let error = refusal(bare(&text)).to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_module_beyond_the_size_limit_is_refused() {
    let engine = Engine::new(EngineConfig { module_bytes: 100, ..EngineConfig::default() }).unwrap();
    let error = engine.load(&function(wasm(ECHO))).unwrap_err();
    assert_eq!(error.to_string(), "the module is larger than the limit `moduleBytes` of 100 bytes");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.wasm");
    std::fs::write(&path, wasm(ECHO)).unwrap();
    let error = engine.load(&file(&path)).unwrap_err();
    assert!(matches!(error, ModuleError::TooLarge { limit: 100 }));
}

#[test]
fn a_render_can_accept_less_than_its_engine_even_of_what_is_loaded_already() {
    let engine = Engine::new(EngineConfig { module_bytes: 10_000, ..EngineConfig::default() }).unwrap();
    let echo = function(wasm(ECHO));
    engine.load(&echo).unwrap();
    assert!(matches!(engine.load_within(&echo, 100), Err(ModuleError::TooLarge { limit: 100 })));
    engine.load_within(&echo, 9_000).unwrap();
    let large = function(wasm(&format!("(data (i32.const 0) \"{}\")", "x".repeat(20_000))));
    assert!(matches!(engine.load_within(&large, u64::MAX), Err(ModuleError::TooLarge { limit: 10_000 })));
}

fn file(path: &std::path::Path) -> FunctionModule {
    FunctionModule { name: "guest".into(), code: ModuleCode::File(path.into()) }
}

#[test]
fn a_module_comes_from_a_file_as_it_is_now() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("guest.wasm");
    let engine = engine();
    for code in [3, 4] {
        std::fs::write(&path, wasm(&format!(r#"(func (export "_start") (call $exit (i32.const {code})))"#))).unwrap();
        let module = engine.load(&file(&path)).unwrap();
        let output = Sandbox::new(&engine, Limits::default(), CancelToken::new()).run(&module, stdin("")).unwrap();
        assert_eq!(output.exit_code, code);
    }
}

#[test]
fn what_is_no_file_is_not_opened() {
    let engine = engine();
    let missing = engine.load(&file(&PathBuf::from("/no/such.wasm"))).unwrap_err();
    assert_eq!(missing.to_string(), "can't read the module `/no/such.wasm`");
    assert!(std::error::Error::source(&missing).is_some());
    for special in ["/dev/zero", "/"] {
        let error = engine.load(&file(&PathBuf::from(special))).unwrap_err();
        assert!(matches!(error, ModuleError::NotAFile { .. }), "{error:?}");
    }
}

#[test]
fn without_a_compiler_nothing_unknown_runs() {
    let engine = Engine::new(EngineConfig { compiler: Compiler::Forbidden, ..EngineConfig::default() }).unwrap();
    let error = engine.load(&function(wasm(ECHO))).unwrap_err();
    assert!(matches!(error, ModuleError::CompilingForbidden));
    // But what is wrong with a module is said all the same.
    let error = engine.load(&function(b"text".to_vec())).unwrap_err();
    assert!(matches!(error, ModuleError::NotWasm { .. }));
}

#[test]
fn fifty_who_ask_at_once_get_one_module() {
    let engine = engine();
    // Large enough that all of them arrive while it compiles.
    let body = format!(
        "{} {ECHO}",
        each(2000, |n| format!("(func (result i32) (i32.mul (i32.const {n}) (i32.load (i32.const {n}))))"))
    );
    let wasm = wasm(&body);
    let barrier = Barrier::new(50);
    let modules: Vec<_> = std::thread::scope(|scope| {
        let askers: Vec<_> = (0..50)
            .map(|_| {
                scope.spawn(|| {
                    let function = function(wasm.clone());
                    barrier.wait();
                    engine.load(&function).unwrap()
                })
            })
            .collect();
        askers.into_iter().map(|asker| asker.join().unwrap()).collect()
    });
    assert_eq!(modules.len(), 50);
    assert_eq!(engine.compilations(), 1);
}

#[test]
fn a_failure_is_not_remembered_as_a_module() {
    let engine = engine();
    let broken = function(importing(r#"(import "env" "f" (func))"#, ECHO));
    for _ in 0..2 {
        assert!(matches!(engine.load(&broken), Err(ModuleError::MissingImport { .. })));
    }
    assert_eq!(engine.compilations(), 0);
}

#[test]
fn code_compiled_ahead_runs_without_a_compiler_and_with_the_same_fuel() {
    let input = vec![1; 10_000];
    let compiled = precompile(&wasm(ECHO)).unwrap();
    let function = FunctionModule { name: "guest".into(), code: ModuleCode::Precompiled(embedded(compiled)) };
    let engine = Engine::new(EngineConfig { compiler: Compiler::Forbidden, ..EngineConfig::default() }).unwrap();
    let module = engine.load(&function).unwrap();
    let output =
        Sandbox::new(&engine, Limits::default(), CancelToken::new()).run(&module, stdin(input.clone())).unwrap();
    assert!(output.stdout == input);
    let compiled_here = crate::guests::run(&crate::guests::engine(), ECHO, Limits::default(), &input).unwrap();
    assert_eq!(output.fuel_used, compiled_here.fuel_used);
}

#[test]
fn code_compiled_ahead_runs_on_a_pooled_engine() {
    let compiled = precompile(&wasm(ECHO)).unwrap();
    let function = FunctionModule { name: "guest".into(), code: ModuleCode::Precompiled(embedded(compiled)) };
    let allocation = portico_runtime::Allocation::Auto;
    let engine = Engine::new(EngineConfig { allocation, ..EngineConfig::default() }).unwrap();
    let module = engine.load(&function).unwrap();
    Sandbox::new(&engine, Limits::default(), CancelToken::new()).run(&module, stdin("x")).unwrap();
}

#[test]
fn bytes_in_the_programs_own_data_that_are_no_module_are_refused() {
    #[repr(C, align(65536))]
    struct Paged<T>(T);
    static TEXT: Paged<[u8; 64]> = Paged([7; 64]);
    // A module cannot be compiled into this very program: bytes that are none must be refused in place as they are when
    // they are copied, and leave the data around them readable.
    #[expect(unsafe_code, reason = "embedding compiled code is unsafe by contract")]
    // SAFETY: the bytes are refused before anything of them is run.
    let code = unsafe { PrecompiledCode::in_program(&TEXT.0) };
    for _ in 0..2 {
        let engine = engine();
        let function = FunctionModule { name: "guest".into(), code: ModuleCode::Precompiled(code) };
        assert!(matches!(engine.load(&function), Err(ModuleError::Embedded(_))));
    }
    assert_eq!(TEXT.0, [7; 64]);
}

/// What `include_bytes!` does in a program.
#[expect(unsafe_code, reason = "embedding compiled code is unsafe by contract")]
fn embedded(compiled: Vec<u8>) -> PrecompiledCode {
    // SAFETY: callers hand over what `precompile` made.
    unsafe { PrecompiledCode::new(Vec::leak(compiled)) }
}

#[test]
fn the_same_bytes_in_two_places_are_one_module() {
    let engine = engine();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("guest.wasm");
    std::fs::write(&path, wasm(ECHO)).unwrap();
    engine.load(&file(&path)).unwrap();
    let shared = FunctionModule { name: "other".into(), code: ModuleCode::Wasm(Arc::from(wasm(ECHO))) };
    engine.load(&shared).unwrap();
    engine.load(&shared.clone()).unwrap();
    assert_eq!(engine.compilations(), 1);
    assert_eq!(engine.module_counts(), ModuleCounts { hits: 2, misses: 1, from_disk: 0 });
}

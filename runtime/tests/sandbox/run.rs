//! What a well-behaved function sees, and what comes back.

use portico_runtime::{CancelToken, Grants, Invocation, Limits, RunFailure, Sandbox, TrapKind};

use crate::guests::{ECHO, engine, function, importing, load, run, stdin};

/// Exits with the code that its stdin begins with.
const EXIT: &str = r#"
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 16))
    (i32.store (i32.const 4) (i32.const 4))
    (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (call $exit (i32.load (i32.const 16))))
"#;

#[test]
fn input_goes_in_and_output_comes_out() {
    let engine = engine();
    let input: Vec<u8> = (0..300_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let output = run(&engine, ECHO, Limits::default(), &input).unwrap();
    assert_eq!(output.exit_code, 0);
    assert!(output.stdout == input);
    assert!(output.stderr.is_empty());
    assert!(output.fuel_used > 0);
    assert_eq!(output.peak_memory, 2 * 65536);
}

#[test]
fn any_exit_code_is_an_output() {
    let engine = engine();
    let module = load(&engine, EXIT);
    let mut sandbox = Sandbox::new(&engine, Limits::default(), CancelToken::new());
    for code in [0, 1, 3, 125, 126, 255, 256, -1, i32::MAX, i32::MIN] {
        let output = sandbox.run(&module, stdin(code.to_le_bytes())).unwrap();
        assert_eq!(output.exit_code, code);
    }
    assert_eq!(sandbox.stores_created(), 1);
}

#[test]
fn an_exit_in_the_start_section_is_an_exit() {
    let output = run(
        &engine(),
        r#"(func $begin (call $exit (i32.const 7))) (start $begin) (func (export "_start") unreachable)"#,
        Limits::default(),
        b"",
    );
    assert_eq!(output.unwrap().exit_code, 7);
}

#[test]
fn arguments_and_environment_arrive_as_granted() {
    let engine = engine();
    let wasm = importing(
        r#"
          (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes (param i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "environ_get" (func $env (param i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "environ_sizes_get" (func $env_sizes (param i32 i32) (result i32)))
        "#,
        r#"
          (func (export "_start")
            (drop (call $args_sizes (i32.const 100) (i32.const 104)))
            (drop (call $args (i32.const 200) (i32.const 1024)))
            (call $write (i32.const 1) (i32.const 1024) (i32.load (i32.const 104)))
            (drop (call $env_sizes (i32.const 100) (i32.const 104)))
            (drop (call $env (i32.const 200) (i32.const 1024)))
            (call $write (i32.const 1) (i32.const 1024) (i32.load (i32.const 104)))
            (call $write (i32.const 1) (i32.load (i32.const 200)) (i32.const 1)))
        "#,
    );
    let module = engine.load(&function(wasm)).unwrap();
    let mut grants = Grants::default();
    grants.set_env("HOME", "/").unwrap();
    let call = Invocation { name: "set-labels".into(), args: vec!["--fast".into()], grants, ..stdin("") };
    let output = Sandbox::new(&engine, Limits::default(), CancelToken::new()).run(&module, call).unwrap();
    assert_eq!(output.stdout.escape_ascii().to_string(), r"set-labels\x00--fast\x00HOME=/\x00H");
}

#[test]
fn every_run_begins_afresh() {
    let engine = engine();
    // Adds one to a byte of memory and prints it.
    let module = load(
        &engine,
        r#"
          (data (i32.const 64) "0")
          (func (export "_start")
            (i32.store8 (i32.const 64) (i32.add (i32.load8_u (i32.const 64)) (i32.const 1)))
            (call $write (i32.const 1) (i32.const 64) (i32.const 1)))
        "#,
    );
    let mut sandbox = Sandbox::new(&engine, Limits::default(), CancelToken::new());
    for _ in 0..3 {
        assert_eq!(sandbox.run(&module, stdin("")).unwrap().stdout, b"1");
    }
}

#[test]
fn a_crash_names_its_kind_and_keeps_stderr() {
    let engine = engine();
    let cases = [
        ("unreachable", TrapKind::Unreachable),
        ("(drop (i32.div_u (i32.const 1) (i32.const 0)))", TrapKind::DivisionByZero),
        ("(drop (i32.div_s (i32.const 0x80000000) (i32.const -1)))", TrapKind::IntegerOverflow),
        ("(drop (i32.trunc_f32_s (f32.const nan)))", TrapKind::BadConversion),
        ("(drop (i32.load (i32.const -1)))", TrapKind::MemoryOutOfBounds),
        ("(call_indirect (i32.const 0))", TrapKind::BadIndirectCall),
        ("(call_indirect (i32.const 9))", TrapKind::TableOutOfBounds),
        ("(call $deeper)", TrapKind::StackOverflow),
    ];
    for (code, expected) in cases {
        let body = format!(
            r#"
              (table 1 funcref)
              (data (i32.const 64) "before the crash")
              (func $deeper (call $deeper) (call $deeper))
              (func $inner {code})
              (func $outer (export "_start")
                (call $write (i32.const 2) (i32.const 64) (i32.const 16))
                (call $inner))
            "#
        );
        let error = run(&engine, &body, Limits::default(), b"").unwrap_err();
        let RunFailure::Trap { kind, backtrace } = &error.failure else { panic!("{code}: {error}") };
        assert_eq!(*kind, expected, "{code}");
        assert_eq!(error.stderr, b"before the crash", "{code}");
        let innermost = if expected == TrapKind::StackOverflow { "deeper" } else { "inner" };
        assert_eq!(backtrace.first().map(String::as_str), Some(innermost), "{code}");
    }
}

//! The same module and input give the same bytes and the same fuel, wherever and however they run.

use portico_runtime::{Allocation, CancelToken, Engine, EngineConfig, Limits, RunOutput, Sandbox};

use crate::guests::{ECHO, bare, engine, function, importing, stdin, wasm};

/// Makes not-a-numbers in every way that processors disagree on, and writes their bits.
const NANS: &str = r#"
  (global $at (mut i32) (i32.const 1024))
  (func $put32 (param f32)
    (f32.store (global.get $at) (local.get 0))
    (global.set $at (i32.add (global.get $at) (i32.const 4))))
  (func $put64 (param f64)
    (f64.store (global.get $at) (local.get 0))
    (global.set $at (i32.add (global.get $at) (i32.const 8))))
  (func (export "_start") (local $zero f32) (local $inf f64) (local $odd f32) (local $odd64 f64)
    ;; Not constants, or the compiler would work them out.
    (local.set $zero (f32.load (i32.const 512)))
    (local.set $inf (f64.div (f64.const 1) (f64.promote_f32 (local.get $zero))))
    (local.set $odd (f32.reinterpret_i32 (i32.or (i32.const 0xffa12345) (i32.load (i32.const 512)))))
    (local.set $odd64 (f64.promote_f32 (local.get $odd)))
    (call $put32 (f32.div (local.get $zero) (local.get $zero)))
    (call $put32 (f32.sqrt (f32.sub (local.get $zero) (f32.const 1))))
    (call $put32 (f32.add (local.get $odd) (f32.const 1)))
    (call $put32 (f32.mul (f32.const 1) (local.get $odd)))
    (call $put32 (f32.min (local.get $odd) (local.get $zero)))
    (call $put32 (f32.max (local.get $zero) (local.get $odd)))
    (call $put32 (f32.floor (local.get $odd)))
    (call $put32 (f32.demote_f64 (local.get $odd64)))
    (call $put64 (f64.sub (local.get $inf) (local.get $inf)))
    (call $put64 (f64.mul (local.get $inf) (f64.const 0)))
    (call $put64 (f64.nearest (local.get $odd64)))
    (call $put64 (local.get $odd64))
    (call $write (i32.const 1) (i32.const 1024) (i32.sub (global.get $at) (i32.const 1024))))
"#;

#[test]
fn a_result_that_is_not_a_number_has_the_same_bits_on_every_processor() {
    let engine = engine();
    let module = engine.load(&function(wasm(NANS))).unwrap();
    let output = Sandbox::new(&engine, Limits::default(), CancelToken::new()).run(&module, stdin("")).unwrap();
    let expected: Vec<u8> = std::iter::repeat_n(0x7fc0_0000_u32.to_le_bytes(), 8)
        .flatten()
        .chain(std::iter::repeat_n(0x7ff8_0000_0000_0000_u64.to_le_bytes(), 4).flatten())
        .collect();
    assert_eq!(output.stdout, expected);
}

/// Random numbers, the time before and after a sleep, and how much memory there is.
const WORLD: &str = r#"
  (func (export "_start")
    (drop (call $random (i32.const 1024) (i32.const 64)))
    (drop (call $clock (i32.const 0) (i64.const 1) (i32.const 1088)))
    (i64.store (i32.const 528) (i64.const 5000000000))
    (i32.store (i32.const 520) (i32.const 1))
    (drop (call $poll (i32.const 512) (i32.const 600) (i32.const 1) (i32.const 700)))
    (drop (call $clock (i32.const 1) (i64.const 1) (i32.const 1096)))
    (i32.store (i32.const 1104) (memory.grow (i32.const 3)))
    (call $write (i32.const 1) (i32.const 1024) (i32.const 84)))
"#;

const IMPORTS: &str = r#"
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
"#;

#[test]
fn every_engine_gives_the_same_bytes_and_the_same_fuel() {
    let modules = [wasm(NANS), wasm(ECHO), importing(IMPORTS, WORLD), bare(r#"(module (func (export "_start")))"#)];
    let input: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
    let all = |engine: &Engine| -> Vec<RunOutput> {
        // One sandbox for all: what ran before leaves no trace.
        let mut sandbox = Sandbox::new(engine, Limits::default(), CancelToken::new());
        let mut outputs = Vec::new();
        for wasm in modules.iter().chain(modules.iter().rev()) {
            let module = engine.load(&function(wasm.clone())).unwrap();
            let output = sandbox.run(&module, stdin(input.clone())).unwrap();
            outputs.push(RunOutput { elapsed: std::time::Duration::ZERO, ..output });
        }
        outputs
    };
    let expected = all(&engine());
    for (first, again) in expected.iter().zip(expected.iter().rev()) {
        assert_eq!(first, again, "the order changes nothing");
    }
    assert!(expected[2].stdout.iter().any(|byte| *byte != 0));

    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let pool = Allocation::Pooling { slots: 16, keep_resident: 1 << 20 };
    let config = |allocation, cached: bool| EngineConfig {
        allocation,
        cache_dir: cached.then(|| cache.clone()),
        ..EngineConfig::default()
    };
    let pooled = Engine::new(config(pool, false)).unwrap();
    for round in 0..3 {
        assert_eq!(all(&pooled), expected, "pooled, round {round}: slots are used again");
    }
    for (name, compilations) in [("cold", 4), ("warm", 0)] {
        let engine = Engine::new(config(Allocation::OnDemand, true)).unwrap();
        assert_eq!(all(&engine), expected, "{name} cache");
        assert_eq!(engine.compilations(), compilations, "{name} cache");
    }
    let warm = Engine::new(config(pool, true)).unwrap();
    assert_eq!(all(&warm), expected, "warm cache, pooled");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(all(&pooled), expected, "one of eight threads"));
        }
    });
}

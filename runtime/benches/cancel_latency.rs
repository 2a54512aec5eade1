//! How long a function goes on after its render was cancelled.
//!
//! `cargo bench -p portico-runtime --bench cancel_latency [-- CANCELS]`
//!
//! From the call of `cancel` on one thread to the return of `run` on another, which includes dropping the Store with
//! its memory; 1,000 cancels of each guest, each at a random moment within its first 5 milliseconds.
#![expect(clippy::print_stdout, reason = "a benchmark reports on stdout")]

use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use portico_runtime::{
    Allocation, CancelToken, Engine, EngineConfig, FunctionModule, Invocation, Limits, Module, ModuleCode, RunFailure,
    Sandbox,
};

/// What the guests do, each for ever.
const GUESTS: [(&str, &str); 7] = [
    ("an empty loop", "(loop $again (br $again))"),
    (
        "computing: hashes of 1 MiB",
        "(local $hash i64) (local $at i32)
         (drop (memory.grow (i32.const 16)))
         (loop $again
           (local.set $at (i32.const 0))
           (loop $next
             (local.set $hash (i64.mul (i64.xor (local.get $hash) (i64.load (local.get $at))) (i64.const 0x100000001b3)))
             (i64.store (local.get $at) (local.get $hash))
             (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 8))) (i32.const 1048576))))
           (br $again))",
    ),
    (
        "computing: recursive calls",
        "(loop $again (drop (call $fibonacci (i32.const 25))) (br $again))",
    ),
    ("host calls: empty writes", "(loop $again (drop (call $write (i32.const 2) (i32.const 64) (i32.const 0) (i32.const 8))) (br $again))"),
    (
        "host calls: 64 MiB to stdout",
        "(drop (memory.grow (i32.const 1024)))
         (i32.store (i32.const 0) (i32.const 16))
         (i32.store (i32.const 4) (i32.const 67108864))
         (loop $again (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))) (br $again))",
    ),
    (
        "memory.fill of 1 MiB",
        "(drop (memory.grow (i32.const 16)))
         (loop $again (memory.fill (i32.const 0) (i32.const 1) (i32.const 1048576)) (br $again))",
    ),
    (
        "memory.fill of 64 MiB",
        "(drop (memory.grow (i32.const 1024)))
         (loop $again (memory.fill (i32.const 0) (i32.const 1) (i32.const 67108864)) (br $again))",
    ),
];

fn wasm(code: &str) -> Vec<u8> {
    wat::parse_str(format!(
        r#"(module
             (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
             (memory (export "memory") 2)
             (func $fibonacci (param $n i32) (result i32)
               (if (result i32) (i32.lt_u (local.get $n) (i32.const 2))
                 (then (local.get $n))
                 (else (i32.add (call $fibonacci (i32.sub (local.get $n) (i32.const 1)))
                                (call $fibonacci (i32.sub (local.get $n) (i32.const 2)))))))
             (func (export "_start") {code}))"#
    ))
    .expect("the guest is valid")
}

fn main() {
    let cancels = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1_000);
    println!("{cancels} cancels of each                       p50        p99        max");
    for (kind, allocation) in [("on demand", Allocation::OnDemand), ("pooled", Allocation::pooling())] {
        let engine = Engine::new(EngineConfig { allocation, ..EngineConfig::default() }).expect("an engine");
        println!("{kind}");
        for (name, code) in GUESTS {
            let function = FunctionModule { name: "guest".into(), code: ModuleCode::Wasm(Arc::from(wasm(code))) };
            let module = engine.load(&function).expect("the guest loads");
            let mut times = latencies(&engine, &module, cancels);
            times.sort();
            let at = |share: usize| times[(times.len() * share / 1_000).min(times.len() - 1)];
            println!("  {name:<32} {:>10.1?} {:>10.1?} {:>10.1?}", at(500), at(990), at(1_000));
        }
    }
}

/// Nothing but the cancel ends a guest.
fn endless() -> Limits {
    Limits {
        fuel: u64::MAX,
        step_time: Duration::MAX,
        render_time: Duration::MAX,
        stdout: u64::MAX,
        ..Limits::default()
    }
}

fn latencies(engine: &Engine, module: &Module, cancels: u32) -> Vec<Duration> {
    let (tokens, received) = mpsc::channel::<CancelToken>();
    let (ended, ends) = mpsc::channel::<Instant>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for token in received {
                let error = Sandbox::new(engine, endless(), token).run(module, Invocation::default());
                let end = Instant::now();
                assert_eq!(error.expect_err("it never ends").failure, RunFailure::Cancelled);
                ended.send(end).expect("somebody waits");
            }
        });
        let mut chance = 1_u64;
        let times = (0..cancels).map(|_| {
            let token = CancelToken::new();
            tokens.send(token.clone()).expect("somebody runs");
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            std::thread::sleep(Duration::from_micros((chance >> 33) % 5_000));
            let cancelled = Instant::now();
            token.cancel();
            ends.recv().expect("it ends").saturating_duration_since(cancelled)
        });
        let times = times.collect();
        drop(tokens);
        times
    })
}

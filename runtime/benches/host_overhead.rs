//! What the host costs: a step that only copies its input, the same as a component, loading a compiled module, two workers.
//!
//! `cargo bench -p portico-runtime --bench host_overhead [-- GUEST.wasm]`
//!
//! The guest copies stdin to stdout in pieces of 64 KiB; another one can be named, which must do the
//! same. Fuel and epochs are on, as always. Times are medians over many runs with the fastest beside
//! them; the disturbance of a busy machine shows as the distance between the two.
#![expect(clippy::print_stdout, reason = "a benchmark reports on stdout")]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use portico_runtime::{
    Allocation, CancelToken, Engine, EngineConfig, FunctionModule, Invocation, Limits, Module, ModuleCode,
    PrecompiledCode, Sandbox, precompile,
};

const ECHO: &str = r#"
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 4)
  (func (export "_start")
    (loop $more
      (i32.store (i32.const 0) (i32.const 65536))
      (i32.store (i32.const 4) (i32.const 65536))
      (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
      (if (i32.load (i32.const 8))
        (then
          (i32.store (i32.const 4) (i32.load (i32.const 8)))
          (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
          (br $more))))))
"#;

const SIZES: [(&str, usize); 3] = [("4 KB", 4 << 10), ("100 KB", 100 << 10), ("5 MB", 5 << 20)];

fn main() {
    let guest = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let wasm: Arc<[u8]> = match &guest {
        Some(path) => std::fs::read(path).expect("the guest").into(),
        None => wat::parse_str(ECHO).expect("the echo").into(),
    };
    println!("guest: {}, {} bytes\n", guest.as_deref().unwrap_or("built-in echo"), wasm.len());
    let function = FunctionModule { name: "echo".into(), code: ModuleCode::Wasm(Arc::clone(&wasm)) };

    let pooled = engine(Allocation::pooling());
    let on_demand = engine(Allocation::OnDemand);
    println!("one step, its sandbox made and dropped     median    fastest");
    for (allocation, engine) in [("pooled", &pooled), ("on demand", &on_demand)] {
        let module = engine.load(&function).expect("the guest loads");
        for (label, size) in SIZES {
            let times = steps(engine, &module, size, 1);
            report(&format!("  {allocation}, {label}"), &times);
        }
    }
    println!("\none step of ten in one render");
    let module = pooled.load(&function).expect("the guest loads");
    for (label, size) in SIZES {
        let times: Vec<_> = steps(&pooled, &module, size, 10).into_iter().map(|time| time / 10).collect();
        report(&format!("  pooled, {label}"), &times);
    }

    println!("\none step as a component, its sandbox made and dropped");
    let component = FunctionModule { name: "echo".into(), code: ModuleCode::Wasm(component(&wasm).into()) };
    for (allocation, engine) in [("pooled", &pooled), ("on demand", &on_demand)] {
        let module = engine.load(&component).expect("the component loads");
        for (label, size) in SIZES {
            let times = steps(engine, &module, size, 1);
            report(&format!("  {allocation}, {label}"), &times);
        }
    }

    println!("\nloading");
    loading(&function, &wasm);

    println!("\nruns of 100 KB a second");
    let one = throughput(&pooled, &module, 1);
    let two = throughput(&pooled, &module, 2);
    println!("  1 worker {one:>10.0}\n  2 workers {two:>9.0}  ({:.2} times)", two / one);
}

/// The same program for WASI 0.2, with wasmtime's adapter.
fn component(wasm: &[u8]) -> Vec<u8> {
    use wasi_preview1_component_adapter_provider::{
        WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
    };
    wit_component::ComponentEncoder::default()
        .module(wasm)
        .and_then(|encoder| {
            encoder.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER)
        })
        .and_then(|mut encoder| encoder.encode())
        .expect("a component")
}

fn engine(allocation: Allocation) -> Engine {
    Engine::new(EngineConfig { allocation, ..EngineConfig::default() }).expect("an engine")
}

fn call(stdin: Vec<u8>) -> Invocation {
    Invocation { name: "echo".into(), stdin, ..Invocation::default() }
}

/// Times whole renders of so many steps. As in a pipeline, what one step wrote is what the next one reads.
fn steps(engine: &Engine, module: &Module, size: usize, steps: usize) -> Vec<Duration> {
    let rounds = (400_000_000 / (size * steps + 200_000)).clamp(50, 2_000);
    let mut data: Vec<u8> = (0..size).map(|n| n.to_le_bytes()[0]).collect();
    let expected = data.clone();
    let mut times = Vec::with_capacity(rounds);
    for round in 0..rounds + rounds / 10 {
        let started = Instant::now();
        let mut sandbox = Sandbox::new(engine, Limits::default(), CancelToken::new());
        for _ in 0..steps {
            data = sandbox.run(module, call(data)).expect("a run").stdout;
        }
        drop(sandbox);
        // The first tenth warms up.
        if round >= rounds / 10 {
            times.push(started.elapsed());
        }
    }
    assert!(data == expected);
    times
}

fn loading(function: &FunctionModule, wasm: &[u8]) {
    let dir = std::env::temp_dir().join(format!("portico-bench-{}", std::process::id()));
    let cached = || {
        let config = EngineConfig { cache_dir: Some(dir.clone()), ..EngineConfig::default() };
        Engine::new(config).expect("an engine")
    };
    let started = Instant::now();
    cached().load(function).expect("the guest loads");
    println!("  compiled and kept                {:>14.1?}", started.elapsed());

    let timed = |prepare: &dyn Fn() -> Engine, function: &FunctionModule| -> Vec<Duration> {
        (0..50)
            .map(|_| {
                let engine = prepare();
                let started = Instant::now();
                black_box(engine.load(function).expect("the guest loads"));
                let time = started.elapsed();
                assert_eq!(engine.compilations(), 0);
                time
            })
            .collect()
    };
    report("  mapped, with hashing its wasm", &timed(&cached, function));
    let embedded = embedded(precompile(wasm).expect("the guest compiles"));
    println!("  compiled code: {} bytes", embedded.bytes().len());
    let function = FunctionModule { name: "echo".into(), code: ModuleCode::Precompiled(embedded) };
    report("  embedded", &timed(&|| engine(Allocation::OnDemand), &function));
    let times: Vec<_> = (0..50)
        .map(|_| {
            let started = Instant::now();
            black_box(engine(Allocation::OnDemand));
            started.elapsed()
        })
        .collect();
    report("  an engine, on demand", &times);
    let times: Vec<_> = (0..20)
        .map(|_| {
            let started = Instant::now();
            black_box(engine(Allocation::pooling()));
            started.elapsed()
        })
        .collect();
    report("  an engine, pooled", &times);
    drop(std::fs::remove_dir_all(&dir));
}

/// What `include_bytes!` does in a program.
#[expect(unsafe_code, reason = "embedding compiled code is unsafe by contract")]
fn embedded(compiled: Vec<u8>) -> PrecompiledCode {
    // SAFETY: callers hand over what `precompile` made.
    unsafe { PrecompiledCode::new(Vec::leak(compiled)) }
}

fn throughput(engine: &Engine, module: &Module, workers: usize) -> f64 {
    let (stop, runs) = (AtomicBool::new(false), AtomicU64::new(0));
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut input = vec![7; 100 << 10];
                while !stop.load(Ordering::Relaxed) {
                    let mut sandbox = Sandbox::new(engine, Limits::default(), CancelToken::new());
                    input = sandbox.run(module, call(input)).expect("a run").stdout;
                    runs.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(Duration::from_secs(1));
        stop.store(true, Ordering::Relaxed);
    });
    let runs = u32::try_from(runs.load(Ordering::Relaxed)).expect("a second's runs");
    f64::from(runs) / started.elapsed().as_secs_f64()
}

fn report(label: &str, times: &[Duration]) {
    let mut times = times.to_vec();
    times.sort();
    println!("{label:<38} {:>10.1?} {:>10.1?}", times[times.len() / 2], times[0]);
}

//! What a pooled engine gains and costs by keeping the memory of its slots: times of a step, and memory of an idle
//! process.
//!
//! `cargo bench -p portico-runtime --bench keep_resident [-- GUEST.wasm [NAME]]`
//!
//! The built-in guest copies stdin to stdout in pieces of 64 KiB. A real function can be named: with `GUEST.wasm` a
//! `ResourceList` of Deployments is what it reads, NAME is its `argv[0]`. The sizes take turns, so that a busy machine
//! disturbs all of them alike. Idle memory is what a process holds after two threads ran steps and ended.
#![expect(clippy::print_stdout, reason = "a benchmark reports on stdout")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use portico_runtime::{
    Allocation, CancelToken, Engine, EngineConfig, FunctionModule, Invocation, Limits, Module, ModuleCode, Sandbox,
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

/// Mebibytes kept of each slot.
const KEPT: [usize; 5] = [0, 1, 4, 8, 32];

const SIZES: [(&str, usize, u32); 2] = [("100 KB", 100 << 10, 300), ("5 MB", 5 << 20, 20)];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [held, cache, mebibytes, size, rest @ ..] = &arguments[..]
        && held == HELD
    {
        let number = |text: &String| text.parse().expect("a number");
        return idle(Path::new(cache), number(mebibytes), number(size), &Guest::of(rest));
    }
    let guest = Guest::of(&arguments);
    // What is compiled once serves all: the code does not depend on what is kept.
    let cache = std::env::temp_dir().join(format!("portico-bench-{}", std::process::id()));
    let engines: Vec<(usize, Engine, Module)> = KEPT
        .iter()
        .map(|&mebibytes| {
            let (engine, module) = engine(&cache, mebibytes, &guest);
            (mebibytes, engine, module)
        })
        .collect();

    println!("guest: {}", guest.path.as_deref().unwrap_or("built-in echo"));
    println!("one step, its sandbox made and dropped    median    fastest   idle process");
    for (label, size, rounds) in SIZES {
        let input = guest.input(size);
        let mut times: Vec<Vec<Duration>> = vec![Vec::new(); engines.len()];
        for round in 0..rounds + rounds / 10 {
            for ((_, engine, module), times) in engines.iter().zip(&mut times) {
                let time = step(engine, module, &guest.name, &input);
                // The first tenth warms up.
                if round >= rounds / 10 {
                    times.push(time);
                }
            }
        }
        for ((mebibytes, ..), mut times) in engines.iter().zip(times) {
            times.sort();
            let held = held(&cache, *mebibytes, size, &arguments);
            let (median, fastest) = (times[times.len() / 2], times[0]);
            println!(
                "  {label:>6}, {mebibytes:>2} MiB kept of each slot {median:>10.1?} {fastest:>10.1?} {held:>9.1} MiB"
            );
        }
    }
    drop(std::fs::remove_dir_all(&cache));
}

/// The first argument of a process that only tells what it holds.
const HELD: &str = "--held";

/// What is run.
struct Guest {
    path: Option<String>,
    name: String,
}

impl Guest {
    fn of(arguments: &[String]) -> Guest {
        let name = arguments.get(1).cloned().unwrap_or_else(|| "guest".to_owned());
        Guest { path: arguments.first().cloned(), name }
    }

    fn function(&self) -> FunctionModule {
        let code = match &self.path {
            Some(path) => ModuleCode::File(path.into()),
            None => ModuleCode::Wasm(wat::parse_str(ECHO).expect("the echo is valid").into()),
        };
        FunctionModule { name: self.name.clone(), code }
    }

    fn input(&self, size: usize) -> Vec<u8> {
        if self.path.is_some() { deployments(size) } else { vec![7; size] }
    }
}

fn engine(cache: &Path, mebibytes: usize, guest: &Guest) -> (Engine, Module) {
    let Allocation::Pooling { slots, .. } = Allocation::pooling() else { unreachable!("`pooling` is a pool") };
    let allocation = Allocation::Pooling { slots, keep_resident: mebibytes << 20 };
    let config = EngineConfig { allocation, cache_dir: Some(cache.into()), ..EngineConfig::default() };
    let engine = Engine::new(config).expect("an engine");
    let module = engine.load(&guest.function()).expect("the guest loads");
    (engine, module)
}

/// What a process of its own holds, in mebibytes, after the steps of [`idle`].
fn held(cache: &Path, mebibytes: usize, size: usize, guest: &[String]) -> f64 {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .arg(HELD)
        .arg(cache)
        .args([mebibytes.to_string(), size.to_string()])
        .args(guest)
        .output()
        .expect("this program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse::<f64>().unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr))) / 1024.0
}

/// Two workers run steps at the same time and are done: prints the kibibytes that the process still holds.
fn idle(cache: &Path, mebibytes: usize, size: usize, guest: &Guest) {
    let (engine, module) = engine(cache, mebibytes, guest);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let input = guest.input(size);
                for _ in 0..5 {
                    step(&engine, &module, &guest.name, &input);
                }
            });
        }
    });
    let status = std::fs::read_to_string("/proc/self/status").expect("the system tells about processes");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line for memory");
    println!("{}", line.trim().trim_end_matches(" kB"));
}

fn step(engine: &Engine, module: &Module, name: &str, input: &[u8]) -> Duration {
    let call = Invocation { name: name.into(), stdin: input.into(), ..Invocation::default() };
    let limits = Limits { fuel: u64::MAX, ..Limits::default() };
    let started = Instant::now();
    let output = Sandbox::new(engine, limits, CancelToken::new()).run(module, call).expect("a run");
    let time = started.elapsed();
    assert_eq!(output.exit_code, 0, "{}", String::from_utf8_lossy(&output.stderr));
    time
}

/// A `ResourceList` of about this many bytes.
fn deployments(size: usize) -> Vec<u8> {
    let mut list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n".to_owned();
    let mut number = 0;
    while list.len() < size {
        number += 1;
        _ = write!(
            list,
            "- apiVersion: apps/v1\n  kind: Deployment\n  metadata:\n    name: service-{number}\n    namespace: shop\n    \
             labels:\n      app: service-{number}\n      tier: backend\n    annotations:\n      \
             internal.config.kubernetes.io/path: 'service-{number}.yaml'\n      \
             internal.config.kubernetes.io/index: '0'\n  spec:\n    replicas: 3\n    selector:\n      matchLabels:\n        \
             app: service-{number}\n    template:\n      metadata:\n        labels:\n          app: service-{number}\n      \
             spec:\n        containers:\n        - name: main\n          image: registry.example.com/shop/service:{number}\n          \
             ports:\n          - containerPort: 8080\n          env:\n          - name: LEVEL\n            value: \"info\"\n"
        );
    }
    list.into_bytes()
}

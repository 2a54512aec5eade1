//! A hundred thousand cancels at moments of chance, none of them lost.
//!
//! The engine has no clock here, and the functions no limits: what ends them is the cancel alone, so that a lost one
//! hangs its trial, which the watchdog tells.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::package::{PackageFiles, PackageLimits};
use crate::{
    CallOptions, CancelToken, Engine, Event, FunctionError, FunctionModule, FunctionSource, Invocation, Limits, Module,
    ModuleCode, RenderError, RenderOptions, Renderer, RunFailure, Sandbox, Sources,
};

const TRIALS: u64 = 100_000;

/// No trial takes as long, however busy the machine.
const LOST: Duration = Duration::from_mins(1);

const SPIN: &str = r#"(module (func (export "_start") (loop $again (br $again))))"#;

/// Calls the host for ever.
const CALLS: &str = r#"(module
    (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
    (memory (export "memory") 1)
    (func (export "_start") (loop $again (br_if $again (i32.eqz (call $yield))) (br $again))))"#;

/// Computes for ever before it has begun.
const START: &str = r#"(module (func $begin (loop $again (br $again))) (start $begin) (func (export "_start")))"#;

const ECHO: &str = r#"(module
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

/// Numbers of chance that are the same in every run (xorshift64*).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}

/// What another thread is asked to do: to wait so many turns and cancel, once or twice.
struct Order {
    token: CancelToken,
    turns: u64,
    twice: bool,
}

/// Functions by the last part of their names.
struct Functions(BTreeMap<&'static str, Arc<[u8]>>);

impl FunctionSource for Functions {
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        let name = image.trim_start_matches("probe.local/").trim_end_matches(":v1");
        let function =
            self.0.get(name).map(|wasm| FunctionModule { name: name.into(), code: ModuleCode::Wasm(Arc::clone(wasm)) });
        Ok(function)
    }
}

/// What all trials share.
struct Trials {
    engine: Engine,
    endless: [Module; 4],
    echo: Module,
    renderer: Renderer,
    /// Packages that come to no end, with an answer to read before it: small, and of some thousand lines.
    packages: [PackageFiles; 2],
    orders: mpsc::Sender<Order>,
}

fn wasm(text: &str) -> Arc<[u8]> {
    wat::parse_str(text).expect("the guest is valid").into()
}

/// The same program as a component.
fn component(text: &str) -> Arc<[u8]> {
    use wasi_preview1_component_adapter_provider as adapter;
    let name = adapter::WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME;
    wit_component::ComponentEncoder::default()
        .module(&wasm(text))
        .and_then(|encoder| encoder.adapter(name, adapter::WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER))
        .and_then(|mut encoder| encoder.encode())
        .expect("the component is valid")
        .into()
}

/// A package with these functions and a resource of so many lines.
fn package(functions: &[&str], lines: usize) -> PackageFiles {
    let mut kptfile =
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n".to_owned();
    for function in functions {
        _ = writeln!(kptfile, "  - image: probe.local/{function}:v1");
    }
    let mut resource = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n".to_owned();
    for line in 0..lines {
        _ = writeln!(resource, "  key-{line}: a value");
    }
    let map = BTreeMap::from([("Kptfile", kptfile.into_bytes()), ("a.yaml", resource.into_bytes())]);
    PackageFiles::from_map("/w/app", map, &PackageLimits::default()).expect("a package")
}

fn call(stdin: &[u8]) -> Invocation {
    Invocation { name: "guest".into(), stdin: stdin.into(), ..Invocation::default() }
}

impl Trials {
    fn new() -> Trials {
        let engine = Engine::without_clock();
        let load_bytes = |wasm: Arc<[u8]>| {
            let function = FunctionModule { name: "guest".into(), code: ModuleCode::Wasm(wasm) };
            engine.load(&function).expect("the guest loads")
        };
        let load = |text: &str| load_bytes(wasm(text));
        // Adds a byte, so that its answer has to be read.
        let changing = ECHO.replace(
            "(br $more)))",
            "(br $more)) (else (i32.store8 (i32.const 1024) (i32.const 10)) (i32.store (i32.const 4) (i32.const 1))
                (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))))",
        );
        let functions = BTreeMap::from([("spin", wasm(SPIN)), ("echo", wasm(ECHO)), ("changing", wasm(&changing))]);
        let renderer = Renderer::new(engine.clone(), Sources::new(vec![Arc::new(Functions(functions))]));
        let (orders, received) = mpsc::channel::<Order>();
        std::thread::spawn(move || {
            for Order { token, turns, twice } in received {
                for _ in 0..turns {
                    std::hint::spin_loop();
                }
                token.cancel();
                if twice {
                    token.cancel();
                }
            }
        });
        Trials {
            endless: [load(SPIN), load(CALLS), load(START), load_bytes(component(CALLS))],
            echo: load(ECHO),
            renderer,
            packages: [
                package(&["echo", "changing", "spin"], 3),
                package(&["changing", "changing", "echo", "spin"], 2_000),
            ],
            engine,
            orders,
        }
    }

    fn order(&self, token: &CancelToken, turns: u64, chance: &mut Chance) {
        let order = Order { token: token.clone(), turns, twice: chance.below(4) == 0 };
        self.orders.send(order).expect("the other thread waits for orders");
    }

    /// One trial; which kind is up to chance.
    fn run(&self, number: u64) {
        let chance = &mut Chance(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let token = CancelToken::new();
        match chance.below(100) {
            0..60 => self.while_it_runs(&token, chance),
            60..70 => self.before(&token, chance),
            70..80 => self.between_steps(&token, chance),
            80..84 => self.after_the_end(&token),
            84..87 => self.while_it_compiles(&token, chance, number),
            87..99 => self.within_a_render(&token, chance, &self.packages[0], 5_000),
            _ => self.within_a_render(&token, chance, &self.packages[1], 50_000),
        }
    }

    fn endless(&self, chance: &mut Chance) -> &Module {
        &self.endless[chance.below(4) as usize]
    }

    /// Before the deadline is armed, at that moment, in the start section, or later.
    fn while_it_runs(&self, token: &CancelToken, chance: &mut Chance) {
        let turns = chance.below(300);
        self.order(token, turns, chance);
        for _ in 0..chance.below(300) {
            std::hint::spin_loop();
        }
        let module = self.endless(chance);
        let mut sandbox = Sandbox::new(&self.engine, Limits::unlimited(), token.clone());
        let error = sandbox.run(module, call(b"")).unwrap_err();
        assert_eq!(error.failure, RunFailure::Cancelled);
    }

    /// A render that was cancelled runs nothing, whether its sandbox is there already or not.
    fn before(&self, token: &CancelToken, chance: &mut Chance) {
        let mut early = Sandbox::new(&self.engine, Limits::unlimited(), token.clone());
        token.cancel();
        let mut late = Sandbox::new(&self.engine, Limits::unlimited(), token.clone());
        for sandbox in [&mut early, &mut late] {
            let error = sandbox.run(self.endless(chance), call(b"")).unwrap_err();
            assert_eq!((error.failure, error.fuel_used), (RunFailure::Cancelled, 0));
        }
    }

    fn between_steps(&self, token: &CancelToken, chance: &mut Chance) {
        let turns = chance.below(1_000);
        self.order(token, turns, chance);
        let mut sandbox = Sandbox::new(&self.engine, Limits::unlimited(), token.clone());
        let mut steps = 0;
        let failure = loop {
            // The last one would run for ever.
            let module = if steps < 5 { &self.echo } else { self.endless(chance) };
            match sandbox.run(module, call(b"some input")) {
                Ok(output) => assert_eq!(output.stdout, b"some input"),
                Err(error) => break error.failure,
            }
            steps += 1;
        };
        assert_eq!(failure, RunFailure::Cancelled);
    }

    fn after_the_end(&self, token: &CancelToken) {
        let mut sandbox = Sandbox::new(&self.engine, Limits::unlimited(), token.clone());
        assert_eq!(sandbox.run(&self.echo, call(b"whole")).expect("nobody cancelled").stdout, b"whole");
        token.cancel();
        token.cancel();
        assert_eq!(sandbox.run(&self.echo, call(b"late")).unwrap_err().failure, RunFailure::Cancelled);
    }

    fn while_it_compiles(&self, token: &CancelToken, chance: &mut Chance, number: u64) {
        let turns = chance.below(20_000);
        self.order(token, turns, chance);
        let text = format!(
            r#"(module (func (export "_start") (local i64)
                 (loop $again (local.set 0 (i64.const {number})) (br $again))))"#
        );
        let function = FunctionModule { name: "guest".into(), code: ModuleCode::Wasm(wasm(&text)) };
        let mut sandbox = Sandbox::new(&self.engine, Limits::unlimited(), token.clone());
        let module = self.engine.load(&function).expect("the guest loads");
        assert_eq!(sandbox.run(&module, call(b"")).unwrap_err().failure, RunFailure::Cancelled);
    }

    /// While functions are found, while they run, while answers are read and checked.
    fn within_a_render(&self, token: &CancelToken, chance: &mut Chance, files: &PackageFiles, turns: u64) {
        let turns = chance.below(turns);
        self.order(token, turns, chance);
        let call = CallOptions { limits: Limits::unlimited(), ..CallOptions::default() };
        let options = RenderOptions { call, ..RenderOptions::default() };
        let mut late = 0;
        let mut observer = |event: &Event<'_>| {
            late += u32::from(matches!(event, Event::StepStarted(_)) && token.is_cancelled());
        };
        let result = self.renderer.render(files, &options, token, &mut observer);
        assert!(matches!(result, Err(RenderError::Cancelled)), "{result:?}");
        // The cancel may come between the look at the flag and the event; it does not come twice.
        assert!(late <= 1, "{late} steps began after the cancel");
    }
}

#[test]
fn no_cancel_is_lost() {
    let done = Arc::new(AtomicU64::new(0));
    let (end, ended) = mpsc::channel::<()>();
    let counter = Arc::clone(&done);
    let worker = std::thread::spawn(move || {
        let trials = Trials::new();
        for number in 0..TRIALS {
            trials.run(number);
            counter.store(number + 1, Ordering::Release);
        }
        drop(end);
    });
    // Never sent to: it ends with the worker, one way or the other.
    let mut seen = 0;
    while ended.recv_timeout(LOST) == Err(mpsc::RecvTimeoutError::Timeout) {
        let now = done.load(Ordering::Acquire);
        assert!(now > seen, "trial {now} does not end: its cancel is lost");
        seen = now;
    }
    if let Err(panic) = worker.join() {
        std::panic::resume_unwind(panic);
    }
    assert_eq!(done.load(Ordering::Acquire), TRIALS);
}

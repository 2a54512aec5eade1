//! Components: the same programs as core modules, with the same results.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use portico_runtime::{
    Allocation, CancelToken, Deadline, Engine, EngineConfig, GrantLimits, GrantedDirectory, Grants, Invocation, Limits,
    ModuleError, RunError, RunFailure, RunOutput, Sandbox, TrapKind, precompile,
};

use crate::guests::{
    ECHO, GREET_AND_SPIN, SPIN, assert_works, bare, component, engine, function, importing, load, stdin, wasm,
};
use crate::wasi::CALLS;

mod loading;

const HOUR: Duration = Duration::from_hours(1);

fn pooled(slots: u32) -> Engine {
    let allocation = Allocation::Pooling { slots, keep_resident: 1 << 20 };
    Engine::new(EngineConfig { allocation, ..EngineConfig::default() }).expect("a pool")
}

/// Runs a program once, as a core module and as a component made of it.
fn both(engine: &Engine, wasm: &[u8], limits: &Limits, call: &Invocation) -> [Result<RunOutput, RunError>; 2] {
    [wasm.to_vec(), component(wasm)].map(|code| {
        let module = engine.load(&function(code)).unwrap_or_else(|error| panic!("{error}"));
        Sandbox::new(engine, limits.clone(), CancelToken::new()).run(&module, call.clone())
    })
}

/// So much fuel and no more.
fn budget(fuel: u64) -> Limits {
    Limits { fuel, fuel_per_step: 0, fuel_per_input_byte: 0, ..Limits::default() }
}

/// How both end that do not end by themselves.
fn failures(engine: &Engine, wasm: &[u8], limits: &Limits) -> RunFailure {
    let [core, component] = both(engine, wasm, limits, &stdin("")).map(|result| result.unwrap_err().failure);
    assert_eq!(core, component);
    component
}

/// What one that needs nothing but itself leaves behind.
fn run_one(engine: &Engine, wasm: Vec<u8>, limits: Limits) -> Result<RunOutput, RunError> {
    let module = engine.load(&function(wasm)).unwrap_or_else(|error| panic!("{error}"));
    Sandbox::new(engine, limits, CancelToken::new()).run(&module, stdin("some input"))
}

#[test]
fn input_goes_in_and_output_comes_out() {
    for engine in [engine(), pooled(8)] {
        for length in [0, 1, 4096, 300_001] {
            let input: Vec<u8> = (0..length).map(|n: u32| n.to_le_bytes()[0]).collect();
            let [core, component] =
                both(&engine, &wasm(ECHO), &Limits::default(), &stdin(input.clone())).map(Result::unwrap);
            assert!(component.stdout == input);
            assert_eq!((component.exit_code, &component.stderr), (core.exit_code, &core.stderr));
            assert!(component.fuel_used > core.fuel_used, "{} {}", component.fuel_used, core.fuel_used);
            // Its adapter has a page or two of its own.
            assert!((core.peak_memory..core.peak_memory + (1 << 18)).contains(&component.peak_memory));
        }
        assert_works(&engine);
    }
}

#[test]
fn a_component_uses_the_same_fuel_each_time_and_everywhere() {
    let input = vec![7; 100_000];
    let used = [engine(), engine(), pooled(8), pooled(16)].map(|engine| {
        let module = engine.load(&function(component(&wasm(ECHO)))).unwrap();
        let mut sandbox = Sandbox::new(&engine, Limits::default(), CancelToken::new());
        let [first, second] = [(); 2].map(|()| sandbox.run(&module, stdin(input.clone())).unwrap().fuel_used);
        assert_eq!(first, second);
        first
    });
    assert_eq!(used, [used[0]; 4]);
}

#[test]
fn arguments_and_environment_arrive_as_granted() {
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
            (call $write (i32.const 1) (i32.const 1024) (i32.load (i32.const 104))))
        "#,
    );
    let mut grants = Grants::default();
    grants.set_env("HOME", "/").unwrap();
    grants.set_env("EMPTY", "").unwrap();
    let call = Invocation {
        name: "set-labels".into(),
        args: vec!["--fast".into(), "\u{e4}".into()],
        grants,
        ..Invocation::default()
    };
    let [core, component] = both(&engine(), &wasm, &Limits::default(), &call).map(|result| result.unwrap().stdout);
    assert_eq!(core.escape_ascii().to_string(), component.escape_ascii().to_string());
    assert!(component.starts_with(b"set-labels\0--fast\0"));
}

#[test]
fn a_granted_directory_is_refused_rather_than_left_out() {
    let engine = engine();
    let dir = tempfile::tempdir().unwrap();
    let (directory, _) = GrantedDirectory::read(dir.path(), "/data", &GrantLimits::default()).unwrap();
    let mut grants = Grants::default();
    grants.add_directory(directory).unwrap();
    let call = Invocation { grants, ..stdin("in") };
    let [core, component] = both(&engine, &wasm(ECHO), &Limits::default(), &call);
    assert_eq!(core.unwrap().stdout, b"in");
    let error = component.unwrap_err();
    assert_eq!((&error.failure, error.fuel_used), (&RunFailure::Directories, 0));
    assert!(error.to_string().contains("`wasm32-wasip1`"), "{error}");
}

#[test]
fn clock_and_random_numbers_are_those_of_the_other_world() {
    let wasm = importing(
        r#"
          (import "wasi_snapshot_preview1" "clock_time_get" (func $time (param i32 i64 i32) (result i32)))
          (import "wasi_snapshot_preview1" "clock_res_get" (func $resolution (param i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
        "#,
        r#"
          (func $show
            (drop (call $time (i32.const 0) (i64.const 0) (i32.const 64)))
            (drop (call $time (i32.const 1) (i64.const 0) (i32.const 72)))
            (drop (call $resolution (i32.const 1) (i32.const 80)))
            (call $write (i32.const 1) (i32.const 64) (i32.const 24)))
          (func (export "_start")
            (call $show)
            ;; 5 seconds, or when the monotonic clock has moved 3: the first to come.
            (i64.store (i32.const 1024) (i64.const 11))
            (i32.store (i32.const 1040) (i32.const 1))
            (i64.store (i32.const 1048) (i64.const 5000000000))
            (i64.store (i32.const 1072) (i64.const 22))
            (i32.store (i32.const 1088) (i32.const 1))
            (i64.store (i32.const 1096) (i64.const 4000000000))
            (i32.store16 (i32.const 1112) (i32.const 1))
            (drop (call $poll (i32.const 1024) (i32.const 2048) (i32.const 2) (i32.const 8)))
            (call $write (i32.const 1) (i32.const 2048) (i32.const 8))
            (call $show)
            (drop (call $random (i32.const 64) (i32.const 100)))
            (call $write (i32.const 1) (i32.const 64) (i32.const 100)))
        "#,
    );
    let [core, component] = both(&engine(), &wasm, &Limits::default(), &stdin("")).map(|result| result.unwrap().stdout);
    assert_eq!(core.escape_ascii().to_string(), component.escape_ascii().to_string());
    let word = |at: usize| u64::from_le_bytes(component[at..at + 8].try_into().unwrap());
    assert_eq!((word(0), word(8)), (946_684_800_000_000_000, 1_000_000_000));
    // Which of the two, and how far both clocks moved.
    assert_eq!((word(24), word(32) - word(0), word(40) - word(8)), (22, 3_000_000_000, 3_000_000_000));
}

#[test]
fn an_exit_code_becomes_success_or_failure() {
    let engine = engine();
    for (code, expected) in [(0, 0), (1, 1), (3, 1), (126, 1), (255, 1), (-1, 1)] {
        let body = format!(r#"(func (export "_start") (call $exit (i32.const {code})))"#);
        let [core, component] = both(&engine, &wasm(&body), &Limits::default(), &stdin("")).map(Result::unwrap);
        // WASI 0.2 gives the adapter no more than that to say.
        assert_eq!((core.exit_code, component.exit_code), (code, expected));
    }
}

#[test]
fn an_exit_with_a_code_is_that_code() {
    let engine = engine();
    for code in [0, 1, 3, 126, 255] {
        let text = program(
            r#"(import "wasi:cli/exit@0.2.12" (instance $exit (export "exit-with-code" (func (param "status-code" u8)))))"#,
            r#"(core func $call (canon lower (func $exit "exit-with-code")))"#,
            "(param i32)",
            &format!("(call $call (i32.const {code}))"),
        );
        assert_eq!(run_one(&engine, bare(&text), Limits::default()).unwrap().exit_code, code);
    }
}

#[test]
fn a_run_that_returns_a_failure_exits_with_one() {
    let text = r#"(component
        (core module $m (func (export "run") (result i32) (i32.const 1)))
        (core instance $i (instantiate $m))
        (func $run (result (result)) (canon lift (core func $i "run")))
        (instance $r (export "run" (func $run)))
        (export "wasi:cli/run@0.2.0" (instance $r)))"#;
    assert_eq!(run_one(&engine(), bare(text), Limits::default()).unwrap().exit_code, 1);
}

#[test]
fn every_run_begins_afresh() {
    let engine = engine();
    let body = r#"
      (data (i32.const 64) "0")
      (func (export "_start")
        (i32.store8 (i32.const 64) (i32.add (i32.load8_u (i32.const 64)) (i32.const 1)))
        (call $write (i32.const 1) (i32.const 64) (i32.const 1)))
    "#;
    let module = engine.load(&function(component(&wasm(body)))).unwrap();
    let mut sandbox = Sandbox::new(&engine, Limits::default(), CancelToken::new());
    for _ in 0..3 {
        assert_eq!(sandbox.run(&module, stdin("")).unwrap().stdout, b"1");
    }
    // A Store each.
    assert_eq!(sandbox.stores_created(), 3);
}

#[test]
fn core_modules_and_components_share_one_render() {
    for engine in [engine(), pooled(4)] {
        let (core, component) = (load(&engine, ECHO), engine.load(&function(component(&wasm(ECHO)))).unwrap());
        let limits = Limits::default();
        let mut sandbox = Sandbox::new(&engine, limits.clone(), CancelToken::new());
        let mut used = 0;
        for round in 0..6 {
            let output = sandbox.run(if round % 2 == 0 { &core } else { &component }, stdin("on")).unwrap();
            assert_eq!(output.stdout, b"on");
            used += output.fuel_used;
        }
        assert_eq!(
            sandbox.fuel_left(),
            limits.fuel + 6 * (limits.fuel_per_step + 2 * limits.fuel_per_input_byte) - used
        );
    }
}

#[test]
fn a_crash_names_its_kind_and_keeps_stderr() {
    let engine = engine();
    for (code, expected) in [
        ("unreachable", TrapKind::Unreachable),
        ("(drop (i32.div_u (i32.const 1) (i32.const 0)))", TrapKind::DivisionByZero),
        ("(drop (i32.load (i32.const -1)))", TrapKind::MemoryOutOfBounds),
        ("(call_indirect (i32.const 0))", TrapKind::BadIndirectCall),
        ("(call $deeper)", TrapKind::StackOverflow),
    ] {
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
        let [core, component] = both(&engine, &wasm(&body), &Limits::default(), &stdin("")).map(Result::unwrap_err);
        assert_eq!((&core.stderr, core.stderr_dropped), (&component.stderr, component.stderr_dropped));
        assert_eq!(component.stderr, b"before the crash", "{code}");
        let [RunFailure::Trap { kind: core, .. }, RunFailure::Trap { kind, backtrace }] =
            [&core.failure, &component.failure]
        else {
            panic!("{code}: {component}")
        };
        assert_eq!((*core, *kind), (expected, expected), "{code}");
        let innermost = if expected == TrapKind::StackOverflow { "deeper" } else { "inner" };
        assert_eq!(backtrace.first().map(String::as_str), Some(innermost), "{code}");
    }
    assert_works(&engine);
}

#[test]
fn a_component_ends_at_the_same_bounds_with_the_same_words() {
    for engine in [engine(), pooled(8)] {
        let defaults = Limits::default;
        let limit = Duration::from_millis(20);
        let endless = budget(u64::MAX);
        let begin = r#"(func $begin (loop $again (br $again))) (start $begin) (func (export "_start"))"#;
        for body in [SPIN, begin] {
            let spin = wasm(body);
            let out_of_fuel = failures(&engine, &spin, &budget(1_000_000));
            assert_eq!(out_of_fuel, RunFailure::OutOfFuel { budget: 1_000_000 });
            let step = failures(&engine, &spin, &Limits { step_time: limit, ..endless.clone() });
            assert_eq!(step, RunFailure::Deadline { which: Deadline::Step, limit });
            let render = failures(&engine, &spin, &Limits { render_time: limit, ..endless.clone() });
            assert_eq!(render, RunFailure::Deadline { which: Deadline::Render, limit });
        }

        let grower = r#"
          (func (export "_start")
            (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
            unreachable)
        "#;
        let memory = failures(&engine, &wasm(grower), &Limits { memory: 1 << 20, ..defaults() });
        assert_eq!(memory, RunFailure::Memory { limit: 1 << 20 });

        let tables = r#"
          (table $t 1 funcref)
          (func (export "_start")
            (loop $more (br_if $more (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1))))
            unreachable)
        "#;
        let table = failures(&engine, &wasm(tables), &Limits { table_elements: 50_000, ..defaults() });
        assert_eq!(table, RunFailure::Table { limit: 50_000 });

        for at_once in [1, 4096, 5_000_000] {
            let stdout = failures(&engine, &wasm(&flood(1, at_once)), &Limits { stdout: 1 << 20, ..defaults() });
            assert_eq!(stdout, RunFailure::StdoutTooLarge { limit: 1 << 20 });
        }
        assert_works(&engine);
    }
}

/// Writes this many bytes at once, for ever.
fn flood(fd: u32, at_once: u32) -> String {
    format!(
        r#"
          (func (export "_start")
            (drop (memory.grow (i32.const 100)))
            (loop $more
              (call $write (i32.const {fd}) (i32.const 16) (i32.const {at_once}))
              (br $more)))
        "#
    )
}

#[test]
fn a_first_memory_beyond_the_limit_is_refused() {
    let engine = engine();
    let wasm = importing("", r#"(func (export "_start"))"#);
    let limits = Limits { memory: 65536, ..Limits::default() };
    let error = run_one(&engine, component(&wasm), limits).unwrap_err();
    assert_eq!(error.failure, RunFailure::Memory { limit: 65536 });
    assert_works(&engine);
}

#[test]
fn stdout_may_reach_its_bound_exactly() {
    let engine = engine();
    let limits = |stdout| Limits { stdout, ..Limits::default() };
    let [_, full] = both(&engine, &wasm(ECHO), &limits(1000), &stdin([5; 1000])).map(Result::unwrap);
    assert_eq!(full.stdout.len(), 1000);
    let [core, component] =
        both(&engine, &wasm(ECHO), &limits(999), &stdin([5; 1000])).map(|result| result.unwrap_err().failure);
    assert_eq!([core, component], [(); 2].map(|()| RunFailure::StdoutTooLarge { limit: 999 }));
}

#[test]
fn a_flood_on_stderr_is_dropped_and_counted() {
    let engine = engine();
    for at_once in [1, 5_000_000] {
        let limits = Limits { stderr: 100, ..budget(20_000_000) };
        let error = run_one(&engine, component(&wasm(&flood(2, at_once))), limits).unwrap_err();
        assert_eq!(error.failure, RunFailure::OutOfFuel { budget: 20_000_000 });
        assert_eq!(error.stderr.len(), 100);
        assert!(error.stderr_dropped > 10_000, "{}", error.stderr_dropped);
    }
}

/// A component that calls one function of its host as `$call` in its `run`, for ever if told so.
fn program(imports: &str, lowered: &str, ty: &str, body: &str) -> String {
    format!(
        r#"(component
          {imports}
          (core module $m
            (import "host" "call" (func $call {ty}))
            (func (export "run") (result i32) {body} (i32.const 0)))
          {lowered}
          (core instance $i (instantiate $m (with "host" (instance (export "call" (func $call))))))
          (func $run (result (result)) (canon lift (core func $i "run")))
          (instance $r (export "run" (func $run)))
          (export "wasi:cli/run@0.2.0" (instance $r)))"#
    )
}

/// Sleeps so many nanoseconds with the calls of WASI 0.2, then does this. The clock it leaves in `$now`.
fn sleeper(nanoseconds: u64, then: &str) -> Vec<u8> {
    bare(&format!(
        r#"(component
          (import "wasi:io/poll@0.2.0" (instance $poll
            (export "pollable" (type $p (sub resource)))
            (export "[method]pollable.block" (func (param "self" (borrow $p))))
            (export "[method]pollable.ready" (func (param "self" (borrow $p)) (result bool)))))
          (alias export $poll "pollable" (type $pollable))
          (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
            (alias outer 1 $pollable (type $outer))
            (export "pollable" (type $p (eq $outer)))
            (export "now" (func (result u64)))
            (export "subscribe-duration" (func (param "when" u64) (result (own $p))))))
          (import "wasi:cli/exit@0.2.12" (instance $exit (export "exit-with-code" (func (param "status-code" u8)))))
          (core module $m
            (import "host" "subscribe" (func $subscribe (param i64) (result i32)))
            (import "host" "now" (func $clock (result i64)))
            (import "host" "block" (func $block (param i32)))
            (import "host" "ready" (func $ready (param i32) (result i32)))
            (import "host" "drop" (func $drop (param i32)))
            (import "host" "exit" (func $exit (param i32)))
            (func (export "run") (result i32)
              (local $alarm i32) (local $before i64) (local $slept i64)
              (local.set $before (call $clock))
              (local.set $alarm (call $subscribe (i64.const {nanoseconds})))
              (if (call $ready (local.get $alarm)) (then unreachable))
              (call $block (local.get $alarm))
              (if (i32.eqz (call $ready (local.get $alarm))) (then unreachable))
              (local.set $slept (i64.sub (call $clock) (local.get $before)))
              {then}
              (i32.const 0)))
          (core func $subscribe (canon lower (func $clock "subscribe-duration")))
          (core func $now (canon lower (func $clock "now")))
          (core func $block (canon lower (func $poll "[method]pollable.block")))
          (core func $ready (canon lower (func $poll "[method]pollable.ready")))
          (core func $drop (canon resource.drop $pollable))
          (core func $exit (canon lower (func $exit "exit-with-code")))
          (core instance $i (instantiate $m (with "host" (instance
            (export "drop" (func $drop)) (export "subscribe" (func $subscribe)) (export "now" (func $now)) (export "block" (func $block))
            (export "ready" (func $ready)) (export "exit" (func $exit))))))
          (func $run (result (result)) (canon lift (core func $i "run")))
          (instance $r (export "run" (func $run)))
          (export "wasi:cli/run@0.2.0" (instance $r)))"#
    ))
}

#[test]
fn a_sleep_takes_no_time_but_counts_as_if_it_did() {
    let engine = engine();
    let hour = 3_600_000_000_000;
    let wasm =
        sleeper(hour, &format!("(call $exit (i32.add (i64.eq (local.get $slept) (i64.const {hour})) (i32.const 4)))"));
    let module = engine.load(&function(wasm)).unwrap();
    let new = |limits| Sandbox::new(&engine, limits, CancelToken::new());
    let off = Limits { step_time: Duration::MAX, render_time: Duration::MAX, ..Limits::default() };
    assert_eq!(new(off.clone()).run(&module, stdin("")).unwrap().exit_code, 5);

    let error = new(Limits::default()).run(&module, stdin("")).unwrap_err();
    let limit = Limits::default().step_time;
    assert_eq!(error.failure, RunFailure::Deadline { which: Deadline::Step, limit });

    // Each step has its own clock; the render adds them up.
    let mut sandbox = new(Limits { step_time: HOUR * 2, render_time: HOUR * 5 / 2, ..off });
    sandbox.run(&module, stdin("")).unwrap();
    sandbox.run(&module, stdin("")).unwrap();
    let error = sandbox.run(&module, stdin("")).unwrap_err();
    assert_eq!(error.failure, RunFailure::Deadline { which: Deadline::Render, limit: HOUR * 5 / 2 });
    assert_works(&engine);
}

#[test]
fn a_sleep_for_ever_ends_even_without_a_deadline() {
    let off = Limits { step_time: Duration::MAX, render_time: Duration::MAX, ..Limits::default() };
    assert_eq!(run_one(&engine(), sleeper(u64::MAX, ""), off).unwrap().exit_code, 0);
}

/// Nothing but a cancel ends a function under these.
fn endless() -> Limits {
    Limits { fuel: u64::MAX, step_time: Duration::MAX, render_time: Duration::MAX, ..Limits::default() }
}

#[test]
fn a_cancelled_render_starts_nothing() {
    let engine = engine();
    let spin = engine.load(&function(component(&wasm(GREET_AND_SPIN)))).unwrap();
    let token = CancelToken::new();
    token.cancel();
    let error = Sandbox::new(&engine, endless(), token).run(&spin, stdin("")).unwrap_err();
    assert_eq!(error.failure, RunFailure::Cancelled);
    assert_eq!((error.fuel_used, error.stderr.len()), (0, 0));
}

#[test]
fn a_cancel_from_another_thread_stops_whatever_a_component_does() {
    let sleeps = sleeper(
        1,
        "(loop $again
           (local.set $alarm (call $subscribe (i64.const 1000)))
           (call $block (local.get $alarm))
           (call $drop (local.get $alarm))
           (br $again))",
    );
    for engine in [engine(), pooled(8)] {
        // Computing, and sleeping again and again.
        for code in [component(&wasm(GREET_AND_SPIN)), sleeps.clone()] {
            let spin = engine.load(&function(code)).unwrap();
            // At no particular moment: before the start, while it is armed, while it computes.
            for round in 0..100_u32 {
                let token = CancelToken::new();
                let started = AtomicBool::new(false);
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        while !started.load(Ordering::Acquire) {
                            std::hint::spin_loop();
                        }
                        for _ in 0..round * 30 {
                            std::hint::spin_loop();
                        }
                        token.cancel();
                    });
                    let mut sandbox = Sandbox::new(&engine, endless(), token.clone());
                    started.store(true, Ordering::Release);
                    let error = sandbox.run(&spin, stdin("")).unwrap_err();
                    assert_eq!(error.failure, RunFailure::Cancelled);
                });
            }
        }
        assert_works(&engine);
    }
}

#[test]
fn calls_are_paid_for() {
    let import =
        r#"(import "wasi:random/random@0.2.0" (instance $random (export "get-random-u64" (func (result u64)))))"#;
    let lower = r#"(core func $call (canon lower (func $random "get-random-u64")))"#;
    let forever = "(loop $again (drop (call $call)) (br $again))";
    let text = program(import, lower, "(result i64)", forever);
    let error = run_one(&engine(), bare(&text), budget(10_000_000)).unwrap_err();
    assert_eq!(error.failure, RunFailure::OutOfFuel { budget: 10_000_000 });
    let once = program(import, lower, "(result i64)", "(drop (call $call))");
    assert!(run_one(&engine(), bare(&once), Limits::default()).unwrap().fuel_used >= 64);
}

#[test]
fn handles_are_bounded() {
    // Opens stdin again and again, and keeps it.
    let text = program(
        r#"
          (import "wasi:io/streams@0.2.0" (instance $streams (export "input-stream" (type (sub resource)))))
          (alias export $streams "input-stream" (type $stream))
          (import "wasi:cli/stdin@0.2.0" (instance $stdin
            (alias outer 1 $stream (type $outer))
            (export "input-stream" (type $s (eq $outer)))
            (export "get-stdin" (func (result (own $s))))))
        "#,
        r#"(core func $call (canon lower (func $stdin "get-stdin")))"#,
        "(result i32)",
        "(loop $again (drop (call $call)) (br $again))",
    );
    let engine = engine();
    let error = run_one(&engine, bare(&text), Limits::default()).unwrap_err();
    assert!(matches!(error.failure, RunFailure::BadCall(_)), "{error}");
    assert!(error.to_string().starts_with("the function called its host in a way that is not allowed: "), "{error}");

    // Makes resources of its own, without end.
    let own = r#"(component
        (type $r (resource (rep i32)))
        (core func $new (canon resource.new $r))
        (core module $m
          (import "host" "new" (func $new (param i32) (result i32)))
          (func (export "run") (result i32) (loop $again (drop (call $new (i32.const 1))) (br $again)) (i32.const 0)))
        (core instance $i (instantiate $m (with "host" (instance (export "new" (func $new))))))
        (func $run (result (result)) (canon lift (core func $i "run")))
        (instance $x (export "run" (func $run)))
        (export "wasi:cli/run@0.2.0" (instance $x)))"#;
    let error = run_one(&engine, bare(own), Limits::default()).unwrap_err();
    assert!(matches!(error.failure, RunFailure::BadCall(_)), "{error}");
    assert_works(&engine);
}

#[test]
fn what_one_call_makes_the_host_set_aside_is_bounded() {
    let text = |length: u64| {
        format!(
            r#"(component
              (import "wasi:random/random@0.2.0" (instance $random
                (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))
              (core module $memory (memory (export "memory") 100)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0)))
              (core instance $memory (instantiate $memory))
              (core func $bytes (canon lower (func $random "get-random-bytes")
                (memory $memory "memory") (realloc (func $memory "realloc"))))
              (core module $m
                (import "host" "bytes" (func $bytes (param i64 i32)))
                (func (export "run") (result i32) (call $bytes (i64.const {length}) (i32.const 0)) (i32.const 0)))
              (core instance $i (instantiate $m (with "host" (instance (export "bytes" (func $bytes))))))
              (func $run (result (result)) (canon lift (core func $i "run")))
              (instance $r (export "run" (func $run)))
              (export "wasi:cli/run@0.2.0" (instance $r)))"#
        )
    };
    let engine = engine();
    assert_eq!(run_one(&engine, bare(&text(1 << 20)), Limits::default()).unwrap().exit_code, 0);
    for length in [(1 << 20) + 1, u64::MAX] {
        let error = run_one(&engine, bare(&text(length)), Limits::default()).unwrap_err();
        let RunFailure::BadCall(words) = &error.failure else { panic!("{error}") };
        assert!(words.contains("more than the limit of 1048576"), "{words}");
    }
    assert_works(&engine);
}

#[test]
fn a_program_that_imports_all_of_preview_1_links_and_runs() {
    // The adapter then imports the methods of files and sockets, too.
    let imports: Vec<String> = CALLS
        .iter()
        // These are in the prelude.
        .filter(|(name, _)| !["fd_read", "fd_write"].contains(name))
        .map(|(name, parameters)| {
            let types: Vec<&str> = parameters.chars().map(|c| if c == 'l' { "i64" } else { "i32" }).collect();
            format!(r#"(import "wasi_snapshot_preview1" "{name}" (func (param {}) (result i32)))"#, types.join(" "))
        })
        .collect();
    let wasm = importing(&imports.concat(), ECHO);
    let [core, component] = both(&engine(), &wasm, &Limits::default(), &stdin("all")).map(Result::unwrap);
    assert_eq!((core.stdout, component.stdout), (b"all".to_vec(), b"all".to_vec()));
}

#[test]
fn there_are_no_files_and_no_sockets() {
    let engine = engine();
    let preview_1 = |import: &str, body: &str| {
        let wasm = importing(import, body);
        both(&engine, &wasm, &Limits::default(), &stdin("")).map(|result| result.unwrap().stdout)
    };
    // What a program asks at its start, and what it would ask next.
    let [core, component] = preview_1(
        r#"
          (import "wasi_snapshot_preview1" "fd_prestat_get" (func $prestat (param i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
        "#,
        r#"
          (func (export "_start")
            (i32.store (i32.const 64) (call $prestat (i32.const 3) (i32.const 128)))
            (i32.store (i32.const 68) (i32.ne (i32.const 0) (call $open
              (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 1) (i32.const 0)
              (i64.const 0) (i64.const 0) (i32.const 0) (i32.const 128))))
            (call $write (i32.const 1) (i32.const 64) (i32.const 8)))
        "#,
    );
    assert_eq!(core, component);
    assert_eq!(component, [8, 0, 0, 0, 1, 0, 0, 0]);

    let text = program(
        r#"
          (import "wasi:sockets/network@0.2.0" (instance $network
            (export "network" (type (sub resource)))
            (type $code (enum "unknown" "access-denied" "not-supported" "invalid-argument" "out-of-memory" "timeout"
              "concurrency-conflict" "not-in-progress" "would-block" "invalid-state" "new-socket-limit"
              "address-not-bindable" "address-in-use" "remote-unreachable" "connection-refused" "connection-reset"
              "connection-aborted" "datagram-too-large" "name-unresolvable" "temporary-resolver-failure"
              "permanent-resolver-failure"))
            (export "error-code" (type (eq $code)))
            (type $family (enum "ipv4" "ipv6"))
            (export "ip-address-family" (type (eq $family)))))
          (alias export $network "error-code" (type $code))
          (alias export $network "ip-address-family" (type $family))
          (import "wasi:sockets/tcp@0.2.0" (instance $tcp (export "tcp-socket" (type (sub resource)))))
          (alias export $tcp "tcp-socket" (type $socket))
          (import "wasi:sockets/tcp-create-socket@0.2.0" (instance $create
            (alias outer 1 $code (type $c)) (export "error-code" (type $code (eq $c)))
            (alias outer 1 $family (type $f)) (export "ip-address-family" (type $family (eq $f)))
            (alias outer 1 $socket (type $s)) (export "tcp-socket" (type $socket (eq $s)))
            (export "create-tcp-socket" (func (param "address-family" $family)
              (result (result (own $socket) (error $code)))))))
        "#,
        r#"
          (core module $memory (memory (export "memory") 1))
          (core instance $memory (instantiate $memory))
          (core func $call (canon lower (func $create "create-tcp-socket") (memory $memory "memory")))
        "#,
        "(param i32 i32)",
        "(call $call (i32.const 0) (i32.const 0))",
    );
    // The answer lies in a memory of its own; that it came is what counts, and that no socket is needed for it.
    assert_eq!(run_one(&engine, bare(&text), Limits::default()).unwrap().exit_code, 0);
}

//! Every bound ends what it is there for, with its own words, and nothing else.

use std::time::Duration;

use portico_runtime::{CancelToken, Deadline, Invocation, Limits, RunFailure, Sandbox, StepLimits};

use crate::guests::{ECHO, SPIN, assert_works, bare, engine, function, importing, load, run, stdin};

const HOUR: Duration = Duration::from_hours(1);

/// Limits under which only what a test sets can end a function.
fn off() -> Limits {
    Limits::unlimited()
}

/// Sleeps an hour, and says so.
const SLEEP: &str = r#"
  (data (i32.const 64) "slept")
  (func (export "_start")
    (i64.store (i32.const 1048) (i64.const 3600000000000))
    (i32.store (i32.const 1040) (i32.const 1))
    (drop (call $poll (i32.const 1024) (i32.const 2048) (i32.const 1) (i32.const 8)))
    (call $write (i32.const 1) (i32.const 64) (i32.const 5)))
"#;

const POLL: &str =
    r#"(import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))"#;

#[test]
fn an_endless_loop_runs_out_of_fuel() {
    let engine = engine();
    let error = run(&engine, SPIN, Limits { fuel: 1_000_000, ..off() }, b"").unwrap_err();
    assert_eq!(error.failure, RunFailure::OutOfFuel { budget: 1_000_000 });
    assert_eq!(error.fuel_used, 1_000_000);
    assert!(error.to_string().contains("fuel budget of 1000000 instructions"), "{error}");
    assert_works(&engine);
}

#[test]
fn the_budget_grows_with_the_input() {
    let limits = Limits { fuel: 1_000, fuel_per_input_byte: 10, ..off() };
    let engine = engine();
    let spin = load(&engine, SPIN);
    let error = Sandbox::new(&engine, limits, CancelToken::new()).run(&spin, stdin([0; 50])).unwrap_err();
    assert_eq!(error.failure, RunFailure::OutOfFuel { budget: 1_500 });
}

#[test]
fn the_budget_grows_with_the_steps() {
    let engine = engine();
    let spin = load(&engine, SPIN);
    let echo = load(&engine, ECHO);
    let limits = Limits { fuel: 1_000, fuel_per_step: 500_000, ..off() };
    let mut sandbox = Sandbox::new(&engine, limits, CancelToken::new());
    let used = sandbox.run(&echo, stdin("a little")).unwrap().fuel_used;
    assert_eq!(sandbox.fuel_left(), 501_000 - used);
    let error = sandbox.run(&spin, stdin("")).unwrap_err();
    assert_eq!(error.failure, RunFailure::OutOfFuel { budget: 1_001_000 });
    assert_eq!(error.fuel_used, 1_001_000 - used);
}

#[test]
fn a_step_can_have_a_budget_of_its_own() {
    let engine = engine();
    let spin = load(&engine, SPIN);
    let limits = Limits { fuel: 10_000_000, step_fuel: 1_000_000, ..off() };
    let mut sandbox = Sandbox::new(&engine, limits, CancelToken::new());
    let error = sandbox.run(&spin, stdin("")).unwrap_err();
    assert_eq!(error.failure, RunFailure::OutOfStepFuel { limit: 1_000_000 });
    assert_eq!(
        error.to_string(),
        "the function used up its fuel of 1000000 instructions; it may be in an endless loop"
    );
    assert_eq!((error.fuel_used, sandbox.fuel_left()), (1_000_000, 9_000_000));

    // Where the render has less than the step may use, it is the render's budget that ends it.
    let own = StepLimits { fuel: 20_000_000, ..off().step() };
    let call = Invocation { limits: Some(own), ..stdin("") };
    assert_eq!(sandbox.run(&spin, call).unwrap_err().failure, RunFailure::OutOfFuel { budget: 10_000_000 });
}

#[test]
fn a_step_can_have_limits_of_its_own() {
    let engine = engine();
    let grow = load(&engine, &grower("unreachable"));
    let flood = load(&engine, &flood(1, 1000));
    let spin = load(&engine, SPIN);
    let mut sandbox = Sandbox::new(&engine, Limits { memory: 4 << 20, stdout: 5_000, ..off() }, CancelToken::new());
    let mut failure = |module, limits| sandbox.run(module, Invocation { limits, ..stdin("") }).unwrap_err().failure;
    let own = Some(StepLimits { memory: 1 << 20, stdout: 10_000, ..off().step() });
    assert_eq!(failure(&grow, own), RunFailure::Memory { limit: 1 << 20 });
    assert_eq!(failure(&grow, None), RunFailure::Memory { limit: 4 << 20 });
    assert_eq!(failure(&flood, own), RunFailure::StdoutTooLarge { limit: 10_000 });
    assert_eq!(failure(&flood, None), RunFailure::StdoutTooLarge { limit: 5_000 });
    let limit = Duration::from_millis(20);
    let own = Some(StepLimits { time: limit, ..off().step() });
    assert_eq!(failure(&spin, own), RunFailure::Deadline { which: Deadline::Step, limit });
}

#[test]
fn one_budget_is_counted_down_over_the_steps_of_a_render() {
    let engine = engine();
    let echo = load(&engine, ECHO);
    let once = run(&engine, ECHO, off(), &[1; 100]).unwrap().fuel_used;

    let limits = Limits { fuel: once * 2 + once / 2, ..off() };
    let mut sandbox = Sandbox::new(&engine, limits.clone(), CancelToken::new());
    for step in 1..=2 {
        assert_eq!(sandbox.run(&echo, stdin([1; 100])).unwrap().fuel_used, once);
        assert_eq!(sandbox.fuel_left(), limits.fuel - once * step);
    }
    let error = sandbox.run(&echo, stdin([1; 100])).unwrap_err();
    assert_eq!(error.failure, RunFailure::OutOfFuel { budget: limits.fuel });
    assert_eq!(sandbox.fuel_left(), 0);
}

#[test]
fn the_same_input_uses_the_same_fuel() {
    let engine = engine();
    let input = vec![7; 100_000];
    let first = run(&engine, ECHO, Limits::default(), &input).unwrap().fuel_used;
    let second = run(&crate::guests::engine(), ECHO, Limits::default(), &input).unwrap().fuel_used;
    let third = run(&engine, ECHO, off(), &input).unwrap().fuel_used;
    assert_eq!([second, third], [first, first]);
}

#[test]
fn work_of_the_host_costs_fuel() {
    let engine = engine();
    // A million calls that do nothing.
    let body = r#"
      (func (export "_start") (local $left i32)
        (local.set $left (i32.const 1000000))
        (loop $again
          (call $write (i32.const 2) (i32.const 64) (i32.const 0))
          (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1))))))
    "#;
    let error = run(&engine, body, Limits { fuel: 10_000_000, ..off() }, b"").unwrap_err();
    assert_eq!(error.failure, RunFailure::OutOfFuel { budget: 10_000_000 });
}

#[test]
fn an_endless_loop_with_all_the_fuel_meets_its_deadline() {
    let engine = engine();
    let limit = Duration::from_millis(20);
    let error = run(&engine, SPIN, Limits { step_time: limit, ..off() }, b"").unwrap_err();
    assert_eq!(error.failure, RunFailure::Deadline { which: Deadline::Step, limit });
    let error = run(&engine, SPIN, Limits { render_time: limit, ..off() }, b"").unwrap_err();
    assert_eq!(error.failure, RunFailure::Deadline { which: Deadline::Render, limit });
    assert_works(&engine);
}

#[test]
fn an_endless_start_section_is_bounded_too() {
    let engine = engine();
    let body = r#"(func $begin (loop $again (br $again))) (start $begin) (func (export "_start"))"#;
    let error = run(&engine, body, Limits { fuel: 1_000_000, ..off() }, b"").unwrap_err();
    assert_eq!(error.failure, RunFailure::OutOfFuel { budget: 1_000_000 });
    let limit = Duration::from_millis(20);
    let error = run(&engine, body, Limits { step_time: limit, ..off() }, b"").unwrap_err();
    assert_eq!(error.failure, RunFailure::Deadline { which: Deadline::Step, limit });
    assert_works(&engine);
}

#[test]
fn a_render_past_its_deadline_starts_nothing() {
    let engine = engine();
    let limits = Limits { render_time: Duration::ZERO, ..off() };
    let error = run(&engine, ECHO, limits, b"unread").unwrap_err();
    assert_eq!(error.failure, RunFailure::Deadline { which: Deadline::Render, limit: Duration::ZERO });
    assert_eq!(error.fuel_used, 0);
}

#[test]
fn a_sleep_takes_no_time_but_counts_as_if_it_did() {
    let engine = engine();
    let module = engine.load(&function(importing(POLL, SLEEP))).unwrap();
    let new = |limits| Sandbox::new(&engine, limits, CancelToken::new());

    let output = new(off()).run(&module, stdin("")).unwrap();
    assert_eq!(output.stdout, b"slept");

    let error = new(Limits::default()).run(&module, stdin("")).unwrap_err();
    let limit = Limits::default().step_time;
    assert_eq!(error.failure, RunFailure::Deadline { which: Deadline::Step, limit });

    // Each step has its own clock; the render adds them up.
    let mut sandbox = new(Limits { step_time: HOUR * 2, render_time: HOUR * 5 / 2, ..off() });
    sandbox.run(&module, stdin("")).unwrap();
    sandbox.run(&module, stdin("")).unwrap();
    let error = sandbox.run(&module, stdin("")).unwrap_err();
    assert_eq!(error.failure, RunFailure::Deadline { which: Deadline::Render, limit: HOUR * 5 / 2 });
}

/// Takes a page at a time until it gets none, then does this.
fn grower(then: &str) -> String {
    format!(
        r#"
          (data (i32.const 64) "full")
          (func (export "_start")
            (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
            (call $write (i32.const 2) (i32.const 64) (i32.const 4))
            {then})
        "#
    )
}

#[test]
fn a_crash_after_a_refusal_is_told_as_running_out_of_memory() {
    let engine = engine();
    let limit = 1 << 20;
    let error = run(&engine, &grower("unreachable"), Limits { memory: limit, ..off() }, b"").unwrap_err();
    assert_eq!(error.failure, RunFailure::Memory { limit });
    assert_eq!(error.to_string(), "the function ran out of memory: the limit is 1 MiB");
    assert_eq!(error.stderr, b"full");
    assert_eq!(error.peak_memory, limit);
    assert_works(&engine);
}

#[test]
fn a_function_that_copes_with_a_refusal_goes_on() {
    let limits = Limits { memory: 1 << 20, ..off() };
    let output = run(&engine(), &grower("(call $exit (i32.const 2))"), limits, b"").unwrap();
    assert_eq!(output.exit_code, 2);
    assert!(output.memory_refused);
    assert_eq!(output.peak_memory, 1 << 20);
}

#[test]
fn a_first_memory_beyond_the_limit_is_refused() {
    let engine = engine();
    let wasm = bare(r#"(module (memory (export "memory") 1000) (func (export "_start")))"#);
    let module = engine.load(&function(wasm)).unwrap();
    let limits = Limits { memory: 999 * 65536, ..off() };
    let error = Sandbox::new(&engine, limits.clone(), CancelToken::new()).run(&module, stdin("")).unwrap_err();
    assert_eq!(error.failure, RunFailure::Memory { limit: limits.memory });
    assert_works(&engine);
}

#[test]
fn filling_memory_is_paid_before_it_is_done() {
    let body = r#"
      (func (export "_start")
        (drop (memory.grow (i32.const 1000)))
        (loop $again
          (memory.fill (i32.const 0) (i32.const 1) (i32.const 65000000))
          (br $again)))
    "#;
    let error = run(&engine(), body, Limits { fuel: 100_000_000, ..off() }, b"").unwrap_err();
    assert_eq!(error.failure, RunFailure::OutOfFuel { budget: 100_000_000 });
}

#[test]
fn what_a_step_may_hold_does_not_depend_on_the_steps_before() {
    let engine = engine();
    let module = load(&engine, &grower(""));
    let limits = Limits { memory: 1 << 20, ..off() };
    let mut sandbox = Sandbox::new(&engine, limits, CancelToken::new());
    for _ in 0..3 {
        assert_eq!(sandbox.run(&module, stdin("")).unwrap().peak_memory, 1 << 20);
    }
    assert_eq!(sandbox.stores_created(), 1);
}

#[test]
fn a_table_grower_is_refused() {
    let engine = engine();
    let body = r#"
      (table $t 1 funcref)
      (func (export "_start")
        (loop $more
          (br_if $more (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1))))
        unreachable)
    "#;
    let error = run(&engine, body, Limits { table_elements: 50_000, ..off() }, b"").unwrap_err();
    assert_eq!(error.failure, RunFailure::Table { limit: 50_000 });
    assert_works(&engine);
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
fn a_flood_on_stdout_ends_the_function() {
    let engine = engine();
    for at_once in [1, 4096, 5_000_000] {
        let limits = Limits { stdout: 1 << 20, ..off() };
        let error = run(&engine, &flood(1, at_once), limits, b"").unwrap_err();
        assert_eq!(error.failure, RunFailure::StdoutTooLarge { limit: 1 << 20 });
        assert_eq!(error.to_string(), "the function wrote more than 1 MiB to stdout");
    }
    assert_works(&engine);
}

#[test]
fn stdout_may_reach_its_bound_exactly() {
    let engine = engine();
    let output = run(&engine, ECHO, Limits { stdout: 1000, ..off() }, &[5; 1000]).unwrap();
    assert_eq!(output.stdout.len(), 1000);
    let error = run(&engine, ECHO, Limits { stdout: 999, ..off() }, &[5; 1000]).unwrap_err();
    assert_eq!(error.failure, RunFailure::StdoutTooLarge { limit: 999 });
}

#[test]
fn a_flood_on_stderr_is_dropped_and_counted() {
    let engine = engine();
    for at_once in [1, 5_000_000] {
        let limits = Limits { fuel: 20_000_000, stderr: 100, ..off() };
        let error = run(&engine, &flood(2, at_once), limits, b"").unwrap_err();
        assert_eq!(error.failure, RunFailure::OutOfFuel { budget: 20_000_000 });
        assert_eq!(error.stderr.len(), 100);
        assert!(error.stderr_dropped > 10_000, "{}", error.stderr_dropped);
    }
    assert_works(&engine);
}

#[test]
fn with_every_limit_off_a_function_runs() {
    assert_eq!(run(&engine(), ECHO, off(), b"free").unwrap().stdout, b"free");
}

#[test]
fn a_neighbour_does_not_notice() {
    let engine = engine();
    let echo = load(&engine, ECHO);
    let alone = run(&engine, ECHO, Limits::default(), &vec![3; 50_000]).unwrap();
    let stop = CancelToken::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.is_cancelled() {
                for body in [SPIN, &grower("unreachable"), &flood(1, 65536)] {
                    let limits = Limits { fuel: 3_000_000, memory: 1 << 22, stdout: 1 << 20, ..Limits::default() };
                    run(&engine, body, limits, b"").unwrap_err();
                }
            }
        });
        let mut sandbox = Sandbox::new(&engine, Limits::default(), CancelToken::new());
        for _ in 0..200 {
            let output = sandbox.run(&echo, stdin(vec![3; 50_000])).unwrap();
            assert!(output.stdout == alone.stdout);
            assert_eq!(output.fuel_used, alone.fuel_used);
        }
        stop.cancel();
    });
}

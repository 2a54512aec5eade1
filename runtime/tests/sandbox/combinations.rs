//! A limit that is off neither disables nor trips another: each alone, each beside each, none at all.

use std::time::Duration;

use portico_runtime::{CancelToken, Deadline, Engine, Limits, Module, RunFailure, Sandbox};

use crate::guests::{SPIN, engine, load, stdin};

const GROW: &str = r#"
  (func (export "_start")
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    unreachable)
"#;

const GROW_TABLE: &str = r#"
  (table $t 1 funcref)
  (func (export "_start")
    (loop $more (br_if $more (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1))))
    unreachable)
"#;

const FLOOD: &str = r#"
  (func (export "_start")
    (loop $more
      (call $write (i32.const 1) (i32.const 16) (i32.const 4096))
      (br $more)))
"#;

/// A little of everything that is limited.
const MODEST: &str = r#"
  (table $t 1 funcref)
  (func (export "_start") (local $left i32)
    (drop (memory.grow (i32.const 100)))
    (drop (table.grow $t (ref.null func) (i32.const 1000)))
    (local.set $left (i32.const 100000))
    (loop $again (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    (call $write (i32.const 1) (i32.const 16) (i32.const 4096))
    (call $write (i32.const 2) (i32.const 16) (i32.const 4096)))
"#;

const SHORT: Duration = Duration::from_millis(20);

/// A limit, how it is set low, the guest that meets it, and how that ends.
struct Case {
    name: &'static str,
    tighten: fn(&mut Limits),
    /// As it is by default, where that is a limit at all.
    usual: fn(&mut Limits),
    guest: &'static str,
    end: RunFailure,
}

fn cases() -> Vec<Case> {
    let usual = Limits::default;
    vec![
        Case {
            name: "fuel",
            tighten: |limits| limits.fuel = 1_000_000,
            usual: |limits| limits.fuel = Limits::default().fuel,
            guest: SPIN,
            end: RunFailure::OutOfFuel { budget: 1_000_000 },
        },
        Case {
            name: "step_fuel",
            tighten: |limits| limits.step_fuel = 1_000_000,
            usual: |limits| limits.step_fuel = Limits::default().fuel,
            guest: SPIN,
            end: RunFailure::OutOfStepFuel { limit: 1_000_000 },
        },
        Case {
            name: "step_time",
            tighten: |limits| limits.step_time = SHORT,
            usual: |limits| limits.step_time = Limits::default().step_time,
            guest: SPIN,
            end: RunFailure::Deadline { which: Deadline::Step, limit: SHORT },
        },
        Case {
            name: "render_time",
            tighten: |limits| limits.render_time = SHORT,
            usual: |limits| limits.render_time = Limits::default().render_time,
            guest: SPIN,
            end: RunFailure::Deadline { which: Deadline::Render, limit: SHORT },
        },
        Case {
            name: "memory",
            tighten: |limits| limits.memory = 1 << 20,
            usual: |limits| limits.memory = Limits::default().memory,
            guest: GROW,
            end: RunFailure::Memory { limit: 1 << 20 },
        },
        Case {
            name: "table_elements",
            tighten: |limits| limits.table_elements = 5_000,
            usual: |limits| limits.table_elements = Limits::default().table_elements,
            guest: GROW_TABLE,
            end: RunFailure::Table { limit: 5_000 },
        },
        Case {
            name: "stdout",
            tighten: |limits| limits.stdout = 100_000,
            usual: |limits| limits.stdout = Limits::default().stdout,
            guest: FLOOD,
            end: RunFailure::StdoutTooLarge { limit: 100_000 },
        },
        Case {
            name: "retained_memory",
            // Bounds nothing that a step does.
            tighten: |limits| (limits.retained_memory, limits.stdout) = (0, 100_000),
            usual: |limits| limits.retained_memory = Limits::default().retained_memory,
            guest: FLOOD,
            end: RunFailure::StdoutTooLarge { limit: usual().stdout.min(100_000) },
        },
    ]
}

fn failure(engine: &Engine, module: &Module, limits: Limits) -> RunFailure {
    Sandbox::new(engine, limits, CancelToken::new()).run(module, stdin("")).expect_err("it ends by its limit").failure
}

#[test]
fn each_limit_works_alone_and_beside_any_other() {
    let engine = engine();
    let cases = cases();
    for case in &cases {
        let module = load(&engine, case.guest);
        let mut alone = Limits::unlimited();
        (case.tighten)(&mut alone);
        assert_eq!(failure(&engine, &module, alone), case.end, "{} alone", case.name);
        for other in cases.iter().filter(|other| other.name != case.name) {
            let mut both = Limits::unlimited();
            (other.usual)(&mut both);
            (case.tighten)(&mut both);
            assert_eq!(failure(&engine, &module, both), case.end, "{} beside {}", case.name, other.name);
        }
        let mut all = Limits::default();
        (case.tighten)(&mut all);
        assert_eq!(failure(&engine, &module, all.clone()), with_defaults(case, &all), "{} beside all", case.name);
    }
}

/// What an error names when the other limits are the usual ones: the fuel that they add is part of the budget.
fn with_defaults(case: &Case, limits: &Limits) -> RunFailure {
    match case.end {
        RunFailure::OutOfFuel { budget } => RunFailure::OutOfFuel { budget: budget + limits.fuel_per_step },
        ref end => end.clone(),
    }
}

#[test]
fn without_each_single_limit_the_usual_ones_hold_and_harm_nobody() {
    let engine = engine();
    let module = load(&engine, MODEST);
    let runs = |limits: Limits| {
        let output = Sandbox::new(&engine, limits, CancelToken::new()).run(&module, stdin("")).expect("it is modest");
        assert_eq!((output.exit_code, output.stdout.len(), output.memory_refused), (0, 4096, false));
        (output.fuel_used, output.peak_memory, output.stderr.len())
    };
    let usual = runs(Limits::default());
    assert_eq!(runs(Limits::unlimited()), usual);
    let off = Limits::unlimited();
    let switches: [fn(&mut Limits, &Limits); 10] = [
        |limits, off| limits.fuel = off.fuel,
        |limits, off| limits.fuel_per_step = off.fuel_per_step,
        |limits, off| limits.fuel_per_input_byte = off.fuel_per_input_byte,
        |limits, off| limits.step_time = off.step_time,
        |limits, off| limits.render_time = off.render_time,
        |limits, off| limits.memory = off.memory,
        |limits, off| limits.retained_memory = off.retained_memory,
        |limits, off| limits.table_elements = off.table_elements,
        |limits, off| limits.stdout = off.stdout,
        |limits, off| limits.stderr = off.stderr,
    ];
    for switch in switches {
        let mut limits = Limits::default();
        switch(&mut limits, &off);
        assert_eq!(runs(limits), usual);
    }
}

#[test]
fn what_trips_together_is_told_in_a_fixed_order() {
    let engine = engine();
    let low = Limits { memory: 1 << 20, table_elements: 5_000, fuel: 1_000_000, ..Limits::unlimited() };
    let ends = |body: &str, limits: &Limits| failure(&engine, &load(&engine, body), limits.clone());
    let refused = |then: &str| {
        format!(
            r#"
              (table $t 1 funcref)
              (func (export "_start")
                (drop (table.grow $t (ref.null func) (i32.const 6000)))
                (drop (memory.grow (i32.const 100)))
                {then})
            "#
        )
    };
    // A crash after refusals is what the refusals led to, and memory is what programs run out of.
    assert_eq!(ends(&refused("unreachable"), &low), RunFailure::Memory { limit: 1 << 20 });
    let divide = refused("(drop (i32.div_u (i32.const 1) (i32.const 0)))");
    assert_eq!(ends(&divide, &low), RunFailure::Memory { limit: 1 << 20 });
    let table_alone = refused("unreachable").replace("memory.grow (i32.const 100)", "memory.grow (i32.const 1)");
    assert_eq!(ends(&table_alone, &low), RunFailure::Table { limit: 5_000 });
    // What the host ends itself is told as that, whatever was refused before.
    assert_eq!(ends(&refused("(loop $l (br $l))"), &low), RunFailure::OutOfFuel { budget: 1_000_000 });
    let timed = Limits { fuel: u64::MAX, step_time: SHORT, ..low.clone() };
    let deadline = RunFailure::Deadline { which: Deadline::Step, limit: SHORT };
    assert_eq!(ends(&refused("(loop $l (br $l))"), &timed), deadline);
    let full = Limits { stdout: 10, ..low.clone() };
    let write = refused("(call $write (i32.const 1) (i32.const 16) (i32.const 4096)) unreachable");
    assert_eq!(ends(&write, &full), RunFailure::StdoutTooLarge { limit: 10 });
    // Where the budget of the step and that of the render are the same, it is the render's.
    let equal = Limits { step_fuel: 1_000_000, ..low };
    assert_eq!(ends(SPIN, &equal), RunFailure::OutOfFuel { budget: 1_000_000 });
}

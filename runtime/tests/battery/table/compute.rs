//! Functions that never end, or end badly.

use std::time::Duration;

use super::text::{importing, main, program};
use super::{End, REPEATS, Row, SOON, row};

const LOOP: &str = "(loop $again (br $again))";

const POLL: &str =
    r#"(import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))"#;

/// Waits so many nanoseconds, `flags` 1 for a time on the clock instead.
fn sleep(nanoseconds: u64, flags: u8, before: &str, after: &str) -> Vec<u8> {
    importing(
        POLL,
        &format!(
            r#"(func (export "_start")
                (i64.store (i32.const 1048) (i64.const {nanoseconds}))
                (i32.store (i32.const 1040) (i32.const 1))
                (i32.store16 (i32.const 1064) (i32.const {flags}))
                {before}
                (drop (call $poll (i32.const 1024) (i32.const 2048) (i32.const 1) (i32.const 8)))
                {after})"#
        ),
    )
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(endless());
    rows.extend(sleeps());
    rows.extend(crashes());
    rows.extend(exits());
    rows
}

/// A row for each bound that ends an endless program.
fn ended_by_all(name: &str, guest: fn() -> Vec<u8>) -> [Row; 3] {
    [
        row(format!("{name}, by its fuel"), guest)
            .ends(End::Fuel, &["used up the fuel budget of 4000000 instructions", "endless loop"]),
        row(format!("{name}, by the time of the step"), guest)
            .bound(|bounds| (bounds.fuel, bounds.step_time) = (Some(u64::MAX), Some(SOON)))
            .ends(End::StepTime, &["time limit 10ms exceeded"]),
        row(format!("{name}, by the time of the render"), guest)
            .bound(|bounds| (bounds.fuel, bounds.render_time) = (Some(u64::MAX), Some(SOON)))
            .ends(End::RenderTime, &["time limit 10ms exceeded"]),
    ]
}

fn endless() -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(ended_by_all("endless loop", || main(LOOP)));
    rows.extend(ended_by_all("loop in the start section", || {
        program(&format!(r#"(func $begin {LOOP}) (start $begin) (func (export "_start"))"#))
    }));
    // Data segments have no loops of their own: those that are copied by code, as threads and constructors have it, do.
    rows.extend(ended_by_all("loop in data initialisation", || {
        program(
            r#"(data $passive "0123456789abcdef")
               (func $begin
                 (loop $again
                   (memory.init $passive (i32.const 1024) (i32.const 0) (i32.const 16))
                   (br $again)))
               (start $begin)
               (func (export "_start"))"#,
        )
    }));
    rows.push(
        row("loop in a constructor", || {
            program(&format!(r#"(func $__wasm_call_ctors {LOOP}) (func (export "_start") (call $__wasm_call_ctors))"#))
        })
        .ends(End::Fuel, &["used up the fuel budget"]),
    );
    rows.push(
        row("loop of calls", || {
            program(
                r#"(table 1 funcref) (elem (i32.const 0) $nothing)
                   (func $nothing)
                   (func (export "_start") (loop $again (call_indirect (i32.const 0)) (br $again)))"#,
            )
        })
        .ends(End::Fuel, &["used up the fuel budget"]),
    );
    rows.push(
        row("many branches that never end", || {
            main(
                "(local $n i32) (loop $a (loop $b (loop $c
                   (local.set $n (i32.add (local.get $n) (i32.const 1)))
                   (br_table $a $b $c (i32.rem_u (local.get $n) (i32.const 3))))))",
            )
        })
        .ends(End::Fuel, &["used up the fuel budget"]),
    );
    rows
}

fn sleeps() -> Vec<Row> {
    const HOUR: u64 = 3_600_000_000_000;
    vec![
        row("sleep of an hour", || sleep(HOUR, 0, "", "")).ends(End::StepTime, &["time limit 60s exceeded"]),
        row("sleep until the end of time", || sleep(u64::MAX, 1, "", ""))
            .ends(End::StepTime, &["time limit 60s exceeded"]),
        row("sleep in the start section", || {
            importing(
                POLL,
                r#"(func $begin
                     (i64.store (i32.const 1048) (i64.const 3600000000000))
                     (drop (call $poll (i32.const 1024) (i32.const 2048) (i32.const 1) (i32.const 8))))
                   (start $begin)
                   (func (export "_start"))"#,
            )
        })
        .ends(End::StepTime, &["time limit 60s exceeded"])
        // Its adapter is not ready before the start section ends.
        .component_ends(End::Somehow, &[]),
        // A second at a time: the sum counts.
        row("short sleeps for ever", || sleep(1_000_000_000, 0, "(loop $again ", "(br $again))"))
            .ends(End::StepTime, &["time limit 60s exceeded"]),
        // Each takes no time at all: fuel ends them.
        row("sleeps of nothing for ever", || sleep(0, 0, "(loop $again ", "(br $again))"))
            .ends(End::Fuel, &["used up the fuel budget"]),
        row("sleep of an hour in a render that has a minute", || sleep(HOUR, 0, "", ""))
            .bound(|bounds| {
                (bounds.step_time, bounds.render_time) = (Some(Duration::MAX), Some(Duration::from_mins(1)));
            })
            .ends(End::RenderTime, &["time limit 60s exceeded"]),
        row("sleep of an hour without any deadline", || sleep(HOUR, 0, "", "(call $echo)"))
            .bound(|bounds| (bounds.step_time, bounds.render_time) = (Some(Duration::MAX), Some(Duration::MAX)))
            .ends(End::Passes, &[]),
    ]
}

fn crashes() -> Vec<Row> {
    let crash = |name: &str, kind: &'static str, code: &'static str, words: &str| {
        row(name, move || {
            program(&format!(
                r#"(table 1 funcref)
                   (data (i32.const 64) "before the crash")
                   (func $deeper (call $deeper) (call $deeper))
                   (func $wide (param i64 i64 i64 i64 i64 i64 i64 i64) (result i64)
                     (i64.add (local.get 0) (call $wide (local.get 7) (local.get 6) (local.get 5) (local.get 4)
                       (local.get 3) (local.get 2) (local.get 1) (local.get 0))))
                   (func $inner {code})
                   (func (export "_start")
                     (call $write (i32.const 2) (i32.const 64) (i32.const 16))
                     (call $inner))"#
            ))
        })
        .ends(End::Trap(kind), &["the function crashed", words])
    };
    vec![
        crash("crash by giving up", "Unreachable", "unreachable", "it gave up"),
        crash(
            "crash by a division by zero",
            "DivisionByZero",
            "(drop (i32.div_u (i32.const 1) (i32.const 0)))",
            "zero",
        ),
        crash(
            "crash by a division that overflows",
            "IntegerOverflow",
            "(drop (i32.div_s (i32.const 0x80000000) (i32.const -1)))",
            "an integer operation overflowed",
        ),
        crash(
            "crash by a conversion",
            "BadConversion",
            "(drop (i32.trunc_f32_s (f32.const nan)))",
            "it converted an invalid float",
        ),
        crash(
            "crash by an address",
            "MemoryOutOfBounds",
            "(drop (i32.load (i32.const -1)))",
            "it accessed memory out of bounds",
        ),
        crash(
            "crash by a copy of all memory",
            "MemoryOutOfBounds",
            "(memory.copy (i32.const 0x7fffffff) (i32.const 0) (i32.const 100000))",
            "it accessed memory out of bounds",
        ),
        crash(
            "crash by a function pointer to nothing",
            "BadIndirectCall",
            "(call_indirect (i32.const 0))",
            "it called an invalid function pointer",
        ),
        crash(
            "crash by a function pointer out of the table",
            "TableOutOfBounds",
            "(call_indirect (i32.const 9))",
            "it accessed a table out of bounds",
        ),
        crash("deep recursion", "StackOverflow", "(call $deeper)", "it overflowed its call stack"),
        crash(
            "deep recursion with wide frames",
            "StackOverflow",
            "(drop (call $wide (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5) (i64.const 6)
              (i64.const 7) (i64.const 8)))",
            "it overflowed its call stack",
        ),
        row("deep recursion in the start section", || {
            program(r#"(func $deeper (call $deeper) (call $deeper)) (start $deeper) (func (export "_start"))"#)
        })
        .ends(End::Trap("StackOverflow"), &["it overflowed its call stack"]),
        row("crash in the start section", || {
            program(r#"(func $begin unreachable) (start $begin) (func (export "_start"))"#)
        })
        .ends(End::Trap("Unreachable"), &["it gave up"]),
        row("data outside the memory", || program(r#"(data (i32.const 131070) "four") (func (export "_start"))"#))
            .ends(End::Trap("MemoryOutOfBounds"), &["it accessed memory out of bounds"]),
        row("elements outside the table", || {
            program(r#"(table 1 funcref) (elem (i32.const 1) $f) (func $f) (func (export "_start"))"#)
        })
        .ends(End::Trap("TableOutOfBounds"), &["it accessed a table out of bounds"]),
        row("crash in a function with a hostile name", || {
            program(
                r#"(func $inner (@name "\1b[2J\0aerror: all is well\0a\u{202e}") unreachable)
                   (func (export "_start") (call $inner))"#,
            )
        })
        .ends(End::Trap("Unreachable"), &["it gave up"]),
        row("crash in a function with an endless name", || {
            let name = "x".repeat(1 << 20);
            program(&format!(r#"(func $inner (@name "{name}") unreachable) (func (export "_start") (call $inner))"#))
        })
        .ends(End::Trap("Unreachable"), &["it gave up", "xxxxxxxx"]),
    ]
}

fn exits() -> Vec<Row> {
    let mut rows: Vec<Row> = [3, 126, 255, 256, -1, i32::MAX, i32::MIN]
        .into_iter()
        .map(|code| {
            row(format!("exit code {code}"), move || main(&format!("(call $echo) (call $exit (i32.const {code}))")))
                .ends(End::Exit(code), &[&format!("failed with exit code {code}")])
                // WASI 0.2 gives the adapter no more than success and failure to say.
                .component_ends(End::Exit(1), &["failed with exit code 1"])
        })
        .collect();
    rows.push(row("exit code 0", || main("(call $echo) (call $exit (i32.const 0)) unreachable")));
    rows.push(
        row("exit in the start section", || {
            program(r#"(func $begin (call $exit (i32.const 7))) (start $begin) (func (export "_start") unreachable)"#)
        })
        .ends(End::Exit(7), &["failed with exit code 7"])
        .component_ends(End::Somehow, &[]),
    );
    rows.push(
        row("exit with garbage on stdout", || {
            program(
                r#"(data (i32.const 64) "{[}]\00\ff: - *x")
                   (func (export "_start")
                     (call $write (i32.const 1) (i32.const 64) (i32.const 13))
                     (call $exit (i32.const 3)))"#,
            )
        })
        .ends(End::Exit(3), &["failed with exit code 3"])
        .component_ends(End::Exit(1), &["failed with exit code 1"]),
    );
    debug_assert!(rows.iter().all(|row| row.repeats == REPEATS));
    rows
}

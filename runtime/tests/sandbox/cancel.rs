//! A cancel stops what runs, wherever it comes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use portico_runtime::{CancelToken, Limits, RunFailure, Sandbox};

use crate::guests::{ECHO, GREET_AND_SPIN, assert_works, engine, load, stdin};

/// Nothing but a cancel ends a function under these.
fn endless() -> Limits {
    Limits { fuel: u64::MAX, step_time: Duration::MAX, render_time: Duration::MAX, ..Limits::default() }
}

#[test]
fn a_cancelled_render_starts_nothing() {
    let engine = engine();
    let spin = load(&engine, GREET_AND_SPIN);
    for cancel_first in [true, false] {
        let token = CancelToken::new();
        if cancel_first {
            token.cancel();
        }
        let mut sandbox = Sandbox::new(&engine, endless(), token.clone());
        token.cancel();
        let error = sandbox.run(&spin, stdin("")).unwrap_err();
        assert_eq!(error.failure, RunFailure::Cancelled);
        assert_eq!((error.fuel_used, error.stderr.len()), (0, 0));
    }
    assert_works(&engine);
}

#[test]
fn a_cancel_between_two_steps_stops_the_second() {
    let engine = engine();
    let echo = load(&engine, ECHO);
    let token = CancelToken::new();
    let mut sandbox = Sandbox::new(&engine, endless(), token.clone());
    sandbox.run(&echo, stdin("first")).unwrap();
    token.cancel();
    assert_eq!(sandbox.run(&echo, stdin("second")).unwrap_err().failure, RunFailure::Cancelled);
}

#[test]
fn a_cancel_from_another_thread_stops_a_computing_function() {
    let engine = engine();
    let spin = load(&engine, GREET_AND_SPIN);
    // At no particular moment: before the start, while it is armed, while it computes.
    for round in 0..300_u32 {
        let token = CancelToken::new();
        let started = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !started.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                for _ in 0..round * 10 {
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
    assert_works(&engine);
}

#[test]
fn a_cancel_stops_its_own_render_only() {
    let engine = engine();
    let (spin, echo) = (load(&engine, GREET_AND_SPIN), load(&engine, ECHO));
    let (first, second) = (CancelToken::new(), CancelToken::new());
    let mut neighbour = Sandbox::new(&engine, endless(), second);
    let stopped = std::thread::scope(|scope| {
        let spinning = scope.spawn(|| Sandbox::new(&engine, endless(), first.clone()).run(&spin, stdin("")));
        neighbour.run(&echo, stdin("before")).unwrap();
        first.cancel();
        let stopped = spinning.join().unwrap();
        neighbour.run(&echo, stdin("after")).unwrap();
        stopped
    });
    assert_eq!(stopped.unwrap_err().failure, RunFailure::Cancelled);
}

#[test]
fn one_token_stops_renders_on_several_engines() {
    let token = CancelToken::new();
    std::thread::scope(|scope| {
        let renders: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let engine = engine();
                    let spin = load(&engine, GREET_AND_SPIN);
                    Sandbox::new(&engine, endless(), token.clone()).run(&spin, stdin(""))
                })
            })
            .collect();
        token.cancel();
        for render in renders {
            assert_eq!(render.join().unwrap().unwrap_err().failure, RunFailure::Cancelled);
        }
    });
}

//! One render is one Store, and when it is not.

use portico_runtime::{Allocation, CancelToken, Engine, EngineConfig, Limits, RunFailure, Sandbox};

use crate::guests::{ECHO, SPIN, engine, load, run, stdin};

/// Takes 16 MiB and copies nothing.
const LARGE: &str = r#"(func (export "_start") (drop (memory.grow (i32.const 256))))"#;

fn pooled(slots: u32) -> Engine {
    let allocation = Allocation::Pooling { slots, keep_resident: 1 << 20 };
    Engine::new(EngineConfig { allocation, ..EngineConfig::default() }).expect("a pool")
}

#[test]
fn one_render_is_one_store() {
    for engine in [engine(), pooled(64)] {
        let echo = load(&engine, ECHO);
        let mut sandbox = Sandbox::new(&engine, Limits::default(), CancelToken::new());
        assert_eq!(sandbox.stores_created(), 0);
        for _ in 0..10 {
            sandbox.run(&echo, stdin("x")).unwrap();
        }
        assert_eq!(sandbox.stores_created(), 1);
    }
}

#[test]
fn a_fresh_store_takes_over_when_finished_functions_hold_much() {
    let engine = engine();
    let large = load(&engine, LARGE);
    let limits = Limits { retained_memory: 40 << 20, ..Limits::default() };
    let mut sandbox = Sandbox::new(&engine, limits, CancelToken::new());
    let mut stores = Vec::new();
    for _ in 0..7 {
        sandbox.run(&large, stdin("")).unwrap();
        stores.push(sandbox.stores_created());
    }
    // Three times 16 MiB and a little are above the bound.
    assert_eq!(stores, [1, 1, 1, 2, 2, 2, 3]);
}

#[test]
fn the_budget_outlives_the_store() {
    let engine = engine();
    let large = load(&engine, LARGE);
    let limits = Limits { retained_memory: 0, fuel_per_step: 0, ..Limits::default() };
    let mut sandbox = Sandbox::new(&engine, limits.clone(), CancelToken::new());
    let used: u64 = (0..5).map(|_| sandbox.run(&large, stdin("")).unwrap().fuel_used).sum();
    assert_eq!(sandbox.stores_created(), 5);
    assert_eq!(sandbox.fuel_left(), limits.fuel + 5 * limits.fuel_per_step - used);
}

#[test]
fn after_a_failure_a_fresh_store_takes_over() {
    let engine = engine();
    let (crash, echo) = (load(&engine, r#"(func (export "_start") unreachable)"#), load(&engine, ECHO));
    let mut sandbox = Sandbox::new(&engine, Limits::default(), CancelToken::new());
    sandbox.run(&crash, stdin("")).unwrap_err();
    assert_eq!(sandbox.run(&echo, stdin("on")).unwrap().stdout, b"on");
    assert_eq!(sandbox.stores_created(), 2);
}

#[test]
fn more_renders_than_slots_wait_for_each_other() {
    let engine = pooled(4);
    let echo = load(&engine, ECHO);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut sandbox = Sandbox::new(&engine, Limits::default(), CancelToken::new());
                for _ in 0..50 {
                    assert_eq!(sandbox.run(&echo, stdin("mine")).unwrap().stdout, b"mine");
                }
            });
        }
    });
}

#[test]
fn whoever_waits_for_a_slot_can_be_cancelled() {
    let engine = pooled(1);
    let (echo, token) = (load(&engine, ECHO), CancelToken::new());
    let mut holder = Sandbox::new(&engine, Limits::default(), CancelToken::new());
    holder.run(&echo, stdin("")).unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| Sandbox::new(&engine, Limits::default(), token.clone()).run(&echo, stdin("")));
        token.cancel();
        assert_eq!(waiter.join().unwrap().unwrap_err().failure, RunFailure::Cancelled);
    });
    holder.run(&echo, stdin("")).unwrap();
}

#[test]
fn a_pooled_engine_gives_the_same_bytes_and_the_same_fuel() {
    let (pooled, on_demand) = (pooled(4), engine());
    assert!(pooled.is_pooled() && !on_demand.is_pooled());
    for input in [b"short".to_vec(), vec![9; 200_000]] {
        let [first, second] = [&pooled, &on_demand].map(|engine| run(engine, ECHO, Limits::default(), &input).unwrap());
        assert!(first.stdout == second.stdout);
        assert_eq!(first.fuel_used, second.fuel_used);
    }
    let limits = Limits { fuel: 100_000, ..Limits::default() };
    let [first, second] =
        [&pooled, &on_demand].map(|engine| run(engine, SPIN, limits.clone(), b"").unwrap_err().failure);
    assert_eq!(first, second);
}

#[test]
fn nothing_of_a_function_is_left_in_its_slot() {
    let engine = pooled(1);
    let limits = Limits { retained_memory: 0, ..Limits::default() };
    let mut sandbox = Sandbox::new(&engine, limits, CancelToken::new());
    let secret = load(
        &engine,
        r#"(func (export "_start")
             (drop (memory.grow (i32.const 64)))
             (memory.fill (i32.const 0) (i32.const 0x53) (i32.const 4194304)))"#,
    );
    // Traps on any byte that is not zero.
    let look = load(
        &engine,
        r#"(func (export "_start") (local $at i32)
             (drop (memory.grow (i32.const 64)))
             (loop $next
               (if (i64.ne (i64.load (local.get $at)) (i64.const 0)) (then unreachable))
               (local.set $at (i32.add (local.get $at) (i32.const 8)))
               (br_if $next (i32.lt_u (local.get $at) (i32.const 4194304)))))"#,
    );
    for _ in 0..3 {
        sandbox.run(&secret, stdin("")).unwrap();
        sandbox.run(&look, stdin("")).unwrap();
    }
}

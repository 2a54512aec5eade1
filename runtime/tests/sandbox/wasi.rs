//! Every call of WASI preview 1, with every kind of argument.

use portico_runtime::{CancelToken, Engine, Limits, RunOutput, Sandbox};

use crate::guests::{bare, engine, function, importing, stdin};

const FAULT: i32 = 21;
const INVAL: i32 = 28;
const BADF: i32 = 8;

/// Name and parameters (`i`: 32 bit, `l`: 64 bit) of all calls but `proc_exit`.
pub(crate) const CALLS: [(&str, &str); 45] = [
    ("args_get", "ii"),
    ("args_sizes_get", "ii"),
    ("clock_res_get", "ii"),
    ("clock_time_get", "ili"),
    ("environ_get", "ii"),
    ("environ_sizes_get", "ii"),
    ("fd_advise", "illi"),
    ("fd_allocate", "ill"),
    ("fd_close", "i"),
    ("fd_datasync", "i"),
    ("fd_fdstat_get", "ii"),
    ("fd_fdstat_set_flags", "ii"),
    ("fd_fdstat_set_rights", "ill"),
    ("fd_filestat_get", "ii"),
    ("fd_filestat_set_size", "il"),
    ("fd_filestat_set_times", "illi"),
    ("fd_pread", "iiili"),
    ("fd_prestat_dir_name", "iii"),
    ("fd_prestat_get", "ii"),
    ("fd_pwrite", "iiili"),
    ("fd_read", "iiii"),
    ("fd_readdir", "iiili"),
    ("fd_renumber", "ii"),
    ("fd_seek", "ilii"),
    ("fd_sync", "i"),
    ("fd_tell", "ii"),
    ("fd_write", "iiii"),
    ("path_create_directory", "iii"),
    ("path_filestat_get", "iiiii"),
    ("path_filestat_set_times", "iiiilli"),
    ("path_link", "iiiiiii"),
    ("path_open", "iiiiillii"),
    ("path_readlink", "iiiiii"),
    ("path_remove_directory", "iii"),
    ("path_rename", "iiiiii"),
    ("path_symlink", "iiiii"),
    ("path_unlink_file", "iii"),
    ("poll_oneoff", "iiii"),
    ("proc_raise", "i"),
    ("random_get", "ii"),
    ("sched_yield", ""),
    ("sock_accept", "iii"),
    ("sock_recv", "iiiiii"),
    ("sock_send", "iiiii"),
    ("sock_shutdown", "ii"),
];

/// Makes one call and exits with its answer.
fn answer(engine: &Engine, name: &str, arguments: &[i64]) -> i32 {
    outcome(engine, name, arguments, "").exit_code
}

fn outcome(engine: &Engine, name: &str, arguments: &[i64], before: &str) -> RunOutput {
    let parameters = CALLS.iter().find(|(known, _)| *known == name).expect("a call").1;
    assert_eq!(parameters.len(), arguments.len(), "{name}");
    let types: Vec<&str> = parameters.chars().map(|c| if c == 'l' { "i64" } else { "i32" }).collect();
    let values: Vec<String> = types.iter().zip(arguments).map(|(ty, value)| format!("({ty}.const {value})")).collect();
    let import =
        format!(r#"(import "wasi_snapshot_preview1" "{name}" (func $call (param {}) (result i32)))"#, types.join(" "));
    let body = format!(r#"(func (export "_start") {before} (call $exit (call $call {})))"#, values.join(" "));
    let module = engine.load(&function(importing(&import, &body))).unwrap_or_else(|error| panic!("{name}: {error}"));
    Sandbox::new(engine, Limits::default(), CancelToken::new())
        .run(&module, stdin("some input"))
        .unwrap_or_else(|error| panic!("{name} {arguments:?}: {error}"))
}

#[test]
fn no_argument_is_too_hostile() {
    // The memory ends at 131072.
    let hostile: [i64; 9] = [0, 1, 16, 131_068, 131_071, 131_072, 0x7fff_ffff, 0xffff_fff0, 0xffff_ffff];
    let engine = engine();
    for (name, parameters) in CALLS {
        // All parameters alike, and each alone among harmless ones. Compiling is what takes the time, so
        // one guest makes all calls of a name.
        let mut calls = String::new();
        let call = |values: Vec<i64>| {
            let values: Vec<String> = parameters
                .chars()
                .zip(values)
                .map(|(c, value)| format!("({}.const {value})", if c == 'l' { "i64" } else { "i32" }))
                .collect();
            format!("(drop (call $call {}))\n", values.join(" "))
        };
        for value in hostile {
            calls.push_str(&call(vec![value; parameters.len()]));
            for position in 0..parameters.len() {
                for rest in [0, 1, 1024] {
                    let mut values = vec![rest; parameters.len()];
                    values[position] = value;
                    calls.push_str(&call(values));
                }
            }
        }
        let types: Vec<&str> = parameters.chars().map(|c| if c == 'l' { "i64" } else { "i32" }).collect();
        let import = format!(
            r#"(import "wasi_snapshot_preview1" "{name}" (func $call (param {}) (result i32)))"#,
            types.join(" ")
        );
        let body = format!(r#"(func (export "_start") {calls} (call $exit (i32.const 42)))"#);
        let module = engine.load(&function(importing(&import, &body))).unwrap();
        let limits =
            Limits { step_time: std::time::Duration::MAX, render_time: std::time::Duration::MAX, ..Limits::default() };
        let result = Sandbox::new(&engine, limits, CancelToken::new()).run(&module, stdin("some input"));
        assert_eq!(result.unwrap_or_else(|error| panic!("{name}: {error}")).exit_code, 42, "{name}");
    }
}

#[test]
fn addresses_outside_the_memory_are_faults() {
    let engine = engine();
    let end = 131_072;
    for (name, arguments) in [
        ("args_sizes_get", &[end, 0][..]),
        ("args_sizes_get", &[0, end - 3]),
        ("args_get", &[end, 0]),
        ("args_get", &[0, end - 2]),
        ("environ_sizes_get", &[0xffff_ffff, 0]),
        ("clock_time_get", &[0, 0, end - 7]),
        ("clock_res_get", &[0, end]),
        ("random_get", &[end - 9, 10]),
        ("random_get", &[0xffff_ffff, 0xffff_ffff]),
        ("fd_fdstat_get", &[0, end - 23]),
        ("fd_filestat_get", &[1, end - 63]),
        ("fd_read", &[0, end - 7, 1, 0]),
        ("fd_write", &[1, 0xffff_fff8, 2, 0]),
        ("fd_write", &[1, 64, 1, end - 3]),
        ("poll_oneoff", &[end - 47, 0, 1, 0]),
        ("poll_oneoff", &[0, end - 31, 1, 0]),
        ("poll_oneoff", &[0, 64, 1, end]),
    ] {
        assert_eq!(answer(&engine, name, arguments), FAULT, "{name} {arguments:?}");
    }
    // The last that fit.
    for (name, arguments) in [
        ("clock_time_get", &[0, 0, end - 8][..]),
        ("random_get", &[end - 10, 10]),
        ("random_get", &[end, 0]),
        ("fd_fdstat_get", &[0, end - 24]),
        ("fd_write", &[1, end, 0, 0]),
    ] {
        assert_eq!(answer(&engine, name, arguments), 0, "{name} {arguments:?}");
    }
}

#[test]
fn ranges_are_bounded_and_checked_as_a_whole() {
    let engine = engine();
    assert_eq!(answer(&engine, "fd_write", &[1, 0, 1025, 8]), INVAL);
    assert_eq!(answer(&engine, "fd_read", &[0, 0, 0xffff_ffff, 8]), INVAL);
    assert_eq!(answer(&engine, "poll_oneoff", &[0, 1024, 0, 8]), INVAL);
    assert_eq!(answer(&engine, "poll_oneoff", &[0, 1024, 0xffff_ffff, 8]), INVAL);
    // The second range is bad: nothing of the first is written.
    let bad_second = r"
      (i32.store (i32.const 64) (i32.const 1024)) (i32.store (i32.const 68) (i32.const 4))
      (i32.store (i32.const 72) (i32.const -4)) (i32.store (i32.const 76) (i32.const 8))
    ";
    let output = outcome(&engine, "fd_write", &[1, 64, 2, 8], bad_second);
    assert_eq!((output.exit_code, output.stdout.len()), (FAULT, 0));
}

#[test]
fn descriptors_are_checked() {
    let engine = engine();
    for (name, parameters) in CALLS {
        if name.starts_with("fd_") || name.starts_with("sock_") {
            let mut arguments = vec![0; parameters.len()];
            for fd in [3, 77, 0xffff_ffff] {
                arguments[0] = fd;
                assert_eq!(answer(&engine, name, &arguments), BADF, "{name} {fd}");
            }
        }
    }
    assert_eq!(answer(&engine, "fd_read", &[1, 0, 0, 8]), BADF);
    assert_eq!(answer(&engine, "fd_write", &[0, 0, 0, 8]), BADF);
    // No directory is open, which is what a program's start-up code asks first.
    assert_eq!(answer(&engine, "fd_prestat_get", &[3, 0]), BADF);
}

#[test]
fn a_closed_stream_is_gone() {
    let module = importing(
        r#"(import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))"#,
        r#"
          (func (export "_start")
            (if (call $close (i32.const 1)) (then unreachable))
            (if (i32.ne (call $close (i32.const 1)) (i32.const 8)) (then unreachable))
            (call $exit (call $fd_write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 8))))
        "#,
    );
    let engine = engine();
    let module = engine.load(&function(module)).unwrap();
    let output = Sandbox::new(&engine, Limits::default(), CancelToken::new()).run(&module, stdin("")).unwrap();
    assert_eq!(output.exit_code, BADF);
}

#[test]
fn what_is_not_supported_says_so() {
    let engine = engine();
    for (name, parameters, expected) in [
        ("path_open", 9, 54),
        ("sock_shutdown", 2, 57),
        ("fd_seek", 4, 70),
        ("fd_renumber", 2, 52),
        ("proc_raise", 1, 52),
    ] {
        assert_eq!(answer(&engine, name, &vec![0; parameters]), expected, "{name}");
    }
    assert_eq!(answer(&engine, "sched_yield", &[]), 0);
}

#[test]
fn the_clock_stands_still_and_moves_by_sleeping() {
    let wasm = importing(
        r#"
          (import "wasi_snapshot_preview1" "clock_time_get" (func $time (param i32 i64 i32) (result i32)))
          (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
        "#,
        r#"
          ;; Writes both clocks to stdout.
          (func $show
            (drop (call $time (i32.const 0) (i64.const 0) (i32.const 64)))
            (drop (call $time (i32.const 1) (i64.const 0) (i32.const 72)))
            (call $write (i32.const 1) (i32.const 64) (i32.const 16)))
          (func (export "_start")
            (call $show)
            (call $show)
            ;; 5 seconds on the wall clock, and 3 until a time on the monotonic clock: the first to come.
            (i64.store (i32.const 1024) (i64.const 11))
            (i64.store (i32.const 1048) (i64.const 5000000000))
            (i64.store (i32.const 1072) (i64.const 22))
            (i32.store (i32.const 1088) (i32.const 1))
            (i64.store (i32.const 1096) (i64.const 4000000000))
            (i32.store16 (i32.const 1112) (i32.const 1))
            (drop (call $poll (i32.const 1024) (i32.const 2048) (i32.const 2) (i32.const 8)))
            (call $show)
            (call $write (i32.const 1) (i32.const 2048) (i32.const 8))
            (i32.store (i32.const 64) (i32.load (i32.const 8)))
            (call $exit (i32.load (i32.const 8))))
        "#,
    );
    let engine = engine();
    let module = engine.load(&function(wasm)).unwrap();
    let output = Sandbox::new(&engine, Limits::default(), CancelToken::new()).run(&module, stdin("")).unwrap();
    let words: Vec<u64> = output.stdout.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    let [wall, monotonic, wall_again, monotonic_again, wall_later, monotonic_later, who] = words[..] else {
        panic!("{words:?}")
    };
    assert_eq!((wall, monotonic), (946_684_800_000_000_000, 1_000_000_000));
    assert_eq!((wall_again, monotonic_again), (wall, monotonic));
    assert_eq!((wall_later - wall, monotonic_later - monotonic), (3_000_000_000, 3_000_000_000));
    assert_eq!(who, 22);
}

#[test]
fn waiting_for_a_stream_does_not_move_the_clock() {
    let wasm = importing(
        r#"
          (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
        "#,
        r#"
          (func (export "_start")
            ;; An hour, or stdin: there it is. The deadline would end the hour.
            (i64.store (i32.const 1048) (i64.const 3600000000000))
            (i64.store (i32.const 1072) (i64.const 33))
            (i32.store8 (i32.const 1080) (i32.const 1))
            (drop (call $poll (i32.const 1024) (i32.const 2048) (i32.const 2) (i32.const 60)))
            (call $write (i32.const 1) (i32.const 2048) (i32.const 24))
            (call $exit (i32.load (i32.const 60))))
        "#,
    );
    let engine = engine();
    let module = engine.load(&function(wasm)).unwrap();
    let output = Sandbox::new(&engine, Limits::default(), CancelToken::new()).run(&module, stdin("abc")).unwrap();
    assert_eq!(output.exit_code, 1);
    assert_eq!(output.stdout[0], 33);
    assert_eq!(output.stdout[16], 3);
}

#[test]
fn random_numbers_are_the_same_in_every_run() {
    let wasm = importing(
        r#"(import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))"#,
        r#"
          (func (export "_start")
            (drop (call $random (i32.const 64) (i32.const 100)))
            (call $write (i32.const 1) (i32.const 64) (i32.const 100)))
        "#,
    );
    let engine = engine();
    let module = engine.load(&function(wasm)).unwrap();
    let mut sandbox = Sandbox::new(&engine, Limits::default(), CancelToken::new());
    let [first, second] = [(); 2].map(|()| sandbox.run(&module, stdin("")).unwrap().stdout);
    assert_eq!(first, second);
    assert!(first.iter().any(|byte| *byte != 0));
}

#[test]
fn calls_from_the_start_section_see_the_memory() {
    let wasm = importing(
        "",
        r#"
          (data (i32.const 64) "early")
          (func $begin (call $write (i32.const 1) (i32.const 64) (i32.const 5)))
          (start $begin)
          (func (export "_start"))
        "#,
    );
    let engine = engine();
    let module = engine.load(&function(wasm)).unwrap();
    let output = Sandbox::new(&engine, Limits::default(), CancelToken::new()).run(&module, stdin("")).unwrap();
    assert_eq!(output.stdout, b"early");
}

#[test]
fn a_program_without_memory_runs() {
    let engine = engine();
    let module = engine.load(&function(bare(r#"(module (func (export "_start")))"#))).unwrap();
    let output = Sandbox::new(&engine, Limits::default(), CancelToken::new()).run(&module, stdin("")).unwrap();
    assert_eq!((output.exit_code, output.peak_memory), (0, 0));
}

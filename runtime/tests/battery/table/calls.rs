//! Functions that call the host with anything, and as often as they can.

use super::text::{importing, main};
use super::{Bounds, End, Row, row};

/// Name and parameters (`i`: 32 bit, `l`: 64 bit) of all calls of WASI preview 1 but `proc_exit`.
const CALLS: [(&str, &str); 45] = [
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

/// Numbers at every edge. The memory ends at 131,072.
const EDGES: [i64; 9] = [0, 1, 16, 131_068, 131_071, 131_072, 0x7fff_ffff, 0xffff_fff0, 0xffff_ffff];

fn types(parameters: &str) -> String {
    parameters.chars().map(|c| if c == 'l' { "i64 " } else { "i32 " }).collect()
}

fn import(name: &str, parameters: &str) -> String {
    let types = types(parameters);
    format!(r#"(import "wasi_snapshot_preview1" "{name}" (func $call (param {types}) (result i32)))"#)
}

fn call(parameters: &str, values: &[i64]) -> String {
    let values = parameters.chars().zip(values);
    let values: Vec<String> =
        values.map(|(c, value)| format!("({}.const {value})", if c == 'l' { "i64" } else { "i32" })).collect();
    format!("(drop (call $call {}))\n", values.join(" "))
}

/// Makes a call with every edge: all parameters alike, and each alone among harmless ones. Then it exits with 42.
fn at_every_edge(name: &str, parameters: &str) -> Vec<u8> {
    let mut calls = String::new();
    for value in EDGES {
        calls.push_str(&call(parameters, &vec![value; parameters.len()]));
        for position in 0..parameters.len() {
            for rest in [0, 1, 1024] {
                let mut values = vec![rest; parameters.len()];
                values[position] = value;
                calls.push_str(&call(parameters, &values));
            }
        }
    }
    importing(&import(name, parameters), &format!(r#"(func (export "_start") {calls} (call $exit (i32.const 42)))"#))
}

/// Makes a call for ever, always with these arguments.
fn for_ever(name: &str, arguments: &[i64]) -> Vec<u8> {
    let parameters = CALLS.iter().find(|(known, _)| *known == name).expect("a call").1;
    let call = call(parameters, arguments);
    importing(&import(name, parameters), &format!(r#"(func (export "_start") (loop $again {call} (br $again)))"#))
}

pub(super) fn rows() -> Vec<Row> {
    let edges = CALLS.into_iter().map(|(name, parameters)| {
        // A hostile number of nanoseconds is a long sleep, and no fault.
        let bounds = Bounds {
            fuel: Some(100_000_000),
            step_time: Some(std::time::Duration::MAX),
            render_time: Some(std::time::Duration::MAX),
            ..Bounds::default()
        };
        row(format!("{name} with pointers and lengths at every edge"), move || at_every_edge(name, parameters))
            .bound(|of_row| *of_row = bounds)
            .ends(End::Exit(42), &["failed with exit code 42"])
            // The adapter, code of the guest, looks at pointers before the host does.
            .component_ends(End::Somehow, &[])
    });
    // A call costs 64 instructions at least, so these come to about 60,000 calls in a few milliseconds.
    let floods = [
        ("sched_yield", &[][..]),
        ("clock_time_get", &[0, 0, 64]),
        ("random_get", &[64, 8]),
        ("random_get", &[0, 131_072]),
        ("fd_read", &[0, 64, 0, 8]),
        ("fd_write", &[1, 64, 1024, 8]),
        ("fd_fdstat_get", &[0, 64]),
        ("fd_prestat_get", &[3, 64]),
        ("args_get", &[64, 128]),
        ("environ_sizes_get", &[64, 128]),
        ("path_open", &[3, 0, 64, 1, 0, 0, 0, 0, 128]),
        ("poll_oneoff", &[1024, 60_000, 1024, 8]),
        ("fd_close", &[0]),
        ("sock_shutdown", &[0, 0]),
    ];
    let floods = floods.into_iter().map(|(name, arguments)| {
        row(format!("host calls without end: {name} {arguments:?}"), move || for_ever(name, arguments))
            .ends(End::Fuel, &["used up the fuel budget"])
    });
    let mut rows: Vec<Row> = edges.chain(floods).collect();
    rows.push(
        row("output behind a closed stdout", || {
            importing(
                r#"(import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))"#,
                r#"(func (export "_start") (drop (call $close (i32.const 1))) (call $echo))"#,
            )
        })
        .ends(End::BadOutput, &["its output is empty although it exited with code 0"]),
    );
    rows.push(
        // The place for the number of bytes lies over the range that says where they are.
        row("results of a call over its own arguments", || {
            main(
                "(i32.store (i32.const 64) (i32.const 1024))
                 (i32.store (i32.const 68) (i32.const 4096))
                 (drop (call $fd_read (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 68)))
                 (i32.store (i32.const 64) (i32.const 64))
                 (i32.store (i32.const 68) (i32.const 4096))
                 (drop (call $fd_write (i32.const 1) (i32.const 64) (i32.const 1) (i32.const 66)))
                 (call $exit (i32.const 5))",
            )
        })
        .ends(End::Exit(5), &["failed with exit code 5"])
        .component_ends(End::Exit(1), &["failed with exit code 1"]),
    );
    rows
}

//! What is no function at all.

use super::text::{bare, each, program};
use super::{End, Row, row};

/// Why these are no components.
const WHY: &str = "what a component is made of has checks and tests of its own";

const START: &str = r#"(func (export "_start"))"#;

fn refused(name: impl Into<String>, guest: impl Fn() -> Vec<u8> + Send + Sync + 'static, words: &[&str]) -> Row {
    row(name, guest).ends(End::Refused, words)
}

fn bytes(name: &str, bytes: &'static [u8], words: &[&str]) -> Row {
    refused(name, move || bytes.to_vec(), words)
}

fn text(name: &str, text: &'static str, words: &[&str]) -> Row {
    refused(name, move || bare(text), words)
}

/// Prints nothing, which the step is refused for: the module itself is taken.
fn taken(name: impl Into<String>, guest: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Row {
    row(name, guest).ends(End::BadOutput, &["its output is empty"])
}

/// An unsigned number as WebAssembly spells it.
fn leb(mut number: usize) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            out.push(byte);
            return out;
        }
        out.push(byte | 0x80);
    }
}

/// A module of sections, each a number and its bytes.
fn sections(all: &[(u8, &[u8])]) -> Vec<u8> {
    let mut out = b"\0asm\x01\0\0\0".to_vec();
    for (number, bytes) in all {
        out.push(*number);
        out.extend(leb(bytes.len()));
        out.extend_from_slice(bytes);
    }
    out
}

/// The sections of a program that does nothing, and this export besides.
fn exporting(name: &[u8]) -> Vec<u8> {
    let exports = [&[2, 6][..], b"_start", &[0, 0], &leb(name.len()), name, &[0, 0]].concat();
    sections(&[(1, &[1, 0x60, 0, 0]), (3, &[1, 0]), (7, &exports), (10, &[1, 2, 0, 0x0b])])
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(no_modules());
    rows.extend(foreign());
    rows.extend(features());
    rows.extend(too_much());
    rows.extend(names());
    rows.into_iter().map(|row| row.no_component(WHY)).collect()
}

fn no_modules() -> Vec<Row> {
    vec![
        bytes("an empty file", b"", &["not a WebAssembly module: the file is empty"]),
        bytes("text", b"apiVersion: v1\n", &["not a WebAssembly module"]),
        bytes("a script", b"#!/bin/sh\nrm -rf /\n", &["not a WebAssembly module: it is a script"]),
        bytes("native code", b"\x7fELF\x02\x01", &["not a WebAssembly module: it is native code"]),
        bytes("an archive", b"\x1f\x8b\x08\0", &["not a WebAssembly module: it is a gzip archive"]),
        bytes("WebAssembly text", b"(module)", &["not a WebAssembly module: it is WebAssembly text"]),
        bytes("four bytes", b"\0asm", &["the WebAssembly module is not valid"]),
        bytes("another version", b"\0asm\x02\0\0\0", &["the WebAssembly module is not valid"]),
        refused(
            "half a module",
            || {
                let whole = program(START);
                whole[..whole.len() / 2].to_vec()
            },
            &["is not valid"],
        ),
        refused(
            "a module without its last byte",
            || {
                let mut whole = bare(&format!("(module {START} (func unreachable))"));
                whole.pop();
                whole
            },
            &["is not valid"],
        ),
        refused("sections in another order", || sections(&[(10, &[0]), (1, &[0])]), &["is not valid"]),
        refused(
            "a section longer than the file",
            || b"\0asm\x01\0\0\0\x01\xff\xff\xff\xff\x0f".to_vec(),
            &["is not valid"],
        ),
        refused("more functions than bytes", || sections(&[(3, &[0xff, 0xff, 0xff, 0xff, 0x0f])]), &["the module"]),
        refused(
            "code of the wrong type",
            || {
                // A function that leaves a number behind although it has no result.
                sections(&[
                    (1, &[1, 0x60, 0, 0]),
                    (3, &[1, 0]),
                    (7, b"\x01\x06_start\0\0"),
                    (10, &[1, 4, 0, 0x41, 0, 0x0b]),
                ])
            },
            &["is not valid"],
        ),
        refused(
            "a module of 33 MiB",
            || {
                let mut all = bare(&format!("(module {START})"));
                all.push(0);
                all.extend(leb(33 << 20));
                all.push(1);
                all.push(b'x');
                all.resize(all.len() + (33 << 20) - 2, 0);
                all
            },
            &["the module is larger than the limit"],
        )
        .once(),
    ]
}

fn foreign() -> Vec<Row> {
    let import = |module: &'static str, name: &'static str, advice: &str| {
        refused(
            format!("an import of {module} {name}"),
            move || {
                bare(&format!(r#"(module (import "{module}" "{name}" (func)) (memory (export "memory") 1) {START})"#))
            },
            &[&format!("`{module}`.`{name}`"), advice],
        )
    };
    vec![
        import("gojs", "runtime.wasmExit", "GOOS=wasip1"),
        import("wasi_unstable", "fd_write", "early draft of WASI"),
        import("wasi", "thread-spawn", "threads are not supported"),
        import("env", "abort", "browser"),
        import("wbg", "__wbg_log", "wasm-bindgen"),
        import("wasi:cli/exit@0.2.0", "exit", "WASI preview 2"),
        import("wasi_snapshot_preview1", "fd_teleport", "not part of WASI preview 1"),
        import("my_host", "call", "stdin, stdout, stderr"),
        text(
            "an import of a memory",
            r#"(module (import "env" "memory" (memory 1)) (func (export "_start")))"#,
            &["`env`.`memory`"],
        ),
        text(
            "a known import of another type",
            r#"(module (import "wasi_snapshot_preview1" "fd_write" (func (param i32) (result i32)))
                 (memory (export "memory") 1) (func (export "_start")))"#,
            &["does not fit WASI", "fd_write"],
        ),
        text(
            "a known import that is no function",
            r#"(module (import "wasi_snapshot_preview1" "fd_write" (global i32))
                 (memory (export "memory") 1) (func (export "_start")))"#,
            &["fd_write"],
        ),
        text("no `_start`", r#"(module (func (export "run")))"#, &["has no `_start` function", "wasm32-wasip1"]),
        text("a library", r#"(module (func (export "_initialize")))"#, &["built as a library (reactor)"]),
        text(
            "a `_start` that is no function",
            r#"(module (global (export "_start") i32 (i32.const 0)))"#,
            &["has no `_start` function"],
        ),
        text(
            "a `_start` with parameters",
            r#"(module (func (export "_start") (param i32)))"#,
            &["has no `_start` function"],
        ),
        text(
            "a memory that is not shown",
            r#"(module (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
                 (memory 1) (func (export "_start")))"#,
            &["does not export its memory"],
        ),
    ]
}

fn features() -> Vec<Row> {
    vec![
        text("memory of 64 bits", r#"(module (memory i64 1) (func (export "_start")))"#, &["64-bit memory"]),
        text("shared memory", r#"(module (memory 1 2 shared) (func (export "_start")))"#, &["shared memory"]),
        text("several memories", r#"(module (memory 1) (memory 1) (func (export "_start")))"#, &["several memories"]),
        text(
            "waiting for another thread",
            r#"(module (memory 1)
                 (func (export "_start")
                   (drop (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const -1)))))"#,
            &["not valid"],
        ),
        text("tail calls", r#"(module (func $f (export "_start") (return_call $f)))"#, &["not valid"]),
        text("exceptions", r#"(module (tag $t) (func (export "_start") (throw $t)))"#, &["not valid"]),
        text(
            "objects that are collected",
            r#"(module (type $s (struct (field i32))) (func (export "_start") (drop (struct.new_default $s))))"#,
            &["not valid"],
        ),
        text(
            "relaxed vectors",
            r#"(module (func (export "_start")
                 (drop (i8x16.relaxed_swizzle (v128.const i64x2 0 0) (v128.const i64x2 0 0)))))"#,
            &["not valid"],
        ),
    ]
}

fn too_much() -> Vec<Row> {
    let many = |name: &str, what: fn() -> String, words: &str| {
        refused(name, move || bare(&format!("(module {START} {})", what())), &[words])
    };
    vec![
        taken("10,000 exports", || {
            bare(&format!("(module {START} {})", each(9_999, |n| format!("(export \"{n}\" (func 0))"))))
        }),
        many("10,001 exports", || each(10_000, |n| format!("(export \"{n}\" (func 0))")), "10001 exports"),
        refused(
            "65 imports",
            || bare(&format!("(module {} {START})", r#"(import "a" "b" (func))"#.repeat(65))),
            &["65 imports"],
        ),
        many("100,001 functions", || "(func)".repeat(100_000), "100001 functions"),
        many("2 tables", || "(table 1 funcref) (table 1 funcref)".to_owned(), "2 tables"),
        many("100,001 table elements", || "(table 100001 funcref)".to_owned(), "100001 table elements"),
        many(
            "100,001 data segments",
            || format!("(memory 1) {}", r#"(data (i32.const 0) "")"#.repeat(100_001)),
            "100001 data segments",
        ),
        many("10,001 globals", || "(global i32 (i32.const 0))".repeat(10_001), "10001 globals"),
        many(
            "a branch table of 100,001",
            || format!("(func (br_table {} (i32.const 0)))", "0 ".repeat(100_002)),
            "targets in one branch table",
        ),
        many(
            "code that takes compilers seconds",
            || {
                // Locals times loops.
                format!("(func (local {}) {})", "i32 ".repeat(2_400), "(loop)".repeat(2_400))
            },
            "variables times loops in one function",
        ),
        taken("a data segment of 8 MiB", || {
            let data = "x".repeat(8 << 20);
            bare(&format!(r#"(module (memory (export "memory") 130) (data (i32.const 0) "{data}") {START})"#))
        })
        .once(),
        taken("20,000 data segments over each other", || {
            let data = r#"(data (i32.const 100) "0123456789abcdef")"#.repeat(20_000);
            bare(&format!(r#"(module (memory (export "memory") 1) {data} {START})"#))
        }),
        taken("data segments all over the memory", || {
            let data = each(1_000, |n| format!(r#"(data (i32.const {}) "x")"#, n * 65_536));
            bare(&format!(r#"(module (memory (export "memory") 1000) {data} {START})"#))
        }),
        taken("5,000 blocks inside each other", || {
            let (open, close) = ("(block ".repeat(5_000), ")".repeat(5_000));
            bare(&format!(r#"(module (func (export "_start") {open}{close}))"#))
        }),
        taken("10,000 variables", || {
            bare(&format!(r#"(module (func (export "_start") (local {})))"#, "i64 ".repeat(10_000)))
        }),
        taken("1,000 parameters", || bare(&format!("(module (func (param {})) {START})", "i64 ".repeat(1_000)))),
    ]
}

fn names() -> Vec<Row> {
    /// A custom section called `name` with this content.
    fn named(content: &[u8]) -> Vec<u8> {
        let mut all = exporting(b"other");
        let section = [&[4][..], b"name", content].concat();
        all.push(0);
        all.extend(leb(section.len()));
        all.extend(section);
        all
    }
    vec![
        refused("an export whose name is no UTF-8", || exporting(b"\xff\xfe"), &["is not valid", "UTF-8"]),
        refused(
            "an import whose name is no UTF-8",
            || sections(&[(1, &[1, 0x60, 0, 0]), (2, b"\x01\x02\xff\xfe\x01a\0\0")]),
            &["is not valid", "UTF-8"],
        ),
        refused("a section whose name is no UTF-8", || sections(&[(0, b"\x02\xff\xfe")]), &["is not valid", "UTF-8"]),
        refused("the same export twice", || exporting(b"_start"), &["is not valid"]),
        taken("an export without a name", || exporting(b"")),
        taken("an export of 50,000 characters", || exporting(&[b'n'; 50_000])),
        taken("an export with control characters", || exporting(b"\x1b[2J\0\r\n")),
        // Names for debuggers say nothing about the program: broken ones are no reason to refuse it.
        taken("names for debuggers that are no UTF-8", || named(b"\x01\x06\x01\x00\x03\xff\xfe\xfd")),
        taken("names for debuggers that break off", || named(b"\x01\xff\xff\x03\x01")),
        taken("names for debuggers of functions that do not exist", || named(b"\x01\x08\x01\xff\xff\x03\x03abc")),
        text(
            "an import with control characters",
            "(module (import \"\\1b[2J\" \"\\0aerror: none\" (func)))",
            &["which functions do not get"],
        ),
        refused(
            "an import of 50,000 characters",
            || {
                let name = "n".repeat(50_000);
                bare(&format!(r#"(module (import "{name}" "{name}" (func)) {START})"#))
            },
            &["which functions do not get"],
        ),
    ]
}

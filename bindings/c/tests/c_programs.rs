//! C programs against the library as C gets it: the shared and the static one, under valgrind and the address sanitizer.

mod support;

use support::{Kind, Program, is_there, portico, succeeds};

#[test]
fn a_program_with_the_shared_library() {
    Program::new("render").kind(Kind::Shared).build().run();
}

#[test]
fn a_program_with_the_static_library() {
    Program::new("render").kind(Kind::Static).build().run();
}

/// Nothing that is freed is touched, nothing is read before it is written, and nothing is lost. Threads and handlers that
/// last as long as the process stay reachable.
#[test]
fn valgrind_has_nothing_to_say() {
    if !is_there("valgrind") {
        return;
    }
    let wrapper =
        ["valgrind", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect,possible"];
    for name in ["render", "cancel"] {
        succeeds(&mut Program::new(name).build().under(&wrapper));
    }
}

/// The program is watched, with every read and write of what the library gave it; the library is not built that way.
#[test]
fn the_address_sanitizer_has_nothing_to_say() {
    for name in ["render", "cancel"] {
        let program = Program::new(name).flag("-fsanitize=address,undefined").flag("-fno-sanitize-recover=all");
        program.flag("-fno-omit-frame-pointer").build().run();
    }
}

/// Ten thousand renders on eight threads, or a million in a soak: passed, failed, ended by a limit, given up. The memory
/// of the process after the first fifth is that at the end, but for some arenas of the allocator.
#[test]
#[expect(clippy::print_stderr, reason = "the figures are to be seen")]
fn many_renders_do_not_grow() {
    let renders = std::env::var("PORTICO_SOAK").map_or("10000", |_| "1000000");
    let program = Program::new("load").flag("-O2").build();
    let output = succeeds(program.command().args([renders, "8"]));
    eprint!("{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn renders_are_stopped_wherever_they_are() {
    Program::new("cancel").build().run();
}

/// Nobody compiles unless asked to; what crashes is a failed step of one render.
#[test]
fn modules_are_compiled_by_a_child_or_not_at_all() {
    let (modules, cache) = (modules(), tempfile::tempdir().unwrap());
    let program = Program::new("modules").build();
    succeeds(program.command().arg(portico()).args([modules.path(), cache.path()]));
}

/// One that gives back what it gets, and one for each way in which WebAssembly crashes: a fault of memory, an illegal
/// instruction, a division by zero, a stack that is used up.
fn modules() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let echo = r#"
        (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 2)
        (func (export "_start")
            (i32.store (i32.const 0) (i32.const 64))
            (i32.store (i32.const 4) (i32.const 65536))
            (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
            (i32.store (i32.const 4) (i32.load (i32.const 8)))
            (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))"#;
    let start = |body: &str| format!("(memory (export \"memory\") 1) (func $f (export \"_start\") {body})");
    for (name, text) in [
        ("echo", echo.to_owned()),
        ("load", start("(drop (i32.load (i32.const -4)))")),
        ("unreachable", start("unreachable")),
        ("divide", start("(drop (i32.div_u (i32.load (i32.const 0)) (i32.load (i32.const 4))))")),
        ("recurse", start("(call $f)")),
    ] {
        let wasm = wat::parse_str(format!("(module {text})")).unwrap();
        std::fs::write(directory.path().join(format!("{name}.wasm")), wasm).unwrap();
    }
    directory
}

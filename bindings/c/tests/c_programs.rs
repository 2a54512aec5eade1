//! C programs against the library as C gets it: the shared and the static one, under valgrind and the address sanitizer.

mod support;

use support::{Kind, Program, is_there, modules, portico, succeeds};

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

//! C programs against the library as C gets it: the shared and the static one, under valgrind and the address sanitizer.

mod support;

use support::{Kind, Program, is_there, succeeds};

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
    let program = Program::new("render").build();
    let wrapper =
        ["valgrind", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect,possible"];
    succeeds(&mut program.under(&wrapper));
}

/// The program is watched, with every read and write of what the library gave it; the library is not built that way.
#[test]
fn the_address_sanitizer_has_nothing_to_say() {
    let flags = "-fsanitize=address,undefined";
    Program::new("render").flag(flags).flag("-fno-sanitize-recover=all").flag("-fno-omit-frame-pointer").build().run();
}

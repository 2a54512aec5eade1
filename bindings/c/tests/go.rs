//! Go over the C interface, with the build tag `portico_embed`: `bindings/go/embed` and, on it, the runtime of `bindings/go/kpt`.

#[expect(dead_code, reason = "shared with the tests that run C programs")]
mod support;

use std::path::Path;
use std::process::Command;

use support::{here, libraries, modules, portico, succeeds};

/// Runs the go command in a folder of `bindings`, with the library and what the tests want.
fn go(folder: &str, modules: &Path, arguments: &[&str]) {
    let libraries = libraries();
    let mut go = Command::new("go");
    go.args(arguments).current_dir(here().join("..").join(folder));
    go.env("CGO_ENABLED", "1").env("CGO_LDFLAGS", format!("-L{}", libraries.display()));
    go.env("LD_LIBRARY_PATH", &libraries).env("PORTICO_BIN", portico()).env("PORTICO_TEST_MODULES", modules);
    succeeds(&mut go);
}

#[expect(clippy::print_stderr, reason = "what is skipped is to be seen")]
fn go_is_missing() -> bool {
    // `go --version` is no command of it.
    let missing = Command::new("go").arg("version").output().is_err();
    if missing {
        eprintln!("skipped: `go` is not on the PATH");
    }
    missing
}

/// The tests of the package are Go's own, under the race detector; among them are nil dereferences beside functions that
/// crash.
#[test]
fn the_go_package_in_process() {
    if go_is_missing() {
        return;
    }
    let modules = modules();
    go("go", modules.path(), &["vet", "-tags", "portico_embed", "./embed/..."]);
    go("go", modules.path(), &["test", "-race", "-count=1", "-tags", "portico_embed", "./embed/..."]);
}

/// The tests that `server/tests/grpc/go.rs` runs on a server: the runtime, and kpt's own renderer with it.
#[test]
fn the_runtime_of_kpt_in_process() {
    if go_is_missing() {
        return;
    }
    let modules = modules();
    let run = |arguments: &[&str]| go("go/kpt", modules.path(), arguments);
    run(&["vet", "-tags", "portico_embed", "./..."]);
    run(&["test", "-race", "-count=1", "-tags", "portico_embed", "./..."]);
    // kpt's own renderer, in a build without a module that is not to be had everywhere.
    let bare = tempfile::tempdir().unwrap();
    run(&["run", "./internal/bare", bare.path().to_str().unwrap()]);
    let modfile = format!("-modfile={}", bare.path().join("go.mod").display());
    run(&["test", "-count=1", &modfile, "-tags", "portico_embed,kpt_renderer", "./..."]);
}

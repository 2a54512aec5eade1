//! Go over the C interface: `bindings/go` with the build tag `portico_embed`, under the race detector.

#[expect(dead_code, reason = "shared with the tests that run C programs")]
mod support;

use std::process::Command;

use support::{here, libraries, modules, portico, succeeds};

/// The tests of the package are Go's own; among them are nil dereferences beside functions that crash.
#[test]
#[expect(clippy::print_stderr, reason = "what is skipped is to be seen")]
fn the_go_package_in_process() {
    // `go --version` is no command of it.
    if Command::new("go").arg("version").output().is_err() {
        eprintln!("skipped: `go` is not on the PATH");
        return;
    }
    let (modules, libraries) = (modules(), libraries());
    let go = |arguments: &[&str]| {
        let mut go = Command::new("go");
        go.args(arguments).current_dir(here().join("../go"));
        go.env("CGO_ENABLED", "1").env("CGO_LDFLAGS", format!("-L{}", libraries.display()));
        go.env("LD_LIBRARY_PATH", &libraries).env("PORTICO_BIN", portico()).env("PORTICO_TEST_MODULES", modules.path());
        succeeds(&mut go);
    };
    go(&["vet", "-tags", "portico_embed", "./embed/..."]);
    go(&["test", "-race", "-count=1", "-tags", "portico_embed", "./embed/..."]);
}

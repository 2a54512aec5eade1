//! `cargo xtask test` and `cargo xtask soak`.

use anyhow::Result;

use crate::{cargo, functions, say};

/// Builds what the tests need and runs every quick test.
pub(crate) fn run(soak: bool) -> Result<()> {
    say("test: building the functions and probes");
    functions::build(&functions::Options::default())?;
    say("test: building the program");
    cargo(&["build", "--release", "--package", "portico"])?;
    if soak {
        say("test: the long versions; this takes an hour and more");
        // The tests that have a long version look at this variable. It is set in this process alone, for its children.
        return crate::cargo_with(&["test", "--release", "--workspace"], &[("PORTICO_SOAK", "1")]);
    }
    cargo(&["test", "--release", "--workspace"])
}

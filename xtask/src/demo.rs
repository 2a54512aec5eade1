//! `cargo xtask demo`: everything that is needed, built, and an example rendered.

use anyhow::{Result, ensure};

use crate::{binary, cargo, functions, say, workspace};

/// Builds the functions and the binary, and renders `examples/shop` without touching it.
pub(crate) fn run() -> Result<()> {
    say("demo: building the functions for wasm32-wasip1 (a minute or two the first time)");
    functions::build(&functions::Options::default())?;
    say("demo: building the program (the first time compiles wasmtime: five minutes and more on two cores)");
    cargo(&["build", "--release", "--package", "portico"])?;
    say("demo: what `portico render --diff` would change in examples/shop\n");
    let status = std::process::Command::new(binary())
        .args(["render", "--diff", "--status=none"])
        .arg(workspace().join("examples/shop"))
        .status()?;
    ensure!(status.success(), "the render failed");
    say("\ndemo: done. The program is target/release/portico; README.md goes on from here.");
    Ok(())
}

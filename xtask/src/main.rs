//! Chores of the workspace: `cargo xtask COMMAND`.

mod functions;

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

/// Chores of the workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Build the catalog functions and the test probes for WebAssembly, and compile the functions ahead of time.
    Functions(functions::Options),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().chore {
        Chore::Functions(options) => functions::build(&options),
    }
}

/// The root of the workspace.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}

/// Tells the person at the terminal what happens.
#[expect(clippy::print_stderr, reason = "chores talk to a person")]
fn say(text: impl std::fmt::Display) {
    eprintln!("{text}");
}

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

/// The root of the workspace: the one that cargo runs this for, which need not be the one that it was built in.
fn workspace() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.parent().unwrap_or(Path::new(".")).to_owned()
}

/// Tells the person at the terminal what happens.
#[expect(clippy::print_stderr, reason = "chores talk to a person")]
fn say(text: impl std::fmt::Display) {
    eprintln!("{text}");
}

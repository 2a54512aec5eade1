//! Chores of the workspace: `cargo xtask COMMAND`.

mod bench;
mod demo;
mod functions;
mod test;

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
    /// Build everything, functions included, and render an example package, showing the diff.
    Demo,
    /// Build what the tests need and run all quick tests.
    Test,
    /// Run the long versions of the tests.
    Soak,
    /// Measure the program as a whole, against kpt where it is on the PATH.
    Bench,
    /// Run a program and print what it used; the benchmarks call this.
    #[command(hide = true)]
    Measure {
        /// The program and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().chore {
        Chore::Functions(options) => functions::build(&options),
        Chore::Demo => demo::run(),
        Chore::Test => test::run(false),
        Chore::Soak => test::run(true),
        Chore::Bench => bench::run(),
        Chore::Measure { command } => bench::child(&command),
    }
}

/// The root of the workspace: the one that cargo runs this for, which need not be the one that it was built in.
fn workspace() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.parent().unwrap_or(Path::new(".")).to_owned()
}

/// The program that `cargo build --release` makes.
fn binary() -> PathBuf {
    workspace().join("target/release/portico")
}

/// Runs cargo in the workspace, its output to the terminal.
fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    cargo_with(arguments, &[])
}

/// [`cargo`] with environment variables.
fn cargo_with(arguments: &[&str], variables: &[(&str, &str)]) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = std::process::Command::new(cargo)
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(workspace())
        .status()?;
    anyhow::ensure!(status.success(), "`cargo {}` failed", arguments.join(" "));
    Ok(())
}

/// Tells the person at the terminal what happens.
#[expect(clippy::print_stderr, reason = "chores talk to a person")]
fn say(text: impl std::fmt::Display) {
    eprintln!("{text}");
}

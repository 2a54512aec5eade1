//! `cargo xtask functions`: from the crates under `functions/catalog` and `tests/probes` to compiled modules.
//!
//! The guests are built with a profile and a target directory of their own (`target/guests`), because they need a
//! compiler with a WASI target, which may not be the one that builds the host. What comes out:
//!
//! - `target/functions/MODULE.wasm`, and `MODULE.cwasm` compiled for the host's fixed baseline CPU;
//! - `target/functions/catalog.txt`, which says what functions the modules hold; `portico-catalog` embeds them by it;
//! - `target/probes/NAME.wasm`, the probe functions of the tests.

mod crates;
mod toolchain;
mod write;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::functions::crates::Guests;
use crate::{say, workspace};

/// The target of the guests.
const TARGET: &str = "wasm32-wasip1";
/// Their profile, see the workspace's `Cargo.toml`.
const PROFILE: &str = "guest";

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Never install a compiler for the WASI target; fail with a message when there is none.
    #[arg(long)]
    no_install: bool,
    /// Only build the WebAssembly modules, do not compile them ahead of time.
    #[arg(long)]
    no_precompile: bool,
}

pub(crate) fn build(options: &Options) -> Result<()> {
    let started = Instant::now();
    let root = workspace();
    let guests = Guests::find(&root)?;
    let rustc = toolchain::find(&root, !options.no_install)?;
    let built = cargo_build(&root, rustc.as_deref(), &guests)?;
    write::functions(&root, &built, &guests, !options.no_precompile)?;
    write::probes(&root, &built, &guests)?;
    say(format_args!("functions: done in {:.1} s", started.elapsed().as_secs_f64()));
    Ok(())
}

/// Builds all guests; gives the directory of the modules.
fn cargo_build(root: &Path, rustc: Option<&Path>, guests: &Guests) -> Result<std::path::PathBuf> {
    let target_dir = root.join("target/guests");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["build", "--profile", PROFILE, "--target", TARGET]);
    for package in guests.packages() {
        command.args(["--package", package]);
    }
    command
        .env("CARGO_TARGET_DIR", &target_dir)
        .env("CARGO_ENCODED_RUSTFLAGS", rustflags(root))
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET");
    if let Some(rustc) = rustc {
        command.env("RUSTC", rustc);
    }
    say(format_args!("functions: building {} for {TARGET}", guests.packages().collect::<Vec<_>>().join(", ")));
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("cargo could not build the functions for {TARGET} ({status})");
    }
    Ok(target_dir.join(TARGET).join(PROFILE))
}

/// No path of the building machine gets into a module, so that the same source gives the same bytes.
fn rustflags(root: &Path) -> String {
    let home = std::env::var_os("CARGO_HOME")
        .map(std::path::PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let mut flags = vec![format!("--remap-path-prefix={}=/portico", root.display())];
    if let Some(home) = home {
        flags.push(format!("--remap-path-prefix={}=/cargo", home.display()));
    }
    flags.join("\x1f")
}

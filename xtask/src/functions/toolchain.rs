//! The compiler of the guests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::functions::TARGET;
use crate::say;

/// Where `scripts/install-wasm-target.sh` puts a private toolchain, below the user's data directory.
const PRIVATE: &str = "portico-wasm-toolchain";

/// Finds a compiler with the WASI target: the active one (`None`), else the private toolchain, else, when `install` is
/// set, what the script installs.
pub(crate) fn find(root: &Path, install: bool) -> Result<Option<PathBuf>> {
    let active = std::env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), PathBuf::from);
    if has_target(&active) {
        return Ok(None);
    }
    if let Some(private) = private_rustc().filter(|rustc| has_target(rustc)) {
        say(format_args!("functions: the compiler for {TARGET} is {}", private.display()));
        return Ok(Some(private));
    }
    if !install {
        bail!("no compiler for {TARGET} is installed; {}", ways(root));
    }
    run_script(root)
}

fn ways(root: &Path) -> String {
    format!(
        "run `rustup target add {TARGET}`, or `{}`, which makes a private toolchain where rustup cannot",
        script(root).display()
    )
}

fn script(root: &Path) -> PathBuf {
    root.join("scripts/install-wasm-target.sh")
}

fn private_rustc() -> Option<PathBuf> {
    let dir = match std::env::var_os("WASM_TOOLCHAIN_DIR") {
        Some(dir) => PathBuf::from(dir),
        None => match std::env::var_os("XDG_DATA_HOME").filter(|dir| !dir.is_empty()) {
            Some(data) => PathBuf::from(data).join(PRIVATE),
            None => std::env::home_dir()?.join(".local/share").join(PRIVATE),
        },
    };
    Some(dir.join("bin/rustc"))
}

/// True when the compiler starts and has a standard library for the target.
fn has_target(rustc: &Path) -> bool {
    let output =
        Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).stderr(Stdio::null()).output();
    let Ok(output) = output else { return false };
    let dir = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success() && std::fs::read_dir(dir).is_ok_and(|mut files| files.any(|file| is_std(file.ok())))
}

fn is_std(file: Option<std::fs::DirEntry>) -> bool {
    file.is_some_and(|file| {
        let name = file.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libstd") && name.ends_with(".rlib")
    })
}

fn run_script(root: &Path) -> Result<Option<PathBuf>> {
    let script = script(root);
    say(format_args!("functions: no compiler for {TARGET} yet; running {}", script.display()));
    let output = Command::new("bash")
        .arg(&script)
        .arg(TARGET)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", script.display()))?;
    if !output.status.success() {
        bail!("{} did not find a way to install {TARGET}; {}", script.display(), ways(root));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().and_then(|line| line.strip_prefix("RUSTC="));
    let rustc = last.context("the script did not say which compiler to use")?;
    Ok((!rustc.is_empty()).then(|| PathBuf::from(rustc)))
}

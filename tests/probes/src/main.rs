//! Probe functions: each does one thing, good or bad, that a test of the runtime needs.
//!
//! One module holds them all; `argv[0]` says which one is meant.

mod bytes;
mod edits;
mod files;
mod hostile;

use std::process::ExitCode;

use portico_fn::{Output, Program, main_of};

/// The probes by name. `Cargo.toml` lists the same names for the build.
const PROBES: &[(&str, Program)] = &[
    ("delete-first", edits::delete_first),
    ("empty", bytes::empty),
    ("fail3", bytes::fail3),
    ("garbage", bytes::garbage),
    ("generate", edits::generate),
    ("grow", hostile::grow),
    ("identity", bytes::identity),
    ("insert-first-container", edits::insert_first_container),
    ("label-all", edits::label_all),
    ("panic", hostile::panic),
    ("print-paths", edits::print_paths),
    ("read-files", files::read_files),
    ("reserialise", edits::reserialise),
    ("reverse-items", edits::reverse_items),
    ("sleep", hostile::sleep),
    ("spin", hostile::spin),
    ("two-results-exit1", edits::two_results),
];

fn main() -> ExitCode {
    let called = std::env::args_os().next().map(|name| name.display().to_string()).unwrap_or_default();
    let file = called.rsplit('/').next().unwrap_or_default();
    let name = file.strip_suffix(".wasm").unwrap_or(file);
    match PROBES.iter().find(|(known, _)| *known == name) {
        Some((_, probe)) => main_of(probe),
        None => main_of(|_| Output {
            stdout: Vec::new(),
            stderr: format!("no probe `{called}` in this module\n"),
            exit_code: 2,
        }),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_build_knows_every_probe() {
        let manifest = include_str!("../Cargo.toml");
        for (name, _) in super::PROBES {
            assert!(manifest.contains(&format!("\"{name}\"")), "{name} is missing in package.metadata.portico");
        }
    }
}

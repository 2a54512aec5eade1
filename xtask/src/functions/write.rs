//! Putting the modules where the host and the tests look for them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::functions::crates::{Guests, Module};
use crate::say;

/// Writes `target/functions`.
pub(crate) fn functions(root: &Path, built: &Path, guests: &Guests, precompile: bool) -> Result<()> {
    let dir = root.join("target/functions");
    fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let compiler = if precompile { Some(compiler_key()?) } else { None };
    let mut index = "# Written by `cargo xtask functions`, read by the build of portico-catalog.\n".to_owned();
    let mut kept = BTreeSet::from(["catalog.txt".to_owned()]);
    for module in &guests.catalog {
        let wasm = read(&built.join(format!("{}.wasm", module.name)))?;
        let digest = hex(&Sha256::digest(&wasm));
        write_if_changed(&dir.join(format!("{}.wasm", module.name)), &wasm)?;
        kept.insert(format!("{}.wasm", module.name));
        let mut compiled = None;
        if let Some(compiler) = &compiler {
            compiled = Some(precompiled(&dir, module, &wasm, &format!("{digest} {compiler}\n"))?);
            kept.insert(format!("{}.cwasm", module.name));
            kept.insert(format!("{}.key", module.name));
        }
        writeln!(index, "module {} {} sha256:{digest}", module.name, wasm.len())?;
        for function in &module.functions {
            writeln!(index, "function {function} {}", module.name)?;
        }
        report(module, wasm.len(), compiled);
    }
    remove_others(&dir, &kept)?;
    // last: the build of portico-catalog reads it to find the rest
    write_if_changed(&dir.join("catalog.txt"), index.as_bytes())
}

/// Writes `target/probes`.
pub(crate) fn probes(root: &Path, built: &Path, guests: &Guests) -> Result<()> {
    let dir = root.join("target/probes");
    fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let wasm = read(&built.join(format!("{}.wasm", guests.probes.name)))?;
    let mut kept = BTreeSet::new();
    for function in &guests.probes.functions {
        let file = format!("{function}.wasm");
        write_if_changed(&dir.join(&file), &wasm)?;
        kept.insert(file);
    }
    remove_others(&dir, &kept)?;
    say(format_args!("  {} probes, {}, in {}", kept.len(), size(wasm.len()), dir.display()));
    Ok(())
}

/// Compiles a module ahead of time unless that was done already; gives the size.
fn precompiled(dir: &Path, module: &Module, wasm: &[u8], key: &str) -> Result<usize> {
    let file = dir.join(format!("{}.cwasm", module.name));
    let key_file = dir.join(format!("{}.key", module.name));
    if fs::read_to_string(&key_file).is_ok_and(|old| old == key)
        && let Ok(metadata) = fs::metadata(&file)
    {
        return Ok(usize::try_from(metadata.len())?);
    }
    let compiled = portico_runtime::precompile(wasm).with_context(|| format!("cannot compile {}", module.name))?;
    fs::write(&file, &compiled).with_context(|| format!("cannot write {}", file.display()))?;
    fs::write(&key_file, key).with_context(|| format!("cannot write {}", key_file.display()))?;
    Ok(compiled.len())
}

/// Stands for the compiler and its settings, which are part of this executable.
fn compiler_key() -> Result<String> {
    let executable = std::env::current_exe().context("cannot find this executable")?;
    Ok(hex(&Sha256::digest(read(&executable)?)))
}

fn report(module: &Module, wasm: usize, compiled: Option<usize>) {
    let compiled = compiled.map_or("not compiled ahead".to_owned(), |n| format!("{} compiled", size(n)));
    for function in &module.functions {
        say(format_args!("  {function:<16} in {}.wasm, {}, {compiled}", module.name, size(wasm)));
    }
}

fn size(bytes: usize) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Leaves a file with the same bytes alone, so that nothing that depends on it is built again.
fn write_if_changed(file: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(file).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// Removes what an earlier build left.
fn remove_others(dir: &Path, kept: &BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let entry = entry?;
        if !kept.contains(entry.file_name().to_string_lossy().as_ref()) && entry.file_type()?.is_file() {
            fs::remove_file(entry.path()).with_context(|| format!("cannot remove {}", entry.path().display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_files_keep_their_time_and_left_over_files_go() {
        let dir = tempfile::tempdir().expect("a directory");
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        write_if_changed(&a, b"1").expect("written");
        fs::write(&b, b"2").expect("written");
        let before = fs::metadata(&a).and_then(|m| m.modified()).expect("time");
        write_if_changed(&a, b"1").expect("left");
        assert_eq!(fs::metadata(&a).and_then(|m| m.modified()).expect("time"), before);
        remove_others(dir.path(), &BTreeSet::from(["a".to_owned()])).expect("removed");
        assert!(a.exists() && !b.exists());
    }

    #[test]
    fn digests_are_written_in_lower_case_hex() {
        assert_eq!(hex(&[0, 171, 255]), "00abff");
    }
}

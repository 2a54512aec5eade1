//! Finds the compiled functions and writes a table that embeds them.
//!
//! The functions come from `cargo xtask functions`, which runs before this build; nothing is compiled here. Where they
//! are missing the table is empty, so that the libraries build on a machine without a WASI target.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Names another directory than `target/functions` of the workspace.
const DIRECTORY: &str = "PORTICO_FUNCTIONS_DIR";
/// Says what there is to embed.
const INDEX: &str = "catalog.txt";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed={DIRECTORY}");
    let dir = directory()?;
    // an empty directory can be watched, a missing one would make every build run this again
    let _ = fs::create_dir_all(&dir);
    println!("cargo::rerun-if-changed={}", dir.display());
    let index = match fs::read_to_string(dir.join(INDEX)) {
        Ok(index) => index,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no OUT_DIR"))?);
    fs::write(out.join("table.rs"), table(&dir, &index)?)
}

fn directory() -> io::Result<PathBuf> {
    if let Some(dir) = env::var_os(DIRECTORY) {
        return fs::canonicalize(&dir)
            .map_err(|error| io::Error::new(error.kind(), format!("{DIRECTORY}={}: {error}", dir.display())));
    }
    let manifest = env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| io::Error::other("no CARGO_MANIFEST_DIR"))?;
    Ok(Path::new(&manifest).join("../../target/functions"))
}

/// Rust source of the two tables: modules, and functions with the number of their module.
fn table(dir: &Path, index: &str) -> io::Result<String> {
    let mut modules = String::new();
    let mut functions = String::new();
    let mut names: Vec<&str> = Vec::new();
    for line in index.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["module", name, size, digest] => {
                let code = code(dir, name)?;
                let _ = writeln!(
                    modules,
                    "    Embedded {{ name: {name:?}, wasm_bytes: {}, digest: {digest:?}, {code} }},",
                    grouped(size)
                );
                names.push(name);
            }
            ["function", function, module] => {
                let number = names.iter().position(|name| *name == module).ok_or_else(|| unreadable(line))?;
                let _ = writeln!(functions, "    ({function:?}, {number}),");
            }
            [] => {}
            [first, ..] if first.starts_with('#') => {}
            _ => return Err(unreadable(line)),
        }
    }
    Ok(format!(
        "static MODULES: &[Embedded] = &[\n{modules}];\nstatic FUNCTIONS: &[(&str, usize)] = &[\n{functions}];\n"
    ))
}

/// `1968040` as `1_968_040`, the way literals are written.
fn grouped(digits: &str) -> String {
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    out
}

/// The compiled module where there is one, else the module itself, to be compiled when it is first used.
fn code(dir: &Path, name: &str) -> io::Result<String> {
    let (compiled, wasm) = (dir.join(format!("{name}.cwasm")), dir.join(format!("{name}.wasm")));
    let (file, is_compiled) = if compiled.is_file() { (compiled, true) } else { (wasm, false) };
    println!("cargo::rerun-if-changed={}", file.display());
    let path = fs::canonicalize(&file)?;
    let path = path.to_str().ok_or_else(|| io::Error::other(format!("`{}` is not UTF-8", path.display())))?;
    Ok(format!("compiled: {is_compiled}, bytes: &Paged(*include_bytes!({path:?})).0"))
}

fn unreadable(line: &str) -> io::Error {
    io::Error::other(format!("{INDEX} of the functions has a line that this build cannot read: {line}"))
}

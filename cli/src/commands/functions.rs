//! `portico functions`.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use portico_catalog::{Catalog, FunctionInfo};
use portico_runtime::{Digest, Engine, EngineConfig, FunctionModule, FunctionSource, ModuleCode};

use crate::args::FunctionsCommand;
use crate::printer::write_stdout;
use crate::{Exit, setup};

/// Lists or shows functions.
pub(crate) fn run(command: &FunctionsCommand) -> Result<Exit> {
    let text = match command {
        FunctionsCommand::List { json: true } => {
            let all: Vec<serde_json::Value> = Catalog.functions().iter().map(object).collect();
            format!("{:#}\n", serde_json::Value::Array(all))
        }
        FunctionsCommand::List { json: false } => list(),
        FunctionsCommand::Inspect { function } => inspect(function)?,
    };
    write_stdout(text.as_bytes())?;
    Ok(Exit::Passed)
}

fn list() -> String {
    let functions = Catalog.functions();
    let width = functions.iter().map(|f| f.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for function in functions {
        let tag = function.tags.last().copied().unwrap_or("");
        let line = format!("{:width$}  {tag:8}  {}", function.name, function.purpose);
        // A string never fails to take text.
        _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

fn object(function: &FunctionInfo) -> serde_json::Value {
    serde_json::json!({
        "name": function.name,
        "purpose": function.purpose,
        "module": function.module,
        "wasmBytes": function.wasm_bytes,
        "embeddedBytes": function.embedded_bytes,
        "digest": function.digest,
        "tags": function.tags,
    })
}

fn inspect(function: &str) -> Result<String> {
    let path = Path::new(function);
    if path.extension().is_some_and(|e| e == "wasm") {
        return inspect_file(path);
    }
    let Some(info) = Catalog.function(function) else {
        bail!("no function `{function}` is built in; `portico functions list` shows what is");
    };
    let mut out = String::new();
    let mut row = |name: &str, value: &str| _ = writeln!(out, "{name:9} {value}");
    row("name", info.name);
    row("purpose", info.purpose);
    row(
        "module",
        &format!("{} ({} bytes of wasm, {} bytes embedded)", info.module, info.wasm_bytes, info.embedded_bytes),
    );
    row("digest", info.digest);
    row("tags", &info.tags.join(", "));
    if let Some(notice) = Catalog.notice(function) {
        row("note", &notice);
    }
    Ok(out)
}

/// Checks and compiles the module: what a render would say of it is said here.
fn inspect_file(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let engine = Engine::new(EngineConfig { compiler: setup::compiler()?, ..EngineConfig::default() })?;
    let module = engine
        .load(&FunctionModule { name, code: ModuleCode::File(path.to_owned()) })
        .with_context(|| format!("cannot use `{}`", path.display()))?;
    let (size, digest) = (bytes.len(), Digest::of(&bytes));
    let kind = if module.is_component() { "WASI 0.2 command (a component)" } else { "WASI preview 1 command" };
    Ok(format!("file      {}\nsize      {size} bytes\ndigest    sha256:{digest}\nkind      {kind}\n", path.display()))
}

//! The compiling process.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::ExitCode;

use super::answer::Answer;
use crate::cache::compatibility;
use crate::check::Kind;
use crate::child::{OwnLimits, confine, end_with_parent};
use crate::error::ModuleError;
use crate::module::compile_error;

/// Reads a module from standard input and writes the answer to standard output.
///
/// Arguments: bytes of memory, seconds of processor time, bytes of the largest module.
pub(crate) fn child(arguments: &[OsString]) -> ExitCode {
    match compile(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The parent reads it; a user does not.
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn compile(arguments: &[OsString]) -> std::io::Result<()> {
    let wrong =
        || std::io::Error::other("this command is for the program itself: it compiles one module for its parent");
    let numbers: Option<Vec<u64>> = arguments.iter().map(|argument| argument.to_str()?.parse().ok()).collect();
    let Some(&[memory, cpu, module_bytes]) = numbers.as_deref() else { return Err(wrong()) };
    let limit = |value: u64| (value != u64::MAX).then_some(value);
    // Its own streams are no files, and it writes none.
    OwnLimits { memory: limit(memory), address_space: true, cpu: limit(cpu), file_bytes: 0, open_files: 64 }.set()?;
    confine();

    let mut input = std::io::stdin();
    let mut length = [0; 8];
    input.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > module_bytes {
        return Err(wrong());
    }
    let mut wasm = Vec::new();
    (&mut input).take(length).read_to_end(&mut wasm)?;
    if wasm.len() as u64 != length {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    end_with_parent(input)?;

    let engine = wasmtime::Engine::new(&crate::engine::base_config())
        .map_err(|error| std::io::Error::other(format!("{error:#}")))?;
    let compiled = match Kind::of(&wasm) {
        Kind::Core => engine.precompile_module(&wasm),
        Kind::Component => engine.precompile_component(&wasm),
    };
    let answer = match compiled {
        Ok(code) => Answer::Code(code),
        Err(error) => match compile_error(&engine, &wasm, &error) {
            ModuleError::Invalid(text) => Answer::Invalid(text),
            ModuleError::Compile(text) => Answer::Failed(text),
            other => Answer::Failed(other.to_string()),
        },
    };
    drop(wasm);
    let mut output = std::io::stdout().lock();
    output.write_all(&answer.encode(compatibility(&engine)))?;
    output.flush()
}

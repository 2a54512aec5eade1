//! The command line: arguments, environment, standard streams, exit.

use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime_wasi::p2::bindings::cli::terminal_input::TerminalInput;
use wasmtime_wasi::p2::bindings::cli::terminal_output::TerminalOutput;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

use super::{Guest, define, interface, pay_bytes};
use crate::component::streams::{Stderr, Stdin, Stdout};
use crate::component::world::World;
use crate::sandbox::Stop;

pub(super) fn add(linker: &mut Linker<World>) -> wasmtime::Result<()> {
    let mut environment = interface(linker, "cli/environment")?;
    define(&mut environment, "get-environment", |guest: &mut Guest<'_>, ()| {
        let env = guest.data().env.clone();
        pay_bytes(guest, env.iter().map(|(name, value)| name.len() + value.len()).sum())?;
        Ok((env,))
    })?;
    define(&mut environment, "get-arguments", |guest: &mut Guest<'_>, ()| {
        let args = guest.data().args.clone();
        pay_bytes(guest, args.iter().map(String::len).sum())?;
        Ok((args,))
    })?;
    define(&mut environment, "initial-cwd", |_: &mut Guest<'_>, ()| Ok((None::<String>,)))?;

    let mut exit = interface(linker, "cli/exit")?;
    define(&mut exit, "exit", |_: &mut Guest<'_>, (status,): (Result<(), ()>,)| -> wasmtime::Result<()> {
        Err(Stop::Exit(i32::from(status.is_err())).into())
    })?;
    define(&mut exit, "exit-with-code", |_: &mut Guest<'_>, (code,): (u8,)| -> wasmtime::Result<()> {
        Err(Stop::Exit(code.into()).into())
    })?;

    define(&mut interface(linker, "cli/stdin")?, "get-stdin", |guest: &mut Guest<'_>, ()| {
        let stream: DynInputStream = Box::new(Stdin(guest.data().stdio.clone()));
        Ok((guest.data_mut().table.push(stream)?,))
    })?;
    define(&mut interface(linker, "cli/stdout")?, "get-stdout", |guest: &mut Guest<'_>, ()| {
        let stream: DynOutputStream = Box::new(Stdout(guest.data().stdio.clone()));
        Ok((guest.data_mut().table.push(stream)?,))
    })?;
    define(&mut interface(linker, "cli/stderr")?, "get-stderr", |guest: &mut Guest<'_>, ()| {
        let stream: DynOutputStream = Box::new(Stderr(guest.data().stdio.clone()));
        Ok((guest.data_mut().table.push(stream)?,))
    })?;
    terminals(linker)
}

/// No stream is a terminal, so that programs buffer and print no colours.
fn terminals(linker: &mut Linker<World>) -> wasmtime::Result<()> {
    // None is ever made, so none is ever dropped.
    interface(linker, "cli/terminal-input")?.resource(
        "terminal-input",
        ResourceType::host::<TerminalInput>(),
        |_, _| Ok(()),
    )?;
    interface(linker, "cli/terminal-output")?.resource(
        "terminal-output",
        ResourceType::host::<TerminalOutput>(),
        |_, _| Ok(()),
    )?;
    let mut stdin = interface(linker, "cli/terminal-stdin")?;
    define(&mut stdin, "get-terminal-stdin", |_: &mut Guest<'_>, ()| Ok((None::<Resource<TerminalInput>>,)))?;
    for name in ["stdout", "stderr"] {
        let mut output = interface(linker, &format!("cli/terminal-{name}"))?;
        define(&mut output, &format!("get-terminal-{name}"), |_: &mut Guest<'_>, ()| {
            Ok((None::<Resource<TerminalOutput>>,))
        })?;
    }
    Ok(())
}

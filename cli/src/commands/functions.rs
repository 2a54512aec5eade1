//! `portico functions`.

use std::fmt::Write as _;

use anyhow::Result;

use crate::Exit;
use crate::args::FunctionsCommand;
use crate::printer::write_stdout;

/// Lists or shows functions.
pub(crate) fn run(command: &FunctionsCommand) -> Result<Exit> {
    let text = match command {
        FunctionsCommand::List { json } => list(*json)?,
        FunctionsCommand::Inspect { function } => inspect(function)?,
    };
    write_stdout(text.as_bytes())?;
    Ok(Exit::Passed)
}

//! `portico sink`.

use std::io::Read;

use anyhow::{Context, Result};
use portico_runtime::package::check_new_directory;
use portico_runtime::read_resources;

use crate::args::SinkArgs;
use crate::commands::render::{Target, emit, report};
use crate::printer::Printer;
use crate::{Exit, setup};

/// Writes standard input's resources to a new directory.
pub(crate) fn run(arguments: &SinkArgs) -> Result<Exit> {
    let printer = Printer::new(&arguments.messages, false);
    check_new_directory(&arguments.directory)?;
    let limits = setup::configured_limits(&arguments.config, &printer)?;
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
    match read_resources(&bytes, &limits) {
        Ok(resources) => {
            emit(&Target::Directory(arguments.directory.clone()), resources)?;
            Ok(Exit::Passed)
        }
        Err(error) => {
            report(&printer, &error);
            Ok(Exit::Failed)
        }
    }
}

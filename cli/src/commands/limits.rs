//! `portico limits`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use portico_runtime::LimitLayers;
use portico_runtime::image::{ImagePrefix, ImageRef};
use portico_server::config::{Flags, ServerConfig, read_bytes, read_document};
use serde::Deserialize;

use crate::args::serve::{ExplainArgs, LimitsCommand};
use crate::config::{Configuration, Places};
use crate::printer::write_stdout;
use crate::{Exit, explain, setup};

pub(crate) fn run(command: &LimitsCommand) -> Result<Exit> {
    let LimitsCommand::Explain(arguments) = command;
    let (layers, prefix) = layers(arguments)?;
    let image = prefix.apply(&arguments.image);
    ImageRef::parse(&image).context("the image's name can't be read")?;
    write_stdout(explain::function_table(&layers.decide(), &image).as_bytes())?;
    Ok(Exit::Passed)
}

/// Everybody's word on the limits, and what stands in front of short names.
fn layers(arguments: &ExplainArgs) -> Result<(LimitLayers, ImagePrefix)> {
    if let Some(path) = arguments.config.as_deref().filter(|path| is_of_server(path)) {
        // Where it listens and keeps packages is nothing to us.
        let flags =
            Flags { store: Some("/".into()), without_tls: true, without_authentication: true, ..Flags::default() };
        let config = ServerConfig::load(Some(path), &flags)?;
        return Ok((config.layers(arguments.namespace.as_deref().unwrap_or_default()), config.modules.prefix));
    }
    if let Some(namespace) = &arguments.namespace {
        bail!("only a server has namespaces; name its configuration with `--config` to ask about `{namespace}`");
    }
    let places = Places::new(arguments.config.as_deref(), |name| std::env::var_os(name));
    Ok((setup::layers(Configuration::load(&places)?), ImagePrefix::default()))
}

/// Whether a file begins as the server's files do. One that can't be read is no server's: reading it says why.
fn is_of_server(path: &Path) -> bool {
    #[derive(Deserialize)]
    struct Head {
        kind: Option<String>,
    }
    let read = read_bytes(path).and_then(|bytes| read_document::<Head>(&path.display().to_string(), &bytes));
    matches!(read, Ok(Some(Head { kind: Some(_) })))
}

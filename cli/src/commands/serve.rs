//! `portico serve`.

use std::sync::Arc;

use anyhow::{Context, Result};
use portico_catalog::Catalog;
use portico_server::config::{ServerConfig, schema};
use portico_server::ops::{Ended, Program, Server, Stop, init_log};

use crate::Exit;
use crate::args::serve::ServeArgs;
use crate::printer::write_stdout;
use crate::setup;

pub(crate) fn run(arguments: &ServeArgs) -> Result<Exit> {
    if arguments.print_schema {
        write_stdout(format!("{:#}\n", schema()).as_bytes())?;
        return Ok(Exit::Passed);
    }
    let flags = arguments.flags();
    let config = ServerConfig::load(arguments.config.as_deref(), &flags)?;
    if arguments.check {
        Server::check(&config)?;
        return Ok(Exit::Passed);
    }
    let program =
        Program { functions: Arc::new(Catalog), path: setup::this_program()?, cache: setup::cache_directory() };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the server's threads")?;
    let ended = runtime.block_on(async {
        let _log = init_log(&config.log, config.traces.as_deref())?;
        // From now on signals are ours: one that comes while the store is opened is not lost.
        let stop = Stop::on_signals().context("cannot install the handlers of signals")?;
        let server = Server::start(config, &program).await?;
        write_stdout(format!("serving {}\n", server.addresses()).as_bytes())?;
        anyhow::Ok(server.run(&stop).await)
    });
    // A render that does not stop must not keep the process.
    runtime.shutdown_background();
    Ok(match ended? {
        Ended::InOrder => Exit::Passed,
        Ended::Late => Exit::Failed,
        Ended::AtOnce => Exit::Interrupted,
    })
}

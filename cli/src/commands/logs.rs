//! `portico logs`.

use std::path::Path;

use anyhow::{Context as _, Result};
use http_body_util::BodyExt as _;

use crate::Exit;
use crate::args::{LogOutput, LogsArgs};
use crate::client::Server;
use crate::commands::in_runtime;
use crate::printer::write_stdout;

/// Prints a revision's log.
pub(crate) fn run(arguments: &LogsArgs, kubeconfig: Option<&Path>) -> Result<Exit> {
    in_runtime(async {
        let server = Server::connect(&arguments.server, kubeconfig).await?;
        let mut query = Vec::new();
        if arguments.follow {
            query.push("follow=true".to_owned());
        }
        if arguments.output == LogOutput::Json {
            query.push("format=json".to_owned());
        }
        if let Some(render) = &arguments.render {
            let known = render.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
            anyhow::ensure!(
                known,
                "`--render {render}`: letters, digits and `-` make an id; the log's first line has it"
            );
            query.push(format!("render={render}"));
        }
        if let Some(lines) = arguments.tail {
            query.push(format!("tailLines={lines}"));
        }
        let path = server.path("packagerevisions", &arguments.name, "log")?;
        let mut body = server.stream(&format!("{path}?{}", query.join("&"))).await?.into_body();
        while let Some(frame) = body.frame().await {
            let frame = frame.context("the log broke off; ask again")?;
            if let Some(part) = frame.data_ref() {
                // The server has taken out what would act on a terminal.
                write_stdout(part)?;
            }
        }
        Ok(Exit::Passed)
    })
}

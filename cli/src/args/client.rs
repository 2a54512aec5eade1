//! The arguments of the commands that speak to a server.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};

use super::MessageArgs;
use crate::units::{Bound, parse_duration};

/// Which server, and who asks. As kubectl: `--kubeconfig`, else `KUBECONFIG`, else `~/.kube/config`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// The namespace; without it that of the kubeconfig's context
    #[arg(short, long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) namespace: Option<String>,
    /// The kubeconfig's context to use
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The server's address, in place of the kubeconfig's; no kubeconfig is needed then
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// A bearer token, in place of the kubeconfig's; other users of the machine see arguments, so better in the variable
    #[arg(long, env = "PORTICO_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Certificates that may have signed the server's, in place of the kubeconfig's
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate_authority: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PushArgs {
    /// The package's directory; it holds a Kptfile. What `.krmignore` names stays here
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// The revision's name; without it `REPOSITORY.PACKAGE.WORKSPACE`
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: Option<String>,
    /// The repository of a new draft
    #[arg(long, default_value = "default", value_name = "NAME")]
    pub(crate) repository: String,
    /// The package of a new draft; without it the name in the Kptfile
    #[arg(long, value_name = "NAME")]
    pub(crate) package: Option<String>,
    /// The workspace of a new draft
    #[arg(long, default_value = "v1", value_name = "NAME")]
    pub(crate) workspace: String,
    /// Push only if the draft still has this resource version
    #[arg(long, value_name = "VERSION")]
    pub(crate) resource_version: Option<String>,
    /// Wait for the render and say how it ended; exit 1 when it failed
    #[arg(long)]
    pub(crate) wait: bool,
    /// Wait for the render, and propose the draft when it passed
    #[arg(long)]
    pub(crate) propose: bool,
    /// How long to wait: `10m`, `unlimited`
    #[arg(long, default_value = "10m", value_parser = parse_duration, value_name = "DURATION")]
    pub(crate) timeout: Bound<Duration>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) messages: MessageArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// The revision's name
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// Go on until the newest content has been rendered
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// What to print; with --follow, json is an object a line
    #[arg(short, long, value_enum, default_value_t = LogOutput::Text, value_name = "FORMAT")]
    pub(crate) output: LogOutput,
    /// The log of this render, while it is kept
    #[arg(long, value_name = "ID")]
    pub(crate) render: Option<String>,
    /// Of what is there, the last lines
    #[arg(long, value_name = "N")]
    pub(crate) tail: Option<u64>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogOutput {
    Text,
    Json,
}

//! The arguments of `portico serve` and of what goes with it.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use portico_server::config::{Flags, LogFormat};
use portico_server::grpc::Fallback;
use portico_server::ops::Address;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Configuration file of the server; what stands on the command line goes before it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// File that packages are kept in; it is made where there is none
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    /// Where the API listens: `127.0.0.1:8080`, `unix:/run/portico.sock`
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<Address>,
    /// Where gRPC listens; without this it does not
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) grpc: Option<Address>,
    /// Function runner that images without a module here go to: `HOST:PORT`, in plaintext
    #[arg(long, value_name = "ADDRESS", value_parser = Fallback::at)]
    pub(crate) fallback: Option<Fallback>,
    /// Renders at one time; the number of cores less one where nothing is said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=500))]
    pub(crate) workers: Option<u16>,
    /// How lines of the log are written
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormatArg>,
    /// Which lines are: `error`, `warn`, `info`, `debug`, `trace`, or what `RUST_LOG` takes, which goes before this
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
    /// Listen without TLS on addresses that others reach. Whoever is in between reads and changes everything
    #[arg(long)]
    pub(crate) insecure_without_tls: bool,
    /// Listen without authentication, or without roles, on addresses that others reach. Whoever reaches them may do
    /// everything
    #[arg(long)]
    pub(crate) insecure_without_authentication: bool,
    /// Print the JSON schema of the configuration file and end
    #[arg(long)]
    pub(crate) print_schema: bool,
    /// Read the configuration and all files that it names, say what is wrong, and end
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LimitsArgs {
    #[command(subcommand)]
    pub(crate) command: LimitsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LimitsCommand {
    /// Say which value each limit has for a function, who set it, and what capped it
    Explain(ExplainArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The function's image
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) image: String,
    /// The namespace of the server whose package it is
    #[arg(long, short = 'n')]
    pub(crate) namespace: Option<String>,
    /// Configuration file of the server, or one of this program; the latter's own files where nothing is said
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    /// The user's name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) user: String,
    /// A group that the user is in
    #[arg(long = "group", value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
    /// File of tokens to add it to; it is made where there is none. Without this the entry is printed behind the token
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormatArg {
    Text,
    Json,
}

impl ServeArgs {
    /// What goes before the file.
    pub(crate) fn flags(&self) -> Flags {
        Flags {
            store: self.store.clone(),
            api: self.listen.clone(),
            grpc: self.grpc.clone(),
            fallback: self.fallback.clone(),
            workers: self.workers,
            log_format: self.log_format.map(|format| match format {
                LogFormatArg::Text => LogFormat::Text,
                LogFormatArg::Json => LogFormat::Json,
            }),
            log_level: self.log_level.clone(),
            without_tls: self.insecure_without_tls,
            without_authentication: self.insecure_without_authentication,
        }
    }
}

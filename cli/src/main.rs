//! `portico`: renders kpt packages without containers.

mod args;
mod client;
mod commands;
mod config;
mod diff;
mod explain;
mod printer;
mod progress;
#[cfg(test)]
mod reference;
mod setup;
mod units;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command, FnCommand};

/// How a command ended; see the help text for the codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Passed,
    /// A function failed, an input was refused, or `--check` found a change. It has been said.
    Failed,
    /// Interrupted.
    Interrupted,
}

fn main() -> ExitCode {
    // First of all: a process that works for another one gives up what it does not need before anything else happens.
    if let Some(code) = portico_runtime::serve_child(setup::embedded) {
        return code;
    }
    let arguments = units::without_log_levels(std::env::args_os());
    let Cli { command, ignored: global } = Cli::parse_from(arguments);
    let result = match &command {
        Command::Render(arguments) | Command::Fn(args::FnArgs { command: FnCommand::Render(arguments) }) => {
            commands::render::run(arguments)
        }
        Command::Eval(arguments) | Command::Fn(args::FnArgs { command: FnCommand::Eval(arguments) }) => {
            commands::eval::run(arguments)
        }
        Command::Source(arguments) | Command::Fn(args::FnArgs { command: FnCommand::Source(arguments) }) => {
            commands::source::run(arguments)
        }
        Command::Sink(arguments) | Command::Fn(args::FnArgs { command: FnCommand::Sink(arguments) }) => {
            commands::sink::run(arguments)
        }
        Command::Push(arguments) => commands::push::run(arguments, global.kubeconfig.as_deref()),
        Command::Logs(arguments) => commands::logs::run(arguments, global.kubeconfig.as_deref()),
        Command::Functions(arguments) => commands::functions::run(&arguments.command),
        Command::Serve(arguments) => commands::serve::run(arguments),
        Command::Limits(arguments) => commands::limits::run(&arguments.command),
        Command::Token(arguments) => commands::token::run(arguments),
        Command::Completion { shell } => commands::completion(*shell),
    };
    match result {
        Ok(Exit::Passed) => ExitCode::SUCCESS,
        Ok(Exit::Failed) => ExitCode::from(1),
        Ok(Exit::Interrupted) => ExitCode::from(130),
        Err(error) => {
            // The chain of causes, each once.
            let text = format!("error: {error:#}");
            match command.messages() {
                Some(messages) => printer::Printer::new(messages, false).error(&text),
                None => printer::bare_error(&text),
            }
            ExitCode::from(1)
        }
    }
}

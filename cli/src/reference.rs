//! `docs/cli.md` stays true: what stands below its mark is made from the arguments, and a test compares.
//! `PORTICO_BLESS=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, ArgAction, Command, CommandFactory};

/// Everything behind this line of the file is made here.
const MARK: &str =
    "<!-- Below this line: made from the program's arguments by `PORTICO_BLESS=1 cargo test -p portico`. -->\n";

#[test]
fn the_reference_says_what_the_program_takes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
    let text = std::fs::read_to_string(&path).expect("docs/cli.md is readable");
    let (written, made) = text.split_once(MARK).expect("docs/cli.md has the mark");
    let mut fresh = String::new();
    let mut program = crate::args::Cli::command();
    program.build();
    command(&program, "portico", &mut fresh);
    if std::env::var_os("PORTICO_BLESS").is_some() {
        std::fs::write(&path, format!("{written}{MARK}{fresh}")).expect("docs/cli.md is writable");
        return;
    }
    assert_eq!(made, fresh, "run the tests of this package with PORTICO_BLESS=1");
}

/// A section for the command, then those of its subcommands.
fn command(of: &Command, path: &str, out: &mut String) {
    let subcommands: Vec<&Command> =
        of.get_subcommands().filter(|s| s.get_name() != "help" && !s.is_hide_set()).collect();
    if path != "portico" {
        let about = of.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(out, "\n## `{path}`\n\n{about}.").expect("a string takes text");
        if path == "portico fn" {
            let names: Vec<String> = subcommands.iter().map(|s| format!("`{path} {}`", s.get_name())).collect();
            writeln!(out, "\n{} take what the commands without `fn` take.", names.join(", "))
                .expect("a string takes text");
            return;
        }
        let shown: Vec<&Arg> = of.get_arguments().filter(|a| !a.is_hide_set() && a.get_id() != "help").collect();
        if !shown.is_empty() {
            out.push_str("\n| argument | meaning |\n| --- | --- |\n");
            for argument in &shown {
                writeln!(out, "| {} | {} |", spelling(argument), meaning(argument)).expect("a string takes text");
            }
        }
        let global = |a: &&Arg| a.is_global_set();
        let hidden: Vec<String> = of
            .get_arguments()
            .filter(|a| a.is_hide_set() && !global(a))
            .filter_map(|a| Some(format!("`--{}`", a.get_long()?)))
            .collect();
        if !hidden.is_empty() {
            writeln!(out, "\nOf kpt, for containers: {}.", hidden.join(", ")).expect("a string takes text");
        }
    }
    for subcommand in subcommands {
        command(subcommand, &format!("{path} {}", subcommand.get_name()), out);
    }
}

fn spelling(argument: &Arg) -> String {
    let value = argument.get_value_names().map(|names| names.join(" ")).unwrap_or_default();
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let value = if takes_value { format!(" {value}") } else { String::new() };
    let text = match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(long)) => format!("`-{short}`, `--{long}{value}`"),
        (None, Some(long)) => format!("`--{long}{value}`"),
        (Some(short), None) => format!("`-{short}{value}`"),
        (None, None) if argument.is_last_set() => format!("`--{value}...`"),
        (None, None) => format!("`{}`", value.trim()),
    };
    text.replace('|', "\\|")
}

fn meaning(argument: &Arg) -> String {
    let mut text = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let default: Vec<String> = argument.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    if takes_value {
        let possible: Vec<String> =
            argument.get_possible_values().iter().map(|v| format!("`{}`", v.get_name())).collect();
        if !possible.is_empty() {
            _ = write!(text, ". One of {}", possible.join(", "));
        }
        if !default.is_empty() {
            _ = write!(text, ". Default `{}`", default.join(" "));
        }
    }
    if matches!(argument.get_action(), ArgAction::Append | ArgAction::Count) {
        text.push_str(". May be repeated");
    }
    if let Some(variable) = argument.get_env() {
        _ = write!(text, ". Or `${}`", variable.to_string_lossy());
    }
    format!("{}.", text.replace('|', "\\|"))
}

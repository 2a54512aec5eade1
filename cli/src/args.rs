//! The arguments, as kpt spells them where kpt has them. Types only; what they mean is decided in `commands`.

#![expect(clippy::doc_markdown, reason = "these comments are help texts, which show backticks as they stand")]

mod client;
pub(crate) mod serve;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use portico_runtime::Mount;
use portico_runtime::image::ImagePrefix;

use portico_runtime::{LimitName, LimitValue};

pub(crate) use client::{LogOutput, LogsArgs, PushArgs, ServerArgs};

use crate::units::{
    Bound, parse_any_limit, parse_bytes, parse_count, parse_duration, parse_env, parse_function, parse_pair,
    parse_prefix,
};

/// Render kpt packages without containers
///
/// Every function runs as a WASI program in one sandbox, bounded in fuel, time and memory.
#[derive(Debug, Parser)]
#[command(name = "portico", version, max_term_width = 110, disable_help_subcommand = true)]
#[command(after_help = "\
Exit codes:
  0  everything passed (with --check: and nothing would change)
  1  a function failed, an input was refused, or --check found a change
  2  the command line is wrong
  130  interrupted; no file was changed")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) ignored: GlobalArgs,
}

/// kpt's global flags, which may stand before and behind a command: accepted, without effect. Nothing is truncated here,
/// errors have no stack traces, and no cluster is asked.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    #[arg(long, global = true, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) truncate_output: Option<String>,
    #[arg(long, global = true, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) stack_trace: Option<String>,
    #[arg(long, global = true, hide = true)]
    pub(crate) log_flush_frequency: Option<String>,
    #[arg(long, global = true, hide = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the pipelines of a package and write back what they changed
    Render(Box<RenderArgs>),
    /// Run one function on the resources of a directory or of standard input
    Eval(Box<EvalArgs>),
    /// Print the resources of a directory as a ResourceList
    Source(SourceArgs),
    /// Write the resources of standard input to a new directory
    Sink(SinkArgs),
    /// kpt's spelling of the commands above: `alias kpt=portico`
    Fn(FnArgs),
    /// Send a package to a draft on a server, which renders it
    Push(Box<PushArgs>),
    /// Print what the render of a revision on a server did
    Logs(Box<LogsArgs>),
    /// What functions are there
    Functions(FunctionsArgs),
    /// Keep packages and render them after each change, behind the Kubernetes API
    Serve(Box<serve::ServeArgs>),
    /// What limits hold
    Limits(serve::LimitsArgs),
    /// Make a token with which a user calls the server
    Token(serve::TokenArgs),
    /// Print a completion script for a shell
    Completion {
        /// The shell
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// How this command is to print, if it can be told.
    pub(crate) fn messages(&self) -> Option<&MessageArgs> {
        match self {
            Command::Render(arguments) | Command::Fn(FnArgs { command: FnCommand::Render(arguments) }) => {
                Some(&arguments.messages)
            }
            Command::Eval(arguments) | Command::Fn(FnArgs { command: FnCommand::Eval(arguments) }) => {
                Some(&arguments.messages)
            }
            Command::Source(arguments) | Command::Fn(FnArgs { command: FnCommand::Source(arguments) }) => {
                Some(&arguments.messages)
            }
            Command::Sink(arguments) | Command::Fn(FnArgs { command: FnCommand::Sink(arguments) }) => {
                Some(&arguments.messages)
            }
            Command::Push(arguments) => Some(&arguments.messages),
            Command::Logs(_)
            | Command::Functions(_)
            | Command::Serve(_)
            | Command::Limits(_)
            | Command::Token(_)
            | Command::Completion { .. } => None,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct FnArgs {
    #[command(subcommand)]
    pub(crate) command: FnCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FnCommand {
    /// Run the pipelines of a package and write back what they changed
    Render(Box<RenderArgs>),
    /// Run one function on the resources of a directory or of standard input
    Eval(Box<EvalArgs>),
    /// Print the resources of a directory as a ResourceList
    Source(SourceArgs),
    /// Write the resources of standard input to a new directory
    Sink(SinkArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// The package's directory; it holds a Kptfile
    #[arg(default_value = ".", value_name = "PKG_PATH")]
    pub(crate) package: PathBuf,
    // kpt ignores what follows.
    #[arg(hide = true)]
    pub(crate) ignored: Vec<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) functions: FunctionArgs,
    #[command(flatten)]
    pub(crate) grants: GrantArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) messages: MessageArgs,
    #[command(flatten)]
    pub(crate) ignored_flags: ContainerArgs,
    /// Print what would change as a diff and write nothing
    #[arg(long)]
    pub(crate) diff: bool,
    /// Write nothing; exit 1 when something would change (the recorded status does not count)
    #[arg(long)]
    pub(crate) check: bool,
    /// What to record in the Kptfile: conditions and render status (older kpt cannot read the latter), conditions, nothing
    #[arg(long, value_enum, default_value_t = StatusArg::Full, value_name = "WHAT")]
    pub(crate) status: StatusArg,
    /// Run functions named by `exec`: programs of this machine, outside the sandbox
    #[arg(long)]
    pub(crate) allow_exec: bool,
    /// Where functions run: in this process, or in a child process that the system holds to computing (no files, sockets,
    /// other programs); for packages that you do not trust
    #[arg(long, value_enum, default_value_t = IsolationArg::None, value_name = "WHERE")]
    pub(crate) isolation: IsolationArg,
    /// Let functions of a Kptfile have a `condition`, a CEL expression on their `resources`: one whose condition is false
    /// is skipped. An experiment: kpt refuses the field
    #[arg(long)]
    pub(crate) experimental_conditions: bool,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true).args(["image", "exec", "explain_limits"])))]
pub(crate) struct EvalArgs {
    /// A directory with resources, or `-` for standard input
    #[arg(default_value = ".", value_name = "DIR|-")]
    pub(crate) directory: PathBuf,
    /// The function to run, by image name
    #[arg(long, short = 'i', value_parser = NonEmptyStringValueParser::new())]
    pub(crate) image: Option<String>,
    /// A program of this machine to run as the function, with its arguments
    #[arg(long, conflicts_with = "image", value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) exec: Option<String>,
    /// File with the functionConfig
    #[arg(long, value_name = "FILE", conflicts_with = "arguments")]
    pub(crate) fn_config: Option<PathBuf>,
    /// Version or range of versions of the function
    #[arg(long, value_name = "VERSION")]
    pub(crate) tag: Option<String>,
    /// Data of a functionConfig of kind ConfigMap
    #[arg(last = true, value_name = "KEY=VALUE", value_parser = parse_pair)]
    pub(crate) arguments: Vec<(String, String)>,
    /// Add the function to the Kptfile's pipeline
    #[arg(long, short = 's')]
    pub(crate) save: bool,
    /// Where --save adds it
    #[arg(long = "type", short = 't', value_enum, default_value_t = FunctionType::Mutator)]
    pub(crate) function_type: FunctionType,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) functions: FunctionArgs,
    #[command(flatten)]
    pub(crate) grants: GrantArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) messages: MessageArgs,
    #[command(flatten)]
    pub(crate) ignored_flags: ContainerArgs,
    /// Print what would change as a diff and write nothing
    #[arg(long)]
    pub(crate) diff: bool,
    /// Write nothing; exit 1 when something would change
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SelectionArgs {
    /// Only resources with this apiVersion
    #[arg(long, value_name = "VERSION", help_heading = "Selection")]
    pub(crate) match_api_version: Option<String>,
    /// Only resources of this kind
    #[arg(long, value_name = "KIND", help_heading = "Selection")]
    pub(crate) match_kind: Option<String>,
    /// Only resources of this name
    #[arg(long, value_name = "NAME", help_heading = "Selection")]
    pub(crate) match_name: Option<String>,
    /// Only resources in this namespace
    #[arg(long, value_name = "NAMESPACE", help_heading = "Selection")]
    pub(crate) match_namespace: Option<String>,
    /// Only resources with this label
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair, help_heading = "Selection")]
    pub(crate) match_labels: Vec<(String, String)>,
    /// Only resources with this annotation
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair, help_heading = "Selection")]
    pub(crate) match_annotations: Vec<(String, String)>,
    /// No resources with this apiVersion
    #[arg(long, value_name = "VERSION", help_heading = "Selection")]
    pub(crate) exclude_api_version: Option<String>,
    /// No resources of this kind
    #[arg(long, value_name = "KIND", help_heading = "Selection")]
    pub(crate) exclude_kind: Option<String>,
    /// No resources of this name
    #[arg(long, value_name = "NAME", help_heading = "Selection")]
    pub(crate) exclude_name: Option<String>,
    /// No resources in this namespace
    #[arg(long, value_name = "NAMESPACE", help_heading = "Selection")]
    pub(crate) exclude_namespace: Option<String>,
    /// No resources with this label
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair, help_heading = "Selection")]
    pub(crate) exclude_labels: Vec<(String, String)>,
    /// No resources with this annotation
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair, help_heading = "Selection")]
    pub(crate) exclude_annotations: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// The directory
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// `stdout` (a ResourceList) or `unwrap` (documents)
    #[arg(long, short = 'o', default_value = "stdout", value_parser = ["stdout", "unwrap"])]
    pub(crate) output: String,
    /// File with a functionConfig to put into the ResourceList
    #[arg(long, value_name = "FILE")]
    pub(crate) fn_config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) messages: MessageArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SinkArgs {
    /// The directory; it must not exist
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) messages: MessageArgs,
}

#[derive(Debug, Args)]
pub(crate) struct FunctionsArgs {
    #[command(subcommand)]
    pub(crate) command: FunctionsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FunctionsCommand {
    /// List the functions that come with the program
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a function: a catalog image or a .wasm file
    Inspect {
        /// Image name or path of a .wasm file
        function: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Instead of in place: `stdout` (a ResourceList), `unwrap` (documents), or a directory that does not exist
    #[arg(long, short = 'o', value_name = "stdout|unwrap|DIR")]
    pub(crate) output: Option<String>,
    /// Directory for results.yaml
    #[arg(long, value_name = "DIR")]
    pub(crate) results_dir: Option<PathBuf>,
    /// `preserve` leaves every byte that no function changed; `kpt` formats whole files as kpt does
    #[arg(long, value_enum, default_value_t = YamlStyle::Preserve, value_name = "STYLE")]
    pub(crate) yaml_style: YamlStyle,
}

#[derive(Debug, Args)]
pub(crate) struct FunctionArgs {
    /// Registry and path in front of images without a `/`
    #[arg(long, env = "KPT_IMAGE_PREFIX", value_name = "PREFIX", value_parser = parse_prefix, help_heading = "Functions")]
    pub(crate) image_prefix: Option<ImagePrefix>,
    /// Take an image's module from a file
    #[arg(long = "function", value_name = "IMAGE=FILE.wasm", value_parser = parse_function, help_heading = "Functions")]
    pub(crate) function: Vec<(String, PathBuf)>,
    /// Take modules from a directory: NAME.wasm for any image whose last part is NAME
    #[arg(long, value_name = "DIR", help_heading = "Functions")]
    pub(crate) function_dir: Vec<PathBuf>,
    /// Run everything twice, in fresh sandboxes; a step that does not do the same again is an error, and nothing is written
    #[arg(long, help_heading = "Functions")]
    pub(crate) verify_determinism: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GrantArgs {
    /// Let functions read a directory: they see a copy of DIR, made now, as /PATH; links that lead out of it are left out
    #[arg(long, value_name = "type=bind,src=DIR,dst=/PATH", help_heading = "Grants")]
    pub(crate) mount: Vec<Mount>,
    /// Let functions see an environment variable: KEY=VALUE, or KEY to pass this process's value
    #[arg(long, short = 'e', value_name = "KEY[=VALUE]", value_parser = parse_env, help_heading = "Grants")]
    pub(crate) env: Vec<EnvArg>,
}

/// `-e`. Its value is never shown: it may be a secret.
#[derive(Clone)]
pub(crate) struct EnvArg {
    pub(crate) name: String,
    /// None: this process's value.
    pub(crate) value: Option<String>,
}

impl std::fmt::Debug for EnvArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("EnvArg").field(&self.name).finish()
    }
}

#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// Time for the whole render (`90s`, `5m`; 0 or `unlimited` for none)
    #[arg(long, value_parser = parse_duration, value_name = "DURATION", help_heading = "Limits")]
    pub(crate) timeout: Option<Bound<Duration>>,
    /// Time for each function
    #[arg(long, value_parser = parse_duration, value_name = "DURATION", help_heading = "Limits")]
    pub(crate) fn_timeout: Option<Bound<Duration>>,
    /// Fuel for the whole render, in wasm instructions (`2000000000`, `2G`, `unlimited`)
    #[arg(long, value_parser = parse_count, value_name = "N", help_heading = "Limits")]
    pub(crate) fuel: Option<Bound<u64>>,
    /// Memory for a function (`64MiB`, `1GiB`)
    #[arg(long, value_parser = parse_bytes, value_name = "BYTES", help_heading = "Limits")]
    pub(crate) max_memory: Option<Bound<u64>>,
    /// Any limit by its name, such as `stdout=64MiB`; they are listed by --explain-limits
    #[arg(long = "limit", value_parser = parse_any_limit, value_name = "NAME=VALUE", help_heading = "Limits")]
    pub(crate) limit: Vec<(LimitName, LimitValue)>,
    /// Print every limit, who set it, and what capped it; run nothing
    #[arg(long, help_heading = "Limits")]
    pub(crate) explain_limits: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Configuration file, instead of `$PORTICO_CONFIG` or `$XDG_CONFIG_HOME/portico/config.yaml`; what stands in
    /// `/etc/portico/config.yaml` counts in any case
    #[arg(long, value_name = "FILE", help_heading = "Limits")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct MessageArgs {
    /// How to report progress on standard error
    #[arg(long, value_enum, default_value_t = Progress::Auto, help_heading = "Messages")]
    pub(crate) progress: Progress,
    /// Colours in messages
    #[arg(long, value_enum, default_value_t = Color::Auto, help_heading = "Messages")]
    pub(crate) color: Color,
    /// Print errors only
    #[arg(long, short = 'q', conflicts_with = "verbose", help_heading = "Messages")]
    pub(crate) quiet: bool,
    /// Print fuel, memory and time of each step
    #[arg(long, short = 'v', action = clap::ArgAction::Count, help_heading = "Messages")]
    pub(crate) verbose: u8,
}

/// Flags of kpt that speak of containers: accepted, checked, without effect.
#[derive(Debug, Args)]
pub(crate) struct ContainerArgs {
    #[arg(long, hide = true, value_parser = ["Always", "IfNotPresent", "Never"], ignore_case = true)]
    pub(crate) image_pull_policy: Option<String>,
    #[arg(long, hide = true)]
    pub(crate) allow_network: bool,
    #[arg(long, hide = true)]
    pub(crate) allow_alpha_wasm: bool,
    #[arg(long, hide = true)]
    pub(crate) network: bool,
    #[arg(long, hide = true)]
    pub(crate) as_current_user: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum YamlStyle {
    Preserve,
    Kpt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusArg {
    Full,
    Conditions,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IsolationArg {
    None,
    Process,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FunctionType {
    Mutator,
    Validator,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    /// `plain`, with colours on a terminal
    Auto,
    Plain,
    /// One JSON object a line
    Json,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

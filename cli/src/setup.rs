//! From arguments to an engine, sources and limits.

use std::env::VarError;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use portico_catalog::Catalog;
use portico_runtime::{
    CallOptions, CancelToken, CompileLimits, Compiler, DecidedLimits, Engine, EngineConfig, FunctionDir, FunctionFiles,
    FunctionSource, GrantLimits, GrantedDirectory, Grants, LimitLayers, LimitName, LimitSettings, LimitSource,
    LimitValue, Limits, Mount, Renderer, Sources, WorkerConfig, WorkerLimits, WriteStyle,
};

use crate::args::{ConfigArgs, EnvArg, FunctionArgs, GrantArgs, IsolationArg, LimitArgs, YamlStyle};
use crate::config::{Configuration, Grant, Granted, Places};
use crate::printer::Printer;
use crate::units::Bound;

/// The renderer of one run of the program.
pub(crate) fn renderer(arguments: &FunctionArgs, limits: &Limits, compile_limits: CompileLimits) -> Result<Renderer> {
    // One render, one engine: what the render accepts is what the engine accepts.
    let module_bytes = limits.module_bytes;
    let compiler = compiler()?;
    let cache_dir = cache_directory();
    let config = EngineConfig { cache_dir, compiler, compile_limits, module_bytes, ..EngineConfig::default() };
    let engine = Engine::new(config)?;
    Ok(Renderer::new(engine, sources(arguments)?))
}

/// The renderer with its renders where they are to run; `configured` is the place in a file that asks for a process.
pub(crate) fn isolated(
    renderer: Renderer,
    isolation: IsolationArg,
    configured: Option<&str>,
    allow_exec: bool,
) -> Result<Renderer> {
    let asked = match (isolation, configured) {
        (IsolationArg::Process, _) => "`--isolation process`".to_owned(),
        (IsolationArg::None, Some(place)) => format!("`isolation: process` ({place})"),
        (IsolationArg::None, None) => return Ok(renderer),
    };
    ensure!(!allow_exec, "{asked} and `--allow-exec` exclude each other: an isolated render runs no programs");
    Ok(renderer.isolated(WorkerConfig { program: this_program()?, limits: WorkerLimits::default() }))
}

/// The functions that are part of this program.
pub(crate) fn embedded() -> Sources {
    Sources::new(vec![Arc::new(Catalog)])
}

/// Modules are compiled in a child process of this program.
pub(crate) fn compiler() -> Result<Compiler> {
    Ok(Compiler::Child(this_program()?))
}

/// The path of the running program, for its children.
pub(crate) fn this_program() -> Result<PathBuf> {
    // Leads to this very program even when another version has taken its place in the file system.
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() {
        return Ok(running);
    }
    std::env::current_exe()
        .context("cannot find the file of this program, which compiles functions in a process of its own")
}

/// `--function`, then `--function-dir`, then the catalog.
pub(crate) fn sources(arguments: &FunctionArgs) -> Result<Sources> {
    let mut sources: Vec<Arc<dyn FunctionSource>> = Vec::new();
    let mut files = FunctionFiles::default();
    for (image, file) in &arguments.function {
        files.add(image, file)?;
    }
    sources.push(Arc::new(files));
    for directory in &arguments.function_dir {
        ensure!(directory.is_dir(), "`--function-dir {}` is no directory", directory.display());
        sources.push(Arc::new(FunctionDir::new(directory)));
    }
    sources.push(Arc::new(Catalog));
    Ok(Sources::new(sources))
}

/// How functions are called.
pub(crate) fn calls(functions: &FunctionArgs, limits: &DecidedLimits, grants: Grants, allow_exec: bool) -> CallOptions {
    CallOptions {
        limits: limits.limits.clone(),
        profiles: limits.step_profiles(),
        image_prefix: functions.image_prefix.clone().unwrap_or_default(),
        allow_exec,
        grants,
    }
}

/// Reads the directories that functions may see, and the variables: those of the configuration, then those of the flags.
pub(crate) fn grants(arguments: &GrantArgs, configured: &[Granted], printer: &Printer) -> Result<Grants> {
    let mut grants = Grants::default();
    for Granted { place, what } in configured {
        match what {
            Grant::Directory { source, target } => {
                let context = || format!("{place}: directory `{}`", source.display());
                let (directory, warnings) =
                    GrantedDirectory::read(source, target, &GrantLimits::default()).with_context(context)?;
                for warning in warnings {
                    printer.warning(&warning.to_string());
                }
                grants.add_directory(directory).with_context(context)?;
            }
            Grant::Variable { name, value } => {
                grants.set_env(name, value).with_context(|| format!("{place}: environment"))?;
            }
        }
    }
    for Mount { source, target } in &arguments.mount {
        let context = || format!("`--mount src={},dst={target}`", source.display());
        let (directory, warnings) =
            GrantedDirectory::read(source, target, &GrantLimits::default()).with_context(context)?;
        for warning in warnings {
            printer.warning(&warning.to_string());
        }
        grants.add_directory(directory).context("`--mount`")?;
    }
    for EnvArg { name, value } in &arguments.env {
        let value = match value {
            Some(value) => Some(value.clone()),
            // The system's own function panics for a name that cannot be one; the check below says so.
            None if name.is_empty() => Some(String::new()),
            None => match std::env::var(name) {
                Ok(value) => Some(value),
                // As kpt: one that is not set is not passed.
                Err(VarError::NotPresent) => None,
                Err(VarError::NotUnicode(_)) => bail!("`--env {name}`: its value is not UTF-8"),
            },
        };
        if let Some(value) = value {
            grants.set_env(name, value).context("`--env`")?;
        }
    }
    Ok(grants)
}

/// The configuration files.
pub(crate) fn configuration(arguments: &ConfigArgs) -> Result<Configuration> {
    Configuration::load(&Places::new(arguments.config.as_deref(), |name| std::env::var_os(name)))
}

/// The limits of commands without flags for them.
pub(crate) fn configured_limits(arguments: &ConfigArgs, printer: &Printer) -> Result<Limits> {
    Ok(decided(&layers(configuration(arguments)?), printer).limits)
}

/// What the flags, the configuration and the operator's maximum come to.
pub(crate) fn limits(arguments: &LimitArgs, configuration: Configuration, printer: &Printer) -> DecidedLimits {
    let mut layers = layers(configuration);
    layers.request = requested(arguments);
    decided(&layers, printer)
}

pub(crate) fn layers(configuration: Configuration) -> LimitLayers {
    let Configuration { limits, maximum, profiles, .. } = configuration;
    LimitLayers { configuration: limits, maximum, profiles, ..LimitLayers::default() }
}

fn decided(layers: &LimitLayers, printer: &Printer) -> DecidedLimits {
    let decided = layers.decide();
    for warning in decided.warnings() {
        printer.warning(&warning);
    }
    decided
}

/// What the command line asks for.
fn requested(arguments: &LimitArgs) -> LimitSettings {
    let mut settings = LimitSettings::default();
    let mut set = |name, value, flag: &str| settings.set(name, value, LimitSource::Request(flag.to_owned()));
    let time = |bound| match bound {
        Bound::Unlimited => LimitValue::Time(Duration::MAX),
        Bound::At(time) => LimitValue::Time(time),
    };
    let number = |bound| match bound {
        Bound::Unlimited => LimitValue::Count(u64::MAX),
        Bound::At(n) => LimitValue::Count(n),
    };
    if let Some(bound) = arguments.timeout {
        set(LimitName::RenderTime, time(bound), "--timeout");
    }
    if let Some(bound) = arguments.fn_timeout {
        set(LimitName::StepTime, time(bound), "--fn-timeout");
    }
    if let Some(bound) = arguments.fuel {
        set(LimitName::Fuel, number(bound), "--fuel");
        // The number is the whole budget, whatever the size of the input and the number of steps.
        set(LimitName::FuelPerStep, LimitValue::Count(0), "--fuel");
        set(LimitName::FuelPerInputByte, LimitValue::Count(0), "--fuel");
    }
    if let Some(bound) = arguments.max_memory {
        set(LimitName::Memory, number(bound), "--max-memory");
    }
    for (name, value) in &arguments.limit {
        set(*name, *value, "--limit");
    }
    settings
}

/// The style of written files.
pub(crate) fn style(style: YamlStyle) -> WriteStyle {
    match style {
        YamlStyle::Preserve => WriteStyle::Preserve,
        YamlStyle::Kpt => WriteStyle::Kpt,
    }
}

/// Where compiled modules are kept: `$XDG_CACHE_HOME/portico/modules`.
pub(crate) fn cache_directory() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME").filter(|h| !h.is_empty())?).join(".cache"));
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute()).or_else(home)?;
    Some(base.join("portico").join("modules"))
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// A token that Ctrl-C and SIGTERM cancel.
pub(crate) fn cancelled_by_signals() -> Result<CancelToken> {
    let token = CancelToken::new();
    let for_handler = token.clone();
    ctrlc::set_handler(move || {
        INTERRUPTED.store(true, Ordering::SeqCst);
        for_handler.cancel();
    })
    .context("cannot install the handler of signals")?;
    Ok(token)
}

/// True after Ctrl-C or SIGTERM.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

//! From arguments to an engine, sources and limits.

use std::env::VarError;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use portico_catalog::Catalog;
use portico_runtime::{
    CallOptions, CancelToken, Engine, EngineConfig, FunctionDir, FunctionFiles, FunctionSource, GrantLimits,
    GrantedDirectory, Grants, Limits, Mount, Renderer, Sources, WriteStyle,
};

use crate::args::{EnvArg, FunctionArgs, GrantArgs, LimitArgs, YamlStyle};
use crate::printer::Printer;
use crate::units::Bound;

/// The renderer of one run of the program.
pub(crate) fn renderer(arguments: &FunctionArgs) -> Result<Renderer> {
    let config = EngineConfig { cache_dir: cache_directory(), ..EngineConfig::default() };
    let engine = Engine::new(config)?;
    Ok(Renderer::new(engine, sources(arguments)?))
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
pub(crate) fn calls(functions: &FunctionArgs, limits: &LimitArgs, grants: Grants, allow_exec: bool) -> CallOptions {
    let image_prefix = functions.image_prefix.clone().unwrap_or_default();
    CallOptions { limits: limits_of(limits), image_prefix, allow_exec, grants, ..CallOptions::default() }
}

/// Reads the directories that functions may see, and the variables.
pub(crate) fn grants(arguments: &GrantArgs, printer: &Printer) -> Result<Grants> {
    let mut grants = Grants::default();
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

fn limits_of(arguments: &LimitArgs) -> Limits {
    let mut limits = Limits::default();
    let time = |bound| match bound {
        Bound::Unlimited => Duration::MAX,
        Bound::At(time) => time,
    };
    let number = |bound| match bound {
        Bound::Unlimited => u64::MAX,
        Bound::At(n) => n,
    };
    if let Some(bound) = arguments.timeout {
        limits.render_time = time(bound);
    }
    if let Some(bound) = arguments.fn_timeout {
        limits.step_time = time(bound);
    }
    if let Some(bound) = arguments.fuel {
        limits.fuel = number(bound);
        // The number is the whole budget, whatever the size of the input and the number of steps.
        limits.fuel_per_input_byte = 0;
        limits.fuel_per_step = 0;
    }
    if let Some(bound) = arguments.max_memory {
        limits.memory = number(bound);
    }
    limits
}

/// The style of written files.
pub(crate) fn style(style: YamlStyle) -> WriteStyle {
    match style {
        YamlStyle::Preserve => WriteStyle::Preserve,
        YamlStyle::Kpt => WriteStyle::Kpt,
    }
}

/// Where compiled modules are kept: `$XDG_CACHE_HOME/portico/modules`.
fn cache_directory() -> Option<PathBuf> {
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

//! Reads options and files.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use portico_runtime::image::ImagePrefix;
use portico_runtime::package::matches_globs;
use portico_runtime::{FunctionFiles, LimitSettings, StatusMode, WriteStyle};

use super::input;
use crate::abi;
use crate::engine::{Files, RenderSettings, Settings, set_limit};
use crate::error::Error;

/// Threads that an engine may have at most; more than any machine has cores.
const WORKERS: u32 = 4_096;

/// Renders that wait when nobody says how many.
const QUEUE: usize = 1_000;

/// Slots of a pool at most: 4 GiB of address space each, of the 128 TiB that a process has.
const POOL_SLOTS: u32 = 16_384;

/// # Safety
///
/// NULL or as the header says.
pub(super) unsafe fn engine(options: *const abi::EngineOptions) -> Result<Settings, Error> {
    let mut settings = Settings { workers: cores(), queue: QUEUE, ..Settings::default() };
    if options.is_null() {
        return Ok(settings);
    }
    // SAFETY: this function's contract.
    let options = unsafe { input::versioned(options) }?;
    if options.abi_version != abi::ABI_VERSION {
        return Err(Error::Abi { found: options.abi_version });
    }
    // SAFETY: this function's contract, for what the options point to.
    unsafe {
        let program = input::path("options.program", options.program)?;
        let needed = |what: &str| {
            program.clone().ok_or_else(|| Error::argument("options.program", format!("is absent, but {what} needs it")))
        };
        settings.compiler = match options.compile {
            abi::COMPILE_FORBIDDEN => None,
            abi::COMPILE_CHILD => Some(absolute("options.program", needed("`PORTICO_COMPILE_CHILD`")?)?),
            other => return Err(choice("options.compile", other, "PORTICO_COMPILE_*")),
        };
        settings.isolation = match options.isolate {
            0 => None,
            1 => Some(absolute("options.program", needed("`isolate`")?)?),
            other => return Err(choice("options.isolate", other, "0 and 1")),
        };
        settings.cache_dir = input::path("options.cache_dir", options.cache_dir)?;
        if options.workers > 0 {
            settings.workers = at_most("options.workers", options.workers, WORKERS)? as usize;
        }
        if options.queue > 0 {
            settings.queue = options.queue as usize;
        }
        if options.pool_slots > 0 {
            settings.pool_slots = Some(at_most("options.pool_slots", options.pool_slots, POOL_SLOTS)?);
        }
        settings.functions = functions(&options)?;
        let directories = input::slice("options.function_dirs", options.function_dirs, options.function_dir_count)?;
        for (at, directory) in directories.iter().enumerate() {
            let name = format!("options.function_dirs[{at}]");
            let path = input::path(&name, *directory)?.ok_or_else(|| Error::argument(&*name, "is empty"))?;
            if !path.is_dir() {
                return Err(Error::argument(name, format!("is `{}`, which is no directory", path.display())));
            }
            settings.function_dirs.push(path);
        }
        settings.limits = limits(options.limits, options.limit_count)?;
    }
    Ok(settings)
}

/// # Safety
///
/// As [`engine`].
unsafe fn functions(options: &abi::EngineOptions) -> Result<FunctionFiles, Error> {
    let mut files = FunctionFiles::default();
    // SAFETY: this function's contract.
    unsafe {
        let functions = input::slice("options.functions", options.functions, options.function_count)?;
        for (at, function) in functions.iter().enumerate() {
            let name = format!("options.functions[{at}].module");
            let module = input::path(&name, function.module)?.ok_or_else(|| Error::argument(name, "is empty"))?;
            files.add(input::utf8(&format!("options.functions[{at}].image"), function.image)?, module)?;
        }
    }
    Ok(files)
}

/// # Safety
///
/// As [`engine`].
pub(super) unsafe fn render(options: *const abi::RenderOptions) -> Result<RenderSettings, Error> {
    let mut settings = RenderSettings::default();
    if options.is_null() {
        return Ok(settings);
    }
    // SAFETY: this function's contract.
    let options = unsafe { input::versioned(options) }?;
    settings.style = match options.style {
        abi::STYLE_PRESERVE => WriteStyle::Preserve,
        abi::STYLE_KPT => WriteStyle::Kpt,
        other => return Err(choice("options.style", other, "PORTICO_STYLE_*")),
    };
    settings.status = match options.record {
        abi::RECORD_FULL => StatusMode::Full,
        abi::RECORD_CONDITIONS => StatusMode::Conditions,
        abi::RECORD_NONE => StatusMode::None,
        other => return Err(choice("options.record", other, "PORTICO_RECORD_*")),
    };
    if options.flags & !abi::FLAG_CONDITIONS != 0 {
        return Err(choice("options.flags", options.flags, "PORTICO_FLAG_*"));
    }
    settings.conditions = options.flags & abi::FLAG_CONDITIONS != 0;
    if options.reserved != 0 {
        return Err(choice("options.reserved", options.reserved, "0"));
    }
    // SAFETY: this function's contract, for what the options point to.
    unsafe {
        let root = input::utf8("options.root", options.root)?;
        if !root.is_empty() {
            if !root.starts_with('/') {
                return Err(Error::argument("options.root", format!("is `{root}`; it must begin with `/`")));
            }
            settings.root = Some(root.to_owned());
        }
        input::utf8("options.tenant", options.tenant)?.clone_into(&mut settings.tenant);
        let prefix = input::utf8("options.image_prefix", options.image_prefix)?;
        if !prefix.is_empty() {
            settings.image_prefix =
                ImagePrefix::new(prefix).map_err(|error| Error::argument("options.image_prefix", error.to_string()))?;
        }
        settings.limits = limits(options.limits, options.limit_count)?;
    }
    Ok(settings)
}

/// # Safety
///
/// As [`engine`].
unsafe fn limits(limits: *const abi::Limit, count: usize) -> Result<LimitSettings, Error> {
    let mut settings = LimitSettings::default();
    // SAFETY: this function's contract.
    unsafe {
        for (at, limit) in input::slice("options.limits", limits, count)?.iter().enumerate() {
            let argument = format!("options.limits[{at}].name");
            set_limit(&mut settings, &argument, input::utf8(&argument, limit.name)?, limit.value)?;
        }
    }
    Ok(settings)
}

/// Copies the files that a render reads; of the others it is enough that they are there.
///
/// # Safety
///
/// As the header says of `files`.
pub(super) unsafe fn files(files: *const abi::File, count: usize) -> Result<Files, Error> {
    // SAFETY: this function's contract.
    let files = unsafe { input::slice("files", files, count) }?;
    let mut copied = Files::with_capacity(files.len());
    let mut paths = HashSet::with_capacity(files.len());
    for (at, file) in files.iter().enumerate() {
        // SAFETY: this function's contract.
        let (path, content) = unsafe {
            let path = input::utf8(&format!("files[{at}].path"), file.path)?;
            (path, input::bytes(&format!("files[{at}].content"), file.content)?)
        };
        if !paths.insert(path) {
            return Err(Error::argument(format!("files[{at}].path"), format!("is `{path}`, which came before")));
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let read = matches_globs(name) || name == ".krmignore";
        copied.push((path.to_owned(), if read { Arc::from(content) } else { Arc::from([]) }));
    }
    Ok(copied)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn absolute(name: &str, path: PathBuf) -> Result<PathBuf, Error> {
    if path.is_absolute() {
        return Ok(path);
    }
    let problem = format!("is `{}`; give its absolute path: it is not looked for", path.display());
    Err(Error::argument(name, problem))
}

fn at_most(name: &str, value: u32, bound: u32) -> Result<u32, Error> {
    if value <= bound { Ok(value) } else { Err(Error::argument(name, format!("is {value}; at most {bound}"))) }
}

fn choice(name: &str, value: u32, choices: &str) -> Error {
    Error::argument(name, format!("is {value}, which is none of {choices}"))
}

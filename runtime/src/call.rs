//! How functions are found and run in earnest: images in the sandbox, commands as child processes, builtins here.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::builtin;
use crate::cancel::CancelToken;
use crate::engine::Engine;
use crate::error::{RunFailure as SandboxFailure, TrapKind};
use crate::exec::{self, ExecError, ExecLimits};
use crate::function::{FunctionError, FunctionSource, Sources, full_image};
use crate::limits::{LimitName, StepLimits, bytes, step_limits};
use crate::module::{FunctionModule, Module, ModuleCode};
use crate::pipeline::{FunctionName, FunctionOutput, FunctionRunner, Resolved, RunFailure, Unresolved};
use crate::renderer::CallOptions;
use crate::report::Cause;
use crate::sandbox::{Invocation, Sandbox};

/// What kpt says of commands that were not allowed.
const NOT_ALLOWED: &str = "must run with `--allow-exec` option to allow running function binaries";

enum Callable {
    Module { module: Module, name: String },
    Exec(Vec<String>),
    PackageContext,
}

/// The runner of one render or one `eval`.
pub(crate) struct Caller<'a> {
    engine: &'a Engine,
    sources: &'a Sources,
    options: &'a CallOptions,
    cancel: &'a CancelToken,
    sandbox: Sandbox,
    started: Instant,
    callables: Vec<(Callable, StepLimits)>,
    /// Modules by full image: one pipeline often calls a function more than once.
    known: HashMap<String, usize>,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(
        engine: &'a Engine,
        sources: &'a Sources,
        options: &'a CallOptions,
        cancel: &'a CancelToken,
    ) -> Caller<'a> {
        let sandbox = Sandbox::new(engine, options.limits.clone(), cancel.clone());
        let started = Instant::now();
        Caller { engine, sources, options, cancel, sandbox, started, callables: Vec::new(), known: HashMap::new() }
    }

    /// How many Stores the render needed.
    pub(crate) fn stores_created(&self) -> u64 {
        self.sandbox.stores_created()
    }

    /// Remembers a function with the limits that hold for it.
    fn add(&mut self, callable: Callable, image: &str, exec: &str) -> usize {
        let limits = step_limits(&self.options.limits, &self.options.profiles, image, exec);
        self.callables.push((callable, limits));
        self.callables.len() - 1
    }

    fn resolve_image(&mut self, image: &str) -> Result<usize, (String, Cause)> {
        if let Some(handle) = self.known.get(image) {
            return Ok(*handle);
        }
        let not_found = |error: &FunctionError| (with_causes(error), error.cause());
        let found = self.sources.resolve(image).map_err(|error| not_found(&error))?;
        let function = found.ok_or_else(|| not_found(&FunctionError::unknown(image, self.sources)))?;
        let module = load_function(self.engine, &function, self.options.limits.module_bytes, self.cancel)?;
        let handle = self.add(Callable::Module { module, name: function.name }, image, "");
        self.known.insert(image.to_owned(), handle);
        Ok(handle)
    }

    fn run_exec(&self, words: &[String], limits: &StepLimits, stdin: Vec<u8>) -> Result<FunctionOutput, RunFailure> {
        let started = Instant::now();
        let render_time = self.options.limits.render_time;
        let ends = [started.checked_add(limits.time), self.started.checked_add(render_time)];
        let exec_limits = ExecLimits {
            deadline: ends.into_iter().flatten().min(),
            stdout: usize::try_from(limits.stdout).unwrap_or(usize::MAX - 1),
            stderr: usize::try_from(limits.stderr).unwrap_or(usize::MAX),
        };
        let outcome = exec::run(words, self.options.grants.env(), stdin, &exec_limits, &|| self.cancel.is_cancelled());
        let elapsed = started.elapsed();
        match outcome {
            Ok(output) => Ok(FunctionOutput {
                exit_code: output.exit_code,
                stdout: output.stdout,
                stderr: output.stderr,
                stderr_dropped: output.stderr_dropped,
                elapsed,
                ..FunctionOutput::default()
            }),
            Err(ExecError::Cancelled) => Err(RunFailure::Cancelled),
            Err(error) => {
                let kpt = match &error {
                    ExecError::Start { program, source } => Some(start_words(program, source)),
                    _ => None,
                };
                let (message, cause) = match error {
                    ExecError::Deadline if elapsed >= limits.time => {
                        (time_words(limits.time), Cause::Limit(LimitName::StepTime))
                    }
                    ExecError::Deadline => (time_words(render_time), Cause::Limit(LimitName::RenderTime)),
                    ExecError::Output { .. } => (with_causes(&error), Cause::Limit(LimitName::Stdout)),
                    error => (with_causes(&error), Cause::NotStarted),
                };
                let so_far = FunctionOutput { exit_code: 1, elapsed, cause: Some(cause), ..FunctionOutput::default() };
                Err(RunFailure::Ended { message, kpt, so_far: Box::new(so_far) })
            }
        }
    }
}

impl FunctionRunner for Caller<'_> {
    fn resolve(&mut self, name: FunctionName<'_>) -> Result<Resolved, Unresolved> {
        if !name.exec.is_empty() {
            let exec = || name.exec.to_owned();
            let unresolved =
                |message: String, kpt, cause| Unresolved { image: String::new(), exec: exec(), message, kpt, cause };
            if !self.options.allow_exec {
                return Err(unresolved(NOT_ALLOWED.to_owned(), None, Cause::NotAllowed));
            }
            let words = exec::split(name.exec).map_err(|error| {
                let kpt = matches!(error, ExecError::Quotes(_)).then(|| {
                    format!("exec command {:?} must be valid: EOF found when expecting closing quote", name.exec)
                });
                unresolved(error.to_string(), kpt, Cause::NotFound)
            })?;
            let handle = self.add(Callable::Exec(words), "", name.exec);
            return Ok(Resolved { image: String::new(), exec: name.exec.to_owned(), handle, warning: None });
        }
        if name.image == builtin::PACKAGE_CONTEXT {
            let handle = self.add(Callable::PackageContext, name.image, "");
            return Ok(Resolved { image: name.image.to_owned(), exec: String::new(), handle, warning: None });
        }
        let unresolved = |image: String, message: String, cause: Cause| Unresolved {
            image,
            exec: String::new(),
            message,
            kpt: None,
            cause,
        };
        let tags = |image: &str| self.sources.tags(image);
        let resolved = full_image(name.image, name.tag, &self.options.image_prefix, &tags)
            .map_err(|error| unresolved(name.image.to_owned(), with_causes(&error), Cause::NotFound))?;
        let first = !self.known.contains_key(&resolved.image);
        let handle = self
            .resolve_image(&resolved.image)
            .map_err(|(message, cause)| unresolved(resolved.image.clone(), message, cause))?;
        let notice = if first { self.sources.notice(&resolved.image) } else { None };
        let warning = resolved.warning.or(notice);
        Ok(Resolved { image: resolved.image, exec: String::new(), handle, warning })
    }

    fn run(&mut self, handle: usize, stdin: Vec<u8>) -> Result<FunctionOutput, RunFailure> {
        let (callable, limits) = &self.callables[handle];
        let (module, name) = match callable {
            Callable::Module { module, name } => (module, name.clone()),
            Callable::Exec(words) => return self.run_exec(words, limits, stdin),
            Callable::PackageContext => return Ok(builtin::package_context(&stdin, &self.options.limits.yaml)),
        };
        let limits = Some(*limits);
        let call = Invocation { name, args: Vec::new(), grants: self.options.grants.clone(), stdin, limits };
        match self.sandbox.run(module, call) {
            Ok(output) => Ok(FunctionOutput {
                exit_code: output.exit_code,
                stdout: output.stdout,
                stderr: output.stderr,
                stderr_dropped: output.stderr_dropped,
                fuel: output.fuel_used,
                peak_memory: output.peak_memory,
                elapsed: output.elapsed,
                // Most programs that get no more memory end with an exit code of their own.
                cause: (output.memory_refused && output.exit_code != 0).then_some(Cause::Limit(LimitName::Memory)),
            }),
            Err(error) => {
                let Some(cause) = error.failure.cause() else { return Err(RunFailure::Cancelled) };
                let message = match &error.failure {
                    SandboxFailure::Deadline { limit, .. } => time_words(*limit),
                    SandboxFailure::Memory { limit } => format!("memory limit {} exceeded", bytes(*limit)),
                    SandboxFailure::Trap { kind: TrapKind::Unreachable, .. } => {
                        panic_words(&error.stderr).unwrap_or_else(|| error.failure.to_string())
                    }
                    failure => failure.to_string(),
                };
                let so_far = FunctionOutput {
                    exit_code: 1,
                    stdout: Vec::new(),
                    stderr: error.stderr,
                    stderr_dropped: error.stderr_dropped,
                    fuel: error.fuel_used,
                    peak_memory: error.peak_memory,
                    elapsed: error.elapsed,
                    cause: Some(cause),
                };
                Err(RunFailure::Ended { message, kpt: None, so_far: Box::new(so_far) })
            }
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

/// Loads a function's module; the error is what the user is told.
pub(crate) fn load_function(
    engine: &Engine,
    function: &FunctionModule,
    module_bytes: u64,
    cancel: &CancelToken,
) -> Result<Module, (String, Cause)> {
    engine.load_unless_cancelled(function, module_bytes, cancel).map_err(|error| {
        let message = match &function.code {
            ModuleCode::File(path) => format!("cannot use `{}`: {}", path.display(), with_causes(&error)),
            _ => with_causes(&error),
        };
        (message, error.cause())
    })
}

/// kpt's words for a program that cannot be started: those of Go.
fn start_words(program: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound if !program.contains('/') => {
            format!("unexpected function error: exec: {program:?}: executable file not found in $PATH")
        }
        std::io::ErrorKind::NotFound => {
            format!("unexpected function error: fork/exec {program}: no such file or directory")
        }
        std::io::ErrorKind::PermissionDenied => {
            format!("unexpected function error: fork/exec {program}: permission denied")
        }
        _ => format!("unexpected function error: fork/exec {program}: {error}"),
    }
}

/// What a Rust program that panicked has said on standard error, before its abort became a trap:
/// `thread 'main' (1) panicked at src/main.rs:4:9:` and, from the next line on, the message.
fn panic_words(stderr: &[u8]) -> Option<String> {
    const LONGEST: usize = 1000;
    let text = String::from_utf8_lossy(stderr);
    let (_, said) = text.rsplit_once("panicked at ")?;
    let (place, message) = said.split_once('\n')?;
    // Behind the message there is advice on backtraces, which functions have no way to follow.
    let message = message.split("\nnote: run with `RUST_BACKTRACE").next().unwrap_or(message).trim();
    let message = &message[..message.floor_char_boundary(LONGEST)];
    let place = &place[..place.floor_char_boundary(LONGEST)];
    Some(format!("the function panicked at {}: {message}", place.trim_end_matches(':')))
}

fn time_words(limit: Duration) -> String {
    format!("time limit {limit:?} exceeded")
}

/// An error and what caused it, on one line: a message never repeats its source.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::panic_words;

    #[test]
    fn a_panic_tells_its_place_and_its_message() {
        let stderr =
            b"by the way\n\nthread 'main' (1) panicked at src/main.rs:4:9:\nno owner\nfor checkout\nnote: run \
            with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        let said = panic_words(stderr).expect("a panic");
        assert_eq!(said, "the function panicked at src/main.rs:4:9: no owner\nfor checkout");
    }

    #[test]
    fn other_text_is_no_panic() {
        assert_eq!(panic_words(b"panicked at nothing"), None);
        assert_eq!(panic_words(b"\xff\xfe"), None);
        let long = format!("panicked at a:\n{}", "\u{e4}".repeat(5000));
        assert!(panic_words(long.as_bytes()).expect("a panic").len() < 1100);
    }
}

//! The worker: a process that renders what its parent gives it, and has nothing else.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::values::{WireChange, WireOptions, WireOutcome, WirePackage};
use super::wire::{
    Bytes, NoFrame, ToParent, ToWorker, VERSION, WireCode, WireError, WireEvent, WireFunction, decode, read_frame, send,
};
use crate::cache::compatibility;
use crate::cancel::CancelToken;
use crate::child::{OwnLimits, confine, end_here};
use crate::engine::{Compiler, Engine, EngineConfig};
use crate::eval::to_resource_list;
use crate::function::{FunctionError, FunctionSource, Sources};
use crate::module::{Digest, FunctionModule, ModuleCode};
use crate::native::ReceivedCode;
use crate::outcome::{Outcome, RenderError};
use crate::package::Change;
use crate::renderer::Renderer;
use crate::report::{Cause, Event};

/// A file in memory that holds what the memory of a function begins with, at most: more than the largest module.
const FILE_BYTES: u64 = 256 << 20;
/// One for each function that has data, and some.
const OPEN_FILES: u64 = 1024;

/// Renders what the parent asks for until it closes the pipe.
///
/// Arguments: bytes of memory, seconds of processor time. `own` are the functions that are part of this program.
pub(crate) fn worker(arguments: &[OsString], own: impl FnOnce() -> Sources) -> ExitCode {
    match serve(arguments, own) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The parent reads it; a user does not.
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: &[OsString], own: impl FnOnce() -> Sources) -> std::io::Result<()> {
    let numbers: Option<Vec<u64>> = arguments.iter().map(|argument| argument.to_str()?.parse().ok()).collect();
    let Some(&[memory, cpu]) = numbers.as_deref() else {
        return Err(std::io::Error::other("this command is for the program itself: it renders for its parent"));
    };
    let limit = |value: u64| (value != u64::MAX).then_some(value);
    OwnLimits {
        memory: limit(memory),
        address_space: false,
        cpu: limit(cpu),
        file_bytes: FILE_BYTES,
        open_files: OPEN_FILES,
    }
    .set()?;
    let mut confinement = confine();
    confinement.resources = true;

    let engine = Engine::new(EngineConfig { compiler: Compiler::Forbidden, ..EngineConfig::default() })
        .map_err(std::io::Error::other)?;
    let (sender, requests) = channel();
    std::thread::Builder::new().name("portico-parent".into()).spawn(move || {
        let mut pipe = std::io::stdin().lock();
        loop {
            match read_frame(&mut pipe, || u64::MAX) {
                Ok(bytes) => {
                    let passed = decode(&bytes).is_some_and(|message| sender.send(message).is_ok());
                    if !passed {
                        break;
                    }
                }
                Err(NoFrame::NoMemory) => {
                    // The words of the standard library, by which the parent knows it.
                    let _ = writeln!(std::io::stderr(), "memory allocation of a request failed");
                    break;
                }
                Err(NoFrame::Closed | NoFrame::TooLong) => break,
            }
        }
        // The parent is gone or wants this to end: whatever is being computed.
        end_here();
    })?;
    let link = Arc::new(Link { requests: Mutex::new(requests) });
    let compatibility = compatibility(&engine.inner.wasmtime);
    say(&ToParent::Hello { version: VERSION, compatibility, confinement });
    let remote = Remote { link: Arc::clone(&link), own: own() };
    let renderer = Renderer::new(engine, Sources::new(vec![Arc::new(remote)]));
    loop {
        let Some(ToWorker::Render(request)) = link.next() else {
            return Err(std::io::Error::other("an answer without a question"));
        };
        let (package, options) = *request;
        say(&ToParent::Done(Box::new(render(&renderer, package, options))));
    }
}

fn render(renderer: &Renderer, package: WirePackage, options: WireOptions) -> Result<WireOutcome, WireError> {
    let (files, options) = (package.files(), options.options());
    let mut observer = |event: &Event<'_>| say(&ToParent::Event(Box::new(owned(event))));
    match renderer.render(&files, &options, &CancelToken::new(), &mut observer) {
        Ok(Outcome { changes, resources, steps, packages, failure, stores, saved_on_failure, confinement: _ }) => {
            let change = |change| match change {
                Change::Write { path, bytes } => WireChange { path, bytes: Some(Bytes(bytes.into())) },
                Change::Delete { path } => WireChange { path, bytes: None },
            };
            Ok(WireOutcome {
                changes: changes.into_iter().map(change).collect(),
                resources: if resources.is_empty() { None } else { Some(to_resource_list(resources, None)) },
                steps,
                packages,
                failure,
                stores,
                saved_on_failure,
            })
        }
        Err(RenderError::MissingKptfile { path }) => Err(WireError::MissingKptfile { path }),
        Err(RenderError::Kptfile { message, kpt }) => Err(WireError::Kptfile { message, kpt }),
        Err(RenderError::Cancelled) => Err(WireError::Cancelled),
        Err(error @ (RenderError::Input(_) | RenderError::Worker { .. })) => Err(WireError::Input(error.to_string())),
    }
}

fn owned(event: &Event<'_>) -> WireEvent {
    match event {
        Event::PackageStarted { path, name, functions } => {
            WireEvent::PackageStarted { path: (*path).to_owned(), name: (*name).to_owned(), functions: *functions }
        }
        Event::StepStarted(step) => WireEvent::StepStarted((*step).clone()),
        Event::StepPassed(step) => WireEvent::StepPassed((*step).clone()),
        Event::StepSkipped { step, condition } => {
            WireEvent::StepSkipped { step: (*step).clone(), condition: (*condition).to_owned() }
        }
        Event::StepFailed(step) => WireEvent::StepFailed((*step).clone()),
        Event::PackageFinished { path, name, functions } => {
            WireEvent::PackageFinished { path: (*path).to_owned(), name: (*name).to_owned(), functions: *functions }
        }
        Event::Warning(text) => WireEvent::Warning((*text).to_owned()),
    }
}

/// Says something. Without a parent there is nobody to render for: the process ends.
fn say(message: &ToParent) {
    if let Err(error) = send(&mut std::io::stdout().lock(), message) {
        let _ = writeln!(std::io::stderr(), "{error}");
        end_here();
    }
}

/// The parent, from the worker's side.
struct Link {
    requests: Mutex<Receiver<ToWorker>>,
}

impl Link {
    /// What the parent says next. The thread that reads it ends the process before there is nothing more.
    fn next(&self) -> Option<ToWorker> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
    }

    fn ask(&self, question: &ToParent) -> Option<ToWorker> {
        say(question);
        self.next()
    }
}

/// The parent's functions.
struct Remote {
    link: Arc<Link>,
    /// Those that are part of this program; the parent says when to use them.
    own: Sources,
}

impl Remote {
    fn function(&self, image: &str, function: WireFunction) -> Result<FunctionModule, FunctionError> {
        let code = match function.code {
            WireCode::Embedded { mark } => {
                let own = self.own.resolve(image)?.map(|own| own.code);
                match own {
                    Some(ModuleCode::Precompiled(code)) if code.mark() == mark => ModuleCode::Precompiled(code),
                    _ => {
                        let text = format!(
                            "function `{image}` is not the same in the program that renders in isolation; give the path of \
                             the `portico` that belongs to this one"
                        );
                        return Err(FunctionError::Told { text, cause: Cause::NotCompiled });
                    }
                }
            }
            WireCode::Compiled { digest, core_instances, code } => ModuleCode::Received(ReceivedCode::from_parent(
                Digest::from_bytes(digest),
                core_instances,
                Some(code.0),
            )),
            WireCode::Known { digest } => {
                ModuleCode::Received(ReceivedCode::from_parent(Digest::from_bytes(digest), None, None))
            }
        };
        Ok(FunctionModule { name: function.name, code })
    }
}

impl FunctionSource for Remote {
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        match self.link.ask(&ToParent::Resolve(image.to_owned())) {
            Some(ToWorker::Function(Ok(function))) => {
                function.map(|function| self.function(image, function)).transpose()
            }
            Some(ToWorker::Function(Err((text, cause)))) => Err(FunctionError::Told { text, cause }),
            _ => {
                let text = "the parent answered something else".to_owned();
                Err(FunctionError::Told { text, cause: Cause::NotFound })
            }
        }
    }

    fn tags(&self, image: &str) -> Vec<String> {
        match self.link.ask(&ToParent::Tags(image.to_owned())) {
            Some(ToWorker::Words(words)) => words,
            _ => Vec::new(),
        }
    }

    fn names(&self) -> Vec<String> {
        match self.link.ask(&ToParent::Names) {
            Some(ToWorker::Words(words)) => words,
            _ => Vec::new(),
        }
    }

    fn absence(&self, image: &str) -> Option<String> {
        match self.link.ask(&ToParent::Absence(image.to_owned())) {
            Some(ToWorker::Notice(reason)) => reason,
            _ => None,
        }
    }

    fn notice(&self, image: &str) -> Option<String> {
        match self.link.ask(&ToParent::Notice(image.to_owned())) {
            Some(ToWorker::Notice(notice)) => notice,
            _ => None,
        }
    }
}

//! One render, from the parent's side: the request, the worker's questions, its events, its answer.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use super::WorkerConfig;
use super::outcome::{error, outcome, tell};
use super::values::{WireOptions, WirePackage};
use super::wire::{Bytes, ToParent, ToWorker, VERSION, WireCode, WireFunction, decode, frame};
use super::worker_process::{Heard, Worker};
use crate::cache::compatibility;
use crate::call::load_function;
use crate::cancel::CancelToken;
use crate::function::FunctionSource;
use crate::limits::bytes;
use crate::module::{FunctionModule, ModuleCode};
use crate::outcome::{Outcome, RenderError};
use crate::package::PackageFiles;
use crate::renderer::{RenderOptions, Renderer};
use crate::report::{Cause, Observer};

/// How a conversation ends without an outcome.
pub(super) enum End {
    /// The render could not begin: the worker is fine.
    Answered(RenderError),
    Cancelled,
    /// The worker is gone.
    Died,
    /// The worker says what no worker says.
    Broken(String),
    /// Another worker would do the same.
    Refused(String),
}

/// Has a worker render a package. After an error other than [`End::Answered`] the worker is of no use any more.
pub(super) fn talk(
    worker: &mut Worker,
    config: &WorkerConfig,
    renderer: &Renderer,
    files: &PackageFiles,
    options: &RenderOptions,
    cancel: &CancelToken,
    observer: &mut dyn Observer,
) -> Result<Outcome, End> {
    let time = options.call.limits.render_time.checked_add(config.limits.grace);
    let mut deadline = time.and_then(|time| Instant::now().checked_add(time));
    worker.may_say(config.limits.answer_bytes);
    if worker.confinement.is_some() && worker.heard.try_recv().is_ok() {
        return Err(End::Broken("it spoke without being asked".to_owned()));
    }
    let killed = cancel.on_cancel(worker.killer());
    if cancel.is_cancelled() {
        return Err(End::Cancelled);
    }
    say(worker, &ToWorker::Render(Box::new((WirePackage::of(files), WireOptions::of(options)))))?;
    let answer = loop {
        let left = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
        let heard = worker.heard.recv_timeout(left.min(Duration::from_hours(24)));
        if cancel.is_cancelled() {
            return Err(End::Cancelled);
        }
        let message = match heard {
            Ok(Heard::Message(message)) => message,
            Ok(Heard::TooMuch) => {
                let limit = bytes(config.limits.answer_bytes);
                return Err(End::Refused(format!("it said more than {limit} in one render")));
            }
            Ok(Heard::Closed) | Err(RecvTimeoutError::Disconnected) => return Err(End::Died),
            Err(RecvTimeoutError::Timeout) if left > Duration::from_hours(24) => continue,
            Err(RecvTimeoutError::Timeout) => {
                return Err(End::Refused(format!("it did not answer within {:?}", time.unwrap_or_default())));
            }
        };
        let Some(message) = decode(&message) else { return Err(unreadable()) };
        match (message, worker.confinement) {
            (ToParent::Hello { version, compatibility: theirs, confinement }, None) => {
                if version != VERSION || theirs != compatibility(&renderer.engine.inner.wasmtime) {
                    let program = config.program.display();
                    return Err(End::Refused(format!(
                        "`{program}` is another version of this program; give the path of the one that belongs to it"
                    )));
                }
                tracing::debug!("a worker is held to: {confinement}");
                worker.confinement = Some(confinement);
            }
            // Anything else before it said who it is.
            (_, None) | (ToParent::Hello { .. }, _) => return Err(unreadable()),
            (ToParent::Event(event), _) => tell(&event, observer),
            (ToParent::Done(answer), Some(confinement)) => break (*answer, confinement),
            (question, _) => {
                // Compiling has a limit of its own.
                let asked = Instant::now();
                let answer = answer(question, worker, renderer, options.call.limits.module_bytes, cancel)?;
                deadline = deadline.and_then(|deadline| deadline.checked_add(asked.elapsed()));
                say(worker, &answer)?;
            }
        }
    };
    drop(killed);
    match answer {
        (Ok(answer), confinement) => outcome(answer, files, &options.call.limits, confinement)
            .map_err(|wrong| End::Broken(format!("its answer has {wrong}"))),
        (Err(answer), _) => Err(End::Answered(error(answer))),
    }
}

fn unreadable() -> End {
    End::Broken("it said something that cannot be read".to_owned())
}

fn say(worker: &Worker, message: &ToWorker) -> Result<(), End> {
    let message = frame(message).map_err(|error| End::Refused(format!("the request cannot be sent: {error}")))?;
    worker.say(message);
    Ok(())
}

/// Answers a question about functions.
fn answer(
    question: ToParent,
    worker: &mut Worker,
    renderer: &Renderer,
    module_bytes: u64,
    cancel: &CancelToken,
) -> Result<ToWorker, End> {
    let sources = &renderer.sources;
    Ok(match question {
        ToParent::Resolve(image) => ToWorker::Function(match sources.resolve(&image) {
            Ok(None) => Ok(None),
            Ok(Some(function)) => send_function(&function, worker, renderer, module_bytes, cancel).map(Some),
            Err(error) => Err((crate::call::with_causes(&error), error.cause())),
        }),
        ToParent::Tags(image) => ToWorker::Words(sources.tags(&image)),
        ToParent::Names => ToWorker::Words(sources.names()),
        ToParent::Absence(image) => ToWorker::Notice(sources.absence(&image)),
        ToParent::Notice(image) => ToWorker::Notice(sources.notice(&image)),
        ToParent::Hello { .. } | ToParent::Event(_) | ToParent::Done(_) => return Err(unreadable()),
    })
}

/// The function in a form that the worker can run: it compiles nothing. An error is what the render fails with.
fn send_function(
    function: &FunctionModule,
    worker: &mut Worker,
    renderer: &Renderer,
    module_bytes: u64,
    cancel: &CancelToken,
) -> Result<WireFunction, (String, Cause)> {
    let name = function.name.clone();
    if let ModuleCode::Precompiled(code) = &function.code {
        return Ok(WireFunction { name, code: WireCode::Embedded { mark: code.mark() } });
    }
    let module = load_function(&renderer.engine, function, module_bytes, cancel)?;
    let lost = |why: String| (format!("its compiled code can't be had: {why}"), Cause::NotCompiled);
    let digest = module.digest().ok_or_else(|| lost("it has no digest".to_owned()))?;
    let code = if worker.sent.contains(&digest) {
        WireCode::Known { digest: digest.to_bytes() }
    } else {
        let (code, core_instances) = module.serialize().map_err(|error| lost(format!("{error:#}")))?;
        worker.sent.insert(digest);
        WireCode::Compiled { digest: digest.to_bytes(), core_instances, code: Bytes(code.into()) }
    };
    Ok(WireFunction { name, code })
}

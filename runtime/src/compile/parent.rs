//! The process that wants a module compiled.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ChildStdin, ExitStatus};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::answer::{Answer, OVERHEAD, Unreadable};
use super::limits::{CompileLimit, CompileLimits};
use crate::child::{COMPILE, Group, command, last_words, whole_seconds};
use crate::error::ModuleError;
use crate::module::WasmBytes;
use crate::native::ChildCode;

/// Standard error of the child that is kept: enough for the first line of a panic.
const STDERR: u64 = 8 << 10;

/// How often the end of a child is looked for after its last word.
const LOOK: Duration = Duration::from_millis(1);

/// What comes to whoever waits for a child.
pub(crate) enum Piece {
    /// The module is sent; the pipe stays open as long as this lives.
    Sent(Option<ChildStdin>),
    Output(Vec<u8>),
    Errors(Vec<u8>),
    /// Nobody wants the module any more.
    GivenUp,
}

/// Compiles a module in a child process of `program`; `compatibility` says what code is to come out. `pieces` is the
/// channel whose sender others may have, to say that they gave up.
pub(crate) fn in_child(
    program: &Path,
    limits: &CompileLimits,
    module_bytes: u64,
    compatibility: u64,
    wasm: &WasmBytes,
    (sender, pieces): (Sender<Piece>, &Receiver<Piece>),
) -> Result<ChildCode, ModuleError> {
    let arguments = [limits.memory, whole_seconds(limits.cpu), module_bytes].map(|number| number.to_string());
    let start = |source| ModuleError::CompilerStart { program: program.to_owned(), source: Arc::new(source) };
    let mut group = Group::spawn(&mut command(program, COMPILE, arguments)).map_err(start)?;
    let most = usize::try_from(limits.code_bytes).unwrap_or(usize::MAX).saturating_add(OVERHEAD);
    talk(&mut group, most, wasm, sender).map_err(start)?;

    let deadline = Instant::now().checked_add(limits.time);
    let Remains { output, errors, status } = collect(&mut group, deadline, pieces).map_err(|stop| match stop {
        Stop::GivenUp => ModuleError::Cancelled,
        Stop::Deadline => exceeded(limits, CompileLimit::Time),
        Stop::Wait(source) => start(source),
    })?;
    if output.len() > most {
        return Err(exceeded(limits, CompileLimit::CodeBytes));
    }
    if let Some(status) = status
        && !status.success()
    {
        return Err(failure(program, limits, status, &errors));
    }
    match Answer::decode(output, compatibility) {
        Ok(Answer::Code(code)) => Ok(ChildCode::answered(code)),
        Ok(Answer::Invalid(text)) => Err(ModuleError::Invalid(text)),
        Ok(Answer::Failed(text)) => Err(ModuleError::Compile(text)),
        Err(Unreadable::Foreign) => Err(ModuleError::CompilerForeign { program: program.to_owned() }),
        Err(Unreadable::Broken) => {
            let reason = "its answer cannot be read; is it `portico`?".to_owned();
            Err(ModuleError::CompilerCrashed { program: program.to_owned(), reason })
        }
    }
}

fn exceeded(limits: &CompileLimits, limit: CompileLimit) -> ModuleError {
    ModuleError::CompileLimit { limit, had: limits.words(limit) }
}

/// Starts the threads that hold the child's pipes. They end with the pipes, at the latest when the group is killed.
fn talk(group: &mut Group, most: usize, wasm: &WasmBytes, to: Sender<Piece>) -> std::io::Result<()> {
    let spawn = |work: Box<dyn FnOnce() + Send>| {
        std::thread::Builder::new().name("portico-pipe".into()).stack_size(256 << 10).spawn(work).map(drop)
    };
    if let Some(mut pipe) = group.child.stdin.take() {
        let (wasm, to) = (WasmBytes::clone(wasm), to.clone());
        spawn(Box::new(move || {
            let bytes: &[u8] = (*wasm).as_ref();
            let sent = pipe.write_all(&(bytes.len() as u64).to_le_bytes()).and_then(|()| pipe.write_all(bytes));
            // A child that did not take it all says why on its way out.
            let _ = to.send(Piece::Sent(sent.is_ok().then_some(pipe)));
        }))?;
    }
    if let Some(pipe) = group.child.stdout.take() {
        let to = to.clone();
        spawn(Box::new(move || drop(to.send(Piece::Output(read(pipe, most as u64 + 1))))))?;
    }
    if let Some(pipe) = group.child.stderr.take() {
        spawn(Box::new(move || drop(to.send(Piece::Errors(read(pipe, STDERR))))))?;
    }
    Ok(())
}

/// What comes through the pipe until it ends, but no more than `most`.
fn read(pipe: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // An error ends it like a closed pipe: what came is judged as it stands.
    let _ = pipe.take(most).read_to_end(&mut bytes);
    bytes
}

enum Stop {
    GivenUp,
    Deadline,
    Wait(std::io::Error),
}

/// What a child leaves behind.
struct Remains {
    output: Vec<u8>,
    errors: Vec<u8>,
    /// How it ended, where there is no answer.
    status: Option<ExitStatus>,
}

/// Waits for the child's answer and its end.
fn collect(group: &mut Group, deadline: Option<Instant>, pieces: &Receiver<Piece>) -> Result<Remains, Stop> {
    let left = || deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
    let (mut input, mut output, mut errors): (Option<ChildStdin>, Option<Vec<u8>>, Option<Vec<u8>>) =
        (None, None, None);
    while output.is_none() || errors.is_none() {
        match pieces.recv_timeout(left().min(Duration::from_hours(24))) {
            Ok(Piece::Sent(pipe)) => input = pipe,
            Ok(Piece::Output(bytes)) => output = Some(bytes),
            Ok(Piece::Errors(bytes)) => errors = Some(bytes),
            Ok(Piece::GivenUp) => return Err(Stop::GivenUp),
            Err(_) if left().is_zero() => return Err(Stop::Deadline),
            Err(RecvTimeoutError::Timeout) => {}
            // All threads ended without a word: one could not even be started.
            Err(RecvTimeoutError::Disconnected) => break,
        }
        // Standard error stays open as long as anything does; the answer does not wait for it.
        if output.as_ref().is_some_and(|bytes| !bytes.is_empty()) {
            break;
        }
    }
    let output = output.unwrap_or_default();
    let mut status = None;
    if output.is_empty() {
        // Its last words are said: it ends, or it hangs.
        loop {
            status = group.try_wait().map_err(Stop::Wait)?;
            if status.is_some() {
                break;
            }
            match pieces.recv_timeout(LOOK) {
                Ok(Piece::GivenUp) => return Err(Stop::GivenUp),
                Err(_) if left().is_zero() => return Err(Stop::Deadline),
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
    // The child lives as long as this pipe.
    drop(input);
    Ok(Remains { output, errors: errors.unwrap_or_default(), status })
}

/// Says what ended a child that gave no answer.
fn failure(program: &Path, limits: &CompileLimits, status: ExitStatus, errors: &[u8]) -> ModuleError {
    use rustix::process::Signal;
    let said = last_words(errors);
    let signal = status.signal();
    let is = |wanted: Signal| signal == Some(wanted.as_raw());
    // The words of Rust's standard library when an allocation fails, and of the system when a thread gets no stack.
    let starved =
        ["memory allocation of ", "code: 11,", "code: 12,", "os error 11", "os error 12", "Cannot allocate memory"];
    if is(Signal::XCPU) {
        return exceeded(limits, CompileLimit::Cpu);
    }
    if starved.iter().any(|words| said.contains(words)) {
        return exceeded(limits, CompileLimit::Memory);
    }
    let reason = match signal {
        _ if is(Signal::KILL) => "it was killed; the machine may have run out of memory".to_owned(),
        Some(signal) if said.is_empty() => format!("it ended with signal {signal}"),
        Some(signal) => format!("it ended with signal {signal}: {said}"),
        None if said.is_empty() => "it gave no answer; is it `portico`?".to_owned(),
        None => said,
    };
    ModuleError::CompilerCrashed { program: program.to_owned(), reason }
}

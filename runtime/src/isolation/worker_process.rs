//! A worker, from the parent's side: the process and the threads that hold its pipes.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::WorkerConfig;
use super::wire::{NoFrame, read_frame};
use crate::child::{Confinement, Group, WORKER, command, last_words, whole_seconds};
use crate::limits::bytes;
use crate::module::Digest;

/// Standard error of a worker that is kept: enough for the first line of a panic.
const STDERR: usize = 8 << 10;
/// Messages that may wait to be looked at; a worker that says more waits.
const UNREAD: usize = 8;
/// How long the system may take to end a process that has closed its pipes.
const LAST_BREATH: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(1);

/// What a worker says, as bytes.
pub(super) enum Heard {
    Message(Vec<u8>),
    /// It said more than it may.
    TooMuch,
    /// It closed the pipe.
    Closed,
}

/// A process that renders for one tenant. It is killed when this is dropped.
pub(super) struct Worker {
    group: Arc<Mutex<Group>>,
    to: Sender<Vec<u8>>,
    pub(super) heard: Receiver<Heard>,
    /// Bytes that it may still say.
    budget: Arc<AtomicU64>,
    /// What stood on its standard error, once that is closed.
    errors: Receiver<Vec<u8>>,
    /// What it is held to, once it has said so.
    pub(super) confinement: Option<Confinement>,
    /// Modules that it has.
    pub(super) sent: HashSet<Digest>,
    pub(super) renders: u32,
}

impl Worker {
    pub(super) fn start(config: &WorkerConfig) -> std::io::Result<Worker> {
        let limits = &config.limits;
        let arguments = [limits.memory, whole_seconds(limits.cpu)].map(|number| number.to_string());
        let mut group = Group::spawn(&mut command(&config.program, WORKER, arguments))?;
        let (to, messages) = channel();
        let (say, heard) = sync_channel(UNREAD);
        let budget = Arc::new(AtomicU64::new(limits.answer_bytes));
        let (keep_errors, errors) = channel();
        // The threads end with the pipes, at the latest when the group is killed.
        if let Some(pipe) = group.child.stdin.take() {
            spawn(move || write(pipe, &messages))?;
        }
        if let Some(pipe) = group.child.stdout.take() {
            let budget = Arc::clone(&budget);
            spawn(move || listen(pipe, &budget, &say))?;
        }
        if let Some(pipe) = group.child.stderr.take() {
            spawn(move || drop(keep_errors.send(keep(pipe))))?;
        }
        let group = Arc::new(Mutex::new(group));
        Ok(Worker { group, to, heard, budget, errors, confinement: None, sent: HashSet::new(), renders: 0 })
    }

    /// Gives it a message to read; one that died does not.
    pub(super) fn say(&self, message: Vec<u8>) {
        drop(self.to.send(message));
    }

    /// Lets it say so many bytes from now on.
    pub(super) fn may_say(&self, bytes: u64) {
        self.budget.store(bytes, Ordering::Relaxed);
    }

    /// Kills it from elsewhere, as long as it lives.
    pub(super) fn killer(&self) -> impl Fn() + Send + Sync + 'static {
        let group = Arc::downgrade(&self.group);
        move || {
            if let Some(group) = group.upgrade() {
                lock(&group).kill();
            }
        }
    }

    /// Whether it has not ended.
    pub(super) fn lives(&self) -> bool {
        matches!(lock(&self.group).try_wait(), Ok(None))
    }

    /// Ends it, and says how it ended if it did so itself.
    pub(super) fn end(self, config: &WorkerConfig) -> String {
        let deadline = Instant::now() + LAST_BREATH;
        loop {
            match lock(&self.group).try_wait() {
                Ok(Some(status)) => {
                    let errors = self.errors.recv_timeout(LAST_BREATH).unwrap_or_default();
                    return words(status, &errors, config);
                }
                Ok(None) if Instant::now() < deadline => {}
                Ok(None) | Err(_) => return "it closed its pipes and went on".to_owned(),
            }
            std::thread::sleep(LOOK);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn(work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name("portico-pipe".into()).stack_size(256 << 10).spawn(work).map(drop)
}

fn write(mut pipe: impl Write, messages: &Receiver<Vec<u8>>) {
    for message in messages {
        if pipe.write_all(&message).is_err() {
            break;
        }
    }
}

fn listen(mut pipe: impl Read, budget: &AtomicU64, say: &SyncSender<Heard>) {
    loop {
        let heard = match read_frame(&mut pipe, || budget.load(Ordering::Relaxed)) {
            Ok(message) => {
                let said = message.len() as u64 + 8;
                let _ =
                    budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(said)));
                Heard::Message(message)
            }
            Err(NoFrame::TooLong | NoFrame::NoMemory) => Heard::TooMuch,
            Err(NoFrame::Closed) => Heard::Closed,
        };
        let last = !matches!(heard, Heard::Message(_));
        if say.send(heard).is_err() || last {
            break;
        }
    }
}

fn keep(mut pipe: impl Read) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        let room = STDERR.saturating_sub(kept.len());
        kept.extend_from_slice(&buffer[..count.min(room)]);
    }
    kept
}

/// What ended a worker.
fn words(status: ExitStatus, errors: &[u8], config: &WorkerConfig) -> String {
    use rustix::process::Signal;
    let said = last_words(errors);
    let is = |signal: Signal| status.signal() == Some(signal.as_raw());
    if is(Signal::XCPU) {
        return format!("it used more than {:?} of processor time", config.limits.cpu);
    }
    if said.contains("memory allocation of ") {
        return format!("it needed more than {} of memory", bytes(config.limits.memory));
    }
    match (status.signal(), status.code()) {
        _ if is(Signal::KILL) => "it was killed; the machine may have run out of memory".to_owned(),
        (Some(signal), _) if said.is_empty() => format!("it ended with signal {signal}"),
        (Some(signal), _) => format!("it ended with signal {signal}: {said}"),
        (None, Some(code)) if said.is_empty() => format!("it ended with exit code {code}; is it `portico`?"),
        (None, _) => format!("it ended: {said}"),
    }
}

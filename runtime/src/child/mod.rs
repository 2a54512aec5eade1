//! Child processes that do for this process what it must not do itself: compile what a stranger wrote.
//!
//! The child is a program that calls [`serve_child`] first thing in its `main`, as `portico` does. It begins by giving up
//! what it does not need; the parent holds the pipes, bounds time, and kills.

mod confine;
mod descriptors;
mod group;
mod own_limits;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

pub(crate) use confine::confine;
pub use confine::{Confinement, FileConfinement};
pub(crate) use group::Group;
pub(crate) use own_limits::{OwnLimits, end_here, end_with_parent};

use crate::function::Sources;
use crate::{compile, isolation};

/// The first argument that makes a program a compiler of one module.
pub(crate) const COMPILE: &str = "compile-module";

/// The first argument that makes a program render for a tenant of its parent.
pub(crate) const WORKER: &str = "render-worker";

/// Threads that a child compiles with at most: each one needs a stack and a heap of its own, within the child's memory.
const THREADS: usize = 4;

/// Does the work of a child process, when this process was started as one; `None` when it was not.
///
/// A program whose path is given as [`Compiler::Child`](crate::Compiler::Child) or in
/// [`WorkerConfig`](crate::WorkerConfig) calls this first in its `main`, before it starts a thread or opens a file, and ends
/// with the code that it gets. `embedded` are the functions that are part of the program.
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     if let Some(code) = portico_runtime::serve_child(portico_runtime::Sources::default) {
///         return code;
///     }
///     // what the program does otherwise
///     std::process::ExitCode::SUCCESS
/// }
/// ```
pub fn serve_child(embedded: impl FnOnce() -> Sources) -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let role = arguments.next()?;
    let arguments: Vec<OsString> = arguments.collect();
    if role == COMPILE {
        descriptors::close_inherited();
        return Some(compile::child(&arguments));
    }
    if role == WORKER {
        descriptors::close_inherited();
        return Some(isolation::worker(&arguments, embedded));
    }
    None
}

/// A limit of processor time as the system knows it: at least one whole second; no limit for the largest time.
pub(crate) fn whole_seconds(time: Duration) -> u64 {
    match time {
        Duration::MAX => u64::MAX,
        time => time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)).max(1),
    }
}

/// What a child says, made fit for a message: short, and without control characters.
pub(crate) fn last_words(bytes: &[u8]) -> String {
    const LONGEST: usize = 4 << 10;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}

/// The command that starts a child: pipes for all three streams, a process group of its own, an empty environment but
/// for the number of threads, and no directory to look into.
pub(crate) fn command<A: AsRef<OsStr>>(program: &Path, role: &str, arguments: impl IntoIterator<Item = A>) -> Command {
    use std::os::unix::process::CommandExt;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let mut command = Command::new(program);
    command.arg(role).args(arguments);
    command.env_clear().env("RAYON_NUM_THREADS", threads.to_string()).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    command
}

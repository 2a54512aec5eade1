//! Functions that are programs of the host (`exec:` in a Kptfile): run in a process group of their own, bounded in
//! time and output, and killed as a group.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::child::Group;

/// How often a waiting render looks whether it was cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(10);
/// How long the pipes of a finished program may stay open in the hands of programs that it left behind.
const PIPE_GRACE: Duration = Duration::from_millis(500);

/// What a program may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExecLimits {
    /// When it is killed.
    pub(crate) deadline: Option<Instant>,
    /// Bytes of standard output; more of them end the program.
    pub(crate) stdout: usize,
    /// Bytes of standard error that are kept; the rest is counted and dropped.
    pub(crate) stderr: usize,
}

/// What a program did.
#[derive(Debug)]
pub(crate) struct ExecOutput {
    /// Its exit code; -1 when a signal ended it.
    pub(crate) exit_code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) stderr_dropped: u64,
}

/// Why a program gave no exit code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecError {
    #[error("`{0}` cannot be split into words: a quote is not closed")]
    Quotes(String),
    #[error("the command is empty")]
    Empty,
    #[error("cannot start `{program}`")]
    Start {
        program: String,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot wait for the program")]
    Wait(#[source] std::io::Error),
    #[error("time limit exceeded")]
    Deadline,
    #[error("cancelled")]
    Cancelled,
    #[error("the program wrote more than {limit} bytes to standard output")]
    Output { limit: usize },
}

/// Splits a command line as a shell would, without any expansion.
pub(crate) fn split(command: &str) -> Result<Vec<String>, ExecError> {
    let words = shlex::split(command).ok_or_else(|| ExecError::Quotes(command.to_owned()))?;
    if words.is_empty() { Err(ExecError::Empty) } else { Ok(words) }
}

enum Piece {
    Out(Vec<u8>),
    OutTooLong,
    Err(Vec<u8>, u64),
}

/// Runs a program with `stdin`. It inherits directory and environment of this process.
pub(crate) fn run(
    words: &[String],
    env: &[(String, String)],
    stdin: Vec<u8>,
    limits: &ExecLimits,
    cancelled: &dyn Fn() -> bool,
) -> Result<ExecOutput, ExecError> {
    let (program, args) = words.split_first().ok_or(ExecError::Empty)?;
    let mut command = Command::new(program);
    command.args(args).envs(env.iter().map(|(k, v)| (k, v)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = |source| ExecError::Start { program: program.clone(), source };
    let mut group = Group::spawn(&mut command).map_err(start)?;

    // The threads end when the pipes do: the group is killed on every way out of this function.
    let (sender, pieces) = channel();
    if let Some(mut pipe) = group.child.stdin.take() {
        // A program that does not read its input to the end is in its right.
        thread::spawn(move || drop(pipe.write_all(&stdin)));
    }
    if let Some(pipe) = group.child.stdout.take() {
        let (sender, limit) = (sender.clone(), limits.stdout);
        thread::spawn(move || read_stdout(pipe, limit, &sender));
    }
    if let Some(pipe) = group.child.stderr.take() {
        let limit = limits.stderr;
        thread::spawn(move || read_stderr(pipe, limit, &sender));
    }
    let (stdout, stderr, stderr_dropped, exit_code) = collect(&mut group, &pieces, limits, cancelled)?;
    Ok(ExecOutput { exit_code, stdout, stderr, stderr_dropped })
}

type Collected = (Vec<u8>, Vec<u8>, u64, i32);

/// Waits for both pipes and the exit status, whichever comes first, until the deadline or a cancel.
fn collect(
    group: &mut Group,
    pieces: &Receiver<Piece>,
    limits: &ExecLimits,
    cancelled: &dyn Fn() -> bool,
) -> Result<Collected, ExecError> {
    let (mut stdout, mut stderr, mut dropped) = (None, None, 0);
    let mut status = None;
    let mut grace_ends = None;
    loop {
        let piece = pieces.recv_timeout(CANCEL_POLL);
        match piece {
            Ok(Piece::Out(bytes)) => stdout = Some(bytes),
            Ok(Piece::OutTooLong) => return Err(ExecError::Output { limit: limits.stdout }),
            Ok(Piece::Err(bytes, lost)) => (stderr, dropped) = (Some(bytes), lost),
            Err(RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_millis(1)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if status.is_none() {
            // Whatever an ended program left running holds its pipes open no longer.
            status = group.try_wait().map_err(ExecError::Wait)?;
            if status.is_some() {
                grace_ends = Some(Instant::now() + PIPE_GRACE);
            }
        }
        if let Some(status) = status {
            let waited = grace_ends.is_some_and(|end| Instant::now() >= end);
            if (stdout.is_some() && stderr.is_some()) || waited {
                let code = status.code().unwrap_or_else(|| -i32::from(status.signal().is_some()));
                return Ok((stdout.unwrap_or_default(), stderr.unwrap_or_default(), dropped, code));
            }
        }
        if cancelled() {
            return Err(ExecError::Cancelled);
        }
        if limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(ExecError::Deadline);
        }
    }
}

fn read_stdout(pipe: impl Read, limit: usize, to: &Sender<Piece>) {
    let mut bytes = Vec::new();
    // A read error ends the output like a closed pipe: what came before it is judged as it stands.
    let _ = pipe.take(limit as u64 + 1).read_to_end(&mut bytes);
    // Nobody listens once the render was given up.
    let _ = to.send(if bytes.len() > limit { Piece::OutTooLong } else { Piece::Out(bytes) });
}

fn read_stderr(mut pipe: impl Read, limit: usize, to: &Sender<Piece>) {
    let (mut kept, mut dropped) = (Vec::new(), 0);
    let mut buffer = [0; 8192];
    while let Ok(n @ 1..) = pipe.read(&mut buffer) {
        let take = n.min(limit - kept.len());
        kept.extend_from_slice(&buffer[..take]);
        dropped += (n - take) as u64;
    }
    let _ = to.send(Piece::Err(kept, dropped));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> ExecLimits {
        ExecLimits { deadline: Some(Instant::now() + Duration::from_secs(20)), stdout: 1 << 20, stderr: 16 }
    }

    fn sh(script: &str, stdin: &[u8], limits: &ExecLimits) -> Result<ExecOutput, ExecError> {
        let words = ["sh", "-c", script].map(str::to_owned);
        run(&words, &[], stdin.to_vec(), limits, &|| false)
    }

    #[test]
    fn a_command_is_split_like_a_shell_does_without_expansion() {
        assert_eq!(split("sed -e 's/foo/b r/' \"$HOME\"").unwrap(), ["sed", "-e", "s/foo/b r/", "$HOME"]);
        assert!(matches!(split("sed 'x"), Err(ExecError::Quotes(_))));
        assert!(matches!(split("  "), Err(ExecError::Empty)));
    }

    #[test]
    fn output_exit_code_and_standard_error_come_back() {
        let output = sh("cat; echo oops >&2; exit 7", b"hello", &limits()).unwrap();
        assert_eq!((output.exit_code, &output.stdout[..], &output.stderr[..]), (7, &b"hello"[..], &b"oops\n"[..]));
    }

    #[test]
    fn a_signal_is_exit_code_minus_one() {
        assert_eq!(sh("kill -9 $$", b"", &limits()).unwrap().exit_code, -1);
    }

    #[test]
    fn a_program_that_ignores_a_large_input_is_no_error() {
        assert_eq!(sh("exit 0", &vec![b'x'; 1 << 20], &limits()).unwrap().exit_code, 0);
    }

    #[test]
    fn standard_error_is_kept_up_to_its_bound_and_the_rest_counted() {
        let output = sh("printf '%030d' 0 >&2", b"", &limits()).unwrap();
        assert_eq!((output.stderr.len(), output.stderr_dropped), (16, 14));
    }

    #[test]
    fn too_much_output_ends_the_program() {
        assert!(matches!(sh("yes", b"", &limits()), Err(ExecError::Output { limit: 1_048_576 })));
    }

    #[test]
    fn the_deadline_ends_the_program_and_its_children() {
        let soon = ExecLimits { deadline: Some(Instant::now() + Duration::from_millis(50)), ..limits() };
        let started = Instant::now();
        assert!(matches!(sh("sleep 60 & sleep 60", b"", &soon), Err(ExecError::Deadline)));
        assert!(started.elapsed() < Duration::from_secs(20), "the render waited for the program");
    }

    #[test]
    fn a_cancel_ends_the_program() {
        let words = ["sleep", "60"].map(str::to_owned);
        assert!(matches!(run(&words, &[], Vec::new(), &limits(), &|| true), Err(ExecError::Cancelled)));
    }

    #[test]
    fn a_child_left_in_the_background_does_not_hold_the_render() {
        let output = sh("sleep 60 & echo done", b"", &limits()).unwrap();
        assert_eq!(output.stdout, b"done\n");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let words = ["/no/such/program".to_owned()];
        let error = run(&words, &[], Vec::new(), &limits(), &|| false).unwrap_err();
        assert_eq!(error.to_string(), "cannot start `/no/such/program`");
    }
}

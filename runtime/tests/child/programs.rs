//! Programs that take the place of the compiler, and looking at processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// This program.
pub(crate) fn this() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// A shell script in a directory of its own, in which it finds itself as `$DIR` and this program as `$REAL`.
pub(crate) struct Script {
    dir: tempfile::TempDir,
}

impl Script {
    pub(crate) fn new(body: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let head = format!("#!/bin/sh\nDIR='{}'\nREAL='{}'\n", dir.path().display(), this().display());
        let path = dir.path().join("program");
        fs::write(&path, head + body + "\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self { dir }
    }

    /// A named pipe beside the script: whoever opens one end waits for the other one.
    pub(crate) fn with_pipe(self, name: &str) -> Self {
        rustix::fs::mkfifoat(rustix::fs::CWD, self.file(name), rustix::fs::Mode::RWXU).unwrap();
        self
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.file("program")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }
}

/// Waits until a process is gone: an event, not a look at a number that another one may have by now.
pub(crate) fn wait_for_the_end_of(pid: &str) {
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let mut poll = [rustix::event::PollFd::new(&process, rustix::event::PollFlags::IN)];
    rustix::event::poll(&mut poll, None).unwrap();
}

/// One line of a process's limits: what the system calls it, then the soft and the hard limit.
pub(crate) fn limit(pid: u32, name: &str) -> Vec<String> {
    let all = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("limits")).unwrap();
    let line = all.lines().find(|line| line.starts_with(name)).unwrap();
    line[name.len()..].split_whitespace().take(2).map(str::to_owned).collect()
}

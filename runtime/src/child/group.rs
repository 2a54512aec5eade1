//! A child process with all that it starts.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};

/// The process group of a child; killed when dropped, and the child reaped.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) child: Child,
    /// Its number is free for others from then on.
    reaped: bool,
}

impl Group {
    /// Starts the command in a process group of its own.
    pub(crate) fn spawn(command: &mut Command) -> std::io::Result<Group> {
        Ok(Group { child: command.process_group(0).spawn()?, reaped: false })
    }

    /// Kills whoever is left of the group.
    pub(crate) fn kill(&self) {
        // The group may outlive its leader: programs that it left behind keep its number taken, and where nobody is
        // left an error says so.
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }

    /// How the child ended, if it did; what it left running is killed then.
    pub(crate) fn try_wait(&mut self) -> std::io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        if status.is_some() && !self.reaped {
            self.kill();
            self.reaped = true;
        }
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

//! One writer at a time for a package directory.
//!
//! An advisory lock (`flock`) on the directory: readers share it, a writer has it alone, so that nobody
//! reads a package that is half written. It goes with the process that holds it. A file system that knows
//! no such lock (some network ones) is used without: the check for files that changed since they were read
//! still finds the loser there.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use rustix::fs::{FlockOperation, Mode as FileMode, OFlags};
use rustix::io::Errno;

/// How long a render waits for another one that is writing.
pub(super) const WAIT: Duration = Duration::from_secs(30);

/// Who may be there at the same time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mode {
    Shared,
    Alone,
}

/// A held lock; dropping it lets go.
#[derive(Debug)]
pub(super) struct Lock {
    held: Option<OwnedFd>,
}

impl Lock {
    /// False where the file system knows no locks.
    pub(super) fn excludes_others(&self) -> bool {
        self.held.is_some()
    }
}

/// Takes the lock, or gives `None` when others hold it for all of `wait`.
pub(super) fn lock(root: &Dir, mode: Mode, wait: Duration) -> io::Result<Option<Lock>> {
    // An open file of its own: two users of one handle would share the lock instead of excluding each other.
    let dir = open_for_real(root)?;
    let operation = match mode {
        Mode::Shared => FlockOperation::NonBlockingLockShared,
        Mode::Alone => FlockOperation::NonBlockingLockExclusive,
    };
    let deadline = Instant::now() + wait;
    let mut pause = Duration::from_millis(1);
    loop {
        match rustix::fs::flock(&dir, operation) {
            Ok(()) => return Ok(Some(Lock { held: Some(dir) })),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok(None);
                }
                std::thread::sleep(pause.min(left));
                pause = (pause * 2).min(Duration::from_millis(50));
            }
            Err(Errno::NOTSUP | Errno::NOSYS | Errno::BADF | Errno::INVAL | Errno::NOLCK) => {
                return Ok(Some(Lock { held: None }));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Opens the directory that a handle stands for. The handle itself may be good for names alone (`O_PATH`),
/// and neither locks nor synchronises then.
pub(super) fn open_for_real(dir: &Dir) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(dir, ".", flags, FileMode::empty())?)
}

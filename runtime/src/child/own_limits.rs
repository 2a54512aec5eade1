//! The limits that a child process sets for itself before it looks at anything that a stranger wrote.

use std::io::Read;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Address space that a process may take on top of its memory: the program and its libraries, and what allocators and
/// threads reserve without using it.
const ADDRESS_SPACE_ROOM: u64 = 2 << 30;

/// What the system lets this process have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OwnLimits {
    /// Bytes of memory that can be written.
    pub(crate) memory: Option<u64>,
    /// Whether the address space is bounded too, a little above `memory`.
    pub(crate) address_space: bool,
    /// Seconds of processor time.
    pub(crate) cpu: Option<u64>,
    /// Bytes of a file, those in memory included.
    pub(crate) file_bytes: u64,
    /// Open files.
    pub(crate) open_files: u64,
}

impl OwnLimits {
    /// Sets them, for good: the hard limits too. No core is ever dumped.
    pub(crate) fn set(self) -> std::io::Result<()> {
        let fixed = |value: u64| Rlimit { current: Some(value), maximum: Some(value) };
        set(Resource::Core, fixed(0))?;
        set(Resource::Fsize, fixed(self.file_bytes))?;
        set(Resource::Nofile, fixed(self.open_files))?;
        if let Some(memory) = self.memory {
            // Private memory that can be written: the heap, stacks, and memories of functions as far as they have grown.
            set(Resource::Data, fixed(memory))?;
            if self.address_space {
                set(Resource::As, fixed(memory.saturating_add(ADDRESS_SPACE_ROOM)))?;
            }
        }
        if let Some(seconds) = self.cpu {
            // The soft limit ends the process with a signal of its own, by which the parent tells it from a kill.
            set(Resource::Cpu, Rlimit { current: Some(seconds), maximum: Some(seconds.saturating_add(1)) })?;
        }
        Ok(())
    }
}

/// Lowers a limit; one that the parent's own limits make lower still stays as it is.
fn set(resource: Resource, mut to: Rlimit) -> std::io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    if let Some(maximum) = now.maximum {
        to.maximum = to.maximum.map(|value| value.min(maximum));
        to.current = to.current.map(|value| value.min(maximum));
    }
    Ok(setrlimit(resource, to)?)
}

/// Ends this process at once, whatever its threads are doing.
pub(crate) fn end_here() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}

/// Reads on from the parent's pipe in a thread, and kills this process when the pipe ends: so does the parent's life,
/// whatever ended it.
pub(crate) fn end_with_parent(mut pipe: impl Read + Send + 'static) -> std::io::Result<()> {
    let watch = move || {
        let mut buffer = [0; 64];
        while pipe.read(&mut buffer).is_ok_and(|count| count > 0) {}
        end_here();
    };
    std::thread::Builder::new().name("portico-parent".into()).stack_size(64 << 10).spawn(watch).map(drop)
}

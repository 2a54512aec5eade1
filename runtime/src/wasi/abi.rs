//! Numbers and layouts of WASI preview 1.

/// A call that went well.
pub(crate) const SUCCESS: i32 = 0;

/// The errors that are used here, by their numbers in preview 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Errno {
    /// No such file descriptor, or not open for that.
    BadF = 8,
    /// An address outside the guest's memory.
    Fault = 21,
    /// An argument that makes no sense.
    Inval = 28,
    /// Not implemented.
    NoSys = 52,
    /// Not a directory.
    NotDir = 54,
    /// Not a socket.
    NotSock = 57,
    /// A number that does not fit.
    Overflow = 61,
    /// A stream can't seek.
    SPipe = 70,
}

/// A descriptor's type: neither a terminal, so that programs buffer and print no colours, nor a file,
/// so that they do not seek.
pub(crate) const FILETYPE_UNKNOWN: u8 = 0;

pub(crate) const RIGHT_FD_READ: u64 = 1 << 1;
pub(crate) const RIGHT_FD_WRITE: u64 = 1 << 6;
pub(crate) const RIGHT_POLL: u64 = 1 << 27;

pub(crate) const CLOCK_REALTIME: u32 = 0;
pub(crate) const CLOCK_THREAD_CPU: u32 = 3;

/// The length of a `fdstat`.
pub(crate) const FDSTAT_BYTES: usize = 24;
/// The length of a `filestat`.
pub(crate) const FILESTAT_BYTES: usize = 64;
/// The length of an `iovec` or `ciovec`: address and length.
pub(crate) const IOVEC_BYTES: u32 = 8;

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
    /// A name that is not UTF-8.
    IlSeq = 25,
    /// An argument that makes no sense.
    Inval = 28,
    /// A directory, where a file is asked for.
    IsDir = 31,
    /// A link, or too many of them.
    Loop = 32,
    /// Too many open files.
    MFile = 33,
    /// A path or a name that is too long.
    NameTooLong = 37,
    /// No such file.
    NoEnt = 44,
    /// Not implemented.
    NoSys = 52,
    /// Not a directory.
    NotDir = 54,
    /// Not a socket.
    NotSock = 57,
    /// Not for this descriptor.
    NotSup = 58,
    /// A number that does not fit.
    Overflow = 61,
    /// Everything here is read only.
    RoFs = 69,
    /// A stream can't seek.
    SPipe = 70,
    /// A right that the descriptor has not.
    NotCapable = 76,
}

/// A descriptor's type: neither a terminal, so that programs buffer and print no colours, nor a file,
/// so that they do not seek.
pub(crate) const FILETYPE_UNKNOWN: u8 = 0;
pub(crate) const FILETYPE_DIRECTORY: u8 = 3;
pub(crate) const FILETYPE_FILE: u8 = 4;
pub(crate) const FILETYPE_LINK: u8 = 7;

pub(crate) const RIGHT_FD_READ: u64 = 1 << 1;
pub(crate) const RIGHT_FD_SEEK: u64 = 1 << 2;
pub(crate) const RIGHT_FD_SET_FLAGS: u64 = 1 << 3;
pub(crate) const RIGHT_FD_TELL: u64 = 1 << 5;
pub(crate) const RIGHT_FD_WRITE: u64 = 1 << 6;
pub(crate) const RIGHT_FD_ADVISE: u64 = 1 << 7;
pub(crate) const RIGHT_PATH_OPEN: u64 = 1 << 13;
pub(crate) const RIGHT_FD_READDIR: u64 = 1 << 14;
pub(crate) const RIGHT_PATH_READLINK: u64 = 1 << 15;
pub(crate) const RIGHT_PATH_FILESTAT_GET: u64 = 1 << 18;
pub(crate) const RIGHT_FD_FILESTAT_GET: u64 = 1 << 21;
pub(crate) const RIGHT_POLL: u64 = 1 << 27;

/// A link at the end of a path is followed.
pub(crate) const LOOKUP_FOLLOW: u32 = 1;

pub(crate) const OPEN_CREATE: u32 = 1;
pub(crate) const OPEN_DIRECTORY: u32 = 1 << 1;
pub(crate) const OPEN_EXCLUSIVE: u32 = 1 << 2;
pub(crate) const OPEN_TRUNCATE: u32 = 1 << 3;
/// All flags of a descriptor that preview 1 has: append, data sync, non-blocking, read sync, sync.
pub(crate) const FDFLAGS: u32 = 0x1f;

pub(crate) const SEEK_SET: u32 = 0;
pub(crate) const SEEK_CURRENT: u32 = 1;
pub(crate) const SEEK_END: u32 = 2;

pub(crate) const CLOCK_REALTIME: u32 = 0;
pub(crate) const CLOCK_THREAD_CPU: u32 = 3;

/// The length of a `fdstat`.
pub(crate) const FDSTAT_BYTES: usize = 24;
/// The length of a `filestat`.
pub(crate) const FILESTAT_BYTES: usize = 64;
/// The length of a `dirent`, before its name.
pub(crate) const DIRENT_BYTES: usize = 24;
/// The length of a `prestat`.
pub(crate) const PRESTAT_BYTES: usize = 8;
/// The length of an `iovec` or `ciovec`: address and length.
pub(crate) const IOVEC_BYTES: u32 = 8;

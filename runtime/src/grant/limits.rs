//! How large a granted directory may be.

/// Directories that one call may be granted: each is looked through for every path of a program.
pub(super) const MAX_DIRECTORIES: usize = 64;

/// Environment variables that may be granted.
pub(super) const MAX_VARIABLES: usize = 1_000;

/// Bytes of all variables together, names, values and one byte between them: they are copied into the
/// memory of every function.
pub(super) const MAX_VARIABLE_BYTES: usize = 128 << 10;

/// The deepest that is read, whatever [`GrantLimits::depth`] says: each level holds a descriptor open.
pub(super) const DEEPEST: u32 = 200;

/// Bounds on one granted directory. It is copied into memory as a whole before anything runs, so each
/// of them stops a way to fill the host's memory with a tree of files; what functions then read of it is
/// paid for in fuel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantLimits {
    /// Files, directories, links and what is left out, together.
    ///
    /// - Problem: a tree whose mere listing fills the memory.
    /// - Mechanism: counted while listing; the entry beyond it refuses the directory.
    /// - Default: 100,000; the schemas of one version of Kubernetes are about 1,500.
    /// - Does not stop: several directories, each with as many.
    /// - Tested by `grant/read_tests.rs`.
    pub entries: u64,

    /// Bytes of one file.
    ///
    /// - Problem: one huge file, or one that grows while it is read.
    /// - Mechanism: compared with what the system says before reading, and again while reading.
    /// - Default: 64 MiB.
    /// - Does not stop: many files, see `bytes`.
    /// - Tested by `grant/read_tests.rs`.
    pub file_bytes: u64,

    /// Bytes of all files and of the texts of links, together.
    ///
    /// - Problem: many files.
    /// - Mechanism: added up while reading; the file that would pass it is not read.
    /// - Default: 256 MiB.
    /// - Does not stop: names, which `entries` bounds to 255 bytes each.
    /// - Tested by `grant/read_tests.rs`.
    pub bytes: u64,

    /// Directories above an entry, counted from the granted one. Never more than 200.
    ///
    /// - Problem: each level holds an open descriptor while it is read.
    /// - Mechanism: the directory beyond it refuses the whole.
    /// - Default: 64.
    /// - Does not stop: wide trees, see `entries`.
    /// - Tested by `grant/read_tests.rs`.
    pub depth: u32,
}

impl Default for GrantLimits {
    fn default() -> Self {
        Self { entries: 100_000, file_bytes: 64 << 20, bytes: 256 << 20, depth: 64 }
    }
}

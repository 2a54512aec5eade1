//! What a package may cost before it is refused.

/// Bounds on what is read of a package. Each stops one way to exhaust the host with a tree of files;
/// none of them bounds what functions do with the content (that is the sandbox's part).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PackageLimits {
    /// Entries of any kind (files, directories, links), ignored and unread ones included; `.git` counts as
    /// one. Stops a tree whose mere listing fills the memory. Default 1,000,000.
    pub entries: u64,
    /// Files whose content is read. Default 200,000.
    pub files: u64,
    /// Bytes of one file. Default 256 MiB.
    pub file_bytes: u64,
    /// Bytes of all files that are read, together. Default 1 GiB.
    pub package_bytes: u64,
    /// Directories above an entry, counted from the package's root. Default 100.
    pub depth: u32,
    /// Bytes of one `.krmignore`. Default 1 MiB.
    pub ignore_bytes: u64,
    /// Patterns with wildcards in one `.krmignore`: they are tried one after the other, while plain names
    /// are looked up and not bounded. Default 1,000.
    pub ignore_patterns: u64,
}

impl Default for PackageLimits {
    fn default() -> Self {
        Self {
            entries: 1_000_000,
            files: 200_000,
            file_bytes: 256 << 20,
            package_bytes: 1 << 30,
            depth: 100,
            ignore_bytes: 1 << 20,
            ignore_patterns: 1_000,
        }
    }
}

/// A package exceeds one of the [`PackageLimits`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{path}`: {found} {unit}, the limit is {limit}; make the package smaller, name what functions do not need in `.krmignore`, or raise the limit `{setting}`"
)]
pub struct LimitExceeded {
    /// The path at which the limit was met, relative to the package's root.
    pub path: String,
    /// The name of the limit: `package.files` for [`PackageLimits::files`].
    pub setting: &'static str,
    /// What is counted.
    pub unit: &'static str,
    /// The bound.
    pub limit: u64,
    /// How much there is; at least that, where counting stopped early.
    pub found: u64,
}

impl LimitExceeded {
    /// Fails when `found` is more than `limit`.
    pub(crate) fn check(
        path: &str,
        setting: &'static str,
        unit: &'static str,
        limit: u64,
        found: u64,
    ) -> Result<(), Self> {
        if found <= limit {
            return Ok(());
        }
        let path = if path.is_empty() { "." } else { path }.to_owned();
        Err(Self { path, setting, unit, limit, found })
    }
}

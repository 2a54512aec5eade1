//! Where the symbolic links of a package lead. They are looked at, never followed.

use super::files::PackageWarning;

/// What a symbolic link leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkTarget {
    /// A file of the package.
    File,
    /// A directory of the package: what it holds is read at its own place.
    Directory,
    /// Something in the package that is neither.
    Special,
    /// Somewhere out of the package, or an absolute path.
    Outside,
    /// Nothing.
    Nowhere,
    /// Itself, by way of others or not.
    Cycle,
}

impl LinkTarget {
    /// Whether kpt, which follows links, would find something.
    pub(super) fn leads_somewhere(self) -> bool {
        !matches!(self, Self::Nowhere | Self::Cycle)
    }

    /// The warning for such a link at `path`; `counts` says whether its name matches the globs. Nothing is
    /// lost, and so nothing said, where a link names a directory of the package or a file that no
    /// function would see.
    pub(super) fn warning(self, path: &str, counts: bool) -> Option<PackageWarning> {
        let path = path.to_owned();
        match self {
            Self::Outside => Some(PackageWarning::LinkOutside(path)),
            Self::Nowhere => Some(PackageWarning::LinkDangles(path)),
            Self::Cycle => Some(PackageWarning::LinkCycle(path)),
            Self::Special if counts => Some(PackageWarning::Special(path)),
            Self::File if counts => Some(PackageWarning::LinkInside(path)),
            Self::File | Self::Special | Self::Directory => None,
        }
    }
}

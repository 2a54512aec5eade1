//! The files of a package tree as one value.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use super::limits::LimitExceeded;
use super::path::{PathError, join};

/// A package and its subpackages, read once. All paths are relative to the root and use slashes.
#[derive(Debug, Clone, Default)]
pub struct PackageFiles {
    /// The name of the root directory; kpt shows it as the package's name.
    pub name: String,
    /// The absolute path of the root, for messages and for the `package-path` annotation. Nothing is opened by it.
    pub root: String,
    /// The files whose content counts: those that match the globs and are not ignored, and every Kptfile.
    pub files: BTreeMap<String, File>,
    /// The packages, parents before their subpackages; the root is always the first, Kptfile or not.
    pub packages: Vec<PackageNode>,
    /// Every other path: names only, so that a new file cannot take the place of something unnoticed.
    pub others: BTreeMap<String, OtherPath>,
    /// What was left alone, in the order of the paths.
    pub warnings: Vec<PackageWarning>,
}

/// A file and its content as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The content.
    pub bytes: Arc<[u8]>,
    /// What identified the file on disk; `None` in a package that came from a map.
    pub fingerprint: Option<Fingerprint>,
}

/// What identifies one state of a file on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// The device.
    pub dev: u64,
    /// The inode.
    pub ino: u64,
    /// The size in bytes.
    pub size: u64,
    /// The modification time in nanoseconds since 1970.
    pub mtime_ns: i128,
    /// Permissions and file type.
    pub mode: u32,
    /// The number of names (hard links).
    pub links: u64,
}

/// One package of the tree.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PackageNode {
    /// Its directory; empty for the root.
    pub path: String,
    /// The index of the package it belongs to.
    pub parent: Option<usize>,
    /// The indices of its direct subpackages, in kpt's order: by the bytes of their path.
    pub children: Vec<usize>,
    /// Its own input files (keys of [`PackageFiles::files`]), in kpt's walk order: name by name. Files of
    /// subpackages and ignored files are not among them; the Kptfile is, unless it is ignored.
    pub files: Vec<String>,
    /// What stands at `Kptfile`.
    pub kptfile: KptfileEntry,
}

/// What stands at the place of a package's Kptfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum KptfileEntry {
    /// A file; its content is in [`PackageFiles::files`].
    File,
    /// Nothing: only possible for the root.
    Missing,
    /// A directory.
    Directory,
    /// A symbolic link, which is not followed.
    Link,
    /// A FIFO, a socket or a device.
    Special,
}

/// A path that is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum OtherPath {
    /// A file that does not match the globs.
    File,
    /// A file that would count, but `.krmignore` names it or a directory above it.
    Ignored,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO, a socket or a device.
    Special,
    /// git's own directory or file, into which nobody looks.
    Git,
}

/// One change to the files of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The file shall have this content.
    Write {
        /// Where.
        path: String,
        /// The whole content.
        bytes: Vec<u8>,
    },
    /// The file shall be gone; its directory stays.
    Delete {
        /// Where.
        path: String,
    },
}

impl Change {
    /// The path of the file that changes.
    pub fn path(&self) -> &str {
        match self {
            Self::Write { path, .. } | Self::Delete { path } => path,
        }
    }
}

/// Something in a package that was left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageWarning {
    /// The package's own path is a link.
    ResolvedLink {
        /// The path as given.
        link: String,
        /// Where it leads.
        target: String,
    },
    /// A link that leads out of the package.
    LinkOutside(String),
    /// A link to nothing.
    LinkDangles(String),
    /// A link that leads back to itself.
    LinkCycle(String),
    /// A link to a file of the package.
    LinkInside(String),
    /// A FIFO, a socket or a device whose name matches the globs.
    Special(String),
    /// A directory, or a file that matches the globs, whose name is not UTF-8; the name is shown with escapes.
    NotUtf8(String),
    /// A file that was written had other names (hard links); they keep the old content.
    HardLinkBroken(String),
    /// A temporary file could not be removed.
    LeftBehind(String),
}

impl fmt::Display for PackageWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ResolvedLink { link, target } => write!(
                f,
                "resolved symlink {link:?} to {target:?}, please note that the symlinks within the package are ignored"
            ),
            Self::LinkOutside(path) => write!(f, "symlink {path:?} leads out of the package; it is ignored"),
            Self::LinkDangles(path) => write!(f, "symlink {path:?} leads to nothing; it is ignored"),
            Self::LinkCycle(path) => write!(f, "symlink {path:?} leads back to itself; it is ignored"),
            Self::LinkInside(path) => write!(f, "symlink {path:?} is ignored, as all symlinks within a package"),
            Self::Special(path) => write!(f, "{path:?} is no regular file; it is ignored"),
            Self::NotUtf8(path) => write!(f, "the name \"{path}\" is not UTF-8; it is ignored"),
            Self::HardLinkBroken(path) => {
                write!(f, "{path:?} had other names (hard links); they keep the old content")
            }
            Self::LeftBehind(path) => write!(f, "could not remove the temporary file {path:?}"),
        }
    }
}

/// Why a package could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The path given for the package cannot be opened.
    #[error("cannot open the package `{path}`")]
    Open {
        /// As given.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The path given for the package is a file.
    #[error("`{0}` is not a directory; give the directory that holds the Kptfile")]
    NotADirectory(String),
    /// The path of the package is not UTF-8.
    #[error("the path of the package is not UTF-8: {0}")]
    RootNotUtf8(String),
    /// A file or directory of the package cannot be read.
    #[error("cannot read `{path}`")]
    Io {
        /// Relative to the package's root.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A file was replaced by something else while the package was being read.
    #[error("`{0}` changed while the package was being read; render again")]
    Unstable(String),
    /// The package is too big.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// A key of a map cannot be a path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A map holds `a` and `a/b`.
    #[error("`{0}` is a file and a directory at once")]
    FileAndDirectory(String),
    /// Another render writes to the directory and does not end.
    #[error("another process writes to the package `{0}`; try again when it has ended")]
    Busy(String),
}

/// Whether kpt reads a file of this base name: `Kptfile`, `*.yaml`, `*.yml`, `*.json`. Case matters, and a
/// leading dot does not.
pub fn matches_globs(base_name: &str) -> bool {
    base_name == KPTFILE || [".yaml", ".yml", ".json"].iter().any(|end| base_name.ends_with(end))
}

pub(crate) const KPTFILE: &str = "Kptfile";
pub(crate) const KRMIGNORE: &str = ".krmignore";

impl PackageFiles {
    /// The root package.
    pub fn root_package(&self) -> &PackageNode {
        &self.packages[0]
    }

    /// The absolute path of a package's directory, for display and annotations.
    pub fn absolute_path(&self, package: &PackageNode) -> String {
        if package.path.is_empty() {
            self.root.clone()
        } else {
            format!("{}/{}", self.root.trim_end_matches('/'), package.path)
        }
    }

    /// The Kptfile's content, where [`PackageNode::kptfile`] is [`KptfileEntry::File`].
    pub fn kptfile(&self, package: &PackageNode) -> Option<&File> {
        self.files.get(&package.kptfile_path())
    }
}

impl PackageNode {
    /// The path of the Kptfile.
    pub fn kptfile_path(&self) -> String {
        join(&self.path, KPTFILE)
    }

    /// The root-relative path of a package-relative one.
    pub fn path_of(&self, relative: &str) -> String {
        join(&self.path, relative)
    }

    /// The package-relative form of a root-relative path below this package.
    pub fn relative<'a>(&self, path: &'a str) -> Option<&'a str> {
        if self.path.is_empty() {
            return Some(path);
        }
        path.strip_prefix(self.path.as_str())?.strip_prefix('/')
    }
}

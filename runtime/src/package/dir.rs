//! A package in a directory.

use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileType, Metadata, MetadataExt as _, OpenOptions};

use super::discover::{Content, Entries, EntryKind, Scope, Wanted, assemble};
use super::files::{File, Fingerprint, PackageFiles, PackageWarning, ReadError, matches_globs};
use super::limits::{LimitExceeded, PackageLimits};
use super::links::LinkTarget;
use super::lock::{self, Mode};
use super::path::{is_git, join};
use super::resolve;

/// A directory that holds a package. Nothing outside it can be named through it.
#[derive(Debug)]
pub struct PackageDir {
    pub(super) dir: Dir,
    pub(super) lock_wait: Duration,
    pub(super) sync: bool,
    name: String,
    root: String,
    link: Option<PackageWarning>,
}

impl PackageDir {
    /// Opens a package's directory. The path itself may be a link or lead through links; a link gives a
    /// warning with [`PackageDir::read`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let shown = || path.display().to_string();
        let open_error = |source| ReadError::Open { path: shown(), source };
        let is_link = std::fs::symlink_metadata(path).map_err(open_error)?.is_symlink();
        let resolved = resolve::without_links(path).map_err(open_error)?;
        if !std::fs::metadata(&resolved).map_err(open_error)?.is_dir() {
            return Err(ReadError::NotADirectory(shown()));
        }
        let dir = Dir::open_ambient_dir(&resolved, ambient_authority()).map_err(open_error)?;
        let absolute = resolve::absolute(&resolved).map_err(open_error)?;
        let Some(root) = absolute.to_str() else {
            return Err(ReadError::RootNotUtf8(absolute.display().to_string()));
        };
        let name = absolute.file_name().and_then(|name| name.to_str()).unwrap_or("/");
        let link =
            is_link.then(|| PackageWarning::ResolvedLink { link: shown(), target: resolved.display().to_string() });
        Ok(Self { dir, lock_wait: lock::WAIT, sync: false, name: name.to_owned(), root: root.to_owned(), link })
    }

    /// How long [`PackageDir::read`] and [`PackageDir::apply`] wait while another process writes to the
    /// package. Default 30 s.
    #[must_use]
    pub fn with_lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait;
        self
    }

    /// Whether [`PackageDir::apply`] forces everything to the disk, so that a power failure right after it
    /// loses nothing. Default no: it costs milliseconds a file, and a package is under version control.
    #[must_use]
    pub fn with_sync(mut self, sync: bool) -> Self {
        self.sync = sync;
        self
    }

    /// The name of the directory, after links in its path were resolved.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its absolute path, for display.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Reads the whole package once, for a render.
    pub fn read(&self, limits: &PackageLimits) -> Result<PackageFiles, ReadError> {
        self.read_scope(limits, Scope::Inputs)
    }

    /// Reads the package with the files that no function gets, such as a `README.md`: for whoever sends it elsewhere. What
    /// `.krmignore` names is left out, and links are not followed, as for a render.
    pub fn read_everything(&self, limits: &PackageLimits) -> Result<PackageFiles, ReadError> {
        self.read_scope(limits, Scope::Everything)
    }

    fn read_scope(&self, limits: &PackageLimits, scope: Scope) -> Result<PackageFiles, ReadError> {
        let _lock = lock::lock(&self.dir, Mode::Shared, self.lock_wait)
            .map_err(|source| ReadError::Io { path: ".".to_owned(), source })?
            .ok_or_else(|| ReadError::Busy(self.root.clone()))?;
        let mut listing = Listing { dir: &self.dir, limits, entries: Entries::new(), warnings: Vec::new() };
        listing.warnings.extend(self.link.clone());
        listing.run()?;
        let Listing { entries, warnings, .. } = listing;
        assemble(self.name.clone(), self.root.clone(), &entries, warnings, &mut Contents(&self.dir), limits, scope)
    }
}

/// The names of a tree as they are found.
struct Listing<'a> {
    dir: &'a Dir,
    limits: &'a PackageLimits,
    entries: Entries,
    warnings: Vec<PackageWarning>,
}

impl Listing<'_> {
    fn run(&mut self) -> Result<(), ReadError> {
        let mut pending = vec![String::new()];
        while let Some(path) = pending.pop() {
            self.list(&path, &mut pending).map_err(|error| match error {
                ListError::Io(source) => read_error(if path.is_empty() { "." } else { &path }, source),
                ListError::Limit(limit) => limit.into(),
            })?;
        }
        Ok(())
    }

    fn list(&mut self, path: &str, pending: &mut Vec<String>) -> Result<(), ListError> {
        let dir = if path.is_empty() { self.dir.open_dir(".")? } else { self.dir.open_dir_nofollow(path)? };
        for entry in dir.entries()? {
            let entry = entry?;
            let file_name = entry.file_name();
            let Some(name) = file_name.to_str() else {
                let name = file_name.to_string_lossy();
                if matches_globs(&name)
                    || self.kind(&dir, &file_name, path, entry.file_type()?)? == EntryKind::Directory
                {
                    let shown = join(path, &file_name.as_encoded_bytes().escape_ascii().to_string());
                    self.warnings.push(PackageWarning::NotUtf8(shown));
                }
                continue;
            };
            let below = join(path, name);
            let kind =
                if is_git(name) { EntryKind::Git } else { self.kind(&dir, &file_name, path, entry.file_type()?)? };
            if kind == EntryKind::Directory {
                let depth = below.matches('/').count() as u64 + 1;
                LimitExceeded::check(
                    &below,
                    "package.depth",
                    "directories above its entries",
                    self.limits.depth.into(),
                    depth,
                )?;
                pending.push(below.clone());
            }
            self.entries.insert(below, kind);
            LimitExceeded::check(
                path,
                "package.entries",
                "entries at least",
                self.limits.entries,
                self.entries.len() as u64,
            )?;
        }
        Ok(())
    }

    fn kind(&self, dir: &Dir, name: &std::ffi::OsStr, parent: &str, listed: FileType) -> io::Result<EntryKind> {
        let mut found = listed;
        if found == FileType::unknown() {
            found = dir.symlink_metadata(name)?.file_type();
        }
        Ok(if found.is_dir() {
            EntryKind::Directory
        } else if found.is_file() {
            EntryKind::File
        } else if found.is_symlink() {
            EntryKind::Link(self.link_target(&Path::new(parent).join(name)))
        } else {
            EntryKind::Special
        })
    }

    /// Where a link leads. The question is put to the package's own directory, which answers for no path
    /// that leaves it: nothing outside is looked at.
    fn link_target(&self, link: &Path) -> LinkTarget {
        match self.dir.metadata(link) {
            Ok(target) if target.is_file() => LinkTarget::File,
            Ok(target) if target.is_dir() => LinkTarget::Directory,
            Ok(_) => LinkTarget::Special,
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => LinkTarget::Cycle,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                LinkTarget::Nowhere
            }
            Err(_) => LinkTarget::Outside,
        }
    }
}

enum ListError {
    Io(io::Error),
    Limit(LimitExceeded),
}

impl From<io::Error> for ListError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<LimitExceeded> for ListError {
    fn from(error: LimitExceeded) -> Self {
        Self::Limit(error)
    }
}

/// What was listed a moment ago and is gone has been taken away meanwhile.
fn read_error(path: &str, source: io::Error) -> ReadError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound => ReadError::Unstable(path),
        _ => ReadError::Io { path, source },
    }
}

struct Contents<'a>(&'a Dir);

impl Content for Contents<'_> {
    fn read(&mut self, path: &str, wanted: Wanted) -> Result<File, ReadError> {
        let io_error = |source| read_error(path, source);
        let Wanted { limit, setting, through_link } = wanted;
        let follow = if through_link { FollowSymlinks::Yes } else { FollowSymlinks::No };
        let mut options = OpenOptions::new();
        // A FIFO that took the file's place must not hold the render up.
        options.read(true).nonblock(true).follow(follow);
        let mut file = self.0.open_with(path, &options).map_err(io_error)?;
        let metadata = file.metadata().map_err(io_error)?;
        if !metadata.is_file() {
            return Err(ReadError::Unstable(path.to_owned()));
        }
        LimitExceeded::check(path, setting, "bytes", limit, metadata.len())?;
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
        let length = (&mut file).take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(io_error)? as u64;
        LimitExceeded::check(path, setting, "bytes", limit, length)?;
        if length != metadata.len() || fingerprint(&file.metadata().map_err(io_error)?) != fingerprint(&metadata) {
            return Err(ReadError::Unstable(path.to_owned()));
        }
        Ok(File { bytes: bytes.into(), fingerprint: Some(fingerprint(&metadata)) })
    }
}

/// What tells one state of a file from another.
pub(super) fn fingerprint(metadata: &Metadata) -> Fingerprint {
    Fingerprint {
        dev: metadata.dev(),
        ino: metadata.ino(),
        size: metadata.size(),
        mtime_ns: i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
        mode: metadata.mode(),
        links: metadata.nlink(),
    }
}

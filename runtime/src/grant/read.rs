//! Copies a directory into memory.
//!
//! Everything goes through handles of directories (cap-std): a name is listed, opened from the handle of
//! its own directory without following a link, and looked at again once open. So whatever is renamed,
//! replaced or linked meanwhile, nothing outside the directory is opened, and nothing that is no file is
//! read.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::Path;

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileType, OpenOptions};

use super::limits::{DEEPEST, GrantLimits};
use super::tree::{Node, NodeId, Tree};
use super::walk::{Last, WalkError};
use super::{GrantError, GrantWarning};

/// Warnings that are kept; the rest is counted.
const MAX_WARNINGS: usize = 20;

/// Names looked up to find the links that lead out. A tree of links can ask for more; then the rest is
/// kept, and stays as harmless as any link: it is followed within the tree alone.
const LINK_STEPS: u64 = 10_000_000;

/// What was read.
pub(super) struct Reading {
    pub(super) tree: Tree,
    pub(super) warnings: Vec<GrantWarning>,
}

/// Reads a directory with all that is below it. The path itself may lead through links.
pub(super) fn read(source: &Path, limits: &GrantLimits) -> Result<Reading, GrantError> {
    let shown = source.display().to_string();
    let open_error = |source| GrantError::Open { path: shown.clone(), source };
    if !std::fs::metadata(source).map_err(open_error)?.is_dir() {
        return Err(GrantError::NotADirectory(shown));
    }
    let dir = Dir::open_ambient_dir(source, ambient_authority()).map_err(open_error)?;
    let mut reader =
        Reader { source: &shown, limits, tree: Tree::default(), entries: 0, bytes: 0, warnings: Vec::new(), more: 0 };
    reader.directory(&dir, NodeId::ROOT, "", 0)?;
    reader.leave_out_links();
    let Reader { tree, mut warnings, more, .. } = reader;
    if more > 0 {
        warnings.push(GrantWarning::More(more));
    }
    Ok(Reading { tree, warnings })
}

struct Reader<'a> {
    /// The granted directory, as it was named.
    source: &'a str,
    limits: &'a GrantLimits,
    tree: Tree,
    entries: u64,
    bytes: u64,
    warnings: Vec<GrantWarning>,
    more: u64,
}

impl Reader<'_> {
    fn directory(&mut self, dir: &Dir, into: NodeId, path: &str, depth: u32) -> Result<(), GrantError> {
        let mut names = Vec::new();
        for entry in dir.entries().map_err(|source| self.error(path, source))? {
            let entry = entry.map_err(|source| self.error(path, source))?;
            self.entries += 1;
            self.check(path, "entries", "entries at least", self.limits.entries, self.entries)?;
            names.push((entry.file_name(), entry.file_type().map_err(|source| self.error(path, source))?));
        }
        names.sort_unstable_by(|(a, _), (b, _)| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
        for (name, kind) in names {
            self.entry(dir, into, path, depth, &name, kind)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        dir: &Dir,
        into: NodeId,
        parent: &str,
        depth: u32,
        name: &OsStr,
        listed: FileType,
    ) -> Result<(), GrantError> {
        let Some(name) = name.to_str() else {
            let path = below(parent, &name.as_encoded_bytes().escape_ascii().to_string());
            self.warn(GrantWarning::NotUtf8(self.shown(&path)));
            return Ok(());
        };
        let path = below(parent, name);
        match self.add(dir, into, name, &path, depth, listed) {
            // What the user who runs this may not read, functions may not either.
            Err(GrantError::Io { path, source }) if source.kind() == io::ErrorKind::PermissionDenied => {
                self.warn(GrantWarning::Unreadable(path));
                Ok(())
            }
            added => added,
        }
    }

    fn add(
        &mut self,
        dir: &Dir,
        into: NodeId,
        name: &str,
        path: &str,
        depth: u32,
        listed: FileType,
    ) -> Result<(), GrantError> {
        let mut kind = listed;
        if kind == FileType::unknown() {
            kind = dir.symlink_metadata(name).map_err(|source| self.error(path, source))?.file_type();
        }
        if kind.is_dir() {
            let (depth, limit) = (depth + 1, self.limits.depth.min(DEEPEST));
            self.check(path, "depth", "directories above its entries", limit.into(), depth.into())?;
            let inner = dir.open_dir_nofollow(name).map_err(|source| self.error(path, source))?;
            let id = self.tree.add(into, name, Node::Directory(Vec::new()));
            let read = self.directory(&inner, id, path, depth);
            if read.is_err() {
                self.tree.remove(id);
            }
            return read;
        }
        if kind.is_file() {
            let bytes = self.content(dir, name, path)?;
            self.tree.add(into, name, Node::File(bytes));
        } else if kind.is_symlink() {
            let target = dir.read_link_contents(name).map_err(|source| match source.kind() {
                // What was listed as a link is none any more.
                io::ErrorKind::InvalidInput => self.unstable(path),
                _ => self.error(path, source),
            })?;
            self.bytes += target.as_os_str().len() as u64;
            self.check(path, "bytes", "bytes at least", self.limits.bytes, self.bytes)?;
            match target.to_str() {
                Some(target) => drop(self.tree.add(into, name, Node::Link(target.into()))),
                None => self.warn(GrantWarning::NotUtf8(self.shown(path))),
            }
        } else {
            self.warn(GrantWarning::Special(self.shown(path)));
        }
        Ok(())
    }

    /// A file's content.
    fn content(&mut self, dir: &Dir, name: &str, path: &str) -> Result<Box<[u8]>, GrantError> {
        let mut options = OpenOptions::new();
        // A FIFO that took the file's place must not hold anyone up.
        options.read(true).nonblock(true).follow(FollowSymlinks::No);
        let mut file = dir.open_with(name, &options).map_err(|source| self.error(path, source))?;
        let metadata = file.metadata().map_err(|source| self.error(path, source))?;
        if !metadata.is_file() {
            return Err(self.unstable(path));
        }
        let limit = self.limits.file_bytes;
        self.check(path, "file_bytes", "bytes", limit, metadata.len())?;
        self.check(path, "bytes", "bytes at least", self.limits.bytes, self.bytes.saturating_add(metadata.len()))?;
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
        // One more than there was, to see that it grew.
        let length =
            (&mut file).take(metadata.len() + 1).read_to_end(&mut bytes).map_err(|source| self.error(path, source))?;
        if length as u64 != metadata.len() {
            return Err(self.unstable(path));
        }
        self.bytes += length as u64;
        Ok(bytes.into_boxed_slice())
    }

    /// Takes out the links that lead out of the directory; those that lead nowhere harm nobody.
    fn leave_out_links(&mut self) {
        enum Stop {
            Walk(WalkError),
            Enough,
        }
        impl From<WalkError> for Stop {
            fn from(error: WalkError) -> Self {
                Self::Walk(error)
            }
        }
        let mut steps = 0;
        let mut leaving = Vec::new();
        for (id, target) in self.tree.links() {
            let pay = |_| {
                steps += 1;
                if steps <= LINK_STEPS { Ok(()) } else { Err(Stop::Enough) }
            };
            match self.tree.walk(self.tree.parent(id), target.as_bytes(), Last::Follow, pay) {
                Err(Stop::Walk(WalkError::Outside)) => leaving.push(id),
                Err(Stop::Enough) => break,
                Ok(_) | Err(Stop::Walk(_)) => {}
            }
        }
        for id in leaving {
            self.warn(GrantWarning::LeadsOut(self.shown(&self.tree.path(id))));
            self.tree.remove(id);
        }
    }

    fn warn(&mut self, warning: GrantWarning) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(warning);
        } else {
            self.more += 1;
        }
    }

    fn check(
        &self,
        path: &str,
        setting: &'static str,
        unit: &'static str,
        limit: u64,
        found: u64,
    ) -> Result<(), GrantError> {
        if found <= limit {
            return Ok(());
        }
        Err(GrantError::TooLarge { path: self.shown(path), setting, unit, limit, found })
    }

    /// What was listed a moment ago and is gone, or is something else, has been replaced meanwhile.
    fn error(&self, path: &str, source: io::Error) -> GrantError {
        let replaced = [rustix::io::Errno::LOOP, rustix::io::Errno::NXIO].map(|errno| Some(errno.raw_os_error()));
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => self.unstable(path),
            _ if replaced.contains(&source.raw_os_error()) => self.unstable(path),
            _ => GrantError::Io { path: self.shown(path), source },
        }
    }

    fn unstable(&self, path: &str) -> GrantError {
        GrantError::Unstable(self.shown(path))
    }

    fn shown(&self, path: &str) -> String {
        if path.is_empty() { self.source.to_owned() } else { below(self.source.trim_end_matches('/'), path) }
    }
}

fn below(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") }
}

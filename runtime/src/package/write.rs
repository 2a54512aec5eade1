//! Changes go to a directory all or none.
//!
//! First everything that can fail is done beside the files: new content is staged as a temporary file in
//! the directory of its target, and the old content gets a second name. Then the staged files are renamed
//! to their targets, and after all of them the deletions are made. An error on the way puts back what was
//! there. `docs/writing.md` says what a process that is killed in between leaves.

use std::collections::HashSet;
use std::io;

use super::dir::PackageDir;
use super::files::{Change, OtherPath, PackageFiles, PackageWarning};
use super::lock::{self, Mode};
use super::path::{PathError, check_path, split};
use super::stage::{Operation, Transaction, is_temporary};

/// What [`PackageDir::apply`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Files whose content changed, new ones included.
    pub written: Vec<String>,
    /// Files that were deleted.
    pub deleted: Vec<String>,
    /// What the user may want to know.
    pub warnings: Vec<PackageWarning>,
}

/// Why changes were not written. Nothing has changed on disk, but for [`ApplyError::RollbackFailed`].
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A path cannot name a file of a package.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Two changes for one path.
    #[error("there are two changes for `{0}`")]
    Twice(String),
    /// A directory on the way is a link.
    #[error("cannot write `{path}`: `{parent}` is a symbolic link, and links are never written through")]
    ParentIsLink {
        /// The file.
        path: String,
        /// The link.
        parent: String,
    },
    /// A directory on the way is a file.
    #[error("cannot write `{path}`: `{parent}` is not a directory")]
    ParentIsFile {
        /// The file.
        path: String,
        /// What should be a directory.
        parent: String,
    },
    /// The target is a directory.
    #[error("cannot write `{0}`: it is a directory")]
    IsDirectory(String),
    /// The target is a link.
    #[error("cannot write `{0}`: it is a symbolic link, and links are never written through")]
    IsLink(String),
    /// The target is a FIFO, a socket or a device.
    #[error("cannot write `{0}`: it is no regular file")]
    IsSpecial(String),
    /// A file to delete was never read as a part of the package.
    #[error("cannot delete `{0}`: it was not read as a file of the package")]
    NotRead(String),
    /// The file system takes two names for one.
    #[error("cannot write `{path}`: on this file system it is the same file as `{other}`")]
    SameFile {
        /// The new name.
        path: String,
        /// The name that is there.
        other: String,
    },
    /// Somebody changed the file.
    #[error("`{0}` was changed while the package was being rendered; nothing was written, render again")]
    Edited(String),
    /// Somebody removed the file.
    #[error("`{0}` was removed while the package was being rendered; nothing was written, render again")]
    Removed(String),
    /// Somebody made a file of this name.
    #[error("`{0}` appeared while the package was being rendered; nothing was written, render again")]
    Appeared(String),
    /// Nobody may write to the file.
    #[error("`{0}` is read-only; nothing was written: make it writable, or name it in `.krmignore`")]
    ReadOnly(String),
    /// The operating system refused.
    #[error("cannot {action} `{path}`; nothing was written")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: String,
        /// Why: no space, no permission and the like.
        source: io::Error,
    },
    /// Another process writes to the package and does not end.
    #[error("another process writes to the package `{0}`; nothing was written, try again when it has ended")]
    Busy(String),
    /// An error came when some files had been renamed, and they could not all be put back.
    #[error("writing failed, and so did putting back the old content of: {}", list(.files))]
    RollbackFailed {
        /// The error that began it.
        source: Box<ApplyError>,
        /// The files with new content, each with the file that holds its old content, if there was one.
        files: Vec<(String, Option<String>)>,
    },
}

fn list(files: &[(String, Option<String>)]) -> String {
    let shown = files.iter().map(|(path, old)| match old {
        Some(old) => format!("`{path}` (it is in `{old}`)"),
        None => format!("`{path}` (it did not exist)"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// A moment of [`PackageDir::apply`] at which tests step in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// Before the content of a file is staged.
    Stage,
    /// Before a staged file is renamed to its target.
    Rename,
    /// Before a file is deleted.
    Delete,
    /// Before a file's old content is put back.
    PutBack,
}

/// Called at each [`Moment`] with the path; an error counts as a failure of what comes next.
pub(super) type Observer<'a> = dyn FnMut(Moment, &str) -> io::Result<()> + 'a;

impl PackageDir {
    /// Writes changes to the directory, all or none. `base` is what [`PackageDir::read`] gave: a file that
    /// no longer has the content of `base` was edited since and is not overwritten, unless it has the
    /// wanted content already (two equal renders at once are no conflict). Content equal to that of `base`
    /// is not written.
    ///
    /// Existing files keep mode, owner and group; new ones get what the process's umask leaves of 0666.
    /// A file whose owner cannot be kept otherwise is written in place instead of replaced. A file with
    /// several names (hard links) gets its content under the changed name alone, with a warning.
    pub fn apply(&self, changes: &[Change], base: &PackageFiles) -> Result<Applied, ApplyError> {
        self.apply_observed(changes, base, &mut |_, _| Ok(()))
    }

    pub(super) fn apply_observed(
        &self,
        changes: &[Change],
        base: &PackageFiles,
        observer: &mut Observer<'_>,
    ) -> Result<Applied, ApplyError> {
        let operations = plan(changes, base)?;
        if operations.is_empty() {
            return Ok(Applied::default());
        }
        let lock = lock::lock(&self.dir, Mode::Alone, self.lock_wait)
            .map_err(|source| ApplyError::Io { action: "lock", path: ".".to_owned(), source })?
            .ok_or_else(|| ApplyError::Busy(self.root().to_owned()))?;
        let mut transaction = Transaction::new(&self.dir, base, operations, self.sync);
        let mut applied = transaction.run(observer)?;
        if lock.excludes_others() {
            // Nobody else is at work: what such names are left of is a process that was killed.
            let left =
                base.others.iter().filter(|(path, kind)| **kind == OtherPath::File && is_temporary(split(path).1));
            for (path, _) in left {
                if self.dir.remove_file(path).is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
                    applied.warnings.push(PackageWarning::LeftBehind(path.clone()));
                }
            }
        }
        Ok(applied)
    }
}

/// Checks changes against the package that was read and drops those that change nothing. The order is the
/// one in which they are made: writes, then deletions, each by directory.
fn plan<'a>(changes: &'a [Change], base: &PackageFiles) -> Result<Vec<Operation<'a>>, ApplyError> {
    let mut paths = HashSet::with_capacity(changes.len());
    let mut new_files = HashSet::new();
    let mut operations = Vec::with_capacity(changes.len());
    for change in changes {
        let path = change.path();
        if !paths.insert(path) {
            return Err(ApplyError::Twice(path.to_owned()));
        }
        let known = base.files.get(path);
        match change {
            Change::Delete { .. } if known.is_none() => return Err(ApplyError::NotRead(path.to_owned())),
            Change::Delete { .. } => operations.push(Operation::new(path, None)),
            Change::Write { bytes, .. } => {
                if known.is_none() {
                    check_path(path)?;
                    check_new_place(path, base)?;
                    new_files.insert(path);
                }
                if known.is_none_or(|file| *file.bytes != **bytes) {
                    operations.push(Operation::new(path, Some(bytes)));
                }
            }
        }
    }
    for path in &paths {
        if let Some(parent) = parents(path).find(|parent| new_files.contains(parent)) {
            return Err(ApplyError::ParentIsFile { path: (*path).to_owned(), parent: parent.to_owned() });
        }
    }
    operations.sort_by(|a, b| (a.is_delete(), a.dir, a.name).cmp(&(b.is_delete(), b.dir, b.name)));
    Ok(operations)
}

/// Checks that a path which is no file of the package can become one.
fn check_new_place(path: &str, base: &PackageFiles) -> Result<(), ApplyError> {
    match base.others.get(path) {
        None | Some(OtherPath::File | OtherPath::Ignored) => {}
        Some(OtherPath::Directory) => return Err(ApplyError::IsDirectory(path.to_owned())),
        Some(OtherPath::Link) => return Err(ApplyError::IsLink(path.to_owned())),
        Some(OtherPath::Special | OtherPath::Git) => return Err(ApplyError::IsSpecial(path.to_owned())),
    }
    for parent in parents(path) {
        let owned = || (path.to_owned(), parent.to_owned());
        let other = base.others.get(parent);
        if other == Some(&OtherPath::Link) {
            let (path, parent) = owned();
            return Err(ApplyError::ParentIsLink { path, parent });
        }
        if base.files.contains_key(parent) || other.is_some_and(|kind| *kind != OtherPath::Directory) {
            let (path, parent) = owned();
            return Err(ApplyError::ParentIsFile { path, parent });
        }
    }
    Ok(())
}

/// The directories above a path, the outermost first.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;

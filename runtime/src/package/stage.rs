//! The steps of writing: stage, rename, delete, and back again.

use std::io::{self, Read as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{
    Dir, File, Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _, Permissions, PermissionsExt as _,
};
use rustix::fs::{Access, AtFlags, Gid, Uid};

use super::dir::fingerprint;
use super::files::{Fingerprint, OtherPath, PackageFiles, PackageWarning};
use super::lock::open_for_real;
use super::path::{join, split};
use super::write::{Applied, ApplyError, Moment, Observer};

const PREFIX: &str = ".portico-";
/// New content that waits for its rename.
const NEW: &str = ".new";
/// The old content of a file that changes.
const OLD: &str = ".old";

/// Whether a name is one that writing gives to its temporary files.
pub(super) fn is_temporary(name: &str) -> bool {
    let rest = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(NEW).or_else(|| rest.strip_suffix(OLD)));
    let is_hex = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    rest.is_some_and(|rest| rest.split('-').count() == 3 && rest.split('-').all(is_hex))
}

/// A name that no other writer uses.
pub(super) fn temporary_name(end: &str) -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{:x}-{time:x}-{count:x}{end}", std::process::id())
}

/// One file to write or delete, and how far that has come.
#[derive(Debug)]
pub(super) struct Operation<'a> {
    pub(super) path: &'a str,
    pub(super) dir: &'a str,
    pub(super) name: &'a str,
    /// The wanted content; `None` to delete.
    bytes: Option<&'a [u8]>,
    /// The state of the file when it was staged; `None` when there is none.
    before: Option<Fingerprint>,
    /// The temporary file with the new content.
    new: Option<String>,
    /// The temporary file with the old content.
    old: Option<String>,
    /// The owner of the file cannot be given to another one: the content is written into the file itself.
    in_place: bool,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not looked at yet, or ready.
    Waiting,
    /// The disk has what is wanted.
    NothingToDo,
    /// The target has changed.
    Done,
}

impl<'a> Operation<'a> {
    pub(super) fn new(path: &'a str, bytes: Option<&'a [u8]>) -> Self {
        let (dir, name) = split(path);
        Self { path, dir, name, bytes, before: None, new: None, old: None, in_place: false, state: State::Waiting }
    }

    pub(super) fn is_delete(&self) -> bool {
        self.bytes.is_none()
    }

    fn io(&self, action: &'static str) -> impl FnOnce(io::Error) -> ApplyError + use<> {
        let path = self.path.to_owned();
        move |source| ApplyError::Io { action, path, source }
    }
}

/// All operations of one call, with what must be undone when one fails.
pub(super) struct Transaction<'a> {
    root: &'a Dir,
    base: &'a PackageFiles,
    operations: Vec<Operation<'a>>,
    /// Directories that were made, outer before inner.
    made: Vec<String>,
    warnings: Vec<PackageWarning>,
    sync: bool,
    /// The directory used last; operations are sorted by directory, so that one is enough.
    open: Option<(String, Dir)>,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(root: &'a Dir, base: &'a PackageFiles, operations: Vec<Operation<'a>>, sync: bool) -> Self {
        Self { root, base, operations, made: Vec::new(), warnings: Vec::new(), sync, open: None }
    }

    pub(super) fn run(&mut self, observer: &mut Observer<'_>) -> Result<Applied, ApplyError> {
        match self.try_run(observer) {
            Ok(()) => Ok(self.finish()),
            Err(error) => Err(self.roll_back(error, observer)),
        }
    }

    fn try_run(&mut self, observer: &mut Observer<'_>) -> Result<(), ApplyError> {
        for index in 0..self.operations.len() {
            self.stage(index, observer)?;
        }
        for index in 0..self.operations.len() {
            if self.operations[index].state == State::Waiting {
                self.commit(index, observer)?;
                self.operations[index].state = State::Done;
            }
        }
        Ok(())
    }

    /// Does for one operation all that can fail without touching its target.
    fn stage(&mut self, index: usize, observer: &mut Observer<'_>) -> Result<(), ApplyError> {
        let (path, dir, name) = {
            let operation = &self.operations[index];
            (operation.path, operation.dir, operation.name)
        };
        let bytes = self.operations[index].bytes;
        observer(Moment::Stage, path).map_err(self.operations[index].io("write"))?;
        if bytes.is_none() && !self.directory_exists(dir) {
            self.operations[index].state = State::NothingToDo;
            return Ok(());
        }
        let base = self.base;
        let sync = self.sync;
        let handle = self.directory(path, dir)?;
        let current = match handle.symlink_metadata(name) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(ApplyError::Io { action: "look at", path: path.to_owned(), source }),
        };
        let Some(current) = current else {
            match bytes {
                None => self.operations[index].state = State::NothingToDo,
                Some(_) if base.files.contains_key(path) => return Err(ApplyError::Removed(path.to_owned())),
                Some(bytes) => {
                    let operation = &mut self.operations[index];
                    let handle = opened(self.root, self.open.as_ref());
                    stage_new_content(handle, operation, bytes, None, sync)?;
                }
            }
            return Ok(());
        };
        let operation = &mut self.operations[index];
        let handle = opened(self.root, self.open.as_ref());
        if is_there_already(handle, operation, &current, base)? {
            operation.state = State::NothingToDo;
            return Ok(());
        }
        check_writable(handle, operation, &current)?;
        operation.before = Some(fingerprint(&current));
        let Some(bytes) = bytes else { return Ok(()) };
        stage_new_content(handle, operation, bytes, Some(&current), sync)?;
        keep_old_content(handle, operation)?;
        if current.nlink() > 1 && !operation.in_place {
            self.warnings.push(PackageWarning::HardLinkBroken(path.to_owned()));
        }
        Ok(())
    }

    /// Changes the target of one operation.
    fn commit(&mut self, index: usize, observer: &mut Observer<'_>) -> Result<(), ApplyError> {
        let (path, dir) = (self.operations[index].path, self.operations[index].dir);
        let moment = if self.operations[index].is_delete() { Moment::Delete } else { Moment::Rename };
        let action = if moment == Moment::Delete { "delete" } else { "write" };
        observer(moment, path).map_err(self.operations[index].io(action))?;
        self.directory(path, dir)?;
        let operation = &mut self.operations[index];
        let handle = opened(self.root, self.open.as_ref());
        if let Some(before) = operation.before {
            match handle.symlink_metadata(operation.name) {
                Ok(now) if same_state(&fingerprint(&now), &before) => {}
                Ok(_) => return Err(ApplyError::Edited(path.to_owned())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(ApplyError::Removed(path.to_owned()));
                }
                Err(error) => return Err(operation.io(action)(error)),
            }
        }
        let result = match (&operation.new, operation.before) {
            (Some(new), Some(_)) if operation.in_place => {
                // From here on there is something to put back, even if only a part gets written.
                operation.state = State::Done;
                overwrite(handle, new, operation.name)
            }
            (Some(new), Some(_)) => handle.rename(new, handle, operation.name),
            (Some(new), None) => rename_to_new(handle, new, operation.name),
            // A deletion first takes the name away and leaves the content, so that it can be undone.
            (None, _) => {
                let old = temporary_name(OLD);
                let result = handle.rename(operation.name, handle, &old);
                operation.old = result.is_ok().then_some(old);
                result
            }
        };
        match result {
            Ok(()) => {
                if !operation.in_place {
                    operation.new = None;
                }
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(ApplyError::Appeared(path.to_owned())),
            Err(error) => Err(operation.io(action)(error)),
        }
    }

    /// Removes the old contents and tells what was done.
    fn finish(&mut self) -> Applied {
        let mut applied = Applied { warnings: std::mem::take(&mut self.warnings), ..Applied::default() };
        for index in 0..self.operations.len() {
            let operation = &self.operations[index];
            if operation.state != State::Done {
                continue;
            }
            let (path, dir) = (operation.path, operation.dir);
            let target = if operation.is_delete() { &mut applied.deleted } else { &mut applied.written };
            target.push(path.to_owned());
            let operation = &mut self.operations[index];
            let temporary = [operation.new.take(), operation.old.take()];
            let sync = self.sync;
            let Ok(handle) = self.directory(path, dir) else { continue };
            for left in temporary.into_iter().flatten().filter(|left| handle.remove_file(left).is_err()) {
                applied.warnings.push(PackageWarning::LeftBehind(join(dir, &left)));
            }
            if sync && !open_for_real(handle).is_ok_and(|dir| rustix::fs::fsync(dir).is_ok()) {
                tracing::debug!(path, "the directory cannot be synchronised");
            }
        }
        applied
    }

    /// Puts everything back as it was before.
    fn roll_back(&mut self, error: ApplyError, observer: &mut Observer<'_>) -> ApplyError {
        let mut failed = Vec::new();
        for index in (0..self.operations.len()).rev() {
            let (path, dir) = (self.operations[index].path, self.operations[index].dir);
            let is_done = self.operations[index].state == State::Done;
            if !is_done && self.operations[index].new.is_none() && self.operations[index].old.is_none() {
                continue;
            }
            let put_back = observer(Moment::PutBack, path);
            let is_open = self.directory(path, dir).is_ok();
            let operation = &mut self.operations[index];
            let handle = opened(self.root, self.open.as_ref());
            if is_done {
                let result = put_back.and_then(|()| match &operation.old {
                    _ if !is_open => Err(io::ErrorKind::NotFound.into()),
                    Some(old) if operation.is_delete() => rename_to_new(handle, old, operation.name),
                    Some(old) if operation.in_place => overwrite(handle, old, operation.name),
                    Some(old) => handle.rename(old, handle, operation.name),
                    None => handle.remove_file(operation.name),
                });
                let old = operation.old.take();
                if result.is_err() {
                    failed.push((path.to_owned(), old.map(|old| join(dir, &old))));
                } else if operation.in_place {
                    operation.old = old;
                }
            }
            for left in [operation.new.take(), operation.old.take()].into_iter().flatten() {
                if is_open && handle.remove_file(&left).is_err() {
                    tracing::debug!(path = join(dir, &left), "a temporary file cannot be removed");
                }
            }
        }
        self.open = None;
        for dir in self.made.iter().rev() {
            // One that is not empty holds a file of somebody else, or one that could not be put back.
            drop(self.root.remove_dir(dir));
        }
        if failed.is_empty() {
            return error;
        }
        failed.reverse();
        ApplyError::RollbackFailed { source: Box::new(error), files: failed }
    }

    fn directory_exists(&self, dir: &str) -> bool {
        dir.is_empty() || self.root.symlink_metadata(dir).is_ok_and(|metadata| metadata.is_dir())
    }

    /// Opens the directory of a file, part by part so that no link is followed, and makes what is missing.
    fn directory(&mut self, path: &str, dir: &str) -> Result<&Dir, ApplyError> {
        if self.open.as_ref().is_none_or(|(name, _)| name != dir) {
            self.open = None;
            let mut handle = self.root.open_dir(".").map_err(|source| open_error(path, dir, source))?;
            let mut walked = String::new();
            for part in dir.split('/').filter(|part| !part.is_empty()) {
                let parent = join(&walked, part);
                handle = match handle.open_dir_nofollow(part) {
                    Ok(next) => next,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        match handle.create_dir(part) {
                            Ok(()) => self.made.push(parent.clone()),
                            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                            Err(source) => {
                                return Err(ApplyError::Io { action: "make the directory", path: parent, source });
                            }
                        }
                        handle.open_dir_nofollow(part).map_err(|source| open_error(path, &parent, source))?
                    }
                    Err(source) => {
                        let path = path.to_owned();
                        return Err(match handle.symlink_metadata(part) {
                            Ok(found) if found.is_symlink() => ApplyError::ParentIsLink { path, parent },
                            Ok(found) if !found.is_dir() => ApplyError::ParentIsFile { path, parent },
                            _ => open_error(&path, &parent, source),
                        });
                    }
                };
                walked = parent;
            }
            self.open = Some((dir.to_owned(), handle));
        }
        Ok(opened(self.root, self.open.as_ref()))
    }
}

/// The directory that was opened last.
fn opened<'d>(root: &'d Dir, open: Option<&'d (String, Dir)>) -> &'d Dir {
    open.map_or(root, |(_, handle)| handle)
}

fn open_error(path: &str, dir: &str, source: io::Error) -> ApplyError {
    ApplyError::Io { action: "open the directory of", path: if dir.is_empty() { path } else { dir }.to_owned(), source }
}

/// Compares a file on disk with what was read and what is wanted; true when it has the wanted content.
fn is_there_already(
    dir: &Dir,
    operation: &Operation<'_>,
    current: &Metadata,
    base: &PackageFiles,
) -> Result<bool, ApplyError> {
    let path = || operation.path.to_owned();
    if current.is_symlink() {
        return Err(ApplyError::IsLink(path()));
    }
    if current.is_dir() {
        return Err(ApplyError::IsDirectory(path()));
    }
    if !current.is_file() {
        return Err(ApplyError::IsSpecial(path()));
    }
    let holds = |wanted: &[u8]| -> Result<bool, ApplyError> {
        Ok(current.len() == wanted.len() as u64
            && has_content(dir, operation.name, wanted).map_err(operation.io("read"))?)
    };
    if let Some(bytes) = operation.bytes
        && holds(bytes)?
    {
        return Ok(true);
    }
    if let Some(read) = base.files.get(operation.path) {
        return if holds(&read.bytes)? { Ok(false) } else { Err(ApplyError::Edited(path())) };
    }
    if matches!(base.others.get(operation.path), Some(OtherPath::File | OtherPath::Ignored)) {
        return Ok(false);
    }
    let now = fingerprint(current);
    let twin = base
        .files
        .iter()
        .find(|(_, file)| file.fingerprint.is_some_and(|own| (own.dev, own.ino) == (now.dev, now.ino)));
    Err(match twin {
        Some((other, _)) => ApplyError::SameFile { path: path(), other: other.clone() },
        None => ApplyError::Appeared(path()),
    })
}

fn has_content(dir: &Dir, name: &str, wanted: &[u8]) -> io::Result<bool> {
    let file = open_to_read(dir, name)?;
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let mut found = Vec::with_capacity(wanted.len() + 1);
    file.take(wanted.len() as u64 + 1).read_to_end(&mut found)?;
    Ok(found == wanted)
}

/// A rename asks for nothing of the file it replaces; who made it read-only meant more than that.
fn check_writable(dir: &Dir, operation: &Operation<'_>, current: &Metadata) -> Result<(), ApplyError> {
    if current.mode() & 0o222 == 0 {
        return Err(ApplyError::ReadOnly(operation.path.to_owned()));
    }
    match rustix::fs::accessat(dir, operation.name, Access::WRITE_OK, AtFlags::EACCESS) {
        Err(rustix::io::Errno::ACCESS | rustix::io::Errno::ROFS) => {
            Err(ApplyError::ReadOnly(operation.path.to_owned()))
        }
        _ => Ok(()),
    }
}

fn stage_new_content(
    dir: &Dir,
    operation: &mut Operation<'_>,
    bytes: &[u8],
    current: Option<&Metadata>,
    sync: bool,
) -> Result<(), ApplyError> {
    let name = temporary_name(NEW);
    // Nobody reads the new content before it has the mode of the old one.
    let mode = if current.is_some() { 0o600 } else { 0o666 };
    let mut file = create(dir, &name, mode).map_err(operation.io("write"))?;
    operation.new = Some(name);
    if let Some(current) = current {
        operation.in_place = !keep_owner_and_mode(&file, current).map_err(operation.io("write"))?;
    }
    file.write_all(bytes).map_err(operation.io("write"))?;
    if sync {
        file.sync_all().map_err(operation.io("write"))?;
    }
    Ok(())
}

fn create(dir: &Dir, name: &str, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).follow(FollowSymlinks::No).mode(mode);
    dir.open_with(name, &options)
}

/// Gives a new file owner, group and mode of the one it stands for; false when this process may not.
fn keep_owner_and_mode(file: &File, current: &Metadata) -> io::Result<bool> {
    let own = file.metadata()?;
    let (uid, gid) = (current.uid(), current.gid());
    if (own.uid(), own.gid()) != (uid, gid) {
        let owner = (own.uid() != uid).then(|| Uid::from_raw(uid));
        let group = (own.gid() != gid).then(|| Gid::from_raw(gid));
        if rustix::fs::fchown(file, owner, group).is_err() {
            return Ok(false);
        }
    }
    // After the owner, whose change takes some bits away.
    file.set_permissions(Permissions::from_mode(current.mode() & 0o7777))?;
    Ok(true)
}

/// Gives the old content a second name; a copy, where the file itself will be written to or the file system
/// has no second names.
fn keep_old_content(dir: &Dir, operation: &mut Operation<'_>) -> Result<(), ApplyError> {
    let old = temporary_name(OLD);
    if !operation.in_place && dir.hard_link(operation.name, dir, &old).is_ok() {
        operation.old = Some(old);
        return Ok(());
    }
    let mut from = open_to_read(dir, operation.name).map_err(operation.io("read"))?;
    let current = from.metadata().map_err(operation.io("read"))?;
    let mut to = create(dir, &old, 0o600).map_err(operation.io("keep the old content of"))?;
    operation.old = Some(old);
    if !operation.in_place {
        keep_owner_and_mode(&to, &current).map_err(operation.io("keep the old content of"))?;
    }
    io::copy(&mut from, &mut to).map_err(operation.io("keep the old content of"))?;
    Ok(())
}

/// Opens a file, but neither through a link nor waiting for the other end of a FIFO.
fn open_to_read(dir: &Dir, name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    dir.open_with(name, &options)
}

/// Gives a file the content of another one.
fn overwrite(dir: &Dir, from: &str, to: &str) -> io::Result<()> {
    let mut content = open_to_read(dir, from)?;
    let mut options = OpenOptions::new();
    options.write(true).nonblock(true).follow(FollowSymlinks::No);
    let mut file = dir.open_with(to, &options)?;
    let length = io::copy(&mut content, &mut file)?;
    file.set_len(length)
}

/// Renames to a name that must be free.
pub(super) fn rename_to_new(dir: &Dir, from: &str, to: &str) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(dir, from, dir, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            result => return result.map_err(io::Error::from),
        }
    }
    match dir.symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => dir.rename(from, dir, to),
        Err(error) => Err(error),
    }
}

/// Whether nobody wrote to a file in between. The number of its names does not count: the old content got
/// one more here.
fn same_state(a: &Fingerprint, b: &Fingerprint) -> bool {
    Fingerprint { links: 0, ..*a } == Fingerprint { links: 0, ..*b }
}

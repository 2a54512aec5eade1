//! Compiled modules, kept on disk between processes.
//!
//! What lies here is machine code that will be run, so the directory is ours alone, and a file counts
//! only if it is whole: opened once below the directory's handle, a regular file with one link, owned by
//! us, not writable by others, its content as long as when it was written and with the same checksum.
//! Anything else is as if it were not there and is compiled anew. The checksum guards against damage;
//! against enemies stand the owner and the mode, since who can write here can do so as us.
//!
//! Files are written under another name, synced and renamed, and never changed afterwards: a mapped file
//! that shrank would kill the process. Any number of processes may share a directory.

use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::check::Kind;
use crate::module::Digest;

/// Changes when the files' own form does, or when the checks before compiling become stricter.
const FORMAT: u32 = 1;

/// The last bytes of a file: this word, then length and checksum of all that is before.
const SEAL: &[u8; 8] = b"portico\x01";
const SEAL_BYTES: u64 = 8 + 8 + 4;

/// All files together; beyond it, the oldest go.
const CAPACITY_BYTES: u64 = 2 << 30;

/// What a process left behind when it was killed while writing.
const STALE_TEMPORARY: Duration = Duration::from_hours(1);

/// A file's use is noted by its time stamp, at most this often.
const TOUCH_INTERVAL: Duration = Duration::from_hours(24);

/// The directory given for compiled modules can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// It can't be made or opened.
    #[error("can't use the cache directory `{}`", .path.display())]
    Open {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It belongs to someone else.
    #[error("the cache directory `{}` belongs to another user", .path.display())]
    Owner {
        /// The directory.
        path: PathBuf,
    },
    /// Others could put code there.
    #[error("the cache directory `{}` can be written by other users; make it private (mode 0700)", .path.display())]
    Writable {
        /// The directory.
        path: PathBuf,
    },
}

/// The directory of compiled modules for one engine configuration.
pub(crate) struct DiskCache {
    dir: OwnedFd,
    /// What follows the digest in a name: engine configuration, version and processor.
    suffix: String,
}

/// A file of the cache that passed every check, and is still the same open file.
pub(crate) struct CheckedFile(File);

impl CheckedFile {
    pub(crate) fn into_file(self) -> File {
        self.0
    }
}

impl DiskCache {
    pub(crate) fn open(path: &Path, engine: &wasmtime::Engine) -> Result<Self, CacheError> {
        let open = |source: std::io::Error| CacheError::Open { path: path.into(), source };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(open)?;
        }
        match rustix::fs::mkdir(path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(open(error.into())),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| open(error.into()))?;
        let stat = rustix::fs::fstat(&dir).map_err(|error| open(error.into()))?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(CacheError::Owner { path: path.into() });
        }
        if Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
            return Err(CacheError::Writable { path: path.into() });
        }
        Ok(Self { dir, suffix: format!("-{:016x}-{FORMAT}.cwasm", compatibility(engine)) })
    }

    /// A component's file says so in its name, although its digest alone tells it from every module.
    fn name(&self, digest: Digest, kind: Kind) -> String {
        let kind = match kind {
            Kind::Core => "",
            Kind::Component => "-component",
        };
        format!("{digest}{kind}{}", self.suffix)
    }

    /// The compiled form of a module, if it is here and whole.
    pub(crate) fn get(&self, digest: Digest, kind: Kind) -> Option<CheckedFile> {
        let name = self.name(digest, kind);
        // Non-blocking, so that a pipe under this name can't hold us up.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(&self.dir, &name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return None,
            Err(error) => {
                tracing::debug!("can't open the cached `{name}`: {error}");
                return None;
            }
        };
        match check(file) {
            Ok(Some(file)) => Some(file),
            Ok(None) => {
                tracing::debug!("the cached `{name}` is damaged or not ours");
                None
            }
            Err(error) => {
                tracing::debug!("can't read the cached `{name}`: {error}");
                None
            }
        }
    }

    /// Keeps the compiled form of a module. That it can't is no failure: the next process compiles.
    pub(crate) fn put(&self, digest: Digest, kind: Kind, code: &[u8]) {
        let name = self.name(digest, kind);
        if let Err(error) = self.write(&name, code).and_then(|()| self.prune(&name)) {
            tracing::debug!("can't keep `{name}` in the cache: {error}");
        }
    }

    fn write(&self, name: &str, code: &[u8]) -> std::io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let temporary = format!("{}.{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let written = || -> std::io::Result<()> {
            let mut file = File::from(rustix::fs::openat(&self.dir, &temporary, flags, Mode::RUSR | Mode::WUSR)?);
            file.write_all(code)?;
            file.write_all(SEAL)?;
            file.write_all(&(code.len() as u64).to_le_bytes())?;
            file.write_all(&crc32fast::hash(code).to_le_bytes())?;
            file.sync_all()?;
            rustix::fs::renameat(&self.dir, &temporary, &self.dir, name)?;
            Ok(())
        };
        let result = written();
        if result.is_err() {
            // It may not even exist; the failure that matters is the one above.
            let _ = rustix::fs::unlinkat(&self.dir, &temporary, AtFlags::empty());
        }
        result
    }

    /// Removes what was left behind, and the oldest files while all together are too large.
    fn prune(&self, keep: &str) -> std::io::Result<()> {
        let now = SystemTime::now();
        let age = |seconds: i64| {
            let then = UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
            now.duration_since(then).unwrap_or_default()
        };
        let mut files = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.dir)? {
            let name = entry?.file_name().to_owned();
            let Ok(stat) = rustix::fs::statat(&self.dir, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let bytes = name.to_bytes();
            if bytes.ends_with(b".tmp") && age(stat.st_mtime) > STALE_TEMPORARY {
                let _ = rustix::fs::unlinkat(&self.dir, &name, AtFlags::empty());
            } else if bytes.ends_with(b".cwasm") && bytes != keep.as_bytes() {
                files.push((stat.st_mtime, u64::try_from(stat.st_size).unwrap_or(0), name));
            }
        }
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        files.sort();
        for (_, size, name) in files {
            if total <= CAPACITY_BYTES {
                break;
            }
            // Whoever has it mapped keeps it; only the name goes.
            let _ = rustix::fs::unlinkat(&self.dir, &name, AtFlags::empty());
            total -= size;
        }
        Ok(())
    }
}

/// Whether the file is one that we wrote, and whole.
fn check(mut file: File) -> std::io::Result<Option<CheckedFile>> {
    let stat = rustix::fs::fstat(&file)?;
    let regular = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
    let ours = stat.st_uid == rustix::process::geteuid().as_raw()
        && stat.st_nlink == 1
        && !Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH);
    let Some(length) = u64::try_from(stat.st_size).ok().and_then(|size| size.checked_sub(SEAL_BYTES)) else {
        return Ok(None);
    };
    if !regular || !ours {
        return Ok(None);
    }
    let mut checksum = crc32fast::Hasher::new();
    let mut buffer = vec![0; 128 << 10];
    let mut content = (&mut file).take(length);
    loop {
        let count = content.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        checksum.update(&buffer[..count]);
    }
    let mut expected = Vec::from(SEAL);
    expected.extend_from_slice(&length.to_le_bytes());
    expected.extend_from_slice(&checksum.finalize().to_le_bytes());
    let mut seal = Vec::new();
    (&mut file).take(SEAL_BYTES + 1).read_to_end(&mut seal)?;
    if seal != expected {
        return Ok(None);
    }
    touch(&file, stat.st_mtime);
    file.seek(SeekFrom::Start(0))?;
    Ok(Some(CheckedFile(file)))
}

/// Notes that the file was used, so that it is not among the oldest.
fn touch(file: &File, modified: i64) {
    let modified = UNIX_EPOCH + Duration::from_secs(u64::try_from(modified).unwrap_or(0));
    if modified.elapsed().is_ok_and(|age| age > TOUCH_INTERVAL) {
        // Best effort: on a read-only file system nothing is pruned either.
        drop(file.set_modified(SystemTime::now()));
    }
}

/// A number for all that decides whether an engine can run compiled code: version, settings, processor. The same in every
/// process that can.
pub(crate) fn compatibility(engine: &wasmtime::Engine) -> u64 {
    let mut hasher = Fnv::default();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

/// A hash that is the same in every process and version, unlike the standard library's: FNV-1a.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

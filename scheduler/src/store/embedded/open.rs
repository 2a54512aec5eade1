//! Opening and making the file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::EmbeddedOptions;
use super::fail::guarded;
use super::tables::{self, FORMAT, meta};
use crate::model::ObjectVersion;

/// Why a store can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process works with it.
    #[error("the store `{path}` is in use by another process; a store has one process, whose schedulers share it")]
    Locked {
        /// The file.
        path: String,
    },
    /// The file holds something else.
    #[error("`{path}` is no store of packages: {why}")]
    NotAStore {
        /// The file.
        path: String,
        /// What was found.
        why: String,
    },
    /// A newer version of this program made it.
    #[error(
        "the store `{path}` has format {found}, and this version reads {FORMAT}; use the version that wrote it, or a later one"
    )]
    Newer {
        /// The file.
        path: String,
        /// Its format.
        found: u64,
    },
    /// A version of this program made it that this one can't read any more.
    #[error(
        "the store `{path}` has format {found}, and this version reads {FORMAT}; open it once with a version in between"
    )]
    Older {
        /// The file.
        path: String,
        /// Its format.
        found: u64,
    },
    /// It is damaged.
    #[error("the store `{path}` is damaged: {what}; put a backup in its place")]
    Corrupt {
        /// The file.
        path: String,
        /// What, and where.
        what: String,
    },
    /// The file system failed.
    #[error("the store `{path}` can't be opened")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

/// Where a store is.
pub trait Medium: fmt::Debug + Send + Sync + 'static {
    /// Its name, for messages.
    fn name(&self) -> String;

    /// Opens the database that is there. Called again after a failure, when the earlier one is closed.
    fn open(&self, builder: &redb::Builder) -> Result<redb::Database, redb::DatabaseError>;

    /// Whether a store may be made there if none is.
    fn may_create(&self) -> bool {
        false
    }
}

/// A file.
#[derive(Debug)]
pub struct FileMedium {
    path: PathBuf,
}

impl FileMedium {
    /// The file at this path.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Makes a new store if there is no file: beside it first, so that at its path it is whole or not at all.
    pub(super) fn prepare(path: &Path, options: &EmbeddedOptions) -> Result<(), OpenError> {
        let name = path.display().to_string();
        let io = |source| OpenError::Io { path: name.clone(), source };
        if path.try_exists().map_err(io)? {
            return Ok(());
        }
        let beside = beside(path).map_err(io)?;
        let made = builder(options.cache_bytes).create(beside.path()).map_err(|error| database_error(error, &name))?;
        tables::create(&made, fastrand::u64(..)).map_err(|error| common_error(error, &name))?;
        drop(made);
        match beside.persist_noclobber(path) {
            Ok(_) => sync_directory(path).map_err(io),
            // Another process was faster. Which of the two gets the lock is decided next.
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(failed) => Err(io(failed.error)),
        }
    }
}

impl Medium for FileMedium {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn open(&self, builder: &redb::Builder) -> Result<redb::Database, redb::DatabaseError> {
        // An empty file would become an empty database, and with it all that was lost would seem never to have been.
        if std::fs::metadata(&self.path)?.len() == 0 {
            return Err(redb::StorageError::Corrupted("it is empty".into()).into());
        }
        builder.open(&self.path)
    }
}

/// A temporary file in the same directory.
pub(super) fn beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::Builder::new().prefix(".portico-store-").tempfile_in(directory)
}

/// Makes a rename in the path's directory durable.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::File::open(directory)?.sync_all()
}

pub(super) fn builder(cache_bytes: usize) -> redb::Builder {
    let mut builder = redb::Builder::new();
    builder.set_cache_size(cache_bytes);
    builder
}

/// Opens the database and looks whether it is a store that this version reads; gives its version too.
pub(super) fn database(medium: &dyn Medium, cache_bytes: usize) -> Result<(redb::Database, ObjectVersion), OpenError> {
    guarded(|| opened(medium, cache_bytes)).unwrap_or_else(|what| Err(OpenError::Corrupt { path: medium.name(), what }))
}

fn opened(medium: &dyn Medium, cache_bytes: usize) -> Result<(redb::Database, ObjectVersion), OpenError> {
    let path = medium.name();
    let database = medium.open(&builder(cache_bytes)).map_err(|error| database_error(error, &path))?;
    let number = |name| tables::number(&database, name).map_err(|error| common_error(error, &path));
    let mut format = number(meta::FORMAT)?;
    if format.is_none() && medium.may_create() {
        tables::create(&database, fastrand::u64(..)).map_err(|error| common_error(error, &path))?;
        format = number(meta::FORMAT)?;
    }
    match format {
        Some(FORMAT) => {}
        Some(found) if found > FORMAT => return Err(OpenError::Newer { path, found }),
        Some(found) => return Err(OpenError::Older { path, found }),
        None => return Err(OpenError::NotAStore { path, why: "it is a database of another kind".into() }),
    }
    let Some(version) = number(meta::VERSION)? else {
        return Err(OpenError::Corrupt { path, what: "its version is missing".into() });
    };
    Ok((database, ObjectVersion(version)))
}

pub(super) fn database_error(error: redb::DatabaseError, path: &str) -> OpenError {
    use redb::{DatabaseError, StorageError};
    let path = path.to_owned();
    match error {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => OpenError::Locked { path },
        DatabaseError::Storage(StorageError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
            OpenError::NotAStore { path, why: error.to_string() }
        }
        DatabaseError::Storage(error) => common_error(error.into(), &path),
        DatabaseError::UpgradeRequired(found) => {
            OpenError::NotAStore { path, why: format!("it is a database of the old file format {found}") }
        }
        error => OpenError::Corrupt { path, what: error.to_string() },
    }
}

pub(super) fn common_error(error: redb::Error, path: &str) -> OpenError {
    let path = path.to_owned();
    match error {
        redb::Error::Io(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
            OpenError::Corrupt { path, what: "it ends too early".into() }
        }
        redb::Error::Io(source) => OpenError::Io { path, source },
        redb::Error::Corrupted(what) => OpenError::Corrupt { path, what },
        error => OpenError::Corrupt { path, what: error.to_string() },
    }
}

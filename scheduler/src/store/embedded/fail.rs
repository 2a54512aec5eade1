//! What goes wrong within the file, and what callers see of it.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::store::StoreError;

/// Why a step of a transaction did not take place.
#[derive(Debug)]
pub(super) enum Fail {
    /// The rules refuse it, before anything was changed: the transaction goes on without it.
    Refused(StoreError),
    /// What is stored contradicts itself: the transaction is given up.
    Damage(StoreError),
    /// The file can't be read or written: the transaction is given up, and the file opened anew.
    Storage(redb::Error),
}

impl Fail {
    pub(super) fn damage(what: String) -> Self {
        Self::Damage(StoreError::Corrupt { what })
    }

    /// What the caller sees. `path` is where the store is.
    pub(super) fn into_error(self, path: &str) -> StoreError {
        match self {
            Self::Refused(error) | Self::Damage(error) => error,
            Self::Storage(error) => storage(error, path),
        }
    }
}

/// Does work on the file. redb checks most of what it reads and panics on what it did not expect: that is damage, which
/// must end no process.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // What the work leaves half done is a transaction, which is given up with it.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        format!("its pages contradict each other ({})", text.unwrap_or("no word of where"))
    })
}

impl From<StoreError> for Fail {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

/// redb has an error type for each step; all become its common one.
macro_rules! storage {
    ($($error:ident),+) => {
        $(impl From<redb::$error> for Fail {
            fn from(error: redb::$error) -> Self {
                Self::Storage(error.into())
            }
        })+
    };
}
storage!(Error, StorageError, TableError, TransactionError, CommitError);

fn storage(error: redb::Error, path: &str) -> StoreError {
    match error {
        redb::Error::Io(source) => io_error(source, path),
        redb::Error::Corrupted(what) => StoreError::Corrupt { what: format!("`{path}`: {what}") },
        error @ (redb::Error::TableTypeMismatch { .. }
        | redb::Error::TableDoesNotExist(_)
        | redb::Error::TypeDefinitionChanged { .. }) => StoreError::Corrupt { what: format!("`{path}`: {error}") },
        redb::Error::DatabaseClosed => StoreError::Closed,
        error => StoreError::Unavailable { why: format!("`{path}`: {error}"), retry_after: None },
    }
}

/// What a failure of the file means.
pub(super) fn io_error(source: io::Error, path: &str) -> StoreError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            StoreError::Full { path, source }
        }
        // Written whole, read short: it was cut.
        io::ErrorKind::UnexpectedEof => StoreError::Corrupt { what: format!("`{path}` ends too early") },
        _ => StoreError::Io { path, source },
    }
}

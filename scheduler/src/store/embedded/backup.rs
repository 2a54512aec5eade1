//! A copy of the store while it runs.

use std::path::Path;

use redb::{ReadTransaction, ReadableTable as _, TableDefinition};

use super::fail::{Fail, io_error};
use super::open::{beside, builder, sync_directory};
use super::read::View;
use super::tables::{BLOBS, CONTENTS, INDICES, LOGS, META, REFERENCES, REVISIONS, Tables, meta};
use crate::store::StoreError;

/// Memory of the copy's pages, in bytes.
const CACHE: usize = 16 << 20;
/// Entries of one transaction of the copy: what it holds in memory.
const CHUNK: usize = 1000;

/// Copies all tables of one instant to `to`.
pub(super) fn copy(view: &View, own: &str, to: &Path) -> Result<(), Fail> {
    let name = to.display().to_string();
    let io = |source| Fail::Refused(io_error(source, &name));
    // The store's own file would be lost, and its lock with it.
    let same = |own: &Path| own.canonicalize().is_ok_and(|own| to.canonicalize().is_ok_and(|to| own == to));
    if same(Path::new(own)) {
        let why = format!("`{name}` is the store itself; name another file for its copy");
        return Err(StoreError::Unavailable { why, retry_after: None }.into());
    }
    let file = beside(to).map_err(io)?;
    let target = |error: redb::Error| Fail::Refused(Fail::Storage(error).into_error(&name));
    {
        let copy = builder(CACHE).create(file.path()).map_err(|error| target(error.into()))?;
        write(view.transaction(), &copy).map_err(|fail| Fail::Refused(fail.into_error(&name)))?;
    }
    file.as_file().sync_all().map_err(io)?;
    file.persist(to).map_err(|failed| io(failed.error))?;
    sync_directory(to).map_err(io)
}

fn write(from: &ReadTransaction, copy: &redb::Database) -> Result<(), Fail> {
    // Without a format number until all is there.
    table(from, copy, REVISIONS)?;
    for index in INDICES {
        table(from, copy, index)?;
    }
    table(from, copy, CONTENTS)?;
    table(from, copy, BLOBS)?;
    table(from, copy, REFERENCES)?;
    table(from, copy, LOGS)?;
    table(from, copy, META)?;
    let transaction = copy.begin_write()?;
    // Two stores that go on from here must not give the same uid.
    Tables::open(&transaction)?.meta.insert(meta::INCARNATION, fastrand::u64(..))?;
    transaction.commit()?;
    Ok(())
}

fn table<K: redb::Key + 'static, V: redb::Value + 'static>(
    from: &ReadTransaction,
    copy: &redb::Database,
    definition: TableDefinition<'static, K, V>,
) -> Result<(), Fail> {
    let source = from.open_table(definition)?;
    let mut entries = source.iter()?;
    loop {
        let mut transaction = copy.begin_write()?;
        // Made durable once, at its end.
        transaction.set_durability(redb::Durability::None).map_err(redb::Error::from)?;
        let mut more = false;
        {
            let mut target = transaction.open_table(definition)?;
            for entry in entries.by_ref().take(CHUNK) {
                let (key, value) = entry?;
                target.insert(key.value(), value.value())?;
                more = true;
            }
        }
        transaction.commit()?;
        if !more {
            return Ok(());
        }
    }
}

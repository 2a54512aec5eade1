//! The tables of the file, format 2.
//!
//! Records are postcard: compact, and read only under the format's number. Versions are the keys of all indices, so that
//! the oldest change comes first by itself.

use redb::{ReadableDatabase as _, Table, TableDefinition, WriteTransaction};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::fail::Fail;
use crate::store::HistoryEntry;

/// The number of this format. Another one is refused when the file is opened.
pub(super) const FORMAT: u64 = 2;

/// The names of the numbers in [`META`].
pub(super) mod meta {
    /// [`super::FORMAT`].
    pub(in super::super) const FORMAT: &str = "format";
    /// The version of the last write.
    pub(in super::super) const VERSION: &str = "version";
    /// Tells files apart, in the uids that they give: random when a file is made, and for each copy.
    pub(in super::super) const INCARNATION: &str = "incarnation";
}

/// Namespace and name.
type Name = (&'static str, &'static str);
type Definition<K, V> = TableDefinition<'static, K, V>;

/// Numbers of the whole store.
pub(super) const META: Definition<&str, u64> = TableDefinition::new("meta");
/// [`crate::model::Revision`] by name.
pub(super) const REVISIONS: Definition<Name, &[u8]> = TableDefinition::new("revisions");
/// Names by content version: all, drafts, and drafts that wait for a render.
pub(super) const INDICES: [Definition<u64, Name>; 3] =
    [TableDefinition::new("by-content"), TableDefinition::new("drafts"), TableDefinition::new("unfinished")];
/// [`Content`] by name and content version.
pub(super) const CONTENTS: Definition<(&str, &str, u64), &[u8]> = TableDefinition::new("contents");
/// The bytes of files by their SHA-256, shared by all contents.
pub(super) const BLOBS: Definition<&[u8; 32], &[u8]> = TableDefinition::new("blobs");
/// How often contents name a blob; it goes with the last one.
pub(super) const REFERENCES: Definition<&[u8; 32], u64> = TableDefinition::new("references");
/// [`crate::store::RenderLog`] by name.
pub(super) const LOGS: Definition<Name, &[u8]> = TableDefinition::new("logs");

/// A content version: its files by the digests of their bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Content {
    pub(super) entry: HistoryEntry,
    pub(super) files: Vec<(String, [u8; 32])>,
}

/// All tables, open in one write transaction.
pub(super) struct Tables<'t> {
    pub(super) meta: Table<'t, &'static str, u64>,
    pub(super) revisions: Table<'t, Name, &'static [u8]>,
    pub(super) indices: [Table<'t, u64, Name>; 3],
    pub(super) contents: Table<'t, (&'static str, &'static str, u64), &'static [u8]>,
    pub(super) blobs: Table<'t, &'static [u8; 32], &'static [u8]>,
    pub(super) references: Table<'t, &'static [u8; 32], u64>,
    pub(super) logs: Table<'t, Name, &'static [u8]>,
}

impl<'t> Tables<'t> {
    pub(super) fn open(transaction: &'t WriteTransaction) -> Result<Self, redb::Error> {
        let [all, drafts, unfinished] = INDICES;
        Ok(Self {
            meta: transaction.open_table(META)?,
            revisions: transaction.open_table(REVISIONS)?,
            indices: [
                transaction.open_table(all)?,
                transaction.open_table(drafts)?,
                transaction.open_table(unfinished)?,
            ],
            contents: transaction.open_table(CONTENTS)?,
            blobs: transaction.open_table(BLOBS)?,
            references: transaction.open_table(REFERENCES)?,
            logs: transaction.open_table(LOGS)?,
        })
    }
}

/// Makes the tables of a new store in an empty database.
pub(super) fn create(database: &redb::Database, incarnation: u64) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut tables = Tables::open(&transaction)?;
        tables.meta.insert(meta::FORMAT, FORMAT)?;
        tables.meta.insert(meta::VERSION, 0)?;
        tables.meta.insert(meta::INCARNATION, incarnation)?;
    }
    transaction.commit()?;
    Ok(())
}

/// A number of [`META`], `None` if the database is no store of ours.
pub(super) fn number(database: &redb::Database, name: &str) -> Result<Option<u64>, redb::Error> {
    let transaction = database.begin_read()?;
    match transaction.open_table(META) {
        Ok(table) => Ok(redb::ReadableTable::get(&table, name)?.map(|value| value.value())),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn encode<T: Serialize>(record: &T) -> Result<Vec<u8>, Fail> {
    postcard::to_stdvec(record).map_err(|error| Fail::damage(format!("a record can't be written: {error}")))
}

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8], what: impl FnOnce() -> String) -> Result<T, Fail> {
    // What remains after a record is damage too.
    match postcard::take_from_bytes(bytes) {
        Ok((record, [])) => Ok(record),
        Ok((_, rest)) => Err(Fail::damage(format!("{} has {} bytes too many", what(), rest.len()))),
        Err(error) => Err(Fail::damage(format!("{} can't be read: {error}", what()))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sha2::Digest as _;

    use super::*;
    use crate::model::{
        Condition, ConditionStatus, ContentDigest, ContentVersion, Lifecycle, ObjectVersion, Priority, Revision,
        RevisionKey,
    };
    use crate::store::{RenderLog, Writer};

    /// What format 2 is, byte for byte. A change of a stored type that turns this red makes the files of users unreadable: it
    /// needs a new [`FORMAT`], and a way from this one to that. (Before the first release it needs new digests here.)
    #[test]
    fn records_are_those_of_format_2() {
        assert_eq!(FORMAT, 2);
        let digest = ContentDigest([7; 32]);
        let condition = |kind: &'static str, status, configuration| Condition {
            kind: kind.into(),
            status,
            reason: "Reason".into(),
            message: "message".into(),
            content: digest,
            configuration,
            since_ms: 1_800_000_000_000,
        };
        let revision = Revision {
            key: RevisionKey::new("namespace", "name", "uid"),
            repository: Arc::from("repository"),
            lifecycle: Lifecycle::DeletionProposed,
            priority: Priority::High,
            labels: [("label".to_owned(), "value".to_owned())].into(),
            annotations: [("annotation".to_owned(), "value".to_owned())].into(),
            document: "document".into(),
            object_version: ObjectVersion(300),
            content_version: ContentVersion(200),
            content_digest: digest,
            conditions: vec![
                condition("RenderFinished", ConditionStatus::True, None),
                condition("Rendered", ConditionStatus::Unknown, Some(9)),
            ],
            created_ms: 1,
            changed_ms: 1_800_000_000_000,
        };
        let entry = HistoryEntry { version: ContentVersion(200), digest, written_ms: 1, by: Writer::Render };
        let content = Content { entry, files: vec![("a/b.yaml".to_owned(), [8; 32])] };
        let log = RenderLog { content: ContentVersion(200), kept: true, ended_ms: 1, text: "log".into() };
        let hash = |record: Vec<u8>| ContentDigest(sha2::Sha256::digest(record).into()).to_string();
        let hashes = [encode(&revision), encode(&content), encode(&log)].map(|record| hash(record.unwrap()));
        let format_2 = [
            "9a09ba1e93fd3a5ddb76d444cb713a72e4cd508616c1763a4a13d602d1be432b",
            "a8dd597d1931eb4f9be1c79cfadac60633c74219af6a11295b2d331959221d1f",
            "4d582b04fda8856e35b3e3f6166f737fd10da93753b0973980a6ff3bc8c8c91e",
        ];
        assert_eq!(hashes, format_2);
        assert_eq!(decode::<Revision>(&encode(&revision).unwrap(), String::new).unwrap(), revision);
        assert!(decode::<Revision>(&encode(&revision).unwrap()[1..], String::new).is_err());
        let longer = [encode(&log).unwrap(), vec![0]].concat();
        assert!(decode::<RenderLog>(&longer, String::new).is_err());
    }
}

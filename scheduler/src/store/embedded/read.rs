//! Reads, each of one instant.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use redb::{ReadTransaction, ReadableDatabase as _};

use super::fail::Fail;
use super::tables::{BLOBS, CONTENTS, Content, INDICES, LOGS, META, REVISIONS, decode, meta};
use crate::model::{ContentDigest, ContentVersion, Files, ObjectVersion, Revision, RevisionKey};
use crate::store::{HistoryEntry, Page, PageToken, RenderLog, Select, Snapshot, StoreError};

/// A view of the store at one instant.
pub(super) struct View(ReadTransaction);

impl View {
    pub(super) fn new(database: &redb::Database) -> Result<Self, Fail> {
        Ok(Self(database.begin_read()?))
    }

    pub(super) fn version(&self) -> Result<ObjectVersion, Fail> {
        let found = self.0.open_table(META)?.get(meta::VERSION)?.map(|version| version.value());
        found.map(ObjectVersion).ok_or_else(|| Fail::damage("its version is missing".into()))
    }

    pub(super) fn named(&self, namespace: &str, name: &str) -> Result<Option<Revision>, Fail> {
        let table = self.0.open_table(REVISIONS)?;
        let record = table.get((namespace, name))?;
        record.map(|bytes| decode(bytes.value(), || format!("revision `{namespace}/{name}`"))).transpose()
    }

    pub(super) fn find(&self, namespace: &str, name: &str) -> Result<Revision, Fail> {
        let missing = || StoreError::NoSuchName { namespace: namespace.into(), name: name.into() };
        self.named(namespace, name)?.ok_or_else(|| missing().into())
    }

    pub(super) fn revision(&self, key: &RevisionKey) -> Result<Revision, Fail> {
        let found = self.named(&key.namespace, &key.name)?.filter(|revision| revision.key == *key);
        found.ok_or_else(|| StoreError::NotFound(key.clone()).into())
    }

    pub(super) fn page(&self, select: Select, after: Option<PageToken>, limit: usize) -> Result<Page, Fail> {
        let index = INDICES[match select {
            Select::All => 0,
            Select::Drafts => 1,
            Select::Unfinished => 2,
        }];
        let index = self.0.open_table(index)?;
        let revisions = self.0.open_table(REVISIONS)?;
        let start = after.map_or(0, |token| token.0.0.saturating_add(1));
        let mut page = Page { revisions: Vec::new(), next: None, version: self.version()? };
        for entry in index.range(start..)? {
            let (version, name) = entry?;
            let (version, (namespace, name)) = (version.value(), name.value());
            if page.revisions.len() == limit {
                page.next = page.revisions.last().map(|last: &Revision| PageToken(last.content_version));
                break;
            }
            let missing = || Fail::damage(format!("revision `{namespace}/{name}` of an index is missing"));
            let record = revisions.get((namespace, name))?.ok_or_else(missing)?;
            let revision: Revision = decode(record.value(), || format!("revision `{namespace}/{name}`"))?;
            if revision.content_version.0 != version {
                return Err(Fail::damage(format!("an index has content {version} of `{namespace}/{name}`")));
            }
            page.revisions.push(revision);
        }
        Ok(page)
    }

    pub(super) fn get(&self, key: &RevisionKey) -> Result<Snapshot, Fail> {
        let revision = self.revision(key)?;
        let files = self.stored(key, revision.content_version, Some(revision.content_digest))?;
        Ok(Snapshot { revision, files })
    }

    pub(super) fn content(&self, key: &RevisionKey, version: ContentVersion) -> Result<Files, Fail> {
        self.revision(key)?;
        self.stored(key, version, None)
    }

    /// The files of a content version, which must be those of its digest.
    fn stored(&self, key: &RevisionKey, version: ContentVersion, digest: Option<ContentDigest>) -> Result<Files, Fail> {
        let what = || format!("content {} of `{key}`", version.0);
        let contents = self.0.open_table(CONTENTS)?;
        let content: Content = match contents.get((&*key.namespace, &*key.name, version.0))? {
            Some(record) => decode(record.value(), what)?,
            None if digest.is_some() => return Err(Fail::damage(format!("{} is missing", what()))),
            None => return Err(StoreError::NoSuchContent { key: key.clone(), content: version }.into()),
        };
        let blobs = self.0.open_table(BLOBS)?;
        let mut files = BTreeMap::new();
        for (path, blob) in content.files {
            let Some(bytes) = blobs.get(&blob)? else {
                return Err(Fail::damage(format!("file `{}` of {} is missing", path.escape_debug(), what())));
            };
            files.insert(path, Bytes::copy_from_slice(bytes.value()));
        }
        if ContentDigest::of(&files) != digest.unwrap_or(content.entry.digest) {
            return Err(Fail::damage(format!("{} is not what was written", what())));
        }
        Ok(Arc::new(files))
    }

    pub(super) fn history(&self, key: &RevisionKey) -> Result<Vec<HistoryEntry>, Fail> {
        self.revision(key)?;
        let (namespace, name) = (&*key.namespace, &*key.name);
        let contents = self.0.open_table(CONTENTS)?;
        let mut entries = Vec::new();
        for record in contents.range((namespace, name, 0)..=(namespace, name, u64::MAX))?.rev() {
            let (_, record) = record?;
            let content: Content = decode(record.value(), || format!("a content of `{key}`"))?;
            entries.push(content.entry);
        }
        Ok(entries)
    }

    pub(super) fn log(&self, key: &RevisionKey) -> Result<Option<RenderLog>, Fail> {
        self.revision(key)?;
        let logs = self.0.open_table(LOGS)?;
        let record = logs.get((&*key.namespace, &*key.name))?;
        record.map(|bytes| decode(bytes.value(), || format!("the log of `{key}`"))).transpose()
    }

    /// The transaction itself.
    pub(super) fn transaction(&self) -> &ReadTransaction {
        &self.0
    }
}

//! What a store in memory holds.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::model::{ContentVersion, Files, Lifecycle, ObjectVersion, Revision, RevisionKey};
use crate::store::rules::{self, At, Outcome};
use crate::store::{
    Change, ClaimTable, Expected, HistoryEntry, NewRevision, Page, PageToken, RenderLog, Select, Snapshot, StoreError,
    StoreLimits, WatchEvent, Writer,
};

/// Older states of a revision that a stale read can give.
const STALE: usize = 8;

type Written<T> = Result<(T, Option<WatchEvent>), StoreError>;

#[derive(Debug)]
pub(super) struct State {
    pub(super) version: ObjectVersion,
    pub(super) claims: ClaimTable,
    records: BTreeMap<(Arc<str>, Arc<str>), Record>,
    /// By content version: no two are equal.
    order: BTreeMap<ContentVersion, (Arc<str>, Arc<str>)>,
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) revision: Revision,
    pub(super) log: Option<RenderLog>,
    /// The newest last.
    contents: VecDeque<(HistoryEntry, Files)>,
    /// States before this one, the newest last.
    earlier: VecDeque<Snapshot>,
}

impl Record {
    fn files(&self) -> Files {
        self.contents.back().map(|(_, files)| Arc::clone(files)).unwrap_or_default()
    }

    pub(super) fn history(&self) -> Vec<HistoryEntry> {
        self.contents.iter().rev().map(|(entry, _)| *entry).collect()
    }

    pub(super) fn content(&self, version: ContentVersion) -> Result<Files, StoreError> {
        let found = self.contents.iter().find(|(entry, _)| entry.version == version);
        let missing = || StoreError::NoSuchContent { key: self.revision.key.clone(), content: version };
        found.map(|(_, files)| Arc::clone(files)).ok_or_else(missing)
    }
}

impl State {
    pub(super) fn new(lease: Duration) -> Self {
        let (records, order) = (BTreeMap::new(), BTreeMap::new());
        Self { version: ObjectVersion(0), claims: ClaimTable::new(lease), records, order }
    }

    pub(super) fn record(&self, key: &RevisionKey) -> Result<&Record, StoreError> {
        let record = self.records.get(&place(key)).filter(|record| record.revision.key == *key);
        record.ok_or_else(|| StoreError::NotFound(key.clone()))
    }

    pub(super) fn find(&self, namespace: &str, name: &str) -> Result<Revision, StoreError> {
        let record = self.records.get(&(namespace.into(), name.into()));
        let missing = || StoreError::NoSuchName { namespace: namespace.into(), name: name.into() };
        record.map(|record| record.revision.clone()).ok_or_else(missing)
    }

    /// The revision with its files, as it was this many writes ago if so much is remembered.
    pub(super) fn snapshot(&self, key: &RevisionKey, stale: usize) -> Result<Snapshot, StoreError> {
        let record = self.record(key)?;
        if let Some(back) = stale.min(record.earlier.len()).checked_sub(1) {
            return Ok(record.earlier[record.earlier.len() - 1 - back].clone());
        }
        Ok(Snapshot { revision: record.revision.clone(), files: record.files() })
    }

    pub(super) fn page(&self, select: Select, after: Option<PageToken>, limit: usize) -> Page {
        let start = after.map_or(0, |token| token.0.0 + 1);
        let wanted = |revision: &Revision| match select {
            Select::All => true,
            Select::Drafts => revision.lifecycle == Lifecycle::Draft,
            Select::Unfinished => revision.is_unfinished(),
        };
        let mut revisions = self
            .order
            .range(ContentVersion(start)..)
            .map(|(_, place)| &self.records[place].revision)
            .filter(|revision| wanted(revision));
        let page: Vec<Revision> = revisions.by_ref().take(limit).cloned().collect();
        let next = if revisions.next().is_some() { page.last() } else { None };
        Page { next: next.map(|last| PageToken(last.content_version)), revisions: page, version: self.version }
    }

    pub(super) fn create(&mut self, new: &NewRevision, limits: &StoreLimits, at: At) -> Written<Revision> {
        let outcome = rules::create(new, None, &format!("memory-{}", at.version.0), limits, at)?;
        if let Some(there) = self.records.get(&place(&outcome.revision.key)) {
            return Err(StoreError::Exists(there.revision.key.clone()));
        }
        Ok(self.put(outcome, Writer::Client, limits, at))
    }

    /// Stores what the rules have allowed.
    pub(super) fn put(
        &mut self,
        outcome: Outcome,
        by: Writer,
        limits: &StoreLimits,
        at: At,
    ) -> (Revision, Option<WatchEvent>) {
        let Outcome { revision, files } = outcome;
        let place = place(&revision.key);
        let record = self.records.entry(place.clone()).or_insert_with(|| Record {
            revision: revision.clone(),
            log: None,
            contents: VecDeque::new(),
            earlier: VecDeque::new(),
        });
        let previous = (!record.contents.is_empty()).then(|| Arc::new(record.revision.clone()));
        if !record.contents.is_empty() {
            let before = Snapshot { revision: record.revision.clone(), files: record.files() };
            record.earlier.push_back(before);
            if record.earlier.len() > STALE {
                record.earlier.pop_front();
            }
        }
        if let Some(files) = files {
            self.order.remove(&record.revision.content_version);
            self.order.insert(revision.content_version, place);
            let (version, digest) = (revision.content_version, revision.content_digest);
            record.contents.push_back((HistoryEntry { version, digest, written_ms: at.now_ms, by }, files));
            while record.contents.len() > limits.history.max(1) {
                record.contents.pop_front();
            }
        }
        record.revision = revision.clone();
        let change = Change::Put(Arc::new(revision.clone()));
        let event = WatchEvent { version: at.version, change, before: previous };
        (revision, Some(event))
    }

    pub(super) fn delete(&mut self, key: &RevisionKey, expected: Option<Expected>, at: At) -> Written<()> {
        let record = self.record(key)?;
        rules::delete(&record.revision, expected)?;
        let version = record.revision.content_version;
        let before = Some(Arc::new(record.revision.clone()));
        self.order.remove(&version);
        self.records.remove(&place(key));
        self.claims.forget(key);
        Ok(((), Some(WatchEvent { version: at.version, change: Change::Deleted(key.clone()), before })))
    }

    pub(super) fn set_log(&mut self, key: &RevisionKey, log: RenderLog) -> Result<(), StoreError> {
        self.record(key)?;
        if let Some(record) = self.records.get_mut(&place(key)) {
            record.log = Some(log);
        }
        Ok(())
    }
}

fn place(key: &RevisionKey) -> (Arc<str>, Arc<str>) {
    (Arc::clone(&key.namespace), Arc::clone(&key.name))
}

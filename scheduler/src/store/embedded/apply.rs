//! One write within a transaction.

use std::sync::Arc;

use redb::ReadableTable as _;
use sha2::{Digest as _, Sha256};

use super::fail::Fail;
use super::tables::{Content, Tables, decode, encode, meta};
use crate::model::{ContentVersion, Files, Lifecycle, RenderState, Revision, RevisionKey};
use crate::store::rules::{self, At};
use crate::store::{
    Change, ClientUpdate, Expected, HistoryEntry, NewRevision, RenderLog, RenderResult, StoreError, StoreLimits,
    StoreOperation, Writer,
};

/// The files that a write stores, with their digests, taken before the write waits for its turn.
#[derive(Debug)]
pub(super) struct Hashed {
    content: rules::Content,
    blobs: Vec<[u8; 32]>,
}

impl Hashed {
    fn new(content: rules::Content) -> Self {
        let blobs = content.files.values().map(|content| Sha256::digest(content).into()).collect();
        Self { content, blobs }
    }
}

/// A write. Kept until it is answered: when a transaction of several fails, each is tried alone.
#[derive(Debug)]
pub(super) enum Write {
    Create(NewRevision),
    Update(RevisionKey, Expected, ClientUpdate),
    Delete(RevisionKey, Option<Expected>),
    SaveResult(RevisionKey, ContentVersion, RenderResult),
    SetState(RevisionKey, ContentVersion, RenderState),
    SaveLog(RevisionKey, RenderLog),
}

impl Write {
    /// The files that it brings.
    fn files(&self) -> Option<&Files> {
        match self {
            Self::Create(new) => Some(&new.files),
            Self::Update(_, _, update) => update.files.as_ref(),
            Self::SaveResult(_, _, result) => result.files.as_ref(),
            Self::Delete(..) | Self::SetState(..) | Self::SaveLog(..) => None,
        }
    }

    /// What it stores of them.
    pub(super) fn hashed(&self) -> Option<Hashed> {
        let content = match self {
            Self::Create(new) => rules::Content::accepted(&new.files),
            Self::Update(_, _, update) => rules::Content::accepted(update.files.as_ref()?),
            Self::SaveResult(_, _, result) => rules::Content::rendered(result.files.as_ref()?),
            Self::Delete(..) | Self::SetState(..) | Self::SaveLog(..) => return None,
        };
        Some(Hashed::new(content))
    }

    /// Its kind.
    pub(super) fn operation(&self) -> StoreOperation {
        match self {
            Self::Create(_) => StoreOperation::Create,
            Self::Update(..) => StoreOperation::Update,
            Self::Delete(..) => StoreOperation::Delete,
            Self::SaveResult(..) => StoreOperation::SaveResult,
            Self::SetState(..) => StoreOperation::SetState,
            Self::SaveLog(..) => StoreOperation::SaveLog,
        }
    }

    /// Roughly how much memory it holds, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let log = match self {
            Self::SaveResult(_, _, result) => result.log.len(),
            Self::SaveLog(_, log) => log.text.len(),
            _ => 0,
        };
        let files =
            self.files().map_or(0, |files| files.iter().map(|(path, content)| path.len() + content.len()).sum());
        1024 + log + files
    }
}

/// What a write did.
#[derive(Debug)]
pub(super) struct Applied {
    /// The revision after it; none after a deletion or for a log.
    pub(super) revision: Option<Revision>,
    /// What watchers see of it.
    pub(super) change: Option<Change>,
    /// The revision before it, if there was one.
    pub(super) before: Option<Arc<Revision>>,
    /// Whether anything is to be committed.
    pub(super) wrote: bool,
}

impl Tables<'_> {
    /// Does a write, or refuses it with nothing changed. The caller counts the version up if there is a change.
    pub(super) fn apply(
        &mut self,
        write: &Write,
        hashed: Option<&Hashed>,
        limits: &StoreLimits,
        at: At,
    ) -> Result<Applied, Fail> {
        let content = hashed.map(|hashed| &hashed.content);
        match write {
            Write::Create(new) => {
                let incarnation = self.meta.get(meta::INCARNATION)?.map(|value| value.value()).unwrap_or_default();
                let uid = format!("{incarnation:016x}-{:x}", at.version.0);
                let outcome = rules::create(new, content, &uid, limits, at)?;
                if let Some(there) = self.named(&new.namespace, &new.name)? {
                    return Err(StoreError::Exists(there.key).into());
                }
                self.put(None, outcome, hashed, Writer::Client, limits, at)
            }
            Write::Update(key, expected, update) => {
                let current = self.current(key)?;
                let outcome = rules::update(&current, *expected, update, content, limits, at)?;
                self.put(Some(&current), outcome, hashed, Writer::Client, limits, at)
            }
            Write::Delete(key, expected) => {
                let current = self.current(key)?;
                rules::delete(&current, *expected)?;
                self.remove(&current)?;
                let change = Some(Change::Deleted(key.clone()));
                Ok(Applied { revision: None, change, before: Some(Arc::new(current)), wrote: true })
            }
            Write::SaveResult(key, rendered, result) => {
                let current = self.current(key)?;
                let outcome = rules::save_result(&current, *rendered, result, content, limits, at)?;
                let text = rules::bounded_log(&result.log, limits);
                self.put_log(key, &RenderLog { content: *rendered, kept: true, ended_ms: at.now_ms, text })?;
                self.put(Some(&current), outcome, hashed, Writer::Render, limits, at)
            }
            Write::SetState(key, content, state) => {
                let current = self.current(key)?;
                match rules::set_state(&current, *content, state, at)? {
                    None => Ok(Applied { revision: Some(current), change: None, before: None, wrote: false }),
                    Some(revision) => {
                        let outcome = rules::Outcome { revision, files: None };
                        self.put(Some(&current), outcome, None, Writer::Render, limits, at)
                    }
                }
            }
            Write::SaveLog(key, log) => {
                self.current(key)?;
                let there = self.log(key)?;
                let wrote = rules::keeps_log(there.as_ref(), log);
                if wrote {
                    let text = rules::bounded_log(&log.text, limits);
                    self.put_log(key, &RenderLog { ended_ms: at.now_ms, text, ..log.clone() })?;
                }
                Ok(Applied { revision: None, change: None, before: None, wrote })
            }
        }
    }

    fn named(&self, namespace: &str, name: &str) -> Result<Option<Revision>, Fail> {
        let record = self.revisions.get((namespace, name))?;
        record.map(|bytes| decode(bytes.value(), || format!("revision `{namespace}/{name}`"))).transpose()
    }

    fn current(&self, key: &RevisionKey) -> Result<Revision, Fail> {
        let found = self.named(&key.namespace, &key.name)?.filter(|revision| revision.key == *key);
        found.ok_or_else(|| StoreError::NotFound(key.clone()).into())
    }

    fn put(
        &mut self,
        before: Option<&Revision>,
        outcome: rules::Outcome,
        hashed: Option<&Hashed>,
        by: Writer,
        limits: &StoreLimits,
        at: At,
    ) -> Result<Applied, Fail> {
        let rules::Outcome { revision, files } = outcome;
        let (namespace, name) = (&*revision.key.namespace, &*revision.key.name);
        if let Some(files) = files {
            let fresh;
            let hashed = if let Some(hashed) = hashed {
                hashed
            } else {
                fresh = Hashed::new(rules::Content::rendered(&files));
                &fresh
            };
            let (version, digest) = (revision.content_version, revision.content_digest);
            let entry = HistoryEntry { version, digest, written_ms: at.now_ms, by };
            self.put_content(&revision.key, entry, &files, hashed)?;
            self.prune(&revision.key, limits.history.max(1))?;
        }
        let (old, new) = (before.map(selections), selections(&revision));
        for (index, member) in self.indices.iter_mut().zip(0..) {
            let old = before.filter(|_| old.is_some_and(|old| old[member])).map(|before| before.content_version);
            let new = new[member].then_some(revision.content_version);
            if old != new {
                if let Some(version) = old {
                    index.remove(version.0)?;
                }
                if let Some(version) = new {
                    index.insert(version.0, (namespace, name))?;
                }
            }
        }
        self.revisions.insert((namespace, name), encode(&revision)?.as_slice())?;
        let change = Change::Put(Arc::new(revision.clone()));
        let before = before.cloned().map(Arc::new);
        Ok(Applied { revision: Some(revision), change: Some(change), before, wrote: true })
    }

    fn log(&self, key: &RevisionKey) -> Result<Option<RenderLog>, Fail> {
        let record = self.logs.get((&*key.namespace, &*key.name))?;
        record.map(|bytes| decode(bytes.value(), || format!("the log of `{key}`"))).transpose()
    }

    fn put_log(&mut self, key: &RevisionKey, log: &RenderLog) -> Result<(), Fail> {
        self.logs.insert((&*key.namespace, &*key.name), encode(log)?.as_slice())?;
        Ok(())
    }

    fn put_content(
        &mut self,
        key: &RevisionKey,
        entry: HistoryEntry,
        files: &Files,
        hashed: &Hashed,
    ) -> Result<(), Fail> {
        let mut listed = Vec::with_capacity(files.len());
        for ((path, content), digest) in files.iter().zip(&hashed.blobs) {
            let count = self.references.get(digest)?.map(|count| count.value()).unwrap_or_default();
            if count == 0 {
                self.blobs.insert(digest, &**content)?;
            }
            self.references.insert(digest, count + 1)?;
            listed.push((path.clone(), *digest));
        }
        let record = encode(&Content { entry, files: listed })?;
        self.contents.insert((&*key.namespace, &*key.name, entry.version.0), record.as_slice())?;
        Ok(())
    }

    /// Forgets all but the newest contents.
    fn prune(&mut self, key: &RevisionKey, keep: usize) -> Result<(), Fail> {
        let versions = self.versions(key)?;
        for version in &versions[..versions.len().saturating_sub(keep)] {
            self.remove_content(key, *version)?;
        }
        Ok(())
    }

    fn versions(&self, key: &RevisionKey) -> Result<Vec<u64>, Fail> {
        let (namespace, name) = (&*key.namespace, &*key.name);
        let mut versions = Vec::new();
        for entry in self.contents.range((namespace, name, 0)..=(namespace, name, u64::MAX))? {
            versions.push(entry?.0.value().2);
        }
        Ok(versions)
    }

    fn remove_content(&mut self, key: &RevisionKey, version: u64) -> Result<(), Fail> {
        let what = || format!("content {version} of `{key}`");
        let content: Content = match self.contents.remove((&*key.namespace, &*key.name, version))? {
            Some(record) => decode(record.value(), what)?,
            None => return Err(Fail::damage(format!("{} is missing", what()))),
        };
        for (path, digest) in &content.files {
            let count = self.references.get(digest)?.map(|count| count.value()).unwrap_or_default();
            match count {
                0 => return Err(Fail::damage(format!("file `{}` of {} is not counted", path.escape_debug(), what()))),
                1 => {
                    self.references.remove(digest)?;
                    self.blobs.remove(digest)?;
                }
                count => {
                    self.references.insert(digest, count - 1)?;
                }
            }
        }
        Ok(())
    }

    fn remove(&mut self, current: &Revision) -> Result<(), Fail> {
        let key = &current.key;
        for version in self.versions(key)? {
            self.remove_content(key, version)?;
        }
        for index in &mut self.indices {
            index.remove(current.content_version.0)?;
        }
        let name = (&*key.namespace, &*key.name);
        self.logs.remove(name)?;
        self.revisions.remove(name)?;
        Ok(())
    }
}

/// Which of the indices a revision stands in.
pub(super) fn selections(revision: &Revision) -> [bool; 3] {
    [true, revision.lifecycle == Lifecycle::Draft, revision.is_unfinished()]
}

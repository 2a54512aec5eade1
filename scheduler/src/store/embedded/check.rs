//! Whether what is stored holds together.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use bytes::Bytes;
use redb::{ReadTransaction, ReadableTable as _, ReadableTableMetadata as _};
use sha2::{Digest as _, Sha256};

use super::apply::selections;
use super::fail::{Fail, guarded};
use super::open::{self, FileMedium, Medium as _, OpenError};
use super::read::View;
use super::tables::{BLOBS, CONTENTS, Content, INDICES, LOGS, REFERENCES, REVISIONS, decode};
use crate::model::{ContentDigest, ObjectVersion, Revision};
use crate::store::RenderLog;

/// Problems that are listed; the others are counted.
const LISTED: usize = 100;
/// The page cache of a check, in bytes.
const CACHE: usize = 64 << 20;

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Revisions.
    pub revisions: u64,
    /// Drafts among them.
    pub drafts: u64,
    /// Drafts that wait for a render.
    pub unfinished: u64,
    /// Content versions, histories included.
    pub contents: u64,
    /// Different files.
    pub blobs: u64,
    /// Their bytes.
    pub blob_bytes: u64,
    /// What does not hold together: at most 100 sentences.
    pub problems: Vec<String>,
    /// How many problems there are.
    pub problem_count: u64,
}

impl CheckReport {
    /// Whether all is well.
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }

    fn problem(&mut self, text: String) {
        self.problem_count += 1;
        if self.problems.len() < LISTED {
            self.problems.push(text);
        }
    }

    /// The value, or a problem.
    fn take<T>(&mut self, result: Result<T, Fail>) -> Result<Option<T>, Fail> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Fail::Damage(error)) => {
                self.problem(error.to_string());
                Ok(None)
            }
            Err(fail) => Err(fail),
        }
    }
}

/// A file that no process has open.
pub(super) fn check_file(path: &Path) -> Result<CheckReport, OpenError> {
    let medium = FileMedium::new(path);
    let name = medium.name();
    let (mut database, _) = open::database(&medium, CACHE)?;
    let broken = |what| OpenError::Corrupt { path: name.clone(), what };
    let sound = guarded(|| database.check_integrity()).map_err(broken)?;
    let sound = sound.map_err(|error| open::database_error(error, &name))?;
    let corrupt = |fail: Fail| OpenError::Corrupt { path: name.clone(), what: fail.into_error(&name).to_string() };
    let look = || check(&View::new(&database)?);
    let mut report = guarded(look).map_err(broken)?.map_err(corrupt)?;
    if !sound {
        report.problem("pages of the file were damaged, and repaired".into());
    }
    Ok(report)
}

/// Everything that a view shows.
pub(super) fn check(view: &View) -> Result<CheckReport, Fail> {
    let mut report = CheckReport::default();
    let transaction = view.transaction();
    let counts = contents(transaction, &mut report)?;
    blobs(transaction, &counts, &mut report)?;
    revisions(transaction, view.version()?, &mut report)?;
    indices(transaction, &mut report)?;
    Ok(report)
}

/// Contents: each belongs to a revision, its files are there and have its digest. Gives how often a blob is named.
fn contents(transaction: &ReadTransaction, report: &mut CheckReport) -> Result<HashMap<[u8; 32], u64>, Fail> {
    let revisions = transaction.open_table(REVISIONS)?;
    let blobs = transaction.open_table(BLOBS)?;
    let mut counts: HashMap<[u8; 32], u64> = HashMap::new();
    for entry in transaction.open_table(CONTENTS)?.iter()? {
        let (key, record) = entry?;
        let (namespace, name, version) = key.value();
        let what = || format!("content {version} of `{namespace}/{name}`");
        report.contents += 1;
        if revisions.get((namespace, name))?.is_none() {
            report.problem(format!("{} has no revision", what()));
        }
        let Some(content) = report.take(decode::<Content>(record.value(), what))? else { continue };
        if content.entry.version.0 != version {
            report.problem(format!("{} says that it is {}", what(), content.entry.version.0));
        }
        let mut files = BTreeMap::new();
        for (path, digest) in &content.files {
            *counts.entry(*digest).or_default() += 1;
            match blobs.get(digest)? {
                Some(bytes) => {
                    files.insert(path.clone(), Bytes::copy_from_slice(bytes.value()));
                }
                None => report.problem(format!("file `{}` of {} is missing", path.escape_debug(), what())),
            }
        }
        if files.len() == content.files.len() && ContentDigest::of(&files) != content.entry.digest {
            report.problem(format!("{} has another digest than it was written with", what()));
        }
    }
    Ok(counts)
}

/// Blobs: each has its digest and is counted right.
fn blobs(transaction: &ReadTransaction, counts: &HashMap<[u8; 32], u64>, report: &mut CheckReport) -> Result<(), Fail> {
    let references = transaction.open_table(REFERENCES)?;
    for entry in transaction.open_table(BLOBS)?.iter()? {
        let (digest, bytes) = entry?;
        let digest = ContentDigest(*digest.value());
        report.blobs += 1;
        report.blob_bytes += bytes.value().len() as u64;
        if <[u8; 32]>::from(Sha256::digest(bytes.value())) != digest.0 {
            report.problem(format!("blob {digest} has other bytes than it was written with"));
        }
        let stored = references.get(&digest.0)?.map(|count| count.value()).unwrap_or_default();
        let named = counts.get(&digest.0).copied().unwrap_or_default();
        if stored != named {
            report.problem(format!("blob {digest} is counted {stored} times and named {named} times"));
        }
    }
    if references.len()? != report.blobs {
        report.problem(format!("{} blobs are counted and {} are there", references.len()?, report.blobs));
    }
    Ok(())
}

/// Revisions: each has its content and is in the right indices.
fn revisions(transaction: &ReadTransaction, newest: ObjectVersion, report: &mut CheckReport) -> Result<(), Fail> {
    let contents = transaction.open_table(CONTENTS)?;
    for entry in transaction.open_table(REVISIONS)?.iter()? {
        let (key, record) = entry?;
        let (namespace, name) = key.value();
        let what = || format!("revision `{namespace}/{name}`");
        report.revisions += 1;
        let Some(revision) = report.take(decode::<Revision>(record.value(), what))? else { continue };
        if (&*revision.key.namespace, &*revision.key.name) != (namespace, name) {
            report.problem(format!("{} says that it is `{}`", what(), revision.key));
        }
        if revision.object_version > newest {
            report.problem(format!("{} is newer than the store", what()));
        }
        let content = contents.get((namespace, name, revision.content_version.0))?;
        match content.map(|record| decode::<Content>(record.value(), what)).transpose() {
            Ok(Some(content)) if content.entry.digest == revision.content_digest => {}
            _ => report.problem(format!("{} does not have its content", what())),
        }
        for (index, member) in INDICES.iter().zip(selections(&revision)) {
            let index = transaction.open_table(*index)?;
            let there = index.get(revision.content_version.0)?.is_some_and(|entry| entry.value() == (namespace, name));
            if there != member {
                report.problem(format!("{} is {} an index", what(), if there { "wrongly in" } else { "missing in" }));
            }
        }
        let [_, draft, unfinished] = selections(&revision);
        report.drafts += u64::from(draft);
        report.unfinished += u64::from(unfinished);
    }
    Ok(())
}

/// Indices and logs: nothing that no revision has.
fn indices(transaction: &ReadTransaction, report: &mut CheckReport) -> Result<(), Fail> {
    for (index, count) in INDICES.iter().zip([report.revisions, report.drafts, report.unfinished]) {
        let entries = transaction.open_table(*index)?.len()?;
        if entries != count {
            report.problem(format!("an index has {entries} entries for {count} revisions"));
        }
    }
    let revisions = transaction.open_table(REVISIONS)?;
    for entry in transaction.open_table(LOGS)?.iter()? {
        let (key, record) = entry?;
        let (namespace, name) = key.value();
        if revisions.get((namespace, name))?.is_none() {
            report.problem(format!("the log of `{namespace}/{name}` has no revision"));
        }
        report.take(decode::<RenderLog>(record.value(), || format!("the log of `{namespace}/{name}`")))?;
    }
    Ok(())
}

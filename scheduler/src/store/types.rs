//! What goes into a store and comes out of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::model::{
    Condition, ContentDigest, ContentVersion, Ending, Files, Lifecycle, ObjectVersion, Priority, Revision,
};

/// Which revisions to page through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Select {
    /// All.
    All,
    /// Drafts.
    Drafts,
    /// Drafts that wait for a render's result ([`Revision::is_unfinished`]): what a scheduler takes up when it starts.
    Unfinished,
}

/// Where the next page begins. Stays good for ever, also after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PageToken(pub ContentVersion);

/// A page of revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Without their files, the oldest change of content first.
    pub revisions: Vec<Revision>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<PageToken>,
    /// The store's version when this page was read.
    pub version: ObjectVersion,
}

/// A revision with its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The revision.
    pub revision: Revision,
    /// Its files.
    pub files: Files,
}

impl Snapshot {
    /// The snapshot if its files are the whole content that its revision speaks of.
    pub fn checked(self) -> Result<Self, StoreError> {
        if self.files.is_empty() || ContentDigest::of(&self.files) != self.revision.content_digest {
            return Err(StoreError::Incomplete(self.revision.key));
        }
        Ok(self)
    }
}

/// What a writer has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// This object: any write in between is a conflict, the scheduler's conditions included.
    Object(ObjectVersion),
    /// This content: the scheduler's conditions don't matter.
    Content(ContentVersion),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(version) => write!(f, "object version {}", version.0),
            Self::Content(version) => write!(f, "content version {}", version.0),
        }
    }
}

/// What a client makes.
#[derive(Debug, Clone)]
pub struct NewRevision {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name, free in its namespace.
    pub name: Arc<str>,
    /// The repository.
    pub repository: Arc<str>,
    /// How urgent its renders are.
    pub priority: Priority,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// See [`Revision::document`].
    pub document: Bytes,
    /// Conditions of its status, for instance a clone's. Those of the scheduler are dropped.
    pub conditions: Vec<Condition>,
    /// The files; at least one.
    pub files: Files,
}

impl NewRevision {
    /// A revision without labels and conditions.
    pub fn new(namespace: &str, name: &str, repository: &str, files: Files) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            repository: repository.into(),
            priority: Priority::default(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            document: Bytes::new(),
            conditions: Vec::new(),
            files,
        }
    }
}

/// What a client changes; `None` stays as it is.
#[derive(Debug, Clone, Default)]
pub struct ClientUpdate {
    /// All files anew. Also equal ones ask for a render.
    pub files: Option<Files>,
    /// The lifecycle.
    pub lifecycle: Option<Lifecycle>,
    /// All labels anew.
    pub labels: Option<BTreeMap<String, String>>,
    /// All annotations anew.
    pub annotations: Option<BTreeMap<String, String>>,
    /// See [`Revision::document`].
    pub document: Option<Bytes>,
    /// All conditions anew that are not the scheduler's; of those, what the client brings is dropped.
    pub conditions: Option<Vec<Condition>>,
    /// How urgent renders are.
    pub priority: Option<Priority>,
}

impl ClientUpdate {
    /// New files.
    pub fn files(files: Files) -> Self {
        Self { files: Some(files), ..Self::default() }
    }

    /// Another lifecycle.
    pub fn lifecycle(lifecycle: Lifecycle) -> Self {
        Self { lifecycle: Some(lifecycle), ..Self::default() }
    }
}

/// What a render leaves.
#[derive(Debug, Clone)]
pub struct RenderResult {
    /// The files; `None` leaves those that were rendered.
    pub files: Option<Files>,
    /// How it ended.
    pub ending: Ending,
    /// What it said, whole; cut to [`super::StoreLimits::log_bytes`].
    pub log: Bytes,
}

/// What a render said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderLog {
    /// The content that was rendered, which the result may have replaced since.
    pub content: ContentVersion,
    /// Whether its files were kept.
    pub kept: bool,
    /// When it ended, in milliseconds since 1970; the store sets it.
    pub ended_ms: u64,
    /// The text.
    pub text: Bytes,
}

/// Who wrote a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Writer {
    /// A client.
    Client,
    /// A render.
    Render,
}

/// A content version that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Its number.
    pub version: ContentVersion,
    /// The digest of its files.
    pub digest: ContentDigest,
    /// When it was written, in milliseconds since 1970.
    pub written_ms: u64,
    /// By whom.
    pub by: Writer,
}

//! A package revision as a store holds it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Condition, RevisionKey, Tenant};

/// The files of a package: slash-separated path to content. Shared, never changed in place.
pub type Files = Arc<BTreeMap<String, Bytes>>;

/// Moves with each write of the files, and with nothing else: a render's result belongs to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct ContentVersion(pub u64);

/// Moves with each write of anything, conditions included: Kubernetes' resourceVersion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectVersion(pub u64);

/// The SHA-256 of a package's paths and contents: what a condition speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContentDigest(pub [u8; 32]);

impl ContentDigest {
    /// Of these files. Lengths go in too, so that no two packages run together.
    pub fn of(files: &BTreeMap<String, Bytes>) -> Self {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        for (path, content) in files {
            add(path.as_bytes());
            add(content);
        }
        Self(hash.finalize().into())
    }
}

impl fmt::Display for ContentDigest {
    /// 64 lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Porch's states of a revision. Only drafts are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Lifecycle {
    /// Can be edited.
    Draft,
    /// Waits for approval.
    Proposed,
    /// Fixed.
    Published,
    /// Fixed, and about to go.
    DeletionProposed,
}

/// How urgent a render is. Who may ask for which is the operator's bound; waiting entries age upwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Priority {
    /// Bulk work.
    Low,
    /// A person's edit.
    #[default]
    Normal,
    /// Somebody waits for it.
    High,
}

/// A package revision without its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// What it is called.
    pub key: RevisionKey,
    /// The repository it belongs to.
    pub repository: Arc<str>,
    /// Its state.
    pub lifecycle: Lifecycle,
    /// How urgent its renders are.
    pub priority: Priority,
    /// Labels: what people and programs select by; they have no part in a render.
    pub labels: BTreeMap<String, String>,
    /// Annotations: what programs note beside it.
    pub annotations: BTreeMap<String, String>,
    /// What the API in front of the store keeps of an object and nothing here reads: the rest of its metadata and spec.
    pub document: Bytes,
    /// Moves with every write.
    pub object_version: ObjectVersion,
    /// Moves with every write of files.
    pub content_version: ContentVersion,
    /// The digest of the files.
    pub content_digest: ContentDigest,
    /// The conditions of its status, one a type; the two of the render belong to the scheduler alone.
    pub conditions: Vec<Condition>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// When the content changed last, in milliseconds since 1970.
    pub changed_ms: u64,
}

impl Revision {
    /// Whose share of the workers it uses.
    pub fn tenant(&self) -> Tenant {
        Tenant { namespace: Arc::clone(&self.key.namespace), repository: Arc::clone(&self.repository) }
    }

    /// About how much memory its texts hold, in bytes: labels, annotations, conditions, the document.
    pub fn held_bytes(&self) -> usize {
        let notes = self.labels.iter().chain(&self.annotations);
        let notes = notes.map(|(name, value)| name.len() + value.len() + 64);
        let conditions = self.conditions.iter().map(|c| c.kind.len() + c.reason.len() + c.message.len() + 128);
        notes.chain(conditions).sum::<usize>() + self.document.len()
    }

    /// The condition of this type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| &*condition.kind == kind)
    }

    /// How its render stands, as its conditions say of exactly this content. `None` where they say nothing of it.
    pub fn render_state(&self) -> Option<super::RenderState> {
        super::RenderState::read(&self.conditions, self.content_digest)
    }

    /// Whether the render of exactly this content has succeeded: what may be proposed and published.
    pub fn is_rendered(&self) -> bool {
        matches!(self.render_state(), Some(super::RenderState::Ended(ending)) if ending.rendered)
    }

    /// Whether its content still waits for a render's result: a draft whose conditions do not say that
    /// the render of exactly this content has finished.
    pub fn is_unfinished(&self) -> bool {
        let finished = self.condition(super::RENDER_FINISHED);
        self.lifecycle == Lifecycle::Draft
            && !finished.is_some_and(|c| c.status == super::ConditionStatus::True && c.content == self.content_digest)
    }
}

//! The kinds of calls, and all rules that depend on a kind.

use crate::model::{ContentDigest, ContentVersion, Ending, Reason, RenderState, Revision};
use crate::store::RenderResult;

/// What a render came to, for [`Call::Result`].
#[derive(Debug, Clone)]
pub struct ResultWrite {
    base: ContentVersion,
    result: RenderResult,
    /// Of the files, if there are any.
    digest: Option<ContentDigest>,
}

impl ResultWrite {
    /// The result of rendering this content. Takes the digest of the files.
    pub fn new(base: ContentVersion, result: RenderResult) -> Self {
        Self::hashed(base, result, None)
    }

    /// As [`ResultWrite::new`], with the digest of the files where it is known.
    pub fn hashed(base: ContentVersion, result: RenderResult, digest: Option<ContentDigest>) -> Self {
        let digest = result.files.as_ref().map(|files| digest.unwrap_or_else(|| ContentDigest::of(files)));
        Self { base, result, digest }
    }

    /// The content that was rendered.
    pub fn base(&self) -> ContentVersion {
        self.base
    }

    /// What is to be saved.
    pub fn result(&self) -> &RenderResult {
        &self.result
    }

    /// Whether the revision's files are those that it leaves.
    fn has_files_of(&self, revision: &Revision) -> bool {
        self.digest.is_none_or(|digest| digest == revision.content_digest)
    }
}

/// A write of the scheduler's own. Each names the content that it is about, and is refused by the store when the
/// content has moved on.
#[derive(Debug, Clone)]
pub enum Call {
    /// A render of this content is scheduled.
    Scheduled(ContentVersion),
    /// A render of this content waits for another try, for this reason in words.
    Waiting(ContentVersion, String),
    /// A render of this content runs.
    Rendering(ContentVersion),
    /// The render of this content was cancelled, for this reason in words, and no other follows.
    Cancelled(ContentVersion, String),
    /// A render has ended: its files, log and conditions in one write.
    Result(ResultWrite),
    /// The revision goes.
    Delete,
}

/// The kind of a [`Call`]. The order is that of relevance: under throttling, the first goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Frees what everything else would work on.
    Delete,
    /// Holds files in memory, and somebody waits for it.
    Result,
    /// The end of a render too.
    Cancelled,
    /// Mostly there already: a client's write sets it itself.
    Scheduled,
    /// Soon overtaken by a result.
    Rendering,
}

impl Kind {
    /// All kinds, the most relevant first.
    pub const ALL: [Self; 5] = [Self::Delete, Self::Result, Self::Cancelled, Self::Scheduled, Self::Rendering];

    /// In one word, for logs and counters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Result => "result",
            Self::Cancelled => "cancelled",
            Self::Scheduled => "scheduled",
            Self::Rendering => "rendering",
        }
    }

    /// Whether it sets the conditions and nothing else: what is given up first when there is no room.
    pub fn is_status(self) -> bool {
        matches!(self, Self::Cancelled | Self::Scheduled | Self::Rendering)
    }
}

/// What becomes of a call that waits when a newer one comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    /// The newer takes its place: it carries all that the older would write.
    Replace,
    /// The newer goes right after it, and waits with it until then.
    Follow,
    /// The older stays. The newer has nothing to add.
    KeepOlder,
}

impl Call {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Scheduled(_) | Self::Waiting(..) => Kind::Scheduled,
            Self::Rendering(_) => Kind::Rendering,
            Self::Cancelled(..) => Kind::Cancelled,
            Self::Result(_) => Kind::Result,
            Self::Delete => Kind::Delete,
        }
    }

    /// The content that it is about; a deletion is about any.
    pub fn base(&self) -> Option<ContentVersion> {
        match self {
            Self::Scheduled(base) | Self::Rendering(base) | Self::Waiting(base, _) | Self::Cancelled(base, _) => {
                Some(*base)
            }
            Self::Result(write) => Some(write.base),
            Self::Delete => None,
        }
    }

    /// How the render stands when it is written; none after a deletion.
    pub fn state(&self) -> Option<RenderState> {
        Some(match self {
            Self::Scheduled(_) => RenderState::Scheduled,
            Self::Waiting(_, why) => RenderState::Waiting(why.clone()),
            Self::Rendering(_) => RenderState::Rendering,
            Self::Cancelled(_, why) => RenderState::Ended(Ending::failure(Reason::Cancelled, why.as_str())),
            Self::Result(write) => RenderState::Ended(write.result.ending.clone()),
            Self::Delete => return None,
        })
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> u64 {
        let Self::Result(write) = self else { return 0 };
        let files = write.result.files.iter().flat_map(|files| files.iter());
        files.map(|(path, content)| (path.len() + content.len()) as u64).sum::<u64>() + write.result.log.len() as u64
    }

    /// What to do with `newer`, which comes while this one waits.
    ///
    /// | waits | deletion | about newer content | about older content | result | scheduled | any other status |
    /// | --- | --- | --- | --- | --- | --- | --- |
    /// | deletion | replace | keep | keep | keep | keep | keep |
    /// | result | replace | replace | keep | replace | follow | keep |
    /// | any status | replace | replace | keep | replace | replace | replace |
    ///
    /// - A call about newer content replaces even a result: the store would refuse that one.
    /// - A result is the whole word on its content, also where it leaves the files. So a later one replaces it, and what
    ///   else is said of that render comes too late.
    /// - Only `Scheduled` behind a result asks for something new: one more render of what the result leaves.
    pub(super) fn join(&self, newer: &Self) -> Join {
        match (self.base(), newer.base()) {
            (_, None) => Join::Replace,
            (None, _) => Join::KeepOlder,
            (Some(mine), Some(base)) if base > mine => Join::Replace,
            (Some(mine), Some(base)) if base < mine => Join::KeepOlder,
            _ => match (self, newer) {
                (Self::Result(_), Self::Scheduled(_)) => Join::Follow,
                (Self::Result(_), Self::Waiting(..) | Self::Rendering(_) | Self::Cancelled(..)) => Join::KeepOlder,
                _ => Join::Replace,
            },
        }
    }

    /// What is left of this call, which waited, now that `done` was written and left `revision`: the rules of
    /// [`join`](Self::join), for a call that was in flight and could not be touched.
    pub(super) fn behind(self, done: &Self, revision: &Revision) -> Option<Self> {
        let Self::Result(write) = done else { return Some(self) };
        if self.base() != Some(write.base) {
            return Some(self);
        }
        match self {
            // If these are not its files, a client has written since.
            Self::Scheduled(_) if write.has_files_of(revision) => Some(Self::Scheduled(revision.content_version)),
            Self::Scheduled(_) | Self::Result(_) | Self::Delete => Some(self),
            Self::Waiting(..) | Self::Rendering(_) | Self::Cancelled(..) => None,
        }
    }

    /// Whether the content that it is about is no longer that of the revision.
    pub(super) fn is_outdated(&self, revision: &Revision) -> bool {
        self.base().is_some_and(|base| base < revision.content_version)
    }

    /// Whether the revision says already all that this call would write.
    pub(super) fn changes_nothing(&self, revision: &Revision) -> bool {
        self.base() == Some(revision.content_version) && self.is_written_in(revision)
    }

    /// Whether the revision is what this call leaves behind, by whatever way it came to be so.
    pub(super) fn is_written_in(&self, revision: &Revision) -> bool {
        let files = match self {
            Self::Result(write) => write.has_files_of(revision),
            _ => true,
        };
        files && self.state().is_some_and(|state| state.stands_in(&revision.conditions, revision.content_digest))
    }
}

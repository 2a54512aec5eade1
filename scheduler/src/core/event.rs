//! What goes into the core and comes out of it.

use std::time::Duration;

use bytes::Bytes;

use crate::dispatch::{Call, Outcome as Written};
use crate::events::TurningPoint;
use crate::model::{ContentDigest, ContentVersion, Ending, ErrorClass, Files, Reason, Revision, RevisionKey};
use crate::store::{Instance, InstanceId, jitter, share};
use crate::time::Time;

/// Names one run of a worker: from the moment it gets a revision until it has done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub u64);

/// Names one saving of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SaveId(pub u64);

/// What happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// A state of a revision was seen: after a client's write, in a notification, in a page. It may be old.
    Seen(Box<Revision>),
    /// A revision is gone, by whatever way that was learned.
    Gone(RevisionKey),
    /// What came of [`Action::Acquire`].
    Acquired {
        /// The run.
        run: RunId,
        /// What came of it.
        result: Acquired,
    },
    /// The worker has done with [`Action::Render`].
    Ended {
        /// The run.
        run: RunId,
        /// How.
        ended: Ended,
        /// The digest of the files that it leaves, where whoever drives has taken it: large packages take long.
        digest: Option<ContentDigest>,
    },
    /// What came of [`Action::Save`].
    Saved {
        /// The saving.
        save: SaveId,
        /// What came of it.
        written: Written,
    },
    /// Somebody wants no render of what the revision holds now.
    Cancel {
        /// Whose.
        key: RevisionKey,
        /// Why, in words.
        why: String,
    },
    /// A listing of all unfinished revisions begins: its pages, then [`Event::ListEnd`].
    ListBegin {
        /// False where all that it shows is to be scheduled at once: after a start, after lost notifications. A sweep
        /// acts only on what two of them saw.
        sweep: bool,
    },
    /// A page of the listing.
    Page(Vec<Revision>),
    /// The listing is complete.
    ListEnd,
    /// The listing failed; nothing is concluded from it.
    ListFailed,
    /// The functions or settings that a render depends on are others now; their digest.
    Configuration(u64),
    /// The schedulers on this store, as this one sees them; it has its own items first. None: it is alone, or not sure.
    Peers(Option<Peers>),
    /// So many workers there are from now on.
    Workers(usize),
    /// Everything that runs is to stop and to wait again, and nothing is to start.
    Stop,
    /// The time asked for by [`Action::WakeAt`] has come. Harmless at any other time.
    Tick,
}

/// The schedulers that share a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peers {
    /// This one.
    pub me: InstanceId,
    /// All, this one among them.
    pub all: Vec<Instance>,
}

impl Peers {
    /// How long this one leaves a revision to those that come first for it; `None`: it is the first.
    pub(super) fn head_start(&self, key: &RevisionKey, each: Duration) -> Option<Duration> {
        let rank = u32::try_from(share(key, &self.me, &self.all)).unwrap_or(u32::MAX);
        // Spread, and in an order that is another one for each scheduler, so that those who come to help seldom meet.
        (rank > 0).then(|| each.saturating_mul(rank) + each.mul_f64(8.0 * jitter(key, &self.me)))
    }
}

/// What a worker that wants to render finds in the store.
#[derive(Debug, Clone)]
pub enum Acquired {
    /// The content, whole, and the right to render it. The revision is as it was when the content was read.
    Content(Box<Revision>),
    /// Another scheduler has the right to it, at least for so long.
    Held(Duration),
    /// Its render has ended already, or it is no draft.
    Finished(Box<Revision>),
    /// It was deleted.
    Gone,
    /// What was read is empty or a part: not there yet.
    NotYet(String),
    /// It can't be had.
    Failed(Failure),
}

/// A failure that is not the pipeline's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What is to follow.
    pub class: ErrorClass,
    /// How long whoever failed asks to be left alone.
    pub retry_after: Option<Duration>,
    /// For people.
    pub message: String,
}

impl Failure {
    /// A failure of this class.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, retry_after: None, message: message.into() }
    }
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// How.
    pub outcome: Outcome,
    /// What it said, whole. Of one that was stopped or broke: what it said until then, if that is worth keeping. It is
    /// kept unless the log of newer content is there.
    pub log: Bytes,
    /// Fuel that it used.
    pub fuel: u64,
}

/// What a render came to.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The pipeline ran.
    Rendered {
        /// How it ended.
        ending: Ending,
        /// All files of the package; `None` when they stay as they are.
        files: Option<Files>,
    },
    /// It stopped because it was told to.
    Cancelled,
    /// It did not come to an end that says anything about the package.
    Broken(Failure),
}

impl Outcome {
    /// The bytes that wait with it for the store.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Rendered { files: Some(files), .. } => files.iter().map(|(p, c)| (p.len() + c.len()) as u64).sum(),
            _ => 0,
        }
    }
}

/// What to do.
#[derive(Debug, Clone)]
pub enum Action {
    /// Claim the revision and read its content; answer with [`Event::Acquired`].
    Acquire {
        /// The run.
        run: RunId,
        /// The revision.
        key: RevisionKey,
    },
    /// Render what was acquired; answer with [`Event::Ended`].
    Render {
        /// The run.
        run: RunId,
        /// How long the revision waited for it.
        waited: Waited,
    },
    /// Stop this run at once. It is answered all the same.
    Stop(RunId),
    /// The run is over: give back its claim and whatever else is held for it.
    Release(RunId),
    /// Write this, and answer with [`Event::Saved`].
    Save {
        /// The saving.
        save: SaveId,
        /// Whose.
        key: RevisionKey,
        /// What.
        call: Call,
    },
    /// Write this; nobody waits for it.
    Write(RevisionKey, Call),
    /// Keep the log of a render that leaves no files: superseded, cancelled or broken.
    KeepLog {
        /// Whose.
        key: RevisionKey,
        /// The content that was rendered.
        content: ContentVersion,
        /// The text.
        log: Bytes,
    },
    /// Look how the revision stands; answer with [`Event::Seen`] or [`Event::Gone`].
    Look(RevisionKey),
    /// List all unfinished revisions, from [`Event::ListBegin`] with `sweep: false` to [`Event::ListEnd`].
    List,
    /// List the drafts that ended for [`Reason::InvalidPackage`] and show them with [`Event::Seen`].
    ListInvalid,
    /// A turning point, to be told.
    Emit(RevisionKey, TurningPoint),
    /// The revision has nothing scheduled, running or being saved any more.
    Settled(RevisionKey),
    /// Send a [`Event::Tick`] at this time; replaces what was asked for before.
    WakeAt(Time),
}

/// How long a revision waited for its render.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waited {
    /// Since it was scheduled: quiet periods, waits after failures, claims and reads included.
    pub scheduled: Duration,
    /// For its turn: what more workers would have shortened.
    pub turn: Duration,
}

/// A failure's end when there is nothing left to try.
pub(super) fn given_up(failure: &Failure, configuration: u64) -> Ending {
    let reason = match failure.class {
        ErrorClass::Permanent => Reason::InvalidPackage,
        _ => Reason::InfrastructureFailed,
    };
    Ending { configuration: Some(configuration), ..Ending::failure(reason, failure.message.clone()) }
}

//! Where package revisions live, and with them all that the scheduler must not forget.
//!
//! [`PackageStore`] is what the scheduler and its clients need of a store, [`Claims`] what several schedulers need to
//! share one. The rules of a write are in [`rules`], pure and the same for every store, so that a store adds
//! durability and order alone:
//!
//! - Every write moves the store's version by one; a revision's object version and content version are the store's
//!   version at its last write of anything and of files. So they never repeat, not even for a name used again.
//! - A client's write is a compare-and-set. It names what it saw; the files that it brings and `RenderFinished=False`
//!   are stored in one transaction before it is answered.
//! - The scheduler's writes compare the content version alone: its own writes of conditions never get in the way of its
//!   own results.
//! - A lifecycle beyond `Draft` is refused in the same transaction unless the render of exactly this content succeeded.

mod claims;
mod clock;
pub mod embedded;
mod error;
mod events;
mod limits;
pub mod memory;
mod meter;
pub mod rules;
mod types;

use std::future::Future;

pub(crate) use claims::jitter;
pub use claims::{Claim, ClaimOutcome, ClaimTable, Claims, Instance, InstanceId, Presence, Registration, share};
pub use clock::{Clock, SystemClock, VirtualClock};
pub use embedded::EmbeddedStore;
pub use error::StoreError;
pub use events::{Change, EventLog, LogWatch, Watch, WatchEvent};
pub use limits::StoreLimits;
pub use memory::MemoryStore;
pub use meter::{StoreMeter, StoreOperation};
pub use types::{
    ClientUpdate, Expected, HistoryEntry, NewRevision, Page, PageToken, RenderLog, RenderResult, Select, Snapshot,
    Writer,
};

use crate::model::{ContentVersion, Files, ObjectVersion, RenderState, Revision, RevisionKey};

/// What the scheduler and its clients need of a store. A handle: clones are cheap and speak to the same store.
///
/// Every method may be cancelled by dropping its future. A write that was sent may take place all the same; its
/// effect is seen by reading again.
pub trait PackageStore: Clone + Send + Sync + 'static {
    /// What [`PackageStore::watch`] gives.
    type Watch: Watch;

    /// A page of revisions without their files, the oldest change of content first, at most `limit` (at least one,
    /// at most [`StoreLimits::page`]).
    ///
    /// A revision that changes while somebody pages moves to the end: it may be seen twice and is never missed.
    fn page(
        &self,
        select: Select,
        after: Option<PageToken>,
        limit: usize,
    ) -> impl Future<Output = Result<Page, StoreError>> + Send;

    /// A revision with its files, both of one instant. The reader calls [`Snapshot::checked`] before it renders: a
    /// cache between it and the truth may have given a part.
    fn get(&self, key: &RevisionKey) -> impl Future<Output = Result<Snapshot, StoreError>> + Send;

    /// A revision without its files.
    fn revision(&self, key: &RevisionKey) -> impl Future<Output = Result<Revision, StoreError>> + Send;

    /// The revision that has this name now.
    fn find(&self, namespace: &str, name: &str) -> impl Future<Output = Result<Revision, StoreError>> + Send;

    /// The last content versions, newest first: at most [`StoreLimits::history`].
    fn history(&self, key: &RevisionKey) -> impl Future<Output = Result<Vec<HistoryEntry>, StoreError>> + Send;

    /// The files of a content version that [`PackageStore::history`] names.
    fn content(
        &self,
        key: &RevisionKey,
        version: ContentVersion,
    ) -> impl Future<Output = Result<Files, StoreError>> + Send;

    /// The log of the last render, `None` before the first.
    fn log(&self, key: &RevisionKey) -> impl Future<Output = Result<Option<RenderLog>, StoreError>> + Send;

    /// A client makes a draft; the store gives it its uid. It waits for a render from the first instant.
    fn create(&self, new: NewRevision) -> impl Future<Output = Result<Revision, StoreError>> + Send;

    /// A client changes a revision that stands as `expected` says, or nothing at all.
    fn update(
        &self,
        key: &RevisionKey,
        expected: Expected,
        update: ClientUpdate,
    ) -> impl Future<Output = Result<Revision, StoreError>> + Send;

    /// A client, or its owner's end, takes a revision away with its history and log; `None`: whatever its version.
    fn delete(
        &self,
        key: &RevisionKey,
        expected: Option<Expected>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The scheduler saves a render's result, files and conditions and log at once, if the content still is the one
    /// that was rendered and nobody has finished it. A refusal is for ever: the write must not be tried again.
    fn save_result(
        &self,
        key: &RevisionKey,
        rendered: ContentVersion,
        result: RenderResult,
    ) -> impl Future<Output = Result<Revision, StoreError>> + Send;

    /// The scheduler says how the render of this content stands. Says the revision so already, nothing is written; has
    /// its render ended, only [`RenderState::Scheduled`] is taken, which asks for another one.
    fn set_state(
        &self,
        key: &RevisionKey,
        content: ContentVersion,
        state: RenderState,
    ) -> impl Future<Output = Result<Revision, StoreError>> + Send;

    /// The scheduler keeps the log of a render without a result: superseded, cancelled, broken. Moves no version. Nothing
    /// is written when the log of newer content is there.
    fn save_log(&self, key: &RevisionKey, log: RenderLog) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// All changes after this version of the store, each as the object is after it. A first version comes with each
    /// [`Page`]: page through all, then watch from the first page's.
    fn watch(&self, after: ObjectVersion) -> impl Future<Output = Result<Self::Watch, StoreError>> + Send;
}

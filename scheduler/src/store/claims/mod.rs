//! How several schedulers share one store.
//!
//! A scheduler registers and keeps its registration alive with heartbeats. Each heartbeat names the claims that it knows
//! to be its own and keeps them, so that a claim costs one call and a long render none. A claim that it does not know of,
//! because the answer or the release was lost, is not named and ends. A claim is optimistic: the scheduler picks from what
//! its cache shows and the store decides, with the revision as it is at that instant. [`share`] keeps schedulers from
//! picking the same.
//!
//! The claim only saves work. What is right is decided by the compare-and-set of the result: a worker whose lease ran
//! out while it rendered can do no harm.

mod presence;
mod share;
mod table;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use presence::Presence;
pub(crate) use share::jitter;
pub use share::share;
pub use table::ClaimTable;

use super::StoreError;
use crate::model::{Revision, RevisionKey};

/// What a scheduler is called. A process that starts anew takes another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct InstanceId(pub Arc<str>);

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a scheduler says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// What it is called.
    pub id: InstanceId,
    /// Its version.
    pub version: String,
    /// The digest of its function catalog: schedulers with different ones render differently.
    pub catalog: String,
    /// The memory that its renders may use together, in bytes.
    pub memory: u64,
}

/// A scheduler that is registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// What it says of itself.
    pub registration: Registration,
    /// Unique for ever: tells this registration from an older one of the same name.
    pub epoch: u64,
    /// When it ends unless a heartbeat comes, in milliseconds since 1970 by the store's clock.
    pub until_ms: u64,
}

/// The right to render a revision, as long as its holder's registration lives and its heartbeats name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The revision.
    pub key: RevisionKey,
    /// Who has it.
    pub instance: InstanceId,
    /// Unique for ever.
    pub fence: u64,
}

/// What became of an attempt to claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// It is the caller's, and this is the revision under the claim: what the cache said of it no longer counts. A claim
    /// that the caller has already gives way to a new one: releasing the old one then does nothing.
    Claimed(Claim, Box<Revision>),
    /// Another one has it.
    Held {
        /// Who.
        by: InstanceId,
        /// How long at least, in milliseconds since 1970 by the store's clock.
        until_ms: u64,
    },
    /// There is nothing to do: its render has ended, or it is no draft. No claim is left behind.
    Finished(Box<Revision>),
    /// It was deleted. No claim is left behind.
    Gone,
}

/// What several schedulers need of a store to share it.
pub trait Claims: Clone + Send + Sync + 'static {
    /// Registers a scheduler. An older registration of the same name ends, with its claims.
    fn register(&self, registration: Registration) -> impl Future<Output = Result<Instance, StoreError>> + Send;

    /// Keeps a registration and those of its claims that are in `held` alive for another lease time, and gives all that
    /// live, this one among them. Another claim of its own that is new stays, its answer may be on the way; one that was
    /// made or last named a lease time ago or longer ends. What is in `held` and is not the caller's is passed over.
    /// [`StoreError::NotRegistered`]: it ran out, its claims may be others' by now; register again.
    fn heartbeat(
        &self,
        instance: &Instance,
        held: &[Claim],
    ) -> impl Future<Output = Result<Vec<Instance>, StoreError>> + Send;

    /// Ends a registration and gives its claims back. Ended already: nothing happens.
    fn unregister(&self, instance: &Instance) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Claims a revision. Whoever has the answer a lease time later or more must not rely on it: no heartbeat has named
    /// the claim until then.
    fn claim(
        &self,
        instance: &Instance,
        key: &RevisionKey,
    ) -> impl Future<Output = Result<ClaimOutcome, StoreError>> + Send;

    /// Gives a claim back. Lost already: nothing happens. After an error it is enough to name it no longer.
    fn release(&self, claim: &Claim) -> impl Future<Output = Result<(), StoreError>> + Send;
}

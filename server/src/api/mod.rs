//! The objects and verbs of the Kubernetes API: `PackageRevision`, `PackageRevisionResources`, `Event`.
//!
//! - [`types`] are the objects, `convert` makes them of what the store holds, `document` is what the store keeps for us.
//! - `revisions` and `resources` say what a client may change: pure. `write`, `create`, `delete` and `publish` do it.
//! - `cache` is what `list` answers from; `watch` follows the store's own log of changes.
//! - `routes` knows the addresses.

mod body;
mod cache;
mod convert;
mod create;
mod delete;
mod discovery;
mod document;
mod events;
mod limits;
mod list;
mod locks;
mod managed;
pub(crate) mod names;
mod namespaces;
mod package;
mod protobuf;
mod publish;
mod render_status;
mod request;
mod resources;
mod rests;
mod review;
mod revisions;
mod routes;
mod selection;
mod show;
mod status;
mod table;
mod time;
pub mod types;
mod watch;
mod write;

use std::sync::Arc;

use axum::Router;
use portico_scheduler::events::Ring;
use portico_scheduler::store::StoreLimits;
use tokio_util::sync::CancellationToken;

pub use limits::ApiLimits;
pub use status::{Cause, Details, Status};

use self::cache::Cache;
use self::locks::PackageLocks;
use self::rests::Rests;
use crate::auth::Authorizer;
use crate::record::Renders;
use crate::{Scheduler, Store};

/// What the API is made of.
pub struct Parts {
    /// Schedules the renders, and has the store.
    pub scheduler: Scheduler,
    /// The events that the scheduler tells.
    pub events: Arc<Ring>,
    /// Who may do what.
    pub authorizer: Arc<dyn Authorizer>,
    /// What renders did and do.
    pub renders: Arc<Renders>,
    /// What the API takes.
    pub limits: ApiLimits,
    /// What the store takes: dry runs go by it.
    pub store_limits: StoreLimits,
}

/// The API: what its handlers share.
pub struct App {
    pub(crate) scheduler: Scheduler,
    events: Arc<Ring>,
    authorizer: Arc<dyn Authorizer>,
    renders: Arc<Renders>,
    limits: ApiLimits,
    store_limits: StoreLimits,
    cache: Arc<Cache>,
    rests: Rests,
    locks: PackageLocks,
    numbers: events::Numbers,
    closing: CancellationToken,
}

impl App {
    /// An API on these. To be called within a tokio runtime: a task keeps what the lists show.
    pub fn new(parts: Parts) -> Arc<Self> {
        let Parts { scheduler, events, authorizer, renders, limits, store_limits } = parts;
        let app = Arc::new(Self {
            cache: Cache::new(scheduler.store().clone(), limits.catch_up),
            rests: Rests::new(limits.list_rests, limits.list_rest_age),
            locks: PackageLocks::default(),
            numbers: events::Numbers::new(time::now_ms()),
            closing: CancellationToken::new(),
            scheduler,
            events,
            authorizer,
            renders,
            limits,
            store_limits,
        });
        tokio::spawn(publish::settle_all(Arc::downgrade(&app)));
        app
    }

    /// Ends all watches, so that their connections can end: the server stops.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// How many package revisions there are, and about how many bytes their metadata holds in memory.
    pub fn cached(&self) -> (usize, usize) {
        (self.cache.len(), self.cache.bytes())
    }

    async fn closing(&self) {
        self.closing.cancelled().await;
    }

    fn store(&self) -> &Store {
        self.scheduler.store()
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// `/api`, `/apis`, `/openapi` and `/version`.
pub fn router(app: Arc<App>) -> Router {
    routes::router(app)
}

//! The objects and verbs of the Kubernetes API: PackageRevision, PackageRevisionResources, Event.

mod limits;
mod status;
pub mod types;

use std::sync::Arc;

use axum::Router;
use portico_scheduler::events;

pub use limits::ApiLimits;
pub use status::{Cause, Details, Status};

use crate::Scheduler;
use crate::auth::Authorizer;

/// What the API is made of.
pub struct Parts {
    /// Schedules the renders, and has the store.
    pub scheduler: Scheduler,
    /// The events that the scheduler tells.
    pub events: Arc<events::Ring>,
    /// Who may do what.
    pub authorizer: Arc<dyn Authorizer>,
    /// What the API takes.
    pub limits: ApiLimits,
}

/// The API: what its handlers share.
pub struct App {
    pub(crate) scheduler: Scheduler,
    pub(crate) events: Arc<events::Ring>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) limits: ApiLimits,
}

impl App {
    /// An API on these. To be called within a tokio runtime: a task keeps what the lists show.
    pub fn new(parts: Parts) -> Arc<Self> {
        let Parts { scheduler, events, authorizer, limits } = parts;
        Arc::new(Self { scheduler, events, authorizer, limits })
    }
}

/// `/api`, `/apis`, `/openapi` and `/version`.
pub fn router(app: Arc<App>) -> Router {
    Router::new().with_state(app)
}

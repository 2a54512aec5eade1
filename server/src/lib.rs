//! Portico as a server: the Kubernetes API and gRPC in front of the scheduler and the runtime.
//!
//! One process, one embedded store. Nothing here knows how a package is rendered (`portico-runtime`) or when
//! (`portico-scheduler`): it decodes requests, asks who sends them, and answers from the store.

pub mod api;
pub mod auth;
pub mod config;
pub mod grpc;
mod linger;
pub mod ops;
pub mod patch;
pub mod record;
pub mod schema;
pub mod ui;

/// The store behind the server.
pub type Store = portico_scheduler::store::EmbeddedStore;

/// The scheduler on it.
pub type Scheduler = portico_scheduler::driver::RenderScheduler<Store>;

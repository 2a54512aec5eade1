//! Schedules the renders of package revisions, so that no caller ever waits for one.
//!
//! The words are those of the proposal "Async pipeline executions" (nephio-project/nephio#922). The truth is
//! in a [`store`], never in memory; the core is a pure state machine; a thin driver around it
//! owns the clock, the workers and the store.

pub mod core;
pub mod dispatch;
pub mod driver;
pub mod events;
pub mod model;
pub mod queue;
pub mod store;
pub mod time;

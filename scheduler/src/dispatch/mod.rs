//! The dispatcher of the scheduler's own writes: conditions, results, deletions.
//!
//! No render, no worker and no caller waits for a write, so writes of one revision can pile up behind a slow
//! store. Most of them are pointless by then: a revision that has been rendered needs no word that its render
//! has begun. The dispatcher holds at most one call in flight and one waiting for each object, and decides at
//! the last moment whether the waiting one is still worth sending.
//!
//! A client's write never comes here: it is a compare-and-set in the store, and is never merged, skipped or
//! overwritten.
//!
//! - [`Call`] has one variant for each kind of call, and `call.rs` is the one place that knows them all: what
//!   replaces what, what changes nothing, what goes first.
//! - [`Dispatcher`] is the pure core: [`on`](Dispatcher::on) takes an event and the time, and answers what to do.
//! - [`WriteDispatcher`] runs it on a [`PackageStore`](crate::store::PackageStore).

mod call;
mod core;
mod driver;
mod event;
mod limits;
#[cfg(test)]
mod tests;

pub use self::call::{Call, Kind, ResultWrite};
pub use self::core::Dispatcher;
pub use self::driver::WriteDispatcher;
pub use self::event::{Action, Counters, Event, Failure, Gauges, Outcome, Ticket, Waiter};
pub use self::limits::DispatchLimits;

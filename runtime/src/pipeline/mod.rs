//! The pipeline: packages in order, their functions in order, and the resources that flow through them.
//!
//! Nothing here knows what a function is made of: a [`runner::FunctionRunner`] finds and runs them.

mod checks;
mod hydrate;
mod list;
mod package;
mod paths;
mod runner;
mod select;
mod step;

pub(crate) use hydrate::{Hydrated, hydrate};
pub(crate) use list::{Item, Source};
pub(crate) use package::{ConfigSource, Package, PlannedFunction, Run, Stop, StopReason};
pub(crate) use paths::root_relative;
pub(crate) use runner::{FunctionName, FunctionOutput, FunctionRunner, Resolved, RunFailure, Unresolved};

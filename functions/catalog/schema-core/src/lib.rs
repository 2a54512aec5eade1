#![doc = include_str!("../README.md")]

mod bundle;
mod check;
mod config;
mod crd;
mod format;
mod location;
mod object;
mod problem;
mod read;
mod schema;
mod schemas;
#[cfg(test)]
mod tests;
mod value;

pub use bundle::{Bundle, BundleError, Definition};
pub use check::{ClosedOrder, MAX_DEPTH, MAX_STEPS};
pub use config::{ConfigError, Options, Settings};
pub use location::{Location, LocationError};
pub use object::{ObjectError, check_object};
pub use problem::{Bound, Problem, Violation};
pub use read::SchemaError;
pub use schema::Schema;
pub use schemas::{LookupError, Schemas};
pub use value::Type;

/// The values in a [`Problem`].
pub use serde_json::Value;

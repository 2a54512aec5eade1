//! Lossless YAML and the Kubernetes Resource Model values that a kpt render works on.
//!
//! Everything here is a pure value: bytes in, values or bytes out. Nothing reads a file, and all of it builds for the
//! host as well as for wasm32, because functions use the same types.

pub mod annotations;
mod associative;
mod build;
pub mod check;
pub mod kptfile;
pub mod paths;
pub mod reconcile;
mod resource;
mod resource_list;
pub mod results;
mod selector;
pub mod splice;
pub mod yaml;

pub use kptfile::{Kptfile, KptfileError};
pub use resource::{NotAMapping, Resource};
pub use resource_list::{ResourceList, ResourceListError, ResourceListFault};
pub use results::FunctionResult;
pub use selector::{Selector, selects};

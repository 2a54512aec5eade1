//! The `ResourceList` that goes into a function and comes out of it.

mod error;
mod read;
mod write;

pub use error::{ResourceListError, ResourceListFault};

use crate::{FunctionResult, Resource};

/// What a function reads and writes: resources, its configuration, and what it has to say.
///
/// Every item is a tree of its own; all share the text that they were read from.
#[derive(Clone, Debug, Default)]
pub struct ResourceList {
    /// The resources.
    pub items: Vec<Resource>,
    /// The function's configuration.
    pub function_config: Option<Resource>,
    /// The function's messages.
    pub results: Vec<FunctionResult>,
}

#[cfg(test)]
mod tests;

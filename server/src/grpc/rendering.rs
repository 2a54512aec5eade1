//! What renders.

use std::sync::Arc;

use portico_runtime::package::PackageLimits;
use portico_runtime::{RenderOptions, Renderer};

/// What renders for a namespace.
pub struct Effective {
    /// The renderer.
    pub renderer: Renderer,
    /// Its options.
    pub options: RenderOptions,
    /// What a package may be.
    pub limits: PackageLimits,
}

/// What renders, by namespace.
pub trait RenderSettings: Send + Sync {
    /// What holds for a namespace now.
    fn for_namespace(&self, ns: &str) -> Arc<Effective>;
}

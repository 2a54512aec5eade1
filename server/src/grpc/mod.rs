//! gRPC: the function runner of Porch, and whole packages.
//!
//! Porch calls `evaluator.FunctionEvaluator/EvaluateFunction` for every function of a pipeline that it runs itself.
//! `portico.v1.RenderService` takes whole packages, and is a second way to the revisions of the Kubernetes API. Both are
//! on one port, beside health and reflection.
//!
//! What a request passes on its way: `serve` (connections), `front` (deadline, bytes held, who asks), then the
//! service. Work of the processor runs on threads of its own, counted by `pool`.

mod evaluate;
mod front;
mod pool;
mod render;
mod serve;
mod settings;
mod status;
mod text;

pub use evaluate::{Fallback, FallbackError, FallbackRule};
pub use front::{Anonymous, Identify};
pub use pool::CallMeter;
pub use render::Revisions;
pub use serve::{Listener, Parts, ServeError, Services};
pub use settings::Settings;

/// The messages and services of the protocol files in `server/proto`.
#[expect(missing_docs, clippy::pedantic, clippy::all, clippy::allow_attributes_without_reason, reason = "generated")]
pub mod proto {
    /// What Porch calls its function runner by.
    pub mod evaluator {
        tonic::include_proto!("evaluator");
    }
    /// Our own.
    pub mod v1 {
        tonic::include_proto!("portico.v1");
    }
    /// All of them, encoded, for the reflection service.
    pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
}

//! The gRPC server through real connections.

mod evaluate;
mod go;
mod harness;
mod life;
mod metrics;
mod render;
mod revisions;
mod wishes;

//! The gRPC server through real connections.

mod evaluate;
mod go;
mod harness;
mod life;
mod render;
mod revisions;

//! The gRPC server through real connections.

mod evaluate;
mod harness;
mod life;

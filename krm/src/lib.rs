//! Lossless YAML and the Kubernetes Resource Model values that a kpt render works on.
mod associative;
pub mod reconcile;
pub mod splice;
pub mod yaml;

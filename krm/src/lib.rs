//! Lossless YAML and the Kubernetes Resource Model values that a kpt render works on.
pub mod yaml;

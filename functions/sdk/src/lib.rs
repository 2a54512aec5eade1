//! SDK for KRM functions in Rust.

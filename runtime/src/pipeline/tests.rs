//! Pipelines with closures as functions.

//! The catalog functions, compiled and embedded.

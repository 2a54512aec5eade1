//! Runs the functions of a kpt package as WASI programs.

pub mod package;

//! Traces, from a server in a process of its own to a collector: what arrives, and what happens where nobody takes it.
//!
//! Another build of the program than that of the other tests, so this is not one of the quick ones: see
//! `cargo xtask soak`.

mod absence;
mod arrival;
mod collector;
mod harness;
mod real;

//! Portico as a library for C.
//!
//! `include/portico.h` is the contract: what each function does, who owns what, which threads may do what. Here is what
//! stands behind it:
//!
//! - [`abi`]: the structs and numbers of the header, as C lays them out;
//! - [`ffi`]: the functions of the header. They turn pointers into values, call what is safe, and turn the answer back;
//!   with `signals` they are all that is `unsafe`;
//! - `engine`, `queue`, `render`, `report`: engines, their threads, renders, results, in safe Rust.

pub mod abi;
pub mod ffi;

mod engine;
mod error;
mod queue;
mod render;
mod report;
mod signals;

pub use engine::Engine;
pub use error::ErrorReport;
pub use render::Render;
pub use report::Report;

//! Compiling in a child process, which can be bounded and killed.
//!
//! What the parent sends: eight bytes of length (little endian), then the wasm. What it gets back is an [`answer`], which
//! says what compiled it. The child's limits stand in its arguments. The parent's end of the child's standard input stays
//! open until the answer is there, so that the child dies with its parent.

mod answer;
mod child;
mod limits;
mod parent;

pub use limits::{CompileLimit, CompileLimits};

pub(crate) use child::child;
pub(crate) use parent::{Piece, in_child};

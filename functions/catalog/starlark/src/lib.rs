//! x
mod syntax;

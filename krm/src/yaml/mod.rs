//! Lossless YAML: an arena tree with comments, styles and spans.
mod tree;
pub use tree::*;

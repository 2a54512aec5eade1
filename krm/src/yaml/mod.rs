//! Lossless YAML: an arena tree with comments, styles and spans.
//!
//! Reading: [`SourceFile`] splits a file into documents, [`Tree::parse`] reads one. The scanner (`scan`, `scalars`,
//! `block_scalars`, `names`, `comments`) makes tokens of bytes, the parser (`parse`) puts them into the arena; both
//! follow libyaml's grammar and go-yaml's attachment of comments, since kpt does. What a value is: `resolve`, `equal`.
mod block_scalars;
mod chars;
mod comments;
mod documents;
mod encoding;
mod equal;
mod error;
mod keys;
mod names;
mod numbers;
mod parse;
mod resolve;
mod scalars;
mod scan;
mod seq_style;
mod token;
mod tree;

pub use documents::{Document, Piece, SourceFile};
pub use encoding::Encoding;
pub use equal::value_eq;
pub use error::ParseError;
pub use parse::ParseLimits;
pub use resolve::{ScalarType, plain_is_ambiguous, plain_type};
pub use seq_style::SeqStyle;
pub use tree::*;

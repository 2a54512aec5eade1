//! Lossless YAML: an arena tree with comments, styles and spans.
//!
//! Reading: [`SourceFile`] splits a file into documents, [`Tree::parse`] reads one. The scanner (`scan`, `scalars`,
//! `block_scalars`, `names`, `comments`) makes tokens of bytes, the parser (`parse`) puts them into the arena; both
//! follow libyaml's grammar and go-yaml's attachment of comments, since kpt does. What a value is: `resolve`, `equal`.
//!
//! Typed reading: [`from_tree`], through serde.
//!
//! Writing: [`emit`] and [`emit_document`] write kpt style, [`emit_document_as_kpt`] with its lossy corners,
//! [`emit_json`] what kpt writes into `.json` files.
mod alias;
mod block_scalars;
mod chars;
mod comments;
mod documents;
mod emit;
mod emit_comments;
mod emit_flow;
mod emit_scalar;
mod encoding;
mod equal;
mod error;
mod json;
mod keys;
mod names;
mod numbers;
mod parse;
mod resolve;
mod scalars;
mod scan;
mod seq_style;
mod split;
mod token;
mod tree;
mod typed;

pub use documents::{Document, Piece, SourceFile};
pub use emit::{EmitOptions, emit, emit_document, emit_document_as_kpt};
pub(crate) use emit::{Place, emit_children, emit_inline, emit_value};
pub use encoding::Encoding;
pub use equal::value_eq;
pub use error::ParseError;
pub use json::emit_json;
pub(crate) use json::emit_json_inline;
pub use numbers::{parse_float, parse_int};
pub use parse::ParseLimits;
pub use resolve::{ScalarType, plain_is_ambiguous, plain_type};
pub use seq_style::SeqStyle;
pub use tree::*;
pub use typed::{DecodeError, Lined, from_tree};

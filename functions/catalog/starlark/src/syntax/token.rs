//! The tokens of Starlark and their names in messages.

use std::fmt;

/// Kind of a token; payloads don't matter to a recogniser, except where a message shows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A lexical error: its message. Always the last token.
    Bad(String),
    End,
    Newline,
    Indent,
    Outdent,
    Name,
    Int,
    Float,
    Str,
    Bytes,
    /// A word that Python reserves and Starlark has no use for.
    Reserved(&'static str),
    Keyword(&'static str),
    /// Operators and brackets.
    Sign(&'static str),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Bad(message) => f.write_str(message),
            Token::End => f.write_str("end of file"),
            Token::Newline => f.write_str("newline"),
            Token::Indent => f.write_str("indent"),
            Token::Outdent => f.write_str("outdent"),
            Token::Name => f.write_str("identifier"),
            Token::Int => f.write_str("int literal"),
            Token::Float => f.write_str("float literal"),
            Token::Str => f.write_str("string literal"),
            Token::Bytes => f.write_str("bytes literal"),
            Token::Reserved(_) => f.write_str("illegal token"),
            Token::Keyword(word) => f.write_str(word),
            // the upstream list of quoted operators ends before the augmented assignments' last ones; all are quoted
            Token::Sign(sign) => write!(f, "'{sign}'"),
        }
    }
}

const KEYWORDS: &[&str] = &[
    "and", "break", "continue", "def", "elif", "else", "for", "if", "in", "lambda", "load", "not", "or", "pass",
    "return", "while",
];

const RESERVED: &[&str] = &[
    "as", "assert", "async", "await", "class", "del", "except", "finally", "from", "global", "import", "is",
    "nonlocal", "raise", "try", "with", "yield",
];

/// Longest first, so that the first match is the right one.
const SIGNS: &[&str] = &[
    "//=", "<<=", ">>=", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", "+", "-", "*", "/", "%", "&", "|", "^", "~", ".", ",", "=", ";", ":", "(", ")", "[", "]", "{", "}", "<", ">",
];

/// The token of a word.
pub(super) fn word(text: &str) -> Token {
    if let Some(k) = KEYWORDS.iter().find(|k| **k == text) {
        Token::Keyword(k)
    } else if let Some(r) = RESERVED.iter().find(|r| **r == text) {
        Token::Reserved(r)
    } else {
        Token::Name
    }
}

/// The operator that `rest` starts with.
pub(super) fn sign(rest: &str) -> Option<&'static str> {
    SIGNS.iter().find(|s| rest.starts_with(**s)).copied()
}

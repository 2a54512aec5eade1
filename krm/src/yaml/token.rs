//! Tokens and the short queue between scanner and parser.
use super::Style;
use super::error::Mark;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum TokenKind {
    StreamStart,
    StreamEnd,
    /// `%YAML`; `a` and `b` are the two numbers.
    Version,
    /// `%TAG`; `a` is an index into the scanner's names.
    TagDirective,
    DocumentStart,
    DocumentEnd,
    SequenceStart,
    MappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    /// `-`
    Entry,
    /// `,`
    FlowEntry,
    /// `?`, or the place of a key without it.
    Key,
    /// `:`
    Value,
    Alias,
    Anchor,
    /// `a` is an index into the scanner's names.
    Tag,
    Scalar,
}

/// A token. Text lies in the source, or in the scanner's buffer (`decoded`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) style: Style,
    pub(super) decoded: bool,
    pub(super) start: u32,
    pub(super) end: u32,
    /// Line of the start, from 0 in the document.
    pub(super) line: u32,
    /// Text: offset and length.
    pub(super) a: u32,
    pub(super) b: u32,
}

impl Token {
    pub(super) fn new(kind: TokenKind, start: Mark, end: u32) -> Token {
        Token { kind, style: Style::Plain, decoded: false, start: start.pos, end, line: start.line, a: 0, b: 0 }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { pos: self.start, line: self.line }
    }
}

/// The tokens that were scanned and not yet consumed, and a few before them.
#[derive(Debug)]
pub(super) struct Queue {
    tokens: Vec<Token>,
    head: usize,
    /// Tokens consumed so far: the number of the head token.
    pub(super) consumed: u32,
}

/// How many consumed tokens stay before the queue is moved to the front.
const COMPACT: usize = 64;

impl Queue {
    pub(super) fn new() -> Queue {
        Queue { tokens: Vec::with_capacity(COMPACT + 8), head: 0, consumed: 0 }
    }

    pub(super) fn push(&mut self, token: Token) {
        self.tokens.push(token);
    }

    /// Puts a token before the one with this number.
    pub(super) fn insert(&mut self, number: u32, token: Token) {
        self.tokens.insert(self.head + (number - self.consumed) as usize, token);
    }

    pub(super) fn waiting(&self) -> usize {
        self.tokens.len() - self.head
    }

    /// The number that the next pushed token gets.
    pub(super) fn next_number(&self) -> u32 {
        self.consumed + self.waiting() as u32
    }

    pub(super) fn head(&self) -> Token {
        self.tokens[self.head]
    }

    pub(super) fn consume(&mut self) {
        self.head += 1;
        self.consumed += 1;
        if self.head >= COMPACT {
            self.tokens.drain(..self.head);
            self.head = 0;
        }
    }

    /// The token `back` places before the end, 0 for the last one.
    pub(super) fn last(&self, back: usize) -> Option<&Token> {
        self.tokens.len().checked_sub(back + 1).map(|at| &self.tokens[at])
    }
}

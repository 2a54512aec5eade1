//! What a reader says about a text that is no YAML.
use super::Position;
use super::tree::position_at;

/// Why a text could not be read.
///
/// Displayed as `line L, column C: MESSAGE`, counted from the top of the file. Where kpt refuses the same text the
/// message is libyaml's, and [`ParseError::go_text`] is the line that kpt prints.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {message}", position.line, position.column)]
#[non_exhaustive]
pub struct ParseError {
    /// What is wrong, in lower case, without a place.
    pub message: String,
    /// Where.
    pub position: Position,
    /// A second place that explains the first, with what is there: the first of two equal keys, the start of a quote
    /// that never ends.
    pub related: Option<(String, Position)>,
    /// A tab stands there.
    on_tab: bool,
    /// The line that go-yaml prints: counted from the start of the document, `None` where it prints none.
    go_line: Option<u32>,
}

impl ParseError {
    /// An error of our own at this place, which go-yaml would not report.
    pub fn new(message: impl Into<String>, position: Position) -> ParseError {
        ParseError { message: message.into(), position, related: None, on_tab: false, go_line: Some(position.line) }
    }

    /// Adds the second place.
    #[must_use]
    pub fn with_related(mut self, what: impl Into<String>, position: Position) -> ParseError {
        self.related = Some((what.into(), position));
        self
    }

    /// What to do, where the message alone leaves people helpless.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self.message.as_str() {
            "found character that cannot start any token" if self.on_tab => "indent with spaces, not with tabs",
            "found character that cannot start any token" => "put quotes around the value",
            "mapping values are not allowed in this context" => {
                "put quotes around a value that holds `: `, or check the indentation"
            }
            "did not find expected key" => "check the indentation of this line and of those above",
            "found unexpected end of stream" => "close the quote",
            "found unknown escape character" => "write `\\\\` for a backslash, or use single quotes",
            _ => return None,
        })
    }

    /// The text of go-yaml v3: `yaml: line N: MESSAGE`. Its line is often one less than ours: it counts from the start
    /// of the document and names the line where the surrounding construct began (spec render 1.1).
    pub fn go_text(&self) -> String {
        match self.go_line {
            Some(line) => format!("yaml: line {line}: {}", self.message),
            None => format!("yaml: {}", self.message),
        }
    }
}

/// A place while reading: byte offset in the source, line from 0 in the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) pos: u32,
    pub(super) line: u32,
}

/// An error before its place is worked out; boxed, since it is rare and every scanning step returns it.
#[derive(Debug)]
pub(super) struct Fault(Box<Details>);

#[derive(Debug)]
struct Details {
    message: String,
    /// The construct that was being read: its start and what it is.
    context: Option<(Mark, &'static str)>,
    problem: Mark,
    /// Found by the scanner (tokens), not by the parser (grammar): go-yaml counts their lines differently.
    lexical: bool,
    /// go-yaml prints no line.
    lineless: bool,
    /// Our own second place.
    related: Option<(String, u32)>,
}

pub(super) type Scan<T> = Result<T, Fault>;

impl Fault {
    fn new(context: Option<(Mark, &'static str)>, problem: Mark, message: String) -> Fault {
        Fault(Box::new(Details { message, context, problem, lexical: false, lineless: false, related: None }))
    }

    /// Found in the tokens.
    pub(super) fn lexical(context: Option<(Mark, &'static str)>, problem: Mark, message: impl Into<String>) -> Fault {
        let mut fault = Fault::new(context, problem, message.into());
        fault.0.lexical = true;
        fault
    }

    /// Found in the order of the tokens.
    pub(super) fn grammar(context: Option<(Mark, &'static str)>, problem: Mark, message: impl Into<String>) -> Fault {
        Fault::new(context, problem, message.into())
    }

    /// With go-yaml's text but without its line.
    pub(super) fn lineless(problem: Mark, message: impl Into<String>) -> Fault {
        let mut fault = Fault::new(None, problem, message.into());
        fault.0.lineless = true;
        fault
    }

    /// Adds a second place: what is there, and its offset.
    pub(super) fn with_related(mut self, what: String, pos: u32) -> Fault {
        self.0.related = Some((what, pos));
        self
    }

    /// The error for a user; `line_base` is added to lines, see [`super::Tree`].
    pub(super) fn into_error(self, src: &str, line_base: u32) -> ParseError {
        let fault = *self.0;
        let extra = u32::from(fault.lexical);
        let context_line = fault.context.map_or(0, |(mark, _)| mark.line);
        let line = if context_line != 0 { context_line } else { fault.problem.line };
        let go_line = (line != 0 && !fault.lineless).then_some(line + extra);
        let place = |pos: u32| position_at(src, floor_char_boundary(src, pos as usize), line_base);
        let position = place(fault.problem.pos);
        let related = match (fault.related, fault.context) {
            (Some((what, pos)), _) => Some((what, place(pos))),
            (None, Some((mark, what))) if mark.pos != fault.problem.pos => Some((what.to_string(), place(mark.pos))),
            _ => None,
        };
        let on_tab = src.as_bytes().get(fault.problem.pos as usize) == Some(&b'\t');
        ParseError { message: fault.message, position, related, on_tab, go_line }
    }
}

fn floor_char_boundary(src: &str, pos: usize) -> usize {
    let mut at = pos.min(src.len());
    while !src.is_char_boundary(at) {
        at -= 1;
    }
    at
}

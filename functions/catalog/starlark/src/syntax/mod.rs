//! A recogniser of the Starlark grammar.
//!
//! The evaluator has a parser of its own; this one is there for what that one can't do for a user of kpt:
//! - say what is wrong in the words, and at the place, of the upstream function, which is written in Go and whose
//!   texts stand in `results.yaml` and in the Kptfile's status (`set-image:4:42: got newline, want primary expression`);
//! - bound the nesting of a script before anything recursive walks over it ([`NESTING`]);
//! - refuse what the evaluator has no means for (`while`) with words that say what to do;
//! - turn tabs in indentation into spaces, which the evaluator asks for and Go's dialect does not.

mod grammar;
mod scan;
#[cfg(test)]
mod tests;
mod token;

use std::borrow::Cow;
use std::fmt;

/// How deep brackets, blocks, `elif` chains, operator chains and call chains of a script may be nested, in sum.
/// It keeps the evaluator's recursive compiler within the stack of a WASI guest.
pub(crate) const NESTING: u32 = 200;

/// A place in the script: both count from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// What is wrong with a script, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: At,
    pub(crate) message: String,
    /// No other parser may be asked: the script is beyond a limit, or uses what is refused on purpose.
    pub(crate) last_word: bool,
}

/// What the recogniser found out about a script.
#[derive(Debug)]
pub(crate) struct Checked<'s> {
    /// The script with tabs in indentation made spaces.
    pub(crate) source: Cow<'s, str>,
    /// The first thing that Go's dialect would refuse.
    pub(crate) fault: Option<Fault>,
}

/// Reads a whole script.
pub(crate) fn check(source: &str) -> Checked<'_> {
    let scanned = scan::scan(source);
    let fault = grammar::recognise(&scanned.tokens).err().or(scanned.while_loop);
    let source =
        if scanned.tabs.is_empty() { Cow::Borrowed(source) } else { Cow::Owned(expand_tabs(source, &scanned.tabs)) };
    Checked { source, fault }
}

/// Replaces the indentation of some lines, given by byte offset, by as many spaces as it counts for.
fn expand_tabs(source: &str, lines: &[scan::Indent]) -> String {
    let mut out = String::with_capacity(source.len() + lines.len() * 8);
    let mut from = 0;
    for line in lines {
        out.push_str(&source[from..line.start]);
        out.extend(std::iter::repeat_n(' ', line.width as usize));
        from = line.end;
    }
    out.push_str(&source[from..]);
    out
}

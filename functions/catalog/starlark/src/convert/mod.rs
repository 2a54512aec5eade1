//! Trees to Starlark values and back.
//!
//! A script sees plain values: mappings as dicts in document order, scalars by their type. What comes back is laid
//! over the original tree: where a value is still the same, the node stays, with its comments, quotes and number
//! spelling; only what differs is written anew.

mod back;
mod elements;
mod expand;
mod to_value;

pub(crate) use back::{build, same, update};
pub(crate) use expand::expanded;
pub(crate) use to_value::{Keys, to_value};

/// How deep values may be nested on their way out of a script; a value that holds itself is endless. Below the depth
/// that the host reads, with room for the list that the items stand in.
pub(crate) const DEPTH: u32 = 400;

/// A value that no document can hold, and where it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unfit {
    what: String,
    /// Innermost first.
    path: Vec<String>,
}

impl Unfit {
    fn new(what: impl Into<String>) -> Unfit {
        Unfit { what: what.into(), path: Vec::new() }
    }

    fn under(mut self, step: String) -> Unfit {
        self.path.push(step);
        self
    }

    /// `spec.containers[0]: what`.
    pub(crate) fn message(&self) -> String {
        let mut at = String::new();
        // a value that holds itself has a path of hundreds of steps: its beginning says it all
        for step in self.path.iter().rev().take(12) {
            if !at.is_empty() && !step.starts_with('[') {
                at.push('.');
            }
            at.push_str(step);
        }
        match (at.is_empty(), self.path.len() > 12) {
            (true, _) => self.what.clone(),
            (false, false) => format!("`{at}`: {}", self.what),
            (false, true) => format!("`{at}…`: {}", self.what),
        }
    }
}

//! Replacements in a text.

use std::ops::Range;

/// Replacements that do not overlap.
#[derive(Debug, Default)]
pub(super) struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    pub(super) fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.0.push((range, text.into()));
    }

    pub(super) fn absorb(&mut self, other: Edits) {
        self.0.extend(other.0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The part of the text with its replacements; `None` when two of them overlap or one lies outside.
    pub(super) fn apply(mut self, text: &str, part: Range<usize>) -> Option<String> {
        // Stable: what was inserted first at one place stays first; insertions go before what replaces text there.
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = String::with_capacity(part.len() + 64);
        let mut at = part.start;
        for (range, new) in &self.0 {
            if range.start < at || range.end > part.end || range.end < range.start {
                return None;
            }
            out.push_str(text.get(at..range.start)?);
            out.push_str(new);
            at = range.end;
        }
        out.push_str(text.get(at..part.end)?);
        Some(out)
    }
}

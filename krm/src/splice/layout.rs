//! Where the parts of a node stand in the text: columns, dashes, colons, the lines of an entry with its comments.

use std::ops::Range;

use crate::yaml::{Kind, NodeId, Style, Tree};

/// The text does not have the shape that an edit in place needs; the caller re-emits something larger.
#[derive(Debug)]
pub(super) struct GiveUp;

pub(super) type Attempt<T> = Result<T, GiveUp>;

/// A document with its text.
#[derive(Clone, Copy)]
pub(super) struct Layout<'t> {
    pub(super) tree: &'t Tree,
    pub(super) text: &'t str,
    /// The document's part of the text.
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Layout<'_> {
    pub(super) fn span(&self, id: NodeId) -> Attempt<Range<usize>> {
        let span = self.tree.span(id).ok_or(GiveUp)?;
        let fits = self.start <= span.start && span.start <= span.end && span.end <= self.end;
        (fits && self.text.is_char_boundary(span.start) && self.text.is_char_boundary(span.end))
            .then_some(span)
            .ok_or(GiveUp)
    }

    pub(super) fn is_block(&self, id: NodeId) -> bool {
        matches!(self.tree.kind(id), Kind::Mapping | Kind::Sequence) && self.tree.style(id) != Style::Flow
    }

    pub(super) fn is_block_scalar(&self, id: NodeId) -> bool {
        self.tree.is_scalar(id) && matches!(self.tree.style(id), Style::Literal | Style::Folded)
    }

    /// Start of the line that holds this offset.
    pub(super) fn line_start(&self, at: usize) -> usize {
        self.text[self.start..at].rfind('\n').map_or(self.start, |n| self.start + n + 1)
    }

    /// The line break at or behind this offset, or the end of the document.
    pub(super) fn line_end(&self, at: usize) -> usize {
        self.text[at..self.end].find('\n').map_or(self.end, |n| at + n)
    }

    /// Start of the line behind the one that holds this offset.
    pub(super) fn next_line(&self, at: usize) -> usize {
        (self.line_end(at) + 1).min(self.end)
    }

    pub(super) fn column(&self, at: usize) -> usize {
        at - self.line_start(at)
    }

    /// The colon behind a key that stands on one line with it.
    pub(super) fn colon(&self, key: NodeId) -> Attempt<usize> {
        let span = self.span(key)?;
        let before = self.text[self.line_start(span.start)..span.start].trim_end();
        if before.ends_with('?') || span.is_empty() {
            return Err(GiveUp);
        }
        let rest = &self.text[span.end..self.end];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        rest[blanks..].starts_with(':').then_some(span.end + blanks).ok_or(GiveUp)
    }

    /// Column of the keys of a block mapping.
    pub(super) fn key_column(&self, map: NodeId) -> Attempt<usize> {
        let (key, _) = self.tree.entries(map).next().ok_or(GiveUp)?;
        Ok(self.column(self.span(key)?.start))
    }

    /// Offsets of the dashes of a block sequence.
    pub(super) fn dashes(&self, seq: NodeId) -> Attempt<Vec<usize>> {
        let mut dashes = Vec::new();
        let mut at = self.span(seq)?.start;
        // Anchor and tag stand before the first dash.
        while self.text[at..self.end].starts_with(['&', '!']) {
            let rest = &self.text[at..self.end];
            at += rest.find([' ', '\t', '\n']).ok_or(GiveUp)?;
            at = self.skip_blank(at);
        }
        let mut column = None;
        for element in self.tree.elements(seq) {
            if column.is_some() {
                at = self.skip_blank(at);
            }
            let is_dash = self.text[at..self.end].starts_with('-')
                && self.text[at + 1..self.end].chars().next().is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
            if !is_dash || *column.get_or_insert(self.column(at)) != self.column(at) {
                return Err(GiveUp);
            }
            dashes.push(at);
            at = self.content_end(element)?.max(at + 1);
        }
        Ok(dashes)
    }

    /// Behind white space, line breaks and comments.
    fn skip_blank(&self, mut at: usize) -> usize {
        loop {
            let rest = &self.text[at..self.end];
            at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            if !self.text[at..self.end].starts_with('#') {
                return at;
            }
            at = self.line_end(at);
        }
    }

    /// Where the text of a node ends: behind its last token. A block scalar ends at the start of a line.
    pub(super) fn content_end(&self, id: NodeId) -> Attempt<usize> {
        Ok(self.span(id)?.end)
    }

    /// Start of the first line behind the node and the comments below it and below what is in it.
    pub(super) fn lines_end(&self, key: Option<NodeId>, value: NodeId) -> Attempt<usize> {
        let end = self.content_end(value)?.max(match key {
            Some(key) => self.colon(key)? + 1,
            None => 0,
        });
        let mut chain = vec![(key, value)];
        loop {
            let (_, last) = chain[chain.len() - 1];
            if !self.is_block(last) {
                break;
            }
            let next = match self.tree.kind(last) {
                Kind::Mapping => self.tree.entries(last).last().map(|(k, v)| (Some(k), v)),
                _ => self.tree.elements(last).last().map(|v| (None, v)),
            };
            let Some(next) = next else { break };
            chain.push(next);
        }
        let closes_line = end > self.start && self.text[..end].ends_with('\n');
        let mut at = if closes_line { end } else { self.next_line(end) };
        for (key, value) in chain.into_iter().rev() {
            for id in [Some(value), key].into_iter().flatten() {
                at = self.below(at, self.tree.foot_comment(id));
            }
        }
        Ok(at)
    }

    /// Behind the lines of a comment that starts at this line, blank lines before it allowed.
    fn below(&self, start: usize, comment: Option<&str>) -> usize {
        let Some(comment) = comment else { return start };
        let mut at = start;
        while at < self.end && self.text[at..self.line_end(at)].trim().is_empty() {
            at = self.next_line(at);
        }
        for line in comment.lines() {
            if at >= self.end || self.text[at..self.line_end(at)].trim() != line.trim() {
                return start;
            }
            at = self.next_line(at);
        }
        at
    }

    /// Start of the lines of the comment that stands above this line, blank lines between them allowed.
    pub(super) fn above(&self, line_start: usize, comment: Option<&str>) -> usize {
        let Some(comment) = comment else { return line_start };
        let mut at = line_start;
        while at > self.start && self.text[self.line_start(at - 1)..at].trim().is_empty() {
            at = self.line_start(at - 1);
        }
        for line in comment.trim_end().lines().rev() {
            if at <= self.start {
                return line_start;
            }
            let previous = self.line_start(at - 1);
            if self.text[previous..at].trim() != line.trim() {
                return line_start;
            }
            at = previous;
        }
        at
    }

    /// The comment behind this offset on its line, with the white space before it; an empty range at the end of the
    /// text of the line when there is none.
    pub(super) fn comment_behind(&self, at: usize) -> Range<usize> {
        let end = self.line_end(at);
        let end = if self.text[at..end].ends_with('\r') { end - 1 } else { end };
        let rest = &self.text[at..end];
        if rest.trim_start().starts_with('#') { at..end } else { at..at }
    }
}

//! The differences of two documents as replacements in the text of the first.

use std::collections::{HashMap, HashSet};

use super::layout::{Attempt, GiveUp, Layout};
use super::text::Edits;
use crate::associative::{Values, match_elements, match_entries};
use crate::yaml::{
    Comments, EmitOptions, Kind, NodeId, Place, ScalarType, Style, Tree, emit_children, emit_inline, emit_value,
    value_eq,
};

/// Compares a document with what it is to become and collects the replacements.
pub(super) struct Planner<'t> {
    pub(super) old: Layout<'t>,
    pub(super) new: &'t Tree,
    old_values: Values<'t>,
    new_values: Values<'t>,
    pub(super) options: EmitOptions,
    /// Flow text with double-quoted keys: what is new is written as JSON.
    pub(super) json: bool,
    /// Lines of comments that one document has more often than the other: positive counts were added.
    comment_changes: HashMap<&'t str, i64>,
    pub(super) edits: Edits,
}

/// An entry of a mapping or an element of a sequence, in one of the two documents.
#[derive(Clone, Copy)]
struct Item {
    key: Option<NodeId>,
    value: NodeId,
}

impl<'t> Planner<'t> {
    pub(super) fn new(old: Layout<'t>, new: &'t Tree, options: EmitOptions) -> Self {
        let json = is_json(old.tree);
        let mut comment_changes = HashMap::new();
        for (tree, sign) in [(old.tree, -1), (new, 1)] {
            for line in tree.all_comments().into_iter().flat_map(Comments::lines) {
                *comment_changes.entry(line).or_insert(0) += sign;
            }
        }
        comment_changes.retain(|_, n| *n != 0);
        let (old_values, new_values) = (Values::new(old.tree), Values::new(new));
        Planner { old, new, old_values, new_values, options, json, comment_changes, edits: Edits::default() }
    }

    /// Plans the whole document.
    pub(super) fn document(&mut self) -> Attempt<()> {
        let (old, new) = (self.old.tree.root(), self.new.root());
        if self.comment_changes.is_empty() && value_eq(self.old.tree, old, self.new, new) {
            return Ok(());
        }
        self.inside(old, new)
    }

    /// Equal in value, and no comment differs anywhere.
    fn is_same(&self, old: NodeId, new: NodeId) -> bool {
        self.comment_changes.is_empty() && self.is_equal(old, new)
    }

    pub(super) fn is_equal(&self, old: NodeId, new: NodeId) -> bool {
        self.old_values.hash(old) == self.new_values.hash(new) && value_eq(self.old.tree, old, self.new, new)
    }

    pub(super) fn match_elements(&self, old: NodeId, new: NodeId) -> Vec<Option<usize>> {
        match_elements(&self.old_values, old, &self.new_values, new, true)
    }

    /// The contents of two nodes, of which the first stays in place.
    pub(super) fn inside(&mut self, old: NodeId, new: NodeId) -> Attempt<()> {
        let (from, to) = (self.old.tree, self.new);
        if to.anchor(new).is_some_and(|a| from.anchor(old) != Some(a)) {
            return Err(GiveUp);
        }
        let said = |tree: &'t Tree, id| tree.tag(id).filter(|tag| !matches!(*tag, "!!map" | "!!seq"));
        if !from.is_scalar(old) && said(from, old) != said(to, new) {
            return Err(GiveUp);
        }
        if from.kind(old) != to.kind(new) || from.is_empty(old) != to.is_empty(new) {
            return Err(GiveUp);
        }
        match (from.kind(old), self.old.is_block(old)) {
            (Kind::Scalar | Kind::Alias, _) => {
                if self.is_equal(old, new) {
                    Ok(())
                } else {
                    Err(GiveUp)
                }
            }
            (Kind::Mapping, true) => self.block_mapping(old, new),
            (Kind::Sequence, true) => self.block_sequence(old, new),
            (Kind::Mapping, false) => self.flow_mapping(old, new),
            (Kind::Sequence, false) => self.flow_sequence(old, new),
        }
    }

    /// Plans with an empty list of replacements, which is returned; nothing is kept when the attempt fails.
    pub(super) fn attempt(&mut self, plan: impl FnOnce(&mut Self) -> Attempt<()>) -> Attempt<Edits> {
        let before = std::mem::take(&mut self.edits);
        let result = plan(self);
        let planned = std::mem::replace(&mut self.edits, before);
        result.map(|()| planned)
    }

    // ---- mappings ----

    fn block_mapping(&mut self, old: NodeId, new: NodeId) -> Attempt<()> {
        let (from, to) = (self.old.tree, self.new);
        let column = self.old.key_column(old)?;
        let pairs = match_entries(from, old, to, new);
        if pairs.is_empty() {
            return Err(GiveUp);
        }
        let kept: HashSet<NodeId> = pairs.iter().map(|p| p[0]).collect();
        let by_new: HashMap<NodeId, NodeId> = pairs.iter().map(|p| (p[2], p[0])).collect();
        // Where each entry starts and ends, with its comments.
        let mut lines = HashMap::new();
        for (n, (key, value)) in from.entries(old).enumerate() {
            let start = self.old.span(key)?.start;
            let line = self.old.line_start(start);
            let alone = self.old.text[line..start].trim().is_empty();
            if !alone && n > 0 {
                return Err(GiveUp);
            }
            let start = if alone { self.old.above(line, from.head_comment(key)) } else { start };
            lines.insert(key, (start, self.old.lines_end(Some(key), value)?, alone));
        }
        let mut entries = from.entries(old).peekable();
        while let Some((key, _)) = entries.next() {
            if kept.contains(&key) {
                continue;
            }
            let (start, end, alone) = lines[&key];
            if alone {
                self.remove_lines(start, end);
            } else {
                // The first entry stands behind a dash: the next one takes its place.
                let Some((next, _)) = entries.peek() else { return Err(GiveUp) };
                let next = self.old.span(*next)?.start;
                if self.old.text[end..next].contains('#') {
                    return Err(GiveUp);
                }
                self.edits.replace(start..next, "");
            }
        }
        let mut after: Option<NodeId> = None;
        let first_kept = from.entries(old).map(|(k, _)| k).find(|k| kept.contains(k)).ok_or(GiveUp)?;
        for (key, _) in to.entries(new) {
            if let Some(old_key) = by_new.get(&key) {
                after = Some(*old_key);
                continue;
            }
            let mut text = String::new();
            emit_children(self.new, new, key, 1, column, &self.options, &mut text);
            if let Some(entry) = after {
                self.insert_lines(lines[&entry].1, text);
                continue;
            }
            let (start, _, alone) = lines[&first_kept];
            if !alone {
                // Behind the dash of an element: the line of the first entry is taken over.
                if from.entries(old).next().is_none_or(|(first, _)| first != first_kept) {
                    return Err(GiveUp);
                }
                text.drain(..column.min(text.len()));
                text.push_str(&" ".repeat(column));
            }
            self.edits.replace(start..start, text);
        }
        for [old_key, old_value, new_key, new_value] in pairs {
            if self.is_same(old_value, new_value) && self.comment_changes.is_empty() {
                continue;
            }
            let old = Item { key: Some(old_key), value: old_value };
            let new = Item { key: Some(new_key), value: new_value };
            let behind = self.old.colon(old_key)? + 1;
            self.item(old, new, behind, column)?;
        }
        Ok(())
    }

    /// An entry or element that both documents have; its text starts at `behind`, the offset behind colon or dash.
    fn item(&mut self, old: Item, new: Item, behind: usize, column: usize) -> Attempt<()> {
        match self.attempt(|planner| planner.inside(old.value, new.value)) {
            Ok(edits) => {
                self.edits.absorb(edits);
                self.sync_comments(old, new, behind, column)
            }
            Err(GiveUp) => self.replace_value(old, new, behind, column),
        }
    }

    /// Re-emits a value behind its colon or dash.
    fn replace_value(&mut self, old: Item, new: Item, behind: usize, column: usize) -> Attempt<()> {
        let from = self.old.tree;
        let place = Place { column, element: old.key.is_none(), flow: false, key: false };
        let one_line =
            from.is_scalar(old.value) && !self.old.is_block_scalar(old.value) || from.kind(old.value) == Kind::Alias;
        if one_line {
            let text = self.scalar_text(old.value, new.value, place);
            if let Some(text) = text {
                let span = self.old.span(old.value)?;
                let space = if span.is_empty() { " " } else { "" };
                self.edits.replace(span, format!("{space}{text}"));
                return self.sync_comments(old, new, behind, column);
            }
        }
        let mut text = String::new();
        emit_value(self.new, new.key, new.value, place, &self.options, &mut text);
        let text = text.trim_end_matches('\n').to_owned() + if keeps_breaks(self.new, new.value) { "\n" } else { "" };
        let end = self.value_end(old, behind)?;
        let mut text = text;
        if self.old.text[..end].ends_with('\n') && end > behind && !text.ends_with('\n') {
            text.push('\n');
        }
        self.edits.replace(behind..end, text);
        Ok(())
    }

    /// End of what a value and the comments in and behind it take, without the last line break.
    fn value_end(&self, item: Item, behind: usize) -> Attempt<usize> {
        let content = self.old.content_end(item.value)?.max(behind);
        if self.old.is_block_scalar(item.value) {
            return Ok(content);
        }
        if !self.old.is_block(item.value) {
            return Ok(self.old.comment_behind(content).end);
        }
        let end = self.old.lines_end(None, item.value)?;
        Ok(if self.old.text[behind..end].ends_with('\n') { end - 1 } else { end })
    }

    /// The new text of a scalar or flow collection that stands on one line, quoted as before where that is right.
    pub(super) fn scalar_text(&self, old: NodeId, new: NodeId, place: Place) -> Option<String> {
        let (from, to) = (self.old.tree, self.new);
        let mut text = String::new();
        if self.json && place.flow {
            crate::yaml::emit_json_inline(to, new, &mut text);
            return Some(text);
        }
        let quoted = matches!(from.style(old), Style::SingleQuoted | Style::DoubleQuoted);
        let both_strings = from.is_scalar(old)
            && to.is_scalar(new)
            && from.scalar_type(old) == ScalarType::Str
            && to.scalar_type(new) == ScalarType::Str;
        if quoted && both_strings && to.style(new) == Style::Plain && !to.text(new).contains('\n') {
            let mut copy = Tree::new_mapping();
            let id = copy.scalar(to.text(new), from.style(old));
            copy.set_tag(id, to.tag(new));
            copy.set_anchor(id, to.anchor(new));
            emit_inline(&copy, id, place, &self.options, &mut text);
        } else {
            emit_inline(to, new, place, &self.options, &mut text);
        }
        (!text.contains('\n') && (place.flow || !is_block_in(to, new))).then_some(text)
    }

    /// Removes whole lines; of blank lines on both sides those behind go too.
    fn remove_lines(&mut self, start: usize, mut end: usize) {
        let old = self.old;
        let blank = |from: usize| from < old.end && old.text[from..old.line_end(from)].trim().is_empty();
        let blank_before = start > old.start && blank(old.line_start(start - 1));
        while blank_before && blank(end) && end < old.end {
            end = old.next_line(end);
        }
        self.edits.replace(start..end, "");
    }

    /// Inserts whole lines in front of the line that starts here.
    fn insert_lines(&mut self, at: usize, mut text: String) {
        if at > self.old.start && !self.old.text[..at].ends_with('\n') {
            text.insert(0, '\n');
            text.truncate(text.trim_end_matches('\n').len());
        }
        self.edits.replace(at..at, text);
    }

    // ---- sequences ----

    fn block_sequence(&mut self, old: NodeId, new: NodeId) -> Attempt<()> {
        let (from, to) = (self.old.tree, self.new);
        let dashes = self.old.dashes(old)?;
        let column = self.old.column(*dashes.first().ok_or(GiveUp)?);
        let olds: Vec<NodeId> = from.elements(old).collect();
        let news: Vec<NodeId> = to.elements(new).collect();
        let pairs = match_elements(&self.old_values, old, &self.new_values, new, true);
        let mut lines = Vec::with_capacity(olds.len());
        for (element, dash) in olds.iter().zip(&dashes) {
            let line = self.old.line_start(*dash);
            let alone = self.old.text[line..*dash].trim().is_empty();
            let start = if alone { self.old.above(line, from.head_comment(*element)) } else { *dash };
            lines.push((start, self.old.lines_end(None, *element)?, alone));
        }
        if pairs.iter().all(Option::is_none) {
            return Err(GiveUp);
        }
        let all_alone = lines.iter().all(|(_, _, alone)| *alone);
        let same_elements = pairs.iter().copied().eq((0..olds.len()).map(Some));
        if !same_elements && !all_alone {
            return Err(GiveUp);
        }
        let item = |id| Item { key: None, value: id };
        if pairs.iter().flatten().is_sorted() {
            let kept: HashSet<usize> = pairs.iter().copied().flatten().collect();
            for (n, (start, end, _)) in lines.iter().enumerate() {
                if !kept.contains(&n) {
                    self.remove_lines(*start, *end);
                }
            }
            let first_kept = pairs.iter().copied().flatten().next().ok_or(GiveUp)?;
            let mut after = None;
            for (id, pair) in news.iter().zip(&pairs) {
                if let Some(n) = *pair {
                    after = Some(n);
                    if !self.is_same(olds[n], *id) {
                        self.item(item(olds[n]), item(*id), dashes[n] + 1, column)?;
                    }
                    continue;
                }
                let mut text = String::new();
                emit_children(to, new, *id, 1, column, &self.options, &mut text);
                if let Some(n) = after {
                    self.insert_lines(lines[n].1, text);
                } else {
                    let start = lines[first_kept].0;
                    self.edits.replace(start..start, text);
                }
            }
            return Ok(());
        }
        // Another order: the text of each element moves.
        let whole = lines[0].0..lines[lines.len() - 1].1;
        let mut text = String::new();
        for (id, pair) in news.iter().zip(&pairs) {
            match pair {
                Some(n) => {
                    let (start, end, _) = lines[*n];
                    let edits = self.attempt(|planner| {
                        if planner.is_same(olds[*n], *id) {
                            return Ok(());
                        }
                        planner.item(item(olds[*n]), item(*id), dashes[*n] + 1, column)
                    })?;
                    text.push_str(&edits.apply(self.old.text, start..end).ok_or(GiveUp)?);
                }
                None => emit_children(to, new, *id, 1, column, &self.options, &mut text),
            }
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        if !self.old.text[whole.clone()].ends_with('\n') {
            text.truncate(text.trim_end_matches('\n').len());
        }
        self.edits.replace(whole, text);
        Ok(())
    }

    // ---- comments ----

    /// Applies comments that the function itself added, changed or removed.
    fn sync_comments(&mut self, old: Item, new: Item, behind: usize, column: usize) -> Attempt<()> {
        if self.comment_changes.is_empty() {
            return Ok(());
        }
        let (from, to) = (self.old.tree, self.new);
        let first = old.key.unwrap_or(old.value);
        let new_first = new.key.unwrap_or(new.value);
        let line_start = self.old.line_start(behind - 1);
        if let Some(text) = self.changed(from.head_comment(first), to.head_comment(new_first)) {
            let start = self.old.above(line_start, from.head_comment(first));
            self.edits.replace(start..line_start, comment_lines(text, column));
        }
        let old_line = from.line_comment(old.value).or_else(|| from.line_comment(first));
        let new_line = to.line_comment(new.value).or_else(|| to.line_comment(new_first));
        if let Some(text) = self.changed(old_line, new_line) {
            let at = if self.old.is_block(old.value) {
                behind
            } else if self.old.is_block_scalar(old.value) {
                let start = self.old.span(old.value)?.start;
                let header = &self.old.text[start..self.old.line_end(start)];
                start + header.find([' ', '\t']).unwrap_or(header.len())
            } else {
                self.old.content_end(old.value)?.max(behind)
            };
            let range = self.old.comment_behind(at);
            let one_line = text.lines().collect::<Vec<_>>().join(" ");
            let text = if one_line.is_empty() { one_line } else { format!(" {one_line}") };
            self.edits.replace(range, text);
        }
        if let Some(text) = self.changed(from.foot_comment(first), to.foot_comment(new_first)) {
            let end = self.old.lines_end(old.key, old.value)?;
            let start = match from.foot_comment(first) {
                Some(foot) => self.old.above(end, Some(foot)),
                None => end,
            };
            if start == end {
                self.insert_lines(end, comment_lines(text, column));
            } else {
                self.edits.replace(start..end, comment_lines(text, column));
            }
        }
        Ok(())
    }

    /// The comment to write at a place, `""` for none, when the function changed it there.
    fn changed(&self, old: Option<&'t str>, new: Option<&'t str>) -> Option<&'t str> {
        if old == new {
            return None;
        }
        let any = |text: Option<&'t str>, sign: i64| {
            text.is_some_and(|t| t.lines().any(|line| self.comment_changes.get(line).is_some_and(|n| n * sign > 0)))
        };
        if any(new, 1) {
            return new;
        }
        (any(old, -1)).then(|| new.unwrap_or(""))
    }
}

/// True for a document in braces whose first key has double quotes: what a `.json` file holds.
pub(super) fn is_json(tree: &Tree) -> bool {
    let root = tree.root();
    tree.style(root) == Style::Flow
        && tree.entries(root).next().is_some_and(|(key, _)| tree.style(key) == Style::DoubleQuoted)
}

fn is_block_in(tree: &Tree, id: NodeId) -> bool {
    matches!(tree.kind(id), Kind::Mapping | Kind::Sequence) && tree.style(id) != Style::Flow && !tree.is_empty(id)
}

/// Comment lines at a column, each with its `#`.
fn comment_lines(text: &str, column: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if !line.is_empty() {
            out.push_str(&" ".repeat(column));
            if !line.starts_with('#') {
                out.push_str("# ");
            }
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

/// True when the last node written is a block scalar whose trailing line breaks are part of its value.
fn keeps_breaks(tree: &Tree, id: NodeId) -> bool {
    let mut at = id;
    while let Some(last) = tree.children(at).last() {
        at = last;
    }
    tree.is_scalar(at) && tree.text(at).ends_with("\n\n")
}

//! Differences inside `{…}` and `[…]`.

use std::collections::HashMap;
use std::ops::Range;

use super::layout::{Attempt, GiveUp};
use super::plan::Planner;
use crate::associative::match_entries;
use crate::yaml::{Kind, NodeId, Place};

/// What stands in the source, or what is new.
enum Member {
    Kept { old: Range<usize>, from: NodeId, to: NodeId },
    New(String),
}

const INLINE: Place = Place { column: 0, element: false, flow: true, key: false };

impl Planner<'_> {
    pub(super) fn flow_mapping(&mut self, old: NodeId, new: NodeId) -> Attempt<()> {
        let (from, to) = (self.old.tree, self.new);
        let pairs = match_entries(from, old, to, new);
        let by_new: HashMap<NodeId, (NodeId, NodeId)> = pairs.iter().map(|p| (p[2], (p[0], p[1]))).collect();
        let mut members = Vec::new();
        for (key, value) in to.entries(new) {
            members.push(if let Some((old_key, old_value)) = by_new.get(&key) {
                Member::Kept { old: self.entry_span(*old_key, *old_value)?, from: *old_value, to: value }
            } else {
                let mut text = self.inline(key, Place { key: true, ..INLINE });
                text.push_str(": ");
                text.push_str(&self.inline(value, INLINE));
                Member::New(text)
            });
        }
        let olds = from.entries(old).map(|(k, v)| self.entry_span(k, v)).collect::<Attempt<Vec<_>>>()?;
        self.flow(old, '{', '}', &olds, members)
    }

    fn entry_span(&self, key: NodeId, value: NodeId) -> Attempt<Range<usize>> {
        let (key, value) = (self.old.span(key)?, self.old.span(value)?);
        Ok(key.start..key.end.max(value.end))
    }

    pub(super) fn flow_sequence(&mut self, old: NodeId, new: NodeId) -> Attempt<()> {
        let (from, to) = (self.old.tree, self.new);
        let elements: Vec<NodeId> = from.elements(old).collect();
        let pairs = self.match_elements(old, new);
        let mut members = Vec::new();
        for (id, pair) in to.elements(new).zip(&pairs) {
            members.push(match pair {
                Some(at) => Member::Kept { old: self.old.span(elements[*at])?, from: elements[*at], to: id },
                None => Member::New(self.inline(id, INLINE)),
            });
        }
        let olds = elements.iter().map(|id| self.old.span(*id)).collect::<Attempt<Vec<_>>>()?;
        self.flow(old, '[', ']', &olds, members)
    }

    fn inline(&self, id: NodeId, place: Place) -> String {
        let mut text = String::new();
        if self.json {
            crate::yaml::emit_json_inline(self.new, id, &mut text);
        } else {
            crate::yaml::emit_inline(self.new, id, place, &self.options, &mut text);
        }
        text
    }

    fn flow(
        &mut self,
        id: NodeId,
        open: char,
        close: char,
        olds: &[Range<usize>],
        members: Vec<Member>,
    ) -> Attempt<()> {
        let text = self.old.text;
        let span = self.old.span(id)?;
        let inner = &text[span.clone()];
        // Behind anchor and tag.
        let start = span.start + inner.find(open).ok_or(GiveUp)? + 1;
        let (Some(first), Some(last)) = (olds.first(), olds.last()) else { return Err(GiveUp) };
        if !inner.ends_with(close) || start > first.start || last.end > span.end - 1 {
            return Err(GiveUp);
        }
        let same = members.len() == olds.len()
            && members
                .iter()
                .zip(olds)
                .all(|(member, place)| matches!(member, Member::Kept { old, .. } if old == place));
        if same {
            for member in members {
                if let Member::Kept { from, to, .. } = member {
                    self.flow_value(from, to)?;
                }
            }
            return Ok(());
        }
        let between = |a: usize, b: usize| text.get(a..b).ok_or(GiveUp);
        let mut gaps = olds.windows(2).map(|w| between(w[0].end, w[1].start)).collect::<Attempt<Vec<_>>>()?;
        let before = between(start, first.start)?;
        let after = between(last.end, span.end - 1)?;
        gaps.extend([before, after]);
        if gaps.iter().any(|gap| gap.contains('#')) {
            return Err(GiveUp);
        }
        let separator = match olds {
            [a, b, ..] => between(a.end, b.start)?.to_owned(),
            _ if before.contains('\n') => format!(",{before}"),
            _ => ", ".to_owned(),
        };
        let place = |member: &Member| match member {
            Member::Kept { old, .. } => olds.binary_search_by_key(&old.start, |place| place.start).ok(),
            Member::New(_) => None,
        };
        let mut out = String::from(before);
        let mut previous: Option<usize> = None;
        for (n, member) in members.into_iter().enumerate() {
            // Neighbours that stay neighbours keep what stands between them.
            let at: Option<usize> = place(&member);
            match (previous, at) {
                (Some(a), Some(b)) if a + 1 == b => out.push_str(between(olds[a].end, olds[b].start)?),
                _ if n > 0 => out.push_str(&separator),
                _ => {}
            }
            previous = at;
            match member {
                Member::New(text) => out.push_str(&text),
                Member::Kept { old, from, to } => {
                    let edits = self.attempt(|planner| planner.flow_value(from, to))?;
                    out.push_str(&edits.apply(text, old).ok_or(GiveUp)?);
                }
            }
        }
        out.push_str(after);
        self.edits.replace(start..span.end - 1, out);
        Ok(())
    }

    /// A value that stands in a flow collection in both documents.
    fn flow_value(&mut self, old: NodeId, new: NodeId) -> Attempt<()> {
        if self.is_equal(old, new) {
            return Ok(());
        }
        let collections = matches!(self.old.tree.kind(old), Kind::Mapping | Kind::Sequence);
        if collections && let Ok(edits) = self.attempt(|planner| planner.inside(old, new)) {
            self.edits.absorb(edits);
            return Ok(());
        }
        let span = self.old.span(old)?;
        let text = self.scalar_text(old, new, INLINE).ok_or(GiveUp)?;
        let space = if span.is_empty() { " " } else { "" };
        self.edits.replace(span, format!("{space}{text}"));
        Ok(())
    }
}

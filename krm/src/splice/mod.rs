//! Preserve style: a file after a render, of which only what a function changed differs.
//!
//! Documents without a change keep their bytes. In a document that did change, its nodes are compared with what they
//! are to become, and only those that differ are written anew, in the place and indentation of the old text; everything
//! around them stays: blank lines, quotes, comments, line ends. Elements of lists are matched by associative key or
//! value. The new text of each document is read again and must hold the wanted value; where it does not, or where the
//! shape of the text allows no edit in place, the document is written in kpt style.

mod expand;
mod flow;
mod layout;
mod plan;
mod text;

use crate::yaml::{
    Comments, EmitOptions, Kind, ParseLimits, SeqStyle, SourceFile, Tree, emit_document, emit_json, value_eq,
};
use std::collections::HashMap;

use layout::Layout;
use plan::Planner;

/// A document of the file after the pipeline.
#[derive(Clone, Copy, Debug)]
pub enum Edited<'t> {
    /// The document at this position of the file, as it was.
    Unchanged(usize),
    /// The document at this position of the file, with what it is to hold.
    Changed(usize, &'t Tree),
    /// A document that the file did not have.
    New(&'t Tree),
}

/// The bytes of the file that holds these documents, in this order.
///
/// Documents that are not named are removed. Comment-only and empty documents stay where they are, before the document
/// that followed them. Positions outside of the file are ignored.
pub fn splice(file: &SourceFile, documents: &[Edited<'_>]) -> Vec<u8> {
    let mut out = Output::new(file);
    let position = |edited: &Edited<'_>| match edited {
        Edited::Unchanged(at) | Edited::Changed(at, _) => (*at < file.documents().len()).then_some(*at),
        Edited::New(_) => None,
    };
    let ordered = documents.iter().filter_map(position).is_sorted_by(|a, b| a < b);
    let mut piece_of = vec![None; file.documents().len()];
    for (n, piece) in file.pieces().iter().enumerate() {
        if let Some(at) = piece.document {
            piece_of[at] = Some(n);
        }
    }
    // The pieces in front of which no document stands any more go last.
    let mut piece = 0;
    let pieces = file.pieces();
    for edited in documents {
        let at = position(edited);
        if let Some(at) = at
            && ordered
        {
            while let Some(next) = pieces.get(piece).filter(|p| p.document != Some(at)) {
                if next.document.is_none() {
                    out.piece(piece);
                }
                piece += 1;
            }
        }
        let of = at.and_then(|at| piece_of[at]);
        match (edited, of) {
            (Edited::Unchanged(_), Some(of)) => out.piece(of),
            (Edited::Changed(at, tree), Some(of)) => match changed_text(file, *at, tree) {
                Some(text) => out.text(&text, Some(of)),
                None => out.piece(of),
            },
            (Edited::Changed(_, tree) | Edited::New(tree), None) | (Edited::New(tree), Some(_)) => {
                let mut text = String::new();
                emit_document(tree, &EmitOptions { sequences: SeqStyle::Compact }, &mut text);
                out.text(&text, None);
            }
            (Edited::Unchanged(_), None) => {}
        }
        if let Some(of) = of {
            piece = piece.max(of + 1);
        }
    }
    let rest = if ordered { piece } else { 0 };
    for (n, piece) in pieces.iter().enumerate().skip(rest) {
        if piece.document.is_none() {
            out.piece(n);
        }
    }
    out.bytes
}

/// The new text of a document; `None` when it stays as it is.
fn changed_text(file: &SourceFile, at: usize, edited: &Tree) -> Option<String> {
    let document = &file.documents()[at];
    if !edited.has_root() {
        return None;
    }
    let old = &document.tree;
    let restored = with_empty_annotations(old, edited);
    let edited = restored.as_ref().unwrap_or(edited);
    let options = EmitOptions { sequences: document.seq_style };
    let write = |tree: &Tree| {
        let mut text = String::new();
        if plan::is_json(old) && !tree.has_kind(Kind::Alias) {
            emit_json(tree, tree.root(), &mut text);
        } else {
            emit_document(tree, &options, &mut text);
        }
        text
    };
    let whole = || {
        let text = write(edited);
        if reads_as(&text, edited) {
            return text;
        }
        // The blank line in front of a comment that stands below a scalar with `|+` is part of the scalar: the value goes
        // before the comment.
        let bare = write(&without_foot_comments(edited));
        if reads_as(&bare, edited) { bare } else { text }
    };
    if (old.has_kind(Kind::Alias) || edited.has_kind(Kind::Alias)) && expand::aliases(old) != expand::aliases(edited) {
        // The function read through the aliases: the same value needs no change, another one has no aliases any more.
        let same = expand::expanded(old).is_some_and(|old| value_eq(&old, old.root(), edited, edited.root()));
        return (!same).then(whole);
    }
    let layout = Layout { tree: old, text: file.text(), start: document.span.start, end: document.span.end };
    let mut planner = Planner::new(layout, edited, options);
    if planner.document().is_err() {
        return Some(whole());
    }
    if planner.edits.is_empty() {
        return (!planner.is_equal(old.root(), edited.root())).then(whole);
    }
    let spliced = planner.edits.apply(file.text(), document.span.clone());
    let holds = |text: &String| {
        read_again(text).is_some_and(|tree| {
            value_eq(&tree, tree.root(), edited, edited.root())
                && comments_hold(old, edited, &tree, [&file.text()[document.span.clone()], text.as_str()])
        })
    };
    Some(spliced.filter(holds).unwrap_or_else(whole))
}

/// What a reader makes of the text of one document.
fn read_again(text: &str) -> Option<Tree> {
    // The old document was read within the limits; the new one may be larger by what a function added.
    let limits = ParseLimits { depth: u32::MAX / 2, ..ParseLimits::UNBOUNDED };
    Tree::parse(text, &limits).ok().flatten()
}

fn reads_as(text: &str, wanted: &Tree) -> bool {
    read_again(text).is_some_and(|tree| value_eq(&tree, tree.root(), wanted, wanted.root()))
}

fn without_foot_comments(tree: &Tree) -> Tree {
    let mut copy = tree.clone();
    let mut open = vec![copy.root()];
    while let Some(id) = open.pop() {
        if copy.foot_comment(id).is_some() {
            copy.set_foot_comment(id, None);
        }
        open.extend(copy.children(id));
    }
    copy.document_comments_mut().foot = None;
    copy
}

/// True when no line of a comment is there more often than before and wanted, and none less often. `texts`: of the old
/// document and of the one that was found.
fn comments_hold(old: &Tree, edited: &Tree, found: &Tree, texts: [&str; 2]) -> bool {
    if found.is_without_comments() && (edited.is_without_comments() || old.is_without_comments()) {
        return true;
    }
    let mut counts: HashMap<&str, [u32; 5]> = HashMap::new();
    for (n, tree) in [old, edited, found].into_iter().enumerate() {
        for line in tree.all_comments().into_iter().flat_map(Comments::lines) {
            counts.entry(line).or_default()[n] += 1;
        }
    }
    // The reader may hang one comment at two nodes, or leave one out, as kpt's does: what is in the text counts too.
    for (n, text) in texts.into_iter().enumerate() {
        for line in text.lines().filter(|line| line.contains('#')) {
            for comment in comments_in(line) {
                if let Some(count) = counts.get_mut(comment) {
                    count[3 + n] += 1;
                }
            }
        }
    }
    counts.into_values().all(|[old, edited, found, before, after]| {
        (old.min(edited)..=old.max(edited)).contains(&found) && after <= before + edited.saturating_sub(old)
    })
}

/// What may be the comment of a line: all from a `#` behind a blank. A string may hold such a `#` too, so there are
/// several; more than a few are no comment that an edit would double.
fn comments_in(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim_end();
    let starts = |at: &usize| line[..*at].chars().next_back().is_none_or(|before| before == ' ' || before == '\t');
    line.match_indices('#').map(|(at, _)| at).filter(starts).map(|at| &line[at..]).take(8)
}

/// Annotations that were empty and that the pipeline took away with its own come back.
fn with_empty_annotations(old: &Tree, edited: &Tree) -> Option<Tree> {
    let metadata = old.get(old.root(), "metadata")?;
    let (_, empty) = old
        .entry(metadata, "annotations")
        .filter(|(_, v)| old.is_null(*v) || old.is_empty(*v) && !old.is_scalar(*v))?;
    let new_metadata = edited.get(edited.root(), "metadata").filter(|m| edited.is_mapping(*m))?;
    if edited.get(new_metadata, "annotations").is_some() {
        return None;
    }
    let mut copy = edited.clone();
    let value = copy.copy_from(old, empty);
    copy.set(new_metadata, "annotations", value);
    Some(copy)
}

/// The file being written.
struct Output<'f> {
    file: &'f SourceFile,
    bytes: Vec<u8>,
    /// The piece that was written last, when its text follows directly in the file.
    last: Option<usize>,
    /// Something was written.
    any: bool,
    ends_line: bool,
}

impl<'f> Output<'f> {
    fn new(file: &'f SourceFile) -> Self {
        let bytes = file.encoding().byte_order_mark().to_vec();
        Output { file, bytes, last: None, any: false, ends_line: true }
    }

    /// The separator before a piece: the one of the file where both neighbours stay, else a bare one.
    fn separate(&mut self, piece: Option<usize>) {
        if !self.any {
            self.any = true;
            return;
        }
        let file = self.file;
        let pieces = file.pieces();
        let own = piece.and_then(|at| {
            let previous = at.checked_sub(1)?;
            Some(pieces[previous].span.end..pieces[at].span.start)
        });
        if !self.ends_line {
            self.bytes.extend_from_slice(&file.encoding().encode("\n"));
        }
        match own {
            Some(range) => self.bytes.extend_from_slice(&file.encoding().original(file.text(), range)),
            None => self.bytes.extend_from_slice(&file.encoding().encode("---\n")),
        }
    }

    fn piece(&mut self, at: usize) {
        self.separate(Some(at));
        let span = self.file.pieces()[at].span.clone();
        self.ends_line = span.is_empty() || self.file.text()[..span.end].ends_with('\n');
        self.bytes.extend_from_slice(&self.file.encoding().original(self.file.text(), span));
        self.last = Some(at);
    }

    fn text(&mut self, text: &str, piece: Option<usize>) {
        self.separate(piece);
        self.ends_line = text.is_empty() || text.ends_with('\n');
        self.bytes.extend_from_slice(&self.file.encoding().encode(text));
        self.last = piece;
    }
}

//! A file as kyaml reads it: normalised to UTF-8 and line feeds, split into documents.
use std::ops::Range;
use std::sync::Arc;

use super::chars::survey;
use super::encoding::{Encoding, decode};
use super::error::ParseError;
use super::parse::{ParseLimits, parse_document};
use super::seq_style::SeqStyle;
use super::tree::{Tree, position_at};

/// How many errors of one file are reported.
const MAX_ERRORS: usize = 50;

/// How many bytes of a wrong separator a message shows.
const SHOWN: usize = 120;

/// A file of YAML documents, with what is needed to write unchanged parts back byte for byte.
#[derive(Clone, Debug)]
pub struct SourceFile {
    text: Arc<str>,
    encoding: Encoding,
    pieces: Vec<Piece>,
    documents: Vec<Document>,
}

/// A document that holds a value.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its nodes; they share the text of the file, and their spans are offsets into it.
    pub tree: Tree,
    /// Where the document lies in [`SourceFile::text`], without the separators around it.
    pub span: Range<usize>,
    /// How it writes sequences.
    pub seq_style: SeqStyle,
}

/// What lies between two separators: a document, or nothing but comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Without the separators; behind one piece and its separator line the next piece starts.
    pub span: Range<usize>,
    /// Index of the document; `None` for comments, null or nothing.
    pub document: Option<usize>,
}

impl SourceFile {
    /// Reads a file: UTF-8, or UTF-16 with its byte order mark; LF, CRLF or both.
    ///
    /// Documents end at lines that start with `---`, found in the text as kyaml does: even inside a block scalar.
    /// Documents that hold nothing but comments or null are no documents, but stay known as [`Piece`]s.
    ///
    /// # Errors
    /// All that is wrong in the file, each with its line from the top: one error for each broken document, in order, the
    /// first 50 of them.
    pub fn parse(bytes: &[u8], limits: &ParseLimits) -> Result<SourceFile, Vec<ParseError>> {
        let (text, encoding) = Self::text_of(bytes, limits).map_err(|e| vec![e])?;
        Self::read(text, encoding, limits)
    }

    /// The text that the documents of a file share, and how it was encoded. Its bytes are not needed any more then.
    pub(crate) fn text_of(bytes: &[u8], limits: &ParseLimits) -> Result<(Arc<str>, Encoding), ParseError> {
        limits.check_size(bytes.len())?;
        let (text, encoding) = decode(bytes)?;
        Ok((text.into(), encoding))
    }

    /// Reads the documents of a text, see [`SourceFile::parse`].
    pub(crate) fn read(
        text: Arc<str>,
        encoding: Encoding,
        limits: &ParseLimits,
    ) -> Result<SourceFile, Vec<ParseError>> {
        let facts = survey(&text).map_err(|fault| vec![fault.into_error(&text, 0)])?;
        let mut file = SourceFile { encoding, pieces: Vec::new(), documents: Vec::new(), text };
        let mut errors = Vec::new();
        let parts = split(&file.text, limits.documents).map_err(|error| vec![error])?;
        let mut left = limits.nodes;
        for part in parts {
            if errors.len() >= MAX_ERRORS {
                break;
            }
            if let Some(error) = part.wrong_separator {
                errors.push(error);
            }
            if !part.readable {
                continue;
            }
            let limits = ParseLimits { nodes: left, ..*limits };
            match parse_document(&file.text, part.span.start, part.span.end, facts, &limits) {
                Ok(tree) => {
                    left = left.saturating_sub(tree.as_ref().map_or(0, Tree::weight));
                    file.add(part.span, tree);
                }
                Err(fault) => errors.push(fault.into_error(&file.text, 0)),
            }
        }
        if errors.is_empty() { Ok(file) } else { Err(errors) }
    }

    fn add(&mut self, span: Range<usize>, tree: Option<Tree>) {
        let document = tree.map(|tree| {
            let seq_style = SeqStyle::of(&self.text[span.clone()]);
            self.documents.push(Document { tree, span: span.clone(), seq_style });
            self.documents.len() - 1
        });
        self.pieces.push(Piece { span, document });
    }

    /// The documents, in order; a document's position is its index annotation.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The documents, without the file.
    pub fn into_documents(self) -> Vec<Document> {
        self.documents
    }

    /// Documents and what is none, in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The whole text: UTF-8 without byte order mark, lines ended by LF.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// How the bytes of the file become its text, and back.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }
}

struct Part {
    span: Range<usize>,
    readable: bool,
    /// The separator behind this part holds more than a comment.
    wrong_separator: Option<ParseError>,
}

/// Splits at `\n---.*\n`, into so many parts at most.
fn split(text: &str, limit: usize) -> Result<Vec<Part>, ParseError> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut readable = true;
    let bytes = text.as_bytes();
    while let Some(found) = memchr::memmem::find(&bytes[start..], b"\n---") {
        let at = start + found;
        let Some(line) = memchr::memchr(b'\n', &bytes[at + 4..]) else { break };
        let end = at + 4 + line;
        if parts.len() + 1 >= limit {
            let message = format!("more documents than the limit `yaml.documents` of {limit}");
            return Err(ParseError::new(message, position_at(text, at + 1, 0)));
        }
        let rest = text[at + 4..end].trim();
        let wrong = !rest.is_empty() && !rest.starts_with('#');
        let wrong_separator = wrong.then(|| {
            let shown: String = text[at + 1..end].trim().chars().take(SHOWN).collect();
            let place = position_at(text, at + 1, 0);
            ParseError::new(format!("invalid document separator: {shown}"), place)
        });
        parts.push(Part { span: start..at + 1, readable: readable && !wrong, wrong_separator });
        // What stands beside a wrong separator may be anything: it would only give more errors.
        readable = !wrong;
        start = end + 1;
    }
    parts.push(Part { span: start..text.len(), readable, wrong_separator: None });
    Ok(parts)
}

//! The scanner: bytes to tokens.
//!
//! It knows indentation and where a simple key may stand, as libyaml does, and looks ahead at least two tokens, since
//! a comment may belong to a node before or after it. Scalars and names have files of their own.
use super::Style;
use super::chars::{BLANKZ, CLASS, Facts, INDICATOR, is, is_blank};
use super::comments::Comment;
use super::error::{Fault, Mark, Scan};
use super::token::{Queue, Token, TokenKind};

/// How many characters a key without `?` may have.
const SIMPLE_KEY_LENGTH: u32 = 1024;

/// A place where a key may have begun; whether one did shows when its `:` comes.
#[derive(Clone, Copy, Debug, Default)]
struct SimpleKey {
    possible: bool,
    /// Only a key can stand here: it is an error when no `:` follows.
    required: bool,
    token: u32,
    mark: Mark,
    column: i32,
}

pub(super) struct Scanner<'s> {
    /// The source up to the end of the document; offsets are into the whole source.
    pub(super) text: &'s str,
    pub(super) src: &'s [u8],
    /// Where the document starts in the source.
    pub(super) start: usize,
    pub(super) facts: Facts,
    pub(super) pos: usize,
    /// Line from 0 in the document.
    pub(super) line: u32,
    line_start: usize,
    /// A place in the current line and its column, so that columns of a long line are counted once.
    counted: (usize, i32),
    /// Column of the innermost block collection, -1 outside of any.
    pub(super) indent: i32,
    indents: Vec<i32>,
    pub(super) flow_level: u32,
    pub(super) simple_key_allowed: bool,
    /// One for the block context and one for each open flow collection.
    simple_keys: Vec<SimpleKey>,
    pub(super) queue: Queue,
    /// The next token is known: enough was scanned behind it.
    pub(super) ready: bool,
    pub(super) comments: Vec<Comment>,
    /// Comments before this one were given to a node.
    pub(super) comments_taken: usize,
    /// Text of scalars that had to be decoded.
    pub(super) buf: String,
    /// Handle and suffix of tags, handle and prefix of `%TAG` directives.
    pub(super) names: Vec<(String, String)>,
}

impl<'s> Scanner<'s> {
    pub(super) fn new(text: &'s str, start: usize, facts: Facts) -> Scanner<'s> {
        let src = text.as_bytes();
        let start = if src[start..].starts_with(b"\xEF\xBB\xBF") { start + 3 } else { start };
        let mut scanner = Scanner {
            text,
            src,
            start,
            facts,
            pos: start,
            line: 0,
            line_start: start,
            counted: (start, 0),
            indent: -1,
            indents: Vec::new(),
            flow_level: 0,
            simple_key_allowed: true,
            simple_keys: vec![SimpleKey::default()],
            queue: Queue::new(),
            ready: false,
            comments: Vec::new(),
            comments_taken: 0,
            buf: String::new(),
            names: Vec::new(),
        };
        let mark = scanner.mark();
        scanner.queue.push(Token::new(TokenKind::StreamStart, mark, mark.pos));
        scanner
    }

    // ---- places ----

    /// The byte at a place; 0 behind the end (no text holds a 0).
    pub(super) fn at(&self, pos: usize) -> u8 {
        self.src.get(pos).copied().unwrap_or(0)
    }

    pub(super) fn here(&self) -> u8 {
        self.at(self.pos)
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { pos: self.pos as u32, line: self.line }
    }

    /// Column in characters, from 0.
    #[expect(clippy::cast_possible_wrap, reason = "a source has less than 2 GiB")]
    pub(super) fn column(&mut self) -> i32 {
        if self.facts.ascii {
            return (self.pos - self.line_start) as i32;
        }
        let (mut from, mut column) = self.counted;
        if from < self.line_start || from > self.pos {
            (from, column) = (self.line_start, 0);
        }
        column += self.src[from..self.pos].iter().filter(|b| **b & 0xC0 != 0x80).count() as i32;
        self.counted = (self.pos, column);
        column
    }

    /// True at the first column.
    pub(super) fn at_line_start(&self) -> bool {
        self.pos == self.line_start
    }

    /// Length of the line break at a place, 0 when there is none.
    pub(super) fn break_at(&self, pos: usize) -> usize {
        match self.at(pos) {
            b'\r' if self.at(pos + 1) == b'\n' => 2,
            b'\n' | b'\r' => 1,
            0xC2 if self.at(pos + 1) == 0x85 => 2,
            0xE2 if self.at(pos + 1) == 0x80 && matches!(self.at(pos + 2), 0xA8 | 0xA9) => 3,
            _ => 0,
        }
    }

    /// A line break or the end.
    pub(super) fn is_breakz(&self, pos: usize) -> bool {
        pos >= self.src.len() || self.break_at(pos) != 0
    }

    /// Space, tab, line break or the end.
    pub(super) fn is_blankz(&self, pos: usize) -> bool {
        is(self.at(pos), BLANKZ) || self.break_at(pos) != 0
    }

    /// Steps over the line break here, if there is one; its length.
    pub(super) fn skip_break(&mut self) -> usize {
        let len = self.break_at(self.pos);
        if len != 0 {
            self.pos += len;
            self.line += 1;
            self.line_start = self.pos;
        }
        len
    }

    /// Steps over spaces and tabs.
    pub(super) fn skip_blanks(&mut self) {
        while is_blank(self.here()) {
            self.pos += 1;
        }
    }

    /// End of the line that `pos` lies in (its break, or the end of the text).
    pub(super) fn line_end(&self, pos: usize) -> usize {
        let rest = &self.src[pos.min(self.src.len())..];
        if self.facts.simple_breaks {
            return pos + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        }
        let mut at = pos;
        while !self.is_breakz(at) {
            at += 1;
        }
        at
    }

    /// True at `---` or `...` at the start of a line.
    pub(super) fn at_document_indicator(&self) -> bool {
        self.at_line_start()
            && matches!(self.src.get(self.pos..self.pos + 3), Some(b"---" | b"..."))
            && self.is_blankz(self.pos + 3)
    }

    // ---- the queue ----

    /// Makes sure that the next token is known, and at least two more scanned behind it.
    pub(super) fn fill(&mut self) -> Scan<()> {
        while self.needs_more()? {
            self.fetch()?;
        }
        self.ready = true;
        Ok(())
    }

    /// Steps over the next token.
    #[inline]
    pub(super) fn consume(&mut self) {
        self.queue.consume();
        self.ready = false;
    }

    fn needs_more(&mut self) -> Scan<bool> {
        if self.queue.waiting() < 3 {
            return Ok(true);
        }
        // While the next token may turn out to begin a key, a key token may still come before it. The numbers rise
        // with the levels, so that the level of the next token is found without a search through all.
        let number = self.queue.consumed;
        let level =
            if self.simple_keys.len() == 1 { 0 } else { self.simple_keys.partition_point(|k| k.token < number) };
        match self.simple_keys.get(level) {
            Some(key) if key.possible && key.token == number => self.key_is_valid(level),
            _ => Ok(false),
        }
    }

    fn push(&mut self, kind: TokenKind, start: Mark) {
        let end = self.pos as u32;
        self.queue.push(Token::new(kind, start, end));
    }

    fn fetch(&mut self) -> Scan<()> {
        let before = self.mark();
        self.skip_to_token();
        let column = self.column();
        self.close_blocks(column, before);
        if self.pos >= self.src.len() {
            return self.fetch_stream_end();
        }
        let byte = self.here();
        if column == 0 {
            if byte == b'%' {
                return self.fetch_directive();
            }
            if (byte == b'-' || byte == b'.') && self.at_document_indicator() {
                let kind = if byte == b'-' { TokenKind::DocumentStart } else { TokenKind::DocumentEnd };
                return self.fetch_document_indicator(kind);
            }
        }
        let mut commented = self.pos as u32;
        if (self.flow_level == 0 && byte == b':') || (self.flow_level > 0 && byte == b',') {
            commented = self.queue.last(0).map_or(commented, |t| t.start);
        }
        self.fetch_content(byte)?;
        if self.queue.last(0).is_some_and(|t| t.kind != TokenKind::Entry) {
            self.scan_line_comment(commented);
        }
        Ok(())
    }

    fn fetch_content(&mut self, byte: u8) -> Scan<()> {
        let flow = self.flow_level > 0;
        if CLASS[byte as usize] & INDICATOR == 0 {
            return self.fetch_scalar(Self::scan_plain);
        }
        match byte {
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if self.is_blankz(self.pos + 1) => self.fetch_entry(),
            b'?' if flow || self.is_blankz(self.pos + 1) => self.fetch_key(),
            b':' if flow || self.is_blankz(self.pos + 1) => self.fetch_value(),
            b'*' => self.fetch_scalar(|s| s.scan_name(TokenKind::Alias)),
            b'&' => self.fetch_scalar(|s| s.scan_name(TokenKind::Anchor)),
            b'!' => self.fetch_scalar(Self::scan_tag),
            b'|' if !flow => self.fetch_block_scalar(Style::Literal),
            b'>' if !flow => self.fetch_block_scalar(Style::Folded),
            b'\'' => self.fetch_scalar(|s| s.scan_quoted(Style::SingleQuoted)),
            b'"' => self.fetch_scalar(|s| s.scan_quoted(Style::DoubleQuoted)),
            b'-' | b'?' | b':' => self.fetch_scalar(Self::scan_plain),
            _ => Err(self.no_token()),
        }
    }

    fn no_token(&self) -> Fault {
        let mark = self.mark();
        Fault::lexical(Some((mark, "")), mark, "found character that cannot start any token")
    }

    /// Steps over white space, line breaks and comments.
    fn skip_to_token(&mut self) {
        let before = self.mark();
        loop {
            while self.here() == b' ' || (self.here() == b'\t' && (self.flow_level > 0 || !self.simple_key_allowed)) {
                self.pos += 1;
            }
            let byte = self.here();
            if !self.comments.is_empty() {
                self.turn_entry_comment();
            }
            if byte == b'#' {
                self.scan_comments(before);
            }
            if self.skip_break() == 0 {
                break;
            }
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    // ---- indentation ----

    fn open_block(&mut self, column: i32, number: Option<u32>, kind: TokenKind, mark: Mark) {
        if self.flow_level > 0 || self.indent >= column {
            return;
        }
        self.indents.push(self.indent);
        self.indent = column;
        let token = Token::new(kind, mark, mark.pos);
        match number {
            Some(number) => self.queue.insert(number, token),
            None => self.queue.push(token),
        }
    }

    /// Ends the block collections that are indented more than `column`.
    fn close_blocks(&mut self, column: i32, before: Mark) {
        if self.flow_level > 0 || self.indent <= column {
            return;
        }
        // An end lies before the foot comments of the collections around it.
        let mut end = Mark { pos: before.pos.saturating_sub(1), line: before.line };
        while self.indent > column {
            end = self.end_before_comments(end);
            self.queue.push(Token::new(TokenKind::BlockEnd, end, end.pos));
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    // ---- simple keys ----

    fn key_is_valid(&mut self, level: usize) -> Scan<bool> {
        let key = self.simple_keys[level];
        if !key.possible {
            return Ok(false);
        }
        let bytes = self.pos as u32 - key.mark.pos;
        let too_long = bytes > SIMPLE_KEY_LENGTH
            && (self.facts.ascii
                || self.text[key.mark.pos as usize..self.pos].chars().count() as u32 > SIMPLE_KEY_LENGTH);
        if key.mark.line < self.line || too_long {
            if key.required {
                return Err(self.key_without_value(key));
            }
            self.simple_keys[level].possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    fn key_without_value(&self, key: SimpleKey) -> Fault {
        Fault::lexical(Some((key.mark, "the key starts here")), self.mark(), "could not find expected ':'")
    }

    fn save_simple_key(&mut self) -> Scan<()> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        let column = self.column();
        let required = self.flow_level == 0 && self.indent == column;
        self.drop_simple_key()?;
        let key = SimpleKey { possible: true, required, token: self.queue.next_number(), mark: self.mark(), column };
        if let Some(last) = self.simple_keys.last_mut() {
            *last = key;
        }
        Ok(())
    }

    fn drop_simple_key(&mut self) -> Scan<()> {
        if let Some(last) = self.simple_keys.last_mut() {
            if last.possible && last.required {
                let key = *last;
                return Err(self.key_without_value(key));
            }
            last.possible = false;
        }
        Ok(())
    }

    // ---- tokens ----

    fn fetch_stream_end(&mut self) -> Scan<()> {
        if !self.at_line_start() {
            // The end counts as the start of a line.
            self.line += 1;
            self.line_start = self.pos;
        }
        let mark = self.mark();
        self.close_blocks(-1, mark);
        self.drop_simple_key()?;
        self.simple_key_allowed = false;
        self.push(TokenKind::StreamEnd, mark);
        Ok(())
    }

    fn fetch_directive(&mut self) -> Scan<()> {
        let mark = self.mark();
        self.close_blocks(-1, mark);
        self.drop_simple_key()?;
        self.simple_key_allowed = false;
        let token = self.scan_directive()?;
        self.queue.push(token);
        Ok(())
    }

    fn fetch_document_indicator(&mut self, kind: TokenKind) -> Scan<()> {
        let mark = self.mark();
        self.close_blocks(-1, mark);
        self.drop_simple_key()?;
        self.simple_key_allowed = false;
        self.pos += 3;
        self.push(kind, mark);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind) -> Scan<()> {
        self.save_simple_key()?;
        let token = self.queue.next_number();
        self.simple_keys.push(SimpleKey { token, ..SimpleKey::default() });
        self.flow_level += 1;
        self.simple_key_allowed = true;
        let mark = self.mark();
        self.pos += 1;
        self.push(kind, mark);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind) -> Scan<()> {
        self.drop_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            self.simple_keys.pop();
        }
        self.simple_key_allowed = false;
        let mark = self.mark();
        self.pos += 1;
        self.push(kind, mark);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Scan<()> {
        self.drop_simple_key()?;
        self.simple_key_allowed = true;
        let mark = self.mark();
        self.pos += 1;
        self.push(TokenKind::FlowEntry, mark);
        Ok(())
    }

    fn fetch_entry(&mut self) -> Scan<()> {
        let mark = self.mark();
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                let message = "block sequence entries are not allowed in this context";
                return Err(Fault::lexical(Some((mark, "")), mark, message));
            }
            let column = self.column();
            self.open_block(column, None, TokenKind::SequenceStart, mark);
        }
        self.drop_simple_key()?;
        self.simple_key_allowed = true;
        self.pos += 1;
        self.push(TokenKind::Entry, mark);
        Ok(())
    }

    fn fetch_key(&mut self) -> Scan<()> {
        let mark = self.mark();
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                let message = "mapping keys are not allowed in this context";
                return Err(Fault::lexical(Some((mark, "")), mark, message));
            }
            let column = self.column();
            self.open_block(column, None, TokenKind::MappingStart, mark);
        }
        self.drop_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.pos += 1;
        self.push(TokenKind::Key, mark);
        Ok(())
    }

    fn fetch_value(&mut self) -> Scan<()> {
        let mark = self.mark();
        let level = self.simple_keys.len() - 1;
        if self.key_is_valid(level)? {
            let key = self.simple_keys[level];
            self.queue.insert(key.token, Token::new(TokenKind::Key, key.mark, key.mark.pos));
            self.open_block(key.column, Some(key.token), TokenKind::MappingStart, key.mark);
            self.simple_keys[level].possible = false;
            self.simple_key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.simple_key_allowed {
                    let message = "mapping values are not allowed in this context";
                    return Err(Fault::lexical(Some((mark, "")), mark, message));
                }
                let column = self.column();
                self.open_block(column, None, TokenKind::MappingStart, mark);
            }
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.pos += 1;
        self.push(TokenKind::Value, mark);
        Ok(())
    }

    fn fetch_scalar(&mut self, scan: impl FnOnce(&mut Self) -> Scan<Token>) -> Scan<()> {
        self.save_simple_key()?;
        // No key right behind a scalar; a plain one sets this again where its line ends.
        self.simple_key_allowed = false;
        let token = scan(self)?;
        self.queue.push(token);
        Ok(())
    }

    fn fetch_block_scalar(&mut self, style: Style) -> Scan<()> {
        self.drop_simple_key()?;
        self.simple_key_allowed = true;
        let token = self.scan_block_scalar(style)?;
        self.queue.push(token);
        Ok(())
    }
}

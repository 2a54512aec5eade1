//! Plain and quoted scalars.
//!
//! A scalar on one line without escapes is a slice of the source; anything else is decoded into the scanner's buffer.
use super::Style;
use super::chars::{BLANKZ, COLON, FLOW, WIDE_BREAK, is, is_blank};
use super::error::{Fault, Mark, Scan};
use super::scan::Scanner;
use super::token::{Token, TokenKind};

const QUOTED: &str = "the quote starts here";

/// White space between two pieces of a scalar that holds a line break: how it reads.
#[derive(Default)]
pub(super) struct Fold {
    /// The first break where it is LS or PS, which are kept.
    first: &'static str,
    /// The breaks after the first one.
    rest: String,
    pub(super) seen: bool,
}

impl Fold {
    /// Takes the line break here.
    fn take(&mut self, scanner: &mut Scanner<'_>) {
        let kept = scanner.read_break();
        if self.seen {
            self.rest.push_str(kept);
        } else {
            self.first = if kept == "\n" { "" } else { kept };
            self.seen = true;
        }
    }

    /// Writes what the breaks read as and forgets them.
    fn write(&mut self, out: &mut String) {
        if self.first.is_empty() && self.rest.is_empty() {
            out.push(' ');
        }
        out.push_str(self.first);
        out.push_str(&self.rest);
        self.rest.clear();
        (self.first, self.seen) = ("", false);
    }
}

impl Scanner<'_> {
    /// Steps over the line break here; how it reads in a scalar.
    pub(super) fn read_break(&mut self) -> &'static str {
        let wide = (self.here() == 0xE2).then(|| self.at(self.pos + 2));
        self.skip_break();
        match wide {
            Some(0xA8) => "\u{2028}",
            Some(_) => "\u{2029}",
            None => "\n",
        }
    }

    fn slice_token(start: Mark, style: Style, end: u32, text: (usize, usize)) -> Token {
        Token { style, a: text.0 as u32, b: (text.1 - text.0) as u32, ..Token::new(TokenKind::Scalar, start, end) }
    }

    pub(super) fn decoded_token(&self, start: Mark, style: Style, end: u32, from: usize) -> Token {
        let token = Self::slice_token(start, style, end, (from, self.buf.len()));
        Token { decoded: true, ..token }
    }

    // ---- plain ----

    /// End of the run of characters that belong to a plain scalar, from `pos` on, blanks inside the line included.
    fn plain_run(&self, mut pos: usize) -> usize {
        let stop = BLANKZ
            | COLON
            | if self.flow_level > 0 { FLOW } else { 0 }
            | if self.facts.simple_breaks { 0 } else { WIDE_BREAK };
        let mut end = pos;
        loop {
            let byte = loop {
                let byte = self.at(pos);
                if is(byte, stop) {
                    break byte;
                }
                pos += 1;
            };
            if pos > end && !is_blank(self.at(pos - 1)) {
                end = pos;
            }
            match byte {
                b' ' | b'\t' => {
                    while is_blank(self.at(pos)) {
                        pos += 1;
                    }
                    if self.at(pos) == b'#' || self.is_blankz(pos) {
                        return end;
                    }
                }
                b':' if !self.is_blankz(pos + 1) => {
                    pos += 1;
                    end = pos;
                }
                0xC2 | 0xE2 if self.break_at(pos) == 0 => {
                    pos += 1;
                    end = pos;
                }
                _ => return end,
            }
        }
    }

    pub(super) fn scan_plain(&mut self) -> Scan<Token> {
        let start = self.mark();
        let indent = self.indent + 1;
        let first = self.plain_run(self.pos);
        let mut end = first;
        self.pos = first;
        let mut decoded: Option<usize> = None;
        let mut fold = Fold::default();
        loop {
            self.skip_plain_space(indent, start, &mut fold)?;
            // Within one line the run above went as far as it could.
            if !fold.seen
                || (self.flow_level == 0 && self.column() < indent)
                || self.here() == b'#'
                || self.at_document_indicator()
            {
                break;
            }
            let next = self.plain_run(self.pos);
            if next == self.pos {
                break;
            }
            let from = *decoded.get_or_insert_with(|| {
                let at = self.buf.len();
                self.buf.push_str(&self.text[start.pos as usize..first]);
                at
            });
            debug_assert!(from <= self.buf.len());
            fold.write(&mut self.buf);
            self.buf.push_str(&self.text[self.pos..next]);
            self.pos = next;
            end = next;
        }
        if fold.seen {
            self.simple_key_allowed = true;
        }
        Ok(match decoded {
            Some(from) => self.decoded_token(start, Style::Plain, end as u32, from),
            None => Self::slice_token(start, Style::Plain, end as u32, (start.pos as usize, end)),
        })
    }

    fn skip_plain_space(&mut self, indent: i32, start: Mark, fold: &mut Fold) -> Scan<()> {
        loop {
            let byte = self.here();
            if byte == b' ' {
                self.pos += 1;
            } else if byte == b'\t' {
                if fold.seen && self.column() < indent {
                    let message = "found a tab character that violates indentation";
                    return Err(Fault::lexical(Some((start, "the text starts here")), self.mark(), message));
                }
                self.pos += 1;
            } else if byte != 0 && self.break_at(self.pos) != 0 {
                fold.take(self);
            } else {
                return Ok(());
            }
        }
    }

    // ---- quoted ----

    pub(super) fn scan_quoted(&mut self, style: Style) -> Scan<Token> {
        let start = self.mark();
        self.pos += 1;
        let rest = &self.src[self.pos..];
        let single = style == Style::SingleQuoted;
        // Most quotes end on their line and hold nothing to decode.
        let found =
            if single { memchr::memchr2(b'\'', b'\n', rest) } else { memchr::memchr3(b'"', b'\\', b'\n', rest) };
        if let Some(len) = found {
            let end = self.pos + len;
            let closes = match rest[len] {
                b'\'' => self.at(end + 1) != b'\'',
                byte => byte == b'"',
            };
            if closes && (self.facts.simple_breaks || (self.pos..end).all(|at| self.break_at(at) == 0)) {
                let text = (self.pos, end);
                self.pos = end + 1;
                return Ok(Self::slice_token(start, style, self.pos as u32, text));
            }
        }
        let from = self.buf.len();
        self.decode_quoted(start, single)?;
        self.pos += 1;
        Ok(self.decoded_token(start, style, self.pos as u32, from))
    }

    /// Decodes up to the closing quote.
    fn decode_quoted(&mut self, start: Mark, single: bool) -> Scan<()> {
        let quote = if single { b'\'' } else { b'"' };
        let mut fold = Fold::default();
        loop {
            if self.at_document_indicator() {
                return Err(self.quote_fault(start, "found unexpected document indicator"));
            }
            if self.pos >= self.src.len() {
                return Err(self.quote_fault(start, "found unexpected end of stream"));
            }
            let mut escaped_break = false;
            let mut from = self.pos;
            while !self.is_blankz(self.pos) {
                let byte = self.here();
                if single && byte == b'\'' && self.at(self.pos + 1) == b'\'' {
                    self.buf.push_str(&self.text[from..=self.pos]);
                    self.pos += 2;
                    from = self.pos;
                } else if byte == quote {
                    break;
                } else if !single && byte == b'\\' {
                    self.buf.push_str(&self.text[from..self.pos]);
                    self.pos += 1;
                    if self.skip_break() != 0 {
                        escaped_break = true;
                        from = self.pos;
                        break;
                    }
                    self.decode_escape(start)?;
                    from = self.pos;
                } else {
                    self.pos += 1;
                }
            }
            self.buf.push_str(&self.text[from..self.pos]);
            if self.here() == quote {
                return Ok(());
            }
            self.quoted_space(&mut fold, escaped_break);
        }
    }

    /// White space inside a quote: kept within a line, folded where a break is.
    fn quoted_space(&mut self, fold: &mut Fold, escaped_break: bool) {
        let from = self.pos;
        let mut end = from;
        let mut blanks = true;
        while self.pos < self.src.len() {
            if is_blank(self.here()) {
                self.pos += 1;
                if blanks {
                    end = self.pos;
                }
            } else if self.break_at(self.pos) != 0 {
                blanks = false;
                if escaped_break {
                    // Behind an escaped break, all breaks are kept.
                    let kept = self.read_break();
                    fold.rest.push_str(kept);
                } else {
                    fold.take(self);
                }
            } else {
                break;
            }
        }
        if escaped_break {
            self.buf.push_str(&fold.rest);
            fold.rest.clear();
        } else if fold.seen {
            fold.write(&mut self.buf);
        } else {
            self.buf.push_str(&self.text[from..end]);
        }
    }

    fn quote_fault(&self, start: Mark, message: &str) -> Fault {
        Fault::lexical(Some((start, QUOTED)), self.mark(), message)
    }

    /// Decodes the escape sequence whose `\` lies just behind us.
    fn decode_escape(&mut self, start: Mark) -> Scan<()> {
        let (digits, c) = match self.here() {
            b'0' => (0, '\0'),
            b'a' => (0, '\x07'),
            b'b' => (0, '\x08'),
            b't' | b'\t' => (0, '\t'),
            b'n' => (0, '\n'),
            b'v' => (0, '\x0B'),
            b'f' => (0, '\x0C'),
            b'r' => (0, '\r'),
            b'e' => (0, '\x1B'),
            b' ' => (0, ' '),
            b'"' => (0, '"'),
            b'\'' => (0, '\''),
            b'\\' => (0, '\\'),
            b'N' => (0, '\u{85}'),
            b'_' => (0, '\u{A0}'),
            b'L' => (0, '\u{2028}'),
            b'P' => (0, '\u{2029}'),
            b'x' => (2, '\0'),
            b'u' => (4, '\0'),
            b'U' => (8, '\0'),
            _ => {
                self.pos -= 1;
                return Err(self.quote_fault(start, "found unknown escape character"));
            }
        };
        self.pos += 1;
        if digits == 0 {
            self.buf.push(c);
            return Ok(());
        }
        let mut value: u32 = 0;
        for k in 0..digits {
            let Some(digit) = char::from(self.at(self.pos + k)).to_digit(16) else {
                return Err(self.quote_fault(start, "did not find expected hexdecimal number"));
            };
            value = value.wrapping_shl(4) | digit;
        }
        match char::from_u32(value) {
            Some(c) => self.buf.push(c),
            None => return Err(self.quote_fault(start, "found invalid Unicode character escape code")),
        }
        self.pos += digits;
        Ok(())
    }
}

//! Anchors, aliases, tags and directives.
use super::chars::{URI, WORD, is, is_blank};
use super::error::{Fault, Mark, Scan};
use super::scan::Scanner;
use super::token::{Token, TokenKind};

const DIRECTIVE: &str = "the directive starts here";

impl Scanner<'_> {
    fn word_end(&self, mut pos: usize) -> usize {
        while is(self.at(pos), WORD) {
            pos += 1;
        }
        pos
    }

    /// `&name` or `*name`.
    pub(super) fn scan_name(&mut self, kind: TokenKind) -> Scan<Token> {
        let start = self.mark();
        let from = self.pos + 1;
        self.pos = self.word_end(from);
        let ends = self.is_blankz(self.pos) || b"?:,]}%@`".contains(&self.here());
        if self.pos == from || !ends {
            let what = if kind == TokenKind::Anchor { "the anchor starts here" } else { "the alias starts here" };
            let message = "did not find expected alphabetic or numeric character";
            return Err(Fault::lexical(Some((start, what)), self.mark(), message));
        }
        let token = Token::new(kind, start, self.pos as u32);
        Ok(Token { a: from as u32, b: (self.pos - from) as u32, ..token })
    }

    fn name_token(&mut self, kind: TokenKind, start: Mark, names: (String, String)) -> Token {
        let a = self.names.len() as u32;
        self.names.push(names);
        Token { a, ..Token::new(kind, start, self.pos as u32) }
    }

    /// `!`, `!suffix`, `!handle!suffix` or `!<uri>`.
    pub(super) fn scan_tag(&mut self) -> Scan<Token> {
        let start = self.mark();
        let (handle, suffix) = if self.at(self.pos + 1) == b'<' {
            self.pos += 2;
            let uri = self.scan_uri(String::new(), false, start)?;
            if self.here() != b'>' {
                return Err(self.tag_fault(start, false, "did not find the expected '>'"));
            }
            self.pos += 1;
            (String::new(), uri)
        } else {
            let handle = self.scan_handle(false, start)?;
            if handle.len() > 1 && handle.ends_with('!') {
                let suffix = self.scan_uri(String::new(), false, start)?;
                (handle, suffix)
            } else {
                // No handle after all, but the start of the suffix.
                let suffix = self.scan_uri(handle, false, start)?;
                match suffix.strip_prefix('!') {
                    Some("") | None => (String::new(), suffix),
                    Some(rest) => ("!".to_string(), rest.to_string()),
                }
            }
        };
        if !self.is_blankz(self.pos) {
            return Err(self.tag_fault(start, false, "did not find expected whitespace or line break"));
        }
        Ok(self.name_token(TokenKind::Tag, start, (handle, suffix)))
    }

    fn scan_handle(&mut self, directive: bool, start: Mark) -> Scan<String> {
        if self.here() != b'!' {
            return Err(self.tag_fault(start, directive, "did not find expected '!'"));
        }
        let from = self.pos;
        self.pos = self.word_end(from + 1);
        if self.here() == b'!' {
            self.pos += 1;
        } else if directive && self.pos > from + 1 {
            return Err(self.tag_fault(start, directive, "did not find expected '!'"));
        }
        Ok(self.text[from..self.pos].to_string())
    }

    /// Reads a URI behind `head`, which may be empty.
    fn scan_uri(&mut self, head: String, directive: bool, start: Mark) -> Scan<String> {
        let mut uri = head.into_bytes();
        while is(self.here(), WORD | URI) {
            if self.here() == b'%' {
                self.scan_uri_escape(&mut uri, directive, start)?;
            } else {
                uri.push(self.here());
                self.pos += 1;
            }
        }
        if uri.is_empty() {
            return Err(self.tag_fault(start, directive, "did not find expected tag URI"));
        }
        String::from_utf8(uri).map_err(|_| self.tag_fault(start, directive, "found an incorrect trailing UTF-8 octet"))
    }

    fn scan_uri_escape(&mut self, uri: &mut Vec<u8>, directive: bool, start: Mark) -> Scan<()> {
        let mut left = 1;
        let mut first = true;
        while left > 0 {
            let digits = [self.at(self.pos + 1), self.at(self.pos + 2)].map(|b| char::from(b).to_digit(16));
            let (b'%', [Some(high), Some(low)]) = (self.here(), digits) else {
                return Err(self.tag_fault(start, directive, "did not find URI escaped octet"));
            };
            let octet = (high << 4 | low) as u8;
            if first {
                left = match octet {
                    0..=0x7F => 1,
                    0xC0..=0xDF => 2,
                    0xE0..=0xEF => 3,
                    0xF0..=0xF7 => 4,
                    _ => return Err(self.tag_fault(start, directive, "found an incorrect leading UTF-8 octet")),
                };
                first = false;
            } else if octet & 0xC0 != 0x80 {
                return Err(self.tag_fault(start, directive, "found an incorrect trailing UTF-8 octet"));
            }
            uri.push(octet);
            self.pos += 3;
            left -= 1;
        }
        Ok(())
    }

    fn tag_fault(&self, start: Mark, directive: bool, message: &str) -> Fault {
        let what = if directive { DIRECTIVE } else { "the tag starts here" };
        Fault::lexical(Some((start, what)), self.mark(), message)
    }

    fn directive_fault(&self, start: Mark, message: &str) -> Fault {
        Fault::lexical(Some((start, DIRECTIVE)), self.mark(), message)
    }

    /// `%YAML 1.1` or `%TAG !handle! prefix`, with its line break.
    pub(super) fn scan_directive(&mut self) -> Scan<Token> {
        let start = self.mark();
        let from = self.pos + 1;
        self.pos = self.word_end(from);
        if self.pos == from {
            return Err(self.directive_fault(start, "could not find expected directive name"));
        }
        if !self.is_blankz(self.pos) {
            return Err(self.directive_fault(start, "found unexpected non-alphabetical character"));
        }
        let token = match &self.text[from..self.pos] {
            "YAML" => self.scan_version(start)?,
            "TAG" => self.scan_tag_directive(start)?,
            _ => return Err(self.directive_fault(start, "found unknown directive name")),
        };
        self.skip_blanks();
        if self.here() == b'#' {
            self.pos = self.line_end(self.pos);
        }
        if !self.is_breakz(self.pos) {
            return Err(self.directive_fault(start, "did not find expected comment or line break"));
        }
        self.skip_break();
        Ok(token)
    }

    fn scan_version(&mut self, start: Mark) -> Scan<Token> {
        self.skip_blanks();
        let major = self.scan_version_number(start)?;
        if self.here() != b'.' {
            return Err(self.directive_fault(start, "did not find expected digit or '.' character"));
        }
        self.pos += 1;
        let minor = self.scan_version_number(start)?;
        Ok(Token { a: major, b: minor, ..Token::new(TokenKind::Version, start, self.pos as u32) })
    }

    fn scan_version_number(&mut self, start: Mark) -> Scan<u32> {
        let mut value = 0;
        let mut length = 0;
        while self.here().is_ascii_digit() {
            length += 1;
            if length > 2 {
                return Err(self.directive_fault(start, "found extremely long version number"));
            }
            value = value * 10 + u32::from(self.here() - b'0');
            self.pos += 1;
        }
        if length == 0 {
            return Err(self.directive_fault(start, "did not find expected version number"));
        }
        Ok(value)
    }

    fn scan_tag_directive(&mut self, start: Mark) -> Scan<Token> {
        self.skip_blanks();
        let handle = self.scan_handle(true, start)?;
        if !is_blank(self.here()) {
            return Err(self.directive_fault(start, "did not find expected whitespace"));
        }
        self.skip_blanks();
        let prefix = self.scan_uri(String::new(), true, start)?;
        if !self.is_blankz(self.pos) {
            return Err(self.directive_fault(start, "did not find expected whitespace or line break"));
        }
        Ok(self.name_token(TokenKind::TagDirective, start, (handle, prefix)))
    }
}

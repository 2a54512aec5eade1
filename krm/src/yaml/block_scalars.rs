//! Literal and folded scalars.
use super::Style;
use super::chars::is_blank;
use super::error::{Fault, Mark, Scan};
use super::scan::Scanner;
use super::token::Token;

const BLOCK: &str = "the block scalar starts here";

/// What to do with the line breaks at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomp {
    /// `-`: drop all.
    Strip,
    /// Keep one.
    Clip,
    /// `+`: keep all.
    Keep,
}

impl Scanner<'_> {
    pub(super) fn scan_block_scalar(&mut self, style: Style) -> Scan<Token> {
        let start = self.mark();
        self.pos += 1;
        let (chomp, increment, mut end) = self.block_header(start)?;
        self.skip_break();
        let mut indent = if increment > 0 { self.indent.max(0) + increment } else { 0 };
        let from = self.buf.len();
        // Breaks that stand before the next line, if one comes: the one that ends the line above, and empty lines.
        let mut first_break = "";
        let mut empty_lines = String::new();
        self.skip_empty_lines(&mut indent, &mut empty_lines, start)?;
        let mut was_blank = false;
        while self.pos < self.src.len() && self.column() == indent {
            let blank = is_blank(self.here());
            if style == Style::Folded && !was_blank && !blank && first_break == "\n" {
                if empty_lines.is_empty() {
                    self.buf.push(' ');
                }
            } else {
                self.buf.push_str(first_break);
            }
            self.buf.push_str(&empty_lines);
            empty_lines.clear();
            was_blank = blank;
            let line_end = self.line_end(self.pos);
            self.buf.push_str(&self.text[self.pos..line_end]);
            self.pos = line_end;
            end = line_end;
            first_break = if self.pos < self.src.len() { self.read_break() } else { "" };
            self.skip_empty_lines(&mut indent, &mut empty_lines, start)?;
        }
        if chomp != Chomp::Strip {
            self.buf.push_str(first_break);
        }
        if chomp == Chomp::Keep {
            self.buf.push_str(&empty_lines);
            end = self.end_of_kept_lines(end);
        }
        Ok(self.decoded_token(start, style, end as u32, from))
    }

    /// The end of the last empty line that belongs to a scalar which keeps them, before its break.
    fn end_of_kept_lines(&self, end: usize) -> usize {
        let line_start = self.src[..self.pos].iter().rposition(|b| *b == b'\n').unwrap_or(0);
        line_start.max(end)
    }

    /// Reads the indicators and a comment behind them up to the end of the line; where the indicators end.
    fn block_header(&mut self, start: Mark) -> Scan<(Chomp, i32, usize)> {
        let mut chomp = Chomp::Clip;
        let mut increment = 0;
        for _ in 0..2 {
            match self.here() {
                b'+' if chomp == Chomp::Clip => chomp = Chomp::Keep,
                b'-' if chomp == Chomp::Clip => chomp = Chomp::Strip,
                b'0' if increment == 0 => {
                    return Err(self.block_fault(start, "found an indentation indicator equal to 0"));
                }
                digit @ b'1'..=b'9' if increment == 0 => increment = i32::from(digit - b'0'),
                _ => break,
            }
            self.pos += 1;
        }
        let end = self.pos;
        self.skip_blanks();
        if self.here() == b'#' {
            self.scan_line_comment(start.pos);
            self.pos = self.line_end(self.pos);
        }
        if !self.is_breakz(self.pos) {
            return Err(self.block_fault(start, "did not find expected comment or line break"));
        }
        Ok((chomp, increment, end))
    }

    /// Steps over empty lines and the indentation of the next line; finds the indentation where it is not known.
    fn skip_empty_lines(&mut self, indent: &mut i32, empty_lines: &mut String, start: Mark) -> Scan<()> {
        let mut widest = 0;
        loop {
            let mut column = self.column();
            while (*indent == 0 || column < *indent) && self.here() == b' ' {
                self.pos += 1;
                column += 1;
            }
            widest = widest.max(column);
            if (*indent == 0 || column < *indent) && self.here() == b'\t' {
                let message = "found a tab character where an indentation space is expected";
                return Err(self.block_fault(start, message));
            }
            if self.pos >= self.src.len() || self.break_at(self.pos) == 0 {
                break;
            }
            let kept = self.read_break();
            empty_lines.push_str(kept);
        }
        if *indent == 0 {
            *indent = widest.max(self.indent + 1).max(1);
        }
        Ok(())
    }

    fn block_fault(&self, start: Mark, message: &str) -> Fault {
        Fault::lexical(Some((start, BLOCK)), self.mark(), message)
    }
}

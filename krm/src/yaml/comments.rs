//! Comments while scanning: which token each one belongs to.
//!
//! The rules are those of go-yaml v3, down to its corner cases: what kpt writes depends on them. A comment behind a
//! token on its line is a line comment. One on its own line is the head of what follows, unless a blank line follows
//! it or it is indented less than what follows: then it is the foot of what came before.
use super::chars::is_blank;
use super::error::Mark;
use super::scan::Scanner;
use super::token::TokenKind;

/// No comment is looked for behind more white space than this.
const REACH: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Head,
    Line,
    Foot,
    /// Already given to a node.
    Taken,
}

#[derive(Debug)]
pub(super) struct Comment {
    pub(super) place: Place,
    pub(super) text: String,
    /// The first token that starts here or later takes the comment.
    pub(super) token: u32,
    /// Where its first `#` is. Columns count from 1 for comments on their own line.
    line: u32,
    column: i32,
    start: u32,
    /// Where the white space before it starts, and where what belongs to it ends.
    scan: u32,
    end: u32,
}

impl Scanner<'_> {
    /// Line breaks since the last character that is not white space.
    fn line_breaks_before(&self) -> u32 {
        let mut breaks = 0;
        let mut at = self.pos;
        while at > self.start {
            let before = self.src[at - 1];
            let len = match before {
                b' ' | b'\t' => {
                    at -= 1;
                    continue;
                }
                b'\n' if at >= self.start + 2 && self.src[at - 2] == b'\r' => 2,
                b'\n' | b'\r' => 1,
                0x85 if at >= self.start + 2 && self.src[at - 2] == 0xC2 => 2,
                0xA8 | 0xA9 if at >= self.start + 3 && self.src[at - 3..at - 1] == [0xE2, 0x80] => 3,
                _ => break,
            };
            at -= len;
            breaks += 1;
        }
        breaks
    }

    /// Takes the comment behind the token that was just scanned; `token` is where the token it belongs to starts.
    pub(super) fn scan_line_comment(&mut self, token: u32) {
        let mut at = self.pos;
        while is_blank(self.at(at)) && at - self.pos < REACH {
            at += 1;
        }
        if self.at(at) != b'#' || at - self.pos >= REACH || self.line_breaks_before() > 0 {
            return;
        }
        self.pos = at;
        let column = self.column();
        let end = self.line_end(at);
        let text = self.text[at..end].to_string();
        let (line, start) = (self.line, at as u32);
        self.comments.push(Comment { place: Place::Line, text, token, line, column, start, scan: 0, end: 0 });
        self.pos = end;
    }

    /// A comment behind a `-` alone is the head of what follows on the next lines.
    pub(super) fn turn_entry_comment(&mut self) {
        let opens = self.queue.last(0).is_some_and(|t| t.kind == TokenKind::Entry)
            && self.queue.last(1).is_some_and(|t| t.kind == TokenKind::SequenceStart);
        if !opens || self.break_at(self.pos) != 0 {
            return;
        }
        let (pos, line) = (self.pos as u32, self.line);
        if let Some(comment) = self.comments.last_mut()
            && comment.place == Place::Line
        {
            comment.place = Place::Head;
            if comment.line + 1 == line {
                comment.token = pos;
            }
        }
    }

    /// Takes the comments that start here, up to the next token; `before` is where the white space before them starts.
    pub(super) fn scan_comments(&mut self, before: Mark) {
        let mut last = self.queue.last(0);
        if last.is_some_and(|t| t.kind == TokenKind::FlowEntry) {
            last = self.queue.last(1).or(last);
        }
        let (mut token, behind_value) = last.map_or((0, false), |t| (t.start, t.kind == TokenKind::Value));
        let breaks = self.line_breaks_before();
        let mut scan = before.pos;
        let mut first_gap = breaks <= 1;
        let mut after_gap = false;
        let mut line = self.line;
        let mut column = self.column();
        // A foot starts on the line below what it belongs to.
        let foot_line = (before.line > 0).then(|| {
            let on_content_line = breaks == 0 && column > 1;
            i64::from(line) - i64::from(breaks) + 1 + i64::from(on_content_line)
        });
        let indent = self.indent.max(0);
        let mut start = Mark::default();
        let mut start_column = 0;
        let mut text = String::new();
        let mut ahead = 0;
        while ahead < REACH {
            let at = self.pos + ahead;
            column += 1;
            let byte = self.at(at);
            if is_blank(byte) {
                ahead += 1;
                continue;
            }
            let closes = self.flow_level > 0 && matches!(byte, b']' | b'}');
            if closes || self.is_breakz(at) {
                if closes || !after_gap {
                    let dedented = start_column - 1 < indent;
                    let below = foot_line == Some(i64::from(start.line)) && !behind_value;
                    if closes || (first_gap && (below || dedented)) {
                        if !text.is_empty() {
                            if dedented {
                                token = start.pos;
                            }
                            self.foot(std::mem::take(&mut text), token, start, start_column, scan, at);
                            scan = at as u32;
                            token = scan;
                        }
                    } else if !text.is_empty() && byte != 0 {
                        text.push('\n');
                    }
                }
                if at >= self.src.len() || self.break_at(at) == 0 {
                    break;
                }
                first_gap = false;
                after_gap = true;
                column = 0;
                line += 1;
                ahead += 1;
                continue;
            }
            if !text.is_empty() && column - 1 < indent && column != start_column {
                // Another indentation: the foot of what came before, not the head of what follows.
                self.foot(std::mem::take(&mut text), token, start, start_column, scan, at);
                scan = at as u32;
                token = scan;
            }
            if byte != b'#' {
                break;
            }
            if text.is_empty() {
                (start, start_column) = (Mark { pos: at as u32, line }, column);
            } else {
                text.push('\n');
            }
            after_gap = false;
            while self.pos < at {
                if self.skip_break() == 0 {
                    self.pos += 1;
                }
            }
            let end = self.line_end(at);
            text.push_str(&self.text[at..end]);
            self.pos = end;
            // The break behind the comment is stepped over without being counted as a line of its own.
            ahead = 1;
            column = 0;
            line = self.line;
        }
        if !text.is_empty() {
            let end = (self.pos + ahead).saturating_sub(1) as u32;
            let (place, token) = (Place::Head, start.pos);
            let (line, start) = (start.line, start.pos);
            self.comments.push(Comment { place, text, token, line, column: start_column, start, scan, end });
        }
    }

    fn foot(&mut self, text: String, token: u32, start: Mark, column: i32, scan: u32, end: usize) {
        let place = Place::Foot;
        let (line, start, end) = (start.line, start.pos, end as u32);
        self.comments.push(Comment { place, text, token, line, column, start, scan, end });
    }

    /// Where the innermost block ends: before the comments that stand at its own indentation.
    pub(super) fn end_before_comments(&self, end: Mark) -> Mark {
        let mut end = end;
        let mut stop = end.pos;
        for comment in self.comments.iter().rev() {
            if comment.place == Place::Taken || comment.end < stop {
                break;
            }
            if comment.column == self.indent + 1 {
                end = Mark { pos: comment.start, line: comment.line };
            }
            stop = comment.scan;
        }
        end
    }
}

//! Text to tokens: indentation, brackets, literals.

use super::token::{self, Token};
use super::{At, Fault};

/// Where the indentation of a line lies, and how many columns it counts for.
#[derive(Debug)]
pub(super) struct Indent {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) width: u32,
}

#[derive(Debug)]
pub(super) struct Scanned {
    /// Ends with [`Token::End`] or [`Token::Bad`].
    pub(super) tokens: Vec<(Token, At)>,
    /// Indentations that hold a tab.
    pub(super) tabs: Vec<Indent>,
    /// The first `while`, refused.
    pub(super) while_loop: Option<Fault>,
}

const TAB: u32 = 8;

pub(super) fn scan(source: &str) -> Scanned {
    let mut scanner = Scanner {
        source,
        offset: 0,
        at: At { line: 1, column: 1 },
        brackets: 0,
        indents: vec![0],
        out: Scanned { tokens: Vec::with_capacity(source.len() / 4), tabs: Vec::new(), while_loop: None },
    };
    if let Err((at, message)) = scanner.run() {
        scanner.out.tokens.push((Token::Bad(message), at));
    }
    scanner.out
}

type Refusal = (At, String);

struct Scanner<'s> {
    source: &'s str,
    offset: usize,
    at: At,
    brackets: u32,
    indents: Vec<u32>,
    out: Scanned,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        &self.source[self.offset..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn peek_second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.offset += c.len_utf8();
        if c == '\n' {
            self.at = At { line: self.at.line + 1, column: 1 };
        } else {
            self.at.column += 1;
        }
        Some(c)
    }

    fn bump_while(&mut self, holds: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&holds) {
            self.bump();
        }
    }

    fn push(&mut self, token: Token, at: At) {
        self.out.tokens.push((token, at));
    }

    fn run(&mut self) -> Result<(), Refusal> {
        let mut line_start = true;
        loop {
            if line_start {
                self.indentation()?;
                line_start = false;
            }
            self.bump_while(|c| c == ' ' || c == '\t' || c == '\r');
            let at = self.at;
            match self.peek() {
                None => {
                    // inside a block the last line ends even without its line feed
                    if self.indents.len() > 1 && self.brackets == 0 {
                        if !matches!(self.out.tokens.last(), Some((Token::Newline | Token::Outdent, _))) {
                            self.push(Token::Newline, at);
                        }
                        for _ in 1..self.indents.len() {
                            self.push(Token::Outdent, at);
                        }
                    }
                    self.push(Token::End, at);
                    return Ok(());
                }
                Some('#') => self.bump_while(|c| c != '\n'),
                Some('\n') => {
                    self.bump();
                    if self.brackets == 0 {
                        self.push(Token::Newline, at);
                        line_start = true;
                    }
                }
                Some('\\') => {
                    self.bump();
                    self.bump_while(|c| c == '\r');
                    if self.peek() != Some('\n') {
                        return Err((at, "stray backslash in program".to_owned()));
                    }
                    self.bump();
                }
                Some(_) => self.token(at)?,
            }
        }
    }

    /// At the start of a line: skips blank and comment lines, then opens or closes blocks.
    fn indentation(&mut self) -> Result<(), Refusal> {
        loop {
            let start = self.offset;
            let (mut width, mut tabs) = (0, false);
            loop {
                match self.peek() {
                    Some(' ') => width += 1,
                    Some('\t') => {
                        tabs = true;
                        width = (width / TAB + 1) * TAB;
                    }
                    Some('\r') => {}
                    _ => break,
                }
                self.bump();
            }
            if tabs {
                self.out.tabs.push(Indent { start, end: self.offset, width });
            }
            match self.peek() {
                Some('#') => {
                    self.bump_while(|c| c != '\n');
                    self.bump();
                }
                Some('\n') => {
                    self.bump();
                }
                None => return Ok(()),
                Some(_) => return self.block(width),
            }
        }
    }

    fn block(&mut self, width: u32) -> Result<(), Refusal> {
        let at = self.at;
        let now = *self.indents.last().expect("the outermost block stays");
        if width > now {
            self.indents.push(width);
            self.push(Token::Indent, at);
        }
        while width < *self.indents.last().expect("the outermost block stays") {
            self.indents.pop();
            self.push(Token::Outdent, at);
            if width > *self.indents.last().expect("the outermost block has width 0") {
                return Err((at, "unindent does not match any outer indentation level".to_owned()));
            }
        }
        Ok(())
    }

    fn token(&mut self, at: At) -> Result<(), Refusal> {
        let Some(c) = self.peek() else { return Ok(()) };
        if c == '"' || c == '\'' {
            return self.string(at, false, false);
        }
        if c.is_ascii_digit() || (c == '.' && self.peek_second().is_some_and(|d| d.is_ascii_digit())) {
            return self.number(at);
        }
        if c == '_' || c.is_alphabetic() {
            let start = self.offset;
            self.bump_while(|c| c == '_' || c.is_alphanumeric());
            let text = &self.source[start..self.offset];
            if matches!(self.peek(), Some('"' | '\'')) && matches!(text, "r" | "b" | "rb" | "br") {
                let (raw, bytes) = (text.contains('r'), text.contains('b'));
                return self.string(at, raw, bytes);
            }
            let token = token::word(text);
            if token == Token::Keyword("while") && self.out.while_loop.is_none() {
                self.out.while_loop = Some(Fault {
                    at,
                    message: "`while` loops are not supported: write `for _ in range(N):` with a bound and `break`"
                        .to_owned(),
                    last_word: true,
                });
            }
            self.push(token, at);
            return Ok(());
        }
        let Some(sign) = token::sign(self.rest()) else {
            return Err((at, format!("unexpected input character {}", quoted(c))));
        };
        match sign {
            "(" | "[" | "{" => self.brackets += 1,
            ")" | "]" | "}" => {
                if self.brackets == 0 {
                    return Err((at, format!("unexpected '{sign}'")));
                }
                self.brackets -= 1;
            }
            _ => {}
        }
        for _ in 0..sign.len() {
            self.bump();
        }
        self.push(Token::Sign(sign), at);
        Ok(())
    }

    fn string(&mut self, at: At, raw: bool, bytes: bool) -> Result<(), Refusal> {
        let quote = self.bump().unwrap_or('"');
        let triple = self.peek() == Some(quote) && self.peek_second() == Some(quote);
        if triple {
            self.bump();
            self.bump();
        }
        let mut run = 0;
        loop {
            let here = self.at;
            match self.bump() {
                None => {
                    return Err((if triple { at } else { here }, "unexpected EOF in string".to_owned()));
                }
                Some('\n') if !triple => return Err((here, "unexpected newline in string".to_owned())),
                Some('\\') => {
                    run = 0;
                    if raw {
                        // a raw string keeps its backslashes, but a quote behind one does not end it
                        if self.peek() == Some('\r') {
                            self.bump();
                        }
                        self.bump();
                    } else {
                        self.escape(at)?;
                    }
                }
                Some(c) if c == quote => {
                    run += 1;
                    if !triple || run == 3 {
                        break;
                    }
                }
                Some(_) => run = 0,
            }
        }
        self.push(if bytes { Token::Bytes } else { Token::Str }, at);
        Ok(())
    }

    /// Behind a backslash. Only the shape is looked at; the evaluator decodes.
    fn escape(&mut self, at: At) -> Result<(), Refusal> {
        let Some(c) = self.bump() else { return Err((at, "unexpected EOF in string".to_owned())) };
        match c {
            'a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '\\' | '\'' | '"' | '\n' | 'x' | 'u' | 'U' | '0'..='7' => Ok(()),
            '\r' if self.peek() == Some('\n') => Ok(()),
            _ => Err((at, format!("invalid escape sequence \\{c}"))),
        }
    }

    fn number(&mut self, at: At) -> Result<(), Refusal> {
        let start = self.offset;
        if self.peek() == Some('0') {
            let radix = match self.peek_second() {
                Some('x' | 'X') => Some((16, "hex")),
                Some('o' | 'O') => Some((8, "octal")),
                Some('b' | 'B') => Some((2, "binary")),
                _ => None,
            };
            if let Some((radix, name)) = radix {
                self.bump();
                self.bump();
                let digits = self.offset;
                self.bump_while(|c| c.is_digit(radix));
                if digits == self.offset {
                    return Err((at, format!("invalid {name} literal")));
                }
                self.push(Token::Int, at);
                return Ok(());
            }
        }
        self.bump_while(|c| c.is_ascii_digit());
        let mut float = false;
        if self.peek() == Some('.') {
            float = true;
            self.bump();
            self.bump_while(|c| c.is_ascii_digit());
        }
        if matches!(self.peek(), Some('e' | 'E')) {
            float = true;
            self.bump();
            if matches!(self.peek(), Some('+' | '-')) {
                self.bump();
            }
            if !self.peek().is_some_and(|c| c.is_ascii_digit()) {
                return Err((at, "invalid float literal".to_owned()));
            }
            self.bump_while(|c| c.is_ascii_digit());
        }
        let text = &self.source[start..self.offset];
        if !float && text.len() > 1 && text.starts_with('0') && text.bytes().any(|b| b != b'0') {
            let digits = text.trim_start_matches('0');
            return Err((at, format!("obsolete form of octal literal; use 0o{digits}")));
        }
        self.push(if float { Token::Float } else { Token::Int }, at);
        Ok(())
    }
}

/// A character as Go's `%#q` shows it.
fn quoted(c: char) -> String {
    if c.is_control() { format!("'{}'", c.escape_default()) } else { format!("'{c}'") }
}

//! From the bytes of a file to its text, and back.
use std::borrow::Cow;
use std::ops::Range;

use super::error::{Fault, Mark, ParseError};
use super::tree::Position;

/// How a file writes its characters and line ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoding {
    unicode: Unicode,
    bom: bool,
    breaks: Breaks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unicode {
    Utf8,
    Utf16Le,
    Utf16Be,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Breaks {
    Lf,
    Crlf,
    /// Both: where in the text the line feeds are that had a carriage return, and whether most had.
    Mixed {
        with_return: Vec<u32>,
        mostly: bool,
    },
}

impl Encoding {
    /// The bytes that the file starts with: its byte order mark, or nothing.
    pub fn byte_order_mark(&self) -> &'static [u8] {
        match (self.bom, self.unicode) {
            (false, _) => b"",
            (true, Unicode::Utf8) => b"\xEF\xBB\xBF",
            (true, Unicode::Utf16Le) => b"\xFF\xFE",
            (true, Unicode::Utf16Be) => b"\xFE\xFF",
        }
    }

    /// The bytes that a part of the file's text was read from.
    pub fn original<'t>(&self, text: &'t str, range: Range<usize>) -> Cow<'t, [u8]> {
        let part = &text[range.clone()];
        match &self.breaks {
            Breaks::Lf => self.characters(Cow::Borrowed(part)),
            Breaks::Crlf => self.characters(Cow::Owned(part.replace('\n', "\r\n"))),
            Breaks::Mixed { with_return, .. } => {
                let mut out = String::with_capacity(part.len());
                let mut from = range.start;
                let first = with_return.partition_point(|at| (*at as usize) < range.start);
                for at in with_return[first..].iter().map(|at| *at as usize).take_while(|at| *at < range.end) {
                    out.push_str(&text[from..at]);
                    out.push('\r');
                    from = at;
                }
                out.push_str(&text[from..range.end]);
                self.characters(Cow::Owned(out))
            }
        }
    }

    /// New text as the file would hold it, with the line end that most of its lines have.
    pub fn encode<'t>(&self, text: &'t str) -> Cow<'t, [u8]> {
        match &self.breaks {
            Breaks::Crlf | Breaks::Mixed { mostly: true, .. } => {
                self.characters(Cow::Owned(text.replace('\n', "\r\n")))
            }
            Breaks::Lf | Breaks::Mixed { .. } => self.characters(Cow::Borrowed(text)),
        }
    }

    fn characters<'t>(&self, text: Cow<'t, str>) -> Cow<'t, [u8]> {
        match self.unicode {
            Unicode::Utf8 => match text {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
            Unicode::Utf16Le => Cow::Owned(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Unicode::Utf16Be => Cow::Owned(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        }
    }
}

/// The text of a file: UTF-8 without byte order mark, lines ended by LF.
pub(super) fn decode(bytes: &[u8]) -> Result<(Cow<'_, str>, Encoding), ParseError> {
    let (unicode, bom, text) = match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => (Unicode::Utf8, true, utf8(rest)?),
        [0xFF, 0xFE, rest @ ..] => (Unicode::Utf16Le, true, utf16(rest, u16::from_le_bytes)?),
        [0xFE, 0xFF, rest @ ..] => (Unicode::Utf16Be, true, utf16(rest, u16::from_be_bytes)?),
        _ => (Unicode::Utf8, false, utf8(bytes)?),
    };
    let (text, breaks) = normalise(text);
    Ok((text, Encoding { unicode, bom, breaks }))
}

fn normalise(text: Cow<'_, str>) -> (Cow<'_, str>, Breaks) {
    let bytes = text.as_bytes();
    if !memchr::memchr_iter(b'\r', bytes).any(|at| bytes.get(at + 1) == Some(&b'\n')) {
        return (text, Breaks::Lf);
    }
    let mut out = String::with_capacity(text.len());
    let mut with_return = Vec::new();
    let mut from = 0;
    for at in memchr::memchr_iter(b'\r', bytes).filter(|at| bytes.get(at + 1) == Some(&b'\n')) {
        out.push_str(&text[from..at]);
        with_return.push(out.len() as u32);
        from = at + 1;
    }
    out.push_str(&text[from..]);
    let lines = memchr::memchr_iter(b'\n', out.as_bytes()).count();
    let breaks = if lines == with_return.len() {
        Breaks::Crlf
    } else {
        Breaks::Mixed { mostly: with_return.len() * 2 > lines, with_return }
    };
    (Cow::Owned(out), breaks)
}

fn utf8(bytes: &[u8]) -> Result<Cow<'_, str>, ParseError> {
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|e| {
        let at = e.valid_up_to();
        let valid = String::from_utf8_lossy(&bytes[..at]);
        let message = match (e.error_len(), bytes[at]) {
            (None, _) => "incomplete UTF-8 octet sequence",
            (Some(_), 0x80..=0xBF | 0xF8..) => "invalid leading UTF-8 octet",
            (Some(_), _) => "invalid trailing UTF-8 octet",
        };
        Fault::lineless(Mark { pos: at as u32, line: 0 }, message).into_error(&valid, 0)
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Cow<'static, str>, ParseError> {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(pairs.len());
    let fail = |text: &str, message| {
        Err(Fault::lineless(Mark { pos: text.len() as u32, line: 0 }, message).into_error(text, 0))
    };
    for c in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        match c {
            Ok(c) => text.push(c),
            Err(e) if e.unpaired_surrogate() >= 0xDC00 => return fail(&text, "unexpected low surrogate area"),
            Err(_) => return fail(&text, "expected low surrogate area"),
        }
    }
    if !odd.is_empty() {
        return fail(&text, "incomplete UTF-16 character");
    }
    Ok(Cow::Owned(text))
}

/// The start of a file.
pub(super) const TOP: Position = Position { line: 1, column: 1 };

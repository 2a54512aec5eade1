//! Text in quotes.

use std::fmt::Write as _;

/// A text in double quotes as Go's `%q` writes it: printable characters stay, others become escapes.
pub fn go_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\0'..='\u{1f}' | '\u{7f}' => _ = write!(out, "\\x{:02x}", u32::from(c)),
            c if is_printable(c) => out.push(c),
            c if u32::from(c) < 0x1_0000 => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => _ = write!(out, "\\U{:08x}", u32::from(c)),
        }
    }
    out.push('"');
    out
}

/// Whether a character shows: no control, no space but the plain one, nothing that only steers the text around it.
fn is_printable(c: char) -> bool {
    let steers = matches!(
        c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{e000}'..='\u{f8ff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..
    );
    c == ' ' || !(c.is_control() || c.is_whitespace() || steers)
}

#[cfg(test)]
mod tests {
    use super::go_quoted;

    #[test]
    fn text_is_quoted_as_go_quotes_it() {
        for (text, quoted) in [
            ("nginx:1", r#""nginx:1""#),
            ("a \"b\" \\", r#""a \"b\" \\""#),
            ("- a\n- b\t", r#""- a\n- b\t""#),
            ("é😀", "\"é😀\""),
            ("\u{1}\u{a0}\u{feff}\u{e0001}", r#""\x01\u00a0\ufeff\U000e0001""#),
        ] {
            assert_eq!(go_quoted(text), quoted);
        }
    }
}

//! Texts that end in a condition: bounded, on one line, without characters that do something.

use std::borrow::Cow;
use std::fmt::Write as _;

use portico_scheduler::model::shortened;

/// What separates what were lines.
const BREAK: &str = " | ";

/// A text of at most `most` bytes that is safe for a condition: line breaks become `|`, control characters and those that
/// change the direction of text are written as escapes, and of a long text the head and the tail stay.
pub(crate) fn condition_safe(text: &str, most: usize) -> String {
    // Whatever becomes of a character, it does not get shorter by more than white space at the ends of lines: so much of
    // the text is enough for both ends.
    let text = ends(text.trim(), most.saturating_mul(4));
    let mut safe = String::with_capacity(text.len());
    for line in text.split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']) {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if !safe.is_empty() {
            safe.push_str(BREAK);
        }
        for c in line.chars() {
            match c {
                '\t' => safe.push(' '),
                c if c.is_control() || is_direction(c) => {
                    let _ = write!(safe, "{}", c.escape_unicode());
                }
                c => safe.push(c),
            }
        }
    }
    match ends(&safe, most) {
        Cow::Borrowed(_) => safe,
        Cow::Owned(cut) => cut,
    }
}

/// Head and tail of a text that is longer than `most` bytes, on one line.
pub(crate) fn ends(text: &str, most: usize) -> Cow<'_, str> {
    shortened(text, most, " ")
}

/// Characters by which a text can be made to look like another one.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_one_and_nothing_that_acts_is_left() {
        let text = "first\r\n  second\tline\n\n\u{1b}[31mred\u{7}\u{202e}txet\n";
        assert_eq!(condition_safe(text, 8192), "first | second line | \\u{1b}[31mred\\u{7}\\u{202e}txet");
    }

    #[test]
    fn a_long_text_keeps_both_ends_within_its_bound() {
        for filler in ["x", "\u{1b}", "é", " \n"] {
            let text = format!("first{}last", filler.repeat(100_000));
            let safe = condition_safe(&text, 8192);
            assert!(safe.len() <= 8192, "{filler:?}: {}", safe.len());
            assert!(safe.starts_with("first") && safe.ends_with("last"), "{filler:?}: {safe}");
            assert!(safe.contains("bytes left out"), "{filler:?}");
        }
    }

    #[test]
    fn a_text_within_its_bound_stays() {
        assert_eq!(condition_safe(&"x".repeat(8192), 8192).len(), 8192);
        assert_eq!(condition_safe("", 8192), "");
    }
}

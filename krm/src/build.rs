//! Builds trees field by field, spelled as Go's YAML library spells values of a struct.

use crate::yaml::{NodeId, Style, Tree};

/// A string as Go marshals it: several lines as a literal, quotes in double form where YAML 1.1 or 1.2 reads another
/// type, else as plain as it can be.
pub(crate) fn string(tree: &mut Tree, text: &str) -> NodeId {
    if text.contains('\n') {
        tree.scalar(text, Style::Literal)
    } else if text == "=" {
        // Go knows no type for it, though YAML 1.1 does
        tree.scalar(text, Style::Plain)
    } else if is_old_bool(text) || is_base_60(text) {
        tree.scalar(text, Style::DoubleQuoted)
    } else {
        tree.string(text)
    }
}

/// A whole number.
pub(crate) fn number(tree: &mut Tree, number: i64) -> NodeId {
    tree.scalar(&number.to_string(), Style::Plain)
}

/// Appends a string field.
pub(crate) fn put(tree: &mut Tree, map: NodeId, key: &str, text: &str) {
    let value = string(tree, text);
    put_node(tree, map, key, value);
}

/// Appends a string field unless the text is empty.
pub(crate) fn put_some(tree: &mut Tree, map: NodeId, key: &str, text: &str) {
    if !text.is_empty() {
        put(tree, map, key, text);
    }
}

/// Appends a field.
pub(crate) fn put_node(tree: &mut Tree, map: NodeId, key: &str, value: NodeId) {
    let key = string(tree, key);
    tree.push_entry(map, key, value);
}

/// Appends a field with a new block mapping that `fill` fills, unless it stays empty and `keep_empty` is false.
pub(crate) fn put_mapping(
    tree: &mut Tree,
    map: NodeId,
    key: &str,
    keep_empty: bool,
    fill: impl FnOnce(&mut Tree, NodeId),
) {
    let inner = tree.mapping(Style::Block);
    fill(tree, inner);
    if keep_empty || !tree.is_empty(inner) {
        if tree.is_empty(inner) {
            tree.set_style(inner, Style::Flow);
        }
        put_node(tree, map, key, inner);
    }
}

/// Appends a field with a mapping from strings to strings, unless it is empty.
pub(crate) fn put_strings<'a>(
    tree: &mut Tree,
    map: NodeId,
    key: &str,
    entries: impl IntoIterator<Item = (&'a String, &'a String)>,
) {
    put_mapping(tree, map, key, false, |tree, inner| {
        for (key, value) in entries {
            put(tree, inner, key, value);
        }
    });
}

/// YAML 1.1 booleans that YAML 1.2 reads as strings.
fn is_old_bool(text: &str) -> bool {
    const WORDS: [&str; 6] = ["y", "n", "yes", "no", "on", "off"];
    let lower = text.to_ascii_lowercase();
    let cased = text == lower
        || text == text.to_ascii_uppercase()
        || text.chars().next().is_some_and(char::is_uppercase) && text[1..] == lower[1..];
    text.is_ascii() && cased && WORDS.contains(&&*lower)
}

/// YAML 1.1 numbers in base 60, such as `12:30`.
fn is_base_60(text: &str) -> bool {
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut groups = whole.split(':');
    let first = groups.next().unwrap_or_default();
    let mut groups = groups.peekable();
    first.starts_with(|c: char| c.is_ascii_digit())
        && digits(first)
        && digits(fraction)
        && groups.peek().is_some()
        && groups.all(|group| match group.as_bytes() {
            [b] => b.is_ascii_digit(),
            [a, b] => (b'0'..=b'5').contains(a) && b.is_ascii_digit(),
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_old_yaml_reads_as_booleans_are_known() {
        for word in ["y", "Y", "yes", "Yes", "YES", "on", "Off", "NO", "n"] {
            assert!(is_old_bool(word), "{word}");
        }
        for word in ["yEs", "oN", "yesterday", "", "true", "é"] {
            assert!(!is_old_bool(word), "{word}");
        }
    }

    #[test]
    fn base_60_numbers_are_known() {
        for number in ["12:30", "1:2:3", "-1:59.5", "+190:20:30.15", "1_0:00"] {
            assert!(is_base_60(number), "{number}");
        }
        for text in ["12", "12:60", "a:30", ":30", "12:", "12:300", "1.5", ""] {
            assert!(!is_base_60(text), "{text}");
        }
    }
}

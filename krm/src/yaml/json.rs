//! JSON as Go writes it: the form of `.json` files in kpt style.

use std::fmt::Write as _;

use super::{Kind, NodeId, ScalarType, Style, Tree};

/// Appends the node as JSON in Go's form: indented by two spaces, keys sorted, `<`, `>`, `&`, U+2028 and U+2029
/// escaped, numbers as Go prints them (`1.0` as `1`, `1e3` as `1000`, whole numbers of any size as they are), a final
/// line break. Aliases are written as null: a JSON file has none.
pub fn emit_json(tree: &Tree, id: NodeId, out: &mut String) {
    Writer { tree, out, pretty: true }.write(id);
    out.push('\n');
}

/// Appends the node as JSON on one line, keys in their order, `, ` and `: ` between: what is new in a JSON file whose
/// text is kept.
pub(crate) fn emit_json_inline(tree: &Tree, id: NodeId, out: &mut String) {
    Writer { tree, out, pretty: false }.write(id);
}

struct Writer<'t, 'o> {
    tree: &'t Tree,
    out: &'o mut String,
    pretty: bool,
}

struct Open {
    is_mapping: bool,
    /// Keys (only in mappings) and values that are left, last first.
    rest: Vec<(Option<NodeId>, NodeId)>,
    any: bool,
}

impl Writer<'_, '_> {
    fn write(&mut self, root: NodeId) {
        let mut stack = Vec::new();
        self.node(root, &mut stack);
        while let Some(open) = stack.last_mut() {
            let next = open.rest.pop();
            let (first, is_mapping) = (!open.any, open.is_mapping);
            open.any = true;
            let Some((key, value)) = next else {
                stack.pop();
                if !first {
                    self.break_line(stack.len());
                }
                self.out.push(if is_mapping { '}' } else { ']' });
                continue;
            };
            if !first {
                self.out.push(',');
                if !self.pretty {
                    self.out.push(' ');
                }
            }
            self.break_line(stack.len());
            if let Some(key) = key {
                let text = self.tree.text(key);
                write_string(text, self.pretty, self.out);
                self.out.push_str(": ");
            }
            self.node(value, &mut stack);
        }
    }

    fn break_line(&mut self, depth: usize) {
        if self.pretty {
            self.out.push('\n');
            super::emit::push_spaces(self.out, depth * 2);
        }
    }

    fn node(&mut self, id: NodeId, stack: &mut Vec<Open>) {
        let tree = self.tree;
        match tree.kind(id) {
            Kind::Alias => self.out.push_str("null"),
            Kind::Scalar => self.scalar(id),
            Kind::Sequence => {
                let mut rest: Vec<_> = tree.elements(id).map(|e| (None, e)).collect();
                rest.reverse();
                self.out.push('[');
                stack.push(Open { is_mapping: false, rest, any: false });
            }
            Kind::Mapping => {
                let mut rest: Vec<_> = tree.entries(id).map(|(k, v)| (Some(k), v)).collect();
                if self.pretty {
                    rest.sort_by_key(|(key, _)| key.map(|k| tree.text(k)));
                }
                rest.reverse();
                self.out.push('{');
                stack.push(Open { is_mapping: true, rest, any: false });
            }
        }
    }

    fn scalar(&mut self, id: NodeId) {
        let text = self.tree.text(id);
        match self.tree.scalar_type(id) {
            ScalarType::Null => self.out.push_str("null"),
            ScalarType::Bool => self.out.push_str(if text.starts_with(['t', 'T']) { "true" } else { "false" }),
            ScalarType::Int | ScalarType::Float if self.tree.style(id) == Style::Plain => {
                match number(text, self.pretty) {
                    Some(number) => self.out.push_str(&number),
                    None => write_string(text, self.pretty, self.out),
                }
            }
            _ => write_string(text, self.pretty, self.out),
        }
    }
}

/// The number as JSON; `None` for infinities and what is none.
fn number(text: &str, as_go: bool) -> Option<String> {
    let plain = text.replace('_', "");
    let (sign, digits) = match plain.strip_prefix(['-', '+']) {
        Some(rest) => (if plain.starts_with('-') { "-" } else { "" }, rest),
        None => ("", &*plain),
    };
    let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let octal = all_digits && digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b < b'8');
    let radix = [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)]
        .into_iter()
        .find_map(|(prefix, radix)| Some((digits.strip_prefix(prefix)?, radix)))
        .or(octal.then(|| (&digits[1..], 8)));
    if let Some((digits, radix)) = radix {
        let value = u128::from_str_radix(digits, radix).ok()?;
        return Some(format!("{sign}{value}"));
    }
    if all_digits {
        let trimmed = digits.trim_start_matches('0');
        let whole = if trimmed.is_empty() { "0" } else { trimmed };
        return Some(if whole == "0" { "0".to_owned() } else { format!("{sign}{whole}") });
    }
    let value: f64 = plain.parse().ok().filter(|v: &f64| v.is_finite())?;
    if !as_go && serde_like_number(text) {
        return Some(text.to_owned());
    }
    Some(go_float(value))
}

/// The text is a number in JSON's own grammar.
fn serde_like_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && !text.ends_with('.')
        && !text.contains('_')
        && !text.contains(".e")
        && !text.contains(".E")
        && (!digits.starts_with('0')
            || digits.starts_with("0.")
            || digits.starts_with("0e")
            || digits.starts_with("0E"))
}

/// Go's `encoding/json`: plain digits from 1e-6 to 1e21, else an exponent of at least two digits.
fn go_float(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return format!("{value}");
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.strip_prefix('-') {
        // Go drops the zero that it prints before one digit of a negative exponent.
        Some(digits) => format!("{mantissa}e-{digits}"),
        None => format!("{mantissa}e+{exponent:0>2}"),
    }
}

/// A string with its quotes. `html` escapes what Go escapes for HTML.
fn write_string(text: &str, html: bool, out: &mut String) {
    out.push('"');
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let special = matches!(c, '"' | '\\' | '\0'..='\u{1F}' | '\u{2028}' | '\u{2029}' | '\u{7F}'..='\u{9F}' | '\u{FEFF}')
            || (html && matches!(c, '<' | '>' | '&'));
        if !special || (html && matches!(c, '\u{7F}'..='\u{9F}' | '\u{FEFF}')) {
            continue;
        }
        out.push_str(&text[start..at]);
        start = at + c.len_utf8();
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{C}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
        }
    }
    out.push_str(&text[start..]);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::ParseLimits;

    #[test]
    fn numbers_strings_and_keys_come_out_as_kpt_writes_them() {
        let text = r#"{"kind":"ConfigMap","data":{"z":1.0,"y":1e3,"w":1.5e-9,"v":"<a & b>\u2028é😀","u":[],"t":{},"s":null,
            "r":true,"q":1e21,"p":123456789012,"o":-0.0,"n":"a\tb\u0001","m":1.10,"l":1E400}}"#;
        let tree = Tree::parse(text, &ParseLimits::default()).unwrap().unwrap();
        let mut out = String::new();
        emit_json(&tree, tree.root(), &mut out);
        let expected = r#"{
  "data": {
    "l": "1E400",
    "m": 1.1,
    "n": "a\tb\u0001",
    "o": -0,
    "p": 123456789012,
    "q": 1e+21,
    "r": true,
    "s": null,
    "t": {},
    "u": [],
    "v": "\u003ca \u0026 b\u003e\u2028é😀",
    "w": 1.5e-9,
    "y": 1000,
    "z": 1
  },
  "kind": "ConfigMap"
}
"#;
        assert_eq!(out, expected);
    }

    #[test]
    fn whole_numbers_of_any_size_keep_their_digits() {
        let tree = Tree::parse("a: 123456789012345678901234567890", &ParseLimits::default()).unwrap().unwrap();
        let mut out = String::new();
        emit_json_inline(&tree, tree.root(), &mut out);
        assert_eq!(out, r#"{"a": 123456789012345678901234567890}"#);
    }
}

//! Go's regular expressions on crate `regex`: the same family, some texts read otherwise.
//!
//! - `\d`, `\s`, `\w` and `\b` are ASCII in Go;
//! - a `{` that begins no repetition, and in a class `[`, `&` and `~`, stand for themselves;
//! - `\Q…\E` quotes.

use regex::RegexBuilder;
pub use regex::{Captures, Error, Regex};

/// Memory of one compiled expression.
const SIZE: usize = 4 << 20;

/// Compiles an expression in Go's syntax. Matching takes time linear in the text; an expression that needs too much
/// memory or nests too deeply is an error.
pub fn compile(pattern: &str) -> Result<Regex, Error> {
    RegexBuilder::new(&translate(pattern)).size_limit(SIZE).octal(true).nest_limit(200).build()
}

fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                rest = escape(behind, in_class, &mut out);
                continue;
            }
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                rest = behind;
                if let Some(negated) = rest.strip_prefix('^') {
                    out.push('^');
                    rest = negated;
                }
                // a bracket right at the start is one of the class
                if let Some(literal) = rest.strip_prefix(']') {
                    out.push_str("\\]");
                    rest = literal;
                }
                continue;
            }
            '[' => match behind.starts_with(':').then(|| behind.find(":]")).flatten() {
                Some(end) => {
                    let named = c.len_utf8() + end + 2;
                    out.push_str(&rest[..named]);
                    rest = &rest[named..];
                    continue;
                }
                None => out.push_str("\\["),
            },
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            '{' if !in_class && !is_repetition(behind) => out.push_str("\\{"),
            _ => out.push(c),
        }
        rest = behind;
    }
    out
}

/// Translates what stands behind a backslash; gives what follows.
fn escape<'p>(behind: &'p str, in_class: bool, out: &mut String) -> &'p str {
    let Some(c) = behind.chars().next() else {
        out.push('\\');
        return behind;
    };
    let rest = &behind[c.len_utf8()..];
    let (set, negated) = match c {
        'd' | 'D' => ("0-9", c == 'D'),
        's' | 'S' => ("\\t\\n\\f\\r ", c == 'S'),
        'w' | 'W' => ("0-9A-Za-z_", c == 'W'),
        'b' if !in_class => {
            out.push_str("(?-u:\\b)");
            return rest;
        }
        'Q' => {
            let (quoted, rest) = rest.split_once("\\E").unwrap_or((rest, ""));
            out.push_str(&regex::escape(quoted));
            return rest;
        }
        _ => {
            out.push('\\');
            out.push(c);
            return rest;
        }
    };
    match (in_class, negated) {
        (true, false) => out.push_str(set),
        (_, true) => out.extend(["[^", set, "]"]),
        (false, false) => out.extend(["[", set, "]"]),
    }
    rest
}

/// Whether `2}`, `2,}` or `2,3}` follows a brace.
fn is_repetition(behind: &str) -> bool {
    let Some((inside, _)) = behind.split_once('}') else { return false };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    !least.is_empty() && digits(least) && digits(most)
}

#[cfg(test)]
mod tests {
    use super::compile;

    #[test]
    fn what_go_reads_otherwise_is_read_as_in_go() {
        for (pattern, matching, other) in [
            (r"^\d+$", "12", "١٢"),
            (r"^\w+$", "ab_1", "é"),
            (r"^\s$", "\t", "\u{a0}"),
            (r"^\S\D\W$", "é-é", "1 1"),
            (r"^[\d\s]+$", "1 2", "٣"),
            (r"^[^\w]+$", "é-", "a"),
            (r"^[\D]$", "é", "1"),
            (r"a{,2}", "a{,2}", "aa"),
            (r"a{2}$", "aa", "a"),
            (r"^[[a]+$", "[a", "b"),
            (r"^[]a]+$", "]a", "b"),
            (r"^[[:alpha:]&&~]+$", "a&~", "1"),
            (r"^\Qa.b*\E$", "a.b*", "axb"),
            (r"^\\d$", r"\d", "1"),
            (r"\bfoo\b", "a foo b", "afoo"),
            (r"(?i)^ABC$", "abc", "abd"),
            (r"^(?P<x>a)\x62$", "ab", "a"),
        ] {
            let regex = compile(pattern).unwrap_or_else(|e| panic!("{pattern}: {e}"));
            assert!(regex.is_match(matching), "{pattern} must match {matching:?}");
            assert!(!regex.is_match(other), "{pattern} must not match {other:?}");
        }
    }

    #[test]
    fn what_is_no_expression_is_an_error() {
        for pattern in ["(", "a**b(", "[a", r"\p{Nope}", r"(?=a)", "\\"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
        assert!(compile(&"(".repeat(100_000)).is_err());
        assert!(compile(r"((\w{500}){500}){500}").is_err());
    }
}

//! Patterns of file paths, as the Go package doublestar reads them, by way of a regular expression.

use go_regex::Regex;

/// Compiles a pattern; it matches whole paths.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let refused = || format!("by-file-path {pattern:?}: syntax error in pattern");
    let expression = translate(pattern).ok_or_else(refused)?;
    go_regex::compile(&expression).map_err(|_| refused())
}

/// The expression; `None` for a pattern that ends too early.
fn translate(pattern: &str) -> Option<String> {
    let mut out = String::from(r"(?s)\A");
    let mut rest = pattern;
    // what a `**` may stand behind: the start of a part
    let mut part_start = true;
    let mut braces = 0_u32;
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        if part_start && let Some(behind) = rest.strip_prefix("**") {
            if let Some(after) = behind.strip_prefix('/') {
                out.push_str("(?:[^/]*/)*");
                rest = after;
                continue;
            }
            if behind.is_empty() || braces > 0 && behind.starts_with([',', '}']) {
                out.push_str(".*");
                (rest, part_start) = (behind, false);
                continue;
            }
        }
        if c == '/' && behind == "**" {
            // the directory itself is meant as well
            out.push_str("(?:/.*)?");
            break;
        }
        part_start = matches!(c, '/' | '{') || c == ',' && braces > 0;
        rest = behind;
        match c {
            '*' => {
                out.push_str("[^/]*");
                rest = rest.trim_start_matches('*');
            }
            '?' => out.push_str("[^/]"),
            '[' => rest = class(rest, &mut out)?,
            '{' => {
                braces += 1;
                out.push_str("(?:");
            }
            '}' if braces > 0 => {
                braces -= 1;
                out.push(')');
            }
            ',' if braces > 0 => out.push('|'),
            '\\' => {
                let literal = rest.chars().next()?;
                push_literal(literal, &mut out);
                rest = &rest[literal.len_utf8()..];
            }
            c => push_literal(c, &mut out),
        }
    }
    out.push_str(r"\z");
    (braces == 0).then_some(out)
}

/// Translates a class, whose bracket was read; gives what follows it.
fn class<'p>(mut rest: &'p str, out: &mut String) -> Option<&'p str> {
    out.push('[');
    if let Some(negated) = rest.strip_prefix(['^', '!']) {
        // no class stands for the slash between two parts
        out.push_str("^/");
        rest = negated;
    }
    let mut first = true;
    loop {
        let c = rest.chars().next()?;
        rest = &rest[c.len_utf8()..];
        match c {
            ']' if !first => break,
            '-' if !first && !rest.starts_with(']') => {
                out.push('-');
                continue;
            }
            '\\' => {
                let literal = rest.chars().next()?;
                rest = &rest[literal.len_utf8()..];
                push_literal(literal, out);
            }
            c => push_literal(c, out),
        }
        first = false;
    }
    out.push(']');
    Some(rest)
}

fn push_literal(c: char, out: &mut String) {
    if c.is_ascii_punctuation() {
        out.push('\\');
    }
    out.push(c);
}

#[cfg(test)]
mod tests {
    use super::compile;

    fn matches(pattern: &str, path: &str) -> bool {
        compile(pattern).unwrap_or_else(|error| panic!("{error}")).is_match(path)
    }

    #[test]
    fn patterns_match_whole_paths() {
        for (pattern, path, expected) in [
            ("setters.yaml", "setters.yaml", true),
            ("setters.yaml", "a/setters.yaml", false),
            ("**/setters.yaml", "setters.yaml", true),
            ("**/setters.yaml", "a/b/setters.yaml", true),
            ("**/setters.yaml", "a/b-setters.yaml", false),
            ("a/**/b.yaml", "a/b.yaml", true),
            ("a/**/b.yaml", "a/x/y/b.yaml", true),
            ("a/**", "a/x/y.yaml", true),
            ("a/**", "a", true),
            ("a/**", "ab", false),
            ("**", "a/b", true),
            ("*.yaml", "a.yaml", true),
            ("*.yaml", "a/b.yaml", false),
            ("a**b", "axxb", true),
            ("a**b", "a/b", false),
            ("?.yaml", "é.yaml", true),
            ("?", "/", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[^a-c]x", "dx", true),
            ("[^a]b", "/b", false),
            ("[-a]", "-", true),
            ("{a,b/**}/x", "b/c/x", true),
            ("{a,{b,c}}.yaml", "c.yaml", true),
            ("{a,b}.yaml", "{a,b}.yaml", false),
            (r"\*.yaml", "*.yaml", true),
            (r"\*.yaml", "a.yaml", false),
            ("a.b", "axb", false),
            ("a+(b)", "a+(b)", true),
            ("a,b", "a,b", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn patterns_that_end_too_early_are_refused() {
        for pattern in ["[a", "{a", "a\\", "[a-", "["] {
            let error = compile(pattern).expect_err(pattern);
            assert!(error.ends_with("syntax error in pattern"), "{error}");
        }
        assert!(compile(&"{".repeat(100_000)).is_err());
    }
}

//! What a policy calls and imports, read from its text before it is compiled: the evaluator finds a function that it
//! does not have only when the call is reached, which may be never.

use crate::builtins::refused;

/// Roots of `data` that a policy may import from.
const ROOTS: &[&str] = &["inventory", "lib"];

/// Why a policy may not run.
pub(crate) fn fault(rego: &str) -> Option<String> {
    let tokens = tokens(rego);
    let imports: Vec<(&Token<'_>, &str)> = tokens
        .windows(2)
        .filter(|pair| pair[0].text == "import" && pair[0].starts_line)
        .map(|pair| (&pair[1], pair[1].text))
        .collect();
    for (token, path) in &imports {
        if let Some(root) = path.strip_prefix("data.").and_then(|path| path.split('.').next())
            && !ROOTS.contains(&root)
        {
            return Some(format!(
                "line {}: `import {path}`: a template can import from `data.lib` and `data.inventory`, nothing else",
                token.line
            ));
        }
    }
    let aliases: Vec<&str> = imports.iter().filter_map(|(_, path)| path.rsplit('.').next()).collect();
    for pair in tokens.windows(2) {
        let [name, open] = pair else { continue };
        let is_call = open.text == "(" && open.follows;
        let is_alias = || aliases.contains(&name.text.split('.').next().unwrap_or_default());
        if is_call
            && let Some(reason) = refused(name.text)
            && !is_alias()
        {
            return Some(format!("line {}: `{}` is not available: {reason}", name.line, name.text));
        }
    }
    None
}

#[derive(Debug)]
struct Token<'r> {
    /// A name with its dots, or one other character.
    text: &'r str,
    line: usize,
    /// Nothing but blanks stands before it.
    starts_line: bool,
    /// Nothing stands between it and the token before.
    follows: bool,
}

/// Names and punctuation, without strings and comments.
fn tokens(rego: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut line, mut starts_line, mut follows) = (1, true, false);
    let mut rest = rego;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' => quoted(rest),
            '`' => rest[1..].find('`').map_or(rest.len(), |end| end + 2),
            c if c.is_alphanumeric() || c == '_' => {
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len())
            }
            c => c.len_utf8(),
        };
        let (text, behind) = rest.split_at(length);
        if c.is_whitespace() || c == '#' {
            follows = false;
        } else {
            let is_text = matches!(c, '"' | '`');
            tokens.push(Token { text: if is_text { "\"" } else { text }, line, starts_line, follows });
            (starts_line, follows) = (false, true);
        }
        let breaks = text.matches('\n').count();
        line += breaks;
        starts_line |= breaks > 0;
        rest = behind;
    }
    tokens
}

/// Length of a string in quotes; it ends with its line where the quote is missing.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return at,
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn a_call_of_what_is_not_here_is_told_with_its_line_and_reason() {
        let text = fault("package p\nviolation[{\"msg\": m}] {\n  r := http.send({\"url\": \"x\"})\n}\n").unwrap();
        assert_eq!(text, "line 3: `http.send` is not available: functions have no network");
        assert!(fault("x { external_data({}) }").unwrap().contains("no network"));
        assert!(fault("x { time.now_ns() > 3 }").unwrap().starts_with("line 1: `time.now_ns`"));
    }

    #[test]
    fn names_in_strings_comments_and_fields_are_no_calls() {
        for rego in [
            "# http.send(x)\nx { true }",
            "x { y := \"\\\" http.send(\" }",
            "x { y := `http.send(\n(` }",
            "x { input.http.send }",
            "x { input.review.http.send[_] }",
            "import data.lib.crypto\nx { crypto.check(1) }",
        ] {
            assert_eq!(fault(rego), None, "{rego}");
        }
    }

    #[test]
    fn imports_reach_the_inventory_and_the_libraries_alone() {
        assert_eq!(fault("package p\nimport data.lib.helpers\nimport data.inventory\nimport input.review\n"), None);
        assert!(fault("package p\n\nimport data.secrets\n").unwrap().starts_with("line 3: `import data.secrets`"));
    }
}

//! The words of a policy.

#[derive(Debug)]
pub(crate) struct Token<'r> {
    /// A name with its dots, or one other character.
    pub(crate) text: &'r str,
    pub(crate) line: usize,
    /// Nothing but blanks stands before it.
    pub(crate) starts_line: bool,
    /// Nothing stands between it and the token before.
    pub(crate) follows: bool,
}

/// Names and punctuation, without strings and comments.
pub(crate) fn tokens(rego: &str) -> Vec<Token<'_>> {
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

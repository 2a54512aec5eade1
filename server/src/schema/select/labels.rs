//! Label selectors: `a=b, c!=d, e in (f, g), h notin (i), j, !k, l>1`.

use std::collections::{BTreeMap, BTreeSet};

use super::{MAX_SELECTOR, SelectError};
use crate::schema::shown;

/// Selects by labels: all terms must hold. Without terms it selects everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelSelector {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Exists,
    Missing,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Reads a selector; the empty text selects everything.
    pub fn parse(text: &str) -> Result<Self, SelectError> {
        if text.len() > MAX_SELECTOR {
            return Err(SelectError::TooLong { kind: "label" });
        }
        let mut parser = Parser { text, at: 0 };
        let mut terms = Vec::new();
        if parser.peek() == Token::End {
            return Ok(Self { terms });
        }
        loop {
            terms.push(parser.term()?);
            match parser.next() {
                (Token::End, _) => return Ok(Self { terms }),
                (Token::Comma, _) => {}
                (_, start) => return Err(parser.fault(start, "expected `,` or the end")),
            }
        }
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether an object with these labels is selected. `!=` and `notin` also select what has no such label.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.terms.iter().all(|term| {
            let value = labels.get(&term.key);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &term.test {
                Test::Exists => value.is_some(),
                Test::Missing => value.is_none(),
                Test::In(values) => value.is_some_and(|value| values.contains(value)),
                Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                Test::Above(bound) => number().is_some_and(|number| number > *bound),
                Test::Below(bound) => number().is_some_and(|number| number < *bound),
            }
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    End,
    Comma,
    Open,
    Close,
    Not,
    Equal,
    NotEqual,
    Above,
    Below,
    Word(&'t str),
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn fault(&self, start: usize, message: &str) -> SelectError {
        let position = self.text[..start].chars().count() + 1;
        SelectError::Syntax { kind: "label", selector: shown(self.text), position, message: message.to_owned() }
    }

    /// The next token and where it starts.
    fn next(&mut self) -> (Token<'t>, usize) {
        let rest = &self.text[self.at..];
        let start = self.at + (rest.len() - rest.trim_start().len());
        let rest = &self.text[start..];
        let special = |c: char| matches!(c, '=' | '!' | '(' | ')' | ',' | '<' | '>') || c.is_whitespace();
        let (token, length) = match rest.as_bytes() {
            [] => (Token::End, 0),
            [b',', ..] => (Token::Comma, 1),
            [b'(', ..] => (Token::Open, 1),
            [b')', ..] => (Token::Close, 1),
            [b'!', b'=', ..] => (Token::NotEqual, 2),
            [b'!', ..] => (Token::Not, 1),
            [b'=', b'=', ..] => (Token::Equal, 2),
            [b'=', ..] => (Token::Equal, 1),
            [b'>', ..] => (Token::Above, 1),
            [b'<', ..] => (Token::Below, 1),
            _ => {
                let word = &rest[..rest.find(special).unwrap_or(rest.len())];
                (Token::Word(word), word.len())
            }
        };
        self.at = start + length;
        (token, start)
    }

    fn peek(&mut self) -> Token<'t> {
        let before = self.at;
        let (token, _) = self.next();
        self.at = before;
        token
    }

    fn term(&mut self) -> Result<Term, SelectError> {
        let (first, start) = self.next();
        let negated = first == Token::Not;
        let (token, start) = if negated { self.next() } else { (first, start) };
        let Token::Word(key) = token else { return Err(self.fault(start, "expected the key of a label")) };
        if let Err(message) = check_key(key) {
            return Err(self.fault(start, &message));
        }
        let key = key.to_owned();
        let test = match self.peek() {
            Token::End | Token::Comma if negated => Test::Missing,
            Token::End | Token::Comma => Test::Exists,
            _ if negated => {
                let (_, start) = self.next();
                return Err(self.fault(start, "expected `,` or the end after `!` and a key"));
            }
            _ => self.test()?,
        };
        Ok(Term { key, test })
    }

    fn test(&mut self) -> Result<Test, SelectError> {
        let (operator, start) = self.next();
        Ok(match operator {
            Token::Equal => Test::In(BTreeSet::from([self.value()?])),
            Token::NotEqual => Test::NotIn(BTreeSet::from([self.value()?])),
            Token::Word("in") => Test::In(self.values()?),
            Token::Word("notin") => Test::NotIn(self.values()?),
            Token::Above => Test::Above(self.number()?),
            Token::Below => Test::Below(self.number()?),
            _ => return Err(self.fault(start, "expected `=`, `==`, `!=`, `in`, `notin`, `<` or `>`")),
        })
    }

    /// A value, which may be empty.
    fn value(&mut self) -> Result<String, SelectError> {
        let Token::Word(_) = self.peek() else { return Ok(String::new()) };
        let (Token::Word(value), start) = self.next() else { return Ok(String::new()) };
        check_value(value).map_err(|message| self.fault(start, &message))?;
        Ok(value.to_owned())
    }

    fn values(&mut self) -> Result<BTreeSet<String>, SelectError> {
        let (Token::Open, _) = self.next() else { return Err(self.fault(self.at, "expected `(`")) };
        let mut values = BTreeSet::new();
        loop {
            values.insert(self.value()?);
            match self.next() {
                (Token::Comma, _) => {}
                (Token::Close, _) => return Ok(values),
                (_, start) => return Err(self.fault(start, "expected `,` or `)`")),
            }
        }
    }

    fn number(&mut self) -> Result<i64, SelectError> {
        let (token, start) = self.next();
        match token {
            Token::Word(word) => word.parse().map_err(|_| self.fault(start, "expected an integer")),
            _ => Err(self.fault(start, "expected an integer")),
        }
    }
}

/// Whether a text can be the key of a label: a name, behind an optional DNS subdomain and a slash.
pub(crate) fn check_key(key: &str) -> Result<(), String> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let label =
        |part: &str| part.starts_with(lower) && part.ends_with(lower) && part.chars().all(|c| lower(c) || c == '-');
    if prefix.is_some_and(|prefix| prefix.len() > 253 || !prefix.split('.').all(label)) {
        return Err(format!("`{}` must begin with a DNS subdomain before its slash", shown(key)));
    }
    if name.is_empty() {
        return Err(format!("`{}` has no name", shown(key)));
    }
    check_value(name)
}

/// Whether a text can be the value of a label: at most 63 letters, digits, `-`, `_` and `.`, the first and the last a letter
/// or digit.
pub(crate) fn check_value(value: &str) -> Result<(), String> {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let outer = |c: char| c.is_ascii_alphanumeric();
    let fits = value.is_empty()
        || (value.len() <= 63 && value.starts_with(outer) && value.ends_with(outer) && value.chars().all(inner));
    fits.then_some(()).ok_or_else(|| {
        format!(
            "`{}` must have at most 63 letters, digits, `-`, `_` and `.`, and begin and end with a letter or digit",
            shown(value)
        )
    })
}

//! Wildcard patterns with the meaning of Go's `filepath.Match`, which `.krmignore` files rely on.
//!
//! `*` stands for any run of characters but `/`, `?` for one, `[a-z]` and `[^a-z]` for one of (not of) a
//! set, and a backslash makes the next character plain. A malformed pattern matches nothing.

/// A pattern made ready for matching.
#[derive(Debug, Clone)]
pub(super) struct Glob {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Star,
    One(OneOf),
}

#[derive(Debug, Clone)]
enum OneOf {
    Char(char),
    Any,
    Set { negated: bool, ranges: Vec<(char, char)> },
}

impl OneOf {
    fn holds(&self, c: char) -> bool {
        match self {
            Self::Char(own) => *own == c,
            Self::Any => c != '/',
            Self::Set { negated, ranges } => ranges.iter().any(|&(low, high)| (low..=high).contains(&c)) != *negated,
        }
    }
}

impl Glob {
    /// `None` when the pattern is malformed: an open or empty set, a backslash at the end.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            parts.push(match c {
                '*' if matches!(parts.last(), Some(Part::Star)) => continue,
                '*' => Part::Star,
                '?' => Part::One(OneOf::Any),
                '\\' => Part::One(OneOf::Char(chars.next()?)),
                '[' => Part::One(set(&mut chars)?),
                c => Part::One(OneOf::Char(c)),
            });
        }
        Some(Self { parts })
    }

    /// Whether the whole of `text` fits. Takes at most pattern times text steps: a star that was passed is
    /// never tried again once a later one is reached.
    pub(super) fn matches(&self, text: &str) -> bool {
        let mut part = 0;
        let mut rest = text;
        // The last star seen: where to go on in the pattern, and what it had not yet swallowed.
        let mut retry: Option<(usize, &str)> = None;
        loop {
            match self.parts.get(part) {
                Some(Part::Star) => {
                    part += 1;
                    retry = Some((part, rest));
                    continue;
                }
                Some(Part::One(one)) => {
                    if let Some(c) = rest.chars().next().filter(|&c| one.holds(c)) {
                        part += 1;
                        rest = &rest[c.len_utf8()..];
                        continue;
                    }
                }
                None if rest.is_empty() => return true,
                None => {}
            }
            let Some((after_star, held)) = retry else { return false };
            let Some(c) = held.chars().next().filter(|&c| c != '/') else { return false };
            rest = &held[c.len_utf8()..];
            part = after_star;
            retry = Some((after_star, rest));
        }
    }
}

fn set(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<OneOf> {
    let negated = chars.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        if !ranges.is_empty() && chars.next_if_eq(&']').is_some() {
            return Some(OneOf::Set { negated, ranges });
        }
        let low = set_char(chars)?;
        let high = if chars.next_if_eq(&'-').is_some() { set_char(chars)? } else { low };
        ranges.push((low, high));
    }
}

fn set_char(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    match chars.next()? {
        '-' | ']' => None,
        '\\' => chars.next(),
        c => Some(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        Glob::new(pattern).is_some_and(|glob| glob.matches(text))
    }

    #[test]
    fn wildcards_mean_what_go_means_by_them() {
        for (pattern, text, want) in [
            ("abc", "abc", true),
            ("*", "abc", true),
            ("*", "", true),
            ("*c", "abc", true),
            ("a*", "a", true),
            ("a*", "ab/c", false),
            ("a*/b", "abc/b", true),
            ("a*/b", "a/c/b", false),
            ("a*b*c*d*e*/f", "axbxcxdxe/f", true),
            ("a*b*c*d*e*/f", "axbxcxdxexxx/f", true),
            ("a*b*c*d*e*/f", "axbxcxdxe/xxx/f", false),
            ("a*b?c*x", "abxbbxdbxebxczzx", true),
            ("a*b?c*x", "abxbbxdbxebxczzy", false),
            ("ab[c]", "abc", true),
            ("ab[b-d]", "abc", true),
            ("ab[e-g]", "abc", false),
            ("ab[^c]", "abc", false),
            ("ab[^e-g]", "abc", true),
            ("a\\*b", "a*b", true),
            ("a\\*b", "ab", false),
            ("a?b", "a\u{263a}b", true),
            ("a???b", "a\u{263a}b", false),
            ("a[^a][^a][^a]b", "a\u{263a}b", false),
            ("[a-\u{3b6}]*", "\u{3b1}", true),
            ("*[a-\u{3b6}]", "A", false),
            ("a?b", "a/b", false),
            ("a*b", "a/b", false),
            ("[\\]a]", "]", true),
            ("[\\-x]", "-", true),
            ("[x\\-]", "x", true),
            ("x**y", "xzzy", true),
            ("*x", "xxx", true),
            ("[^a]", "/", true),
        ] {
            assert_eq!(fits(pattern, text), want, "{pattern:?} against {text:?}");
        }
    }

    #[test]
    fn a_malformed_pattern_matches_nothing() {
        for pattern in ["[]a]", "[-]", "[x-]", "[-x]", "[", "[^", "[^bc", "a[", "[a-b-c]", "\\"] {
            assert!(Glob::new(pattern).is_none(), "{pattern:?}");
        }
    }

    #[test]
    fn many_stars_do_not_make_matching_explode() {
        let pattern = "*a".repeat(500) + "b";
        let text = "a".repeat(5000);
        assert!(!fits(&pattern, &text));
        assert!(fits(&pattern, &(text + "b")));
    }
}

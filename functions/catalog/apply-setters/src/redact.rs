//! What results may show of a value: no secrets, and no more than a line or two.

/// Most bytes of a value that are shown.
const MAX_SHOWN: usize = 128;
const REDACTED: &str = "<redacted>";
/// Shortest text that may be an encoded key.
const MIN_ENCODED: usize = 40;

/// Parts of names, in lower case, by which a field or setter holds secrets.
const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "credential",
    "privatekey",
    "private_key",
    "cert",
    "bearer",
    "auth",
];

/// A value as results may show it: whole, cut, or `<redacted>` when the field, one of its setters or the value itself
/// looks like a secret.
pub(crate) fn shown(value: &str, path: &str, setters: &[String]) -> String {
    let secret_name = |name: &str| {
        let name = name.to_lowercase();
        SECRET_NAMES.iter().any(|part| name.contains(part))
    };
    if secret_name(path) || setters.iter().any(|name| secret_name(name)) || is_secret(value) {
        return REDACTED.to_owned();
    }
    if value.len() <= MAX_SHOWN {
        return value.to_owned();
    }
    let end = value.floor_char_boundary(MAX_SHOWN);
    format!("{}... (truncated {} chars)", &value[..end], value.len() - end)
}

/// True for what keys and tokens of common services look like.
fn is_secret(value: &str) -> bool {
    let word = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
    let dashed = |c: u8| c.is_ascii_alphanumeric() || c == b'-';
    has_run(value, "AKIA", 16, |c| c.is_ascii_digit() || c.is_ascii_uppercase())
        || has_run(value, "ghp_", 36, |c| c.is_ascii_alphanumeric())
        || has_run(value, "sk-", 20, |c| c.is_ascii_alphanumeric())
        || ["xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-"].iter().any(|prefix| has_run(value, prefix, 1, dashed))
        || is_armored(value)
        || is_web_token(value, word)
        || is_encoded(value)
}

/// Whether at least `least` characters of a sort follow a prefix somewhere.
fn has_run(value: &str, prefix: &str, least: usize, of: impl Fn(u8) -> bool) -> bool {
    value.match_indices(prefix).any(|(at, _)| run_length(&value[at + prefix.len()..], &of) >= least)
}

fn run_length(text: &str, of: &impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|c| of(*c)).count()
}

/// `-----BEGIN PRIVATE KEY-----` and its like.
fn is_armored(value: &str) -> bool {
    value.match_indices("-----BEGIN ").any(|(at, begin)| {
        let behind = &value[at + begin.len()..];
        let name = run_length(behind, &|c| c.is_ascii_uppercase() || c == b' ');
        name > 0 && behind[name..].starts_with("-----")
    })
}

/// A signed token: three parts with dots between them, the first two encoded JSON.
fn is_web_token(value: &str, word: impl Fn(u8) -> bool) -> bool {
    let parts: Vec<&str> = value.split('.').collect();
    parts.windows(3).any(|parts| {
        let [head, body, signature] = parts else { return false };
        let begins = |text: &str| text.len() > 3 && text.starts_with("eyJ");
        let last_word = head.len() - head.bytes().rev().take_while(|c| word(*c)).count();
        head[last_word..].match_indices("eyJ").any(|(at, _)| begins(&head[last_word + at..]))
            && begins(body)
            && run_length(body, &word) == body.len()
            && run_length(signature, &word) > 0
    })
}

/// Long text in the alphabet of base 64 with at least two sorts of characters.
fn is_encoded(value: &str) -> bool {
    if value.len() < MIN_ENCODED {
        return false;
    }
    let mut sorts = [false; 4];
    for c in value.bytes() {
        let sort = match c {
            b'A'..=b'Z' => 0,
            b'a'..=b'z' => 1,
            b'0'..=b'9' => 2,
            b'+' | b'/' | b'=' => 3,
            _ => return false,
        };
        sorts[sort] = true;
    }
    sorts.iter().filter(|there| **there).count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(value: &str) -> String {
        shown(value, "spec.x", &[])
    }

    #[test]
    fn names_that_speak_of_secrets_hide_the_value() {
        assert_eq!(shown("x", "spec.dbPassword", &[]), REDACTED);
        assert_eq!(shown("x", "spec.x", &["API-key".to_owned()]), REDACTED);
        assert_eq!(shown("x", "spec.x", &["tag".to_owned()]), "x");
    }

    #[test]
    fn values_that_look_like_secrets_are_hidden() {
        for value in [
            "-----BEGIN RSA PRIVATE KEY-----\nx",
            "Bearer eyJhbGciOi.eyJzdWIiOi.abc_-",
            "AKIAABCDEFGHIJKLMNOP",
            "x ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "sk-abcdefghijklmnopqrst",
            "xoxb-1-a",
            "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXphYmNkZWY=",
        ] {
            assert_eq!(plain(value), REDACTED, "{value}");
        }
        for value in
            ["nginx:1.25", "-----BEGIN -----", "AKIAshort", "a.b.c", "eyJ.eyJ.x", "sk-", "xoxb-", &"a".repeat(60)]
        {
            assert_eq!(plain(value), value);
        }
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let value = "é ".repeat(100);
        assert_eq!(plain(&value), format!("{}... (truncated {} chars)", &value[..128], 300 - 128));
        assert!(plain(&"é".repeat(65)).ends_with("... (truncated 2 chars)"));
    }
}

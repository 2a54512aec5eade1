//! What keys, tokens and passwords look like.
//!
//! The forms are those that the services publish, and that scanners of repositories look for. A text that only could be one
//! is taken for one, unless it says itself that it is a placeholder.

/// Shortest text that may be an encoded key.
const MIN_ENCODED: usize = 40;

/// Parts of texts, in upper case, that stand where a secret is to be put.
const PLACEHOLDERS: &[&str] =
    &["REPLACE_", "YOUR_", "INSERT_", "PLACEHOLDER", "EXAMPLE", "CHANGEME", "CHANGE_ME", "TODO", "FIXME", "XXXX"];

/// A sort of characters.
type Of = fn(u8) -> bool;

/// Tokens that begin with a word of their own: the word, and how many characters of which sort follow at least.
const TOKENS: &[(&str, usize, Of)] = &[
    // Amazon
    ("AKIA", 16, upper),
    ("ASIA", 16, upper),
    ("ABIA", 16, upper),
    ("ACCA", 16, upper),
    ("A3T", 17, upper),
    // GitHub
    ("ghp_", 36, alphanumeric),
    ("gho_", 36, alphanumeric),
    ("ghu_", 36, alphanumeric),
    ("ghs_", 36, alphanumeric),
    ("ghr_", 36, alphanumeric),
    ("github_pat_", 36, word),
    // GitLab
    ("glpat-", 20, dashed_word),
    // Google
    ("AIza", 35, dashed_word),
    // OpenAI and others
    ("sk-", 20, alphanumeric),
    ("sk-proj-", 20, dashed_word),
    ("sk-svcacct-", 20, dashed_word),
    ("sk-admin-", 20, dashed_word),
    // Slack
    ("xoxa-", 1, dashed),
    ("xoxb-", 1, dashed),
    ("xoxp-", 1, dashed),
    ("xoxr-", 1, dashed),
    ("xoxs-", 1, dashed),
    ("xapp-", 10, dashed),
    // Stripe
    ("sk_live_", 10, alphanumeric),
    ("sk_prod_", 10, alphanumeric),
    ("sk_test_", 10, alphanumeric),
    ("rk_live_", 10, alphanumeric),
    ("rk_prod_", 10, alphanumeric),
    ("rk_test_", 10, alphanumeric),
];

fn upper(c: u8) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit()
}

fn alphanumeric(c: u8) -> bool {
    c.is_ascii_alphanumeric()
}

fn word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_'
}

fn dashed(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'-'
}

fn dashed_word(c: u8) -> bool {
    word(c) || c == b'-'
}

/// The characters of `Authorization` headers.
fn credential(c: u8) -> bool {
    dashed_word(c) || matches!(c, b'.' | b'~' | b'+' | b'/' | b'=')
}

/// True for what looks like a key, a token or a password.
pub(crate) fn is_secret(value: &str) -> bool {
    !is_template(value)
        && (has_token(value)
            || is_armored(value)
            || is_web_token(value)
            || has_azure_secret(value)
            || has_authorization(value, "bearer", 10)
            || has_authorization(value, "basic", 8)
            || has_password_in_url(value)
            || is_encoded(value))
}

/// `${name}`, `{{ name }}`, `<name>`: a text that something else is put in the place of.
fn is_template(text: &str) -> bool {
    let text = text.trim();
    [("${", "}"), ("%{", "}"), ("{{", "}}"), ("<", ">")].iter().any(|(open, close)| {
        let inner = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        inner.is_some_and(|inner| !inner.is_empty() && !inner.contains(['{', '}', '<', '>']))
    })
}

/// Whether the text itself says that it is none.
fn is_placeholder(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    is_template(text) || PLACEHOLDERS.iter().any(|part| upper.contains(part))
}

fn has_token(value: &str) -> bool {
    TOKENS.iter().any(|(prefix, least, of)| {
        value.match_indices(prefix).any(|(at, _)| {
            let length = run_length(&value[at + prefix.len()..], *of);
            length >= *least && !is_placeholder(&value[at..at + prefix.len() + length])
        })
    })
}

fn run_length(text: &str, of: Of) -> usize {
    text.bytes().take_while(|c| of(*c)).count()
}

/// `-----BEGIN PRIVATE KEY-----` and its like.
fn is_armored(value: &str) -> bool {
    value.match_indices("-----BEGIN ").any(|(at, begin)| {
        let behind = &value[at + begin.len()..];
        let name = run_length(behind, |c| c.is_ascii_uppercase() || c == b' ');
        name > 0 && behind[name..].starts_with("-----")
    })
}

/// A signed token: three parts with dots between them, the first two encoded JSON.
fn is_web_token(value: &str) -> bool {
    let parts: Vec<&str> = value.split('.').collect();
    parts.windows(3).any(|parts| {
        let [head, body, signature] = parts else { return false };
        let begins = |text: &str| text.len() > 3 && text.starts_with("eyJ");
        let last_word = head.len() - head.bytes().rev().take_while(|c| dashed_word(*c)).count();
        head[last_word..].match_indices("eyJ").any(|(at, _)| begins(&head[last_word + at..]))
            && begins(body)
            && run_length(body, dashed_word) == body.len()
            && run_length(signature, dashed_word) > 0
    })
}

/// The secret of an application of Azure: three characters and a digit, `Q~`, and 31 characters or more.
fn has_azure_secret(value: &str) -> bool {
    let of: Of = |c| dashed_word(c) || matches!(c, b'~' | b'.');
    value.match_indices("Q~").any(|(at, mark)| {
        let before = &value.as_bytes()[..at];
        let head =
            before.iter().rev().take(4).enumerate().all(|(n, c)| if n == 0 { c.is_ascii_digit() } else { of(*c) });
        before.len() >= 4 && head && run_length(&value[at + mark.len()..], of) >= 31
    })
}

/// `Bearer …` or `Basic …`, as in the header `Authorization`. Words in small letters are words, not credentials.
fn has_authorization(value: &str, scheme: &str, least: usize) -> bool {
    let lower = value.to_ascii_lowercase();
    lower.match_indices(scheme).any(|(at, _)| {
        let behind = &value[at + scheme.len()..];
        let text = behind.trim_start();
        let begins = at == 0 || !value.as_bytes()[at - 1].is_ascii_alphanumeric();
        let text = &text[..run_length(text, credential)];
        begins
            && text.len() < behind.len()
            && text.len() >= least
            && !text.bytes().all(|c| c.is_ascii_lowercase() || matches!(c, b'-' | b'.'))
            && !is_placeholder(text)
    })
}

/// `scheme://user:password@host`.
fn has_password_in_url(value: &str) -> bool {
    value.match_indices("://").any(|(at, mark)| {
        let behind = &value[at + mark.len()..];
        let end = behind.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(behind.len());
        let Some((user, _)) = behind[..end].rsplit_once('@') else { return false };
        user.split_once(':').is_some_and(|(_, password)| !password.is_empty() && !is_placeholder(password))
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

    #[test]
    fn keys_and_tokens_are_known_by_their_forms() {
        for value in [
            "-----BEGIN RSA PRIVATE KEY-----\nx",
            "Bearer eyJhbGciOi.eyJzdWIiOi.abc_-",
            "AKIAABCDEFGHIJKLMNOP",
            "aws: ASIAABCDEFGHIJKLMN23",
            "x ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "ghs_abcdefghijklmnopqrstuvwxyz0123456789",
            "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz012345",
            "glpat-abcDEF123_-xyzABC987",
            "AIzaSyA-1234567890_abcdefghijklmnopqrst",
            "sk-abcdefghijklmnopqrst",
            "sk-proj-abc_DEF-ghi_JKL-mno_PQR",
            "xoxb-1-a",
            "xapp-1-A0123-456-abcdef",
            "sk_live_abcdef0123",
            "abc8Q~abcdefghijklmnopqrstuvwxyz01234~.-",
            "Authorization: Bearer abc.DEF-123",
            "basic dXNlcjpwYXNz",
            "postgres://app:hunter2@db.example.com:5432/app",
            "see https://u:p@host",
            "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXphYmNkZWY=",
        ] {
            assert!(is_secret(value), "{value}");
        }
    }

    #[test]
    fn what_only_begins_so_is_none() {
        for value in [
            "",
            "nginx:1.25",
            "-----BEGIN -----",
            "AKIAshort",
            "a.b.c",
            "eyJ.eyJ.x",
            "sk-",
            "xoxb-",
            "xapp-1",
            "glpat-short",
            "Q~",
            "abcdQ~abcdefghijklmnopqrstuvwxyz01234",
            "basic authentication",
            "Bearer",
            "bearer of bad news",
            "https://example.com/a:b@c",
            "https://user@example.com",
            "postgres://app:@db",
            "mail: a@example.com",
            &"a".repeat(60),
        ] {
            assert!(!is_secret(value), "{value}");
        }
    }

    #[test]
    fn placeholders_are_shown() {
        for value in [
            "${token}",
            "<your token>",
            "{{ .Values.token }}",
            "AKIAIOSFODNN7EXAMPLE",
            "ghp_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
            "sk_test_YOUR_KEY_HERE_PLEASE",
            "postgres://app:${password}@db/app",
            "https://user:<password>@host",
            "Bearer YOUR_TOKEN_HERE",
        ] {
            assert!(!is_secret(value), "{value}");
        }
    }
}

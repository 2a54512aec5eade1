//! What results may show of a value: no secrets, and no more than a line or two.

use crate::secrets::is_secret;

/// Most bytes of a value that are shown.
const MAX_SHOWN: usize = 128;
const REDACTED: &str = "<redacted>";

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
        assert_eq!(plain("xoxb-1-a"), REDACTED);
        assert_eq!(plain("nginx:1.25"), "nginx:1.25");
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let value = "é ".repeat(100);
        assert_eq!(plain(&value), format!("{}... (truncated {} chars)", &value[..128], 300 - 128));
        assert!(plain(&"é".repeat(65)).ends_with("... (truncated 2 chars)"));
    }
}

//! Bearer tokens, by their digests.

use std::collections::HashSet;
use std::path::Path;

use jiff::Timestamp;
use portico_krm::yaml::Lined;
use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use super::Identity;
use crate::config::{ConfigError, Header, read_bytes, read_document};

/// Characters that a token has at least. The file holds plain digests, which are safe for what nobody can guess, and for
/// nothing else: 32 characters of base 64 are 192 bits. What `portico token` makes is longer.
const LEAST: usize = 32;

/// Characters of a token that are looked at, at most.
const MOST: usize = 4096;

/// The file, as it is written.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "a mapping with `apiVersion`, `kind`, `tokens`")]
pub(crate) struct TokensFile {
    /// `portico.dev/v1alpha1`
    api_version: String,
    /// `Tokens`
    kind: String,
    /// Who has which token.
    #[serde(default)]
    #[schemars(with = "Vec<TokenEntry>")]
    tokens: Vec<Lined<TokenEntry>>,
}

/// Who has a token.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    rename_all = "camelCase",
    expecting = "a mapping with `user`, `sha256`, `groups`, `expires`"
)]
struct TokenEntry {
    /// The user's name.
    user: String,
    /// The groups that the user is in.
    #[serde(default)]
    groups: Vec<String>,
    /// The SHA-256 of the token, in hexadecimal digits.
    sha256: String,
    /// From when on it is worth nothing, as `2027-01-31T00:00:00Z`.
    expires: Option<String>,
}

/// The tokens that are known.
#[derive(Debug, Default)]
pub struct Tokens(Vec<Token>);

#[derive(Debug)]
struct Token {
    digest: [u8; 32],
    identity: Identity,
    expires: Option<Timestamp>,
}

impl Tokens {
    /// Reads the file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::read(&path.display().to_string(), &read_bytes(path)?)
    }

    /// Reads the file's text; `path` is how messages name it.
    pub fn read(path: &str, bytes: &[u8]) -> Result<Self, ConfigError> {
        let Some(file) = read_document::<TokensFile>(path, bytes)? else {
            return Err(Header::missing(path, "Tokens"));
        };
        Header::check(path, "Tokens", &file.api_version, &file.kind)?;
        let mut seen = HashSet::new();
        let mut tokens = Vec::with_capacity(file.tokens.len());
        for Lined { line, value } in file.tokens {
            let wrong = |text: String| ConfigError::Field { path: path.to_owned(), line, text };
            if value.user.is_empty() {
                return Err(wrong("`user` is empty".into()));
            }
            if let Some(name) =
                std::iter::once(&value.user).chain(&value.groups).find(|name| name.starts_with("system:"))
            {
                return Err(wrong(format!("`{name}`: names that begin with `system:` are the server's own")));
            }
            let digest = digest_of(&value.sha256).ok_or_else(|| {
                wrong(
                    "`sha256` is no SHA-256 in 64 hexadecimal digits; `portico token` makes a token and its entry"
                        .into(),
                )
            })?;
            if !seen.insert(digest) {
                return Err(wrong("this `sha256` stands there twice; a token has one user".into()));
            }
            let expires = value.expires.as_deref().map(|at| {
                at.parse().map_err(|_| wrong(format!("`expires`: `{at}` is no time; write `2027-01-31T00:00:00Z`")))
            });
            let expires = expires.transpose()?;
            tokens.push(Token { digest, identity: Identity::authenticated(&value.user, value.groups), expires });
        }
        Ok(Self(tokens))
    }

    /// Whose token this is, at this time. How long it takes says nothing of the tokens that are known: digests are compared
    /// whole, and each with all.
    pub fn identity(&self, token: &str, now: Timestamp) -> Option<Identity> {
        if !(LEAST..=MOST).contains(&token.len()) {
            return None;
        }
        let digest: [u8; 32] = Sha256::digest(token).into();
        let (mut found, mut at) = (Choice::from(0), 0_u32);
        for (n, known) in self.0.iter().enumerate() {
            let same = known.digest.ct_eq(&digest);
            at.conditional_assign(&(n as u32), same);
            found |= same;
        }
        let known = self.0.get(at as usize).filter(|_| found.into())?;
        known.expires.is_none_or(|at| now < at).then(|| known.identity.clone())
    }
}

fn digest_of(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut digest = [0; 32];
    for (n, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * n..2 * n + 2)?, 16).ok()?;
    }
    // `from_str_radix` takes a sign.
    text.bytes().all(|b| b.is_ascii_hexdigit()).then_some(digest)
}

/// A new token, and its SHA-256 in hexadecimal digits for the file.
pub fn new_token() -> (String, String) {
    // Two random UUIDs have 244 random bits, from the system's own source.
    let random = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
    let token = format!("portico-{}{}", random[0].simple(), random[1].simple());
    let digest = hex(&Sha256::digest(&token));
    (token, digest)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // A string never fails to take text.
        _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: portico.dev/v1alpha1\nkind: Tokens\n";

    fn refused(text: &str) -> String {
        Tokens::read("t.yaml", text.as_bytes()).expect_err(text).to_string()
    }

    #[test]
    fn a_token_has_one_user_until_it_expires() {
        let ((ann, ann_digest), (bob, bob_digest)) = (new_token(), new_token());
        let text = format!(
            "{HEAD}tokens:\n- user: ann\n  groups: [team-a]\n  sha256: {ann_digest}\n- user: bob\n  sha256: {}\n  expires: 2027-01-31T00:00:00Z\n",
            bob_digest.to_uppercase()
        );
        let tokens = Tokens::read("t.yaml", text.as_bytes()).expect("right");
        let at = |time: &str| time.parse::<Timestamp>().expect("a time");
        let before = at("2027-01-30T23:59:59Z");
        let found = tokens.identity(&ann, before).expect("ann's");
        assert_eq!(
            (&*found.user, &found.groups[..]),
            ("ann", &["team-a".to_owned(), "system:authenticated".to_owned()][..])
        );
        assert_eq!(&*tokens.identity(&bob, before).expect("bob's").user, "bob");
        assert_eq!(tokens.identity(&bob, at("2027-01-31T00:00:00Z")), None);
        assert_eq!(tokens.identity(&new_token().0, before), None);
        // The digest is no token, and neither is what is short or endless.
        for token in [ann_digest.as_str(), "", "short", &"x".repeat(MOST + 1)] {
            assert_eq!(tokens.identity(token, before), None);
        }
        assert_eq!(Tokens::default().identity(&ann, before), None);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let digest = new_token().1;
        for (text, words) in [
            (String::new(), "t.yaml: "),
            ("kind: Tokens\n".to_owned(), "t.yaml:1: missing field `apiVersion`"),
            (HEAD.replace("Tokens", "Roles"), "t.yaml: `kind` is `Roles`"),
            (HEAD.replace("v1alpha1", "v9"), "t.yaml: `apiVersion` is `portico.dev/v9`"),
            (
                format!("{HEAD}tokens:\n- user: ann\n  sha265: {digest}\n"),
                "t.yaml:5: `tokens[0]`: unknown field `sha265`",
            ),
            (format!("{HEAD}tokens:\n- user: ann\n  sha256: secret\n"), "t.yaml:4: `sha256` is no SHA-256"),
            (
                format!("{HEAD}tokens:\n- user: ann\n  sha256: '{}+1'\n", &digest[..62]),
                "t.yaml:4: `sha256` is no SHA-256",
            ),
            (format!("{HEAD}tokens:\n- user: ''\n  sha256: {digest}\n"), "t.yaml:4: `user` is empty"),
            (
                format!("{HEAD}tokens:\n- user: a\n  groups: ['system:masters']\n  sha256: {digest}\n"),
                "t.yaml:4: `system:masters`: names that begin with `system:`",
            ),
            (
                format!("{HEAD}tokens:\n- user: a\n  sha256: {digest}\n- user: b\n  sha256: {digest}\n"),
                "t.yaml:6: this `sha256`",
            ),
            (format!("{HEAD}tokens:\n- user: a\n  sha256: {digest}\n  expires: soon\n"), "t.yaml:4: `expires`: `soon`"),
        ] {
            let said = refused(&text);
            assert!(said.starts_with(words), "{text:?}: {said}");
        }
    }
}

//! From a request's credentials to who sends it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::http::{HeaderMap, header};
use jiff::Timestamp;

use super::{Attributes, Authorizer, Identity, Roles, Tokens};
use crate::config::ConfigError;
use crate::grpc::Identify;

/// Finds out who sends a request.
#[derive(Debug)]
pub struct Authenticator {
    tokens: Option<(PathBuf, ArcSwap<Tokens>)>,
    required: bool,
}

/// The credentials are of nobody, or there are none where some are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unauthenticated;

impl Authenticator {
    /// With this file of tokens, if there is one. Credentials are needed if there is one, or client certificates are looked
    /// at.
    pub fn new(tokens: Option<&Path>, certificates: bool) -> Result<Self, ConfigError> {
        let read = |path: &Path| Ok((path.to_owned(), ArcSwap::from_pointee(Tokens::load(path)?)));
        let tokens = tokens.map(read).transpose()?;
        Ok(Self { required: tokens.is_some() || certificates, tokens })
    }

    /// Whether requests need credentials.
    pub fn is_required(&self) -> bool {
        self.required
    }

    /// Reads the tokens again. With an error all stays as it was.
    pub fn reload(&self) -> Result<(), ConfigError> {
        if let Some((path, tokens)) = &self.tokens {
            tokens.store(Arc::new(Tokens::load(path)?));
        }
        Ok(())
    }

    /// Who sends a request with these headers, on a connection whose certificate names somebody, or not. A token goes before
    /// a certificate, and one that is wrong is not made good by a certificate.
    pub fn identify(&self, certificate: Option<&Identity>, headers: &HeaderMap) -> Result<Identity, Unauthenticated> {
        if !self.required {
            return Ok(Identity::anonymous());
        }
        if let (Some((_, tokens)), Some(token)) = (&self.tokens, bearer(headers)) {
            return tokens.load().identity(token, Timestamp::now()).ok_or(Unauthenticated);
        }
        certificate.cloned().ok_or(Unauthenticated)
    }
}

impl Identify for Authenticator {
    /// Over gRPC there are no certificates. What may be called without credentials, as Porch sends none, is not asked here.
    fn identify(&self, authorization: Option<&str>) -> Result<Identity, String> {
        if !self.required {
            return Ok(Identity::anonymous());
        }
        let (Some((_, tokens)), Some(text)) = (&self.tokens, authorization) else {
            return Err("a token is needed in the metadata `authorization`: `Bearer TOKEN`".to_owned());
        };
        let known = token_of(text).and_then(|token| tokens.load().identity(token, Timestamp::now()));
        known.ok_or_else(|| "the token is not known here, or has expired".to_owned())
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    token_of(headers.get(header::AUTHORIZATION)?.to_str().ok()?)
}

/// The token of `Authorization: Bearer TOKEN`.
fn token_of(text: &str) -> Option<&str> {
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// A roles file, as it was read the last time.
#[derive(Debug)]
pub struct RolesOfFile {
    path: PathBuf,
    roles: ArcSwap<Roles>,
}

impl RolesOfFile {
    /// Reads the file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Ok(Self { path: path.to_owned(), roles: ArcSwap::from_pointee(Roles::load(path)?) })
    }

    /// Reads it again. With an error all stays as it was.
    pub fn reload(&self) -> Result<(), ConfigError> {
        self.roles.store(Arc::new(Roles::load(&self.path)?));
        Ok(())
    }
}

impl Authorizer for RolesOfFile {
    fn allows(&self, who: &Identity, what: &Attributes<'_>) -> Result<(), String> {
        self.roles.load().allows(who, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::new_token;

    fn headers(text: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if !text.is_empty() {
            headers.insert(header::AUTHORIZATION, text.parse().expect("a header"));
        }
        headers
    }

    #[test]
    fn a_token_goes_before_a_certificate_and_a_wrong_one_is_nobodys() {
        let (token, digest) = new_token();
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("tokens.yaml");
        let text =
            format!("apiVersion: portico.dev/v1alpha1\nkind: Tokens\ntokens: [{{user: ann, sha256: {digest}}}]\n");
        std::fs::write(&file, text).expect("written");
        let authenticator = Authenticator::new(Some(&file), true).expect("right");
        let bob = Identity::authenticated("bob", vec![]);
        let who = |certificate, text: &str| {
            authenticator.identify(certificate, &headers(text)).map(|who| who.user.to_string())
        };
        assert_eq!(who(None, &format!("bearer {token}")), Ok("ann".into()));
        assert_eq!(who(Some(&bob), &format!("Bearer {token}")), Ok("ann".into()));
        assert_eq!(who(Some(&bob), ""), Ok("bob".into()));
        assert_eq!(who(Some(&bob), "Bearer wrong"), Err(Unauthenticated));
        assert_eq!(who(None, ""), Err(Unauthenticated));
        assert_eq!(who(None, &format!("Basic {token}")), Err(Unauthenticated));
        // A file that is wrong keeps the old one.
        std::fs::write(&file, "kind: Tokens\n").expect("written");
        assert!(authenticator.reload().is_err());
        assert_eq!(who(None, &format!("Bearer {token}")), Ok("ann".into()));
        std::fs::write(&file, "apiVersion: portico.dev/v1alpha1\nkind: Tokens\n").expect("written");
        authenticator.reload().expect("right");
        assert_eq!(who(None, &format!("Bearer {token}")), Err(Unauthenticated));
    }

    #[test]
    fn over_grpc_nobody_is_nobody_and_a_wrong_token_is_refused() {
        let (token, digest) = new_token();
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("tokens.yaml");
        let text =
            format!("apiVersion: portico.dev/v1alpha1\nkind: Tokens\ntokens: [{{user: ann, sha256: {digest}}}]\n");
        std::fs::write(&file, text).expect("written");
        let authenticator = Authenticator::new(Some(&file), false).expect("right");
        let who = |text: Option<&str>| Identify::identify(&authenticator, text).map(|who| who.user.to_string());
        assert_eq!(who(Some(&format!("Bearer {token}"))), Ok("ann".into()));
        assert!(who(None).is_err_and(|text| text.contains("Bearer TOKEN")));
        assert!(who(Some("Bearer wrong")).is_err() && who(Some("Basic YTpi")).is_err());
    }

    #[test]
    fn where_nobody_is_asked_everybody_is_the_same() {
        let authenticator = Authenticator::new(None, false).expect("no file");
        let who = authenticator.identify(None, &headers("Bearer of-old")).expect("anybody");
        assert_eq!(who, Identity::anonymous());
    }
}

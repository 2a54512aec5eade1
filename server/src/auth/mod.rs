//! Who sends a request, and what they may do.

mod authenticate;
mod certificate;
mod roles;
mod tokens;

use std::sync::Arc;

pub use self::authenticate::{Authenticator, RolesOfFile, Unauthenticated};
pub use self::certificate::CertificateError;
pub use self::roles::Roles;
pub use self::tokens::{Tokens, new_token};

/// Who sends a request. Found by the listener, carried in the request's extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The user's name; `system:anonymous` without credentials.
    pub user: Arc<str>,
    /// The groups that the user is in.
    pub groups: Arc<[String]>,
}

impl Identity {
    /// Somebody without credentials.
    pub fn anonymous() -> Self {
        Self { user: "system:anonymous".into(), groups: ["system:unauthenticated".to_owned()].into() }
    }

    /// Somebody whose credentials were good; they are in the group of all such, too.
    pub fn authenticated(user: &str, mut groups: Vec<String>) -> Self {
        groups.push("system:authenticated".to_owned());
        Self { user: user.into(), groups: groups.into() }
    }
}

/// What a request wants to do, in the terms of Kubernetes' authorization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes<'a> {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`; for paths that are no resources, the method in lower
    /// case.
    pub verb: &'a str,
    /// The API group; empty for the core.
    pub group: &'a str,
    /// The resource in the plural, such as `packagerevisions`; or the path, such as `/metrics`.
    pub resource: &'a str,
    /// `approval`, `log`; empty for the object itself.
    pub subresource: &'a str,
    /// The namespace; empty for all of them.
    pub namespace: &'a str,
    /// The object's name; empty for a collection.
    pub name: &'a str,
}

/// Decides who may do what.
pub trait Authorizer: Send + Sync + 'static {
    /// Whether this identity may do that. The reason is told to the client where it may not.
    fn allows(&self, who: &Identity, what: &Attributes<'_>) -> Result<(), String>;
}

/// Everybody may do everything: for one person on a loopback address, and for tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

impl Authorizer for AllowAll {
    fn allows(&self, _: &Identity, _: &Attributes<'_>) -> Result<(), String> {
        Ok(())
    }
}

/// Everybody who is known may do everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowKnown;

impl Authorizer for AllowKnown {
    fn allows(&self, who: &Identity, _: &Attributes<'_>) -> Result<(), String> {
        if *who == Identity::anonymous() { Err("credentials are needed".to_owned()) } else { Ok(()) }
    }
}

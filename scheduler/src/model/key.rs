//! What tells package revisions apart.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A package revision. Deleted and made anew under the same name it is another one: the uid tells them apart.
///
/// Clones share their text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RevisionKey {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name, unique in its namespace at one time.
    pub name: Arc<str>,
    /// Unique for ever.
    pub uid: Arc<str>,
}

impl RevisionKey {
    /// A key of these parts.
    pub fn new(namespace: &str, name: &str, uid: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into(), uid: uid.into() }
    }
}

impl fmt::Display for RevisionKey {
    /// `namespace/name`, as people write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Who shares the workers fairly: namespaces take turns, and the repositories within a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tenant {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The repository within it.
    pub repository: Arc<str>,
}

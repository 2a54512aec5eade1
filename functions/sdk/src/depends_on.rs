//! The `config.kubernetes.io/depends-on` annotation, which names another object of a package.

use std::fmt;

/// The annotation.
pub const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";

/// A reference to one object: `GROUP/namespaces/NAMESPACE/KIND/NAME`, or `GROUP/KIND/NAME` for one of the whole cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DependsOn<'a> {
    /// Empty for core types.
    pub group: &'a str,
    /// `None` for objects of the whole cluster.
    pub namespace: Option<&'a str>,
    /// `Deployment`, …
    pub kind: &'a str,
    /// `metadata.name`.
    pub name: &'a str,
}

impl<'a> DependsOn<'a> {
    /// Reads an annotation that is exactly one reference; lists of references are none.
    pub fn parse(text: &'a str) -> Option<DependsOn<'a>> {
        let mut parts = text.split('/');
        let mut next = || parts.next();
        let all = [next(), next(), next(), next(), next(), next()];
        let reference = match all {
            [Some(group), Some("namespaces"), Some(namespace), Some(kind), Some(name), None] => {
                DependsOn { group, namespace: Some(namespace), kind, name }
            }
            [Some(group), Some(kind), Some(name), None, ..] => DependsOn { group, namespace: None, kind, name },
            _ => return None,
        };
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        text.split('/').all(|part| part.chars().all(word)).then_some(reference)
    }
}

impl fmt::Display for DependsOn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace {
            Some(namespace) => write!(f, "{}/namespaces/{namespace}/{}/{}", self.group, self.kind, self.name),
            None => write!(f, "{}/{}/{}", self.group, self.kind, self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_references_are_read_and_written() {
        for text in [
            "apps/namespaces/a/StatefulSet/db",
            "/namespaces/a/Service/db",
            "rbac.authorization.k8s.io/ClusterRole/reader",
            "/Namespace/a",
        ] {
            assert_eq!(DependsOn::parse(text).map(|reference| reference.to_string()).as_deref(), Some(text));
        }
        assert_eq!(DependsOn::parse("g/K/n").and_then(|reference| reference.namespace), None);
    }

    #[test]
    fn other_texts_are_no_single_reference() {
        for text in [
            "",
            "a",
            "a/b",
            "a/b/c/d",
            "apps/namespaces/a/StatefulSet",
            "apps/namespaces/a b/StatefulSet/db",
            "apps/namespaces/a/StatefulSet/db,apps/namespaces/a/StatefulSet/x",
            "apps/namespaces/a/StatefulSet/db/x",
        ] {
            assert_eq!(DependsOn::parse(text), None, "{text}");
        }
    }
}

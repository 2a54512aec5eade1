//! Who an object is, and where it came from.

use portico_krm::Resource;

use crate::gvk::{group, namespaced_by_table};

/// Annotation that keeps an object out of the cluster.
pub const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";
/// Annotation with the id that the object had in its upstream package: `GROUP|KIND|NAMESPACE|NAME`.
pub const UPSTREAM_IDENTIFIER: &str = "internal.kpt.dev/upstream-identifier";
/// Namespace of an object that belongs to the whole cluster, or of which nobody knows.
pub const UNKNOWN_NAMESPACE: &str = "~C";
/// Namespace of a namespaced object that names none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// Group, kind, namespace and name of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceId {
    /// Empty for core types.
    pub group: String,
    /// `Deployment`, …
    pub kind: String,
    /// [`UNKNOWN_NAMESPACE`] for objects of the whole cluster.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

/// What functions ask of an object beyond its fields. Implemented for [`Resource`].
pub trait KubeObject {
    /// See [`crate::is_gvk`].
    fn is_gvk(&self, group: &str, version: &str, kind: &str) -> bool;

    /// See [`crate::is_group_version_kind`].
    fn is_group_version_kind(&self, group: &str, version: &str, kind: &str) -> bool;

    /// True when the annotation `config.kubernetes.io/local-config` is there, not empty and not `false`.
    fn is_local_config(&self) -> bool;

    /// By the table of [`crate::namespaced_by_table`]; types outside it count as namespaced when the object has a
    /// namespace.
    fn is_namespace_scoped(&self) -> bool;

    /// The opposite of [`KubeObject::is_namespace_scoped`].
    fn is_cluster_scoped(&self) -> bool {
        !self.is_namespace_scoped()
    }

    /// The object's own namespace; `default` for a type that the table calls namespaced; else `~C`.
    fn effective_namespace(&self) -> &str;

    /// The id that the object has now.
    fn resource_id(&self) -> ResourceId;

    /// True when the object carries a readable upstream identifier.
    fn has_upstream_origin(&self) -> bool;

    /// The id that the object had upstream; its own id without that annotation.
    fn origin_id(&self) -> ResourceId;

    /// `Resource(apiVersion=…, kind=…, namespace=…, name=…)`, as function results show an object.
    fn short_string(&self) -> String;
}

impl KubeObject for Resource {
    fn is_gvk(&self, group: &str, version: &str, kind: &str) -> bool {
        crate::gvk::is_gvk(self, group, version, kind)
    }

    fn is_group_version_kind(&self, group: &str, version: &str, kind: &str) -> bool {
        crate::gvk::is_group_version_kind(self, group, version, kind)
    }

    fn is_local_config(&self) -> bool {
        self.annotation(LOCAL_CONFIG).is_some_and(|value| !value.is_empty() && value != "false")
    }

    fn is_namespace_scoped(&self) -> bool {
        namespaced_by_table(self.api_version(), self.kind())
            .unwrap_or_else(|| self.tree.get_path(self.tree.root(), &["metadata", "namespace"]).is_some())
    }

    fn effective_namespace(&self) -> &str {
        match self.namespace() {
            "" if namespaced_by_table(self.api_version(), self.kind()) == Some(true) => DEFAULT_NAMESPACE,
            "" => UNKNOWN_NAMESPACE,
            own => own,
        }
    }

    fn resource_id(&self) -> ResourceId {
        ResourceId {
            group: group(self.api_version()).to_owned(),
            kind: self.kind().to_owned(),
            namespace: self.effective_namespace().to_owned(),
            name: self.name().to_owned(),
        }
    }

    fn has_upstream_origin(&self) -> bool {
        self.annotation(UPSTREAM_IDENTIFIER).and_then(parse_identifier).is_some()
    }

    fn origin_id(&self) -> ResourceId {
        self.annotation(UPSTREAM_IDENTIFIER).and_then(parse_identifier).unwrap_or_else(|| self.resource_id())
    }

    fn short_string(&self) -> String {
        format!(
            "Resource(apiVersion={}, kind={}, namespace={}, name={})",
            self.api_version(),
            self.kind(),
            self.namespace(),
            self.name()
        )
    }
}

/// Longest name or namespace in an identifier.
const LABEL_MAX: usize = 63;

fn is_name_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

fn is_kind(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase()) && text.chars().all(|c| c.is_ascii_alphanumeric())
}

fn is_namespace(text: &str) -> bool {
    text == UNKNOWN_NAMESPACE || (1..=LABEL_MAX).contains(&text.len()) && text.chars().all(is_name_char)
}

/// Reads `GROUP|KIND|NAMESPACE|NAME`. The match is not anchored: text before the group and behind the name is ignored.
fn parse_identifier(text: &str) -> Option<ResourceId> {
    let parts: Vec<&str> = text.split('|').collect();
    parts.windows(4).find_map(|window| {
        let &[before, kind, namespace, behind] = window else { return None };
        let group_start = before.char_indices().rev().take_while(|(_, c)| is_name_char(*c) || *c == '.').last();
        let group = group_start.map_or("", |(at, _)| &before[at..]);
        let name: String = behind.chars().take_while(|c| is_name_char(*c)).take(LABEL_MAX).collect();
        (is_kind(kind) && is_namespace(namespace) && !name.is_empty()).then(|| ResourceId {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(group: &str, kind: &str, namespace: &str, name: &str) -> ResourceId {
        ResourceId { group: group.into(), kind: kind.into(), namespace: namespace.into(), name: name.into() }
    }

    #[test]
    fn identifiers_have_four_parts() {
        assert_eq!(parse_identifier("|Service|example|the-service"), Some(id("", "Service", "example", "the-service")));
        assert_eq!(
            parse_identifier("apiextensions.k8s.io|CustomResourceDefinition|~C|the-crd"),
            Some(id("apiextensions.k8s.io", "CustomResourceDefinition", "~C", "the-crd"))
        );
    }

    #[test]
    fn text_around_an_identifier_is_ignored() {
        assert_eq!(parse_identifier("X apps|Job|a|b.c"), Some(id("apps", "Job", "a", "b")));
    }

    #[test]
    fn broken_identifiers_are_no_identifiers() {
        for text in ["", "|||", "apps|deployment|a|b", "apps|Deployment||b", "apps|Deployment|a|", "a|B|c"] {
            assert_eq!(parse_identifier(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_is_cut_at_its_longest_length() {
        let text = format!("|Pod|a|{}", "n".repeat(70));
        assert_eq!(parse_identifier(&text).map(|id| id.name.len()), Some(LABEL_MAX));
    }
}

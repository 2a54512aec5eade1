//! The `config.kubernetes.io/depends-on` annotation, which names other objects of the package.

use std::collections::{BTreeSet, HashSet};

use portico_fn::{KubeObject, Resource, UNKNOWN_NAMESPACE};

use crate::settings::Settings;

const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";

/// A reference to one namespaced object: `GROUP/namespaces/NAMESPACE/KIND/NAME`.
struct Reference<'a> {
    group: &'a str,
    namespace: &'a str,
    kind: &'a str,
    name: &'a str,
}

impl<'a> Reference<'a> {
    /// Lists of references and references to objects of the whole cluster are none.
    fn parse(text: &'a str) -> Option<Reference<'a>> {
        let mut parts = text.split('/');
        let (Some(group), Some("namespaces"), Some(namespace), Some(kind), Some(name), None) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        [group, namespace, kind, name].iter().all(|part| part.chars().all(word)).then_some(Reference {
            group,
            namespace,
            kind,
            name,
        })
    }
}

fn reference(group: &str, namespace: &str, kind: &str, name: &str) -> String {
    format!("{group}/namespaces/{namespace}/{kind}/{name}")
}

/// What was changed.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) old: BTreeSet<String>,
    pub(crate) count: usize,
}

/// References to the objects of a package, as they are before anything is changed. Empty when no object depends on
/// another one.
pub(crate) fn known_references(items: &[Resource]) -> HashSet<String> {
    let objects = || items.iter().filter(|item| !item.is_local_config());
    if objects().all(|item| item.annotation(DEPENDS_ON).is_none()) {
        return HashSet::new();
    }
    objects()
        .map(KubeObject::resource_id)
        .filter(|id| id.namespace != UNKNOWN_NAMESPACE)
        .map(|id| reference(&id.group, &id.namespace, &id.kind, &id.name))
        .collect()
}

/// Lets references follow the objects that they name.
pub(crate) fn update(items: &mut [Resource], known: &HashSet<String>, settings: &Settings) -> Changes {
    let mut changes = Changes::default();
    if known.is_empty() {
        return changes;
    }
    for item in items.iter_mut().filter(|item| !item.is_local_config()) {
        let Some(text) = item.annotation(DEPENDS_ON) else { continue };
        let Some(found) = Reference::parse(text).filter(|_| known.contains(text)) else { continue };
        let matches = settings.matcher.is_empty() || settings.matcher == found.namespace;
        if found.namespace == settings.namespace || !matches {
            continue;
        }
        changes.old.insert(found.namespace.to_owned());
        changes.count += 1;
        let new = reference(found.group, &settings.namespace, found.kind, found.name);
        let root = item.tree.root();
        if let Some(node) = item.tree.get_path(root, &["metadata", "annotations", DEPENDS_ON]) {
            item.tree.set_string(node, &new);
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_single_namespaced_references_are_read() {
        assert!(Reference::parse("apps/namespaces/a/StatefulSet/db").is_some());
        assert!(Reference::parse("/namespaces/a/Service/db").is_some());
        assert!(Reference::parse("rbac.authorization.k8s.io/ClusterRole/reader").is_none());
        assert!(Reference::parse("apps/namespaces/a/StatefulSet/db,apps/namespaces/a/StatefulSet/x").is_none());
        assert!(Reference::parse("apps/namespaces/a/StatefulSet").is_none());
        assert!(Reference::parse("apps/namespaces/a b/StatefulSet/db").is_none());
    }
}

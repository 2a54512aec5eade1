//! References between the objects of the package follow the namespaces.

use std::collections::{BTreeSet, HashSet};

use portico_fn::{DEPENDS_ON, DependsOn, KubeObject, Resource, UNKNOWN_NAMESPACE};

use crate::settings::Settings;

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
        .map(|id| {
            let namespace = Some(id.namespace.as_str());
            DependsOn { group: &id.group, namespace, kind: &id.kind, name: &id.name }.to_string()
        })
        .collect()
}

/// Lets references follow the objects that they name. Lists of references and references to objects of the whole
/// cluster are left alone.
pub(crate) fn update(items: &mut [Resource], known: &HashSet<String>, settings: &Settings) -> Changes {
    let mut changes = Changes::default();
    if known.is_empty() {
        return changes;
    }
    for item in items.iter_mut().filter(|item| !item.is_local_config()) {
        let Some(text) = item.annotation(DEPENDS_ON) else { continue };
        let Some(found) = DependsOn::parse(text).filter(|_| known.contains(text)) else { continue };
        let Some(namespace) = found.namespace else { continue };
        let matches = settings.matcher.is_empty() || settings.matcher == namespace;
        if namespace == settings.namespace || !matches {
            continue;
        }
        changes.old.insert(namespace.to_owned());
        changes.count += 1;
        let new = DependsOn { namespace: Some(&settings.namespace), ..found }.to_string();
        let root = item.tree.root();
        if let Some(node) = item.tree.get_path(root, &["metadata", "annotations", DEPENDS_ON]) {
            item.tree.set_string(node, &new);
        }
    }
    changes
}

//! Which fields of Kubernetes objects are strings, numbers or booleans, as far as it is safe to say without a schema.

use portico_fn::Resource;

use crate::walk::{Path, Step};

/// The type that a field has whatever stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// A string.
    Text,
    /// A number or boolean.
    Bare,
}

/// Mappings whose values are strings, in objects of every kind.
const TEXT_MAPS: &[&str] = &["matchLabels", "nodeSelector"];
/// Mappings whose values are strings where they belong to `metadata`.
const METADATA_MAPS: &[&str] = &["annotations", "labels"];

/// Fields of the built-in types that are numbers or booleans wherever they occur. Ports are here that may be names
/// too: a name of digits alone is none.
const BARE: &[&str] = &[
    "activeDeadlineSeconds",
    "allowPrivilegeEscalation",
    "allowVolumeExpansion",
    "automountServiceAccountToken",
    "averageUtilization",
    "backoffLimit",
    "completions",
    "containerPort",
    "defaultMode",
    "failedJobsHistoryLimit",
    "failureThreshold",
    "fsGroup",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostPort",
    "immutable",
    "initialDelaySeconds",
    "maxReplicas",
    "maxSkew",
    "minReadySeconds",
    "minReplicas",
    "nodePort",
    "optional",
    "parallelism",
    "paused",
    "periodSeconds",
    "port",
    "privileged",
    "progressDeadlineSeconds",
    "publishNotReadyAddresses",
    "readOnly",
    "readOnlyRootFilesystem",
    "replicas",
    "revisionHistoryLimit",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "shareProcessNamespace",
    "startingDeadlineSeconds",
    "stdin",
    "successThreshold",
    "successfulJobsHistoryLimit",
    "suspend",
    "targetAverageUtilization",
    "targetCPUUtilizationPercentage",
    "targetPort",
    "terminationGracePeriodSeconds",
    "timeoutSeconds",
    "ttlSecondsAfterFinished",
    "tty",
];

/// The type of the field that `path` leads to; `None` when nothing is known of it.
pub fn field_type(object: &Resource, path: &Path<'_>) -> Option<FieldType> {
    let in_list = matches!(path.steps().last(), Some(Step::Index { .. }));
    type_of(object, path.keys().rev(), in_list)
}

/// [`field_type`] of the value of the last of these keys, which lead there from the root.
pub fn field_type_at<K: AsRef<str>>(object: &Resource, keys: &[K]) -> Option<FieldType> {
    type_of(object, keys.iter().rev().map(AsRef::as_ref), false)
}

/// `keys` come from the field upwards; `in_list` when it is an element of the list at the first of them.
fn type_of<'k>(object: &Resource, mut keys: impl Iterator<Item = &'k str>, in_list: bool) -> Option<FieldType> {
    let (last, parent, grandparent) = (keys.next()?, keys.next(), keys.next());
    if !in_list {
        let parent = parent.unwrap_or_default();
        let named = parent == "metadata" && matches!(last, "name" | "namespace" | "generateName");
        let in_metadata = METADATA_MAPS.contains(&parent) && grandparent == Some("metadata");
        let data = grandparent.is_none()
            && matches!(
                (object.api_version(), object.kind(), parent),
                ("v1", "ConfigMap", "data" | "binaryData") | ("v1", "Secret", "data" | "stringData")
            );
        if named || in_metadata || data || TEXT_MAPS.contains(&parent) {
            return Some(FieldType::Text);
        }
    }
    if !is_built_in(object.group()) {
        return None;
    }
    match (last, parent) {
        ("args" | "command", _) if in_list => Some(FieldType::Text),
        ("name" | "value", Some("env")) if !in_list => Some(FieldType::Text),
        _ if !in_list && BARE.contains(&last) => Some(FieldType::Bare),
        _ => None,
    }
}

/// True for the groups of Kubernetes itself. A custom type may give any name any type.
fn is_built_in(group: &str) -> bool {
    matches!(group, "" | "apps" | "batch" | "autoscaling" | "policy") || group.ends_with(".k8s.io")
}

#[cfg(test)]
mod tests {
    use portico_fn::yaml::{NodeId, ParseLimits, Tree};

    use super::*;
    use crate::walk::{Visitor, walk};

    struct Types<'a>(&'a Resource, Vec<(String, Option<FieldType>)>);

    impl Visitor for Types<'_> {
        type Error = ();

        fn list(&mut self, _: &Tree, _: NodeId, _: NodeId, _: &Path<'_>) -> Result<bool, ()> {
            Ok(true)
        }

        fn scalar(&mut self, _: &Tree, _: Option<NodeId>, _: NodeId, path: &Path<'_>) -> Result<(), ()> {
            self.1.push((path.to_string(), field_type(self.0, path)));
            Ok(())
        }
    }

    fn types(yaml: &str) -> Vec<(String, Option<FieldType>)> {
        let tree = Tree::parse(yaml, &ParseLimits::default()).expect("yaml").expect("a document");
        let object = Resource { tree };
        let mut types = Types(&object, Vec::new());
        walk(&object.tree, &mut types).expect("no error");
        types.1
    }

    fn of(yaml: &str, path: &str) -> Option<FieldType> {
        types(yaml).into_iter().find(|(at, _)| at == path).unwrap_or_else(|| panic!("no {path}")).1
    }

    #[test]
    fn values_of_string_maps_are_text_in_every_kind() {
        let yaml = "apiVersion: example.com/v1\nkind: X\nmetadata:\n  labels: {a: b}\n  annotations: {a: b}\nspec:\n  labels: {a: b}\n  selector:\n    matchLabels: {a: b}\n  replicas: 1\n";
        for path in ["metadata.labels.a", "metadata.annotations.a", "spec.selector.matchLabels.a"] {
            assert_eq!(of(yaml, path), Some(FieldType::Text), "{path}");
        }
        for path in ["spec.labels.a", "spec.replicas", "kind"] {
            assert_eq!(of(yaml, path), None, "{path}");
        }
    }

    #[test]
    fn fields_of_built_in_types_are_known() {
        let yaml = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\nspec:\n  replicas: 1\n  template:\n    metadata:\n      labels: {a: b}\n    spec:\n      containers:\n      - args: [a]\n        env:\n        - name: a\n          value: b\n        image: c\n";
        assert_eq!(of(yaml, "spec.replicas"), Some(FieldType::Bare));
        for path in [
            "metadata.name",
            "spec.template.metadata.labels.a",
            "spec.template.spec.containers[0].args[0]",
            "spec.template.spec.containers[0].env[0].value",
        ] {
            assert_eq!(of(yaml, path), Some(FieldType::Text), "{path}");
        }
        assert_eq!(of(yaml, "spec.template.spec.containers[0].image"), None);
    }

    #[test]
    fn the_data_of_config_maps_and_secrets_is_text() {
        assert_eq!(of("apiVersion: v1\nkind: ConfigMap\ndata: {port: a}\n", "data.port"), Some(FieldType::Text));
        assert_eq!(of("apiVersion: v1\nkind: Secret\nstringData: {a: a}\n", "stringData.a"), Some(FieldType::Text));
        let tree = Tree::parse("apiVersion: v1\nkind: ConfigMap\n", &ParseLimits::default());
        let object = Resource { tree: tree.expect("yaml").expect("a document") };
        assert_eq!(field_type_at(&object, &["data", "new"]), Some(FieldType::Text));
        assert_eq!(field_type_at::<&str>(&object, &[]), None);
        assert_eq!(of("apiVersion: x.io/v1\nkind: ConfigMap\ndata: {a: a}\n", "data.a"), None);
    }

    #[test]
    fn the_names_are_sorted() {
        assert!(BARE.is_sorted());
    }
}

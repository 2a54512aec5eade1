//! Predicates on the type of an object.

use portico_krm::Resource;

/// The group of an `apiVersion`: the part before the slash, empty for core types.
pub fn group(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

/// The version of an `apiVersion`: the part behind the slash.
pub fn version(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or(api_version, |(_, version)| version)
}

/// Compares one part of a type; an empty part on either side matches everything.
fn part(have: &str, want: &str) -> bool {
    have.is_empty() || want.is_empty() || have == want
}

/// Group, version and kind of an object, read once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupVersionKind<'a> {
    /// Empty for core types.
    pub group: &'a str,
    /// `v1`, `v1beta1`, …
    pub version: &'a str,
    /// `Deployment`, …
    pub kind: &'a str,
}

impl<'a> GroupVersionKind<'a> {
    /// The type of an object.
    pub fn of(object: &'a Resource) -> GroupVersionKind<'a> {
        let api_version = object.api_version();
        GroupVersionKind { group: group(api_version), version: version(api_version), kind: object.kind() }
    }

    /// See [`is_gvk`].
    pub fn matches(&self, group: &str, version: &str, kind: &str) -> bool {
        part(self.kind, kind) && part(self.group, group) && part(self.version, version)
    }
}

/// True when the object is of this group, version and kind. An empty part **on either side** is a wildcard, as in the
/// Go SDK: `is_gvk(o, "", "v1", "Service")` also matches `serving.knative.dev/v1 Service`, and a core object matches
/// every group.
pub fn is_gvk(object: &Resource, group: &str, version: &str, kind: &str) -> bool {
    GroupVersionKind::of(object).matches(group, version, kind)
}

/// True when group, version and kind are exactly these.
pub fn is_group_version_kind(object: &Resource, group: &str, version: &str, kind: &str) -> bool {
    GroupVersionKind::of(object) == GroupVersionKind { group, version, kind }
}

/// What the fixed table of the SDK says of a type: `Some(true)` for namespaced types, `Some(false)` for types of the
/// whole cluster, `None` for types that it does not know.
///
/// The table is that of the Go SDK, gaps included (`autoscaling/v2` is not in it): functions behave by it.
pub fn namespaced_by_table(api_version: &str, kind: &str) -> Option<bool> {
    let (group, version) = (group(api_version), version(api_version));
    let beta_or_v1 = matches!(version, "v1" | "v1beta1");
    let known = match (group, kind) {
        ("", "ComponentStatus" | "Namespace" | "Node" | "NodeProxyOptions" | "PersistentVolume") => {
            (version == "v1", false)
        }
        (
            "",
            "ConfigMap"
            | "Endpoints"
            | "Event"
            | "LimitRange"
            | "PersistentVolumeClaim"
            | "Pod"
            | "PodAttachOptions"
            | "PodExecOptions"
            | "PodPortForwardOptions"
            | "PodProxyOptions"
            | "PodTemplate"
            | "ReplicationController"
            | "ResourceQuota"
            | "Secret"
            | "Service"
            | "ServiceAccount"
            | "ServiceProxyOptions",
        )
        | ("apps", "ControllerRevision" | "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet")
        | ("autoscaling", "Scale")
        | ("batch", "Job")
        | ("networking.k8s.io", "NetworkPolicy") => (version == "v1", true),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration")
        | ("apiextensions.k8s.io", "CustomResourceDefinition")
        | ("apiregistration.k8s.io", "APIService")
        | ("certificates.k8s.io", "CertificateSigningRequest")
        | ("networking.k8s.io", "IngressClass")
        | ("node.k8s.io", "RuntimeClass")
        | ("rbac.authorization.k8s.io", "ClusterRole" | "ClusterRoleBinding")
        | ("scheduling.k8s.io", "PriorityClass")
        | ("storage.k8s.io", "CSIDriver" | "CSINode" | "StorageClass" | "VolumeAttachment") => (beta_or_v1, false),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema" | "PriorityLevelConfiguration")
        | ("policy", "PodSecurityPolicy") => (version == "v1beta1", false),
        ("autoscaling", "HorizontalPodAutoscaler") => (matches!(version, "v1" | "v2beta1" | "v2beta2"), true),
        ("batch", "CronJob")
        | ("coordination.k8s.io", "Lease")
        | ("discovery.k8s.io", "EndpointSlice")
        | ("events.k8s.io", "Event")
        | ("networking.k8s.io", "Ingress")
        | ("policy", "PodDisruptionBudget")
        | ("rbac.authorization.k8s.io", "Role" | "RoleBinding") => (beta_or_v1, true),
        ("extensions", "Ingress") | ("storage.k8s.io", "CSIStorageCapacity") => (version == "v1beta1", true),
        _ => (false, false),
    };
    known.0.then_some(known.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_types_have_no_group() {
        assert_eq!((group("v1"), version("v1")), ("", "v1"));
        assert_eq!((group("apps/v1"), version("apps/v1")), ("apps", "v1"));
    }

    #[test]
    fn the_table_tells_cluster_types_from_namespaced_ones() {
        assert_eq!(namespaced_by_table("v1", "Namespace"), Some(false));
        assert_eq!(namespaced_by_table("v1", "Service"), Some(true));
        assert_eq!(namespaced_by_table("rbac.authorization.k8s.io/v1beta1", "RoleBinding"), Some(true));
        assert_eq!(namespaced_by_table("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"), Some(false));
        assert_eq!(namespaced_by_table("policy/v1beta1", "PodSecurityPolicy"), Some(false));
        assert_eq!(namespaced_by_table("apps/v1", "Deployment"), Some(true));
    }

    #[test]
    fn types_and_versions_outside_the_table_are_unknown() {
        assert_eq!(namespaced_by_table("autoscaling/v2", "HorizontalPodAutoscaler"), None);
        assert_eq!(namespaced_by_table("apps/v1beta1", "Deployment"), None);
        assert_eq!(namespaced_by_table("kpt.dev/v1", "Kptfile"), None);
        assert_eq!(namespaced_by_table("policy/v1", "PodSecurityPolicy"), None);
    }
}

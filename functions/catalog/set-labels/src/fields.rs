//! Where labels live: the fields of the built-in types that hold labels or select by them.

use portico_fn::{GroupVersionKind, Resource};

/// What a field does with the labels in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Carries labels.
    Labels,
    /// Selects other objects by their labels.
    Selector,
}

/// Group, version and kind; an empty part matches everything.
type Type = (&'static str, &'static str, &'static str);
type Keys = &'static [&'static str];

/// One field of some types.
pub(crate) struct Field {
    types: &'static [Type],
    /// A mapping that must be there, or the field is not looked at.
    pub(crate) base: Keys,
    /// Keys from `base`; `[]` walks through a list.
    pub(crate) path: Keys,
    /// Makes the field where it is missing. Without it only labels that are there already get their new value.
    pub(crate) create: bool,
    pub(crate) role: Role,
}

const ANY: &[Type] = &[("", "", "")];
const SERVICE: Type = ("", "v1", "Service");
const CONTROLLER: Type = ("", "v1", "ReplicationController");
const DEPLOYMENT: Type = ("", "", "Deployment");
const REPLICA_SET: Type = ("", "", "ReplicaSet");
const DAEMON_SET: Type = ("", "", "DaemonSet");
const STATEFUL_SET: Type = ("apps", "", "StatefulSet");
const JOB: Type = ("batch", "", "Job");
const CRON_JOB: &[Type] = &[("batch", "", "CronJob")];
const BUDGET: Type = ("policy", "", "PodDisruptionBudget");
const NETWORK_POLICY: &[Type] = &[("networking.k8s.io", "", "NetworkPolicy")];
const WITH_TEMPLATE: &[Type] = &[CONTROLLER, DEPLOYMENT, REPLICA_SET, DAEMON_SET, STATEFUL_SET, JOB];

const TEMPLATE: Keys = &["spec", "template"];
const JOB_TEMPLATE: Keys = &["spec", "jobTemplate"];
const NESTED_TEMPLATE: Keys = &["spec", "jobTemplate", "spec", "template"];

// Selectors inside a pod template, by which the scheduler finds the pods' own peers.
const SPREAD: Keys = &["spec", "topologySpreadConstraints", "[]", "labelSelector", "matchLabels"];
const NEAR_WANTED: Keys = &[
    "spec",
    "affinity",
    "podAffinity",
    "preferredDuringSchedulingIgnoredDuringExecution",
    "[]",
    "podAffinityTerm",
    "labelSelector",
    "matchLabels",
];
const NEAR_NEEDED: Keys = &[
    "spec",
    "affinity",
    "podAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "[]",
    "labelSelector",
    "matchLabels",
];
const APART_WANTED: Keys = &[
    "spec",
    "affinity",
    "podAntiAffinity",
    "preferredDuringSchedulingIgnoredDuringExecution",
    "[]",
    "podAffinityTerm",
    "labelSelector",
    "matchLabels",
];
const APART_NEEDED: Keys = &[
    "spec",
    "affinity",
    "podAntiAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "[]",
    "labelSelector",
    "matchLabels",
];

const fn labels(types: &'static [Type], base: Keys, path: Keys) -> Field {
    Field { types, base, path, create: true, role: Role::Labels }
}

/// A selector that is made where it is missing: the object is no use without it.
const fn selector(types: &'static [Type], path: Keys) -> Field {
    Field { types, base: &[], path, create: true, role: Role::Selector }
}

/// A selector whose absence has a meaning of its own.
const fn optional(types: &'static [Type], base: Keys, path: Keys) -> Field {
    Field { types, base, path, create: false, role: Role::Selector }
}

/// Every field, in the order in which they are set.
pub(crate) const FIELDS: &[Field] = &[
    labels(ANY, &[], &["metadata", "labels"]),
    selector(&[SERVICE, CONTROLLER], &["spec", "selector"]),
    selector(&[DEPLOYMENT, REPLICA_SET, DAEMON_SET, STATEFUL_SET], &["spec", "selector", "matchLabels"]),
    optional(&[JOB, BUDGET], &[], &["spec", "selector", "matchLabels"]),
    optional(NETWORK_POLICY, &[], &["spec", "podSelector", "matchLabels"]),
    labels(WITH_TEMPLATE, TEMPLATE, &["metadata", "labels"]),
    optional(WITH_TEMPLATE, TEMPLATE, SPREAD),
    optional(WITH_TEMPLATE, TEMPLATE, NEAR_WANTED),
    optional(WITH_TEMPLATE, TEMPLATE, NEAR_NEEDED),
    optional(WITH_TEMPLATE, TEMPLATE, APART_WANTED),
    optional(WITH_TEMPLATE, TEMPLATE, APART_NEEDED),
    labels(CRON_JOB, JOB_TEMPLATE, &["metadata", "labels"]),
    optional(CRON_JOB, JOB_TEMPLATE, &["spec", "selector", "matchLabels"]),
    labels(CRON_JOB, NESTED_TEMPLATE, &["metadata", "labels"]),
    optional(CRON_JOB, NESTED_TEMPLATE, SPREAD),
    optional(CRON_JOB, NESTED_TEMPLATE, NEAR_WANTED),
    optional(CRON_JOB, NESTED_TEMPLATE, NEAR_NEEDED),
    optional(CRON_JOB, NESTED_TEMPLATE, APART_WANTED),
    optional(CRON_JOB, NESTED_TEMPLATE, APART_NEEDED),
    labels(&[STATEFUL_SET], &[], &["spec", "volumeClaimTemplates", "[]", "metadata", "labels"]),
    optional(&[STATEFUL_SET], &[], &["spec", "volumeClaimTemplates", "[]", "selector", "matchLabels"]),
    optional(NETWORK_POLICY, &[], &["spec", "ingress", "[]", "from", "[]", "podSelector", "matchLabels"]),
    optional(NETWORK_POLICY, &[], &["spec", "egress", "[]", "to", "[]", "podSelector", "matchLabels"]),
];

/// The fields that this object has by its type.
pub(crate) fn fields_of(object: &Resource) -> Vec<&'static Field> {
    let gvk = GroupVersionKind::of(object);
    FIELDS
        .iter()
        .filter(|field| field.types.iter().any(|(group, version, kind)| gvk.matches(group, version, kind)))
        .collect()
}

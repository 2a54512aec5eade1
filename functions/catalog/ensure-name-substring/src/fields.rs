//! Which fields of which types name other objects: kustomize's table, for every kind that has pods.

/// A field that names an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference {
    /// The type that is named.
    pub(crate) target: Target,
    /// Keys from the object's root; lists on the way are walked through.
    pub(crate) path: &'static [&'static str],
    pub(crate) form: Form,
}

/// A type that can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// `None` for every group.
    pub(crate) group: Option<&'static str>,
    pub(crate) kind: &'static str,
}

/// How the object is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The field is the name; an element of a list can be, too.
    Name,
    /// A mapping with `name`, and `kind` and perhaps `apiGroup`, which must be those of the target.
    Typed,
    /// A mapping with `name` and perhaps `namespace` and `kind`.
    Namespaced,
    /// Rules of a role: the names count for the `resources` of the rule, which must include this plural.
    Rules(&'static str),
}

const fn core(kind: &'static str) -> Target {
    Target { group: Some(""), kind }
}

const fn of(group: &'static str, kind: &'static str) -> Target {
    Target { group: Some(group), kind }
}

const RBAC: &str = "rbac.authorization.k8s.io";

const fn name(target: Target, path: &'static [&'static str]) -> Reference {
    Reference { target, path, form: Form::Name }
}

/// Fields of a pod, from its `spec`.
const POD: &[Reference] = &[
    name(core("ConfigMap"), &["volumes", "configMap", "name"]),
    name(core("ConfigMap"), &["volumes", "projected", "sources", "configMap", "name"]),
    name(core("ConfigMap"), &["containers", "env", "valueFrom", "configMapKeyRef", "name"]),
    name(core("ConfigMap"), &["containers", "envFrom", "configMapRef", "name"]),
    name(core("ConfigMap"), &["initContainers", "env", "valueFrom", "configMapKeyRef", "name"]),
    name(core("ConfigMap"), &["initContainers", "envFrom", "configMapRef", "name"]),
    name(core("Secret"), &["volumes", "secret", "secretName"]),
    name(core("Secret"), &["volumes", "projected", "sources", "secret", "name"]),
    name(core("Secret"), &["containers", "env", "valueFrom", "secretKeyRef", "name"]),
    name(core("Secret"), &["containers", "envFrom", "secretRef", "name"]),
    name(core("Secret"), &["initContainers", "env", "valueFrom", "secretKeyRef", "name"]),
    name(core("Secret"), &["initContainers", "envFrom", "secretRef", "name"]),
    name(core("Secret"), &["imagePullSecrets", "name"]),
    name(core("ServiceAccount"), &["serviceAccountName"]),
    name(core("PersistentVolumeClaim"), &["volumes", "persistentVolumeClaim", "claimName"]),
    name(of("scheduling.k8s.io", "PriorityClass"), &["priorityClassName"]),
];

/// Where the pods of a type are, and its fields.
pub(crate) fn fields_of(group: &str, kind: &str) -> (Option<&'static [&'static str]>, &'static [Reference]) {
    match kind {
        "Pod" => (Some(&["spec"]), &[]),
        "PodTemplate" => (Some(&["template", "spec"]), &[]),
        "Deployment" | "ReplicaSet" | "DaemonSet" | "Job" | "ReplicationController" => {
            (Some(&["spec", "template", "spec"]), &[])
        }
        "StatefulSet" => (Some(&["spec", "template", "spec"]), STATEFUL_SET),
        "CronJob" => (Some(&["spec", "jobTemplate", "spec", "template", "spec"]), &[]),
        "Service" if group == "serving.knative.dev" => (Some(&["spec", "template", "spec"]), &[]),
        "HorizontalPodAutoscaler" => (None, AUTOSCALER),
        "Ingress" => (None, INGRESS),
        "ServiceAccount" => (None, SERVICE_ACCOUNT),
        "StorageClass" => (None, STORAGE_CLASS),
        "Role" => (None, ROLE),
        "ClusterRole" => (None, CLUSTER_ROLE),
        "RoleBinding" | "ClusterRoleBinding" => (None, BINDING),
        "PersistentVolume" => (None, PERSISTENT_VOLUME),
        "PersistentVolumeClaim" => (None, PERSISTENT_VOLUME_CLAIM),
        "APIService" => (None, API_SERVICE),
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => (None, WEBHOOKS),
        "HTTPRoute" => (None, ROUTE),
        "ValidatingAdmissionPolicyBinding" => (None, POLICY_BINDING),
        _ => (None, &[]),
    }
}

/// The fields of a pod.
pub(crate) fn pod_fields() -> &'static [Reference] {
    POD
}

const SERVICE_ACCOUNT: &[Reference] = &[name(core("Secret"), &["imagePullSecrets", "name"])];

const fn service(path: &'static [&'static str]) -> Reference {
    Reference { target: core("Service"), path, form: Form::Namespaced }
}

const API_SERVICE: &[Reference] = &[service(&["spec", "service"])];

const WEBHOOKS: &[Reference] = &[service(&["webhooks", "clientConfig", "service"])];

const ROUTE: &[Reference] = &[service(&["spec", "rules", "backendRefs"])];

const POLICY_BINDING: &[Reference] =
    &[name(of("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"), &["spec", "policyName"])];

const STORAGE: Target = of("storage.k8s.io", "StorageClass");

const STATEFUL_SET: &[Reference] = &[
    name(core("Service"), &["spec", "serviceName"]),
    name(STORAGE, &["spec", "volumeClaimTemplates", "spec", "storageClassName"]),
];

const AUTOSCALER: &[Reference] = &[
    Reference {
        target: Target { group: None, kind: "Deployment" },
        path: &["spec", "scaleTargetRef"],
        form: Form::Typed,
    },
    Reference {
        target: Target { group: None, kind: "ReplicaSet" },
        path: &["spec", "scaleTargetRef"],
        form: Form::Typed,
    },
    Reference {
        target: Target { group: None, kind: "StatefulSet" },
        path: &["spec", "scaleTargetRef"],
        form: Form::Typed,
    },
    Reference { target: core("ReplicationController"), path: &["spec", "scaleTargetRef"], form: Form::Typed },
];

const INGRESS: &[Reference] = &[
    name(core("ConfigMap"), &["metadata", "annotations", "nginx.ingress.kubernetes.io/fastcgi-params-configmap"]),
    name(core("Secret"), &["metadata", "annotations", "ingress.kubernetes.io/auth-secret"]),
    name(core("Secret"), &["metadata", "annotations", "nginx.ingress.kubernetes.io/auth-secret"]),
    name(core("Secret"), &["metadata", "annotations", "nginx.ingress.kubernetes.io/auth-tls-secret"]),
    name(core("Secret"), &["spec", "tls", "secretName"]),
    name(core("Service"), &["spec", "rules", "http", "paths", "backend", "serviceName"]),
    name(core("Service"), &["spec", "rules", "http", "paths", "backend", "service", "name"]),
    name(core("Service"), &["spec", "backend", "serviceName"]),
    name(core("Service"), &["spec", "defaultBackend", "service", "name"]),
    name(of("networking.k8s.io", "IngressClass"), &["spec", "ingressClassName"]),
];

const STORAGE_CLASS: &[Reference] = &[
    name(core("Secret"), &["parameters", "secretName"]),
    name(core("Secret"), &["parameters", "adminSecretName"]),
    name(core("Secret"), &["parameters", "userSecretName"]),
    name(core("Secret"), &["parameters", "secretRef"]),
];

const fn rules(kind: &'static str, plural: &'static str) -> Reference {
    Reference { target: core(kind), path: &["rules"], form: Form::Rules(plural) }
}

const ROLE: &[Reference] = &[rules("ConfigMap", "configmaps"), rules("Secret", "secrets")];

const CLUSTER_ROLE: &[Reference] =
    &[rules("ConfigMap", "configmaps"), rules("Secret", "secrets"), rules("PersistentVolume", "persistentvolumes")];

const BINDING: &[Reference] = &[
    Reference { target: of(RBAC, "Role"), path: &["roleRef"], form: Form::Typed },
    Reference { target: of(RBAC, "ClusterRole"), path: &["roleRef"], form: Form::Typed },
    Reference { target: core("ServiceAccount"), path: &["subjects"], form: Form::Namespaced },
];

const PERSISTENT_VOLUME: &[Reference] =
    &[name(core("Secret"), &["spec", "azureFile", "secretName"]), name(STORAGE, &["spec", "storageClassName"])];

const PERSISTENT_VOLUME_CLAIM: &[Reference] =
    &[name(core("PersistentVolume"), &["spec", "volumeName"]), name(STORAGE, &["spec", "storageClassName"])];

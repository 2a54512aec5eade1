//! The rules of the README, each on a small list.

use portico_fn::run;

fn ensure(items: &str, config: &str) -> (String, u8) {
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}{config}");
    let output = run(&crate::function(), list.as_bytes());
    let text = String::from_utf8(output.stdout).expect("text");
    let items = text.split_once("functionConfig:").map_or(&*text, |(items, _)| items);
    (if output.exit_code == 0 { items.to_owned() } else { text }, output.exit_code)
}

fn data(data: &str) -> String {
    format!("functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data: {{{data}}}\n")
}

fn prefixed(items: &str) -> String {
    let (out, code) = ensure(items, &data("prepend: dev-"));
    assert_eq!(code, 0, "{out}");
    out
}

fn item(api_version: &str, kind: &str, name: &str, rest: &str) -> String {
    let rest: String = rest.lines().flat_map(|line| ["  ", line, "\n"]).collect();
    format!("- apiVersion: {api_version}\n  kind: {kind}\n  metadata:\n    name: {name}\n{rest}")
}

#[test]
fn names_without_the_substring_get_it_and_comments_stay() {
    let out =
        prefixed(&format!("{}{}", item("v1", "ConfigMap", "a # c", ""), item("v1", "Service", "with-dev-in", "")));
    assert!(out.contains("name: dev-a # c\n") && out.contains("name: with-dev-in\n"), "{out}");
    let (out, _) = ensure(&item("v1", "ConfigMap", "'a'", ""), &data("append: -x"));
    assert!(out.contains("name: 'a-x'\n"), "{out}");
}

#[test]
fn a_second_run_changes_nothing() {
    let items = format!(
        "{}{}",
        item("v1", "ConfigMap", "a", ""),
        item("v1", "Pod", "p", "spec:\n  volumes:\n  - configMap:\n      name: a\n")
    );
    let once = prefixed(&items);
    let again = prefixed(once.split_once("items:\n").expect("items").1);
    assert_eq!(once, again);
}

#[test]
fn types_whose_names_mean_something_outside_keep_them() {
    for (api_version, kind) in [
        ("v1", "Namespace"),
        ("kpt.dev/v1", "Kptfile"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("apiregistration.k8s.io/v1", "APIService"),
    ] {
        let out = prefixed(&item(api_version, kind, "a", ""));
        assert!(out.contains("    name: a\n"), "{out}");
    }
    let out = prefixed(
        &item("v1", "ConfigMap", "a", "data:\n  x: y\n")
            .replace("name: a\n", "name: a\n    annotations:\n      config.kubernetes.io/local-config: \"true\"\n"),
    );
    assert!(out.contains("name: dev-a\n"), "{out}");
}

#[test]
fn the_functions_own_configuration_keeps_its_name() {
    let own = item("v1", "ConfigMap", "c", "");
    let out = prefixed(&format!("{own}{}", item("v1", "ConfigMap", "d", "")));
    assert!(out.contains("    name: c\n") && out.contains("    name: dev-d\n"), "{out}");
}

#[test]
fn every_way_of_a_pod_to_name_another_object_follows() {
    let spec = "\
containers:
- env:
  - valueFrom:
      configMapKeyRef: {name: cm}
  - valueFrom:
      secretKeyRef: {name: s}
  envFrom:
  - configMapRef: {name: cm}
  - secretRef: {name: s}
initContainers:
- env:
  - valueFrom:
      configMapKeyRef: {name: cm}
imagePullSecrets:
- name: s
serviceAccountName: sa
priorityClassName: pc
volumes:
- configMap: {name: cm}
- secret: {secretName: s}
- persistentVolumeClaim: {claimName: pvc}
- projected:
    sources:
    - configMap: {name: cm}
    - secret: {name: s}
- configMap: {name: other}
";
    let named = [
        item("v1", "ConfigMap", "cm", ""),
        item("v1", "Secret", "s", ""),
        item("v1", "ServiceAccount", "sa", ""),
        item("v1", "PersistentVolumeClaim", "pvc", ""),
        item("scheduling.k8s.io/v1", "PriorityClass", "pc", ""),
    ]
    .concat();
    for (api_version, kind, path) in [
        ("v1", "Pod", &["spec"][..]),
        ("apps/v1", "Deployment", &["spec", "template", "spec"]),
        ("apps/v1", "StatefulSet", &["spec", "template", "spec"]),
        ("batch/v1", "Job", &["spec", "template", "spec"]),
        ("batch/v1", "CronJob", &["spec", "jobTemplate", "spec", "template", "spec"]),
    ] {
        let mut rest = String::new();
        for (depth, key) in path.iter().enumerate() {
            rest.extend(["  ".repeat(depth).as_str(), key, ":\n"]);
        }
        let indent = "  ".repeat(path.len());
        rest.extend(spec.lines().flat_map(|line| [&*indent, line, "\n"]));
        let out = prefixed(&format!("{}{named}", item(api_version, kind, "p", &rest)));
        let (cm, s) = (out.matches("name: dev-cm").count(), out.matches("ame: dev-s}").count());
        assert_eq!((cm, s), (6, 4), "{out}");
        for field in ["serviceAccountName: dev-sa", "priorityClassName: dev-pc", "claimName: dev-pvc", "{name: other}"]
        {
            assert!(out.contains(field), "{field} {out}");
        }
    }
}

#[test]
fn roles_subjects_and_rules_follow_by_kind() {
    let out = prefixed(
        &[
            item("rbac.authorization.k8s.io/v1", "ClusterRole", "r", "rules:\n- resources: [secrets]\n  resourceNames: [s, x]\n- resources: [pods]\n  resourceNames: [s]\n"),
            item("rbac.authorization.k8s.io/v1", "RoleBinding", "b", "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: r\nsubjects:\n- kind: Group\n  name: sa\n"),
            item("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "b", "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: r\nsubjects:\n- kind: ServiceAccount\n  name: sa\n  namespace: default\n- kind: ServiceAccount\n  name: sa\n  namespace: far\n"),
            item("v1", "ServiceAccount", "sa", ""),
            item("v1", "Secret", "s", ""),
        ]
        .concat(),
    );
    assert!(out.contains("resourceNames: [dev-s, x]\n") && out.contains("resourceNames: [s]\n"), "{out}");
    assert!(
        out.contains("    kind: Role\n    name: r\n") && out.contains("    kind: ClusterRole\n    name: dev-r\n"),
        "{out}"
    );
    assert!(out.contains("- kind: Group\n    name: sa\n"), "{out}");
    assert!(
        out.contains("name: dev-sa\n    namespace: default\n") && out.contains("name: sa\n    namespace: far\n"),
        "{out}"
    );
}

#[test]
fn other_types_name_objects_too() {
    let service = item("v1", "Service", "svc", "");
    for (api_version, kind, rest, expected) in [
        (
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            "spec:\n  scaleTargetRef: {kind: Deployment, apiVersion: apps/v1, name: web}\n",
            "name: dev-web}",
        ),
        (
            "networking.k8s.io/v1",
            "Ingress",
            "spec:\n  rules:\n  - http:\n      paths:\n      - backend:\n          service: {name: svc}\n",
            "{name: dev-svc}",
        ),
        (
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            "webhooks:\n- clientConfig:\n    service: {name: svc, namespace: default}\n",
            "{name: dev-svc,",
        ),
        ("apps/v1", "StatefulSet", "spec:\n  serviceName: svc\n", "serviceName: dev-svc\n"),
        ("apiregistration.k8s.io/v1", "APIService", "spec:\n  service: {name: svc, namespace: other}\n", "{name: svc,"),
    ] {
        let web = item("apps/v1", "Deployment", "web", "");
        let out = prefixed(&format!("{}{service}{web}", item(api_version, kind, "x", rest)));
        assert!(out.contains(expected), "{out}");
    }
}

#[test]
fn references_stay_in_their_namespace() {
    let secret = item("v1", "Secret", "s", "").replace("name: s\n", "name: s\n    namespace: far\n");
    let out = prefixed(&format!("{secret}{}", item("v1", "Pod", "p", "spec:\n  imagePullSecrets:\n  - name: s\n")));
    assert!(out.contains("    - name: s\n"), "{out}");
}

#[test]
fn the_depends_on_annotation_follows() {
    let depends = |on: &str| {
        item("v1", "ConfigMap", "a", "")
            .replace("name: a\n", &format!("name: a\n    annotations:\n      config.kubernetes.io/depends-on: {on}\n"))
    };
    let others = format!(
        "{}{}",
        item("apps/v1", "StatefulSet", "db", ""),
        item("rbac.authorization.k8s.io/v1", "ClusterRole", "r", "")
    );
    for (on, expected) in [
        ("apps/namespaces/default/StatefulSet/db", "apps/namespaces/default/StatefulSet/dev-db"),
        ("rbac.authorization.k8s.io/ClusterRole/r", "rbac.authorization.k8s.io/ClusterRole/dev-r"),
        ("apps/namespaces/default/StatefulSet/outside", "apps/namespaces/default/StatefulSet/outside"),
        ("/namespaces/default/StatefulSet/db", "/namespaces/default/StatefulSet/db"),
    ] {
        let out = prefixed(&format!("{}{others}", depends(on)));
        assert!(out.contains(&format!("depends-on: {expected}\n")), "{out}");
    }
}

#[test]
fn additional_fields_hold_names_under_both_keys() {
    for key in ["additionalNameFields", "fieldSpecs"] {
        let config = format!(
            "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: EnsureNameSubstring\n  metadata:\n    name: c\n  substring: dev-\n  {key}:\n  - kind: Thing\n    path: spec/refs[]/target\n"
        );
        let thing = item("example.com/v1", "Thing", "one", "spec:\n  refs:\n  - target: alpha\n  - target: dev-beta\n");
        let (out, code) = ensure(&thing, &config);
        assert_eq!(code, 0, "{out}");
        assert!(out.contains("target: dev-alpha\n") && out.contains("target: dev-beta\n"), "{out}");
    }
}

#[test]
fn other_configurations_are_refused() {
    let object = |body: &str| {
        format!(
            "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: EnsureNameSubstring\n  metadata:\n    name: c\n{body}"
        )
    };
    for (config, message) in [
        (String::new(), "function config must be either"),
        (data(""), "only 1 entry is allowed in the ConfigMap, but got: 0"),
        (data("prepend: a, append: b"), "only 1 entry is allowed in the ConfigMap, but got: 2"),
        (data("prefix: a"), "unknown editMode: prefix, only prepend and append are allowed"),
        (data("prepend: ''"), "substring must not be empty"),
        (data(&format!("prepend: {}", "a".repeat(254))), "must not be longer than 253 characters"),
        (object("  substring: a\n  editMode: middle\n"), "unknown editMode: middle"),
        (object("  substring: a\n  fieldSpecs: []\n  additionalNameFields: []\n"), "`fieldSpecs` has been deprecated"),
    ] {
        let (out, code) = ensure(&item("v1", "ConfigMap", "a", ""), &config);
        assert_eq!(code, 1);
        assert!(out.contains("failed to load the `functionConfig`: ") && out.contains(message), "{out}");
    }
}

#[test]
fn a_name_of_the_wrong_form_is_an_error_and_the_others_go_on() {
    let (out, code) = ensure(
        &format!("{}{}", item("v1", "ConfigMap", "{}", ""), item("v1", "Secret", "s", "")),
        &data("prepend: dev-"),
    );
    assert_eq!(code, 1);
    assert!(out.contains("`metadata.name` is a mapping") && out.contains("name: dev-s\n"), "{out}");
}

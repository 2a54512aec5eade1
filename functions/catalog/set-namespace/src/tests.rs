//! The rules of the README, each on a small list.

use portico_fn::{Output, run};

fn run_with(items: &str, config: &str) -> (String, Output) {
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}{config}");
    let output = run(&crate::function(), list.as_bytes());
    (String::from_utf8(output.stdout.clone()).expect("text"), output)
}

fn data(data: &[(&str, &str)]) -> String {
    let lines: Vec<String> = data.iter().map(|(key, value)| format!("    {key}: {value}\n")).collect();
    let lines = lines.concat();
    format!(
        "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: function-input\n  data:\n{lines}"
    )
}

/// The items and the messages, with namespace `new`.
fn renamed(items: &str) -> (String, Vec<String>) {
    renamed_with(items, &[("namespace", "new")])
}

fn renamed_with(items: &str, config: &[(&str, &str)]) -> (String, Vec<String>) {
    let (text, output) = run_with(items, &data(config));
    assert_eq!((output.exit_code, output.stderr.as_str()), (0, ""), "{text}");
    let body = text.split_once("items:\n").expect("items").1;
    let (items, rest) = body.split_once("functionConfig:").expect("configuration");
    (items.to_owned(), messages(rest))
}

fn messages(text: &str) -> Vec<String> {
    let list = text.lines().filter_map(|line| line.trim_start_matches("- ").trim().strip_prefix("message: "));
    list.map(|message| message.trim_matches('\'').to_owned()).collect()
}

const UNCHANGED_REFERENCES: &str = "all `depends-on` annotations are up-to-date. no `namespace` changed";

fn service(namespace: &str) -> String {
    format!("- apiVersion: v1\n  kind: Service\n  metadata:\n    name: s\n{namespace}")
}

#[test]
fn a_namespaced_object_moves_and_its_comment_stays() {
    let (items, messages) = renamed(&service("    namespace: \"old\" # where\n"));
    assert!(items.contains("    namespace: new # where\n"), "{items}");
    assert_eq!(messages, ["namespace [old] updated to \"new\", 1 value(s) changed", UNCHANGED_REFERENCES]);
}

#[test]
fn an_object_without_a_namespace_is_one_of_default() {
    let (items, messages) = renamed(&service(""));
    assert!(items.ends_with("    name: s\n    namespace: new\n"), "{items}");
    assert_eq!(messages[0], "namespace [default] updated to \"new\", 1 value(s) changed");
}

#[test]
fn a_namespace_that_is_right_already_is_not_touched() {
    let (items, messages) = renamed(&service("    namespace: 'new'\n"));
    assert!(items.contains("namespace: 'new'\n"), "{items}");
    assert_eq!(messages[0], "all matching namespaces are already \"new\". no value changed");
}

#[test]
fn unknown_types_move_only_when_they_have_a_namespace() {
    let custom = "- apiVersion: custom.io/v1\n  kind: Custom\n  metadata:\n    name: c\n";
    assert!(!renamed(custom).0.contains("namespace"));
    assert!(renamed(&format!("{custom}    namespace: a\n")).0.contains("namespace: new"));
    let role = "- apiVersion: rbac.authorization.k8s.io/v1\n  kind: ClusterRole\n  metadata:\n    name: c\n";
    assert!(!renamed(role).0.contains("namespace"));
}

#[test]
fn a_namespace_object_gets_the_new_name() {
    let (items, messages) = renamed("- apiVersion: v1\n  kind: Namespace\n  metadata:\n    name: old\n");
    assert!(items.contains("    name: new\n"), "{items}");
    assert!(!items.contains("namespace"), "{items}");
    assert_eq!(messages[0], "namespace [old] updated to \"new\", 1 value(s) changed");
}

#[test]
fn old_namespaces_are_listed_once_and_sorted() {
    let list =
        format!("{}{}{}", service("    namespace: b\n"), service("    namespace: a\n"), service("    namespace: b\n"));
    assert_eq!(renamed(&list).1[0], "namespace [a b] updated to \"new\", 3 value(s) changed");
}

const DEFINITION: &str = "\
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata:
    name: crd
  spec:
    conversion:
      strategy: Webhook
      webhook:
        clientConfig:
          service:
            name: svc
            namespace: old
";

#[test]
fn the_webhook_of_a_definition_moves_only_when_it_is_one() {
    assert!(renamed(DEFINITION).0.contains("            namespace: new\n"));
    let without = DEFINITION.replace("            namespace: old\n", "");
    assert!(renamed(&without).0.contains("            name: svc\n            namespace: new\n"));
    let nameless = DEFINITION.replace("            name: svc\n", "");
    assert!(renamed(&nameless).0.contains("namespace: old"));
    let none = DEFINITION.replace("Webhook", "None");
    assert!(renamed(&none).0.contains("namespace: old"));
    let plain = "- apiVersion: apiextensions.k8s.io/v1\n  kind: CustomResourceDefinition\n  metadata:\n    name: crd\n  spec: {}\n";
    assert!(!renamed(plain).0.contains("conversion"));
}

#[test]
fn the_service_of_an_api_service_moves_when_it_has_a_name() {
    let api = "- apiVersion: apiregistration.k8s.io/v1\n  kind: APIService\n  metadata:\n    name: a\n  spec:\n    service:\n      name: svc\n      namespace: old\n";
    assert!(renamed(api).0.contains("      namespace: new\n"));
    assert!(renamed(&api.replace("      name: svc\n", "")).0.contains("namespace: old"));
}

#[test]
fn subjects_with_a_namespace_move_in_both_kinds_of_bindings() {
    let subjects = "  subjects:\n  - kind: ServiceAccount\n    name: runner # who\n    namespace: old\n  - kind: ServiceAccount\n    name: elsewhere\n    namespace: other\n  - kind: User\n    name: ann\n";
    let cluster = format!(
        "- apiVersion: rbac.authorization.k8s.io/v1\n  kind: ClusterRoleBinding\n  metadata:\n    name: b\n{subjects}"
    );
    let (items, messages) = renamed(&cluster);
    assert_eq!(items.matches("namespace: new").count(), 2, "{items}");
    assert!(items.contains("name: runner # who\n"), "{items}");
    assert_eq!(messages[0], "namespace [old other] updated to \"new\", 2 value(s) changed");
    let role = format!(
        "- apiVersion: rbac.authorization.k8s.io/v1\n  kind: RoleBinding\n  metadata:\n    name: b\n    namespace: old\n{subjects}"
    );
    assert_eq!(renamed(&role).0.matches("namespace: new").count(), 3);
}

#[test]
fn with_a_matcher_only_equal_values_are_replaced() {
    let list = format!("{}{}{DEFINITION}", service("    namespace: a\n"), service("    namespace: b\n"));
    let (items, messages) = renamed_with(&list, &[("namespace", "new"), ("namespaceMatcher", "a")]);
    assert_eq!(items.matches("namespace: new").count(), 1, "{items}");
    assert!(items.contains("namespace: b") && items.contains("namespace: old"), "{items}");
    assert!(messages.iter().any(|m| m == "namespace [a] updated to \"new\", 1 value(s) changed"), "{messages:?}");
}

#[test]
fn a_missing_namespace_is_written_as_default_when_the_matcher_is_another() {
    let (items, messages) = renamed_with(&service(""), &[("namespace", "new"), ("namespaceMatcher", "a")]);
    assert!(items.contains("namespace: default\n"), "{items}");
    assert_eq!(messages[0], "all matching namespaces are already \"new\". no value changed");
}

#[test]
fn a_matcher_finds_the_upstream_namespace_and_says_so() {
    let item =
        service("    namespace: mine\n    annotations:\n      internal.kpt.dev/upstream-identifier: '|Service|up|s'\n");
    let (items, messages) = renamed_with(&item, &[("namespace", "new"), ("namespaceMatcher", "up")]);
    assert!(items.contains("namespace: new\n"), "{items}");
    let expected = "[Resource(apiVersion=v1, kind=Service, namespace=mine, name=s)] has matching origin up";
    assert_eq!(messages[0], expected);
}

#[test]
fn an_object_whose_upstream_has_no_namespace_is_left_alone() {
    let item =
        service("    namespace: mine\n    annotations:\n      internal.kpt.dev/upstream-identifier: '|Service|~C|s'\n");
    assert!(renamed(&item).0.contains("namespace: mine\n"));
}

#[test]
fn local_configuration_is_left_alone() {
    let item = service("    namespace: old\n    annotations:\n      config.kubernetes.io/local-config: \"true\"\n");
    assert!(renamed(&item).0.contains("namespace: old\n"));
}

#[test]
fn a_reference_to_an_object_of_the_package_follows_it() {
    let list = "\
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: old
    annotations:
      config.kubernetes.io/depends-on: apps/namespaces/old/StatefulSet/db
- apiVersion: apps/v1
  kind: StatefulSet
  metadata:
    name: db
    namespace: old
    annotations:
      config.kubernetes.io/depends-on: apps/namespaces/old/StatefulSet/outside
";
    let (items, messages) = renamed(list);
    assert!(items.contains("apps/namespaces/new/StatefulSet/db"), "{items}");
    assert!(items.contains("apps/namespaces/old/StatefulSet/outside"), "{items}");
    assert_eq!(messages[1], "`depends-on` annotation namespace [old] updated to \"new\", 1 value(s) changed");
    let (_, messages) = renamed_with(list, &[("namespace", "new"), ("namespaceMatcher", "other")]);
    assert_eq!(messages.last().map(String::as_str), Some(UNCHANGED_REFERENCES));
}

#[test]
fn the_package_context_gives_its_name() {
    let config = data(&[("name", "ctx")]).replace("function-input", "kptfile.kpt.dev");
    assert!(run_with(&service(""), &config).0.contains("    namespace: ctx\n"));
}

#[test]
fn the_object_form_and_additional_fields_work() {
    let item = "- apiVersion: x.io/v1\n  kind: Gateway\n  metadata:\n    name: g\n  spec:\n    target: old\n";
    for key in ["additionalNamespaceFields", "fieldSpecs"] {
        let config = format!(
            "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: SetNamespace\n  metadata:\n    name: c\n  namespace: new\n  {key}:\n  - kind: Gateway\n    path: spec/target\n"
        );
        let (text, output) = run_with(item, &config);
        assert_eq!(output.exit_code, 0, "{text}");
        assert!(text.contains("    target: new\n"), "{text}");
    }
}

#[test]
fn a_bad_configuration_fails_and_names_its_object() {
    let own = |kind: &str| {
        format!("functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: {kind}\n  metadata:\n    name: c\n")
    };
    for (config, message) in [
        (String::new(), "FunctionConfig is missing. Expect `ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`"),
        (data(&[("x", "y")]), "`data.namespace` should not be empty"),
        (own("SetNamespace"), "`namespace` should not be empty"),
        (
            own("Other"),
            "unknown functionConfig Kind=Other ApiVersion=fn.kpt.dev/v1alpha1, expect `ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`",
        ),
    ] {
        let (text, output) = run_with(&service(""), &config);
        assert_eq!(output.exit_code, 1, "{text}");
        assert_eq!(output.stderr, "failed to evaluate function: error: function failure\n");
        assert_eq!(messages(&text), [message], "{text}");
        assert!(text.contains("index: -1"), "{text}");
        assert_eq!(text.contains("resourceRef: {}"), config.is_empty(), "{text}");
    }
}

#[test]
fn a_namespace_of_the_wrong_form_is_an_error_that_names_it() {
    let (text, output) = run_with(&service("    namespace: [a]\n"), &data(&[("namespace", "new")]));
    assert_eq!(output.exit_code, 1);
    assert!(text.contains("`metadata.namespace` is a list, expected a string"), "{text}");
}

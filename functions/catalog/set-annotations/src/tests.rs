//! The rules of the README, each on a small list.

use portico_fn::{Output, run_in_order};

const CONFIG: &str = "\
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: function-input
  data:
    fruit: apple
    color: orange
";

fn set_annotations(items: &str, config: &str) -> (String, Output) {
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}{config}");
    let output = run_in_order(&crate::function(), list.as_bytes());
    (String::from_utf8(output.stdout.clone()).expect("text"), output)
}

/// The items that come out with the annotations of `CONFIG`.
fn annotated(items: &str) -> String {
    let (text, output) = set_annotations(items, CONFIG);
    assert_eq!((output.exit_code, output.stderr.as_str()), (0, ""), "{text}");
    let items = text.split_once("items:\n").expect("items").1;
    items.split_once("functionConfig:").map_or(items, |(items, _)| items).to_owned()
}

/// A configuration of the function's own kind.
fn object(kind: &str, rest: &str) -> String {
    format!("functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: {kind}\n  metadata:\n    name: a\n{rest}")
}

fn failure(config: &str) -> String {
    let (text, output) = set_annotations("- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n", config);
    assert_eq!(output.exit_code, 1, "{text}");
    assert!(text.contains("severity: error"), "{text}");
    let stderr = output.stderr.strip_prefix("[error]: failed to configure function: ").expect("the reason");
    stderr.trim_end().to_owned()
}

#[test]
fn annotations_are_added_in_the_order_of_their_names_behind_what_is_there() {
    let out =
        annotated("- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n    annotations:\n      z: z # c\n");
    assert_eq!(
        out,
        "- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n    annotations:\n      z: z # c\n      color: orange\n      fruit: apple\n"
    );
}

#[test]
fn local_configuration_is_annotated_as_well_and_items_keep_their_order() {
    let local = "    annotations:\n      config.kubernetes.io/local-config: \"true\"\n";
    let out = annotated(&format!(
        "- apiVersion: v1\n  kind: Service\n  metadata:\n    name: b\n{local}- apiVersion: apps/v1\n  kind: X\n  metadata:\n    name: a\n"
    ));
    assert!(out.contains("\"true\"\n      color: orange\n"), "{out}");
    assert!(out.find("Service") < out.find("kind: X"), "{out}");
}

#[test]
fn quotes_and_comments_of_a_value_that_changes_stay() {
    let out = annotated(
        "- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n    annotations:\n      color: 'red' # c\n      fruit: \"apple\"\n",
    );
    assert!(out.ends_with("      color: 'orange' # c\n      fruit: \"apple\"\n"), "{out}");
}

#[test]
fn values_that_would_read_as_another_type_are_quoted() {
    let config = CONFIG.replace("apple", "\"yes\"").replace("orange", "\"1\"");
    let number = "- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n    annotations:\n      color: 7\n";
    let (text, _) = set_annotations(number, &config);
    assert!(text.contains("      color: \"1\"\n      fruit: \"yes\"\n"), "{text}");
}

#[test]
fn templates_of_workloads_get_the_annotations_even_where_they_have_to_be_made() {
    for (api_version, kind) in [
        ("v1", "ReplicationController"),
        ("apps/v1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "DaemonSet"),
        ("apps/v1", "StatefulSet"),
        ("batch/v1", "Job"),
    ] {
        let out = annotated(&format!("- apiVersion: {api_version}\n  kind: {kind}\n  metadata:\n    name: a\n"));
        let template = "  spec:\n    template:\n      metadata:\n        annotations:\n          color: orange\n          fruit: apple\n";
        assert!(out.ends_with(template), "{out}");
    }
    for (api_version, kind) in
        [("example.com/v1", "Job"), ("v1", "Service"), ("example.com/v1", "ReplicationController")]
    {
        let out = annotated(&format!("- apiVersion: {api_version}\n  kind: {kind}\n  metadata:\n    name: a\n"));
        let expected = kind == "ReplicationController";
        assert_eq!(out.contains("template"), expected, "{out}");
    }
}

#[test]
fn both_templates_of_a_cron_job_get_the_annotations() {
    let out = annotated("- apiVersion: batch/v1\n  kind: CronJob\n  metadata:\n    name: a\n");
    assert_eq!(out.matches("color: orange").count(), 3, "{out}");
    assert!(out.contains("    jobTemplate:\n      metadata:\n        annotations:\n"), "{out}");
    assert!(out.contains("      spec:\n        template:\n          metadata:\n            annotations:\n"), "{out}");
}

#[test]
fn results_name_each_place_once_sorted_by_file_place_and_field() {
    let item = |kind: &str, path: &str, index: &str| {
        format!(
            "- apiVersion: apps/v1\n  kind: {kind}\n  metadata:\n    name: a\n    annotations:\n      internal.config.kubernetes.io/path: {path}\n      internal.config.kubernetes.io/index: '{index}'\n"
        )
    };
    let twice = item("X", "a.yaml", "0").repeat(2);
    let items = item("Deployment", "b.yaml", "1") + &item("X", "b.yaml", "0") + &twice;
    let (text, output) = set_annotations(&items, CONFIG);
    assert_eq!(output.exit_code, 0);
    let results = text.split_once("\nresults:\n").expect("results").1;
    let message = "- message: 'set annotations: {\"color\":\"orange\",\"fruit\":\"apple\"}'\n";
    let own = "  field:\n    path: metadata.annotations\n";
    let template = "  field:\n    path: spec.template.metadata.annotations\n";
    let file = |rest: &str| format!("  file:\n    path: {rest}\n");
    let expected =
        [(own, "a.yaml"), (own, "b.yaml"), (own, "b.yaml\n    index: 1"), (template, "b.yaml\n    index: 1")];
    let expected = expected.map(|(field, path)| format!("{message}{field}{}", file(path))).concat();
    assert_eq!(results, expected);
}

#[test]
fn values_in_messages_are_written_as_go_writes_json() {
    let config = CONFIG.replace("apple", "'<a href=\"x\">&'");
    let (text, _) = set_annotations("- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n", &config);
    assert!(text.contains(r#""fruit":"\u003ca href=\"x\"\u003e\u0026"}"#), "{text}");
}

#[test]
fn additional_fields_come_first_and_are_made_where_asked_for() {
    let config = object(
        "SetAnnotations",
        "  annotations:\n    a: b\n  additionalAnnotationFields:\n  - path: data/selector/annotations\n    kind: ConfigMap\n    create: true\n  - path: spec/none\n",
    );
    let (text, output) = set_annotations("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n", &config);
    assert_eq!(output.exit_code, 0, "{text}");
    assert!(text.contains("  data:\n    selector:\n      annotations:\n        a: b\n"), "{text}");
    assert!(!text.contains("none: "), "{text}");
    let old = object("SetAnnotationConfig", "  annotations:\n    a: b\n  fieldSpecs:\n  - path: x\n    create: true\n");
    let (text, output) = set_annotations("- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n", &old);
    assert_eq!(output.exit_code, 0, "{text}");
    assert!(text.contains("  x:\n    a: b\n"), "{text}");
}

#[test]
fn a_configuration_that_cannot_be_used_fails_and_says_why() {
    let kinds = "`functionConfig` must be a `ConfigMap` or `SetAnnotations`";
    assert_eq!(failure(""), kinds);
    assert_eq!(failure("functionConfig:\n  apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n"), kinds);
    assert_eq!(failure(&object("Other", "")), kinds);
    let empty = "input annotation list cannot be empty";
    assert_eq!(failure(&object("SetAnnotations", "  annotations: {}\n")), empty);
    assert_eq!(failure(&object("SetAnnotations", "")), empty);
    assert_eq!(
        failure(&object(
            "SetAnnotations",
            "  annotations:\n    a: b\n  fieldSpecs: []\n  additionalAnnotationFields: []\n"
        )),
        "`fieldSpecs` has been deprecated, please rename it to `additionalAnnotationFields`"
    );
    assert_eq!(
        failure(&object("SetAnnotations", "  annotations:\n    a: [b]\n")),
        "`annotations.a` is a list, expected a string"
    );
    assert!(failure(&object("SetAnnotations", "  annotations:\n    a: b\n  fieldSpecs: x\n")).contains("fieldSpecs"));
}

#[test]
fn a_field_that_is_no_mapping_is_an_error_that_names_it() {
    let (text, output) = set_annotations(
        "- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n    annotations: x\n- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: b\n",
        CONFIG,
    );
    assert_eq!(output.exit_code, 1);
    assert_eq!(
        output.stderr,
        "[error] v1/Secret/a metadata.annotations: `metadata.annotations` is a string, expected a mapping\n"
    );
    assert!(text.contains("color: orange"), "{text}");
}

#[test]
fn nothing_to_annotate_is_told() {
    let (text, output) = set_annotations("", CONFIG);
    assert_eq!(output.exit_code, 0);
    assert!(text.contains("- message: no annotations applied\n"), "{text}");
}

//! The rules of the README, each on a small list.

use portico_fn::{Output, run};

const CONFIG: &str = "\
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: function-input
  data:
    tier: backend
    app: new
";

fn set_labels(items: &str, config: &str) -> (String, Output) {
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}{config}");
    let output = run(&crate::function(), list.as_bytes());
    (String::from_utf8(output.stdout.clone()).expect("text"), output)
}

/// The items that come out with the labels of `CONFIG`.
fn labelled(items: &str) -> String {
    let (text, output) = set_labels(items, CONFIG);
    assert_eq!((output.exit_code, output.stderr.as_str()), (0, ""), "{text}");
    let items = text.split_once("items:\n").expect("items").1;
    items.split_once("functionConfig:").map_or(items, |(items, _)| items).to_owned()
}

fn count_of(text: &str) -> &str {
    text.split_once("message: set ").and_then(|(_, rest)| rest.split_once(" labels")).map_or("none", |(n, _)| n)
}

#[test]
fn labels_are_added_in_the_order_of_their_names_behind_what_is_there() {
    let out = labelled("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n    labels:\n      z: z # c\n");
    assert_eq!(
        out,
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n    labels:\n      z: z # c\n      app: new\n      tier: backend\n"
    );
}

#[test]
fn a_label_keeps_its_quotes_when_it_is_right_and_its_comment_when_it_changes() {
    let out = labelled(
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n    labels:\n      tier: 'backend'\n      app: \"old\" # why\n",
    );
    assert!(out.contains("      tier: 'backend'\n      app: new # why\n"), "{out}");
}

#[test]
fn values_that_would_read_as_numbers_are_quoted() {
    let config = CONFIG.replace("app: new", "app: \"1\"");
    let (text, _) = set_labels("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n", &config);
    assert!(text.contains("      app: \"1\"\n"), "{text}");
}

#[test]
fn services_and_controllers_get_a_plain_selector() {
    for kind in ["Service", "ReplicationController"] {
        let out = labelled(&format!("- apiVersion: v1\n  kind: {kind}\n  metadata:\n    name: a\n  spec: {{}}\n"));
        assert!(out.contains("app: new"), "{out}");
        let spec = out.split_once("  spec:").expect("spec").1;
        assert!(spec.contains("selector") && spec.contains("tier: backend"), "{out}");
    }
}

#[test]
fn workloads_get_selectors_and_templates_that_are_there_get_labels() {
    for (group, kind) in
        [("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "DaemonSet"), ("apps", "StatefulSet")]
    {
        let head = format!("- apiVersion: {group}/v1\n  kind: {kind}\n  metadata:\n    name: a\n");
        let out = labelled(&format!("{head}  spec:\n    replicas: 1\n"));
        let selector = "    selector:\n      matchLabels:\n        app: new\n        tier: backend\n";
        assert!(out.ends_with(&format!("  spec:\n    replicas: 1\n{selector}")), "{out}");
        let out = labelled(&format!("{head}  spec:\n    template:\n      spec:\n        x: y\n"));
        let template = "      metadata:\n        labels:\n          app: new\n          tier: backend\n";
        assert!(out.contains(template), "{out}");
    }
}

#[test]
fn optional_selectors_only_get_new_values_for_the_labels_they_have() {
    for (api_version, kind, field) in [
        ("batch/v1", "Job", "selector"),
        ("policy/v1", "PodDisruptionBudget", "selector"),
        ("networking.k8s.io/v1", "NetworkPolicy", "podSelector"),
    ] {
        let head = format!("- apiVersion: {api_version}\n  kind: {kind}\n  metadata:\n    name: a\n  spec:\n");
        let out = labelled(&format!("{head}    {field}:\n      matchLabels:\n        app: old\n"));
        assert!(out.ends_with(&format!("    {field}:\n      matchLabels:\n        app: new\n")), "{out}");
        let out = labelled(&format!("{head}    x: y\n"));
        assert!(out.ends_with("  spec:\n    x: y\n"), "{out}");
    }
}

#[test]
fn selectors_of_a_pod_templates_constraints_and_affinities_follow() {
    let out = labelled(
        "\
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: a
  spec:
    template:
      spec:
        topologySpreadConstraints:
        - labelSelector:
            matchLabels:
              app: old1
        affinity:
          podAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
            - labelSelector:
                matchLabels:
                  app: old2
          podAntiAffinity:
            preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 1
              podAffinityTerm:
                labelSelector:
                  matchLabels:
                    app: old3
",
    );
    assert!(!out.contains("old"), "{out}");
    // metadata, selector, template; none was added to the three inner ones
    assert_eq!(out.matches("tier: backend").count(), 3, "{out}");
}

#[test]
fn cron_jobs_get_labels_on_the_job_and_on_its_pods() {
    let out = labelled(
        "\
- apiVersion: batch/v1
  kind: CronJob
  metadata:
    name: a
  spec:
    jobTemplate:
      spec:
        selector:
          matchLabels:
            app: old
        template:
          metadata:
            name: t
",
    );
    assert_eq!(out.matches("app: new").count(), 4, "{out}");
    assert_eq!(out.matches("tier: backend").count(), 3, "{out}");
}

#[test]
fn claim_templates_and_network_peers_are_walked_through() {
    let out = labelled(
        "\
- apiVersion: apps/v1
  kind: StatefulSet
  metadata:
    name: a
  spec:
    volumeClaimTemplates:
    - metadata:
        name: one
    - metadata:
        name: two
",
    );
    assert_eq!(out.matches("tier: backend").count(), 4, "{out}");
    let out = labelled(
        "\
- apiVersion: networking.k8s.io/v1
  kind: NetworkPolicy
  metadata:
    name: a
  spec:
    ingress:
    - from:
      - podSelector:
          matchLabels:
            app: old
    egress:
    - to:
      - podSelector:
          matchLabels:
            app: old
",
    );
    assert_eq!(out.matches("app: new").count(), 3, "{out}");
}

#[test]
fn every_label_in_every_field_counts() {
    let deployment = "- apiVersion: apps/v1\n  kind: Deployment\n  metadata:\n    name: a\n  spec: {}\n";
    let custom = "- apiVersion: custom.io/v1\n  kind: Custom\n  metadata:\n    name: b\n";
    let kptfile = "- apiVersion: kpt.dev/v1\n  kind: Kptfile\n  metadata:\n    name: c\n";
    let config = CONFIG.replace("    app: new\n", "");
    let (text, _) = set_labels(&format!("{deployment}{custom}{kptfile}"), &config);
    assert_eq!(count_of(&text), "4", "{text}");
    // an optional selector that is not there does not count
    let policy = "- apiVersion: networking.k8s.io/v1\n  kind: NetworkPolicy\n  metadata:\n    name: a\n  spec: {}\n";
    let (text, _) = set_labels(policy, &config);
    assert_eq!(count_of(&text), "1", "{text}");
}

#[test]
fn local_configuration_is_left_alone_and_alone_is_no_input() {
    let local = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n    annotations:\n      config.kubernetes.io/local-config: \"true\"\n";
    let (text, output) = set_labels(local, CONFIG);
    assert_eq!(output.exit_code, 0);
    assert!(!text.contains("labels:\n"), "{text}");
    assert!(text.contains("message: no input resources"), "{text}");
    let not_local = local.replace("\"true\"", "\"false\"");
    assert!(labelled(&not_local).contains("app: new"));
}

#[test]
fn without_configuration_it_fails_and_says_so() {
    let item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n";
    for config in ["", "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: function-input\n"]
    {
        let (text, output) = set_labels(item, config);
        assert_eq!(output.exit_code, 1);
        assert_eq!(output.stderr, "failed to evaluate function: error: function failure\n");
        assert_eq!(text.matches("message:").count(), 1, "{text}");
        assert!(text.contains("message: '`FunctionConfig` is not given'\n  severity: info"), "{text}");
    }
}

#[test]
fn no_labels_is_a_warning() {
    let item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n";
    let config = "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: SetLabels\n  metadata:\n    name: c\n";
    let (text, output) = set_labels(item, config);
    assert_eq!(output.exit_code, 0);
    assert!(text.contains("no `labels` arguments are given in FunctionConfig"), "{text}");
    assert!(text.contains("severity: warning"), "{text}");
}

fn object(body: &str) -> String {
    format!("functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: SetLabels\n  metadata:\n    name: c\n{body}")
}

const WEB: &str = "- apiVersion: apps/v1\n  kind: Deployment\n  metadata:\n    name: web\n  spec:\n    selector:\n      matchLabels:\n        app: web\n    template:\n      metadata:\n        labels:\n          app: web\n";

#[test]
fn selectors_can_be_left_alone() {
    let config = object("  labels:\n    version: \"1\"\n  options:\n    setSelectorLabels: false\n");
    let (text, output) = set_labels(WEB, &config);
    assert_eq!(output.exit_code, 0, "{text}");
    assert!(text.contains("      matchLabels:\n        app: web\n    template:"), "{text}");
    assert_eq!(text.split_once("functionConfig").expect("config").0.matches("version: \"1\"").count(), 2, "{text}");
}

#[test]
fn additional_fields_hold_labels_too_under_both_names() {
    let item = "- apiVersion: example.com/v1\n  kind: Database\n  metadata:\n    name: a\n  spec:\n    x: y\n";
    for key in ["additionalLabelFields", "fieldSpecs"] {
        let config = object(&format!(
            "  labels:\n    app: new\n  {key}:\n  - group: example.com\n    kind: Database\n    path: spec/backup/labels\n    create: true\n"
        ));
        let (text, output) = set_labels(item, &config);
        assert_eq!(output.exit_code, 0, "{text}");
        assert!(text.contains("    backup:\n      labels:\n        app: new\n"), "{text}");
        assert_eq!(count_of(&text), "2");
    }
}

#[test]
fn a_configuration_that_cannot_be_read_fails_with_the_words_of_the_catalog() {
    let prefix = "unable to convert object to *setlabels.SetLabels with error: json: cannot unmarshal";
    for (body, reason) in [
        ("  labels:\n  - color: orange\n", "array into Go struct field SetLabels.labels of type map[string]string"),
        ("  labels:\n    version: 1\n", "number into Go struct field SetLabels.labels of type string"),
        ("  labels: x\n", "string into Go struct field SetLabels.labels of type map[string]string"),
    ] {
        let (text, output) = set_labels(WEB, &object(body));
        assert_eq!(output.exit_code, 1);
        assert!(text.contains(&format!("{prefix} {reason}")), "{text}");
    }
    let (text, output) = set_labels(WEB, &object("  labels:\n    a: b\n").replace("SetLabels", "BadKind"));
    assert_eq!(output.exit_code, 1);
    let message = "unknown FunctionConfig `BadKind.fn.kpt.dev`, expect `SetLabels.fn.kpt.dev` or `ConfigMap.v1`";
    assert!(text.contains(message), "{text}");
}

#[test]
fn a_field_of_the_wrong_form_is_an_error_that_names_it_and_the_others_go_on() {
    let bad = "- apiVersion: v1\n  kind: A\n  metadata:\n    name: a\n    labels:\n    - x\n    annotations:\n      internal.config.kubernetes.io/path: f.yaml\n      internal.config.kubernetes.io/index: '2'\n";
    let number = "- apiVersion: v1\n  kind: B\n  metadata:\n    name: b\n    labels:\n      app: 1\n";
    let good = "- apiVersion: v1\n  kind: C\n  metadata:\n    name: c\n";
    let (text, output) = set_labels(&format!("{bad}{number}{good}"), CONFIG);
    assert_eq!(output.exit_code, 1);
    assert!(text.contains("`metadata.labels` is a list, expected a mapping"), "{text}");
    assert!(text.contains("`metadata.labels.app` is a number, expected a string"), "{text}");
    assert!(text.contains("path: f.yaml\n    index: 2\n"), "{text}");
    assert!(text.contains("name: c\n    labels:\n      app: new\n"), "{text}");
}

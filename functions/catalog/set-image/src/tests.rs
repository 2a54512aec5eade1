//! The rules of the README, each on a small list.

use portico_fn::run;

fn set_image(items: &str, config: &str) -> (String, u8) {
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}{config}");
    let output = run(&crate::function(), list.as_bytes());
    (String::from_utf8(output.stdout).expect("text"), output.exit_code)
}

fn data(data: &str) -> String {
    format!("functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data: {{{data}}}\n")
}

fn pods(api_version: &str, kind: &str, template: bool) -> String {
    let pod = "containers:\n      - name: a\n        image: nginx:1 # web\n      initContainers:\n      - name: b\n        image: \"nginx\"\n      - name: c\n        image: redis:2\n";
    let spec = if template {
        format!("  spec:\n    template:\n      spec:\n        {}", pod.replace("\n  ", "\n    "))
    } else {
        format!("  spec:\n      {pod}")
    };
    format!("- apiVersion: {api_version}\n  kind: {kind}\n  metadata:\n    name: x\n{spec}")
}

#[test]
fn containers_and_init_containers_of_pods_and_workloads_are_set() {
    let config = data("name: nginx, newTag: '3'");
    let (out, code) = set_image(&pods("v1", "Pod", false), &config);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("image: nginx:3 # web\n") && out.contains("image: \"nginx:3\"\n"), "{out}");
    assert!(out.contains("image: redis:2\n") && out.contains("updated a total of 2 image(s)"), "{out}");
    for kind in ["Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"] {
        let (out, _) = set_image(&pods("apps/v1", kind, true), &config);
        assert!(out.contains("updated a total of 2 image(s)"), "{out}");
    }
    for (api_version, kind) in [("batch/v1", "Job"), ("apps/v1beta1", "Deployment"), ("x.io/v1", "Deployment")] {
        let (out, _) = set_image(&pods(api_version, kind, true), &config);
        assert!(out.contains("updated a total of 0 image(s)"), "{out}");
    }
    let (out, _) = set_image(&pods("x.io/v1", "Pod", false), &config);
    assert!(out.contains("updated a total of 0 image(s)"), "{out}");
}

#[test]
fn an_image_that_is_right_already_counts() {
    let (out, _) = set_image(&pods("v1", "Pod", false), &data("name: nginx, newTag: '1'"));
    assert!(out.contains("updated a total of 2 image(s)"), "{out}");
}

#[test]
fn additional_fields_are_set_too() {
    let config = "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: SetImage\n  metadata:\n    name: c\n  image:\n    name: nginx\n    newName: bitnami/nginx\n  additionalImageFields:\n  - group: dev.example.com\n    version: v1\n    kind: MyKind\n    path: spec/images[]/image\n";
    let item = "- apiVersion: dev.example.com/v1\n  kind: MyKind\n  metadata:\n    name: x\n  spec:\n    images:\n    - image: nginx:1\n    - image: postgres:1\n";
    let (out, code) = set_image(item, config);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("image: bitnami/nginx:1\n") && out.contains("image: postgres:1\n"), "{out}");
    assert!(out.contains("updated a total of 1 image(s)"), "{out}");
}

#[test]
fn a_configuration_that_says_too_little_is_an_error_with_a_summary() {
    for (config, message) in [
        (data("newTag: '1'"), "invalid FunctionConfig: must specify `name`"),
        (data("name: a"), "invalid FunctionConfig: must specify one of `newName`, `newTag`, or `digest`"),
        (data("name: a, newtag: b"), "ConfigMap has wrong field name newtag"),
        (data("name: '[', newTag: b"), "neither a name nor a regular expression"),
    ] {
        let (out, code) = set_image(&pods("v1", "Pod", false), &config);
        assert_eq!(code, 1);
        assert!(out.contains(message), "{out}");
        assert_eq!(out.contains("updated a total of 0"), !message.contains("wrong field"), "{out}");
    }
}

#[test]
fn a_field_of_the_wrong_form_is_an_error_that_names_it() {
    let item =
        "- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: x\n  spec:\n    containers:\n    - image: {a: b}\n";
    let (out, code) = set_image(item, &data("name: a, newTag: b"));
    assert_eq!(code, 1);
    assert!(out.contains("spec.containers[0].image"), "{out}");
}

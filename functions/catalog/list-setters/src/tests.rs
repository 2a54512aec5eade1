//! The rules of the README, each on a small list.

use portico_fn::{Output, run_in_order};

fn run(items: &str) -> (String, Output) {
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}");
    let output = run_in_order(&crate::function(), list.as_bytes());
    (String::from_utf8(output.stdout.clone()).expect("text"), output)
}

/// The messages about the items.
fn listed(items: &str) -> Vec<String> {
    let (text, output) = run(items);
    assert_eq!((output.exit_code, output.stderr.as_str()), (0, ""), "{text}");
    let results = text.split_once("\nresults:\n").expect("results").1;
    assert!(results.lines().all(|line| line.starts_with("- message: ")), "{results}");
    results.lines().map(|line| line["- message: ".len()..].trim_matches('\'').to_owned()).collect()
}

const HEAD: &str = "- apiVersion: v1\n  kind: X\n  metadata:\n    name: a\n";

#[test]
fn setters_of_comments_are_listed_by_name_with_value_type_and_count() {
    let spec = "  n: 4 # kpt-set: ${replicas}\n  m: 5 # kpt-set: ${replicas}\n  image: nginx:1.16 # kpt-set: ${image}:${tag}\n  b: true # kpt-set: ${flag}\n  f: 1.5 # kpt-set: ${ratio}\n  q: \"1\" # kpt-set: ${text}\n  l: # kpt-set: ${env}\n  - stage\n  - dev\n  k: [x] # kpt-set: ${flow}\n";
    assert_eq!(
        listed(&format!("{HEAD}{spec}")),
        [
            "Name: env, Value: [dev, stage], Type: array, Count: 1",
            "Name: flag, Value: true, Type: bool, Count: 1",
            "Name: flow, Value: [x], Type: array, Count: 1",
            "Name: image, Value: nginx, Type: str, Count: 1",
            "Name: ratio, Value: 1.5, Type: float, Count: 1",
            "Name: replicas, Value: 4, Type: int, Count: 2",
            "Name: tag, Value: 1.16, Type: str, Count: 1",
            "Name: text, Value: 1, Type: str, Count: 1",
        ]
    );
}

#[test]
fn a_field_that_says_more_than_string_decides_on_the_type() {
    let spec = "  a: x-4 # kpt-set: x-${n}\n  b: 4 # kpt-set: ${n}\n";
    assert_eq!(listed(&format!("{HEAD}{spec}")), ["Name: n, Value: 4, Type: int, Count: 2"]);
}

#[test]
fn setters_that_cannot_be_read_from_a_field_are_not_counted() {
    let (text, _) = run(&format!("{HEAD}  a: xy # kpt-set: ${{a}}${{b}}\n"));
    assert!(text.contains("- message: no setters found\n  severity: warning\n"), "{text}");
}

fn at(path: &str) -> String {
    format!("    annotations:\n      internal.config.kubernetes.io/path: {path}\n")
}

fn kptfile(mutators: &str) -> String {
    let head = "- apiVersion: kpt.dev/v1\n  kind: Kptfile\n  metadata:\n    name: a\n";
    format!("{head}{}  pipeline:\n    mutators:\n{mutators}", at("Kptfile"))
}

#[test]
fn values_for_apply_setters_are_listed_even_where_no_field_has_them() {
    let mutators = "    - image: gcr.io/kpt-fn/apply-setters:v0.2\n      configMap:\n        tag: '1'\n        n: '3'\n        env: |\n          - a\n          - b\n    - image: set-labels:v1\n      configMap:\n        not: this\n    - image: apply-setters:v0.2\n      configPath: setters.yaml\n";
    let config = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: s\n";
    let config = format!("{config}{}  data:\n    tag: '2'\n", at("setters.yaml"));
    assert_eq!(
        listed(&format!("{}{config}{HEAD}  n: 4 # kpt-set: ${{n}}\n", kptfile(mutators))),
        [
            "Name: env, Value: [a, b], Type: array, Count: 0",
            "Name: n, Value: 3, Type: int, Count: 1",
            "Name: tag, Value: 2, Type: str, Count: 0",
        ]
    );
}

#[test]
fn a_file_of_values_that_is_not_there_is_no_error() {
    let mutators = "    - image: apply-setters:v0.2\n      configPath: gone.yaml\n";
    let (text, output) = run(&kptfile(mutators));
    assert_eq!(output.exit_code, 0, "{text}");
    assert!(text.contains("no setters found"), "{text}");
}

#[test]
fn a_kptfile_that_cannot_be_read_is_an_error() {
    let (text, output) = run(&kptfile("    - imgae: apply-setters:v0.2\n"));
    assert_eq!(output.exit_code, 1, "{text}");
    let stderr = "[error]: failed to list setters: unable to read Kptfile: ";
    assert!(output.stderr.starts_with(stderr), "{}", output.stderr);
}

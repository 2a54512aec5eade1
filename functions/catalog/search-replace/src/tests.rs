//! The rules of the README, each on a small list.

use portico_fn::{Output, run_in_order};

fn run(items: &str, data: &str) -> (String, Output) {
    let data: String = data.lines().flat_map(|line| ["    ", line, "\n"]).collect();
    let config =
        format!("functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data:\n{data}");
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}{config}");
    let output = run_in_order(&crate::function(), list.as_bytes());
    (String::from_utf8(output.stdout.clone()).expect("text"), output)
}

const HEAD: &str = "- apiVersion: apps/v1\n  kind: Deployment\n  metadata:\n    name: a\n  spec:\n";

/// The lines under `spec` of one object, and the results.
fn replaced(spec: &str, data: &str) -> (String, String) {
    let spec: String = spec.lines().flat_map(|line| ["    ", line, "\n"]).collect();
    let (text, output) = run(&format!("{HEAD}{spec}"), data);
    assert_eq!((output.exit_code, output.stderr.as_str()), (0, ""), "{text}");
    let (items, rest) = text.split_once("functionConfig:").expect("configuration");
    let spec = items.split_once("  spec:\n").expect("spec").1;
    let spec = spec.lines().flat_map(|line| [line.strip_prefix("    ").unwrap_or(line), "\n"]).collect();
    (spec, rest.split_once("\nresults:\n").expect("results").1.to_owned())
}

fn spec(spec: &str, data: &str) -> String {
    replaced(spec, data).0
}

fn failure(data: &str) -> String {
    let (text, output) = run(&format!("{HEAD}    a: b\n    l: [x]\n"), data);
    assert_eq!(output.exit_code, 1, "{text}");
    let reason = output.stderr.trim_end().strip_prefix("[error]: failed to perform search-replace operation: ");
    reason.and_then(|text| text.strip_prefix('"')?.strip_suffix('"')).expect("a reason").replace("\\\"", "\"")
}

#[test]
fn a_value_is_found_wherever_it_stands_and_replaced() {
    let (spec, results) = replaced("a: x\nb:\n- x # c\n- y\nc: 'x'\nx: y\n", "by-value: x\nput-value: z");
    assert_eq!(spec, "a: z\nb:\n- z # c\n- y\nc: 'z'\nx: y\n");
    let result = |value: &str, path: &str| format!("- message: {value}\n  field:\n    path: {path}\n");
    let expected = [
        result("Mutated field value to \"z\"", "spec.a"),
        result("'Mutated field value to \"z # c\"'", "spec.b[0]"),
        result("Mutated field value to \"'z'\"", "spec.c"),
    ];
    assert_eq!(results, expected.concat());
}

#[test]
fn fields_are_only_reported_when_nothing_is_to_be_put() {
    let yaml = "a: x\nb: y\n";
    let (spec, results) = replaced(yaml, "by-value: x");
    assert_eq!(spec, yaml);
    assert_eq!(results, "- message: Matched field value \"x\"\n  field:\n    path: spec.a\n");
}

#[test]
fn all_that_is_given_must_be_true() {
    assert_eq!(spec("a: x\nb: x\n", "by-value: x\nby-path: spec.a\nput-value: z"), "a: z\nb: x\n");
    assert_eq!(spec("a: x\nb: w\n", "by-value-regex: ^x\nby-path: spec.*\nput-value: z"), "a: z\nb: w\n");
    assert_eq!(spec("a: 1\n", "by-path: spec.**\nput-value: '2'"), "a: 2\n");
}

#[test]
fn nothing_found_is_told() {
    for data in ["by-value: nothing", "put-value: z", "by-file-path: '**'\nput-value: z", "by-path: spec.q.*"] {
        assert_eq!(replaced("a: x\n", data).1, "- message: no matches\n", "{data}");
    }
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";
    assert_eq!(run_in_order(&crate::function(), list.as_bytes()).exit_code, 0);
}

#[test]
fn groups_of_an_expression_are_put_into_values_and_comments() {
    let data = "by-path: spec.**\nby-value-regex: (.*)nginx.com(.*)\nput-comment: 'kpt-set: ${1}${host}${2}'";
    assert_eq!(
        spec("a: nginx.com\nb: https://nginx.com/bar\nc: other\n", data),
        "a: nginx.com # kpt-set: ${host}\nb: https://nginx.com/bar # kpt-set: https://${host}/bar\nc: other\n"
    );
    let data = "by-value-regex: nginx:(?:v)?(.*)\nput-value: ubuntu:${1}\nput-comment: 'was ${1}'";
    let (spec, results) = replaced("image: nginx:v1.7\n", data);
    assert_eq!(spec, "image: ubuntu:1.7 # was 1.7\n");
    assert!(results.contains("Mutated field value to \"ubuntu:1.7 # was 1.7\""), "{results}");
}

#[test]
fn without_an_expression_nothing_is_a_group() {
    assert_eq!(spec("a: x\n", "by-value: x\nput-value: ${1}"), "a: ${1}\n");
}

#[test]
fn a_list_at_the_path_gets_its_comment_behind_the_key() {
    for old in ["l:\n- a\n- b\n", "l: [a, b]\n", "l: [a, b] # c\n"] {
        let (spec, results) = replaced(old, "by-path: spec.l\nput-comment: 'kpt-set: ${env}'");
        assert_eq!(spec, "l: # kpt-set: ${env}\n- a\n- b\n", "{old}");
        let value = results.split_once("value to ").expect("a value").1.lines().next().expect("a line");
        assert!(value.starts_with("\"[a, b]"), "{results}");
        assert!(results.contains("path: 'spec.l # kpt-set: ${env}'"), "{results}");
    }
}

#[test]
fn an_exact_path_is_set_in_every_object_and_made_where_it_is_missing() {
    let items = "- apiVersion: v1\n  kind: X\n  metadata:\n    name: a\n- apiVersion: v1\n  kind: X\n  metadata:\n    name: b\n  spec:\n    r: 'old' # c\n";
    let (text, output) = run(items, "by-path: spec.r\nput-value: '3'");
    assert_eq!(output.exit_code, 0, "{text}");
    assert!(text.contains("    name: a\n  spec:\n    r: 3\n"), "{text}");
    assert!(text.contains("    name: b\n  spec:\n    r: '3' # c\n"), "{text}");
    assert_eq!(text.matches("message: Mutated field value to \"3\"\n").count(), 2, "{text}");
}

#[test]
fn keys_with_dots_are_found_by_an_exact_path() {
    let items = "- apiVersion: v1\n  kind: X\n  metadata:\n    name: a\n  a.b:\n    c: old\n";
    let (text, _) = run(items, "by-path: a.b.c\nput-value: new");
    assert!(text.contains("  a.b:\n    c: new\n"), "{text}");
    let data = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n";
    let (text, _) = run(data, "by-path: data.port\nput-value: '80'");
    assert!(text.contains("  data:\n    port: \"80\"\n"), "{text}");
    let (text, _) = run(items, "by-path: metadata.annotations.example.com/owner\nput-value: '1'");
    assert!(text.contains("    annotations:\n      example.com/owner: \"1\"\n"), "{text}");
}

#[test]
fn an_exact_path_through_a_list_is_an_error_that_names_it() {
    assert_eq!(failure("by-path: spec.l.x\nput-value: z"), "`spec.l` is a list, expected a mapping");
}

#[test]
fn files_are_chosen_by_their_path() {
    let item = |path: &str| {
        format!(
            "- apiVersion: v1\n  kind: X\n  metadata:\n    name: a\n    annotations:\n      internal.config.kubernetes.io/path: {path}\n  v: x\n"
        )
    };
    let items = item("setters.yaml") + &item("sub/setters.yaml") + &item("other.yaml");
    let (text, _) = run(&items, "by-value: x\nby-file-path: '**/setters.yaml'\nput-value: z");
    assert_eq!((text.matches("  v: z\n").count(), text.matches("  v: x\n").count()), (2, 1), "{text}");
    assert!(text.contains("  file:\n    path: sub/setters.yaml\n"), "{text}");
}

#[test]
fn annotations_of_the_orchestrator_are_never_found() {
    let item = "- apiVersion: v1\n  kind: X\n  metadata:\n    name: a\n    annotations:\n      internal.config.kubernetes.io/path: x.yaml\n      internal.config.kubernetes.io/index: '0'\n      mine: '0'\n";
    let (text, _) = run(item, "by-value: '0'\nput-value: '1'");
    assert!(text.contains("/index: '0'\n      mine: '1'\n"), "{text}");
    let (text, _) = run(item, "by-path: metadata.annotations.**\nput-value: z");
    assert!(
        text.contains("/path: x.yaml\n      internal.config.kubernetes.io/index: '0'\n      mine: 'z'\n"),
        "{text}"
    );
}

#[test]
fn a_string_stays_a_string_and_a_number_a_number() {
    assert_eq!(spec("replicas: 3\nv: abc\n", "by-value-regex: ^(3|abc)$\nput-value: '4'"), "replicas: 4\nv: \"4\"\n");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    assert_eq!(
        failure("by-name: x"),
        r#"invalid matcher "by-name", must be one of ["by-value" "by-file-path" "by-value-regex" "by-path" "put-value" "put-comment"]"#
    );
    assert_eq!(
        failure("by-value: x\nby-value-regex: x"),
        r#"only one of ["by-value", "by-value-regex"] can be provided"#
    );
    assert_eq!(failure("by-value-regex: (b)\nput-value: ${2}"), "unable to resolve capture groups");
    assert!(failure("by-value-regex: (b").starts_with("error parsing regexp: "));
    assert!(failure("by-value-regex: ((\\w{500}){500}){500}").starts_with("error parsing regexp: "));
    assert!(failure("by-file-path: '[a'").ends_with("syntax error in pattern"));
    assert_eq!(failure("by-value: b\nput-comment: \"a\\nb\""), "the comment for `spec.a` would have several lines");
}

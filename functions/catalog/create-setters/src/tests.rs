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

const HEAD: &str = "- apiVersion: example.com/v1\n  kind: X\n  metadata:\n    name: a\n  spec:\n";

fn created(spec: &str, data: &str) -> (String, String) {
    let spec: String = spec.lines().flat_map(|line| ["    ", line, "\n"]).collect();
    let (text, output) = run(&format!("{HEAD}{spec}"), data);
    assert_eq!((output.exit_code, output.stderr.as_str()), (0, ""), "{text}");
    let (items, rest) = text.split_once("functionConfig:").expect("configuration");
    let spec = items.split_once("  spec:\n").expect("spec").1;
    let spec = spec.lines().flat_map(|line| [line.strip_prefix("    ").unwrap_or(line), "\n"]).collect();
    (spec, rest.split_once("\nresults:\n").expect("results").1.to_owned())
}

fn failure(spec: &str, data: &str) -> String {
    let (text, output) = run(&format!("{HEAD}{spec}"), data);
    assert_eq!(output.exit_code, 1, "{text}");
    output.stderr.trim_end().strip_prefix("[error]: failed to create setters: ").expect("a reason").to_owned()
}

#[test]
fn fields_that_contain_a_value_get_a_comment() {
    let (spec, _) =
        created("n: 4\nimage: \"nginx:1.16.1\" # c\nother: 5\n", "replicas: '4'\ntag: 1.16.1\nimage: nginx");
    assert_eq!(spec, "n: 4 # kpt-set: ${replicas}\nimage: \"nginx:1.16.1\" # kpt-set: ${image}:${tag}\nother: 5\n");
}

#[test]
fn the_longest_value_wins_and_equal_values_go_by_name() {
    let (spec, _) = created("a: nginx-abc-development\n", "image: nginx\nubuntu: nginx-abc");
    assert_eq!(spec, "a: nginx-abc-development # kpt-set: ${ubuntu}-development\n");
    let (spec, _) = created("a: prod\n", "z: prod\nb: prod");
    assert_eq!(spec, "a: prod # kpt-set: ${b}\n");
}

#[test]
fn what_stands_for_a_value_is_not_looked_at_again() {
    let (spec, _) = created("a: dev\n", "dev: dev\ne: ev");
    assert_eq!(spec, "a: dev # kpt-set: ${dev}\n");
}

#[test]
fn lists_with_the_same_elements_get_a_comment_behind_their_key() {
    let expected = "l: # kpt-set: ${env}\n- dev\n- stage\n";
    for old in [
        "l:\n- dev\n- stage\n",
        "l: [dev, stage]\n",
        "l: [dev, stage] # kpt-set: ${old}\n",
        "l: # c\n- dev\n- stage\n",
        "l: [dev, stage] # c\n",
    ] {
        let (spec, results) = created(old, "env: |\n  - stage\n  - dev");
        assert_eq!(spec, expected, "{old}");
        assert!(results.contains("\"kpt-set: ${env}\" for field with value \"[dev stage]\""), "{results}");
    }
}

#[test]
fn an_empty_list_keeps_its_brackets() {
    let (spec, _) = created("l: []\n", "env: '[]'");
    assert_eq!(spec, "l: [] # kpt-set: ${env}\n");
}

#[test]
fn collections_in_flow_style_are_opened_for_the_comments_of_their_elements() {
    let (spec, _) = created("l: [dev, {a: prod}] # c\nm: {b: prod}\n", "env: prod");
    assert_eq!(spec, "l: # c\n- dev\n- a: prod # kpt-set: ${env}\nm:\n  b: prod # kpt-set: ${env}\n");
}

#[test]
fn text_of_several_lines_mappings_and_nothing_are_left_alone() {
    let (spec, _) = created("a: |\n  prod\nb: \"x\\nprod\"\nc: prod\nd:\n", "env: prod\nempty: ''\nmap: '{c: prod}'");
    assert_eq!(spec, "a: |\n  prod\nb: \"x\\nprod\"\nc: prod # kpt-set: ${env}\nd:\n");
}

#[test]
fn annotations_of_the_orchestrator_are_left_alone() {
    let item = "- apiVersion: v1\n  kind: X\n  metadata:\n    name: prod\n    annotations:\n      internal.config.kubernetes.io/path: prod.yaml\n      mine: prod\n";
    let (text, _) = run(item, "env: prod");
    assert!(text.contains("path: prod.yaml\n      mine: prod # kpt-set: ${env}\n"), "{text}");
    let results = text.split_once("\nresults:\n").expect("results").1;
    let result = |path: &str| {
        format!(
            "- message: 'Added line comment \"kpt-set: ${{env}}\" for field with value \"prod\"'\n  field:\n    path: {path}\n  file:\n    path: prod.yaml\n"
        )
    };
    assert_eq!(results, result("metadata.name") + &result("metadata.annotations.mine"));
}

#[test]
fn nothing_to_mark_and_nothing_to_mark_it_with_are_errors() {
    assert_eq!(failure("    a: b\n", "env: prod"), "no matches for the input list of setters");
    assert_eq!(failure("    a: b\n", ""), "config map cannot be empty");
    let parsing = failure("    a: b\n", "env: '[a'");
    assert!(parsing.starts_with("parsing error: `data.env`: line 1"), "{parsing}");
}

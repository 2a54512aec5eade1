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

/// The lines under `spec` of one object, and the results.
fn applied(spec: &str, data: &str) -> (String, String) {
    let (text, output) = run(&format!("{HEAD}{}", indented(spec)), data);
    assert_eq!((output.exit_code, output.stderr.as_str()), (0, ""), "{text}");
    let (items, rest) = text.split_once("functionConfig:").expect("configuration");
    let spec = items.split_once("  spec:\n").expect("spec").1;
    let spec = spec.lines().flat_map(|line| [line.strip_prefix("    ").unwrap_or(line), "\n"]).collect();
    (spec, rest.split_once("\nresults:\n").expect("results").1.to_owned())
}

fn spec(spec: &str, data: &str) -> String {
    applied(spec, data).0
}

fn indented(text: &str) -> String {
    text.lines().flat_map(|line| ["    ", line, "\n"]).collect()
}

fn failure(spec: &str, data: &str) -> String {
    let (text, output) = run(&format!("{HEAD}{}", indented(spec)), data);
    assert_eq!(output.exit_code, 1, "{text}");
    let (place, message) = output.stderr.trim_end().split_once(": failed to apply setters: ").expect("a reason");
    assert!(place.starts_with("[error] example.com/v1/X/a spec."), "{place}");
    assert_eq!(text.matches("message: ").count(), 1, "{text}");
    message.to_owned()
}

#[test]
fn a_marked_field_gets_the_value_of_its_setter() {
    assert_eq!(spec("replicas: 4 # kpt-set: ${n}\nother: 4\n", "n: '3'"), "replicas: 3 # kpt-set: ${n}\nother: 4\n");
    assert_eq!(spec("a: 'x' # kpt-set: ${n}\n", "n: y"), "a: 'y' # kpt-set: ${n}\n");
    assert_eq!(
        spec("l:\n- a: x # kpt-set: ${n}\n- x # kpt-set: ${n}\n", "n: v"),
        "l:\n- a: v # kpt-set: ${n}\n- v # kpt-set: ${n}\n"
    );
}

#[test]
fn a_pattern_is_filled_and_what_is_not_given_stays_as_it_is() {
    assert_eq!(
        spec("image: \"nginx:1.16.1\" # kpt-set: ${image}:${tag}\n", "tag: 1.16.2"),
        "image: \"nginx:1.16.2\" # kpt-set: ${image}:${tag}\n"
    );
    let app = "image: gcr.io/my-app/my-app-backend:1.0.0 # kpt-set: gcr.io/${app}/${app}-backend:${tag}\n";
    assert_eq!(spec(app, "app: new"), app.replace("my-app", "new"));
    assert_eq!(
        spec("a: x # kpt-set: ${a.b}-${~!@#$%^&*()<>?\"|}\n", "a.b: p\n'~!@#$%^&*()<>?\"|': q"),
        "a: p-q # kpt-set: ${a.b}-${~!@#$%^&*()<>?\"|}\n"
    );
}

#[test]
fn fields_of_other_setters_stay() {
    let yaml = "a: x # kpt-set: ${other}\nb: [x] # kpt-set: ${other}-${more}\nc: x # kpt-set: nothing\n";
    let (spec, results) = applied(yaml, "n: y");
    assert_eq!(spec, yaml);
    assert_eq!(results, "- message: no matches for input setter(s)\n");
}

#[test]
fn setters_that_nothing_is_known_of_are_an_error() {
    assert_eq!(failure("a: x # kpt-set: ${image}${tag}\n", "image: y"), "values for setters [${tag}] must be provided");
    assert_eq!(
        failure("a: y # kpt-set: x-${p}:${q}:${n}\n", "n: y"),
        "values for setters [${p} ${q}] must be provided"
    );
}

#[test]
fn a_list_is_replaced_and_its_comment_stands_behind_the_key() {
    let new = "l: # kpt-set: ${env}\n- prod\n- dev\n";
    for old in
        ["l: # kpt-set: ${env}\n- dev\n- stage\n", "l: [dev, stage] # kpt-set: ${env}\n", "l: [] # kpt-set: ${env}\n"]
    {
        assert_eq!(spec(old, "env: |-\n  - prod\n  - dev"), new);
        assert_eq!(spec(old, "env: '[prod, dev]'"), new);
        assert_eq!(spec(old, "env: [prod, dev]"), new);
    }
}

#[test]
fn a_list_that_is_right_keeps_its_form() {
    let yaml = "l: [prod, dev] # kpt-set: ${env}\n";
    assert_eq!(spec(yaml, "env: '[prod, dev]'"), yaml);
}

#[test]
fn an_empty_value_empties_a_list_and_a_field() {
    let empty = "l: [] # kpt-set: ${env}\n";
    for value in ["''", "'[]'"] {
        assert_eq!(spec("l: # kpt-set: ${env}\n- dev\n", &format!("env: {value}")), empty);
        assert_eq!(spec("l: [dev] # kpt-set: ${env}\n", &format!("env: {value}")), empty);
    }
    assert_eq!(spec("a: x # kpt-set: ${n}\n", "n: ''"), "a: \"\" # kpt-set: ${n}\n");
}

#[test]
fn a_list_needs_one_setter_and_a_list_as_its_value() {
    assert_eq!(
        failure("l: # kpt-set: x-${env}\n- dev\n", "env: '[a]'"),
        "invalid setter pattern for array node: \"x-${env}\""
    );
    assert_eq!(
        failure("l: # kpt-set: ${env}\n- dev\n", "env: a"),
        "input to array setter must be an array of values, but found \"a\""
    );
}

#[test]
fn a_field_without_a_value_is_set_too() {
    assert_eq!(spec("a: # kpt-set: ${n}\nb: 1\n", "n: y"), "a: y # kpt-set: ${n}\nb: 1\n");
}

#[test]
fn strings_stay_strings() {
    let items = "- apiVersion: apps/v1\n  kind: Deployment\n  metadata:\n    name: a\n  spec:\n    replicas: REPLICAS # kpt-set: ${n}\n    template:\n      metadata:\n        labels:\n          version: abc # kpt-set: ${commit}\n          mixed: v-abc # kpt-set: v-${commit}\n        annotations:\n          flag: off # kpt-set: ${flag}\n";
    let (text, output) = run(items, "n: '3'\ncommit: '0071335'\nflag: 'yes'");
    assert_eq!(output.exit_code, 0, "{text}");
    for line in ["replicas: 3 #", "version: \"0071335\" #", "mixed: v-0071335 #", "flag: \"yes\" #"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn the_file_of_values_and_local_configuration_are_set_as_well() {
    let item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: ns\n    annotations:\n      config.kubernetes.io/local-config: \"true\"\n  data:\n    namespace: old # kpt-set: ${ns}\n";
    let (text, _) = run(item, "ns: blue");
    assert!(text.contains("namespace: blue # kpt-set: ${ns}\n"), "{text}");
}

#[test]
fn results_name_object_field_file_and_both_values() {
    let item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n    namespace: b\n    annotations:\n      internal.config.kubernetes.io/path: 'x.yaml'\n      internal.config.kubernetes.io/index: '1'\n  data:\n    k: old # kpt-set: ${n}\n    token: old # kpt-set: ${n}\n    empty: \"\" # kpt-set: ${n}\n";
    let (text, _) = run(item, "n: new");
    let results = text.split_once("\nresults:\n").expect("results").1;
    let about = "  resourceRef:\n    apiVersion: v1\n    kind: ConfigMap\n    name: a\n    namespace: b\n";
    let file = "  file:\n    path: x.yaml\n";
    let result =
        |message: &str, field: &str| format!("- message: {message}\n  severity: info\n{about}  field:\n{field}{file}");
    let expected = [
        result("set field value to \"new\"", "    path: data.k\n    currentValue: old\n    proposedValue: new\n"),
        result(
            "set field value to \"<redacted>\"",
            "    path: data.token\n    currentValue: <redacted>\n    proposedValue: <redacted>\n",
        ),
        result("set field value to \"new\"", "    path: data.empty\n    proposedValue: new\n"),
    ];
    assert_eq!(results, expected.concat());
}

#[test]
fn lists_of_a_mapping_are_reported_before_its_other_fields() {
    let (_, results) = applied("a: x # kpt-set: ${n}\nl: # kpt-set: ${env}\n- x\n", "n: y\nenv: '[z]'");
    assert!(results.find("spec.l") < results.find("spec.a"), "{results}");
    assert!(results.contains("set field value to \"[z]\""), "{results}");
}

#[test]
fn a_configuration_that_is_missing_or_odd_does_no_harm() {
    let (text, output) = run(&format!("{HEAD}    a: x # kpt-set: ${{n}}\n"), "n: {a: b}");
    assert_eq!(output.exit_code, 1, "{text}");
    assert!(output.stderr.contains("failed to apply setters: `data.n`"), "{}", output.stderr);
    let list =
        format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{HEAD}    a: x # kpt-set: ${{n}}\n");
    assert_eq!(run_in_order(&crate::function(), list.as_bytes()).exit_code, 0);
}

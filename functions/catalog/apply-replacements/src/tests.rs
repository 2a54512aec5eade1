//! The rules of the README, each on a small list.

use portico_fn::{Output, run};

fn apply(items: &str, replacements: &str) -> (String, Output) {
    let config = format!(
        "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: ApplyReplacements\n  metadata:\n    name: c\n  replacements:\n{}",
        indented(replacements)
    );
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}{config}");
    let output = run(&crate::function(), list.as_bytes());
    (String::from_utf8(output.stdout.clone()).expect("text"), output)
}

fn indented(text: &str) -> String {
    text.lines().flat_map(|line| ["  ", line, "\n"]).collect()
}

/// The items that come out.
fn applied(items: &str, replacements: &str) -> String {
    let (text, output) = apply(items, replacements);
    assert_eq!((output.exit_code, output.stderr.as_str()), (0, ""), "{text}");
    assert!(!text.contains("\nresults:"), "{text}");
    let items = text.split_once("items:\n").expect("items").1;
    items.split_once("functionConfig:").map_or(items, |(items, _)| items).to_owned()
}

/// The message of the one error result.
fn refused(items: &str, replacements: &str) -> String {
    let (text, output) = apply(items, replacements);
    assert_eq!(output.exit_code, 1, "{text}");
    assert_eq!(output.stderr, "failed to evaluate function: error: function failure\n");
    let results = text.split_once("\nresults:\n").expect("results").1;
    assert_eq!(results.matches("severity: error").count(), 1, "{results}");
    results.to_owned()
}

const CONF: &str = "\
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: conf
  data:
    tax: \"18\"
    word: hello
    image: gcr.io/acme/web:1.2
    empty: {}
";

const TILL: &str = "\
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: till
    namespace: shop
    labels:
      app: till
  spec:
    replicas: 1 # few
    template:
      spec:
        containers:
        - name: till
          image: till:1
          env:
          - name: TAX
            value: \"0\"
          - name: PLAIN
            value: none
        - name: other
          image: other:1
";

fn both() -> String {
    format!("{CONF}{TILL}")
}

/// One replacement from a field of the `ConfigMap` into a field of the Deployment.
fn from_to(field: &str, path: &str, options: &str) -> String {
    format!(
        "- source: {{kind: ConfigMap, name: conf, fieldPath: '{field}'}}\n  targets:\n  - select: {{kind: Deployment}}\n    fieldPaths: ['{path}']\n    options: {{{options}}}\n"
    )
}

#[test]
fn a_string_stays_a_string_and_a_number_a_number() {
    let env = "spec.template.spec.containers.[name=till].env";
    let out = applied(&both(), &from_to("data.tax", &format!("{env}.[name=TAX].value"), ""));
    assert!(out.contains("            value: \"18\"\n"), "{out}");
    let out = applied(&both(), &from_to("data.tax", &format!("{env}.[name=PLAIN].value"), ""));
    assert!(out.contains("          - name: PLAIN\n            value: \"18\"\n"), "{out}");
    let out = applied(&both(), &from_to("data.tax", "spec.replicas", ""));
    assert!(out.contains("    replicas: 18 # few\n"), "{out}");
    let out = applied(&both(), &from_to("data.word", "spec.replicas", ""));
    assert!(out.contains("    replicas: hello # few\n"), "{out}");
}

#[test]
fn new_fields_take_the_type_of_the_source() {
    let path = "spec.template.spec.containers.[name=till].env.[name=NEW].value";
    let out = applied(&both(), &from_to("data.tax", path, "create: true"));
    assert!(out.contains("          - name: NEW\n            value: \"18\"\n"), "{out}");
    let number = "- source: {kind: Deployment, fieldPath: spec.replicas}\n  targets:\n  - select: {kind: ConfigMap}\n    fieldPaths: [data.count]\n    options: {create: true}\n";
    let out = applied(&both(), number);
    assert!(out.contains("    count: 1\n"), "{out}");
}

#[test]
fn mappings_are_copied_whole_and_levels_are_made() {
    let items = "- apiVersion: batch/v1\n  kind: Job\n  metadata:\n    name: hello\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: my-pod\n  spec:\n    containers:\n    - image: busybox # small\n      name: c\n";
    let replacement = "- source: {kind: Pod, name: my-pod, fieldPath: spec}\n  targets:\n  - select: {name: hello, kind: Job}\n    fieldPaths: [spec.template.spec]\n    options: {create: true}\n";
    let out = applied(items, replacement);
    let spec = "  spec:\n    template:\n      spec:\n        containers:\n        - image: busybox # small\n          name: c\n";
    assert!(out.contains(&format!("    name: hello\n{spec}")), "{out}");
}

#[test]
fn a_mapping_replaces_a_single_value_too() {
    let out = applied(
        &both(),
        "- source: {kind: Deployment, fieldPath: metadata.labels}\n  targets:\n  - select: {kind: ConfigMap}\n    fieldPaths: [data.word]\n",
    );
    assert!(out.contains("    word:\n      app: till\n"), "{out}");
}

#[test]
fn parts_of_texts_are_taken_and_replaced() {
    let source = |options: &str| {
        format!(
            "- source: {{kind: ConfigMap, fieldPath: data.image, options: {{delimiter: ':', index: 1}}}}\n  targets:\n  - select: {{kind: Deployment}}\n    fieldPaths: ['spec.template.spec.containers.0.image']\n    options: {{{options}}}\n"
        )
    };
    for (options, image) in [
        ("delimiter: ':', index: 1", "till:1.2"),
        ("delimiter: ':', index: 0", "\"1.2:1\""),
        ("delimiter: ':', index: -1", "1.2:till:1"),
        ("delimiter: ':', index: 7", "till:1:1.2"),
        ("", "\"1.2\""),
    ] {
        let out = applied(&both(), &source(options));
        let expected = image.trim_matches('"');
        assert!(out.contains(&format!("image: {image}\n")) || out.contains(&format!("image: {expected}\n")), "{out}");
    }
    let far = source("").replace("index: 1}", "index: 2}");
    assert!(refused(&both(), &far).contains("options.index 2 is out of bounds for value gcr.io/acme/web:1.2"));
    let list = from_to("data.tax", "spec.template.spec.containers", "delimiter: ':'");
    assert!(refused(&both(), &list).contains("delimiter option can only be used with scalar nodes"));
}

#[test]
fn every_element_and_every_match_is_written() {
    let out = applied(&both(), &from_to("data.word", "spec.template.spec.containers.*.image", ""));
    assert_eq!(out.matches("image: hello\n").count(), 2, "{out}");
    let twice = "- sourceValue: new\n  targets:\n  - select: {}\n    fieldPaths: ['metadata.labels.[a.io/b]']\n    options: {create: true}\n";
    let out = applied(&both(), twice);
    assert_eq!(out.matches("      a.io/b: new\n").count(), 2, "{out}");
}

#[test]
fn keys_with_dots_and_elements_by_image_are_found() {
    let items = format!(
        "{CONF}- apiVersion: kpt.dev/v1\n  kind: Kptfile\n  metadata:\n    name: k\n  pipeline:\n    mutators:\n    - image: ghcr.io/a/set-labels:v0.2\n      configMap:\n        n.org/cluster: x\n"
    );
    let replacement = "- source: {kind: ConfigMap, name: conf, fieldPath: data.word}\n  targets:\n  - select: {kind: Kptfile}\n    fieldPaths: ['pipeline.mutators.[image=ghcr.io/a/set-labels:v0.2].configMap.[n.org/cluster]']\n";
    let out = applied(&items, replacement);
    assert!(out.contains("        n.org/cluster: hello\n"), "{out}");
}

#[test]
fn targets_are_selected_by_whole_patterns_and_labels_and_can_be_rejected() {
    let select = |select: &str, reject: &str| {
        let replacement = format!(
            "- sourceValue: x\n  targets:\n  - select: {{{select}}}\n    reject: [{reject}]\n    fieldPaths: [metadata.uid]\n    options: {{create: true}}\n"
        );
        applied(&both(), &replacement).matches("uid: x").count()
    };
    assert_eq!(select("", ""), 2);
    assert_eq!(select("name: til", ""), 0);
    assert_eq!(select("name: til.", ""), 1);
    assert_eq!(select("name: till|conf", ""), 2);
    assert_eq!(select("group: apps, version: v1", ""), 1);
    assert_eq!(select("namespace: shop", ""), 1);
    assert_eq!(select("namespace: default", ""), 0);
    assert_eq!(select("labelSelector: app in (till)", ""), 1);
    assert_eq!(select("labelSelector: '!app'", ""), 1);
    assert_eq!(select("", "{name: conf}"), 1);
    assert_eq!(select("", "{labelSelector: app=till}"), 1);
    assert_eq!(select("", "{name: conf}, {labelSelector: app=till}"), 0);
    assert_eq!(select("", "{kind: Deployment, name: conf}"), 2);
}

#[test]
fn a_source_must_be_one_object_with_the_field() {
    let nothing = refused(&both(), &from_to("data.tax", "spec.x", "").replace("name: conf", "name: conf2"));
    assert!(nothing.contains("replacements[0]: nothing selected by ConfigMap conf2"), "{nothing}");
    let many = "- source: {version: v1}\n  targets:\n  - select: {}\n";
    assert!(refused(&both(), many).contains("multiple matches for selector v1"));
    for field in ["data.gone", "data.empty", "data.[a=b]", "data.tax.x"] {
        let message = refused(&both(), &from_to(field, "spec.replicas", ""));
        let expected = format!("fieldPath `{field}` is missing for replacement source ConfigMap conf");
        assert!(message.contains(&expected), "{message}");
    }
    let default = "- source: {kind: ConfigMap, namespace: default}\n  targets:\n  - select: {kind: Deployment}\n";
    assert!(applied(&both(), default).contains("    name: conf\n    namespace: shop\n"));
}

#[test]
fn a_missing_field_is_an_error_that_names_replacement_and_object() {
    let two = format!("{}{}", from_to("data.tax", "spec.replicas", ""), from_to("data.tax", "spec.gone.x", ""));
    let message = refused(&both(), &two);
    let expected = "replacements[1].targets[0]: unable to find field \"spec.gone.x\" in replacement target";
    assert!(message.contains(expected), "{message}");
    assert!(message.contains("kind: Deployment\n    name: till\n    namespace: shop\n"), "{message}");
    let wrong = refused(&both(), &from_to("data.tax", "spec.template.*", ""));
    assert!(wrong.contains("`spec.template` is a mapping, expected a list"), "{wrong}");
    let index = refused(&both(), &from_to("data.tax", "spec.template.spec.containers.5.name", ""));
    assert!(index.contains("specified but only 2 elements found"), "{index}");
}

#[test]
fn a_path_leads_into_a_text_that_holds_a_document() {
    let items = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: conf\n  data:\n    word: hello\n    app.yaml: |\n      db: # main\n        host: old # why\n      port: 1\n    app.json: '{\"db\":{\"host\":\"old\"}}'\n";
    let to = |key: &str| {
        format!(
            "- source: {{kind: ConfigMap, fieldPath: data.word}}\n  targets:\n  - select: {{kind: ConfigMap}}\n    fieldPaths: ['data.[{key}].db.host']\n"
        )
    };
    let out = applied(items, &to("app.yaml"));
    assert!(out.contains("    app.yaml: |\n      db: # main\n        host: hello # why\n      port: 1\n"), "{out}");
    let out = applied(items, &to("app.json"));
    assert!(out.contains("    app.json: '{\"db\":{\"host\":\"hello\"}}'\n"), "{out}");
}

#[test]
fn aliases_of_the_source_are_replaced_by_what_they_stand_for() {
    let items = "- apiVersion: v1\n  kind: ConfigMap\n  metadata: &m\n    name: conf\n  data:\n    a: *m\n- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: s\n";
    let replacement = "- source: {kind: ConfigMap, fieldPath: data}\n  targets:\n  - select: {kind: Secret}\n    fieldPaths: [copy]\n    options: {create: true}\n";
    let out = applied(items, replacement);
    assert!(out.contains("  copy:\n    a:\n      name: conf\n"), "{out}");
}

#[test]
fn a_given_value_keeps_its_type() {
    let to = |value: &str| {
        let replacement = format!(
            "- sourceValue: {value}\n  targets:\n  - select: {{kind: ConfigMap}}\n    fieldPaths: [data.new]\n    options: {{create: true}}\n"
        );
        applied(CONF, &replacement)
    };
    assert!(to("\"8080\"").contains("    new: \"8080\"\n"));
    assert!(to("8080").contains("    new: 8080\n"));
}

#[test]
fn configurations_that_cannot_be_read_are_refused_with_the_field() {
    for (entry, message) in [
        ("- source: {kind: A}\n", "replacements[0]: must specify `targets`"),
        ("- targets:\n  - select: {}\n", "must specify a `source` or a `sourceValue`"),
        (
            "- source: {kind: A}\n  sourceValue: x\n  targets:\n  - select: {}\n",
            "`source` and `sourceValue` exclude each other",
        ),
        ("- sourceValue: x\n  targets:\n  - fieldPaths: [a]\n", "target must specify resources to select"),
        ("- sourceValue: x\n  targets:\n  - select: {name: '('}\n", "`(` is no regular expression"),
        ("- sourceValue: x\n  targets:\n  - select: {labelSelector: '='}\n", "cannot be read at `=`"),
        ("- sourceValue: x\n  targets:\n  - select: {}\n    fieldPath: [a]\n", "unknown field `fieldPath`"),
        ("- sourceValue: [x]\n  targets:\n  - select: {}\n", "`sourceValue` must be a single value"),
        ("- sourceValue: x\n  targets:\n  - select: {}\n    fieldPaths: ['a.[b']\n", "has a `[` without its `]`"),
    ] {
        let text = refused(CONF, entry);
        assert!(text.contains(message), "{message}: {text}");
    }
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{CONF}");
    let output = run(&crate::function(), list.as_bytes());
    assert!(String::from_utf8_lossy(&output.stdout).contains("FunctionConfig is missing. Expect `ApplyReplacements`"));
    let other = "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: x\n";
    let output = run(&crate::function(), format!("{list}{other}").as_bytes());
    assert!(
        String::from_utf8_lossy(&output.stdout)
            .contains("received functionConfig of kind ConfigMap and apiVersion v1, only")
    );
}

#[test]
fn values_that_grow_with_every_replacement_end_in_an_error() {
    let doubling = "- source: {kind: ConfigMap, fieldPath: data}\n  targets:\n  - select: {kind: ConfigMap}\n    fieldPaths: [data.one, data.two]\n    options: {create: true}\n";
    let text = refused(CONF, &doubling.repeat(60));
    assert!(text.contains("write more than 32 MiB") || text.contains("nested more than"), "{text}");
    let deeper = format!(
        "- source: {{kind: ConfigMap, fieldPath: data}}\n  targets:\n  - select: {{kind: ConfigMap}}\n    fieldPaths: ['data{}']\n    options: {{create: true}}\n",
        ".a".repeat(98)
    );
    let text = refused(CONF, &deeper.repeat(6));
    assert!(text.contains("nested more than 400 deep"), "{text}");
    let text = "- source: {kind: ConfigMap, fieldPath: data.word}\n  targets:\n  - select: {kind: ConfigMap}\n    fieldPaths: [data.word]\n    options: {delimiter: e, index: 99999}\n";
    let (out, output) = apply(CONF, &text.repeat(30));
    assert_eq!(output.exit_code, 1, "{}", out.len());
}

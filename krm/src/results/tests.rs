use super::*;
use crate::yaml::{ParseLimits, Tree};

fn parse(yaml: &str) -> Result<Vec<FunctionResult>, ResultsError> {
    let tree = Tree::parse(yaml, &ParseLimits::default()).expect("YAML").expect("a document");
    let results = tree.get(tree.root(), "results").expect("there");
    parse_results(&tree, results)
}

fn one(yaml: &str) -> FunctionResult {
    parse(yaml).expect("results").remove(0)
}

#[test]
fn a_full_item_is_read() {
    let result = one("results:
- message: too few
  severity: error
  resourceRef: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: prod}
  field:
    path: spec.replicas
    currentValue: 1
    proposedValue:
      a: [1, 2]
  file: {path: a.yaml, index: 2}
  tags: {by: me, n: 1}
  unknown: ignored
");
    assert_eq!(result.to_string(), "[error] apps/v1/Deployment/prod/web spec.replicas: too few");
    let field = result.field.expect("there");
    assert_eq!(field.current_value.as_deref(), Some("1"));
    assert_eq!(field.proposed_value.as_deref(), Some("a: [1, 2]"));
    assert_eq!(result.file, Some(File { path: "a.yaml".into(), index: 2 }));
    assert_eq!(result.tags["n"], "1");
}

#[test]
fn items_of_older_functions_are_lifted() {
    let result = one("results:
  name: set-image
  items:
  - message: old
    resourceRef: {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}}
    field: {path: x, suggestedValue: new}
");
    let reference = result.resource_ref.expect("there");
    assert_eq!((reference.name.as_str(), reference.namespace.as_str()), ("a", "b"));
    assert_eq!(result.field.expect("there").proposed_value.as_deref(), Some("new"));
    assert_eq!(result.severity, None);
}

#[test]
fn nothing_to_say_is_no_error() {
    for yaml in ["results:", "results: []", "results: {}", "results: {items: []}", "results: {name: x}"] {
        assert_eq!(parse(yaml), Ok(Vec::new()), "{yaml}");
    }
}

#[test]
fn a_wrong_shape_is_named_with_its_place() {
    for (yaml, text) in [
        ("results: text", "`results` must be a list, not a scalar"),
        ("results: [text]", "`results[0]` must be a mapping, not a scalar"),
        ("results: [{message: [a]}]", "`results[0].message` must be a string, not a sequence"),
        ("results: [{}, {field: x}]", "`results[1].field` must be a mapping, not a scalar"),
        ("results: [{file: {index: x}}]", "`results[0].file.index` must be a whole number, not a scalar"),
        ("results: [{tags: {a: []}}]", "`results[0].tags.a` must be a string, not a sequence"),
        ("results: {items: x}", "`results.items` must be a list, not a scalar"),
    ] {
        let error = parse(yaml).expect_err(yaml);
        assert_eq!(error.to_string(), text);
        assert_eq!(error.position.expect("known").line, 1);
    }
}

#[test]
fn messages_are_shown_on_one_line_and_empty_parts_are_left_out() {
    let mut result = FunctionResult { message: "one\n  two \n\nthree".into(), ..FunctionResult::default() };
    assert_eq!(result.to_string(), "[info]: one two three");
    result.severity = Some("warn".into());
    result.field = Some(Field::default());
    result.resource_ref = Some(ResourceRef { name: "a".into(), ..ResourceRef::default() });
    assert_eq!(result.to_string(), "[warn] a: one two three");
}

#[test]
fn results_are_sorted_by_file_then_severity_then_text() {
    let make = |path: &str, severity: &str, message: &str| FunctionResult {
        file: Some(File { path: path.into(), index: 0 }),
        ..FunctionResult::new(severity, message)
    };
    let mut results =
        [make("b", "error", "1"), make("a", "info", "3"), make("a", "error", "4"), make("a", "info", "2")];
    sort_results(&mut results);
    let messages: Vec<&str> = results.iter().map(|r| r.message.as_str()).collect();
    assert_eq!(messages, ["4", "2", "3", "1"]);
}

/// The expected results of kpt's own case `kubeval-failure`.
#[test]
fn the_document_has_the_bytes_of_kpt() {
    let result = |message: &str, path: &str| FunctionResult {
        resource_ref: Some(ResourceRef {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            name: "nginx-deployment".into(),
            namespace: String::new(),
        }),
        field: Some(Field { path: path.into(), ..Field::default() }),
        file: Some(File { path: "resources.yaml".into(), index: 0 }),
        ..FunctionResult::new("error", message)
    };
    let document = ResultDocument {
        exit_code: 1,
        items: vec![
            StepResult {
                image: "ghcr.io/kptdev/krm-functions-catalog/kubeconform:latest".into(),
                stderr: "failed to evaluate function: error: function failure".into(),
                exit_code: 1,
                results: vec![
                    result("missing properties 'selector', 'template'", "spec"),
                    result("got string, want null or integer", "spec.replicas"),
                ],
                ..StepResult::default()
            },
            StepResult { exec: "sed -e 's/a/b/'".into(), ..StepResult::default() },
        ],
    };
    assert_eq!(
        document.to_yaml(),
        "apiVersion: kpt.dev/v1
kind: FunctionResultList
metadata:
  name: fnresults
exitCode: 1
items:
  - image: ghcr.io/kptdev/krm-functions-catalog/kubeconform:latest
    stderr: 'failed to evaluate function: error: function failure'
    exitCode: 1
    results:
      - message: missing properties 'selector', 'template'
        severity: error
        resourceRef:
          apiVersion: apps/v1
          kind: Deployment
          name: nginx-deployment
        field:
          path: spec
        file:
          path: resources.yaml
      - message: got string, want null or integer
        severity: error
        resourceRef:
          apiVersion: apps/v1
          kind: Deployment
          name: nginx-deployment
        field:
          path: spec.replicas
        file:
          path: resources.yaml
  - exec: sed -e 's/a/b/'
    exitCode: 0
"
    );
    assert!(!ResultDocument::default().to_yaml().contains("items"));
}

#[test]
fn a_reference_without_parts_stays_and_empty_values_go() {
    let document = ResultDocument {
        exit_code: 0,
        items: vec![StepResult {
            image: "a".into(),
            results: vec![FunctionResult {
                resource_ref: Some(ResourceRef::default()),
                field: Some(Field {
                    path: "x".into(),
                    current_value: Some(String::new()),
                    proposed_value: Some("true".into()),
                }),
                file: Some(File { path: "f".into(), index: -1 }),
                tags: [("k".to_owned(), "v".to_owned())].into(),
                ..FunctionResult::default()
            }],
            ..StepResult::default()
        }],
    };
    let yaml = document.to_yaml();
    let expected = "    results:
      - resourceRef: {}
        field:
          path: x
          proposedValue: \"true\"
        file:
          path: f
          index: -1
        tags:
          k: v
";
    assert!(yaml.ends_with(expected), "{yaml}");
}

//! The rules of the README, each on a small list.

use portico_fn::yaml::ParseLimits;
use portico_fn::{Output, ResourceList};

const CONTROLLER: &str = "\
- apiVersion: v1
  kind: ReplicationController
  metadata:
    name: bob
  spec:
    replicas: asdf
    selector:
      app: nginx
    templates:
      metadata:
        name: nginx
";

fn run(items: &str, data: &str) -> Output {
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: c}}\n  data: {{{data}}}\n"
    );
    crate::program(list.into_bytes())
}

fn said(items: &str, data: &str) -> (Vec<String>, u8) {
    let output = run(items, data);
    assert_eq!(output.stderr, "");
    let list = ResourceList::parse(&output.stdout, &ParseLimits::default()).expect("a list comes out");
    (list.results.iter().map(ToString::to_string).collect(), output.exit_code)
}

#[test]
fn unknown_properties_come_first_and_nothing_is_said_on_stderr() {
    assert_eq!(
        said(CONTROLLER, "strict: 'true'"),
        (
            vec![
                "[error] v1/ReplicationController/bob templates: Additional property templates is not allowed".to_owned(),
                "[error] v1/ReplicationController/bob spec.replicas: Invalid type. Expected: [integer,null], given: string"
                    .to_owned(),
            ],
            1
        )
    );
}

#[test]
fn an_alternative_is_followed_by_what_its_closest_schema_says() {
    let items =
        "- apiVersion: v1\n  kind: Service\n  metadata: {name: s}\n  spec: {ports: [{port: 80, targetPort: {}}]}\n";
    assert_eq!(
        said(items, "").0,
        [
            "[error] v1/Service/s spec.ports.0.targetPort: Must validate one and only one schema (oneOf)",
            "[error] v1/Service/s spec.ports.0.targetPort: Invalid type. Expected: [string,null], given: object",
        ]
    );
}

#[test]
fn a_kind_without_a_schema_is_an_error_unless_it_is_ignored_or_skipped() {
    let items = "- {apiVersion: example.com/v1, kind: Thing, metadata: {name: t}}\n- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: p}}\n";
    let (results, code) = said(items, "");
    assert_eq!((results.len(), code), (1, 1));
    assert!(
        results[0].starts_with("[error] example.com/v1/Thing/t: Validating arbitrary CRDs is not supported yet. You can skip them by setting ignore_missing_schemas or skip_kinds in the function config: "),
        "{results:?}"
    );
    assert!(results[0].contains("Kubernetes 1.37 has no such kind"), "{results:?}");
    for data in ["ignore_missing_schemas: 'true'", "skip_kinds: 'Other,Thing'", "ignore_missing_schemas: true"] {
        assert_eq!(said(items, data), (Vec::new(), 0), "{data}");
    }
}

#[test]
fn a_flag_that_is_none_is_refused() {
    let output = run(CONTROLLER, "strict: 'yes'");
    assert_eq!(output.exit_code, 1);
    assert_eq!(output.stderr, "failed to evaluate function: `strict: yes` must be `true` or `false`\n");
}

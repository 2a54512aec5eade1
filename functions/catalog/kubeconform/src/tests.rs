//! The rules of the README, each on a small list.

use std::fmt::Write as _;

use portico_fn::yaml::ParseLimits;
use portico_fn::{Output, ResourceList};

const DEPLOYMENT: &str = "\
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
  spec:
    replicas: REPLICAS
    selector: {matchLabels: {app: web}}
    template:
      metadata: {labels: {app: web}}
      spec:
        containers:
        - name: web
          image: nginx
          ports:
          - containerPort: 80
            protocol: TCP
          resources:
            limits: {cpu: 2, memory: 1Gi}
";

const CRD: &str = "\
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata:
    name: books.shop.example.com
  spec:
    group: shop.example.com
    names: {kind: Book, plural: books}
    scope: Namespaced
    versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [title]
              properties:
                title: {type: string, maxLength: 5, pattern: '^[a-z]+$'}
                pages: {type: integer, minimum: 1}
                price: {x-kubernetes-int-or-string: true}
                blurb: {type: string, nullable: true}
                extra: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}
";

fn run(items: &str, data: &str) -> Output {
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: c}}\n  data: {{{data}}}\n"
    );
    crate::program(list.into_bytes())
}

/// The results as kpt prints them, and the exit code.
fn said(items: &str, data: &str) -> (Vec<String>, u8) {
    let output = run(items, data);
    let list = ResourceList::parse(&output.stdout, &ParseLimits::default()).expect("a list comes out");
    let expected = if output.exit_code == 0 { "" } else { "failed to evaluate function: error: function failure\n" };
    assert_eq!(output.stderr, expected);
    (list.results.iter().map(ToString::to_string).collect(), output.exit_code)
}

fn none() -> (Vec<String>, u8) {
    (Vec::new(), 0)
}

#[test]
fn a_deployment_with_two_mistakes_is_told_in_the_words_of_kubeconform() {
    let items = "- apiVersion: apps/v1\n  kind: Deployment\n  metadata:\n    name: nginx-deployment\n  spec:\n    replicas: invalid\n- apiVersion: custom.io/v1\n  kind: Custom\n  metadata: {name: custom}\n  spec: {image: 'nginx:1.2.3'}\n";
    let (results, code) = said(items, "strict: 'true'");
    assert_eq!(
        results,
        [
            "[error] apps/v1/Deployment/nginx-deployment spec: missing properties 'selector', 'template'",
            "[error] apps/v1/Deployment/nginx-deployment spec.replicas: got string, want null or integer",
        ]
    );
    assert_eq!(code, 1);
}

#[test]
fn a_good_deployment_passes_in_every_version_normal_and_strict() {
    for minor in 25..=37 {
        for strict in ["true", "false"] {
            let data = format!("strict: '{strict}', kubernetes_version: '1.{minor}'");
            assert_eq!(said(&DEPLOYMENT.replace("REPLICAS", "3"), &data), none(), "{data}");
        }
    }
}

#[test]
fn unknown_fields_are_errors_only_when_strict_and_come_last() {
    let items = DEPLOYMENT.replace("REPLICAS", "x\n    replica: 3\n    'a/b': 1");
    let (results, _) = said(&items, "strict: TRUE");
    assert_eq!(
        results,
        [
            "[error] apps/v1/Deployment/web spec.replicas: got string, want null or integer",
            "[error] apps/v1/Deployment/web spec: additional properties 'replica', 'a/b' not allowed",
        ]
    );
    assert_eq!(said(&items, "strict: '1'").0.len(), 2);
    assert_eq!(said(&items, "").0.len(), 1);
}

#[test]
fn numbers_strings_and_lists_have_the_types_of_json() {
    let pod = |port: &str, limits: &str| {
        format!(
            "- apiVersion: v1\n  kind: Pod\n  metadata: {{name: p}}\n  spec:\n    containers:\n    - name: a\n      ports: [{{containerPort: {port}}}]\n      resources: {{limits: {limits}}}\n"
        )
    };
    assert_eq!(said(&pod("80", "{cpu: 0.5, memory: 1Gi}"), ""), none());
    assert_eq!(said(&pod("8.0e1", "{cpu: '1'}"), ""), none());
    assert_eq!(
        said(&pod("'80'", "{cpu: true}"), "").0,
        [
            "[error] v1/Pod/p spec.containers.0.ports.0.containerPort: got string, want integer",
            "[error] v1/Pod/p spec.containers.0.resources.limits.cpu: 'oneOf' failed, none matched",
        ]
    );
    assert_eq!(
        said(&pod("80.5", "[a]"), "").0,
        [
            "[error] v1/Pod/p spec.containers.0.ports.0.containerPort: got number, want integer",
            "[error] v1/Pod/p spec.containers.0.resources.limits: got array, want null or object",
        ]
    );
}

#[test]
fn aliases_count_as_what_they_stand_for() {
    let items = "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: &n web, labels: {app: *n}}\n  data: {a: &one 1, b: *one}\n";
    let (results, _) = said(items, "");
    assert_eq!(
        results,
        [
            "[error] v1/ConfigMap/web data.a: got number, want null or string",
            "[error] v1/ConfigMap/web data.b: got number, want null or string",
        ]
    );
}

#[test]
fn definitions_of_the_package_are_schemas() {
    let book = |spec: &str| {
        format!(
            "{CRD}- apiVersion: shop.example.com/v1\n  kind: Book\n  metadata: {{name: b, labels: {{a: b}}}}\n  spec: {spec}\n"
        )
    };
    assert_eq!(said(&book("{title: rust, pages: 3, price: 12, blurb: null, extra: {x: 1}}"), "strict: 'true'"), none());
    assert_eq!(
        said(&book("{title: Very long, pages: 0, price: 1.5, blurb: 1, page: 3}"), "strict: 'true'").0,
        [
            "[error] shop.example.com/v1/Book/b spec.blurb: got number, want null or string",
            "[error] shop.example.com/v1/Book/b spec.pages: minimum: got 0, want 1",
            "[error] shop.example.com/v1/Book/b spec.price: got number, want integer or string",
            "[error] shop.example.com/v1/Book/b spec.title: maxLength: got 9, want 5",
            "[error] shop.example.com/v1/Book/b spec.title: 'Very long' does not match pattern '^[a-z]+$'",
            "[error] shop.example.com/v1/Book/b spec: additional properties 'page' not allowed",
        ]
    );
    let labels = book("{title: a}").replace("{a: b}", "{a: 1}");
    assert_eq!(
        said(&labels, "").0,
        ["[error] shop.example.com/v1/Book/b metadata.labels.a: got number, want null or string"]
    );
}

#[test]
fn a_definition_that_makes_no_sense_is_told_at_its_objects() {
    let items = format!(
        "{}- apiVersion: shop.example.com/v1\n  kind: Book\n  metadata: {{name: b}}\n",
        CRD.replace("{type: integer, minimum: 1}", "{type: whole}")
    );
    let (results, code) = said(&items, "skip_kinds: CustomResourceDefinition");
    assert_eq!(code, 1);
    assert_eq!(
        results,
        [
            "[error] shop.example.com/v1/Book/b: the schema in CustomResourceDefinition `books.shop.example.com` can't be used: `/properties/spec/properties/pages/type` of the schema must name a type, or a list of types"
        ]
    );
}

#[test]
fn kinds_are_skipped_by_name_or_in_full() {
    let items = DEPLOYMENT.replace("REPLICAS", "x");
    for skip in ["Deployment", "Pod, apps/v1/Deployment"] {
        assert_eq!(said(&items, &format!("skip_kinds: '{skip}'")), none(), "{skip}");
    }
    for other in ["deployment", "apps/v2/Deployment", "Deploy"] {
        assert_eq!(said(&items, &format!("skip_kinds: '{other}'")).1, 1, "{other}");
    }
}

#[test]
fn kpts_own_objects_and_unknown_kinds_pass() {
    let items = "- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: p}, pipelin: 1}\n- {apiVersion: fn.kpt.dev/v1alpha1, kind: SetLabels, metadata: {name: p}, labels: 1}\n- {apiVersion: example.com/v1, kind: Thing, metadata: {name: p}}\n";
    assert_eq!(said(items, "strict: 'true'"), none());
}

#[test]
fn a_kind_that_a_version_does_not_have_passes_there() {
    let items = "- apiVersion: policy/v1\n  kind: PodDisruptionBudget\n  metadata: {name: p}\n  spec: {minAvailable: [1]}\n- apiVersion: autoscaling/v2beta2\n  kind: HorizontalPodAutoscaler\n  metadata: {name: h}\n  spec: {maxReplicas: many, scaleTargetRef: {kind: Deployment, name: d}}\n";
    assert_eq!(said(items, "kubernetes_version: v1.25.3").0.len(), 2);
    assert_eq!(said(items, "").0.len(), 1);
}

#[test]
fn what_cannot_be_followed_is_said_on_stderr() {
    for (data, part) in [
        (
            "kubernetes_version: '1.20'",
            "`kubernetes_version: 1.20` is not a version whose schemas are there; there are 1.25 to 1.37",
        ),
        ("kubernetes_version: '1.29.x'", "`kubernetes_version: 1.29.x`"),
        ("schema_location: 'https://example.com'", "is on the network"),
        (
            "schema_location: 'file:///no/such'",
            "directory `/no/such` of schema location `file:///no/such` can't be read",
        ),
        ("additional_schema_locations: 'default,/no/such'", "pass `--mount type=bind,src=DIR,dst=/no/such`"),
    ] {
        let output = run(DEPLOYMENT, data);
        assert_eq!(output.exit_code, 1);
        assert!(output.stderr.contains(part), "{data}: {}", output.stderr);
        assert!(!output.stdout.is_empty());
    }
}

#[test]
fn the_deepest_object_that_can_be_read_is_checked() {
    let mut schema = String::from("{type: object}");
    for _ in 0..150 {
        schema = format!("{{type: object, properties: {{a: {schema}}}}}");
    }
    let items = CRD.replace("{type: integer, minimum: 1}", &schema);
    assert_eq!(said(&items, "strict: 'true'"), none());
    let items = CRD.replace("{type: integer, minimum: 1}", &schema.replacen("{type: object}", "{type: 1}", 1));
    assert_eq!(said(&items, "").1, 1);
}

#[test]
fn many_objects_are_checked_with_one_reading_of_their_schemas() {
    let mut items = String::new();
    for number in 0..300 {
        let _ = write!(items, "{}", DEPLOYMENT.replace("REPLICAS", &number.to_string()));
    }
    assert_eq!(said(&items, "strict: 'true'"), none());
}

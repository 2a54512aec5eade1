use super::{MAP, NEVER, constraint, failure, messages, template};

const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod, labels: {env: prod}}\n";
const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: pod, namespace: prod, labels: {app: web}}\n";
const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: dev-1}\n";
const ROLE: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: role}\n";

/// Names of what the rules match, of the four objects above; templates and constraints left out.
fn matched(rules: &str) -> String {
    let spec = constraint(&format!("{{match: {rules}}}"));
    let mut names = messages(&[&template(NEVER), &spec, NAMESPACE, POD, DEPLOYMENT, ROLE]);
    names.retain(|name| !["policy", "rule"].contains(&&**name));
    names.sort();
    names.join(" ")
}

#[test]
fn rules_match_as_gatekeepers_do() {
    for (rules, names) in [
        ("{}", "pod prod role web"),
        ("{kinds: [{apiGroups: ['*'], kinds: [Pod, Deployment]}]}", "pod web"),
        ("{kinds: [{apiGroups: [apps], kinds: ['*']}]}", "web"),
        ("{kinds: [{apiGroups: [apps], kinds: [Pod]}]}", ""),
        ("{kinds: [{kinds: [Pod]}, {apiGroups: [apps]}]}", "pod web"),
        ("{scope: Cluster}", "prod role"),
        ("{scope: Namespaced}", "pod web"),
        ("{scope: '*'}", "pod prod role web"),
        // what lies in no namespace is neither included nor excluded by one
        ("{namespaces: [prod]}", "pod prod role"),
        ("{namespaces: ['dev-*']}", "role web"),
        ("{namespaces: ['*-1']}", "role web"),
        ("{namespaces: ['*ev*']}", "role web"),
        ("{excludedNamespaces: [prod]}", "role web"),
        ("{excludedNamespaces: ['*']}", "role"),
        ("{labelSelector: {matchLabels: {app: web}}}", "pod"),
        ("{labelSelector: {matchExpressions: [{key: app, operator: Exists}]}}", "pod"),
        ("{labelSelector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}}", "prod role web"),
        ("{labelSelector: {matchExpressions: [{key: env, operator: In, values: [dev, prod]}]}}", "prod"),
        ("{scope: Cluster, labelSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}}", "role"),
        ("{namespaces: [prod], namespaceSelector: {matchLabels: {env: prod}}}", "pod prod role"),
        ("{namespaces: [prod], namespaceSelector: {matchLabels: {env: dev}}}", "role"),
        ("{name: 'p*'}", "pod prod"),
        ("{name: web}", "web"),
        ("{source: Generated}", ""),
        ("{source: Original, name: web}", "web"),
    ] {
        assert_eq!(matched(rules), names, "{rules}");
    }
}

#[test]
fn a_namespace_selector_needs_the_namespace() {
    let spec = constraint("{match: {namespaceSelector: {matchLabels: {env: prod}}}}");
    assert_eq!(
        failure(&[&template(NEVER), &spec, NAMESPACE, POD, DEPLOYMENT]),
        "constraint `Policy/rule` cannot check `apps/v1/Deployment/dev-1/web`: `spec.match.namespaceSelector` needs the \
         labels of namespace `dev-1`: add the Namespace to the package"
    );
}

#[test]
fn malformed_rules_are_told_with_their_field() {
    for (rules, text) in [
        ("[]", "`spec.match` must be a mapping, but it is a list"),
        ("{kinds: Pod}", "`spec.match.kinds` must be a list, but it is a string"),
        ("{kinds: [{kinds: [1]}]}", "`spec.match.kinds[0].kinds[0]` must be a string, but it is a number"),
        ("{scope: Big}", "`spec.match.scope` must be `Cluster`, `Namespaced` or `*`, but it is `Big`"),
        (
            "{labelSelector: {matchExpressions: [{key: a, operator: Is}]}}",
            "`spec.match.labelSelector.matchExpressions[0].operator` must be `In`, `NotIn`, `Exists` or \
             `DoesNotExist`, but it is `Is`",
        ),
        (
            "{labelSelector: {matchExpressions: [{key: a, operator: In}]}}",
            "`spec.match.labelSelector.matchExpressions[0].values` must not be empty with operator `In`",
        ),
    ] {
        let spec = constraint(&format!("{{match: {rules}}}"));
        assert_eq!(failure(&[&template(NEVER), &spec, POD]), format!("constraint `Policy/rule`: {text}"));
    }
}

/// Runs a policy that prints its parameters, with this schema; gives what it prints or why it does not run.
fn parameters(schema: &str, given: &str) -> String {
    let rego = "violation[{\"msg\": m}] { m := sprintf(\"%v\", [input.parameters]) }";
    let names = "{names: {kind: Policy}";
    let template = template(rego).replace(names, &format!("{names}, validation: {{openAPIV3Schema: {schema}}}"));
    let spec = constraint(&format!("{{match: {{name: map}}, parameters: {given}}}"));
    let found = messages(&[&template, &spec, MAP]).join("\n");
    found.trim_start_matches("constraint `Policy/rule`: ").to_owned()
}

#[test]
fn parameters_are_checked_against_the_schema_of_the_template() {
    let keys = "{properties: {keys: {type: array, minItems: 1, items: {type: string, pattern: '^[a-z]+$'}}}}";
    assert_eq!(parameters(keys, "{keys: [a]}"), "{\"keys\": [\"a\"]}");
    for (schema, given, text) in [
        (keys, "{keys: a}", "`spec.parameters.keys` must be an array, but it is \"a\""),
        (keys, "{keys: []}", "`spec.parameters.keys` must have at least 1 elements, but it has 0"),
        (keys, "{keys: [a, 1]}", "`spec.parameters.keys[1]` must be a string, but it is 1"),
        (keys, "{keys: [A]}", "`spec.parameters.keys[0]` must match `^[a-z]+$`, but it is \"A\""),
        ("{type: object}", "[1]", "`spec.parameters` must be an object, but it is [1]"),
        ("{required: [a, b]}", "{a: 1}", "`spec.parameters.b` is missing"),
        (
            "{properties: {a: {enum: [x, 1]}}}",
            "{a: y}",
            "`spec.parameters.a` must be one of `\"x\"`, `1`, but it is \"y\"",
        ),
        ("{properties: {a: {type: integer}}}", "{a: 1.5}", "`spec.parameters.a` must be an integer, but it is 1.5"),
        ("{properties: {a: {maximum: 3}}}", "{a: 4}", "`spec.parameters.a` must be at most 3, but it is 4"),
        (
            "{properties: {a: {minimum: 3, exclusiveMinimum: true}}}",
            "{a: 3}",
            "`spec.parameters.a` must be greater than 3, but it is 3",
        ),
        ("{properties: {a: {type: string}}}", "{a: null}", "`spec.parameters.a` must be a string, but it is null"),
        ("{additionalProperties: {type: string}}", "{b: 1}", "`spec.parameters.b` must be a string, but it is 1"),
        (
            "{properties: {a: {x-kubernetes-int-or-string: true}}}",
            "{a: []}",
            "`spec.parameters.a` must be an integer or a string, but it is []",
        ),
    ] {
        assert_eq!(parameters(schema, given), text, "{schema} {given}");
    }
    let nullable = "{properties: {a: {type: string, nullable: true}}}";
    assert_eq!(parameters(nullable, "{a: null}"), "{\"a\": null}");
    assert_eq!(parameters("{properties: {a: {anyOf: [{type: string}, {type: integer}]}}}", "{a: 1}"), "{\"a\": 1}");
    assert!(parameters("{properties: {a: {oneOf: [{}, {}]}}}", "{a: 1}").contains("but it fits 2"));
    assert!(parameters("{properties: {a: {not: {type: string}}}}", "{a: x}").contains("(`not`)"));
}

#[test]
fn missing_parameters_take_their_defaults() {
    let schema = "{properties: {a: {type: string, default: x}, b: {properties: {c: {default: 1}}}}}";
    assert_eq!(parameters(schema, "{b: {}}"), "{\"a\": \"x\", \"b\": {\"c\": 1}}");
    assert_eq!(parameters(schema, "~"), "{\"a\": \"x\"}");
}

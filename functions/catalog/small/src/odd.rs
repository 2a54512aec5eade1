//! Objects and configurations of forms that nobody expects: every function answers, none panics.

use crate::FUNCTIONS;

/// Fields that functions look at.
const FIELDS: [&[&str]; 12] = [
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "annotations"],
    &["metadata", "labels"],
    &["metadata", "ownerReferences"],
    &["spec"],
    &["spec", "template", "spec"],
    &["spec", "template", "spec", "containers"],
    &["roleRef"],
    &["subjects"],
    &["rules"],
    &["pipeline", "mutators"],
];
const VALUES: [&str; 10] =
    ["null", "1", "x", "''", "[a]", "[[b], {c: d}]", "{}", "{name: {e: f}}", "&g [*g]", "{? [h] : i}"];
const TYPES: [(&str, &str); 4] = [
    ("apps/v1", "Deployment"),
    ("kpt.dev/v1", "Kptfile"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("constraints.gatekeeper.sh/v1beta1", "A"),
];
/// Configurations that let each function get to work, and some that let none.
const CONFIGS: [&str; 12] = [
    "{}",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {name: a, newTag: b}}",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {prepend: a}}",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {project-id: a}}",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {enforcementAction: deny}}",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {annotationKeys: a, namespace: b}}",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: [a]}",
    "{apiVersion: v1, kind: ConfigMap, metadata: [c], data: {a: {b: c}}}",
    "{apiVersion: v1, kind: List, items: [{kind: Pod, metadata: [a]}, {kind: Pod}]}",
    "{apiVersion: fn.kpt.dev/v1alpha1, kind: ApplyReplacements, replacements: [{sourceValue: a, targets: [{select: {}, fieldPaths: [metadata.name, 'spec.template.spec.*', 'subjects.[name=x].name'], options: {create: true}}]}]}",
    "{apiVersion: fn.kpt.dev/v1alpha1, kind: SetImage, image: {name: a, newName: b}, additionalImageFields: [{path: 'spec[]/a', create: true}]}",
    "{apiVersion: fn.kpt.dev/v1alpha1, kind: EnsureNameSubstring, substring: a, additionalNameFields: [{path: metadata/x/y, create: true}]}",
];

fn object(api_version: &str, kind: &str, path: &[&str], value: &str) -> String {
    let mut text = format!("- apiVersion: {api_version}\n  kind: {kind}\n");
    for (depth, key) in path.iter().enumerate() {
        let indent = "  ".repeat(depth + 1);
        let value = if depth + 1 == path.len() { value } else { "" };
        text.push_str(&[&indent, *key, ": ", value].concat());
        text.push('\n');
    }
    text
}

#[test]
fn no_function_panics_on_odd_objects() {
    let mut items = String::new();
    for (api_version, kind) in TYPES {
        for path in FIELDS {
            for value in VALUES {
                // the parser refuses keys that are no scalars and aliases inside their anchors: alone, they tell nothing
                if !value.starts_with(['&', '{']) || value == "{}" || value.starts_with("{name") {
                    items.push_str(&object(api_version, kind, path, value));
                }
            }
        }
    }
    for (name, program) in FUNCTIONS {
        for config in CONFIGS {
            let list = format!(
                "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}functionConfig: {config}\n"
            );
            let output = program(list.into_bytes());
            assert!(output.exit_code <= 1, "{name} {config}");
            assert_eq!(output.exit_code == 0, output.stderr.is_empty(), "{name} {config}: {}", output.stderr);
        }
    }
}

#[test]
fn no_function_panics_on_lists_that_cannot_be_read() {
    for (name, program) in FUNCTIONS {
        for api_version in ["v1", "a/b/c", "''", "[x]"] {
            for value in VALUES {
                let list = format!(
                    "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{}functionConfig: {value}\n",
                    object(api_version, "Pod", &["metadata", "annotations"], value)
                );
                let output = program(list.into_bytes());
                assert!(output.exit_code <= 1, "{name} {value}");
            }
        }
    }
}

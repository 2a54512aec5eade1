//! The rules of the README, each on a small list.

use portico_fn::run;

fn call(version: &str, metadata: &str, spec: &str) -> (String, u8) {
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: {version}\n  kind: ResourceHierarchy\n  metadata:\n    name: h\n{metadata}  spec: {spec}\n"
    );
    let output = run(&crate::function(), list.as_bytes());
    (String::from_utf8(output.stdout).expect("text"), output.exit_code)
}

const V1: &str = "cft.dev/v1alpha1";
const V2: &str = "cft.dev/v1alpha2";
const V3: &str = "blueprints.cloud.google.com/v1alpha3";

fn names(out: &str) -> Vec<&str> {
    let folders = out.split("kind: Folder\n").skip(1);
    folders
        .map(|folder| folder.split_once("name: ").map_or("", |(_, rest)| rest.lines().next().unwrap_or("")))
        .collect()
}

#[test]
fn the_newest_form_names_parents_in_the_spec() {
    let spec = "{parentRef: {external: '123'}, config: [shared, {Dev: [{$subtree: t}, 'Team \"One\"']}, {Prod: {$subtree: t}}], subtrees: {t: [A_b]}}";
    let metadata =
        "    namespace: ns\n    annotations:\n      team: x\n      config.kubernetes.io/local-config: 'true'\n";
    let (out, code) = call(V3, metadata, spec);
    assert_eq!(code, 0, "{out}");
    assert_eq!(names(&out), ["dev", "dev.a-b", "dev.team-one", "prod", "prod.a-b", "shared"], "{out}");
    for wanted in [
        "    displayName: shared\n    organizationRef:\n      external: \"123\"\n",
        "    displayName: A_b\n    folderRef:\n      name: dev\n",
        "      config.kubernetes.io/depends-on: resourcemanager.cnrm.cloud.google.com/namespaces/ns/Folder/dev\n",
        "      team: x\n",
    ] {
        assert!(out.contains(wanted), "{wanted} in\n{out}");
    }
    assert_eq!(out.matches("local-config").count(), 1, "only the hierarchy's own: {out}");
    assert!(!out.contains("older Resource"), "{out}");
}

#[test]
fn the_older_forms_name_parents_in_annotations_and_are_told_so() {
    let (out, code) = call(V2, "", "{parentRef: {kind: Folder, external: f1}, config: [{A: [b]}]}");
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("      cnrm.cloud.google.com/folder-ref: f1\n"), "{out}");
    assert!(out.contains("      cnrm.cloud.google.com/folder-ref: a\n"), "{out}");
    assert!(out.contains("older Resource Hierarchy GroupVersion"), "{out}");
    let (out, code) = call(V1, "", "{organization: o, layers: [e, t], config: {e: [Dev, Prod], t: [x]}}");
    assert_eq!(code, 0, "{out}");
    assert_eq!(names(&out), ["dev", "dev.x", "prod", "prod.x"], "{out}");
    assert!(out.contains("      cnrm.cloud.google.com/organization-id: o\n"), "{out}");
}

#[test]
fn what_is_wrong_is_told_with_its_field() {
    let deep = "{parentRef: {external: o}, config: [{$subtree: a}], subtrees: {a: [{x: {$subtree: a}}]}}";
    let wide = "{parentRef: {external: o}, config: [{$subtree: a}], subtrees: {a: [{$subtree: b}, {$subtree: b}, {$subtree: b}, {$subtree: b}, {$subtree: b}, {$subtree: b}, {$subtree: b}, {$subtree: b}, {$subtree: b}, {$subtree: b}], b: [{$subtree: c}, {$subtree: c}, {$subtree: c}, {$subtree: c}, {$subtree: c}, {$subtree: c}, {$subtree: c}, {$subtree: c}, {$subtree: c}, {$subtree: c}], c: [{$subtree: d}, {$subtree: d}, {$subtree: d}, {$subtree: d}, {$subtree: d}, {$subtree: d}, {$subtree: d}, {$subtree: d}, {$subtree: d}, {$subtree: d}], d: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}}";
    for (version, spec, message) in [
        (V3, "{config: [a]}", "`spec.parentRef.external` must name"),
        (V3, "{parentRef: {kind: Project, external: a}, config: [a]}", "`spec.parentRef.kind` is `Project`"),
        (V3, "{parentRef: {external: a}}", "`spec.config` must hold the folders"),
        (V3, "{parentRef: {external: a}, config: [{$subtree: no}]}", "refers to the subtree `no`"),
        (V3, "{parentRef: {external: a}, config: [a, A]}", "two folders of the hierarchy would be called `a`"),
        (V3, "{parentRef: {external: a}, config: ['\"']}", "has no letter or digit"),
        (V3, "{parentRef: {external: a}, config: {b: c}}", "`spec.config` must be a list of folders"),
        (V3, "{parentRef: {external: a}, config: [[b]]}", "`spec.config[0]` must be the name of a folder"),
        (V3, deep, "nested more than 32 deep"),
        (V3, wide, "more than 10000 folders"),
        (V1, "{layers: [a]}", "`spec.organization` must name"),
        (V1, "{organization: o}", "`spec.layers` must be the list"),
        (V1, "{organization: o, layers: [a], config: {}}", "`spec.config.a` must list the folders"),
    ] {
        let (out, code) = call(version, "", spec);
        assert_eq!(code, 1, "{spec}: {out}");
        assert!(out.contains(message), "{message}: {out}");
        assert!(names(&out).is_empty(), "{out}");
    }
}

#[test]
fn a_second_run_changes_nothing() {
    let (once, _) = call(V3, "", "{parentRef: {external: o}, config: [a, {b: [c]}]}");
    let twice = run(&crate::function(), once.as_bytes());
    assert_eq!(String::from_utf8(twice.stdout).expect("text"), once);
}

#[test]
fn hierarchies_of_other_groups_are_left_alone() {
    let (out, code) = call("acme.example/v1", "", "{}");
    assert_eq!(code, 0, "{out}");
    assert!(names(&out).is_empty(), "{out}");
}

//! The rules of the README, each on a small list.

use portico_fn::run;

fn set(items: &str, data: &str) -> (String, u8) {
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data: {data}\n"
    );
    let output = run(&crate::function(), list.as_bytes());
    let text = String::from_utf8(output.stdout).expect("text");
    let items = text.split_once("functionConfig:").map_or(&*text, |(items, _)| items);
    (if output.exit_code == 0 { items.to_owned() } else { text }, output.exit_code)
}

fn done(items: &str) -> String {
    let (out, code) = set(items, "{project-id: foo}");
    assert_eq!(code, 0, "{out}");
    out
}

fn kptfile(path: &str, pipeline: &str) -> String {
    format!(
        "- apiVersion: kpt.dev/v1\n  kind: Kptfile\n  metadata:\n    name: k\n    annotations:\n      internal.config.kubernetes.io/path: {path}\n{pipeline}"
    )
}

const IN_FILE: &str =
    "  pipeline:\n    mutators:\n    - image: gcr.io/kpt-fn/apply-setters:v0.2\n      configPath: setters.yaml\n";

fn setters(path: &str, data: &str) -> String {
    format!(
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: setters\n    annotations:\n      internal.config.kubernetes.io/path: {path}\n  data:\n    other: x\n{data}"
    )
}

#[test]
fn a_step_with_its_own_setters_gets_the_missing_one() {
    let pipeline = "  pipeline:\n    mutators:\n    - image: apply-setters\n      configMap:\n        a: b\n";
    let out = done(&kptfile("Kptfile", pipeline));
    assert!(out.contains("        a: b\n        project-id: foo\n"), "{out}");
    let out = done(&kptfile("Kptfile", &format!("{pipeline}        project-id: mine\n")));
    assert!(out.contains("        project-id: mine\n") && !out.contains("foo"), "{out}");
    let out = done(&kptfile("Kptfile", &format!("{pipeline}        project-id: ''\n")));
    assert!(out.contains("        project-id: foo\n"), "{out}");
}

#[test]
fn a_file_of_setters_is_found_beside_its_kptfile() {
    let out = done(&format!("{}{}", kptfile("Kptfile", IN_FILE), setters("setters.yaml", "")));
    assert!(out.contains("    other: x\n    project-id: foo\n"), "{out}");
    let both = format!(
        "{}{}{}",
        kptfile("sub/Kptfile", IN_FILE),
        setters("setters.yaml", ""),
        setters("sub/setters.yaml", "")
    );
    let out = done(&both);
    assert_eq!(out.matches("project-id: foo").count(), 1, "{out}");
    let place = out.find("path: sub/setters.yaml").expect("there");
    assert!(out[place..].contains("project-id: foo"), "{out}");
}

#[test]
fn a_pipeline_without_setters_gets_the_step() {
    let step = "    - image: gcr.io/kpt-fn/apply-setters:v0.2\n      configMap:\n        project-id: foo\n";
    for pipeline in
        ["", "  pipeline: {}\n", "  pipeline:\n    mutators: []\n", "  pipeline:\n    mutators:\n    - image: x\n"]
    {
        let out = done(&kptfile("Kptfile", pipeline));
        assert!(out.contains("gcr.io/kpt-fn/apply-setters:v0.2") && out.contains("project-id: foo"), "{out}");
        assert!(out.ends_with(step) || pipeline.contains("{}"), "{out}");
    }
}

#[test]
fn resources_of_config_connector_get_the_annotation_unless_they_have_it() {
    let bucket = |api: &str, rest: &str| format!("- apiVersion: {api}\n  kind: A\n  metadata:\n    name: b\n{rest}");
    let count = |item: &str| {
        done(&format!("{}{item}", kptfile("Kptfile", ""))).matches("cnrm.cloud.google.com/project-id: foo\n").count()
    };
    assert_eq!(count(&bucket("storage.cnrm.cloud.google.com/v1beta1", "")), 1);
    assert_eq!(count(&bucket("storage.cnrm.cloud.google.com/v1beta1", "    annotations: {}\n")), 1);
    assert_eq!(
        count(&bucket(
            "storage.cnrm.cloud.google.com/v1beta1",
            "    annotations:\n      cnrm.cloud.google.com/project-id: x\n"
        )),
        0
    );
    assert_eq!(count(&bucket("core.cnrm.cloud.google.com/v1beta1", "")), 0);
    assert_eq!(count(&bucket("a.b.cnrm.cloud.google.com/v1beta1", "")), 0);
    assert_eq!(count(&bucket("v1", "")), 0);
}

#[test]
fn what_is_missing_is_told() {
    let empty = "  pipeline:\n    mutators:\n    - image: apply-setters\n";
    for (items, data, message) in [
        (kptfile("Kptfile", ""), "{}", "`data.project-id` must name the project"),
        (
            setters("setters.yaml", ""),
            "{project-id: foo}",
            "failed to set project-id setter: failed to find Kptfile: unable to find Kptfile, please include --include-meta-resources flag if a Kptfile is present",
        ),
        (kptfile("sub/Kptfile", IN_FILE), "{project-id: foo}", "no object of the package is in `sub/setters.yaml`"),
        (kptfile("Kptfile", empty), "{project-id: foo}", "neither a `configMap` nor a `configPath`"),
        (kptfile("Kptfile", "  pipeline:\n    mutators: x\n"), "{project-id: foo}", "`pipeline.mutators` is a string"),
    ] {
        let (out, code) = set(&items, data);
        assert_eq!(code, 1, "{out}");
        let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(message), "{out}");
    }
}

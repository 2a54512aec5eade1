//! The rules of the README, each on a small list.

use portico_fn::run;

const ITEM: &str = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: m\n    annotations:\n      a.io/x: \"1\" # why\n      b: two\n      internal.config.kubernetes.io/path: f.yaml\n";

fn delete(items: &str, config: &str) -> (String, u8) {
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}{config}");
    let output = run(&crate::function(), list.as_bytes());
    (String::from_utf8(output.stdout).expect("text"), output.exit_code)
}

fn keys(keys: &str) -> String {
    format!(
        "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data:\n    annotationKeys: {keys}\n"
    )
}

#[test]
fn the_named_annotations_go_and_each_is_reported() {
    let (out, code) = delete(ITEM, &keys("a.io/x, b,gone"));
    assert_eq!(code, 0);
    let items = out.split_once("functionConfig").expect("config").0;
    assert!(items.contains("    annotations:\n      internal.config.kubernetes.io/path: f.yaml\n"), "{out}");
    let results = "- message: The provided annotations were deleted from 1 resource(s)\n  severity: info\n- message: 'Annonation: [a.io/x] removed from resource: [m]'\n  severity: info\n  file:\n    path: f.yaml\n- message: 'Annonation: [b] removed from resource: [m]'\n";
    assert!(out.contains(results), "{out}");
}

#[test]
fn an_empty_mapping_goes_with_its_last_annotation() {
    let item =
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: m\n    annotations:\n      b: two\n  data: {}\n";
    let (out, _) = delete(item, &keys("b"));
    assert!(out.contains("    name: m\n  data: {}\n"), "{out}");
}

#[test]
fn nothing_to_delete_is_told() {
    let (out, code) = delete(ITEM, &keys("c"));
    assert_eq!(code, 0);
    assert!(
        out.contains("message: None of the resources had the provided annotations to delete\n  severity: info"),
        "{out}"
    );
}

#[test]
fn no_key_is_an_error() {
    for config in [String::new(), keys("''"), keys("' , '")] {
        let (out, code) = delete(ITEM, &config);
        assert_eq!(code, 1);
        assert!(out.contains("`data.annotationKeys` must name the annotations to delete"), "{out}");
    }
}

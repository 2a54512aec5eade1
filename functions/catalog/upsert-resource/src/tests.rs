//! The rules of the README, each on a small list.

use portico_fn::run;

fn upsert(items: &str, config: &str) -> (String, u8) {
    let config: String = config.lines().flat_map(|line| ["  ", line, "\n"]).collect();
    let config = if config.is_empty() { config } else { format!("functionConfig:\n{config}") };
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}{config}");
    let output = run(&crate::function(), list.as_bytes());
    let text = String::from_utf8(output.stdout).expect("text");
    let items = text.split_once("items:").map_or(&*text, |(_, items)| items);
    (items.split_once("functionConfig:").map_or(items, |(items, _)| items).to_owned(), output.exit_code)
}

const SERVICE: &str = "\
- apiVersion: v1
  kind: Service
  metadata:
    name: front
    namespace: shop
    labels: {old: label}
    annotations:
      internal.config.kubernetes.io/path: s.yaml
      internal.config.kubernetes.io/index: '1'
  spec:
    selector:
      app: foo
";
const NEW: &str = "apiVersion: v1\nkind: Service\nmetadata:\n  name: front\n  namespace: shop\n  annotations:\n    a.io/b: c\n    internal.config.kubernetes.io/path: config.yaml\nspec:\n  selector:\n    app: bar # new\n";

#[test]
fn an_object_that_is_there_is_replaced_at_its_place() {
    let (out, code) = upsert(SERVICE, NEW);
    assert_eq!(code, 0);
    assert_eq!(out.matches("kind: Service").count(), 1, "{out}");
    assert!(out.contains("a.io/b: c\n") && out.contains("path: 's.yaml'\n") && out.contains("index: '1'\n"), "{out}");
    assert!(out.contains("      app: bar # new\n") && !out.contains("old: label"), "{out}");
}

#[test]
fn versions_do_not_tell_objects_apart_but_the_other_parts_do() {
    let (out, _) = upsert(SERVICE, &NEW.replace("apiVersion: v1", "apiVersion: v2"));
    assert_eq!(out.matches("kind: Service").count(), 1, "{out}");
    for (from, to) in
        [("apiVersion: v1", "apiVersion: x/v1"), ("front", "back"), ("shop", "bank"), ("Service", "Other")]
    {
        let (out, _) = upsert(SERVICE, &NEW.replace(from, to));
        assert!(out.contains("app: foo") && out.contains("app: bar"), "{out}");
        assert!(!out.contains("config.yaml"), "{out}");
    }
}

#[test]
fn a_target_path_places_a_new_object_and_chooses_between_old_ones() {
    let config = NEW.replace("a.io/b: c", "config.kubernetes.io/target-path: sub/x.yaml");
    let (out, _) = upsert(SERVICE, &config);
    assert!(out.contains("app: foo") && out.contains("path: 'sub/x.yaml'"), "{out}");
    assert!(!out.contains("target-path"), "{out}");
    let (out, _) = upsert(SERVICE, &config.replace("sub/x.yaml", "s.yaml"));
    assert!(!out.contains("app: foo") && !out.contains("target-path"), "{out}");
}

#[test]
fn descriptions_of_functions_are_never_replaced() {
    for key in ["config.kubernetes.io/function", "config.k8s.io/function"] {
        let item = SERVICE.replace("internal.config.kubernetes.io/index: '1'", &format!("{key}: x"));
        let (out, _) = upsert(&item, NEW);
        assert_eq!(out.matches("kind: Service").count(), 2, "{out}");
    }
}

#[test]
fn a_list_holds_several_objects() {
    let items: String = NEW.lines().flat_map(|line| ["  ", line, "\n"]).collect();
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {}{}",
        items.trim_start(),
        "- apiVersion: v1\n  kind: Secret\n  metadata: &m\n    name: s\n- apiVersion: v1\n  kind: Pod\n  metadata: *m\n"
    );
    let (out, code) = upsert(SERVICE, &list);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("app: bar") && !out.contains("app: foo"), "{out}");
    assert_eq!(out.matches("    name: s\n").count(), 2, "{out}");
}

#[test]
fn what_is_no_object_is_refused() {
    for (config, message) in [
        ("", "must be the object to add or replace"),
        ("a: b\n", "must be the object to add or replace"),
        ("apiVersion: v1\nkind: List\n", "without the list `items`"),
        ("apiVersion: v1\nkind: List\nitems:\n- a\n", "`items[0]` of the configuration is no object"),
    ] {
        let list = if config.is_empty() { String::new() } else { config.to_owned() };
        let input = format!(
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n{}",
            if list.is_empty() {
                list
            } else {
                format!("functionConfig:\n  {}\n", list.trim_end().replace('\n', "\n  "))
            }
        );
        let output = run(&crate::function(), input.as_bytes());
        let text = String::from_utf8(output.stdout).expect("text");
        assert_eq!(output.exit_code, 1, "{text}");
        assert!(text.contains(message), "{text}");
    }
}

//! The rules of the README, each on a small list.

use portico_fn::run;

fn remove(values: &[&str]) -> String {
    let items: String = values
        .iter()
        .enumerate()
        .map(|(n, value)| {
            format!(
                "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: m{n}\n    annotations:\n      config.kubernetes.io/local-config: {value}\n      internal.config.kubernetes.io/path: f.yaml\n      internal.config.kubernetes.io/index: '{n}'\n"
            )
        })
        .collect::<Vec<_>>()
        .concat();
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}");
    let output = run(&crate::function(), list.as_bytes());
    assert_eq!((output.exit_code, output.stderr.as_str()), (0, ""));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn only_true_removes_in_any_case() {
    let out = remove(&["\"true\"", "\"TRUE\"", "\"false\"", "\"yes\"", "\"\"", "true"]);
    assert_eq!(out.matches("kind: ConfigMap").count(), 3, "{out}");
    let results = "\
results:
- message: 'Number of resources pruned: 3'
  severity: info
- message: 'Resource name: [m0]'
  severity: info
  file:
    path: f.yaml
";
    assert!(out.contains(results), "{out}");
}

#[test]
fn nothing_to_remove_is_a_warning() {
    let out = remove(&["\"false\""]);
    let message = "- message: Found no resources to prune with the local config annotation\n  severity: warning\n";
    assert!(out.contains(message), "{out}");
}

//! The rules of the README, each on a small list.

use portico_fn::run;

fn set(items: &str, data: &str) -> (String, u8) {
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data: {data}\n"
    );
    let output = run(&crate::function(), list.as_bytes());
    (String::from_utf8(output.stdout).expect("text"), output.exit_code)
}

const POLICY: &str = "- apiVersion: constraints.gatekeeper.sh/v1beta1\n  kind: K8sNoRoot\n  metadata:\n    name: p\n    annotations:\n      internal.config.kubernetes.io/path: f.yaml\n      internal.config.kubernetes.io/index: '1'\n  spec:\n    enforcementAction: deny # hard\n    parameters: {}\n";

#[test]
fn constraints_get_the_action() {
    let other = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: p\n";
    let bare = "- apiVersion: constraints.gatekeeper.sh/v1beta1\n  kind: K8sX\n  metadata:\n    name: q\n";
    let (out, code) = set(&format!("{POLICY}{other}{bare}"), "{enforcementAction: dryrun}");
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("    enforcementAction: dryrun # hard\n    parameters: {}\n"), "{out}");
    assert!(out.contains("    name: q\n  spec:\n    enforcementAction: dryrun\n"), "{out}");
    let results = "- message: 'Number of policies set to [dryrun]: 2'\n  severity: info\n- message: 'Policy name: [p]'\n  severity: info\n  file:\n    path: f.yaml\n- message: 'Policy name: [q]'\n  severity: info\n";
    assert!(out.contains(results), "{out}");
}

#[test]
fn no_constraint_is_a_warning() {
    let (out, code) =
        set("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: p\n", "{enforcementAction: warn}");
    assert_eq!(code, 0);
    assert!(out.contains("- message: Found no policy to set to [warn]\n  severity: warning\n"), "{out}");
}

#[test]
fn another_configuration_is_refused() {
    let one = "failed to process policies: expecting exactly 1 enforcementAction as part of the ConfigMap";
    let known = "failed to process policies: expected values for enforcementAction are [deny] or [warn] or [dryrun]";
    for (data, message) in [
        ("{}", one),
        ("{enforcementAction: deny, x: y}", one),
        ("{action: deny}", one),
        ("{enforcementAction: allow}", known),
        ("[a]", "`data` is a list"),
    ] {
        let (out, code) = set(POLICY, data);
        assert_eq!(code, 1);
        assert!(out.contains(message), "{out}");
        assert!(out.contains("deny # hard"), "{out}");
    }
}

#[test]
fn a_spec_of_the_wrong_form_is_an_error_and_the_others_go_on() {
    let bad = "- apiVersion: constraints.gatekeeper.sh/v1beta1\n  kind: A\n  metadata:\n    name: b\n  spec: x\n";
    let (out, code) = set(&format!("{bad}{POLICY}"), "{enforcementAction: warn}");
    assert_eq!(code, 1);
    assert!(
        out.contains("`spec` is a string, expected a mapping") && out.contains("enforcementAction: warn # hard"),
        "{out}"
    );
}

use portico_fn::{ResourceRef, ResultFile};

use super::{MAP, MAPS, NEVER, constraint, failure, list, run, template};

const BANNED: &str = "violation[{\"msg\": sprintf(\"%v\", [val])}] {
  keys = {key | input.review.object.data[key]}
  banned = {key | input.parameters.keys[_] = key}
  overlap = keys & banned
  count(overlap) > 0
  val := sprintf(\"The following banned keys are being used in the ConfigMap: %v\", [overlap])
}";

fn banned(action: &str) -> String {
    let kinds = "match: {kinds: [{apiGroups: [''], kinds: [ConfigMap]}]}";
    constraint(&format!("{{{action}{kinds}, parameters: {{keys: [private_key]}}}}"))
}

const SECRET: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: super-secret
  namespace: default
  annotations:
    internal.config.kubernetes.io/path: config-map.yaml
    internal.config.kubernetes.io/index: '0'
data:
  private_key: sensitive data goes here
";

#[test]
fn a_violation_names_object_file_and_constraint() {
    let (results, exit_code) = run(&[SECRET, &template(BANNED), &banned("")]);
    assert_eq!((results.len(), exit_code), (1, 1));
    let result = &results[0];
    assert_eq!(
        result.message,
        "The following banned keys are being used in the ConfigMap: {\"private_key\"}\nviolatedConstraint: rule"
    );
    assert_eq!(result.severity.as_deref(), Some("error"));
    assert_eq!(
        result.resource_ref,
        Some(ResourceRef {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            name: "super-secret".to_owned(),
            namespace: "default".to_owned(),
        })
    );
    assert_eq!(result.file, Some(ResultFile { path: "config-map.yaml".to_owned(), index: 0 }));
}

#[test]
fn the_enforcement_action_is_the_severity_and_only_errors_fail() {
    for (action, severity, exit_code) in [
        ("enforcementAction: dryrun, ", "info", 0),
        ("enforcementAction: warn, ", "warning", 0),
        ("enforcementAction: deny, ", "error", 1),
        ("enforcementAction: other, ", "error", 1),
        ("", "error", 1),
    ] {
        let (results, code) = run(&[SECRET, &template(BANNED), &banned(action)]);
        assert_eq!((results[0].severity.as_deref(), code), (Some(severity), exit_code), "{action}");
    }
}

#[test]
fn scoped_actions_count_where_they_reach_this_function() {
    let with = |actions: &str| {
        let scoped = format!("enforcementAction: scoped, scopedEnforcementActions: [{actions}], ");
        run(&[SECRET, &template(BANNED), &banned(&scoped)])
    };
    let (results, code) = with(
        "{action: warn, enforcementPoints: [{name: gator.gatekeeper.sh}]}, {action: deny, enforcementPoints: [{name: \
         audit.gatekeeper.sh}]}",
    );
    assert_eq!((results.len(), results[0].severity.as_deref(), code), (1, Some("warning"), 0));
    assert_eq!(with("{action: deny, enforcementPoints: [{name: audit.gatekeeper.sh}]}").0, []);
}

#[test]
fn a_package_without_violations_is_given_back_without_results() {
    let input = list(&[MAP, &template(BANNED), &banned("")]);
    let output = crate::program(input.clone().into_bytes());
    assert_eq!((output.exit_code, &*output.stderr), (0, ""));
    assert!(!String::from_utf8(output.stdout).unwrap().contains("results"));
    assert_eq!(crate::program(list(&[MAP]).into_bytes()).exit_code, 0);
}

#[test]
fn stderr_repeats_the_errors_in_blocks() {
    let second = SECRET.replace("super-secret", "other").replace("'0'", "'1'");
    let output = crate::program(list(&[&second, SECRET, &template(BANNED), &banned("")]).into_bytes());
    let block = |name| {
        format!(
            "[error] v1/ConfigMap/default/{name} : The following banned keys are being used in the ConfigMap: \
             {{\"private_key\"}}\nviolatedConstraint: rule\n"
        )
    };
    assert_eq!(output.stderr, format!("{}\n{}", block("super-secret"), block("other")));
    let output = crate::program(list(&[MAP, &constraint(MAPS)]).into_bytes());
    assert!(output.stderr.starts_with("[error] : constraint `Policy/rule` has no ConstraintTemplate"), "{output:?}");
}

#[test]
fn a_template_of_every_version_works() {
    for version in ["v1", "v1beta1", "v1alpha1"] {
        let template = template(NEVER).replace("sh/v1", &format!("sh/{version}"));
        assert_eq!(run(&[MAP, &template, &constraint(MAPS)]).1, 1, "{version}");
    }
}

#[test]
fn a_malformed_template_is_told_with_its_field() {
    let fails = |from: &str, to: &str| failure(&[&template(NEVER).replace(from, to), &constraint(MAPS), MAP]);
    assert_eq!(
        fails("name: policy", "name: other"),
        "ConstraintTemplate `other`: its name must be the lower-case form of `spec.crd.spec.names.kind`, which is \
         `policy`"
    );
    assert!(fails("admission.k8s", "audit.k8s").contains("`spec.targets[0].target` must be"));
    assert!(
        fails("rego: |", "code: [{engine: K8sNativeValidation}]\n    x: |").contains("engine `K8sNativeValidation`")
    );
    assert!(fails("violation[", "deny[").ends_with("`rego` has no rule `violation`"));
    let text = fails("m := input", "m := := input");
    assert!(text.contains("`rego` is no valid Rego") && text.contains("rego:2:"), "{text}");
}

#[test]
fn two_templates_for_a_kind_and_a_constraint_without_template_are_errors() {
    let twice = failure(&[&template(NEVER), &template(NEVER), MAP]);
    assert!(twice.contains("both define kind `Policy`"), "{twice}");
    let none = failure(&[&template(NEVER), &constraint(MAPS).replace("kind: Policy", "kind: Pollicy")]);
    assert!(
        none.ends_with("add the template that defines kind `Pollicy` to the package (it defines Policy)"),
        "{none}"
    );
}

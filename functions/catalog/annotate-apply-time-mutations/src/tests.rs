//! The rules of the README, each on a small list.

use portico_fn::run;

fn call(items: &str) -> (String, u8) {
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}");
    let output = run(&crate::function(), list.as_bytes());
    (String::from_utf8(output.stdout).expect("text"), output.exit_code)
}

fn policy(member: &str) -> String {
    format!(
        "- apiVersion: iam.x.com/v1\n  kind: Member\n  metadata:\n    name: m\n    namespace: ns\n  spec:\n    list:\n    - member: {member}\n"
    )
}

const REF: &str = "${rm.x.com/namespaces/ns/Project/p:$.status.number}";

#[test]
fn a_comment_that_is_one_reference_replaces_the_whole_field() {
    let (out, code) = call(&policy(&format!("x # apply-time-mutation: {REF}")));
    assert_eq!(code, 0, "{out}");
    let wanted = "      config.kubernetes.io/apply-time-mutation: |\n        - sourcePath: $.status.number\n          sourceRef:\n            group: rm.x.com\n            kind: Project\n            name: p\n            namespace: ns\n          targetPath: $.spec.list[0].member\n";
    assert!(out.contains(wanted), "{out}");
    assert!(out.contains("    - member: x # apply-time-mutation"), "{out}");
    assert!(out.contains("currentValue: x") && out.contains("path: $.spec.list[0].member"), "{out}");
}

#[test]
fn a_pattern_becomes_the_value_with_a_token_for_each_reference() {
    let comment = format!("x # apply-time-mutation: a-{REF}-b-${{/v1/ConfigMap/c:$.data.k}}");
    let (out, code) = call(&policy(&comment));
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("    - member: a-${ref0}-b-${ref1} # apply"), "{out}");
    assert!(out.contains("token: ${ref0}") && out.contains("token: ${ref1}"), "{out}");
    assert!(out.contains("apiVersion: v1\n"), "{out}");
    let (again, _) =
        call(out.split_once("items:\n").and_then(|(_, rest)| rest.split_once("results:")).expect("list").0);
    assert_eq!(again.matches("sourcePath").count(), 2, "a second run adds nothing: {again}");
}

#[test]
fn an_object_names_target_and_sources() {
    let mutation = |target: &str, rest: &str| {
        format!(
            "{}- apiVersion: fn.kpt.dev/v1alpha1\n  kind: ApplyTimeMutation\n  metadata:\n    name: t\n  spec:\n    targetRef: {target}\n    substitutions: {rest}\n",
            policy("x")
        )
    };
    let good = "[{sourceRef: {kind: Project, name: p}, sourcePath: $.a, targetPath: $.b, token: '${t}'}]";
    let target = "{group: iam.x.com, kind: Member, name: m, namespace: ns}";
    let (out, code) = call(&mutation(target, good));
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("          targetPath: $.b\n          token: ${t}\n"), "{out}");
    for (target, rest, message) in [
        ("{group: iam.x.com, kind: Member, name: other, namespace: ns}", good, "the package has no object"),
        (target, "[]", "`spec.substitutions` must hold at least one"),
        (
            target,
            "[{sourceRef: {name: p}, sourcePath: $.a, targetPath: $.b}]",
            "`spec.substitutions[0].sourceRef.kind` is missing",
        ),
        (target, "[{sourceRef: {kind: a, name: p}, sourcePath: a, targetPath: $.b}]", "must be a JSONPath"),
        (target, "[{sourceRef: {kind: a, name: p}, sourcePath: $.a}]", "targetPath"),
        ("{name: m}", good, "`spec.targetRef.kind` is missing"),
    ] {
        let (out, code) = call(&mutation(target, rest));
        assert_eq!(code, 1, "{out}");
        assert!(out.contains(message), "{message}: {out}");
    }
}

#[test]
fn comments_that_cannot_be_read_say_what_is_wrong() {
    for (comment, message) in [
        ("plain", "names no source"),
        ("${a", "without the `}` that ends it"),
        ("${g/K/n}", "without a path"),
        ("${g:$.a}", "is not of the form"),
        ("${g/K/:$.a}", "without a kind or a name"),
    ] {
        let (out, code) = call(&policy(&format!("x # apply-time-mutation: {comment}")));
        assert_eq!(code, 1, "{out}");
        assert!(out.contains(message), "{message}: {out}");
        assert!(!out.contains("config.kubernetes.io/apply-time"), "{out}");
    }
}

#[test]
fn an_annotation_that_is_no_list_is_told() {
    let item = policy(&format!("x # apply-time-mutation: {REF}")).replace(
        "    namespace: ns\n  spec",
        "    namespace: ns\n    annotations: {config.kubernetes.io/apply-time-mutation: x}\n  spec",
    );
    let (out, code) = call(&item);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("is no list of substitutions"), "{out}");
}

#[test]
fn keys_that_are_no_words_stand_in_brackets() {
    let item = format!(
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: m\n  data:\n    a.b: x # apply-time-mutation: {REF}\n"
    );
    let (out, code) = call(&item);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("targetPath: $.data[\"a.b\"]"), "{out}");
}

//! The rules of the README, each on a small list.

use portico_fn::run;

const CONTEXT: &str = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: kptfile.kpt.dev\n    annotations:\n      config.kubernetes.io/local-config: \"true\"\n  data:\n    name: shop\n";

fn prefix(items: &str, data: &str) -> (String, u8) {
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data: {data}\n"
    );
    let output = run(&crate::function(), list.as_bytes());
    (String::from_utf8(output.stdout).expect("text"), output.exit_code)
}

fn done(items: &str, data: &str) -> String {
    let (out, code) = prefix(&format!("{CONTEXT}{items}"), data);
    assert_eq!(code, 0, "{out}");
    out
}

fn item(api_version: &str, kind: &str, name: &str, rest: &str) -> String {
    format!("- apiVersion: {api_version}\n  kind: {kind}\n  metadata:\n    name: {name}\n{rest}")
}

#[test]
fn names_with_the_old_prefix_get_the_name_of_the_package() {
    let out = done(
        &[
            item("v1", "ConfigMap", "packagename # c", ""),
            item("v1", "ConfigMap", "packagename-a", ""),
            item("v1", "ConfigMap", "packagenames", ""),
            item("kpt.dev/v1alpha1", "ResourceGroup", "packagename", ""),
            item(
                "v1",
                "Secret",
                "packagename",
                "    annotations:\n      config.kubernetes.io/local-config: \"true\"\n",
            ),
        ]
        .concat(),
        "{}",
    );
    assert!(
        out.contains("name: shop # c\n") && out.contains("name: shop-a\n") && out.contains("name: packagenames\n"),
        "{out}"
    );
    assert_eq!(out.matches("name: packagename\n").count(), 2, "{out}");
}

#[test]
fn the_configuration_can_say_both_prefixes() {
    let out = done(&item("v1", "ConfigMap", "old-a", ""), "{prefix: new, oldPrefix: old}");
    assert!(out.contains("name: new-a\n"), "{out}");
}

#[test]
fn references_follow_by_group_kind_and_namespace() {
    let namespace = item("v1", "Namespace", "packagename", "");
    let out = done(&format!("{namespace}{}", item("v1", "ConfigMap", "a", "    namespace: packagename # n\n")), "{}");
    assert!(out.contains("    namespace: shop # n\n"), "{out}");
    let account = item("v1", "ServiceAccount", "packagename-sa", "    namespace: n\n");
    let binding = item(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        "b",
        "    namespace: n\n  roleRef:\n    apiGroup: rbac.authorization.k8s.io\n    kind: Role\n    name: packagename-role\n  subjects:\n  - kind: ServiceAccount\n    name: packagename-sa\n  - kind: ServiceAccount\n    name: packagename-sa\n    namespace: far\n",
    );
    let role = item("rbac.authorization.k8s.io/v1", "Role", "packagename-role", "    namespace: n\n");
    let out = done(&format!("{account}{binding}{role}"), "{}");
    assert!(out.contains("    kind: Role\n    name: shop-role\n"), "{out}");
    assert!(
        out.contains("  - kind: ServiceAccount\n    name: shop-sa\n")
            && out.contains("    name: packagename-sa\n    namespace: far\n"),
        "{out}"
    );
}

#[test]
fn references_of_config_connector_need_no_kind_and_may_be_external() {
    let project = item("resourcemanager.cnrm.cloud.google.com/v1beta1", "Project", "packagename", "");
    let service = |reference: &str| {
        item(
            "serviceusage.cnrm.cloud.google.com/v1beta1",
            "Service",
            "s",
            &format!("  spec:\n    projectRef: {reference}\n"),
        )
    };
    let out = done(&format!("{project}{}", service("{name: packagename}")), "{}");
    assert!(out.contains("projectRef: {name: shop}"), "{out}");
    let out = done(&format!("{project}{}", service("{name: packagename, external: x}")), "{}");
    assert!(out.contains("projectRef: {name: packagename, external: x}"), "{out}");
}

#[test]
fn a_package_context_that_says_nothing_is_refused() {
    let item = item("v1", "ConfigMap", "packagename", "");
    for (items, message) in [
        (item.clone(), "unable to find package context object"),
        (format!("{CONTEXT}{CONTEXT}"), "found multiple matches for package-context object"),
        (
            CONTEXT.replace("    name: shop\n", "    x: y\n"),
            "package name (data.name) not set in package context object",
        ),
        (format!("{CONTEXT}{item}{item}"), "multiple matches for object ConfigMap /packagename"),
    ] {
        let (out, code) = prefix(&items, "{}");
        assert_eq!(code, 1);
        assert!(out.contains(message), "{out}");
    }
    let (out, _) = prefix(CONTEXT, &format!("{{prefix: {}}}", "a".repeat(254)));
    assert!(out.contains("must not be longer than 253"), "{out}");
}

//! The rules of the README, each on a small list.

use portico_fn::run;

fn set(name: &str, metadata: &str, spec: &str) -> String {
    format!(
        "- apiVersion: blueprints.cloud.google.com/v1alpha1\n  kind: ProjectServiceSet\n  metadata:\n    name: {name}\n{metadata}  spec: {spec}\n"
    )
}

fn service(name: &str, owner: &str) -> String {
    format!(
        "- apiVersion: serviceusage.cnrm.cloud.google.com/v1beta1\n  kind: Service\n  metadata:\n    name: {name}\n    annotations:\n      blueprints.cloud.google.com/ownerReference: blueprints.cloud.google.com/ProjectServiceSet/{owner}\n"
    )
}

fn call(items: &str) -> (String, u8) {
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}");
    let output = run(&crate::function(), list.as_bytes());
    (String::from_utf8(output.stdout).expect("text"), output.exit_code)
}

#[test]
fn each_service_becomes_an_object_beside_its_set() {
    let metadata = "    namespace: ns\n    annotations:\n      team: a\n      internal.config.kubernetes.io/path: sub/set.yaml\n      internal.config.kubernetes.io/index: '3'\n";
    let (out, code) = call(&set("s", metadata, "{services: [redis.googleapis.com], projectID: p}"));
    assert_eq!(code, 0, "{out}");
    for wanted in [
        "    name: s-redis\n    namespace: ns\n",
        "      team: 'a'\n      blueprints.cloud.google.com/ownerReference: 'blueprints.cloud.google.com/ProjectServiceSet/s'\n",
        "      internal.config.kubernetes.io/path: 'sub/ns/service_s-redis.yaml'\n",
        "    resourceID: redis.googleapis.com\n    projectRef:\n      external: p\n",
        "message: generated service\n",
        "config.kubernetes.io/local-config: 'true'",
    ] {
        assert!(out.contains(wanted), "{wanted} in\n{out}");
    }
}

#[test]
fn services_that_are_not_wanted_any_more_go() {
    let items = format!(
        "{}{}{}{}",
        set("s", "", "{services: [redis.googleapis.com]}"),
        service("s-redis", "s"),
        service("s-sql", "s"),
        service("other", "t")
    );
    let (out, code) = call(&items);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("recreated service") && out.contains("pruned service"), "{out}");
    assert_eq!(out.matches("name: s-sql").count(), 1, "in the results alone: {out}");
    assert!(out.contains("name: other"), "{out}");
    assert!(!out.contains("projectRef"), "{out}");
}

#[test]
fn sets_of_one_name_do_not_take_each_others_services() {
    let items = format!(
        "{}{}",
        set("s", "    namespace: a\n", "{services: [redis.googleapis.com]}"),
        set("s", "    namespace: b\n", "{services: [redis.googleapis.com]}")
    );
    let (out, _) = call(&items);
    assert_eq!(out.matches("resourceID: redis.googleapis.com").count(), 2, "{out}");
}

#[test]
fn a_set_that_is_wrong_leaves_the_package_as_it_is() {
    for (spec, message) in [
        ("{}", "at least one service must be specified under `spec.services[]`"),
        ("{services: []}", "at least one service must be specified"),
        ("{services: [redis]}", "invalid service specified: redis"),
        ("{services: [{a: b}]}", "invalid service specified: "),
        ("{services: [a..com]}", "invalid service specified: a..com"),
        ("{services: [a.x.com, a.y.com]}", "two services would be called `s-a`"),
    ] {
        let items = format!("{}{}", set("s", "", spec), service("s-old", "s"));
        let (out, code) = call(&items);
        assert_eq!(code, 1, "{out}");
        assert!(out.contains(&format!("failed to add services: {message}")), "{message}: {out}");
        assert!(out.contains("name: s-old") && !out.contains("local-config"), "{out}");
    }
}

#[test]
fn the_same_service_twice_is_one_object() {
    let (out, code) = call(&set("s", "", "{services: [a.x.com, a.x.com]}"));
    assert_eq!((code, out.matches("kind: Service\n  metadata").count()), (0, 1), "{out}");
}

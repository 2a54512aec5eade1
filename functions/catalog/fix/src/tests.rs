//! The rules of the README, each on a small package.

use portico_fn::run_in_order;

fn call(items: &str) -> (String, u8) {
    let list = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}");
    let output = run_in_order(&crate::function(), list.as_bytes());
    (String::from_utf8(output.stdout).expect("text"), output.exit_code)
}

fn kptfile(version: &str, path: &str, rest: &str) -> String {
    format!(
        "- apiVersion: kpt.dev/{version}\n  kind: Kptfile\n  metadata:\n    name: p\n    annotations:\n      internal.config.kubernetes.io/path: {path}\n{rest}"
    )
}

fn object(path: &str, name: &str, annotations: &str, rest: &str) -> String {
    format!(
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: {name}\n    annotations:\n      internal.config.kubernetes.io/path: {path}\n{annotations}{rest}"
    )
}

const OPEN_API: &str = "  packageMetadata:\n    shortDescription: text # why\n    email: a@b.c\n    tags: [x]\n  upstream:\n    type: git\n    git:\n      commit: abc\n      repo: r\n      directory: d\n      ref: v1\n  dependencies: []\n  inventory:\n    name: i\n  openAPI:\n    definitions:\n      io.k8s.cli.setters.image:\n        x-k8s-cli:\n          setter: {name: image, value: nginx}\n      io.k8s.cli.setters.tag:\n        x-k8s-cli:\n          setter: {name: tag, value: small, enumValues: {small: '1'}}\n      io.k8s.cli.setters.list:\n        x-k8s-cli:\n          setter: {name: list, value: '', listValues: [dev, 'a: b']}\n      io.k8s.cli.setters.none:\n        x-k8s-cli:\n          setter: {name: none, value: ''}\n      io.k8s.cli.substitutions.full:\n        x-k8s-cli:\n          substitution:\n            name: full\n            pattern: I:T\n            values:\n            - {marker: I, ref: '#/definitions/io.k8s.cli.setters.image'}\n            - {marker: T, ref: '#/definitions/io.k8s.cli.setters.tag'}\n      io.k8s.cli.substitutions.outer:\n        x-k8s-cli:\n          substitution:\n            pattern: x-F\n            values:\n            - {marker: F, ref: '#/definitions/io.k8s.cli.substitutions.full'}\n";

#[test]
fn the_first_version_is_brought_over_with_setters_and_functions() {
    let items = format!(
        "{}{}{}",
        kptfile("v1alpha1", "Kptfile", OPEN_API),
        object(
            "a.yaml",
            "a",
            "",
            "  data:\n    k: x # {\"$kpt-set\":\"outer\"}\n    l: # {\"$ref\":\"#/definitions/io.k8s.cli.setters.list\"}\n    - dev\n    other: y # {\"$kpt-set\":\"unknown\"}\n    plain: z # {not this}\n"
        ),
        object(
            "fns/f.yaml",
            "labels",
            "      config.kubernetes.io/function: |\n        container:\n          image: gcr.io/kpt-fn/set-labels:v0.1\n",
            "  data:\n    a: b\n"
        )
    );
    let (out, code) = call(&items);
    assert_eq!(code, 0, "{out}");
    for wanted in [
        "- apiVersion: kpt.dev/v1\n",
        "  upstream:\n    type: git\n    git:\n      repo: r\n      directory: d\n      ref: v1\n    updateStrategy: resource-merge\n",
        "  upstreamLock:\n    type: git\n    git:\n      repo: r\n      directory: d\n      ref: v1\n      commit: abc\n",
        "  info:\n    emails:\n    - a@b.c\n    description: text # why\n    keywords: [x]\n",
        "    - image: gcr.io/kpt-fn/apply-setters:v0.2\n      configPath: setters.yaml\n    - image: gcr.io/kpt-fn/set-labels:v0.1\n      configPath: labels.yaml\n",
        "    k: x # kpt-set: x-${image}:${tag}\n",
        "    l: # kpt-set: ${list}\n",
        "    other: y # kpt-set: ${unknown}\n",
        "    plain: z # {not this}\n",
        "    image: nginx\n    list: |\n      - dev\n      - 'a: b'\n    none: \"\"\n    tag: \"1\"\n",
        "      internal.config.kubernetes.io/path: 'setters.yaml'\n",
        "      internal.config.kubernetes.io/path: labels.yaml\n",
        "Removed \"dependencies\"",
    ] {
        assert!(out.contains(wanted), "{wanted} in\n{out}");
    }
    assert!(!out.contains("openAPI:") && !out.contains("packageMetadata:") && !out.contains("io/function"), "{out}");
    let (pipeline, inventory) = (out.find("  pipeline:"), out.find("  inventory:"));
    assert!(pipeline < inventory, "{out}");
    assert!(!out.contains("severity"), "{out}");
}

#[test]
fn setters_of_the_second_version_move_to_a_file_that_is_free() {
    let pipeline = "  pipeline:\n    mutators:\n    - image: gcr.io/kpt-fn/apply-setters:v0.2\n      configMap:\n        z: '[a, b]'\n        a: \"80\"\n";
    let items = format!("{}{}", kptfile("v1alpha2", "sub/Kptfile", pipeline), object("sub/setters.yaml", "x", "", ""));
    let (out, code) = call(&items);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("      configPath: setters-2.yaml\n") && !out.contains("configMap:"), "{out}");
    assert!(out.contains("    a: \"80\"\n    z: |\n      - a\n      - b\n"), "{out}");
    assert!(out.contains("path: 'sub/setters-2.yaml'"), "{out}");
}

#[test]
fn the_newest_version_is_left_alone_and_each_package_has_its_own_setters() {
    let items = format!(
        "{}{}{}{}",
        kptfile("v1", "Kptfile", ""),
        object("a.yaml", "a", "", "  data:\n    k: x # {\"$kpt-set\":\"full\"}\n"),
        kptfile("v1alpha1", "sub/Kptfile", OPEN_API),
        object("sub/deep/a.yaml", "b", "", "  data:\n    k: x # {\"$kpt-set\":\"full\"}\n"),
    );
    let (out, code) = call(&items);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("already fixed"), "{out}");
    assert_eq!(out.matches("# {\"$kpt-set\":\"full\"}").count(), 1, "{out}");
    assert_eq!(out.matches("# kpt-set: ${image}:${tag}").count(), 1, "{out}");
    assert!(out.contains("path: 'sub/setters.yaml'"), "{out}");
}

#[test]
fn what_cannot_be_brought_over_leaves_the_package_as_it_is() {
    let cycle = "  openAPI:\n    definitions:\n      io.k8s.cli.substitutions.a:\n        x-k8s-cli:\n          substitution: {pattern: M, values: [{marker: M, ref: '#/definitions/io.k8s.cli.substitutions.a'}]}\n";
    let bomb = "  openAPI:\n    definitions:\n      io.k8s.cli.substitutions.a:\n        x-k8s-cli:\n          substitution: {pattern: MMMMMMMMMMMMMMMM, values: [{marker: M, ref: io.k8s.cli.substitutions.b}]}\n      io.k8s.cli.substitutions.b:\n        x-k8s-cli:\n          substitution: {pattern: MMMMMMMMMMMMMMMM, values: [{marker: M, ref: io.k8s.cli.substitutions.c}]}\n      io.k8s.cli.substitutions.c:\n        x-k8s-cli:\n          substitution: {pattern: MMMMMMMMMMMMMMMM, values: [{marker: M, ref: io.k8s.cli.setters.x}]}\n";
    let marked = object("a.yaml", "a", "", "  data:\n    k: x # {\"$kpt-set\":\"a\"}\n");
    for (items, message) in [
        (marked.clone(), "Kptfile not found in directory tree"),
        (format!("{}{marked}", kptfile("v1alpha1", "Kptfile", cycle)), "the substitution `a` refers to itself"),
        (format!("{}{marked}", kptfile("v1alpha1", "Kptfile", bomb)), "becomes longer than 4096 bytes"),
        (kptfile("v2", "Kptfile", ""), "unknown apiVersion `kpt.dev/v2`"),
        (kptfile("v1alpha1", "Kptfile", "  upstream: x\n"), "upstream"),
        (kptfile("v1alpha1", "Kptfile", "  openAPI: {definitions: [a]}\n"), "`openAPI.definitions` must be a mapping"),
        (
            kptfile(
                "v1alpha1",
                "Kptfile",
                "  pipeline: {mutators: {a: b}}\n  openAPI: {definitions: {a: {x-k8s-cli: {setter: {name: a}}}}}\n",
            ),
            "mutators",
        ),
    ] {
        let (out, code) = call(&items);
        assert_eq!(code, 1, "{out}");
        assert!(out.contains("failed to fix package: "), "{out}");
        assert!(out.contains(message), "{message}: {out}");
        let rest = out.split_once("items:\n").expect("items").1;
        assert!(rest.starts_with(items.as_str()), "unchanged: {out}");
    }
}

#[test]
fn an_old_inventory_gets_a_hint() {
    let inventory = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: inventory\n    labels: {cli-utils.sigs.k8s.io/inventory-id: x}\n    annotations: {internal.config.kubernetes.io/path: i.yaml}\n";
    let (out, code) = call(&format!("{}{inventory}", kptfile("v1alpha1", "Kptfile", "")));
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("kpt live migrate"), "{out}");
}

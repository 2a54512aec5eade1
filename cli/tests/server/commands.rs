//! `portico push` and `portico logs`.

use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::harness::{LABELS, Package, SERVICE, Server, failing, kptfile, run};

const NAME: &str = "default.web.v1";

fn condition(revision: &Value, kind: &str) -> String {
    let conditions = revision["status"]["conditions"].as_array().unwrap();
    let condition = conditions.iter().find(|condition| condition["type"] == kind).unwrap();
    condition["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_package_is_pushed_rendered_edited_and_read_about() {
    let server = Server::start();
    let package = Package::new(&[
        ("Kptfile", &kptfile(LABELS)),
        ("svc.yaml", SERVICE),
        ("README.md", "about it\n"),
        (".krmignore", "scratch\n"),
        ("scratch/x.yaml", "not: pushed\n"),
    ]);
    symlink("svc.yaml", package.path().join("link.yaml")).unwrap();
    let said = server.run(&["push", &package.arg(), "--wait"]).ended(0);
    let said = said
        .told("made the draft `default.web.v1` in `team-a`")
        .told("[PASS] `default.web.v1` is rendered: 1 step in ");
    said.told("symlink \"link.yaml\" is ignored");
    let resources = server.get("packagerevisionresources", NAME);
    let files: Vec<&String> = resources["spec"]["resources"].as_object().unwrap().keys().collect();
    assert_eq!(files, [".krmignore", "Kptfile", "README.md", "svc.yaml"]);
    assert!(resources["spec"]["resources"]["svc.yaml"].as_str().unwrap().contains("app: web"));

    let text = server.run(&["logs", NAME]).ended(0).out;
    for words in [
        "render ",
        " of team-a/default.web.v1, content version ",
        "step 1 of package default.web.v1: ",
        "set-labels:",
        "  passed in ",
        "  changed v1/Service/web in svc.yaml",
        "+    app: web",
        "succeeded after ",
    ] {
        assert!(text.contains(words), "no `{words}` in: {text}");
    }
    let record: Value = serde_json::from_str(&server.run(&["logs", NAME, "-o", "json"]).ended(0).out).unwrap();
    assert_eq!((&record["kind"], &record["outcome"]), (&"RenderRecord".into(), &"Succeeded".into()));
    let id = record["render"].as_str().unwrap();
    assert_eq!(server.run(&["logs", NAME, "--render", id]).ended(0).out, text);
    assert_eq!(server.run(&["logs", NAME, "--follow"]).ended(0).out, text);
    assert_eq!(server.run(&["logs", NAME, "--tail", "1"]).ended(0).out, format!("{}\n", text.lines().last().unwrap()));

    // It outlives the process.
    let server = server.restarted();
    assert_eq!(server.run(&["logs", NAME]).ended(0).out, text);

    package.write("more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n");
    server.run(&["push", &package.arg(), "--propose"]).ended(0).told("1 new").told("proposed `default.web.v1`");
    assert_eq!(server.get("packagerevisions", NAME)["spec"]["lifecycle"], "Proposed");
    server
        .run(&["push", &package.arg()])
        .ended(1)
        .told("`default.web.v1` is `Proposed`, and only drafts can be changed");
}

#[test]
fn a_render_that_fails_is_said_with_the_step_that_did() {
    let server = Server::start();
    let package = Package::new(&[("Kptfile", &kptfile(&failing("no such \u{1b}[31mport"))), ("svc.yaml", SERVICE)]);
    let said = server.run(&["push", &package.arg(), "--wait"]).ended(1);
    let said = said.told("[FAIL] `default.web.v1` was not rendered (RenderFailed)").told("starlark");
    assert!(said.err.contains("stderr: ") && !said.err.contains('\u{1b}'), "{}", said.err);
    let log = server.run(&["logs", NAME]).ended(0).out;
    assert!(log.contains("  failed in ") && log.contains("failed after ") && !log.contains('\u{1b}'), "{log}");
    let revision = server.get("packagerevisions", NAME);
    assert_eq!(
        (condition(&revision, "RenderFinished").as_str(), condition(&revision, "Rendered").as_str()),
        ("True", "False")
    );
    // A draft that fails can't be proposed, and can be mended.
    server.run(&["push", &package.arg(), "--propose"]).ended(1);
    assert_eq!(server.get("packagerevisions", NAME)["spec"]["lifecycle"], "Draft");
    package.write("Kptfile", &kptfile(LABELS));
    server.run(&["push", &package.arg(), "--wait"]).ended(0);
}

#[test]
fn values_of_secrets_are_in_no_log() {
    let server = Server::start();
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: login\nstringData:\n  password: hunter2 # hunter3\n";
    let package = Package::new(&[("Kptfile", &kptfile(LABELS)), ("secret.yaml", secret)]);
    server.run(&["push", &package.arg(), "--wait"]).ended(0);
    for arguments in [&["logs", NAME][..], &["logs", NAME, "-o", "json"]] {
        let log = server.run(arguments).ended(0).out;
        assert!(log.contains("v1/Secret/login") && log.contains("(redacted)") && !log.contains("hunter"), "{log}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let server = Server::start();
    let package = Package::new(&[("Kptfile", &kptfile("")), ("svc.yaml", SERVICE)]);
    server.run(&["push", &package.arg(), "--wait"]).ended(0);
    package.write("svc.yaml", &SERVICE.replace("80", "81"));
    let said = server.run(&["push", &package.arg(), "--resource-version", "1"]).ended(1);
    said.told("error: conflict: `default.web.v1` has the resource version ");
    let version =
        server.get("packagerevisionresources", NAME)["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    server.run(&["push", &package.arg(), "--resource-version", &version]).ended(0).told("changed) to `default.web.v1`");

    server.run(&["logs", "not-there"]).ended(1).told("\"not-there\" not found");
    server.run(&["logs", NAME, "--render", "00000000"]).ended(1).told("is not kept");
    server.run(&["logs", "../../x"]).ended(1).told("`../../x` can't be a name");
    server.run(&["push", "/nonexistent"]).ended(1).told("cannot open the package");
    let empty = Package::new(&[("a.yaml", "a: b\n")]);
    server.run(&["push", &empty.arg()]).ended(1).told("no Kptfile found");
    std::fs::write(package.path().join("logo.png"), [0x89, 0xff]).unwrap();
    server
        .run(&["push", &package.arg()])
        .ended(1)
        .told("only texts can be pushed; name these in `.krmignore`: `logo.png`");
    run(&["logs", NAME]).ended(1).told("no server is known; give `--server URL` or a kubeconfig");
    run(&["logs", NAME, "--server", "http://127.0.0.1:1"]).ended(1).told("the server can't be reached");
    run(&["logs", NAME, "--server", "http://example.com", "--token", "t"]).ended(1).told("in plain text; use https");
}

#[test]
fn a_kubeconfig_is_read_as_kubectl_reads_it() {
    let server = Server::start();
    let package = Package::new(&[("Kptfile", &kptfile("")), ("svc.yaml", SERVICE)]);
    let config = Package::new(&[(
        "config",
        &format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: here\n  cluster:\n    server: {}\nusers:\n- name: me\n  user: {{}}\ncontexts:\n- name: one\n  context: {{cluster: here, user: me, namespace: from-config}}\ncurrent-context: one\n",
            server.url
        ),
    )]);
    let path = config.path().join("config").to_str().unwrap().to_owned();
    run(&["push", &package.arg(), "first", "--kubeconfig", &path])
        .ended(0)
        .told("made the draft `first` in `from-config`");
    run(&["push", &package.arg(), "second", "--kubeconfig", &path, "--context", "two"]).ended(1).told("two");
}

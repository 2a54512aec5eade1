//! kubectl, as people and scripts use it.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::harness::{PATIENCE, World};

/// kubectl with a configuration and a cache of its own.
struct Kubectl {
    folder: PathBuf,
}

/// What a call said.
#[derive(Debug)]
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Said {
    #[track_caller]
    fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self.out
    }

    #[track_caller]
    fn fails(self) -> String {
        assert_ne!(self.code, 0, "{}", self.out);
        self.err
    }
}

impl Kubectl {
    /// `None`, and a word, where there is no kubectl.
    async fn of(world: &World) -> Option<Self> {
        let found = Command::new("kubectl").args(["version", "--client"]).stdout(Stdio::null()).status().await;
        if !found.is_ok_and(|status| status.success()) {
            eprintln!("skipped: there is no kubectl");
            return None;
        }
        let folder = world.folder.path().to_owned();
        let config = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: c, user: u, \
             namespace: default}}\nclusters:\n- name: c\n  cluster: {{server: '{}'}}\nusers:\n- name: u\n  user: {{}}\n",
            world.url
        );
        std::fs::write(folder.join("config"), config).unwrap();
        Some(Self { folder })
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new("kubectl");
        command.args(arguments.split_whitespace()).current_dir(&self.folder).kill_on_drop(true);
        command.env("KUBECONFIG", self.folder.join("config")).env("HOME", &self.folder).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    async fn run(&self, arguments: &str) -> Said {
        self.feed(arguments, "").await
    }

    async fn feed(&self, arguments: &str, input: &str) -> Said {
        self.finish(self.command(arguments), arguments, input).await
    }

    async fn finish(&self, mut command: Command, arguments: &str, input: &str) -> Said {
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        let done = timeout(PATIENCE, child.wait_with_output()).await;
        let done = done.unwrap_or_else(|_| panic!("`kubectl {arguments}` does not end")).unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Said { code: done.status.code().unwrap_or(-1), out: text(done.stdout), err: text(done.stderr) }
    }

    fn start(&self, arguments: &str) -> Child {
        self.command(arguments).spawn().unwrap()
    }
}

const DRAFT: &str = "\
apiVersion: porch.kpt.dev/v1alpha1
kind: PackageRevision
metadata:
  name: r.web.v1
  labels:
    team: x
spec:
  packageName: web
  repository: r
  workspaceName: v1
";

fn files(greeting: &str) -> String {
    format!(
        "\
apiVersion: porch.kpt.dev/v1alpha1
kind: PackageRevisionResources
metadata:
  name: r.web.v1
spec:
  resources:
    Kptfile: |
      apiVersion: kpt.dev/v1
      kind: Kptfile
      metadata:
        name: web
      pipeline:
        mutators:
          - image: ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0
            configMap:
              team: x
    a.yaml: |
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: a
      data:
        greeting: {greeting}
"
    )
}

/// From the first draft to the published one.
#[tokio::test(flavor = "multi_thread")]
async fn a_revision_from_its_draft_to_its_publication() {
    let world = World::embedded().await;
    let Some(kubectl) = Kubectl::of(&world).await else { return };
    assert!(kubectl.run("get packagerevisions").await.err.contains("No resources found"));
    assert_eq!(kubectl.feed("create -f -", DRAFT).await.ok(), "packagerevision.porch.kpt.dev/r.web.v1 created\n");
    let again = kubectl.feed("create -f -", DRAFT).await.fails();
    assert!(again.contains("AlreadyExists"), "{again}");
    let waited = kubectl.run("wait --for=condition=Rendered packagerevision/r.web.v1 --timeout=60s").await.ok();
    assert!(waited.contains("condition met"), "{waited}");

    // Files, with a plain kubectl.
    let applied = kubectl.feed("apply -f -", &files("hello")).await;
    assert_eq!(applied.code, 0, "{}", applied.err);
    assert!(applied.out.contains("packagerevisionresources.porch.kpt.dev/r.web.v1 configured"), "{}", applied.out);
    kubectl.run("wait --for=condition=Rendered pr/r.web.v1 --timeout=60s").await.ok();
    let shown = kubectl.run("get packagerevisionresources r.web.v1 -o yaml").await.ok();
    assert!(shown.contains("team: x") && shown.contains("greeting: hello"), "{shown}");
    assert!(kubectl.feed("replace -f -", &files("bye")).await.ok().contains("replaced"));
    kubectl.run("wait --for=condition=Rendered pr/r.web.v1 --timeout=60s").await.ok();

    let forced = kubectl.feed("apply --server-side --force-conflicts -f -", &files("again")).await;
    assert!(forced.out.contains("serverside-applied"), "{forced:?}");
    kubectl.run("wait --for=condition=Rendered pr/r.web.v1 --timeout=60s").await.ok();

    let table = kubectl.run("get packagerevisions").await.ok();
    let head: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["NAME", "PACKAGE", "WORKSPACE", "REVISION", "LIFECYCLE", "RENDERED", "AGE"]);
    let wide = kubectl.run("get pr -o wide -l team=x --field-selector spec.lifecycle=Draft").await.ok();
    assert!(wide.contains("REPOSITORY") && wide.contains("RenderSuccess"), "{wide}");
    assert!(kubectl.run("get pr --field-selector spec.lifecycle=Published").await.err.contains("No resources found"));
    assert_eq!(kubectl.run("get pr -A -o name").await.ok(), "packagerevision.porch.kpt.dev/r.web.v1\n");
    let chunked = kubectl.run("get pr --chunk-size=1 -o jsonpath={.items[*].metadata.name}").await.ok();
    assert_eq!(chunked, "r.web.v1");

    let described = kubectl.run("describe packagerevision r.web.v1").await.ok();
    assert!(described.contains("Events:") && described.contains("RenderSucceeded"), "{described}");
    let events = kubectl.run("events --for packagerevision/r.web.v1").await.ok();
    assert!(events.contains("RenderScheduled"), "{events}");
    assert!(kubectl.run("get events").await.ok().contains("packagerevision/r.web.v1"));

    let patch = "patch pr r.web.v1 --type=merge -p {\"spec\":{\"lifecycle\":\"Proposed\"}}";
    assert!(kubectl.run(patch).await.ok().contains("patched"));
    let proposed = kubectl.run("get pr r.web.v1 -o json").await.ok();
    let published = proposed.replace("\"lifecycle\": \"Proposed\"", "\"lifecycle\": \"Published\"");
    let address = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions/r.web.v1";
    kubectl.feed(&format!("replace --raw {address}/approval -f -"), &published).await.ok();
    let wide = kubectl.run("get pr r.web.v1 -o wide").await.ok();
    assert!(wide.contains("Published") && wide.contains("true"), "{wide}");
    assert!(kubectl.run("delete pr r.web.v1").await.fails().contains("DeletionProposed"));
    kubectl.run(&patch.replace("Proposed", "DeletionProposed")).await.ok();
    assert!(kubectl.run("delete pr r.web.v1").await.ok().contains("deleted"));
    assert!(kubectl.run("get pr r.web.v1").await.fails().contains("NotFound"));
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_annotations_edits_and_patches() {
    let world = World::new().await;
    let Some(kubectl) = Kubectl::of(&world).await else { return };
    kubectl.feed("apply -f -", DRAFT).await.ok();
    world.rendered("r.web.v1").await;
    assert!(kubectl.feed("apply -f -", DRAFT).await.ok().contains("unchanged"));
    let changed = DRAFT.replace("team: x", "team: blue");
    let diff = kubectl.feed("diff -f -", &changed).await;
    assert!(diff.out.contains("team: blue"), "{diff:?}");
    assert!(kubectl.feed("apply --dry-run=server -f -", &changed).await.ok().contains("(server dry run)"));
    assert!(kubectl.feed("apply -f -", &changed).await.ok().contains("configured"));
    assert!(kubectl.run("label pr r.web.v1 a=b").await.ok().contains("labeled"));
    assert!(kubectl.run("label pr r.web.v1 a-").await.ok().contains("unlabeled"));
    assert!(kubectl.run("annotate pr r.web.v1 example.com/note=x").await.ok().contains("annotated"));
    let json = "patch pr r.web.v1 --type=json -p [{\"op\":\"add\",\"path\":\"/metadata/labels/c\",\"value\":\"d\"}]";
    assert!(kubectl.run(json).await.ok().contains("patched"));
    assert!(
        kubectl.feed("apply --server-side --force-conflicts -f -", DRAFT).await.ok().contains("serverside-applied")
    );
    kubectl.feed("apply --server-side -f -", &DRAFT.replace("team: x", "team: blue")).await.ok();
    let strict = DRAFT.replace("  repository: r", "  repository: r\n  colour: red");
    let refused = kubectl.feed("apply -f -", &strict).await.fails();
    assert!(refused.contains("unknown field \"spec.colour\""), "{refused}");

    let editor = kubectl.folder.join("editor.sh");
    std::fs::write(&editor, "#!/bin/sh\nsed -i 's/team: blue/team: red/' \"$1\"\n").unwrap();
    std::fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut edit = kubectl.command("edit pr r.web.v1");
    edit.env("KUBE_EDITOR", &editor);
    let edited = kubectl.finish(edit, "edit", "").await;
    assert!(edited.out.contains("edited"), "{edited:?}");
    let labels = kubectl.run("get pr r.web.v1 -o jsonpath={.metadata.labels}").await.ok();
    assert_eq!(labels, r#"{"c":"d","team":"red"}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_shows_each_turn() {
    let world = World::new().await;
    let Some(kubectl) = Kubectl::of(&world).await else { return };
    kubectl.feed("create -f -", DRAFT).await.ok();
    world.rendered("r.web.v1").await;
    let mut watching = kubectl.start("get pr -w");
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut next = async || timeout(PATIENCE, lines.next_line()).await.expect("a line comes").unwrap().unwrap();
    assert!(next().await.starts_with("NAME"));
    assert!(next().await.contains("True"));
    world.gate.close();
    world.write("r.web.v1", &[("hold", "")]).await;
    let mut line = next().await;
    assert!(line.contains("Scheduled") || line.contains("Rendering"), "{line}");
    world.gate.open();
    while !line.contains("True") {
        line = next().await;
    }
    watching.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_kubectl_asks_of_a_server() {
    let world = World::new().await;
    let Some(kubectl) = Kubectl::of(&world).await else { return };
    let resources = kubectl.run("api-resources --api-group=porch.kpt.dev").await.ok();
    assert!(resources.contains("pkgrev") && resources.contains("PackageRevisionResources"), "{resources}");
    assert!(kubectl.run("api-versions").await.ok().contains("porch.kpt.dev/v1alpha1"));
    let explained = kubectl.run("explain packagerevision.spec").await.ok();
    assert!(explained.contains("workspaceName") && explained.contains("lifecycle"), "{explained}");
    let deep = kubectl.run("explain packagerevision.status.conditions --recursive").await.ok();
    assert!(deep.contains("lastTransitionTime"), "{deep}");
    assert_eq!(kubectl.run("auth can-i create packagerevisions").await.ok(), "yes\n");
    assert!(kubectl.run("auth whoami").await.ok().contains("alice"));
    assert!(kubectl.run("version").await.ok().contains("portico"));
    kubectl.feed("create -f -", DRAFT).await.ok();
    assert!(kubectl.run("get namespaces").await.ok().contains("default"));
    assert!(kubectl.run("get --raw /version").await.ok().contains("portico"));
    let log = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions/r.web.v1/log";
    world.rendered("r.web.v1").await;
    assert!(kubectl.run(&format!("get --raw {log}")).await.ok().contains("scripted"));
}

/// What a script sees that proposes too early, or what fails.
#[tokio::test(flavor = "multi_thread")]
async fn proposals_that_are_refused() {
    let world = World::new().await;
    let Some(kubectl) = Kubectl::of(&world).await else { return };
    kubectl.feed("create -f -", DRAFT).await.ok();
    world.rendered("r.web.v1").await;
    world.gate.close();
    world.write("r.web.v1", &[("hold", "")]).await;
    let propose = "patch pr r.web.v1 --type=merge -p {\"spec\":{\"lifecycle\":\"Proposed\"}}";
    let early = kubectl.run(propose).await.fails();
    assert!(early.contains("Conflict") && early.contains("render pending for version"), "{early}");
    world.gate.open();
    world.write("r.web.v1", &[("fail", "no")]).await;
    let failed = kubectl.run("wait --for=condition=Rendered=False pr/r.web.v1 --timeout=60s").await.ok();
    assert!(failed.contains("condition met"), "{failed}");
    let refused = kubectl.run(propose).await.fails();
    assert!(refused.contains("failed") && refused.contains("change the package"), "{refused}");
}

//! The files of a package revision.

use kube::api::{Patch, PatchParams, PostParams};
use portico_scheduler::store::{NewRevision, PackageStore as _};
use serde_json::json;

use super::harness::{KPTFILE, NS, World, condition, path, refused};

#[tokio::test]
async fn a_write_of_files_returns_before_their_render() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    world.gate.close();
    let written = world.write(&name, &[("hold", ""), ("a.yaml", "kind: A\n")]).await;
    assert_eq!(written.data["spec"]["resources"]["a.yaml"], "kind: A\n");
    assert_eq!(written.data["status"]["renderStatus"], json!({}));
    let kptfile = written.data["spec"]["resources"]["Kptfile"].as_str().unwrap();
    assert!(kptfile.contains("type: RenderFinished\n    status: \"False\""), "{kptfile}");
    let draft = world.revisions().get(&name).await.unwrap();
    assert_eq!(condition(&draft, "RenderFinished"), "False");
    assert_eq!(draft.metadata.generation, Some(2));
    world.gate.open();
    world.rendered(&name).await;
}

#[tokio::test]
async fn equal_files_are_no_write() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    let first = world.resources().get(&name).await.unwrap();
    let again = world.resources().replace(&name, &PostParams::default(), &first).await.unwrap();
    assert_eq!(again.metadata.resource_version, first.metadata.resource_version);
    assert_eq!(condition(&world.revisions().get(&name).await.unwrap(), "Rendered"), "True");
}

#[tokio::test]
async fn the_words_of_the_scheduler_are_no_conflict_and_other_files_are() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    world.gate.close();
    // The render has begun or not by the next write: it can be written all the same.
    let mut files = world.write(&name, &[("hold", "")]).await;
    for n in 0..20 {
        files.data["spec"]["resources"]["a.yaml"] = json!(format!("kind: A{n}\n"));
        files = world.resources().replace(&name, &PostParams::default(), &files).await.unwrap();
    }
    let stale = files.clone();
    world.write(&name, &[("b.yaml", "kind: B\n")]).await;
    let conflict = refused(world.resources().replace(&name, &PostParams::default(), &stale).await);
    assert_eq!(conflict.reason, "Conflict");
    // A render's result is other files.
    let unrendered = world.resources().get(&name).await.unwrap();
    world.gate.open();
    world.rendered(&name).await;
    let mut late = unrendered;
    late.data["spec"]["resources"]["c.yaml"] = json!("kind: C\n");
    assert_eq!(refused(world.resources().replace(&name, &PostParams::default(), &late).await).reason, "Conflict");
}

#[tokio::test]
async fn faulty_files_are_refused_by_name() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    for bad in ["/etc/passwd", "../up", "a//b", ""] {
        let patch = Patch::Merge(json!({"spec": {"resources": {bad: "x"}}}));
        let status = refused(world.resources().patch(&name, &PatchParams::default(), &patch).await);
        assert_eq!(status.code, 422, "{bad}: {}", status.message);
        assert_eq!(status.details.unwrap().causes[0].field, "spec.resources");
    }
    let mut none = world.resources().get(&name).await.unwrap();
    none.data["spec"]["resources"] = json!({});
    assert_eq!(refused(world.resources().replace(&name, &PostParams::default(), &none).await).code, 422);
    let numbers = Patch::Merge(json!({"spec": {"resources": {"a.yaml": 1}}}));
    assert_eq!(refused(world.resources().patch(&name, &PatchParams::default(), &numbers).await).code, 400);
}

#[tokio::test]
async fn files_that_are_no_text_are_named_and_kept() {
    let world = World::new().await;
    let files = [("Kptfile", KPTFILE.as_bytes()), ("logo.png", &[0xff, 0xd8, 0x00])];
    let files = files.map(|(path, content)| (path.to_owned(), bytes::Bytes::copy_from_slice(content)));
    let new = NewRevision::new(NS, "binary", "r", std::sync::Arc::new(files.into()));
    world.scheduler.store().create(new).await.unwrap();
    world.rendered("binary").await;
    let shown = world.resources().get("binary").await.unwrap();
    assert_eq!(shown.metadata.annotations.as_ref().unwrap()["portico.dev/binary-files"], r#"{"logo.png":3}"#);
    world.write("binary", &[("a.yaml", "kind: A\n")]).await;
    let key = world.scheduler.store().find(NS, "binary").await.unwrap().key;
    assert!(world.scheduler.store().get(&key).await.unwrap().files.contains_key("logo.png"));
    let patch = Patch::Merge(json!({"metadata": {"annotations": {"portico.dev/binary-files": "{}"}}}));
    let removed = world.resources().patch("binary", &PatchParams::default(), &patch).await.unwrap();
    assert!(removed.metadata.annotations.is_none());
    assert!(!world.scheduler.store().get(&key).await.unwrap().files.contains_key("logo.png"));
}

#[tokio::test]
async fn annotations_are_each_objects_own_and_labels_are_not() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    let patch = Patch::Merge(json!({"metadata": {"annotations": {"note": "files"}, "labels": {"team": "x"}}}));
    let body = serde_json::to_string(&json!({"metadata": {"annotations": {"note": "files"}, "labels": {"team": "x"}}}));
    let headers = [("content-type", "application/merge-patch+json")];
    let answer = world.raw("PATCH", &path("packagerevisionresources", &name), &headers, &body.unwrap()).await;
    assert!(answer.headers["warning"].to_str().unwrap().contains("labels are those of the packagerevision"));
    let draft = world.revisions().get(&name).await.unwrap();
    assert_eq!((&draft.metadata.annotations, &draft.metadata.labels), (&None, &None));
    world.revisions().patch(&name, &PatchParams::default(), &patch).await.unwrap();
    let files = world.resources().get(&name).await.unwrap();
    assert_eq!(files.metadata.labels.unwrap()["team"], "x");
}

/// With the functions that are built in: what they say is there to be read.
#[tokio::test(flavor = "multi_thread")]
async fn functions_run_and_their_results_are_shown() {
    let world = World::embedded().await;
    let name = world.draft("web", "v1").await.metadata.name.unwrap();
    let kptfile = format!(
        "{KPTFILE}pipeline:\n  mutators:\n  - image: ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0\n    configMap:\n      \
         team: x\n"
    );
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
    world.write(&name, &[("Kptfile", &kptfile), ("a.yaml", object)]).await;
    let rendered = world.rendered(&name).await;
    assert_eq!(condition(&rendered, "Rendered"), "True", "{}", rendered.data);
    let files = world.resources().get(&name).await.unwrap();
    assert!(files.data["spec"]["resources"]["a.yaml"].as_str().unwrap().contains("team: x"));
    let item = &files.data["status"]["renderStatus"]["result"]["items"][0];
    assert!(item["image"].as_str().unwrap().contains("set-labels"), "{}", files.data["status"]);
    let log = world.raw("GET", &format!("{}/log", path("packagerevisions", &name)), &[], "").await;
    assert_eq!(log.code, 200);
    assert!(log.body.contains("set-labels"), "{}", log.body);

    let broken = kptfile.replace("set-labels:v0.2.0", "no-such-function:v1");
    world.write(&name, &[("Kptfile", &broken)]).await;
    let rendered = world.rendered(&name).await;
    assert_eq!(condition(&rendered, "Rendered"), "False");
    let files = world.resources().get(&name).await.unwrap();
    assert!(files.data["status"]["renderStatus"]["error"].as_str().unwrap().contains("no-such-function"));
}

/// Managers of different files don't get in each other's way, and what a render changes is nobody's.
#[tokio::test]
async fn files_are_applied_by_several_managers() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    let apply = async |manager: &str, force: bool, resources: serde_json::Value| {
        let object = json!({
            "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevisionResources",
            "metadata": {"name": name}, "spec": {"resources": resources},
        });
        let mut params = PatchParams::apply(manager);
        params.force = force;
        world.resources().patch(&name, &params, &Patch::Apply(object)).await
    };
    apply("one", false, json!({"a.yaml": "kind: A\n", "b.yaml": "kind: B\n"})).await.unwrap();
    apply("two", false, json!({"c.yaml": "kind: C\n", "echo": "x"})).await.unwrap();
    world.rendered(&name).await;
    let again = world.resources().get(&name).await.unwrap();
    let same = apply("two", false, json!({"c.yaml": "kind: C\n", "echo": "x"})).await.unwrap();
    assert_eq!(same.metadata.resource_version, again.metadata.resource_version, "applied again it is no write");
    let conflict = refused(apply("two", false, json!({"a.yaml": "kind: X\n"})).await);
    assert_eq!((conflict.code, &*conflict.reason), (409, "Conflict"));
    assert!(conflict.message.contains("conflict with \"one\""), "{}", conflict.message);
    let causes = conflict.details.unwrap().causes;
    assert_eq!((&*causes[0].reason, causes[0].field.contains("a.yaml")), ("FieldManagerConflict", true));
    apply("two", true, json!({"a.yaml": "kind: X\n"})).await.unwrap();
    // What it does not apply any more and nobody else owns is gone; the render's own file is not.
    let files = world.resources().get(&name).await.unwrap().data["spec"]["resources"].clone();
    assert_eq!((&files["a.yaml"], files.get("c.yaml"), files.get("echo")), (&json!("kind: X\n"), None, None));
    assert_eq!((&files["b.yaml"], &files["echoed"]), (&json!("kind: B\n"), &json!("x")));
    let missing = refused(world.resources().patch("none", &PatchParams::apply("one"), &Patch::Apply(json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevisionResources", "metadata": {"name": "none"},
    }))).await);
    assert!(missing.message.contains("make the packagerevision of this name first"), "{}", missing.message);
}

#[tokio::test]
async fn each_file_has_its_managers_and_a_render_is_none() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    let apply = async |manager: &str, files: serde_json::Value, force: bool| {
        let object = json!({
            "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevisionResources",
            "metadata": {"name": name}, "spec": {"resources": files},
        });
        let parameters = PatchParams { force, ..PatchParams::apply(manager) };
        world.resources().patch(&name, &parameters, &Patch::Apply(object)).await
    };
    // The Kptfile was there before anybody applied it, so that it must be taken.
    let mine = json!({"Kptfile": KPTFILE, "a.yaml": "kind: A\n"});
    apply("one", mine.clone(), true).await.unwrap();
    world.rendered(&name).await;
    let rendered = world.resources().get(&name).await.unwrap();
    assert_ne!(rendered.data["spec"]["resources"]["Kptfile"], KPTFILE, "the render has changed it");
    apply("one", mine, false).await.unwrap();
    apply("two", json!({"b.yaml": "kind: B\n"}), false).await.unwrap();
    let conflict = refused(apply("two", json!({"a.yaml": "kind: Other\n"}), false).await);
    assert_eq!((conflict.code, &*conflict.reason), (409, "Conflict"));
    assert_eq!(conflict.details.unwrap().causes[0].field, ".spec.resources.a.yaml");
    let left = apply("one", json!({"Kptfile": KPTFILE}), false).await.unwrap();
    let files = left.data["spec"]["resources"].as_object().unwrap();
    assert!(!files.contains_key("a.yaml"), "nobody applies it any more");
    assert!(files.contains_key("b.yaml") && files.contains_key("README.md"), "another one does, and nobody ever did");
    world.rendered(&name).await;
}

//! `Draft`, `Proposed`, `Published`, `DeletionProposed`.

use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use portico_scheduler::store::{ClientUpdate, Expected, PackageStore as _};
use serde_json::{Value, json};

use super::harness::{NS, PATIENCE, World, condition, refused, revision};

#[tokio::test]
async fn only_what_is_rendered_is_proposed() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    world.gate.close();
    world.write(&name, &[("hold", "")]).await;
    let pending = refused(world.step(&name, "Proposed").await);
    assert_eq!((pending.code, &*pending.reason), (409, "Conflict"));
    assert!(pending.message.contains("render pending for version"), "{}", pending.message);
    let causes = pending.details.unwrap().causes;
    assert_eq!((&*causes[0].reason, &*causes[0].field), ("RenderPending", "spec.lifecycle"));
    // Files and a proposal at once are no way around.
    world.gate.open();
    world.rendered(&name).await;

    world.write(&name, &[("fail", "function `x` says no")]).await;
    let stored = world.rendered(&name).await;
    assert_eq!((condition(&stored, "Rendered"), condition(&stored, "RenderFinished")), ("False".into(), "True".into()));
    let files = world.resources().get(&name).await.unwrap();
    assert_eq!(files.data["status"]["renderStatus"]["error"], "function `x` says no");
    let failed = refused(world.step(&name, "Proposed").await);
    assert_eq!((failed.code, &*failed.reason), (422, "Invalid"));
    assert_eq!(failed.details.unwrap().causes[0].reason, "RenderFailed");

    let patch = Patch::Merge(json!({"spec": {"resources": {"fail": null}}}));
    world.resources().patch(&name, &PatchParams::default(), &patch).await.unwrap();
    world.rendered(&name).await;
    world.step(&name, "Proposed").await.unwrap();
    // What is proposed is fixed.
    let patch = Patch::Merge(json!({"spec": {"resources": {"a.yaml": "kind: A\n"}}}));
    assert_eq!(refused(world.resources().patch(&name, &PatchParams::default(), &patch).await).code, 422);
}

#[tokio::test]
async fn approval_publishes_rejects_and_takes_deletion_back() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    assert_eq!(refused(world.approve(&name, "Proposed").await).code, 422);
    assert_eq!(refused(world.step(&name, "Published").await).code, 422);
    world.step(&name, "Proposed").await.unwrap();
    let own = refused(world.step(&name, "Published").await);
    assert!(own.message.contains("through the subresource \"approval\""), "{}", own.message);
    assert_eq!(world.approve(&name, "Draft").await.unwrap().data["spec"]["lifecycle"], "Draft");
    world.step(&name, "Proposed").await.unwrap();
    let published = world.approve(&name, "Published").await.unwrap();
    assert_eq!(published.data["spec"]["revision"], 1);
    assert_eq!(published.data["status"]["publishedBy"], "alice");
    assert!(published.data["status"]["publishTimestamp"].is_string());
    assert_eq!(published.metadata.labels.unwrap()["kpt.dev/latest-revision"], "true");

    let kept = refused(world.revisions().delete(&name, &DeleteParams::default()).await);
    assert_eq!(kept.code, 422);
    assert!(kept.message.contains("DeletionProposed"), "{}", kept.message);
    world.step(&name, "DeletionProposed").await.unwrap();
    assert_eq!(refused(world.step(&name, "Published").await).code, 422);
    world.approve(&name, "Published").await.unwrap();
    world.approve(&name, "DeletionProposed").await.unwrap();
    world.revisions().delete(&name, &DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn an_approval_by_put_names_the_version_that_was_seen() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    let mut proposed = world.step(&name, "Proposed").await.unwrap();
    proposed.data["spec"]["lifecycle"] = json!("Published");
    let put = async |object: &kube::api::DynamicObject| {
        world.revisions().replace_subresource("approval", &name, &PostParams::default(), object).await
    };
    let mut stale = proposed.clone();
    stale.metadata.resource_version = Some("1".into());
    assert_eq!(refused(put(&stale).await).code, 409);
    assert_eq!(put(&proposed).await.unwrap().data["spec"]["lifecycle"], "Published");
}

#[tokio::test]
async fn published_revisions_are_numbered_and_the_newest_is_labelled() {
    let world = World::new().await;
    let mut names = Vec::new();
    for workspace in ["v1", "v2", "v3"] {
        names.push(world.draft("a", workspace).await.metadata.name.unwrap());
    }
    world.draft("b", "v1").await;
    assert_eq!(world.publish("r.b.v1").await.data["spec"]["revision"], 1, "each package counts by itself");
    // At once: they take turns.
    let published = futures_util::future::join_all(names.iter().map(|name| world.publish(name))).await;
    let mut numbers: Vec<i64> = published.iter().map(|p| p.data["spec"]["revision"].as_i64().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3]);
    let latest = async || {
        let params =
            kube::api::ListParams::default().labels("kpt.dev/latest-revision=true").fields("spec.packageName=a");
        let list = world.revisions().list(&params).await.unwrap();
        let numbers: Vec<Value> = list.items.iter().map(|item| item.data["spec"]["revision"].clone()).collect();
        (numbers, list.items)
    };
    let (numbers, items) = latest().await;
    assert_eq!(numbers, [3]);
    // A client can't say so, nor take it away.
    let newest = items[0].metadata.name.clone().unwrap();
    let patch = Patch::Merge(json!({"metadata": {"labels": {"kpt.dev/latest-revision": null}}}));
    world.revisions().patch(&newest, &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(latest().await.0, [3]);
    // With the newest gone it is the one before.
    world.step(&newest, "DeletionProposed").await.unwrap();
    world.revisions().delete(&newest, &DeleteParams::default()).await.unwrap();
    assert_eq!(latest().await.0, [2]);
    // The next one counts from the newest that is left.
    let next = world.draft("a", "v4").await.metadata.name.unwrap();
    assert_eq!(world.publish(&next).await.data["spec"]["revision"], 3);
}

#[tokio::test]
async fn tasks_bring_content() {
    let world = World::new().await;
    let create = async |package: &str, workspace: &str, task: Value| {
        let mut object = revision(package, workspace);
        object.data["spec"]["tasks"] = json!([task]);
        world.revisions().create(&PostParams::default(), &object).await
    };
    let init = json!({"type": "init", "init": {"description": "the web", "keywords": ["a"]}});
    let name = create("web", "v1", init).await.unwrap().metadata.name.unwrap();
    let kptfile = |files: &kube::api::DynamicObject| {
        files.data["spec"]["resources"]["Kptfile"].as_str().unwrap_or_default().to_owned()
    };
    assert!(kptfile(&world.resources().get(&name).await.unwrap()).contains("description: the web"));
    world.write(&name, &[("a.yaml", "kind: A\n")]).await;
    world.rendered(&name).await;

    let edit = |name: &str| json!({"type": "edit", "edit": {"sourceRef": {"name": name}}});
    let early = refused(create("web", "v2", edit(&name)).await);
    assert!(early.message.contains("only what is published can be edited anew"), "{}", early.message);
    world.publish(&name).await;
    let other = refused(create("other", "v1", edit(&name)).await);
    assert!(other.message.contains("use a task of type \"clone\""), "{}", other.message);
    let edited = create("web", "v2", edit(&name)).await.unwrap();
    assert_eq!(condition(&edited, "Rendered"), "", "it is rendered anew");
    let files = world.resources().get("r.web.v2").await.unwrap();
    assert_eq!(files.data["spec"]["resources"]["a.yaml"], "kind: A\n");

    let clone = |name: &str| json!({"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": name}}}});
    create("shop/copy", "v1", clone(&name)).await.unwrap();
    assert!(kptfile(&world.resources().get("r.shop.copy.v1").await.unwrap()).contains("name: copy"));
    let missing = refused(create("copy", "v2", clone("none")).await);
    assert_eq!(missing.code, 422);
    assert!(missing.message.contains("there is no such package revision"), "{}", missing.message);
}

#[tokio::test]
async fn a_render_can_be_cancelled_and_asked_for_again() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    world.gate.close();
    world.write(&name, &[("hold", "")]).await;
    let address = super::harness::path("packagerevisions", &name);
    let cancelled = world.raw("POST", &format!("{address}/cancel"), &[], "").await;
    assert_eq!(cancelled.code, 202, "{}", cancelled.body);
    let ended = world.rendered(&name).await;
    assert_eq!(condition(&ended, "Rendered"), "False");
    assert!(ended.data["status"]["conditions"].to_string().contains("cancelled by \\\"alice\\\""));
    let refused = refused(world.step(&name, "Proposed").await);
    assert!(refused.message.contains("was cancelled"), "{}", refused.message);
    world.gate.open();
    let again = world.raw("POST", &format!("{address}/render"), &[], "").await;
    assert_eq!(again.code, 202, "{}", again.body);
    assert_eq!(condition(&world.rendered(&name).await, "Rendered"), "True");
    world.step(&name, "Proposed").await.unwrap();
}

#[tokio::test]
async fn a_draft_can_be_deleted_while_it_renders() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    world.gate.close();
    world.write(&name, &[("hold", "")]).await;
    world.revisions().delete(&name, &DeleteParams::default()).await.unwrap();
    assert_eq!(refused(world.revisions().get(&name).await).code, 404);
    // The name is free, and what comes is another one.
    let made = world.revisions().create(&PostParams::default(), &revision("a", "v1")).await.unwrap();
    assert_eq!(condition(&world.rendered(&name).await, "Rendered"), "True");
    assert_eq!(world.revisions().get(&name).await.unwrap().metadata.uid, made.metadata.uid);
}

#[tokio::test]
async fn other_conditions_are_the_clients() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    let patch = r#"[{"op": "add", "path": "/status/conditions/-", "value": {"type": "Checked", "status": "True"}},
                    {"op": "replace", "path": "/status/conditions/0/status", "value": "Unknown"}]"#;
    let headers = [("content-type", "application/json-patch+json")];
    let patched = world.raw("PATCH", &super::harness::path("packagerevisions", &name), &headers, patch).await;
    assert_eq!(patched.code, 200, "{}", patched.body);
    let now = world.revisions().get(&name).await.unwrap();
    assert_eq!((condition(&now, "Checked"), condition(&now, "Rendered")), ("True".into(), "True".into()));
    assert_eq!(condition(&now, "RenderFinished"), "True");
}

/// A process that ended between two writes may have left two newest revisions, or none.
#[tokio::test]
async fn the_label_of_the_newest_is_put_right_at_the_start() {
    let world = World::new().await;
    for workspace in ["v1", "v2"] {
        let name = world.draft("a", workspace).await.metadata.name.unwrap();
        world.publish(&name).await;
    }
    let store = world.scheduler.store();
    for (name, newest) in [("r.a.v1", true), ("r.a.v2", false)] {
        let revision = store.find(NS, name).await.unwrap();
        let labels = newest.then(|| ("kpt.dev/latest-revision".to_owned(), "true".to_owned())).into_iter().collect();
        let update = ClientUpdate { labels: Some(labels), ..ClientUpdate::default() };
        store.update(&revision.key, Expected::Object(revision.object_version), update).await.unwrap();
    }
    let _restarted = world.another();
    let put_right = async {
        let labels = async |name: &str| store.find(NS, name).await.unwrap().labels;
        while !labels("r.a.v1").await.is_empty() || labels("r.a.v2").await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, put_right).await.expect("the labels are put right");
}

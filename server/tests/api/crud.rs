//! Create, get, update, patch, delete.

use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::json;

use super::harness::{NS, Setup, World, condition, object, path, refused, revision};

#[tokio::test]
async fn a_draft_is_made_read_and_rendered_by_itself() {
    let world = World::new().await;
    let made = world.revisions().create(&PostParams::default(), &revision("net/core", "v1")).await.unwrap();
    assert_eq!(made.metadata.name.as_deref(), Some("r.net.core.v1"));
    assert_eq!(made.metadata.namespace.as_deref(), Some(NS));
    assert_eq!(made.metadata.generation, Some(1));
    assert_eq!(made.data["spec"]["lifecycle"], "Draft");
    assert_eq!((condition(&made, "RenderFinished"), condition(&made, "Rendered")), ("False".into(), String::new()));
    let rendered = world.rendered("r.net.core.v1").await;
    assert_eq!(condition(&rendered, "Rendered"), "True");
    assert_eq!(rendered.metadata.uid, made.metadata.uid);
    assert_eq!(rendered.metadata.generation, Some(1), "a render is nobody's wish");
    let files = world.resources().get("r.net.core.v1").await.unwrap();
    let kptfile = files.data["spec"]["resources"]["Kptfile"].as_str().unwrap();
    assert!(kptfile.contains("name: core") && kptfile.contains("type: Rendered"), "{kptfile}");
}

#[tokio::test]
async fn names_are_given_composed_or_made_up_and_unique() {
    let world = World::new().await;
    let create = async |object| world.revisions().create(&PostParams::default(), &object).await;
    let mut named = revision("a", "v1");
    named.metadata.name = Some("mine".into());
    assert_eq!(create(named.clone()).await.unwrap().metadata.name.as_deref(), Some("mine"));
    // The name is free, and what it names is not.
    let taken = refused(create(revision("a", "v1")).await);
    assert_eq!((taken.code, &*taken.reason), (409, "AlreadyExists"));
    assert!(taken.message.contains("\"mine\" is workspace"), "{}", taken.message);
    // The other way round.
    let mut other = revision("b", "v1");
    other.metadata.name = Some("mine".into());
    assert_eq!(refused(create(other).await).reason, "AlreadyExists");
    let mut generated = revision("a", "v2");
    generated.metadata.generate_name = Some("draft-".into());
    let name = create(generated).await.unwrap().metadata.name.unwrap();
    assert!(name.starts_with("draft-") && name.len() == 11, "{name}");
    named.metadata.name = Some("mine".into());
    assert_eq!(refused(create(named).await).reason, "AlreadyExists");
}

#[tokio::test]
async fn what_is_faulty_is_refused_with_all_its_faults() {
    let world = World::new().await;
    let bad = object("PackageRevision", json!({"labels": {"a b": "c"}}), json!({"spec": {"packageName": "A"}}));
    let status = refused(world.revisions().create(&PostParams::default(), &bad).await);
    assert_eq!((status.code, &*status.reason), (422, "Invalid"));
    let fields: Vec<_> = status.details.unwrap().causes.into_iter().map(|cause| cause.field).collect();
    assert_eq!(fields, ["metadata.labels", "spec.repository", "spec.workspaceName", "spec.packageName"]);

    let mut published = revision("a", "v1");
    published.data["spec"]["lifecycle"] = json!("Published");
    assert_eq!(refused(world.revisions().create(&PostParams::default(), &published).await).code, 422);
    let wrong = world.raw("POST", &path("packagerevisions", ""), &[], "{\"spec\": {\"packageName\": []}}").await;
    assert_eq!((wrong.code, wrong.json()["reason"].as_str()), (400, Some("BadRequest")), "{}", wrong.body);
    let broken = world.raw("POST", &path("packagerevisions", ""), &[], "{").await;
    assert_eq!(broken.code, 400, "{}", broken.body);
    let kind = world.raw("POST", &path("packagerevisions", ""), &[], r#"{"kind": "Pod", "apiVersion": "v1"}"#).await;
    assert_eq!(kind.code, 400, "{}", kind.body);
    let elsewhere = r#"{"metadata": {"namespace": "other"}}"#;
    assert_eq!(world.raw("POST", &path("packagerevisions", ""), &[], elsewhere).await.code, 400);
}

#[tokio::test]
async fn unknown_fields_are_refused_warned_of_or_dropped() {
    let world = World::new().await;
    let mut odd = revision("a", "v1");
    odd.data["spec"]["colour"] = json!("red");
    let body = serde_json::to_string(&odd).unwrap();
    let address = |validation| format!("{}?dryRun=All&fieldValidation={validation}", path("packagerevisions", ""));
    let strict = world.raw("POST", &address("Strict"), &[], &body).await;
    assert_eq!(strict.code, 400);
    assert!(strict.body.contains("strict decoding error: unknown field \\\"spec.colour\\\""), "{}", strict.body);
    assert_eq!(world.raw("POST", &address("Ignore"), &[], &body).await.code, 201);
    let warned = world.raw("POST", &path("packagerevisions", ""), &[], &body).await;
    assert_eq!(warned.code, 201, "{}", warned.body);
    assert_eq!(warned.headers["warning"], "299 - \"unknown field \\\"spec.colour\\\"\"");
}

#[tokio::test]
async fn an_update_names_what_it_saw() {
    let world = World::new().await;
    let mut draft = world.draft("a", "v1").await;
    let name = draft.metadata.name.clone().unwrap();
    let replace = async |object| world.revisions().replace(&name, &PostParams::default(), object).await;
    draft.metadata.labels = Some([("team".to_owned(), "x".to_owned())].into());
    let updated = replace(&draft).await.unwrap();
    assert_eq!(updated.metadata.labels, draft.metadata.labels);
    assert_ne!(updated.metadata.resource_version, draft.metadata.resource_version);
    let stale = refused(replace(&draft).await);
    assert_eq!((stale.code, &*stale.reason), (409, "Conflict"));
    assert!(stale.message.contains("the object has been modified; please apply your changes"), "{}", stale.message);
    let mut none = draft.clone();
    none.metadata.resource_version = None;
    assert_eq!(refused(replace(&none).await).code, 422);
    let mut other = updated.clone();
    other.metadata.uid = Some("other".into());
    assert_eq!(refused(replace(&other).await).code, 409);
    // What changes nothing is no write.
    let same = replace(&updated).await.unwrap();
    assert_eq!(same.metadata.resource_version, updated.metadata.resource_version);
    assert_eq!(refused(world.revisions().replace("none", &PostParams::default(), &updated).await).code, 404);
}

#[tokio::test]
async fn patches_need_no_version() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    let params = PatchParams::default();
    let merge = Patch::Merge(json!({"metadata": {"labels": {"a": "1", "b": "2"}}}));
    let merged = world.revisions().patch(&name, &params, &merge).await.unwrap();
    assert_eq!(merged.metadata.labels.unwrap().len(), 2);
    let operations = r#"[{"op": "test", "path": "/metadata/labels/a", "value": "1"},
                         {"op": "remove", "path": "/metadata/labels/a"}]"#;
    let json_patch = [("content-type", "application/json-patch+json")];
    let address = path("packagerevisions", &name);
    let patched = world.raw("PATCH", &address, &json_patch, operations).await;
    assert_eq!(patched.json()["metadata"]["labels"], json!({"b": "2"}), "{}", patched.body);
    let again = world.raw("PATCH", &address, &json_patch, operations).await;
    assert_eq!((again.code, again.json()["reason"].as_str()), (422, Some("Invalid")), "{}", again.body);
    let strategic = [("content-type", "application/strategic-merge-patch+json")];
    assert_eq!(world.raw("PATCH", &address, &strategic, "{}").await.code, 415);
    // With a version it is a compare-and-set.
    let stale = Patch::Merge(json!({"metadata": {"resourceVersion": "1", "labels": {"c": "3"}}}));
    assert_eq!(refused(world.revisions().patch(&name, &params, &stale).await).reason, "Conflict");
    let rename = Patch::Merge(json!({"metadata": {"name": "other"}}));
    assert_eq!(refused(world.revisions().patch(&name, &params, &rename).await).code, 400);
    let immutable = Patch::Merge(json!({"spec": {"packageName": "other"}}));
    let status = refused(world.revisions().patch(&name, &params, &immutable).await);
    assert!(status.message.contains("spec.packageName: Invalid value: \"other\": field is immutable"));
}

#[tokio::test]
async fn a_dry_run_says_what_would_be_and_does_nothing() {
    let world = World::new().await;
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let made = world.revisions().create(&dry, &revision("a", "v1")).await.unwrap();
    assert_eq!(made.metadata.name.as_deref(), Some("r.a.v1"));
    assert_eq!(refused(world.revisions().get("r.a.v1").await).code, 404);
    let draft = world.draft("a", "v1").await;
    assert_eq!(refused(world.revisions().create(&dry, &revision("a", "v1")).await).reason, "AlreadyExists");
    let patch = Patch::Merge(json!({"metadata": {"labels": {"a": "1"}}}));
    let params = PatchParams { dry_run: true, ..PatchParams::default() };
    let patched = world.revisions().patch("r.a.v1", &params, &patch).await.unwrap();
    assert!(patched.metadata.labels.is_some());
    let gone = DeleteParams { dry_run: true, ..DeleteParams::default() };
    world.revisions().delete("r.a.v1", &gone).await.unwrap();
    let now = world.revisions().get("r.a.v1").await.unwrap();
    assert_eq!(now.metadata.resource_version, draft.metadata.resource_version);
}

#[tokio::test]
async fn deletions_have_preconditions_and_wait_for_finalizers() {
    let world = World::new().await;
    let draft = world.draft("a", "v1").await;
    let name = draft.metadata.name.clone().unwrap();
    let with = |uid: &str| DeleteParams {
        preconditions: Some(Preconditions { uid: Some(uid.into()), resource_version: None }),
        ..DeleteParams::default()
    };
    assert_eq!(refused(world.revisions().delete(&name, &with("other")).await).code, 409);
    let patch = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/a", "example.com/b"]}}));
    world.revisions().patch(&name, &PatchParams::default(), &patch).await.unwrap();
    world.revisions().delete(&name, &with(draft.metadata.uid.as_deref().unwrap())).await.unwrap();
    let marked = world.revisions().get(&name).await.unwrap();
    assert!(marked.metadata.deletion_timestamp.is_some());
    world.revisions().delete(&name, &DeleteParams::default()).await.unwrap();
    let more = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/a", "example.com/c"]}}));
    assert_eq!(refused(world.revisions().patch(&name, &PatchParams::default(), &more).await).code, 422);
    let one = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/a"]}}));
    world.revisions().patch(&name, &PatchParams::default(), &one).await.unwrap();
    let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    world.revisions().patch(&name, &PatchParams::default(), &none).await.unwrap();
    assert_eq!(refused(world.revisions().get(&name).await).code, 404);
}

#[tokio::test]
async fn a_collection_is_deleted_by_selection() {
    let world = World::new().await;
    for workspace in ["v1", "v2", "v3"] {
        let mut object = revision("a", workspace);
        object.metadata.labels = Some([("keep".to_owned(), (workspace == "v2").to_string())].into());
        world.revisions().create(&PostParams::default(), &object).await.unwrap();
    }
    let selected = kube::api::ListParams::default().labels("keep=false");
    world.revisions().delete_collection(&DeleteParams::default(), &selected).await.unwrap();
    let left = world.revisions().list(&kube::api::ListParams::default()).await.unwrap();
    assert_eq!(left.items.iter().map(|left| left.metadata.name.clone().unwrap()).collect::<Vec<_>>(), ["r.a.v2"]);
}

#[tokio::test]
async fn what_is_too_large_is_refused_and_the_limit_named() {
    let mut setup = Setup::default();
    setup.limits.body_bytes = 8 << 10;
    setup.limits.cache_bytes = 4 << 10;
    setup.limits.document_bytes = 2 << 10;
    let world = World::with(setup).await;
    let large = "x".repeat(10 << 10);
    let body = format!("{{\"metadata\": {{\"annotations\": {{\"a\": \"{large}\"}}}}}}");
    let refused_body = world.raw("POST", &path("packagerevisions", ""), &[], &body).await;
    assert_eq!((refused_body.code, refused_body.json()["reason"].as_str()), (413, Some("RequestEntityTooLarge")));

    let name = world.draft("a", "v0").await.metadata.name.unwrap();
    let tasks: Vec<_> =
        (0..60).map(|n| json!({"conditionType": format!("example.com/a-condition-number-{n}")})).collect();
    let gates = Patch::Merge(json!({"spec": {"readinessGates": tasks}}));
    let status = refused(world.revisions().patch(&name, &PatchParams::default(), &gates).await);
    assert_eq!(status.code, 413);
    assert!(status.message.contains("`document_bytes`"), "{}", status.message);

    let mut last = None;
    for n in 1..10 {
        last = Some(world.revisions().create(&PostParams::default(), &revision("a", &format!("v{n}"))).await);
        if matches!(last, Some(Err(_))) {
            break;
        }
    }
    let status = refused(last.unwrap());
    assert_eq!((status.code, &*status.reason), (403, "Forbidden"));
    assert!(status.message.contains("exceeded quota") && status.message.contains("`cache_bytes`"));
    // Room is made by deleting.
    world.revisions().delete(&name, &DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn other_methods_and_paths_are_answered_in_kubernetes_form() {
    let world = World::new().await;
    let post = world.raw("POST", &path("packagerevisionresources", ""), &[], "{}").await;
    assert_eq!((post.code, post.json()["reason"].as_str()), (405, Some("MethodNotAllowed")));
    assert!(post.body.contains("create or delete the packagerevisions object"));
    assert_eq!(world.raw("DELETE", &path("packagerevisionresources", "a"), &[], "").await.code, 405);
    assert_eq!(world.raw("PUT", &path("packagerevisions", ""), &[], "").await.code, 405);
    let missing = world.raw("GET", "/apis/porch.kpt.dev/v1alpha1/packages", &[], "").await;
    assert_eq!((missing.code, missing.json()["kind"].as_str()), (404, Some("Status")));
}

#[tokio::test]
async fn a_draft_is_made_and_changed_by_applying_it() {
    let world = World::new().await;
    let apply = async |manager: &str, labels: serde_json::Value| {
        let object = json!({
            "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
            "metadata": {"name": "r.a.v1", "labels": labels},
            "spec": {"packageName": "a", "repository": "r", "workspaceName": "v1"},
        });
        world.revisions().patch("r.a.v1", &PatchParams::apply(manager), &Patch::Apply(object)).await
    };
    let made = apply("one", json!({"a": "1", "b": "2"})).await.unwrap();
    assert_eq!(made.data["spec"]["lifecycle"], "Draft");
    let managed = made.metadata.managed_fields.unwrap();
    assert_eq!((managed[0].manager.as_deref(), managed[0].operation.as_deref()), (Some("one"), Some("Apply")));
    world.rendered("r.a.v1").await;
    let conflict = refused(apply("two", json!({"a": "other"})).await);
    assert_eq!((conflict.code, conflict.details.unwrap().causes[0].field.clone()), (409, ".metadata.labels.a".into()));
    let changed = apply("one", json!({"b": "2"})).await.unwrap();
    assert_eq!(changed.metadata.labels.unwrap(), [("b".to_owned(), "2".to_owned())].into());
    let address = path("packagerevisions", "r.a.v1");
    let body = r#"{"apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": {"name": "r.a.v1"}}"#;
    let answer = world.raw("PATCH", &address, &[("content-type", "application/apply-patch+yaml")], body).await;
    assert_eq!(answer.code, 422, "{}", answer.body);
    assert!(answer.body.contains("is required for apply patch"), "{}", answer.body);
}

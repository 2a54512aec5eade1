//! Annotations that ask something of renders.

use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use super::harness::{World, refused, revision};

const LIMITS: &str = "portico.dev/limits";
const STYLE: &str = "portico.dev/yaml-style";
const BY: &str = "portico.dev/render-by";

#[tokio::test]
async fn annotations_that_no_render_could_read_are_refused_by_name() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    for (annotation, bad, good) in
        [(LIMITS, "speed=1", "fuel=1M,renderTime=30s"), (STYLE, "pretty", "kpt"), (BY, "soon", "2126-11-30T09:08:18Z")]
    {
        let patch = |value: &str| Patch::Merge(json!({"metadata": {"annotations": {annotation: value}}}));
        let mut new = revision("b", "v1");
        new.metadata.annotations = Some([(annotation.to_owned(), bad.to_owned())].into());
        for status in [
            refused(world.revisions().patch(&name, &PatchParams::default(), &patch(bad)).await),
            refused(world.revisions().create(&PostParams::default(), &new).await),
        ] {
            assert_eq!(status.code, 422, "{}", status.message);
            assert!(status.message.contains(bad) && status.message.contains("expected"), "{}", status.message);
            assert_eq!(status.details.unwrap().causes[0].field, format!("metadata.annotations[{annotation}]"));
        }
        world.revisions().patch(&name, &PatchParams::default(), &patch(good)).await.unwrap();
    }
    // The files' own annotations ask for nothing.
    let patch = Patch::Merge(json!({"metadata": {"annotations": {LIMITS: "mine"}}}));
    world.resources().patch(&name, &PatchParams::default(), &patch).await.unwrap();
}

#[tokio::test]
async fn a_time_that_has_passed_goes_with_the_files_that_it_was_set_for() {
    let world = World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    let written = async |by: &str, content: &str| {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {BY: by, STYLE: "kpt"}}}));
        world.revisions().patch(&name, &PatchParams::default(), &patch).await.unwrap();
        world.write(&name, &[("a.yaml", content)]).await;
        let annotations = world.revisions().get(&name).await.unwrap().metadata.annotations.unwrap();
        assert_eq!(annotations[STYLE], "kpt");
        annotations.get(BY).cloned()
    };
    assert_eq!(written("2020-11-30T09:08:18Z", "kind: A\n").await, None);
    let later = "2126-11-30T09:08:18Z";
    assert_eq!(written(later, "kind: B\n").await.as_deref(), Some(later));
}

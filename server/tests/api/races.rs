//! Many clients at once.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use super::harness::{World, condition, revision};

/// Whoever proposes a draft that others edit gets it with the files that were rendered, or is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_racing_proposals_and_updates_publish_nothing_unrendered() {
    const DRAFTS: usize = 10;
    const ROUNDS: usize = 100;
    let world = &World::new().await;
    let (proposed, published, refused) = &(AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let mut names = Vec::new();
    for n in 0..DRAFTS {
        names.push(world.draft(&format!("p{n}"), "v1").await.metadata.name.unwrap());
    }
    let checked = async |name: &str| {
        let files = world.resources().get(name).await.unwrap();
        let files = &files.data["spec"]["resources"];
        assert_eq!(files["echo"], files["echoed"], "{name} was let through with files that no render had seen");
    };
    let edit = async |name: &str, round: usize| {
        for n in 0..ROUNDS / 2 {
            let patch = Patch::Merge(json!({"spec": {"resources": {"echo": format!("{round} {n}")}}}));
            match world.resources().patch(name, &PatchParams::default(), &patch).await {
                Ok(_) => {}
                // It is proposed at the moment, or others were faster sixteen times.
                Err(kube::Error::Api(status)) if matches!(status.code, 409 | 422) => {}
                Err(error) => panic!("{error}"),
            }
        }
    };
    let propose = async |name: &str| {
        for n in 0..ROUNDS / 2 {
            match world.step(name, "Proposed").await {
                Ok(object) => {
                    proposed.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(condition(&object, "Rendered"), "True");
                    checked(name).await;
                    // Back, so that it goes on; in the end it is published.
                    let to = if n + 1 == ROUNDS / 2 { "Published" } else { "Draft" };
                    world.approve(name, to).await.unwrap();
                }
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    refused.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => panic!("{error}"),
            }
        }
        // The last edits are rendered when nobody edits any more.
    };
    let (checked, edit, propose) = (&checked, &edit, &propose);
    let all = names.iter().enumerate().map(|(n, name)| async move {
        tokio::join!(edit(name, n), propose(name));
        if world.revisions().get(name).await.unwrap().data["spec"]["lifecycle"] != "Published" {
            world.publish(name).await;
        }
        checked(name).await;
        published.fetch_add(1, Ordering::Relaxed);
    });
    futures_util::future::join_all(all).await;
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    assert_eq!((count(proposed) + count(refused), count(published)), (DRAFTS * ROUNDS / 2, DRAFTS));
    assert!(count(refused) > 0, "nothing raced");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_burst_of_edits_is_answered_at_once_and_the_last_one_is_rendered() {
    let world = &World::new().await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    let began = Instant::now();
    for n in 0..100 {
        world.write(&name, &[("echo", &n.to_string())]).await;
    }
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let rendered = world.rendered(&name).await;
    assert_eq!(condition(&rendered, "Rendered"), "True");
    let files = world.resources().get(&name).await.unwrap();
    assert_eq!(files.data["spec"]["resources"]["echoed"], "99");
}

/// While the only worker spins, nobody who writes waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_wait_for_no_render() {
    let world = &World::with(super::harness::Setup { workers: 1, ..Default::default() }).await;
    let busy = world.draft("busy", "v1").await.metadata.name.unwrap();
    world.gate.close();
    world.write(&busy, &[("hold", "")]).await;
    let names: Vec<String> = (0..50).map(|n| format!("r.p{n}.v1")).collect();
    let writes = names.iter().enumerate().map(|(n, name)| async move {
        let object = revision(&format!("p{n}"), "v1");
        world.revisions().create(&PostParams::default(), &object).await.unwrap();
        world.write(name, &[("echo", "x")]).await;
    });
    futures_util::future::join_all(writes).await;
    assert_eq!(condition(&world.revisions().get(&busy).await.unwrap(), "RenderFinished"), "False");
    world.gate.open();
    for name in &names {
        assert_eq!(condition(&world.rendered(name).await, "Rendered"), "True");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_make_the_same_one_succeeds() {
    let world = &World::new().await;
    let makers = (0..20).map(|n| {
        let mut object = revision("a", "v1");
        object.metadata.name = Some(format!("name-{n}"));
        async move { world.revisions().create(&PostParams::default(), &object).await }
    });
    let made = futures_util::future::join_all(makers).await;
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1);
    let codes: BTreeSet<u16> = made
        .into_iter()
        .filter_map(|made| match made {
            Err(kube::Error::Api(status)) => Some(status.code),
            _ => None,
        })
        .collect();
    assert_eq!(codes, BTreeSet::from([409]));
}

/// A patch without a version is carried out whatever others write meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn patches_of_many_are_all_carried_out() {
    let mut setup = super::harness::Setup::default();
    setup.limits.attempts = 100;
    let world = &World::with(setup).await;
    let name = world.draft("a", "v1").await.metadata.name.unwrap();
    let patches = (0..40).map(|n| {
        let patch = Patch::Merge(json!({"metadata": {"labels": {format!("l{n}"): "x"}}}));
        let name = &name;
        async move { world.revisions().patch(name, &PatchParams::default(), &patch).await.unwrap() }
    });
    futures_util::future::join_all(patches).await;
    assert_eq!(world.revisions().get(&name).await.unwrap().metadata.labels.unwrap().len(), 40);
}

/// Where others are always faster, it is the client's turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_patch_is_not_tried_for_ever() {
    let mut setup = super::harness::Setup::default();
    setup.limits.attempts = 1;
    let world = &World::with(setup).await;
    let name = &world.draft("a", "v1").await.metadata.name.unwrap();
    let mut conflicts = 0;
    for round in 0..50 {
        let patches = (0..20).map(|n| {
            let patch = Patch::Merge(json!({"metadata": {"labels": {"l": format!("{round}-{n}")}}}));
            async move { world.revisions().patch(name, &PatchParams::default(), &patch).await }
        });
        for done in futures_util::future::join_all(patches).await {
            if let Err(kube::Error::Api(status)) = done {
                assert_eq!((status.code, &*status.reason), (409, "Conflict"));
                conflicts += 1;
            }
        }
        if conflicts > 0 {
            return;
        }
    }
    panic!("nobody was in anybody's way");
}

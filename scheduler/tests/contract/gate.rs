//! What may be proposed and published (report 52).

use portico_scheduler::model::{Ending, ErrorClass, Lifecycle, Reason, RenderState};
use portico_scheduler::store::{ClientUpdate, Expected, PackageStore as _, RenderResult};

use super::*;

pub(crate) async fn nothing_unrendered_goes_on<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let made = store.create(new("a", package("one"))).await.unwrap();
    let (key, seen) = (&made.key, Expected::Content(made.content_version));
    let propose = || ClientUpdate::lifecycle(Lifecycle::Proposed);
    assert_eq!(refused(store.update(key, seen, propose()).await), "RenderPending");
    store.set_state(key, made.content_version, RenderState::Rendering).await.unwrap();
    assert_eq!(refused(store.update(key, seen, propose()).await), "RenderPending");
    let failed = RenderResult { ending: Ending::failure(Reason::RenderFailed, "no"), ..success(None) };
    store.save_result(key, made.content_version, failed).await.unwrap();
    assert_eq!(refused(store.update(key, seen, propose()).await), "RenderFailed");

    let edited = store.update(key, seen, ClientUpdate::files(package("two"))).await.unwrap();
    let done = store.save_result(key, edited.content_version, success(None)).await.unwrap();
    let seen = Expected::Content(done.content_version);
    // New files with a proposal in the same write: nothing has rendered those.
    let both = ClientUpdate { files: Some(package("three")), ..propose() };
    assert_eq!(refused(store.update(key, seen, both).await), "RenderPending");
    assert_eq!(store.get(key).await.unwrap().files, package("two"));
    let proposed = store.update(key, seen, propose()).await.unwrap();
    assert_eq!(proposed.lifecycle, Lifecycle::Proposed);
    assert!(proposed.is_rendered());
}

pub(crate) async fn the_steps_of_a_lifecycle<F: Fixture>() {
    use Lifecycle::{DeletionProposed, Draft, Proposed, Published};
    let fixture = usual::<F>();
    let store = fixture.store();
    let mut at = rendered(&store, "a").await;
    let steps = [Proposed, Draft, Proposed, Published, DeletionProposed, Published];
    for step in steps {
        for other in [Draft, Proposed, Published, DeletionProposed] {
            let allowed = matches!(
                (at.lifecycle, other),
                (Draft, Proposed)
                    | (Proposed, Draft | Published)
                    | (Published, DeletionProposed)
                    | (DeletionProposed, Published)
            );
            if !allowed && other != at.lifecycle {
                let seen = Expected::Object(at.object_version);
                let asked = store.update(&at.key, seen, ClientUpdate::lifecycle(other)).await;
                assert_eq!(refused(asked), "Lifecycle", "{:?} to {other:?}", at.lifecycle);
            }
        }
        let seen = Expected::Object(at.object_version);
        at = store.update(&at.key, seen, ClientUpdate::lifecycle(step)).await.unwrap();
        assert_eq!(at.lifecycle, step);
    }
}

pub(crate) async fn only_drafts_change<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let done = rendered(&store, "a").await;
    let seen = Expected::Content(done.content_version);
    let proposed = store.update(&done.key, seen, ClientUpdate::lifecycle(Lifecycle::Proposed)).await.unwrap();
    let (key, version) = (&done.key, proposed.content_version);
    assert_eq!(refused(store.update(key, seen, ClientUpdate::files(package("x"))).await), "NotADraft");
    assert_eq!(refused(store.save_result(key, version, success(Some(package("x")))).await), "NotADraft");
    assert_eq!(refused(store.set_state(key, version, RenderState::Scheduled).await), "NotADraft");
    assert_eq!(store.revision(key).await.unwrap(), proposed);
}

pub(crate) async fn a_refusal_says_why_and_of_what<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let made = store.create(new("a", package("one"))).await.unwrap();
    let (key, seen) = (&made.key, Expected::Content(made.content_version));
    let pending = store.update(key, seen, ClientUpdate::lifecycle(Lifecycle::Proposed)).await.unwrap_err();
    let version = made.content_version.0;
    assert!(pending.to_string().contains(&format!("render pending for version {version}")), "{pending}");
    assert_eq!(pending.class(), ErrorClass::Transient);
    let failed = RenderResult { ending: Ending::failure(Reason::InvalidPackage, "no"), ..success(None) };
    store.save_result(key, made.content_version, failed).await.unwrap();
    let failed = store.update(key, seen, ClientUpdate::lifecycle(Lifecycle::Proposed)).await.unwrap_err();
    assert!(failed.to_string().contains("InvalidPackage") && failed.to_string().contains(&version.to_string()));
    assert_eq!(failed.class(), ErrorClass::Permanent);
}

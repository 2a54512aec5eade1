//! Clients' writes and the scheduler's.

use portico_scheduler::model::{
    ConditionStatus, ContentDigest, Ending, ErrorClass, RENDER_FINISHED, RENDERED, Reason, RenderState,
};
use portico_scheduler::store::{ClientUpdate, Expected, PackageStore as _, RenderLog, RenderResult};

use super::*;

pub(crate) async fn a_new_draft_waits_for_its_render<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let mut draft = new("a", package("one"));
    draft.conditions = vec![
        condition(RENDERED, ConditionStatus::True),
        condition("Ready", ConditionStatus::True),
        condition(RENDER_FINISHED, ConditionStatus::True),
    ];
    draft.labels.insert("team".into(), "blue".into());
    let made = store.create(draft).await.unwrap();
    assert!(made.is_unfinished());
    assert_eq!(made.render_state(), Some(RenderState::Scheduled));
    assert!(made.condition(RENDERED).is_none(), "a clone's word is dropped");
    assert_eq!(made.condition("Ready"), Some(&condition("Ready", ConditionStatus::True)));
    assert!(made.changed_ms >= START_MS);
    let read = store.get(&made.key).await.unwrap().checked().unwrap();
    assert_eq!(read.revision, made);
    assert_eq!(read.files, package("one"));
    assert_eq!(made.content_digest, ContentDigest::of(&package("one")));
    assert_eq!(store.revision(&made.key).await.unwrap(), made);
    assert_eq!(store.find("ns", "a").await.unwrap(), made);
    assert_eq!(store.log(&made.key).await.unwrap(), None);
}

pub(crate) async fn a_name_is_taken_once<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let first = store.create(new("a", package("one"))).await.unwrap();
    assert_eq!(refused(store.create(new("a", package("two"))).await), "Exists");
    assert_eq!(store.get(&first.key).await.unwrap().files, package("one"));
    assert_eq!(refused(store.find("ns", "b").await), "NoSuchName");
    assert_eq!(refused(store.find("other", "a").await), "NoSuchName");
}

pub(crate) async fn an_update_compares_what_its_writer_saw<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let made = store.create(new("a", package("one"))).await.unwrap();
    let seen = Expected::Object(made.object_version);
    let notes = ClientUpdate {
        annotations: Some([("note".into(), "kept".into())].into()),
        document: Some("{}".into()),
        ..ClientUpdate::default()
    };
    let labels = ClientUpdate { labels: Some([("a".into(), "b".into())].into()), ..ClientUpdate::default() };
    let labelled = store.update(&made.key, seen, labels.clone()).await.unwrap();
    assert_eq!(labelled.content_version, made.content_version, "labels are no content");
    assert_eq!(labelled.conditions, made.conditions);
    assert!(labelled.object_version > made.object_version);
    let noted = store.update(&made.key, Expected::Object(labelled.object_version), notes.clone()).await.unwrap();
    assert_eq!((noted.content_version, &noted.labels), (made.content_version, &labelled.labels));
    assert_eq!(
        (Some(&noted.annotations), Some(&noted.document)),
        (notes.annotations.as_ref(), notes.document.as_ref())
    );
    assert_eq!(store.revision(&made.key).await.unwrap(), noted);

    let late = store.update(&made.key, seen, ClientUpdate::files(package("late"))).await.unwrap_err();
    assert_eq!((kind(&late).as_str(), late.class()), ("Conflict", ErrorClass::Superseded));
    // Who looks at the content alone is not disturbed by what the scheduler says of it.
    store.set_state(&made.key, made.content_version, RenderState::Rendering).await.unwrap();
    let seen = Expected::Content(made.content_version);
    let two = store.update(&made.key, seen, ClientUpdate::files(package("two"))).await.unwrap();
    assert!(two.content_version > made.content_version);
    assert_eq!(two.labels, labelled.labels, "what an update does not name stays");
    assert_eq!(refused(store.update(&made.key, seen, ClientUpdate::files(package("three"))).await), "Conflict");
    assert_eq!(store.get(&made.key).await.unwrap().files, package("two"));
}

pub(crate) async fn content_and_intent_are_one_write<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let done = rendered(&store, "a").await;
    assert!(!done.is_unfinished());
    let seen = Expected::Object(done.object_version);
    let edited = store.update(&done.key, seen, ClientUpdate::files(package("two"))).await.unwrap();
    // One object version carries both; there is none with the new content and the old word.
    assert_eq!(edited.object_version.0, edited.content_version.0);
    assert_eq!(edited.condition(RENDER_FINISHED).unwrap().status, ConditionStatus::False);
    assert_eq!(edited.condition(RENDER_FINISHED).unwrap().content, ContentDigest::of(&package("two")));
    assert!(edited.condition(RENDERED).is_none());
    assert!(edited.is_unfinished());
}

pub(crate) async fn what_clients_bring_of_our_conditions_is_dropped<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let made = store.create(new("a", package("one"))).await.unwrap();
    let brought = vec![
        condition(RENDERED, ConditionStatus::True),
        condition("Ready", ConditionStatus::False),
        condition(RENDER_FINISHED, ConditionStatus::True),
        condition("Ready", ConditionStatus::True),
    ];
    let update = ClientUpdate { conditions: Some(brought), ..ClientUpdate::default() };
    let updated = store.update(&made.key, Expected::Object(made.object_version), update).await.unwrap();
    assert_eq!(updated.render_state(), Some(RenderState::Scheduled));
    assert_eq!(updated.conditions.len(), 2, "one a type: {:?}", updated.conditions);
    assert_eq!(updated.condition("Ready"), Some(&condition("Ready", ConditionStatus::True)));
    // The scheduler's word leaves the others alone.
    let done = store.save_result(&made.key, made.content_version, success(None)).await.unwrap();
    assert_eq!(done.condition("Ready"), Some(&condition("Ready", ConditionStatus::True)));
}

pub(crate) async fn a_result_is_one_write<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let made = store.create(new("a", package("one"))).await.unwrap();
    let files = render(&package("one"));
    let done = store.save_result(&made.key, made.content_version, success(Some(files.clone()))).await.unwrap();
    assert_eq!(done.object_version.0, done.content_version.0);
    assert_eq!(done.content_digest, ContentDigest::of(&files));
    assert!(done.is_rendered() && !done.is_unfinished());
    let read = store.get(&made.key).await.unwrap().checked().unwrap();
    assert_eq!((read.files, &read.revision), (files, &done));
    let log = store.log(&made.key).await.unwrap().unwrap();
    assert_eq!((log.content, log.kept, &log.text[..]), (made.content_version, true, &b"said\n"[..]));
    assert_eq!(all(&store, Select::Unfinished, 10).await, []);
}

pub(crate) async fn a_result_of_older_content_is_refused<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let one = store.create(new("a", package("one"))).await.unwrap();
    let seen = Expected::Content(one.content_version);
    let two = store.update(&one.key, seen, ClientUpdate::files(package("two"))).await.unwrap();
    let late = store.save_result(&one.key, one.content_version, success(Some(render(&package("one"))))).await;
    let late = late.unwrap_err();
    assert_eq!((kind(&late).as_str(), late.class()), ("Conflict", ErrorClass::Superseded));
    assert_eq!(refused(store.set_state(&one.key, one.content_version, RenderState::Rendering).await), "Conflict");
    let read = store.get(&one.key).await.unwrap();
    assert_eq!((read.revision, read.files), (two, package("two")), "nothing of it was kept");
    assert_eq!(store.log(&one.key).await.unwrap(), None);
}

pub(crate) async fn a_result_is_saved_once<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let made = store.create(new("a", package("one"))).await.unwrap();
    // Equal files are no new content, so the content version alone would let a second result pass.
    let done = store.save_result(&made.key, made.content_version, success(Some(package("one")))).await.unwrap();
    assert_eq!(done.content_version, made.content_version);
    let again = store.save_result(&made.key, made.content_version, success(None)).await.unwrap_err();
    assert_eq!((kind(&again).as_str(), again.class()), ("AlreadyFinished", ErrorClass::Superseded));
    // Nor does a scheduler begin anew that has not heard of it.
    let cancelled = RenderState::Ended(Ending::failure(Reason::Cancelled, "by request"));
    for state in [RenderState::Rendering, RenderState::Waiting("for another try".to_owned()), cancelled] {
        assert_eq!(refused(store.set_state(&made.key, made.content_version, state).await), "AlreadyFinished");
    }
    assert_eq!(store.revision(&made.key).await.unwrap(), done);
    // Asked for anew, for instance because a function changed, it can be.
    store.set_state(&made.key, made.content_version, RenderState::Scheduled).await.unwrap();
    assert_eq!(all(&store, Select::Unfinished, 10).await.len(), 1);
    store.save_result(&made.key, made.content_version, success(None)).await.unwrap();
}

pub(crate) async fn our_conditions_never_conflict_with_our_result<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let made = store.create(new("a", package("one"))).await.unwrap();
    let same = store.set_state(&made.key, made.content_version, RenderState::Scheduled).await.unwrap();
    assert_eq!(same, made, "nothing to say, nothing written");
    let now = store.set_state(&made.key, made.content_version, RenderState::Rendering).await.unwrap();
    assert!(now.object_version > made.object_version);
    assert_eq!(now.content_version, made.content_version);
    assert_eq!(now.render_state(), Some(RenderState::Rendering));
    assert!(now.is_unfinished());
    store.save_result(&made.key, made.content_version, success(None)).await.unwrap();
}

pub(crate) async fn a_failure_leaves_the_files<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let made = store.create(new("a", package("one"))).await.unwrap();
    let ending = Ending::failure(Reason::RenderFailed, format!("first{}last", "x".repeat(50_000)));
    let result = RenderResult { files: None, ending, log: "long".into() };
    let done = store.save_result(&made.key, made.content_version, result).await.unwrap();
    assert!(!done.is_rendered() && !done.is_unfinished());
    let word = done.condition(RENDERED).unwrap();
    assert_eq!((word.status, &*word.reason), (ConditionStatus::False, "RenderFailed"));
    assert!(word.message.len() <= portico_scheduler::model::MESSAGE_BYTES && word.message.ends_with("last"));
    assert_eq!(store.get(&made.key).await.unwrap().files, package("one"));
    assert_eq!(all(&store, Select::Unfinished, 10).await, [], "a failure is not tried again");
}

pub(crate) async fn equal_files_ask_for_a_render<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let done = rendered(&store, "a").await;
    let same = store.get(&done.key).await.unwrap().files;
    let seen = Expected::Content(done.content_version);
    let again = store.update(&done.key, seen, ClientUpdate::files(same)).await.unwrap();
    assert_eq!(again.content_digest, done.content_digest);
    assert!(again.content_version > done.content_version && again.is_unfinished());
}

pub(crate) async fn deletion_leaves_no_trace<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let done = rendered(&store, "a").await;
    let stale = Expected::Content(portico_scheduler::model::ContentVersion(done.content_version.0 - 1));
    assert_eq!(refused(store.delete(&done.key, Some(stale)).await), "Conflict");
    store.delete(&done.key, Some(Expected::Object(done.object_version))).await.unwrap();
    let anew = store.create(new("a", package("anew"))).await.unwrap();
    assert_ne!(anew.key, done.key, "the same name is another revision");
    let (key, version) = (&done.key, done.content_version);
    assert_eq!(refused(store.get(key).await), "NotFound");
    assert_eq!(refused(store.revision(key).await), "NotFound");
    assert_eq!(refused(store.history(key).await), "NotFound");
    assert_eq!(refused(store.content(key, version).await), "NotFound");
    assert_eq!(refused(store.log(key).await), "NotFound");
    let seen = Expected::Content(version);
    assert_eq!(refused(store.update(key, seen, ClientUpdate::files(package("x"))).await), "NotFound");
    assert_eq!(refused(store.set_state(key, version, RenderState::Rendering).await), "NotFound");
    assert_eq!(refused(store.delete(key, None).await), "NotFound");
    let late = store.save_result(key, version, success(None)).await.unwrap_err();
    assert_eq!(late.class(), ErrorClass::Gone);
    assert_eq!(store.log(&anew.key).await.unwrap(), None);
    assert_eq!(store.history(&anew.key).await.unwrap().len(), 1);
    assert_eq!(all(&store, Select::All, 10).await, [anew]);
}

pub(crate) async fn a_log_without_files_can_be_kept<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let one = store.create(new("a", package("one"))).await.unwrap();
    let seen = Expected::Content(one.content_version);
    let two = store.update(&one.key, seen, ClientUpdate::files(package("two"))).await.unwrap();
    let log = RenderLog { content: one.content_version, kept: false, ended_ms: 0, text: "stale".into() };
    store.save_log(&one.key, log.clone()).await.unwrap();
    let kept = store.log(&one.key).await.unwrap().unwrap();
    assert!(kept.ended_ms >= START_MS);
    assert_eq!(RenderLog { ended_ms: 0, ..kept }, log);
    assert_eq!(store.revision(&one.key).await.unwrap(), two);
}

pub(crate) async fn an_older_log_replaces_no_newer_one<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let one = store.create(new("a", package("one"))).await.unwrap();
    let seen = Expected::Content(one.content_version);
    let two = store.update(&one.key, seen, ClientUpdate::files(package("two"))).await.unwrap();
    store.save_result(&two.key, two.content_version, success(None)).await.unwrap();
    // That of a render which an edit stopped comes late.
    let late = RenderLog { content: one.content_version, kept: false, ended_ms: 0, text: "stale".into() };
    store.save_log(&one.key, late.clone()).await.unwrap();
    let newest = store.log(&one.key).await.unwrap().unwrap();
    assert_eq!((newest.content, newest.kept), (two.content_version, true));
    // Another try of the same content is the newer one.
    store.save_log(&one.key, RenderLog { content: two.content_version, ..late }).await.unwrap();
    assert_eq!(&store.log(&one.key).await.unwrap().unwrap().text[..], b"stale");
}

//! The two conditions in the Kptfile of what is stored.

use portico_scheduler::model::{ContentDigest, RenderState, mirror};
use portico_scheduler::store::{ClientUpdate, Expected, PackageStore as _};

use super::*;

/// With the word of a render that some other package has had, twice, and a condition of somebody else's.
const CLONED: &str = "# ours
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: a # the name
status:
  conditions:
    - type: Rendered
      status: \"True\"
      reason: RenderSuccess
    - type: Ready
      status: \"True\"
    - type: RenderFinished
      status: \"True\"
      reason: RenderSuccess
    - type: Rendered
      status: \"False\"
      reason: RenderFailed
";

fn conditions(files: &Files) -> Vec<String> {
    let text = std::str::from_utf8(&files["Kptfile"]).unwrap();
    let kptfile = portico_krm::kptfile::Kptfile::parse(text.as_bytes()).unwrap();
    kptfile.conditions.iter().map(|c| format!("{}={} {}", c.kind, c.status, c.reason)).collect()
}

pub(crate) async fn it_says_from_the_first_instant_that_a_render_is_scheduled<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let made = store.create(new("a", package(CLONED))).await.unwrap();
    let stored = store.get(&made.key).await.unwrap().checked().unwrap();
    assert_eq!(conditions(&stored.files), ["Ready=True ", "RenderFinished=False Scheduled"]);
    let text = std::str::from_utf8(&stored.files["Kptfile"]).unwrap();
    assert!(text.starts_with("# ours\n") && text.contains("name: a # the name\n"), "{text}");
    // The digest is that of what is stored, and the conditions speak of it.
    assert_eq!(made.content_digest, ContentDigest::of(&stored.files));
    assert_eq!(made.render_state(), Some(RenderState::Scheduled));
    assert_eq!(stored.files, mirror(&package(CLONED), &RenderState::Scheduled));

    // A result brings its own word; a client that edits what it has read brings that back.
    let ended = RenderState::Ended(Ending::success());
    let rendered = mirror(&render(&stored.files), &ended);
    let done = store.save_result(&made.key, made.content_version, success(Some(rendered.clone()))).await.unwrap();
    let read = store.get(&made.key).await.unwrap().checked().unwrap();
    assert_eq!(read.files, rendered);
    let seen = Expected::Content(done.content_version);
    let edited = store.update(&made.key, seen, ClientUpdate::files(read.files)).await.unwrap();
    let stored = store.get(&made.key).await.unwrap().checked().unwrap();
    assert_eq!(conditions(&stored.files), ["Ready=True ", "RenderFinished=False Scheduled"]);
    assert_eq!(edited.content_digest, ContentDigest::of(&stored.files));
    // The same once more is the same digest, and new content all the same.
    let seen = Expected::Content(edited.content_version);
    let again = store.update(&made.key, seen, ClientUpdate::files(stored.files)).await.unwrap();
    assert_eq!(again.content_digest, edited.content_digest);
    assert!(again.content_version > edited.content_version);
}

pub(crate) async fn what_is_no_kptfile_is_stored_as_it_came<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let broken = package("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: [\n");
    let none = files(&[("app.yaml", CLONED)]);
    let elsewhere = files(&[("below/Kptfile", CLONED)]);
    for (name, files) in [("broken", broken), ("none", none), ("elsewhere", elsewhere)] {
        let made = store.create(new(name, files.clone())).await.unwrap();
        assert_eq!(made.content_digest, ContentDigest::of(&files), "{name}");
        assert_eq!(store.get(&made.key).await.unwrap().files, files, "{name}");
        let seen = Expected::Content(made.content_version);
        store.update(&made.key, seen, ClientUpdate::files(files.clone())).await.unwrap();
        assert_eq!(store.get(&made.key).await.unwrap().files, files, "{name}");
    }
}

/// Its words while a render waits and runs, and after it was cancelled, are no content: the Kptfile says what it said when
/// its content was written.
pub(crate) async fn the_words_of_the_scheduler_touch_no_file<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let made = store.create(new("a", package(CLONED))).await.unwrap();
    let before = store.get(&made.key).await.unwrap();
    let cancelled = RenderState::Ended(Ending::failure(portico_scheduler::model::Reason::Cancelled, "not wanted"));
    for state in [RenderState::Rendering, RenderState::Waiting("for another try".into()), cancelled] {
        let said = store.set_state(&made.key, made.content_version, state).await.unwrap();
        assert_eq!((said.content_version, said.content_digest), (made.content_version, made.content_digest));
        assert_eq!(store.get(&made.key).await.unwrap().files, before.files);
    }
    assert_eq!(store.history(&made.key).await.unwrap().len(), 1);
}

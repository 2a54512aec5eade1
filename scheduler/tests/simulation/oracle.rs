//! What clients have asked for, and what must hold of every write that the store accepts.
//!
//! - A result is saved for the content that it was rendered from, and for no other: 0 stale writes.
//! - The result is that of this content: no mixture, no part of it, no other package's.
//! - Each content is saved at most once, unless it was scheduled anew for another configuration.
//! - A cancellation is written only where somebody asked for it.
//! - What is proposed is rendered.
//! - Nothing stays unfinished for long.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use portico_scheduler::dispatch::Call;
use portico_scheduler::model::{
    ContentDigest, ContentVersion, Ending, Files, Lifecycle, Reason, RenderState, Revision, RevisionKey,
};
use portico_scheduler::time::Time;

/// The longest that an accepted change may be unfinished, all faults included: a backoff of six minutes, an outage of the
/// store of ten, two sweeps.
const PATIENCE: Duration = Duration::from_hours(1);

/// What a package's text makes of its render.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nature {
    Good,
    /// The pipeline fails.
    Bad,
    /// Permanent, until the configuration is this one or a later one.
    Needs(u64),
}

/// A package's files, as a client writes them.
pub(crate) fn files(nature: Nature, number: u64) -> Files {
    let text = match nature {
        Nature::Good => format!("good {number}"),
        Nature::Bad => format!("bad {number}"),
        Nature::Needs(configuration) => format!("needs {configuration} {number}"),
    };
    let other = Bytes::from(format!("part of {text}"));
    Files::new(BTreeMap::from([("Kptfile".to_owned(), Bytes::from(text)), ("other.yaml".to_owned(), other)]))
}

pub(crate) fn nature(files: &Files) -> Nature {
    let text = String::from_utf8_lossy(&files["Kptfile"]).into_owned();
    let mut words = text.split(' ');
    match (words.next(), words.next().and_then(|word| word.parse().ok())) {
        (Some("good"), _) => Nature::Good,
        (Some("needs"), Some(configuration)) => Nature::Needs(configuration),
        _ => Nature::Bad,
    }
}

/// What rendering these files gives: one more file, and nothing new when it is done again.
pub(crate) fn rendered(files: &Files) -> Files {
    let mut inputs = (**files).clone();
    inputs.remove("rendered");
    let digest = ContentDigest::of(&inputs).to_string();
    inputs.insert("rendered".to_owned(), Bytes::from(digest));
    Files::new(inputs)
}

/// A package as its clients know it.
#[derive(Debug)]
struct Package {
    /// What the client wrote last.
    files: Files,
    /// The content version that it got, or that its render got.
    content: ContentVersion,
    accepted: Time,
    cancel_asked: bool,
    /// Its result is saved.
    saved: bool,
}

/// What clients have asked for.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    packages: BTreeMap<RevisionKey, Package>,
    /// Contents that were saved, for ever.
    saved: BTreeSet<(RevisionKey, ContentVersion)>,
    pub(crate) results: u64,
}

impl Oracle {
    /// The store has accepted a client's files.
    pub(crate) fn accepted(&mut self, revision: &Revision, files: Files, now: Time) {
        let content = revision.content_version;
        assert!(revision.is_unfinished(), "intent is durable before the answer");
        let package = Package { files, content, accepted: now, cancel_asked: false, saved: false };
        self.packages.insert(revision.key.clone(), package);
    }

    pub(crate) fn deleted(&mut self, key: &RevisionKey) {
        self.packages.remove(key);
    }

    pub(crate) fn cancel_asked(&mut self, key: &RevisionKey) {
        if let Some(package) = self.packages.get_mut(key) {
            package.cancel_asked = true;
        }
    }

    /// The store has proposed it.
    pub(crate) fn proposed(&self, revision: &Revision, there: &Files) {
        let package = &self.packages[&revision.key];
        assert!(revision.is_rendered() && package.saved, "proposed without a render");
        assert_eq!(*there, rendered(&package.files), "proposed with another content than the rendered one");
    }

    /// The store has executed a write of a scheduler's.
    pub(crate) fn written(&mut self, before: &Revision, call: &Call, after: &Revision, there: &Files, now: Time) {
        let Some(package) = self.packages.get_mut(&after.key) else { panic!("`{}` was deleted", after.key) };
        if before == after {
            return;
        }
        // What is not the scheduler's stays as it was.
        let foreign = |revision: &Revision| {
            let rest: Vec<_> = revision.conditions.iter().filter(|c| !RenderState::owns(&c.kind)).cloned().collect();
            (revision.labels.clone(), revision.priority, revision.lifecycle, rest)
        };
        assert_eq!(foreign(before), foreign(after));
        assert_eq!(after.lifecycle, Lifecycle::Draft);
        assert_eq!(call.base(), Some(package.content), "a stale write: {call:?}");
        match call {
            Call::Result(write) => {
                let ending = &write.result().ending;
                let first = self.saved.insert((after.key.clone(), package.content));
                assert!(first && !package.saved, "saved twice: {call:?}");
                package.saved = true;
                self.results += 1;
                fits(&package.files, ending, there);
                package.content = after.content_version;
            }
            Call::Cancelled(..) => {
                assert!(package.cancel_asked, "nobody asked for the cancellation of `{}`", after.key);
                assert!(!package.saved, "a cancellation after the result");
            }
            Call::Delete => panic!("no scheduler deletes"),
            _ => {
                if let Some(RenderState::Ended(ending)) = before.render_state() {
                    assert_eq!(ending.reason, Reason::InvalidPackage, "what has ended is scheduled again: {call:?}");
                    package.saved = false;
                    package.accepted = now;
                    self.saved.remove(&(after.key.clone(), package.content));
                }
            }
        }
    }

    /// Nothing is unfinished for long.
    pub(crate) fn patient(&self, revision: &Revision, now: Time) {
        let package = &self.packages[&revision.key];
        assert_eq!(package.content, revision.content_version, "`{}` has content that nobody wrote", revision.key);
        let waited = now.since(package.accepted);
        let state = revision.render_state();
        assert!(!revision.is_unfinished() || waited < PATIENCE, "`{}` waits since {waited:?}: {state:?}", revision.key);
    }

    /// At the end, when all is well: every accepted change has reached its end.
    pub(crate) fn settled(&self, revision: &Revision, there: &Files) {
        let package = &self.packages[&revision.key];
        let Some(RenderState::Ended(ending)) = revision.render_state() else {
            panic!("`{}` has no end: {:?}", revision.key, revision.conditions)
        };
        assert_eq!(package.content, revision.content_version);
        match ending.reason {
            Reason::Cancelled => {
                assert!(package.cancel_asked && *there == package.files, "`{}`", revision.key);
            }
            reason => {
                assert_ne!(reason, Reason::InvalidPackage, "`{}`: the configuration is there by now", revision.key);
                assert!(package.saved, "`{}` has a result that nobody saved", revision.key);
                fits(&package.files, &ending, there);
            }
        }
    }

    pub(crate) fn packages(&self) -> usize {
        self.packages.len()
    }
}

/// Whether this is how a render of these files may end, and what it may leave.
fn fits(files: &Files, ending: &Ending, there: &Files) {
    let left = match (nature(files), ending.reason) {
        (_, Reason::RenderSuccess) => {
            assert_ne!(nature(files), Nature::Bad);
            rendered(files)
        }
        (Nature::Bad, Reason::RenderFailed)
        | (Nature::Needs(_), Reason::InvalidPackage)
        | (_, Reason::InfrastructureFailed) => files.clone(),
        (nature, reason) => panic!("{nature:?} can't end as {reason:?}"),
    };
    assert_eq!(*there, left, "not the result of this content");
    assert_eq!(ending.rendered, ending.reason == Reason::RenderSuccess);
}

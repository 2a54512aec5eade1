//! Results on their way into the store, and what came of them.

use bytes::Bytes;

use super::Core;
use super::event::{Action, Failure, Outcome, SaveId, given_up};
use super::item::Saving;
use crate::dispatch::{Call, Failure as WriteFailure, Outcome as Written, ResultWrite};
use crate::events::TurningPoint;
use crate::model::{ContentDigest, ContentVersion, Ending, ErrorClass, RevisionKey};
use crate::store::RenderResult;
use crate::time::Time;

impl Core {
    pub(super) fn save_result(
        &mut self,
        key: &RevisionKey,
        content: ContentVersion,
        outcome: Outcome,
        digest: Option<ContentDigest>,
        log: Bytes,
    ) {
        let bytes = outcome.bytes();
        let Outcome::Rendered { ending, files } = outcome else { return };
        let then = if ending.rendered { TurningPoint::Succeeded } else { TurningPoint::Failed(ending.message.clone()) };
        let call = Call::Result(ResultWrite::hashed(content, RenderResult { files, ending, log }, digest));
        self.save(key, content, call, bytes, then);
    }

    pub(super) fn save_cancelled(&mut self, key: &RevisionKey, why: &str) {
        let Some(content) = self.items.get(key).map(|item| item.content) else { return };
        self.save(key, content, Call::Cancelled(content, why.to_owned()), 0, TurningPoint::Cancelled);
    }

    /// Nothing is left to try.
    pub(super) fn save_given_up(&mut self, key: &RevisionKey, content: ContentVersion, failure: &Failure, log: Bytes) {
        if let Some(item) = self.items.get_mut(key) {
            (item.failures, item.unclassified) = (0, 0);
        }
        let log = if log.is_empty() { Bytes::from(failure.message.clone()) } else { log };
        self.save_ending(key, content, given_up(failure, self.configuration), log);
    }

    /// The queue will never let it run.
    pub(super) fn refuse(&mut self, key: &RevisionKey, why: String) {
        let Some(content) = self.items.get(key).map(|item| item.content) else { return };
        self.save_given_up(key, content, &Failure::new(ErrorClass::Permanent, why), Bytes::new());
    }

    fn save_ending(&mut self, key: &RevisionKey, content: ContentVersion, ending: Ending, log: Bytes) {
        let then = TurningPoint::Failed(ending.message.clone());
        let call = Call::Result(ResultWrite::new(content, RenderResult { files: None, ending, log }));
        self.save(key, content, call, 0, then);
    }

    fn save(&mut self, key: &RevisionKey, content: ContentVersion, call: Call, bytes: u64, then: TurningPoint) {
        let id = SaveId(self.id());
        let Some(item) = self.items.get_mut(key) else { return };
        let older = item.saving.replace(Saving { id, content, bytes, then });
        self.forget_saving(older);
        self.saves.insert(id, key.clone());
        self.unsaved_bytes += bytes;
        self.actions.push(Action::Save { save: id, key: key.clone(), call });
    }

    /// What comes of it is of no interest any more.
    pub(super) fn forget_saving(&mut self, saving: Option<Saving>) {
        if let Some(saving) = saving
            && self.saves.remove(&saving.id).is_some()
        {
            self.unsaved_bytes -= saving.bytes;
        }
    }

    /// What came of a saving.
    pub(super) fn saved(&mut self, id: SaveId, written: Written, now: Time) {
        let Some(key) = self.saves.get(&id).cloned() else { return };
        let Some(item) = self.items.get_mut(&key) else { return };
        let saving = item.saving.take();
        let Some((content, then)) = saving.as_ref().map(|saving| (saving.content, saving.then.clone())) else { return };
        self.forget_saving(saving);
        match written {
            Written::Executed(revision) => {
                let Some(item) = self.items.get_mut(&key) else { return };
                if let Some(revision) = revision {
                    item.object = item.object.max(revision.object_version);
                    item.content = item.content.max(revision.content_version);
                    if !revision.is_unfinished() {
                        self.recent.remember(&key, revision.object_version);
                    }
                }
                self.told(&key, then);
            }
            // It stands there already, as after an answer that got lost.
            Written::Skipped => self.told(&key, then),
            // Newer content, or the revision's end: a look shows which.
            Written::Overwritten => self.actions.push(Action::Look(key.clone())),
            Written::Failed(failure) => self.not_saved(&key, content, &then, failure, now),
        }
        self.settle(&key);
    }

    fn told(&mut self, key: &RevisionKey, then: TurningPoint) {
        match then {
            TurningPoint::Succeeded => self.counters.succeeded += 1,
            TurningPoint::Cancelled => self.counters.cancelled += 1,
            _ => self.counters.failed += 1,
        }
        self.emit(key, then);
    }

    fn not_saved(
        &mut self,
        key: &RevisionKey,
        content: ContentVersion,
        then: &TurningPoint,
        failure: WriteFailure,
        now: Time,
    ) {
        match failure.class {
            ErrorClass::Superseded => {
                // Never again: the content that it belongs to is not there any more.
                if *then != TurningPoint::Cancelled {
                    self.counters.conflicts += 1;
                    self.emit(key, TurningPoint::Conflict);
                }
                match failure.current {
                    Some(current) => self.seen(&current, now),
                    None => self.actions.push(Action::Look(key.clone())),
                }
            }
            ErrorClass::Gone => self.gone(key, now),
            // The store will not take this result, ever; it may take the reason why. One that refuses even that keeps
            // the revision unfinished, for the sweep.
            ErrorClass::Permanent if *then == TurningPoint::Succeeded => {
                let message = format!("the result can't be saved: {}", failure.message);
                self.save_given_up(key, content, &Failure::new(ErrorClass::Permanent, message), Bytes::new());
            }
            ErrorClass::Permanent => self.counters.failures[1] += 1,
            ErrorClass::Transient | ErrorClass::Unclassified => {
                if self.queue.state(key).is_none() {
                    let failure = Failure {
                        class: failure.class,
                        retry_after: failure.retry_after,
                        message: format!("the result can't be saved: {}", failure.message),
                    };
                    self.failed(key, &failure, content, Bytes::new(), now);
                }
            }
        }
    }
}

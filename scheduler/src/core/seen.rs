//! What is seen of revisions, and what people ask for.

use super::Core;
use super::event::Action;
use super::item::{Fate, Item, Quiet};
use crate::dispatch::Call;
use crate::events::TurningPoint;
use crate::model::{Lifecycle, ObjectVersion, Reason, RenderState, Revision, RevisionKey};
use crate::queue::State;
use crate::time::Time;

impl Core {
    /// A state of a revision, perhaps an old one.
    pub(super) fn seen(&mut self, revision: &Revision, now: Time) {
        let key = &revision.key;
        if let Some(item) = self.items.get_mut(key) {
            item.listed = self.listing.number();
            if revision.object_version < item.object {
                return;
            }
            item.object = revision.object_version;
            item.priority = revision.priority;
            item.cost = (self.cost_of.0)(revision);
        }
        if !revision.is_unfinished() {
            self.seen_finished(revision, now);
            return;
        }
        let Some(item) = self.items.get_mut(key) else {
            if self.recent.knows(key, revision.object_version) {
                return;
            }
            let item = Item::new(revision, (self.cost_of.0)(revision), self.listing.number());
            self.items.insert(key.clone(), item);
            self.enqueue(key, now, now);
            if self.queue.state(key).is_some() {
                self.emit(key, TurningPoint::Scheduled);
            }
            return;
        };
        if revision.content_version > item.content {
            item.content = revision.content_version;
            (item.failures, item.unclassified, item.gave_way) = (0, 0, false);
            self.edited(key, now);
        }
    }

    /// The content of a revision that is known is newer than was known.
    fn edited(&mut self, key: &RevisionKey, now: Time) {
        let Some(item) = self.items.get_mut(key) else { return };
        let waits = matches!(self.queue.state(key), Some((state, again)) if state != State::Running || again);
        if let Some(quiet) = item.quiet
            && waits
        {
            let due = (now + quiet.length).min(quiet.at_latest);
            self.queue.put_off(key, due);
            return;
        }
        let mut due = now;
        if let Some(run) = &mut item.run
            && run.fate == Fate::Kept
        {
            if run.content.is_none() {
                // It is being read at this moment; should that be the old content, it is read again.
                return;
            }
            if item.superseded < self.settings.supersede.in_a_row {
                item.superseded += 1;
                run.fate = Fate::Superseded;
                self.actions.push(Action::Stop(run.id));
            }
            let length = self.settings.supersede.quiet_after(item.superseded);
            item.quiet = Some(Quiet { at_latest: now + self.settings.supersede.quiet_max, length });
            due = now + length;
        }
        self.enqueue(key, due, now);
        if !waits {
            self.emit(key, TurningPoint::Scheduled);
        }
    }

    /// A revision with nothing to render: its render has ended, whoever did it, or it is no draft.
    fn seen_finished(&mut self, revision: &Revision, now: Time) {
        let key = &revision.key;
        let Some(item) = self.items.get_mut(key) else {
            if self.was_invalid_under_another_configuration(revision) {
                self.actions.push(Action::Write(key.clone(), Call::Scheduled(revision.content_version)));
            }
            return;
        };
        item.content = item.content.max(revision.content_version);
        self.recent.remember(key, revision.object_version);
        self.forget_work(key, now);
        self.settle(key);
    }

    fn was_invalid_under_another_configuration(&self, revision: &Revision) -> bool {
        let Some(RenderState::Ended(ending)) = revision.render_state() else { return false };
        revision.lifecycle == Lifecycle::Draft
            && ending.reason == Reason::InvalidPackage
            && self.configuration != 0
            && ending.configuration.is_some_and(|under| under != self.configuration)
    }

    /// The functions or settings that renders depend on are others: what was invalid may be valid now.
    pub(super) fn configured(&mut self, digest: u64) {
        if self.configuration != digest {
            self.configuration = digest;
            self.actions.push(Action::ListInvalid);
        }
    }

    /// A revision is gone: what runs stops, what waits is forgotten, nothing is written or told.
    pub(super) fn gone(&mut self, key: &RevisionKey, now: Time) {
        self.recent.remember(key, ObjectVersion(u64::MAX));
        if let Some(item) = self.items.get_mut(key) {
            let saving = item.saving.take();
            self.forget_saving(saving);
            self.forget_work(key, now);
            self.settle(key);
        }
    }

    /// Takes a revision out of the queue and stops its run without a word.
    fn forget_work(&mut self, key: &RevisionKey, now: Time) {
        self.queue.forget(key, now);
        if let Some(run) = self.items.get_mut(key).and_then(|item| item.run.as_mut()) {
            if run.fate == Fate::Kept {
                self.actions.push(Action::Stop(run.id));
            }
            run.fate = Fate::Forgotten;
        }
    }

    /// Somebody wants no render of what the revision holds now. Asked twice it changes nothing.
    pub(super) fn cancel(&mut self, key: &RevisionKey, why: &str, now: Time) {
        let Some(item) = self.items.get_mut(key) else { return };
        if let Some(run) = &mut item.run {
            match &run.fate {
                Fate::Forgotten | Fate::Cancelled(_) if !self.queue.state(key).is_some_and(|(_, again)| again) => {
                    return;
                }
                Fate::Kept => self.actions.push(Action::Stop(run.id)),
                _ => {}
            }
            run.fate = Fate::Cancelled(why.to_owned());
            self.queue.forget(key, now);
        } else if self.queue.forget(key, now).is_some() {
            self.save_cancelled(key, why);
        }
    }

    /// Everything that runs stops and waits again; nothing starts.
    pub(super) fn stop(&mut self) {
        self.workers = 0;
        self.queue.set_slots(0);
        let mut running: Vec<_> = self.runs.iter().collect();
        running.sort_by_key(|(id, _)| **id);
        for (id, key) in running {
            let run = self.items.get_mut(key).and_then(|item| item.run.as_mut());
            if let Some(run) = run.filter(|run| run.fate == Fate::Kept) {
                run.fate = Fate::Stopped;
                self.actions.push(Action::Stop(*id));
            }
        }
    }
}

//! A worker's time with a revision: acquire, render, end.

use std::time::Duration;

use bytes::Bytes;

use super::Core;
use super::event::{Acquired, Action, Ended, Failure, Outcome, RunId, Waited};
use super::item::{Fate, Run};
use crate::dispatch::Call;
use crate::events::TurningPoint;
use crate::model::{ContentDigest, ContentVersion, ErrorClass, Revision, RevisionKey};
use crate::time::Time;

/// Reads that come too early are repeated quickly so many times, then as failures are.
const QUICK_READS: u32 = 8;

impl Core {
    /// What a worker found in the store.
    pub(super) fn acquired(&mut self, id: RunId, result: Acquired, now: Time) {
        let Some(key) = self.runs.get(&id).cloned() else { return };
        let Some(item) = self.items.get_mut(&key) else { return };
        let Some(run) = item.run.as_mut().filter(|run| run.id == id && run.content.is_none()) else { return };
        // Cancelled, deleted or stopped while it was being claimed and read: whatever came of that is given back.
        if run.fate != Fate::Kept {
            let ended = Ended { outcome: Outcome::Cancelled, log: Bytes::new(), fuel: 0 };
            self.ended(id, ended, None, now);
            return;
        }
        match result {
            Acquired::Content(revision) if revision.content_version < item.content => {
                self.end_run(&key, 0, now);
                self.read_again(&key, now);
            }
            Acquired::Content(revision) if revision.is_unfinished() => {
                let cost = (self.cost_of.0)(&revision);
                if cost.unwrap_or(self.settings.cost).memory > run.memory {
                    // More than was set aside by what was known of it: again, when it has that.
                    item.cost = cost;
                    self.end_run(&key, 0, now);
                    self.enqueue(&key, now, now);
                    return;
                }
                item.object = item.object.max(revision.object_version);
                item.content = revision.content_version;
                run.content = Some(revision.content_version);
                self.counters.started += 1;
                let asked = item.asked.take().unwrap_or(now);
                let waited = Waited { scheduled: now.since(asked), turn: run.turn };
                self.actions.push(Action::Render { run: id, waited });
                self.actions.push(Action::Write(key.clone(), Call::Rendering(revision.content_version)));
                self.emit(&key, TurningPoint::Started);
            }
            Acquired::Content(revision) | Acquired::Finished(revision) => {
                self.end_run(&key, 0, now);
                self.finished_elsewhere(&key, &revision, now);
            }
            Acquired::Held(time) => {
                self.end_run(&key, 0, now);
                self.enqueue(&key, now + time, now);
            }
            Acquired::Gone => {
                self.end_run(&key, 0, now);
                self.gone(&key, now);
            }
            Acquired::NotYet(_) => {
                self.end_run(&key, 0, now);
                self.read_again(&key, now);
            }
            Acquired::Failed(failure) => {
                let content = item.content;
                self.end_run(&key, 0, now);
                self.failed(&key, &failure, content, Bytes::new(), now);
            }
        }
    }

    /// Nothing to do, unless what was read is older than what is known.
    fn finished_elsewhere(&mut self, key: &RevisionKey, revision: &Revision, now: Time) {
        let newer = self.items.get(key).is_some_and(|item| item.content > revision.content_version);
        if newer {
            self.read_again(key, now);
        } else {
            self.recent.remember(key, revision.object_version);
            // An edit that came meanwhile put it into the queue again; it does no harm there.
            self.settle(key);
        }
    }

    /// The worker has done with it.
    pub(super) fn ended(&mut self, id: RunId, ended: Ended, digest: Option<ContentDigest>, now: Time) {
        let Some(key) = self.runs.get(&id).cloned() else { return };
        let Some(run) = self.end_run(&key, ended.fuel, now) else { return };
        let waits = self.queue.state(&key).is_some();
        let Some(item) = self.items.get_mut(&key) else { return };
        let newest = item.content;
        let content = run.content.unwrap_or(newest);
        match run.fate {
            Fate::Forgotten => {}
            Fate::Stopped => {
                self.enqueue(&key, now, now);
                // Not `Scheduled`, which would have it rendered anew if another scheduler has finished it meanwhile.
                self.actions.push(Action::Write(key.clone(), Call::Waiting(newest, String::new())));
            }
            Fate::Superseded => {
                self.counters.superseded += 1;
                let finished = matches!(ended.outcome, Outcome::Rendered { .. });
                self.keep_log(&key, content, ended.log);
                self.emit(&key, TurningPoint::Superseded { finished });
            }
            Fate::Cancelled(_) if waits => {
                self.counters.cancelled += 1;
                self.keep_log(&key, content, ended.log);
                self.emit(&key, TurningPoint::Cancelled);
            }
            Fate::Cancelled(why) => {
                self.keep_log(&key, content, ended.log);
                self.save_cancelled(&key, &why);
            }
            Fate::Kept => self.kept(&key, content, ended, digest, now),
        }
        self.settle(&key);
    }

    /// A run that nobody stopped has ended.
    fn kept(
        &mut self,
        key: &RevisionKey,
        content: ContentVersion,
        ended: Ended,
        digest: Option<ContentDigest>,
        now: Time,
    ) {
        let Some(item) = self.items.get_mut(key) else { return };
        let failure = match ended.outcome {
            Outcome::Broken(failure) => failure,
            Outcome::Cancelled => Failure::new(ErrorClass::Unclassified, "the render stopped and nobody asked it to"),
            outcome @ Outcome::Rendered { .. } => {
                (item.superseded, item.failures, item.unclassified) = (0, 0, 0);
                if item.content > content {
                    // It was allowed to finish: what it says can be read, its files are worth nothing any more.
                    self.counters.superseded += 1;
                    self.keep_log(key, content, ended.log);
                    self.emit(key, TurningPoint::Superseded { finished: true });
                } else {
                    self.save_result(key, content, outcome, digest, ended.log);
                }
                return;
            }
        };
        if item.content > content {
            // The new content waits already, and knows nothing of this failure.
            self.counters.superseded += 1;
            self.keep_log(key, content, ended.log);
            self.emit(key, TurningPoint::Superseded { finished: false });
        } else {
            self.failed(key, &failure, content, ended.log, now);
        }
    }

    /// What a render said that leaves nothing else.
    fn keep_log(&mut self, key: &RevisionKey, content: ContentVersion, log: Bytes) {
        if !log.is_empty() {
            self.actions.push(Action::KeepLog { key: key.clone(), content, log });
        }
    }

    /// Takes the run away from its revision: the slot and all that was held for it are free.
    fn end_run(&mut self, key: &RevisionKey, fuel: u64, now: Time) -> Option<Run> {
        let run = self.items.get_mut(key)?.run.take()?;
        self.runs.remove(&run.id);
        self.queue.finish(run.ticket, fuel, now);
        self.actions.push(Action::Release(run.id));
        Some(run)
    }

    /// What was read is not what there must be: soon again.
    fn read_again(&mut self, key: &RevisionKey, now: Time) {
        let Some(item) = self.items.get_mut(key) else { return };
        item.failures += 1;
        self.counters.retried += 1;
        let delay = match item.failures {
            quick @ ..=QUICK_READS => self.settings.supersede.quiet_after(quick),
            more => self.settings.backoff.after(more - QUICK_READS, None, &mut self.random),
        };
        self.enqueue(key, now + delay, now);
    }

    /// A failure that says nothing about the package, or all about it.
    pub(super) fn failed(
        &mut self,
        key: &RevisionKey,
        failure: &Failure,
        content: ContentVersion,
        log: Bytes,
        now: Time,
    ) {
        self.counters.failures[index(failure.class)] += 1;
        let Some(item) = self.items.get_mut(key) else { return };
        match failure.class {
            ErrorClass::Gone => self.gone(key, now),
            ErrorClass::Superseded => {
                self.actions.push(Action::Look(key.clone()));
                self.settle(key);
            }
            ErrorClass::Permanent => self.save_given_up(key, content, failure, log),
            ErrorClass::Transient | ErrorClass::Unclassified => {
                item.failures += 1;
                if failure.class == ErrorClass::Unclassified {
                    item.unclassified += 1;
                    if item.unclassified > self.settings.unclassified {
                        self.save_given_up(key, content, failure, log);
                        return;
                    }
                }
                self.keep_log(key, content, log);
                let Some(item) = self.items.get(key) else { return };
                let delay = self.settings.backoff.after(item.failures, failure.retry_after, &mut self.random);
                self.counters.retried += 1;
                self.enqueue(key, now + delay, now);
                let text = waiting_text(&failure.message, delay);
                self.actions.push(Action::Write(key.clone(), Call::Waiting(content, text)));
            }
        }
    }
}

/// What a revision waits for, for its condition.
fn waiting_text(why: &str, delay: Duration) -> String {
    format!("tried again in {} s: {why}", delay.as_secs_f64().ceil())
}

fn index(class: ErrorClass) -> usize {
    match class {
        ErrorClass::Transient => 0,
        ErrorClass::Permanent => 1,
        ErrorClass::Gone => 2,
        ErrorClass::Superseded => 3,
        ErrorClass::Unclassified => 4,
    }
}

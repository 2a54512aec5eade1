//! The dispatcher against a store of one map, which applies the rules that every store applies.

mod bounds;
mod driving;
mod merging;
mod model;
mod retries;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::model::*;
use crate::store::rules::{self, At};
use crate::store::{ClientUpdate, Expected, NewRevision, RenderResult, StoreError, StoreLimits};
use crate::time::Time;

/// What was sent and waits for its answer.
pub(super) struct Sent {
    ticket: Ticket,
    key: RevisionKey,
    call: Call,
}

/// A dispatcher, its store and its time.
pub(super) struct Bench {
    dispatcher: Dispatcher,
    store: BTreeMap<RevisionKey, Revision>,
    version: u64,
    now: Time,
    sent: Vec<Sent>,
    outcomes: BTreeMap<u64, Outcome>,
    gave_up: Vec<(RevisionKey, Kind, Failure)>,
    wake_at: Option<Time>,
    next_waiter: u64,
    limits: StoreLimits,
}

impl Bench {
    pub(super) fn new(limits: DispatchLimits) -> Self {
        Self {
            dispatcher: Dispatcher::new(limits, 1),
            store: BTreeMap::new(),
            version: 0,
            now: Time::default(),
            sent: Vec::new(),
            outcomes: BTreeMap::new(),
            gave_up: Vec::new(),
            wake_at: None,
            next_waiter: 0,
            limits: StoreLimits::default(),
        }
    }

    fn at(&mut self) -> At {
        self.version += 1;
        At { version: ObjectVersion(self.version), now_ms: self.now.0 / 1_000_000 }
    }

    /// A client makes a draft.
    pub(super) fn create(&mut self, name: &str) -> RevisionKey {
        let at = self.at();
        let new = NewRevision::new("ns", name, "repo", files(name));
        let revision = rules::create(&new, None, name, &self.limits, at).unwrap().revision;
        let key = revision.key.clone();
        self.store.insert(key.clone(), revision);
        key
    }

    /// A client's write. The dispatcher does not hear of it.
    pub(super) fn client(&mut self, key: &RevisionKey, update: &ClientUpdate) -> Revision {
        let at = self.at();
        let current = &self.store[key];
        let expected = Expected::Object(current.object_version);
        let revision = rules::update(current, expected, update, None, &self.limits, at).unwrap().revision;
        self.store.insert(key.clone(), revision.clone());
        revision
    }

    pub(super) fn event(&mut self, event: Event) {
        for action in self.dispatcher.on(event, self.now) {
            match action {
                Action::Send { ticket, key, call } => self.sent.push(Sent { ticket, key, call }),
                Action::Resolve(waiter, outcome) => {
                    let twice = self.outcomes.insert(waiter.0, outcome);
                    assert!(twice.is_none(), "each who waits is told once");
                }
                Action::GaveUp(key, kind, failure) => self.gave_up.push((key, kind, failure)),
                Action::WakeAt(at) => self.wake_at = Some(at),
            }
        }
    }

    /// Submits and names who waits.
    pub(super) fn submit(&mut self, key: &RevisionKey, call: Call) -> u64 {
        self.next_waiter += 1;
        let waiter = Some(Waiter(self.next_waiter));
        self.event(Event::Submit { key: key.clone(), call, waiter });
        self.next_waiter
    }

    /// What the store makes of a call.
    pub(super) fn apply(&mut self, key: &RevisionKey, call: &Call) -> Result<Option<Box<Revision>>, Failure> {
        let at = self.at();
        let refused = |error: StoreError| Failure::new(error.class(), error.to_string());
        let Some(current) = self.store.get(key) else { return Err(Failure::new(ErrorClass::Gone, "not there")) };
        let revision = match call {
            Call::Delete => {
                self.store.remove(key);
                return Ok(None);
            }
            Call::Result(write) => {
                let written = rules::save_result(current, write.base(), write.result(), None, &self.limits, at);
                written.map_err(refused)?.revision
            }
            status => {
                let (content, state) = (status.base().unwrap(), status.state().unwrap());
                let written = rules::set_state(current, content, &state, at).map_err(refused)?;
                written.unwrap_or_else(|| current.clone())
            }
        };
        self.store.insert(key.clone(), revision.clone());
        Ok(Some(Box::new(revision)))
    }

    /// The store executes and answers the oldest call that was sent.
    pub(super) fn answer(&mut self) -> Kind {
        let Sent { ticket, key, call } = self.sent.remove(0);
        let answer = self.apply(&key, &call);
        self.event(Event::Answered { ticket, key, answer });
        call.kind()
    }

    /// The oldest call that was sent fails so.
    pub(super) fn fail(&mut self, class: ErrorClass) {
        let Sent { ticket, key, .. } = self.sent.remove(0);
        self.event(Event::Answered { ticket, key, answer: Err(Failure::new(class, "planted")) });
    }

    /// Lets the time come that was asked for.
    pub(super) fn wake(&mut self) {
        self.now = self.wake_at.take().expect("somebody asked to be woken");
        self.event(Event::Tick);
    }

    /// Executes all that is or comes to be sent. What kinds, in order.
    pub(super) fn drain(&mut self) -> Vec<Kind> {
        let mut kinds = Vec::new();
        while !self.sent.is_empty() {
            kinds.push(self.answer());
        }
        kinds
    }

    pub(super) fn kinds(&self) -> Vec<Kind> {
        self.sent.iter().map(|sent| sent.call.kind()).collect()
    }

    pub(super) fn outcome(&self, waiter: u64) -> &str {
        match self.outcomes.get(&waiter) {
            None => "none",
            Some(Outcome::Executed(_)) => "executed",
            Some(Outcome::Skipped) => "skipped",
            Some(Outcome::Overwritten) => "overwritten",
            Some(Outcome::Failed(failure)) => match failure.class {
                ErrorClass::Superseded => "superseded",
                ErrorClass::Gone => "gone",
                _ => "failed",
            },
        }
    }

    pub(super) fn content(&self, key: &RevisionKey) -> ContentVersion {
        self.store[key].content_version
    }

    pub(super) fn state(&self, key: &RevisionKey) -> RenderState {
        self.store[key].render_state().unwrap()
    }
}

pub(super) fn files(text: &str) -> Files {
    Arc::new(BTreeMap::from([("Kptfile".to_owned(), Bytes::copy_from_slice(text.as_bytes()))]))
}

/// A render that succeeded with these files.
pub(super) fn rendered(base: ContentVersion, text: &str) -> Call {
    let result = RenderResult { files: Some(files(text)), ending: Ending::success(), log: Bytes::new() };
    Call::Result(ResultWrite::new(base, result))
}

/// A render that failed and leaves the files.
pub(super) fn failed(base: ContentVersion) -> Call {
    let ending = Ending::failure(Reason::RenderFailed, "no such image");
    Call::Result(ResultWrite::new(base, RenderResult { files: None, ending, log: Bytes::new() }))
}

/// One call at a time, so that the second waits.
pub(super) fn one_at_a_time() -> DispatchLimits {
    DispatchLimits { in_flight: 1, ..DispatchLimits::default() }
}

/// A bench on which one object's call is in flight for ever, so that all others wait.
pub(super) fn throttled() -> (Bench, RevisionKey) {
    let mut bench = Bench::new(one_at_a_time());
    let plug = bench.create("plug");
    let key = bench.create("a");
    let content = bench.content(&plug);
    bench.submit(&plug, Call::Rendering(content));
    (bench, key)
}

pub(super) const MINUTE: Duration = Duration::from_mins(1);

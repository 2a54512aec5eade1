//! The dispatcher's state: plain maps, moved on by events.

use std::collections::{BTreeMap, HashMap};

use super::call::{Call, Join, Kind};
use super::event::{Action, Counters, Event, Failure, Gauges, Outcome, Ticket, Waiter};
use super::limits::DispatchLimits;
use crate::model::{ErrorClass, Revision, RevisionKey};
use crate::time::Time;

/// A call that is to be sent or was.
#[derive(Debug)]
struct Pending {
    call: Call,
    waiter: Option<Waiter>,
    /// The status that goes right after this result, and who waits for that. None once it is sent.
    then: Option<(Call, Option<Waiter>)>,
    /// When the oldest call came whose place this one has, and that call's number.
    since: (Time, u64),
    /// Sendings that failed.
    attempts: u32,
    bytes: u64,
}

/// Where a waiting call stands in line.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// May go when there is room, in this order.
    Ready(Time),
    /// Not before this time.
    Delayed(Time),
}

#[derive(Debug, Default)]
struct Object {
    /// The newest state that is known. Only an answer to a call of ours makes the first one; notifications only move it
    /// forward. So it is never older than our own last write.
    known: Option<Box<Revision>>,
    flying: Option<(Ticket, Pending)>,
    waiting: Option<(Place, Pending)>,
    /// After a failure the object is left alone until then.
    not_before: Option<Time>,
    deleted: bool,
    /// Its place among those without calls.
    idle: Option<u64>,
}

/// Sends the scheduler's own writes: at most one in flight and one waiting for each object.
///
/// Give it events, do what it answers, in order. It holds no clock, starts nothing and never blocks.
#[derive(Debug)]
pub struct Dispatcher {
    limits: DispatchLimits,
    random: fastrand::Rng,
    objects: HashMap<RevisionKey, Object>,
    /// Waiting calls that may go, by when they came plus the head start of more relevant kinds.
    ready: BTreeMap<(Time, u64), RevisionKey>,
    /// Waiting calls that may not go before a time.
    delayed: BTreeMap<(Time, u64), RevisionKey>,
    /// Status calls that wait, by number: the last that came is given up first.
    yielding: BTreeMap<u64, RevisionKey>,
    /// Objects without calls, the one used longest ago first.
    idle: BTreeMap<u64, RevisionKey>,
    sequence: u64,
    in_flight: usize,
    waiting: usize,
    bytes: u64,
    wake_at: Option<Time>,
    counters: Counters,
    actions: Vec<Action>,
}

impl Dispatcher {
    /// An empty one. The seed is that of the jitter in waits.
    pub fn new(limits: DispatchLimits, seed: u64) -> Self {
        Self {
            limits,
            random: fastrand::Rng::with_seed(seed),
            objects: HashMap::new(),
            ready: BTreeMap::new(),
            delayed: BTreeMap::new(),
            yielding: BTreeMap::new(),
            idle: BTreeMap::new(),
            sequence: 0,
            in_flight: 0,
            waiting: 0,
            bytes: 0,
            wake_at: None,
            counters: Counters::default(),
            actions: Vec::new(),
        }
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// What is held now.
    pub fn gauges(&self) -> Gauges {
        Gauges { in_flight: self.in_flight, waiting: self.waiting, bytes: self.bytes, cached: self.idle.len() }
    }

    /// Whether nothing is in flight or waits.
    pub fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.waiting == 0
    }

    /// Whether one more render may start without its result being refused for lack of room, were it to end now.
    pub fn has_room(&self) -> bool {
        self.bytes < self.limits.bytes && self.waiting < self.limits.waiting
    }

    /// The newest state of an object that the dispatcher knows: the answer to our own last write, or newer.
    pub fn known(&self, key: &RevisionKey) -> Option<&Revision> {
        self.objects.get(key)?.known.as_deref()
    }

    /// Takes an event and answers what to do.
    pub fn on(&mut self, event: Event, now: Time) -> Vec<Action> {
        match event {
            Event::Submit { key, call, waiter } => self.submit(&key, call, waiter, now),
            Event::Answered { ticket, key, answer } => self.answered(ticket, &key, answer, now),
            Event::Notified(revision) => self.notified(revision),
            Event::Deleted(key) => self.deleted(&key),
            Event::Tick => self.wake_at = self.wake_at.filter(|at| *at > now),
        }
        self.send_ready(now);
        self.ask_to_wake();
        std::mem::take(&mut self.actions)
    }

    fn submit(&mut self, key: &RevisionKey, call: Call, waiter: Option<Waiter>, now: Time) {
        self.counters.submitted += 1;
        let pending = Pending::new(call, waiter, (now, self.counters.submitted));
        self.objects.entry(key.clone()).or_default();
        if !self.make_room(key, &pending) {
            self.counters.refused += 1;
            let full = Failure::new(ErrorClass::Transient, "no room for a further write to the store");
            self.resolve(key, pending, &Outcome::Failed(full));
            return self.settle(key);
        }
        let pending = match self.take_waiting(key) {
            Some(older) => self.join(key, older, pending),
            None => pending,
        };
        self.put_waiting(key, pending);
    }

    /// One call of a waiting one and a newer one; resolves what is left out.
    fn join(&mut self, key: &RevisionKey, older: Pending, newer: Pending) -> Pending {
        match older.call.join(&newer.call) {
            Join::Replace => {
                let since = older.since;
                self.resolve(key, older, &Outcome::Overwritten);
                // It keeps the older one's place in line: a stream of newer calls must not starve an object.
                Pending { since, ..newer }
            }
            Join::KeepOlder => {
                self.resolve(key, newer, &Outcome::Skipped);
                older
            }
            Join::Follow => {
                if let Some((call, waiter)) = older.then {
                    self.tell(key, call.kind(), waiter, &Outcome::Overwritten);
                }
                Pending { then: Some((newer.call, newer.waiter)), ..older }
            }
        }
    }

    /// Makes room for one more waiting call, if there is none. Whether there is now.
    fn make_room(&mut self, key: &RevisionKey, pending: &Pending) -> bool {
        let freed = self.objects.get(key).and_then(|object| object.waiting.as_ref()).map_or(0, |(_, old)| old.bytes);
        let held = self.bytes - freed;
        if held > 0 && pending.bytes > 0 && held + pending.bytes > self.limits.bytes {
            return false;
        }
        let has_place = self.objects.get(key).is_some_and(|object| object.waiting.is_some());
        if has_place || self.waiting < self.limits.waiting {
            return true;
        }
        if pending.call.kind().is_status() {
            return false;
        }
        let Some((_, victim)) = self.yielding.last_key_value() else { return false };
        let victim = victim.clone();
        let Some(given_up) = self.take_waiting(&victim) else { return false };
        self.counters.refused += 1;
        let full = Failure::new(ErrorClass::Transient, "a more relevant write to the store took its place");
        self.resolve(&victim, given_up, &Outcome::Failed(full));
        self.settle(&victim);
        true
    }

    fn answered(
        &mut self,
        ticket: Ticket,
        key: &RevisionKey,
        answer: Result<Option<Box<Revision>>, Failure>,
        now: Time,
    ) {
        let Some(object) = self.objects.get_mut(key) else { return };
        let Some((_, done)) = object.flying.take_if(|(flying, _)| *flying == ticket) else { return };
        self.in_flight -= 1;
        self.bytes -= done.bytes;
        match answer {
            Ok(revision) => {
                object.not_before = None;
                if let Some(revision) = &revision {
                    object.learn(revision);
                }
                self.executed(key, &done, revision);
            }
            Err(failure) => self.failed(key, done, failure, now),
        }
        self.settle(key);
    }

    fn executed(&mut self, key: &RevisionKey, done: &Pending, revision: Option<Box<Revision>>) {
        let waiting = match &revision {
            Some(revision) => self.take_waiting(key).map(|next| (next.call.clone().behind(&done.call, revision), next)),
            None => None,
        };
        self.tell(key, done.call.kind(), done.waiter, &Outcome::Executed(revision));
        match waiting {
            Some((Some(call), next)) => self.put_waiting(key, Pending { call, ..next }),
            Some((None, next)) => self.resolve(key, next, &Outcome::Skipped),
            None if matches!(done.call, Call::Delete) => self.deleted(key),
            None => {}
        }
    }

    fn failed(&mut self, key: &RevisionKey, mut done: Pending, mut failure: Failure, now: Time) {
        let Some(object) = self.objects.get_mut(key) else { return };
        if let Some(current) = &failure.current {
            object.learn(current);
        }
        if done.attempts > 0 && failure.current.as_deref().is_some_and(|current| done.call.is_written_in(current)) {
            // An earlier attempt was written although its answer got lost.
            let current = failure.current.take();
            return self.executed(key, &done, current);
        }
        if failure.class == ErrorClass::Gone {
            let is_deletion = matches!(done.call, Call::Delete);
            self.resolve(key, done, &if is_deletion { Outcome::Executed(None) } else { Outcome::Failed(failure) });
            return self.deleted(key);
        }
        done.attempts += 1;
        let allowed = match failure.class {
            ErrorClass::Transient => self.limits.attempts,
            ErrorClass::Unclassified => self.limits.attempts.min(UNCLASSIFIED_ATTEMPTS),
            ErrorClass::Permanent | ErrorClass::Superseded | ErrorClass::Gone => 0,
        };
        if failure.class == ErrorClass::Superseded && done.call.kind() == Kind::Result {
            self.counters.conflicts += 1;
        }
        if matches!(failure.class, ErrorClass::Transient | ErrorClass::Unclassified) {
            // Before whatever comes next for this object: the store may be no better for that.
            let doubled = self.limits.backoff.saturating_mul(1 << (done.attempts - 1).min(20));
            let jitter = 0.75 + self.random.f64() / 4.0;
            let wait =
                doubled.min(self.limits.backoff_max).mul_f64(jitter).max(failure.retry_after.unwrap_or_default());
            object.not_before = Some(now + wait);
        }
        if done.attempts >= allowed || object.deleted {
            return self.resolve(key, done, &Outcome::Failed(failure));
        }
        self.counters.retried += 1;
        let next = match self.take_waiting(key) {
            Some(newer) => self.join(key, done, newer),
            None => done,
        };
        self.put_waiting(key, next);
    }

    fn notified(&mut self, revision: Box<Revision>) {
        let key = revision.key.clone();
        let Some(known) = self.objects.get_mut(&key).and_then(|object| object.known.as_mut()) else { return };
        if known.object_version >= revision.object_version {
            self.counters.stale_notifications += 1;
            return;
        }
        *known = revision;
        if let Some(waiting) = self.take_waiting(&key) {
            self.put_waiting(&key, waiting);
        }
    }

    fn deleted(&mut self, key: &RevisionKey) {
        let Some(object) = self.objects.get_mut(key) else { return };
        object.deleted = true;
        if let Some(waiting) = self.take_waiting(key) {
            let is_deletion = matches!(waiting.call, Call::Delete);
            self.resolve(key, waiting, &if is_deletion { Outcome::Executed(None) } else { gone() });
        }
        self.settle(key);
    }

    /// Whoever waited for a call about content that is known to have moved on learns so without a trip to the store.
    fn too_late(&mut self, key: &RevisionKey, pending: Pending) {
        if pending.call.kind() == Kind::Result {
            self.counters.conflicts += 1;
            let failure = Failure::new(ErrorClass::Superseded, "the content has moved on since it was rendered");
            self.tell(key, Kind::Result, pending.waiter, &Outcome::Failed(failure));
            if let Some((call, waiter)) = pending.then {
                self.tell(key, call.kind(), waiter, &Outcome::Overwritten);
            }
        } else {
            self.resolve(key, pending, &Outcome::Overwritten);
        }
    }

    /// Tells all who wait for a call, and for what was to follow it.
    fn resolve(&mut self, key: &RevisionKey, pending: Pending, outcome: &Outcome) {
        self.tell(key, pending.call.kind(), pending.waiter, outcome);
        if let Some((call, waiter)) = pending.then {
            self.tell(key, call.kind(), waiter, outcome);
        }
    }

    /// Tells one who waits, and counts.
    fn tell(&mut self, key: &RevisionKey, kind: Kind, waiter: Option<Waiter>, outcome: &Outcome) {
        match outcome {
            Outcome::Executed(_) => self.counters.executed += 1,
            Outcome::Skipped => self.counters.skipped += 1,
            Outcome::Overwritten => self.counters.overwritten += 1,
            Outcome::Failed(_) => self.counters.failed += 1,
        }
        match (waiter, outcome) {
            (Some(waiter), _) => self.actions.push(Action::Resolve(waiter, outcome.clone())),
            // Newer content or a deletion is what became of it: nothing is lost that somebody could find.
            (None, Outcome::Failed(Failure { class: ErrorClass::Superseded | ErrorClass::Gone, .. })) => {}
            (None, Outcome::Failed(failure)) => {
                self.counters.failed_unwatched += 1;
                self.actions.push(Action::GaveUp(key.clone(), kind, failure.clone()));
            }
            (None, _) => {}
        }
    }

    /// Takes an object's waiting call out of the line.
    fn take_waiting(&mut self, key: &RevisionKey) -> Option<Pending> {
        let (place, pending) = self.objects.get_mut(key)?.waiting.take()?;
        let number = pending.since.1;
        match place {
            Place::Ready(due) => self.ready.remove(&(due, number)),
            Place::Delayed(due) => self.delayed.remove(&(due, number)),
        };
        self.yielding.remove(&number);
        self.waiting -= 1;
        self.bytes -= pending.bytes;
        Some(pending)
    }

    /// Puts a call in line for an object that has none waiting, unless the object as it is known makes it pointless.
    fn put_waiting(&mut self, key: &RevisionKey, mut pending: Pending) {
        let Some(object) = self.objects.get_mut(key) else { return };
        if object.deleted {
            return self.resolve(key, pending, &gone());
        }
        if let Some(known) = &object.known {
            if pending.call.is_outdated(known) {
                self.too_late(key, pending);
                return self.settle(key);
            }
            // While another call is in flight it is not known what it leaves.
            if object.flying.is_none() && pending.call.changes_nothing(known) {
                let (then, since) = (pending.then.take(), pending.since);
                self.resolve(key, pending, &Outcome::Skipped);
                return match then {
                    Some((call, waiter)) => self.put_waiting(key, Pending::new(call, waiter, since)),
                    None => self.settle(key),
                };
            }
        }
        if let Some(idle) = object.idle.take() {
            self.idle.remove(&idle);
        }
        let ((since, number), kind) = (pending.since, pending.call.kind());
        let place = match object.not_before {
            Some(time) => Place::Delayed(time),
            None => Place::Ready(self.limits.due(since, kind)),
        };
        // In line only when nothing of the object is in flight; else it comes into line with the answer.
        if object.flying.is_none() {
            match place {
                Place::Ready(due) => self.ready.insert((due, number), key.clone()),
                Place::Delayed(due) => self.delayed.insert((due, number), key.clone()),
            };
        }
        if kind.is_status() {
            self.yielding.insert(number, key.clone());
        }
        self.bytes += pending.bytes;
        self.waiting += 1;
        object.waiting = Some((place, pending));
    }

    /// When nothing of an object is in flight: judges what waits and brings it into line, or else brings the object into
    /// the cache or out of it.
    fn settle(&mut self, key: &RevisionKey) {
        let Some(object) = self.objects.get_mut(key) else { return };
        if object.flying.is_some() {
            return;
        }
        if object.waiting.is_some() {
            if let Some(waiting) = self.take_waiting(key) {
                self.put_waiting(key, waiting);
            }
            return;
        }
        if let Some(idle) = object.idle.take() {
            self.idle.remove(&idle);
        }
        if object.deleted || object.known.is_none() {
            self.objects.remove(key);
            return;
        }
        self.sequence += 1;
        object.idle = Some(self.sequence);
        self.idle.insert(self.sequence, key.clone());
        if self.idle.len() > self.limits.cached
            && let Some((_, oldest)) = self.idle.pop_first()
        {
            self.objects.remove(&oldest);
        }
    }

    fn send_ready(&mut self, now: Time) {
        while let Some(entry) = self.delayed.first_entry().filter(|entry| entry.key().0 <= now) {
            let (_, number) = *entry.key();
            let key = entry.remove();
            let Some(object) = self.objects.get_mut(&key) else { continue };
            object.not_before = None;
            if let Some((place, pending)) = &mut object.waiting {
                let due = self.limits.due(pending.since.0, pending.call.kind());
                *place = Place::Ready(due);
                self.ready.insert((due, number), key);
            }
        }
        while self.in_flight < self.limits.in_flight {
            let Some((_, key)) = self.ready.first_key_value() else { return };
            let key = key.clone();
            let Some(mut pending) = self.take_waiting(&key) else { return };
            let Some(object) = self.objects.get_mut(&key) else { return };
            self.sequence += 1;
            let ticket = Ticket(self.sequence);
            self.actions.push(Action::Send { ticket, key: key.clone(), call: pending.call.clone() });
            self.counters.sent += 1;
            self.in_flight += 1;
            self.bytes += pending.bytes;
            let (then, since) = (pending.then.take(), pending.since);
            object.flying = Some((ticket, pending));
            if let Some((call, waiter)) = then {
                self.put_waiting(&key, Pending::new(call, waiter, since));
            }
        }
    }

    fn ask_to_wake(&mut self) {
        let Some((&(next, _), _)) = self.delayed.first_key_value() else { return };
        if self.wake_at.is_none_or(|at| next < at) {
            self.wake_at = Some(next);
            self.actions.push(Action::WakeAt(next));
        }
    }
}

/// Sendings of a call whose failures nobody classified: then they count as permanent.
const UNCLASSIFIED_ATTEMPTS: u32 = 8;

fn gone() -> Outcome {
    Outcome::Failed(Failure::new(ErrorClass::Gone, "the revision was deleted"))
}

impl Pending {
    fn new(call: Call, waiter: Option<Waiter>, since: (Time, u64)) -> Self {
        let bytes = call.bytes();
        Self { call, waiter, then: None, since, attempts: 0, bytes }
    }
}

impl Object {
    /// Takes in a state that the store answered with, unless a newer one is known already.
    fn learn(&mut self, revision: &Revision) {
        if self.known.as_ref().is_none_or(|known| known.object_version < revision.object_version) {
            self.known = Some(Box::new(revision.clone()));
        }
    }
}

impl DispatchLimits {
    /// What a call is ordered by: when it came, later by one `ageing` for each step down in relevance. So relevance is a
    /// head start, and nothing is overtaken for ever.
    fn due(&self, since: Time, kind: Kind) -> Time {
        since + self.ageing * (kind as u32)
    }
}

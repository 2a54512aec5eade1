//! Makes events of turning points: equal ones become one, and each object has a budget.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::event::{EventReason, RenderEvent, TurningPoint};
use crate::model::RevisionKey;
use crate::time::Time;

/// The bounds of a [`Recorder`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLimits {
    /// Events that an object may cause at once.
    ///
    /// - Problem: an object that changes all the time floods whoever stores events.
    /// - Mechanism: a bucket of tokens for each object; an event, also a repeated one, takes one. Without a token a new
    ///   event is dropped and counted; a repeated one is counted in the event and told with its next repetition.
    /// - Default: 25, as Kubernetes' own clients have it.
    /// - Does not stop: many objects; see `objects`.
    pub burst: u32,

    /// How long it takes until an object may cause one more. Default: 5 minutes, as Kubernetes' own clients have it.
    pub refill: Duration,

    /// How many of `burst` are kept for the ends of renders: that a render failed must not be lost to the news of a
    /// hundred edits before it. Default: 5.
    pub reserve: u32,

    /// Different events of one object that are remembered, so that a repetition is seen. The one that happened longest
    /// ago goes first. Default: 16.
    pub series: usize,

    /// Objects whose budget and events are remembered; the one that was heard of longest ago goes first, and begins anew
    /// when it is heard of again. Default: 10,000.
    pub objects: usize,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self { burst: 25, refill: Duration::from_mins(5), reserve: 5, series: 16, objects: 10_000 }
    }
}

/// What became of turning points, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventCounters {
    /// Events that were told, repetitions included.
    pub told: u64,
    /// Those of them that repeated an earlier one.
    pub repeated: u64,
    /// Repetitions that were counted in their event and not told by themselves.
    pub held_back: u64,
    /// Turning points of which nothing is left.
    pub dropped: u64,
}

#[derive(Debug)]
struct Object {
    /// Tokens, in units of one refill time's nanoseconds: what is there when `at` is now.
    credit: u128,
    at: Time,
    /// The oldest happening first.
    series: VecDeque<RenderEvent>,
    place: u64,
}

/// Makes events of turning points. Holds no clock and no sink.
#[derive(Debug)]
pub struct Recorder {
    limits: EventLimits,
    objects: HashMap<RevisionKey, Object>,
    /// The object heard of longest ago first.
    places: BTreeMap<u64, RevisionKey>,
    next_place: u64,
    next_id: u64,
    counters: EventCounters,
}

impl Recorder {
    /// An empty one.
    pub fn new(limits: EventLimits) -> Self {
        Self {
            limits,
            objects: HashMap::new(),
            places: BTreeMap::new(),
            next_place: 0,
            next_id: 0,
            counters: EventCounters::default(),
        }
    }

    /// What became of turning points so far.
    pub fn counters(&self) -> EventCounters {
        self.counters
    }

    /// How many objects are remembered.
    pub fn objects(&self) -> usize {
        self.objects.len()
    }

    /// The event to tell of a turning point, if one is to be told now. `wall_ms` is the time for people, in milliseconds
    /// since 1970.
    pub fn record(&mut self, key: &RevisionKey, turn: &TurningPoint, now: Time, wall_ms: u64) -> Option<RenderEvent> {
        let (reason, note) = (turn.reason(), turn.note());
        self.remember(key, now);
        let object = self.objects.get_mut(key)?;
        let may_tell = object.take_token(&self.limits, reason, now);
        let found = object.series.iter().position(|event| event.reason == reason && *event.note == *note);
        if let Some(mut event) = found.and_then(|at| object.series.remove(at)) {
            event.count += 1;
            event.last_ms = event.last_ms.max(wall_ms);
            object.series.push_back(event.clone());
            if !may_tell {
                self.counters.held_back += 1;
                return None;
            }
            self.counters.told += 1;
            self.counters.repeated += 1;
            return Some(event);
        }
        if !may_tell {
            self.counters.dropped += 1;
            return None;
        }
        self.next_id += 1;
        let event = RenderEvent {
            id: self.next_id,
            regarding: key.clone(),
            reason,
            kind: turn.kind(),
            note: Arc::from(&*note),
            count: 1,
            first_ms: wall_ms,
            last_ms: wall_ms,
        };
        object.series.push_back(event.clone());
        if object.series.len() > self.limits.series {
            object.series.pop_front();
        }
        self.counters.told += 1;
        Some(event)
    }

    /// Forgets an object that was deleted.
    pub fn forget(&mut self, key: &RevisionKey) {
        if let Some(object) = self.objects.remove(key) {
            self.places.remove(&object.place);
        }
    }

    /// Makes sure that the object is known, and the last one heard of.
    fn remember(&mut self, key: &RevisionKey, now: Time) {
        self.next_place += 1;
        let place = self.next_place;
        if let Some(object) = self.objects.get_mut(key) {
            self.places.remove(&object.place);
            object.place = place;
        } else {
            if self.objects.len() >= self.limits.objects.max(1)
                && let Some((_, oldest)) = self.places.pop_first()
            {
                self.objects.remove(&oldest);
            }
            let credit = u128::from(self.limits.burst) * self.limits.refill.as_nanos();
            self.objects.insert(key.clone(), Object { credit, at: now, series: VecDeque::new(), place });
        }
        self.places.insert(place, key.clone());
    }
}

impl Object {
    /// Whether an event may be told now; then its token is taken.
    fn take_token(&mut self, limits: &EventLimits, reason: EventReason, now: Time) -> bool {
        // One token is worth the time that it takes to come back: whole numbers, and nothing to round.
        let token = limits.refill.as_nanos().max(1);
        let full = u128::from(limits.burst) * token;
        self.credit = (self.credit + now.since(self.at).as_nanos()).min(full);
        self.at = self.at.max(now);
        let reserve = if reason.is_final() { 0 } else { u128::from(limits.reserve) * token };
        let may = self.credit >= token + reserve;
        if may {
            self.credit -= token;
        }
        may
    }
}

//! Random events against what must hold whatever happens.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// What happens next. Numbers are taken modulo what there is.
#[derive(Debug, Clone)]
enum Step {
    Submit {
        object: usize,
        kind: Kind,
        old: bool,
        watched: bool,
    },
    /// Of the calls in flight, this one is answered so.
    Answer {
        which: usize,
        how: How,
    },
    Edit {
        object: usize,
    },
    /// Another scheduler sets a state, and the watch tells of it.
    Foreign {
        object: usize,
    },
    /// The watch tells of a state of long ago.
    OldNews {
        object: usize,
        which: usize,
    },
    /// The object is deleted by a client, and made anew.
    Delete {
        object: usize,
    },
    /// Time passes, in milliseconds.
    Pass(u64),
}

#[derive(Debug, Clone, Copy)]
enum How {
    Well,
    /// It was written, but the answer got lost.
    Lost,
    Fails(ErrorClass),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop_oneof![
        3 => Just(Kind::Scheduled),
        3 => Just(Kind::Rendering),
        1 => Just(Kind::Cancelled),
        4 => Just(Kind::Result),
        1 => Just(Kind::Delete),
    ];
    let how = prop_oneof![
        6 => Just(How::Well),
        1 => Just(How::Lost),
        2 => Just(How::Fails(ErrorClass::Transient)),
        1 => Just(How::Fails(ErrorClass::Permanent)),
        1 => Just(How::Fails(ErrorClass::Unclassified)),
    ];
    let object = 0..OBJECTS;
    let submit = (object.clone(), kind, prop::bool::weighted(0.1), any::<bool>());
    let step = prop_oneof![
        8 => submit.prop_map(|(object, kind, old, watched)| Step::Submit { object, kind, old, watched }),
        6 => (any::<usize>(), how).prop_map(|(which, how)| Step::Answer { which, how }),
        1 => object.clone().prop_map(|object| Step::Edit { object }),
        1 => object.clone().prop_map(|object| Step::Foreign { object }),
        1 => (object.clone(), any::<usize>()).prop_map(|(object, which)| Step::OldNews { object, which }),
        1 => object.prop_map(|object| Step::Delete { object }),
        2 => (0..2_000_u64).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..120)
}

const OBJECTS: usize = 4;

struct Model {
    bench: Bench,
    keys: Vec<RevisionKey>,
    made: u64,
    /// Everything that ever was, for old news.
    past: BTreeMap<RevisionKey, Vec<Revision>>,
    submitted: BTreeSet<u64>,
    /// The files of each result for which somebody waits.
    results: BTreeMap<u64, (RevisionKey, ContentDigest)>,
    /// The deletions for which somebody waits.
    deletions: BTreeMap<u64, RevisionKey>,
    /// Results that the store refused: never to be seen again.
    refused: BTreeSet<(RevisionKey, ContentDigest)>,
    /// The version of each object that the store answered with last.
    answered: BTreeMap<RevisionKey, ObjectVersion>,
}

impl Model {
    fn new(limits: DispatchLimits) -> Self {
        let mut bench = Bench::new(limits);
        let keys: Vec<_> = (0..OBJECTS).map(|n| bench.create(&format!("{n}"))).collect();
        let mut model = Self {
            bench,
            keys,
            made: 0,
            past: BTreeMap::new(),
            submitted: BTreeSet::new(),
            results: BTreeMap::new(),
            deletions: BTreeMap::new(),
            refused: BTreeSet::new(),
            answered: BTreeMap::new(),
        };
        model.remember();
        model
    }

    /// Keeps what is in the store now.
    fn remember(&mut self) {
        for revision in self.bench.store.values() {
            let past = self.past.entry(revision.key.clone()).or_default();
            if past.last() != Some(revision) {
                past.push(revision.clone());
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Submit { object, kind, old, watched } => self.submit(object, kind, old, watched),
            Step::Answer { which, how } => self.answer(which, how),
            Step::Edit { object } => {
                self.made += 1;
                let (key, text) = (self.keys[object].clone(), format!("edit {}", self.made));
                if self.bench.store.contains_key(&key) {
                    self.bench.client(&key, &ClientUpdate::files(files(&text)));
                }
            }
            Step::Foreign { object } => {
                let key = self.keys[object].clone();
                let Some(current) = self.bench.store.get(&key).cloned() else { return };
                let at = self.bench.at();
                let set = rules::set_state(&current, current.content_version, &RenderState::Scheduled, at).unwrap();
                if let Some(revision) = set {
                    self.bench.store.insert(key, revision.clone());
                    self.bench.event(Event::Notified(Box::new(revision)));
                }
            }
            Step::OldNews { object, which } => {
                let past = &self.past[&self.keys[object]];
                let revision = past[which % past.len()].clone();
                self.bench.event(Event::Notified(Box::new(revision)));
            }
            Step::Delete { object } => {
                let key = self.keys[object].clone();
                self.bench.store.remove(&key);
                self.bench.event(Event::Deleted(key));
                self.made += 1;
                self.keys[object] = self.bench.create(&format!("{object} again {}", self.made));
            }
            Step::Pass(ms) => {
                self.bench.now = self.bench.now + Duration::from_millis(ms);
                self.bench.event(Event::Tick);
            }
        }
        self.remember();
        self.check();
    }

    fn submit(&mut self, object: usize, kind: Kind, old: bool, watched: bool) {
        let key = self.keys[object].clone();
        let past = &self.past[&key];
        let base = if old { past[0].content_version } else { past[past.len() - 1].content_version };
        self.made += 1;
        let text = format!("result {}", self.made);
        let call = match kind {
            Kind::Scheduled => Call::Scheduled(base),
            Kind::Rendering => Call::Rendering(base),
            Kind::Cancelled => Call::Cancelled(base, "by request".into()),
            Kind::Result if self.made.is_multiple_of(3) => failed(base),
            Kind::Result => rendered(base, &text),
            Kind::Delete => Call::Delete,
        };
        if !watched {
            return self.bench.event(Event::Submit { key, call, waiter: None });
        }
        // Before the event: it may be answered within it.
        self.submitted.insert(self.bench.next_waiter + 1);
        if kind == Kind::Result && !self.made.is_multiple_of(3) {
            self.results.insert(self.bench.next_waiter + 1, (key.clone(), ContentDigest::of(&files(&text))));
        }
        if kind == Kind::Delete {
            self.deletions.insert(self.bench.next_waiter + 1, key.clone());
        }
        self.bench.submit(&key, call);
    }

    fn answer(&mut self, which: usize, how: How) {
        if self.bench.sent.is_empty() {
            return;
        }
        let Sent { ticket, key, call } = self.bench.sent.remove(which % self.bench.sent.len());
        let answer = match how {
            How::Fails(class) => Err(Failure::new(class, "planted")),
            How::Lost => {
                let _ = self.bench.apply(&key, &call);
                Err(Failure::new(ErrorClass::Transient, "the answer got lost"))
            }
            How::Well => self.bench.apply(&key, &call).map_err(|mut refusal| {
                refusal.current = self.bench.store.get(&key).cloned().map(Box::new);
                refusal
            }),
        };
        self.remember();
        let result = match &call {
            Call::Result(write) => write.result().files.as_ref().map(|files| (key.clone(), ContentDigest::of(files))),
            _ => None,
        };
        match (&answer, result) {
            (Ok(Some(revision)), _) => {
                self.answered.insert(key.clone(), revision.object_version);
            }
            (Err(failure), Some(result)) if failure.class == ErrorClass::Superseded => {
                assert!(self.refused.insert(result), "a refused result was sent again");
            }
            _ => {}
        }
        self.bench.event(Event::Answered { ticket, key, answer });
    }

    /// What holds at every moment.
    fn check(&self) {
        let (gauges, limits) = (self.bench.dispatcher.gauges(), test_limits());
        assert_eq!(gauges.in_flight, self.bench.sent.len());
        assert!(gauges.in_flight <= limits.in_flight, "{gauges:?}");
        // One that was in flight comes back on top of those that wait.
        assert!(gauges.waiting <= limits.waiting + limits.in_flight, "{gauges:?}");
        assert!(gauges.cached <= limits.cached, "{gauges:?}");
        for (key, version) in &self.answered {
            let known = self.bench.dispatcher.known(key);
            assert!(known.is_none_or(|known| known.object_version >= *version), "older than our own last write");
        }
        let objects: BTreeSet<_> = self.bench.sent.iter().map(|sent| &sent.key).collect();
        assert_eq!(objects.len(), self.bench.sent.len(), "one in flight an object");
        for (waiter, outcome) in &self.bench.outcomes {
            assert!(self.submitted.contains(waiter));
            let (Some((key, digest)), Outcome::Executed(revision)) = (self.results.get(waiter), outcome) else {
                continue;
            };
            let revision = revision.as_ref().expect("not a deletion");
            assert_eq!(
                (&revision.key, revision.content_digest),
                (key, *digest),
                "what was executed is what was wanted"
            );
            assert!(self.past[key].contains(revision), "and the store had it");
        }
    }

    /// Answers all that is or comes to be sent.
    fn finish(&mut self) {
        for round in 0.. {
            assert!(round < 1_000, "it never ends");
            while !self.bench.sent.is_empty() {
                self.answer(0, How::Well);
                self.check();
            }
            if self.bench.dispatcher.is_idle() {
                return;
            }
            self.bench.wake();
        }
    }

    /// The store is well again: everything that was wanted is decided, and what is wanted last stands.
    fn settle(&mut self) {
        self.finish();
        let told: BTreeSet<_> = self.bench.outcomes.keys().copied().collect();
        assert_eq!(told, self.submitted, "each who waits is told, once");
        assert_eq!(self.bench.dispatcher.gauges().bytes, 0);
        for (waiter, key) in &self.deletions {
            let outcome = self.bench.outcome(*waiter);
            // One that was overwritten was so by another deletion, which may have failed.
            let may_stay = matches!(outcome, "failed" | "overwritten");
            assert!(may_stay || !self.bench.store.contains_key(key), "{outcome}, and still there");
        }
        for key in self.keys.clone() {
            let Some(before) = self.bench.store.get(&key).cloned() else { continue };
            // No notification got lost in this world, so nothing is skipped that would change something.
            self.bench.event(Event::Notified(Box::new(before.clone())));
            // The first also where the render has ended; the second only where it has not.
            let calls = [Call::Scheduled(before.content_version), Call::Rendering(before.content_version)];
            for (call, state) in calls.into_iter().zip([RenderState::Scheduled, RenderState::Rendering]) {
                let waiter = self.bench.submit(&key, call);
                self.submitted.insert(waiter);
                self.finish();
                assert_eq!(self.bench.state(&key), state);
            }
            let waiter = self.bench.submit(&key, rendered(before.content_version, "last"));
            self.submitted.insert(waiter);
            self.finish();
            assert!(self.bench.store[&key].is_rendered());
            assert_eq!(self.bench.store[&key].content_digest, ContentDigest::of(&files("last")));
        }
        let counters = self.bench.dispatcher.counters();
        let decided = counters.executed + counters.skipped + counters.overwritten + counters.failed;
        assert_eq!(counters.submitted, decided, "{counters:?}");
    }
}

fn test_limits() -> DispatchLimits {
    DispatchLimits { in_flight: 2, waiting: 3, bytes: 60, cached: 2, attempts: 3, ..DispatchLimits::default() }
}

#[test]
fn whatever_happens_each_call_is_decided_once_and_the_last_word_stands() {
    let cases = if std::env::var_os("PORTICO_SOAK").is_some() { 50_000 } else { 1_000 };
    proptest!(ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }, |(steps in steps())| {
        let mut model = Model::new(test_limits());
        for step in &steps {
            model.step(step);
        }
        model.settle();
    });
}

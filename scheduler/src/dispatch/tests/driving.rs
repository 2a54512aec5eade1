//! The dispatcher on a store that is slow, fails, loses answers and panics; in tokio's paused time.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::store::memory::{Fault, FaultPlan, MemoryStore, Operation, Point};
use crate::store::{Clock, PackageStore, VirtualClock};

fn store(clock: Arc<dyn Clock>) -> MemoryStore {
    MemoryStore::new(clock, StoreLimits::default(), MINUTE)
}

async fn drafts(store: &MemoryStore, many: usize) -> Vec<Revision> {
    let mut revisions = Vec::new();
    for n in 0..many {
        revisions.push(store.create(NewRevision::new("ns", &format!("{n}"), "repo", files("new"))).await.unwrap());
    }
    revisions
}

fn unavailable() -> Fault {
    Fault::Unavailable { retry_after: None }
}

#[tokio::test(start_paused = true)]
async fn a_slow_and_failing_store_gets_every_result_and_few_statuses() {
    let truth = store(VirtualClock::starting_at(0));
    let revisions = drafts(&truth, 200).await;
    let mut plan = FaultPlan::seeded(61);
    for operation in [Operation::SetState, Operation::SaveResult] {
        plan = plan.by_chance(Point::Before(operation), 1.0, Fault::Delay(Duration::from_secs(2)));
        plan = plan.by_chance(Point::Before(operation), 0.1, unavailable());
        plan = plan.by_chance(Point::After(operation), 0.1, unavailable());
    }
    let dispatcher = WriteDispatcher::new(truth.session(plan), DispatchLimits::default(), 1);
    let mut results = Vec::new();
    // Renders of 10 ms, four at a time.
    for four in revisions.chunks(4) {
        for revision in four {
            dispatcher.submit(&revision.key, Call::Scheduled(revision.content_version));
            dispatcher.submit(&revision.key, Call::Rendering(revision.content_version));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        for revision in four {
            results.push(dispatcher.write(&revision.key, rendered(revision.content_version, "done")));
        }
        assert!(dispatcher.gauges().in_flight <= 16);
        assert!(dispatcher.gauges().waiting <= 200, "one a revision");
    }
    for result in results {
        let outcome = result.await;
        assert!(matches!(outcome, Outcome::Executed(Some(_))), "{outcome:?}");
    }
    dispatcher.drained().await;
    let counters = dispatcher.counters();
    assert!(counters.retried > 0, "{counters:?}");
    assert_eq!((counters.conflicts, counters.failed), (0, 0), "{counters:?}");
    assert!(counters.overwritten > 200, "most of the statuses were never sent: {counters:?}");
    for revision in revisions {
        let now = truth.revision(&revision.key).await.unwrap();
        assert!(now.is_rendered());
        assert_eq!(truth.history(&revision.key).await.unwrap().len(), 2, "saved once, whatever got lost");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_got_lost_is_no_conflict() {
    let truth = store(VirtualClock::starting_at(0));
    let draft = drafts(&truth, 1).await.remove(0);
    let plan = FaultPlan::default().on(Point::After(Operation::SaveResult), 1, unavailable());
    let dispatcher = WriteDispatcher::new(truth.session(plan), DispatchLimits::default(), 1);
    let outcome = dispatcher.write(&draft.key, rendered(draft.content_version, "done")).await;
    let Outcome::Executed(Some(revision)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(*revision, truth.revision(&draft.key).await.unwrap());
    assert_eq!((dispatcher.counters().sent, dispatcher.counters().conflicts), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_reported_at_once() {
    let truth = store(VirtualClock::starting_at(0));
    let draft = drafts(&truth, 1).await.remove(0);
    let dispatcher = WriteDispatcher::new(truth.clone(), DispatchLimits::default(), 1);
    let expected = Expected::Content(draft.content_version);
    let edited = truth.update(&draft.key, expected, ClientUpdate::files(files("edited"))).await.unwrap();
    let outcome = dispatcher.write(&draft.key, rendered(draft.content_version, "done")).await;
    let Outcome::Failed(failure) = outcome else { panic!("{outcome:?}") };
    assert_eq!(failure.class, ErrorClass::Superseded);
    assert_eq!(failure.current, Some(Box::new(edited)), "and what is there instead");
    assert_eq!(dispatcher.counters().sent, 1);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_revision_takes_what_waits_with_it() {
    let truth = store(VirtualClock::starting_at(0));
    let draft = drafts(&truth, 1).await.remove(0);
    let dispatcher = WriteDispatcher::new(truth.clone(), DispatchLimits::default(), 1);
    let status = dispatcher.write(&draft.key, Call::Rendering(draft.content_version));
    let result = dispatcher.write(&draft.key, rendered(draft.content_version, "done"));
    dispatcher.deleted(&draft.key);
    truth.delete(&draft.key, None).await.unwrap();
    let gone = |outcome: &Outcome| matches!(outcome, Outcome::Failed(failure) if failure.class == ErrorClass::Gone);
    assert!(gone(&result.await));
    assert!(gone(&status.await));
    dispatcher.drained().await;
    assert_eq!(dispatcher.gauges(), Gauges::default());
}

/// Panics once, in the middle of the store.
#[derive(Debug, Default)]
struct PanickingClock(AtomicBool);

impl Clock for PanickingClock {
    fn now_ms(&self) -> u64 {
        assert!(!self.0.swap(false, Ordering::Relaxed), "planted");
        0
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_keeps_no_place() {
    let clock = Arc::new(PanickingClock::default());
    let truth = store(clock.clone());
    let draft = drafts(&truth, 1).await.remove(0);
    let dispatcher = WriteDispatcher::new(truth.clone(), one_at_a_time(), 1);
    clock.0.store(true, Ordering::Relaxed);
    let outcome = dispatcher.write(&draft.key, rendered(draft.content_version, "done")).await;
    assert!(matches!(outcome, Outcome::Executed(_)), "{outcome:?}");
    assert_eq!(dispatcher.counters().retried, 1);
}

//! What follows a failure.

use super::*;

#[test]
fn a_transient_failure_is_tried_again_later_and_later() {
    let limits = DispatchLimits { attempts: 4, ..DispatchLimits::default() };
    let mut bench = Bench::new(limits.clone());
    let key = bench.create("a");
    let waiter = bench.submit(&key, rendered(bench.content(&key), "done"));
    for round in 0..3 {
        let before = bench.now;
        bench.fail(ErrorClass::Transient);
        assert!(bench.sent.is_empty(), "not at once");
        bench.wake();
        let waited = bench.now.since(before);
        let most = limits.backoff * (1 << round);
        assert!(waited <= most && waited >= most.mul_f64(0.75), "{waited:?} in round {round}");
        assert_eq!(bench.kinds(), [Kind::Result]);
    }
    bench.fail(ErrorClass::Transient);
    assert_eq!(bench.outcome(waiter), "failed");
    assert!(bench.dispatcher.is_idle());
    assert_eq!(bench.dispatcher.counters().retried, 3);
    assert_eq!(bench.dispatcher.counters().failed_unwatched, 0, "somebody waited");
}

#[test]
fn the_store_says_how_long_to_leave_it_alone() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    bench.submit(&key, rendered(bench.content(&key), "done"));
    let Sent { ticket, .. } = bench.sent.remove(0);
    let failure = Failure { retry_after: Some(MINUTE), ..Failure::new(ErrorClass::Transient, "busy") };
    bench.event(Event::Answered { ticket, key: key.clone(), answer: Err(failure) });
    // A newer call for the object waits with it.
    bench.submit(&key, Call::Scheduled(bench.content(&key)));
    assert!(bench.sent.is_empty());
    bench.wake();
    assert_eq!(bench.now.since(Time::default()), MINUTE);
    assert_eq!(bench.drain(), [Kind::Result, Kind::Scheduled]);
}

#[test]
fn a_failure_that_nobody_classified_ends_after_eight_attempts() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let waiter = bench.submit(&key, Call::Rendering(bench.content(&key)));
    for _ in 0..7 {
        bench.fail(ErrorClass::Unclassified);
        assert_eq!(bench.outcome(waiter), "none");
        bench.wake();
    }
    bench.fail(ErrorClass::Unclassified);
    assert_eq!(bench.outcome(waiter), "failed");
}

#[test]
fn a_conflict_of_a_result_is_reported_and_never_retried() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let waiter = bench.submit(&key, rendered(bench.content(&key), "done"));
    let edited = bench.client(&key, &ClientUpdate::files(files("edited")));
    bench.answer();
    assert_eq!(bench.outcome(waiter), "superseded");
    assert!(bench.dispatcher.is_idle() && bench.wake_at.is_none());
    assert_eq!(bench.dispatcher.counters().conflicts, 1);
    assert_eq!(bench.store[&key], edited, "the client's write stands");
}

#[test]
fn our_own_conditions_never_conflict_with_our_own_results() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let content = bench.content(&key);
    bench.submit(&key, Call::Rendering(content));
    bench.drain();
    let waiter = bench.submit(&key, rendered(content, "done"));
    bench.drain();
    assert_eq!(bench.outcome(waiter), "executed");
    assert_eq!(bench.dispatcher.counters().conflicts, 0);
}

#[test]
fn a_call_that_fails_with_nobody_waiting_is_counted_and_leaves_the_revision_unfinished() {
    let mut bench = Bench::new(DispatchLimits { attempts: 1, ..DispatchLimits::default() });
    let key = bench.create("a");
    let call = rendered(bench.content(&key), "done");
    bench.event(Event::Submit { key: key.clone(), call, waiter: None });
    bench.fail(ErrorClass::Transient);
    let counters = bench.dispatcher.counters();
    assert_eq!((counters.failed, counters.failed_unwatched), (1, 1));
    assert_eq!(bench.gave_up.len(), 1);
    assert_eq!((&bench.gave_up[0].0, bench.gave_up[0].1), (&key, Kind::Result));
    assert!(bench.store[&key].is_unfinished(), "so the sweep finds it");
}

#[test]
fn a_newer_call_takes_the_place_of_one_that_failed() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let content = bench.content(&key);
    let first = bench.submit(&key, Call::Rendering(content));
    let second = bench.submit(&key, rendered(content, "done"));
    bench.fail(ErrorClass::Transient);
    assert_eq!([first, second].map(|waiter| bench.outcome(waiter)), ["overwritten", "none"]);
    bench.wake();
    assert_eq!(bench.drain(), [Kind::Result]);
    assert_eq!(bench.outcome(second), "executed");
}

#[test]
fn a_result_that_failed_is_not_lost_to_the_status_behind_it() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let content = bench.content(&key);
    let result = bench.submit(&key, rendered(content, "done"));
    let status = bench.submit(&key, Call::Scheduled(content));
    bench.fail(ErrorClass::Transient);
    bench.wake();
    assert_eq!(bench.drain(), [Kind::Result, Kind::Scheduled]);
    assert_eq!([result, status].map(|waiter| bench.outcome(waiter)), ["executed"; 2]);
}

#[test]
fn a_write_whose_answer_got_lost_is_no_conflict() {
    for call in [rendered as fn(_, _) -> _, |base, _: &str| failed(base)] {
        let mut bench = Bench::new(DispatchLimits::default());
        let key = bench.create("a");
        let waiter = bench.submit(&key, call(bench.content(&key), "done"));
        bench.apply(&key, &bench.sent[0].call.clone()).unwrap();
        bench.fail(ErrorClass::Transient);
        bench.wake();
        let Sent { ticket, key, call } = bench.sent.remove(0);
        let mut refusal = bench.apply(&key, &call).unwrap_err();
        assert_eq!(refusal.class, ErrorClass::Superseded);
        refusal.current = Some(Box::new(bench.store[&key].clone()));
        bench.event(Event::Answered { ticket, key: key.clone(), answer: Err(refusal) });
        assert_eq!(bench.outcome(waiter), "executed");
        assert_eq!(bench.dispatcher.counters().conflicts, 0);
        assert_eq!(bench.dispatcher.known(&key), Some(&bench.store[&key]));
    }
}

#[test]
fn the_first_refusal_is_believed() {
    // Another worker rendered what a client wrote, and it came to exactly our result.
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let waiter = bench.submit(&key, rendered(bench.content(&key), "edited"));
    let content = bench.client(&key, &ClientUpdate::files(files("edited"))).content_version;
    let theirs = bench.apply(&key, &rendered(content, "edited")).unwrap();
    let Sent { ticket, call, .. } = bench.sent.remove(0);
    let mut refusal = bench.apply(&key, &call).unwrap_err();
    refusal.current = theirs;
    bench.event(Event::Answered { ticket, key, answer: Err(refusal) });
    assert_eq!(bench.outcome(waiter), "superseded");
}

#[test]
fn success_ends_the_backoff() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let content = bench.content(&key);
    bench.submit(&key, Call::Rendering(content));
    bench.fail(ErrorClass::Transient);
    bench.wake();
    bench.drain();
    bench.submit(&key, rendered(content, "done"));
    assert_eq!(bench.kinds(), [Kind::Result], "at once");
}

#[test]
fn an_answer_that_comes_twice_changes_nothing() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let content = bench.content(&key);
    bench.submit(&key, Call::Rendering(content));
    let ticket = bench.sent[0].ticket;
    bench.drain();
    let waiter = bench.submit(&key, rendered(content, "done"));
    bench.event(Event::Answered { ticket, key: key.clone(), answer: Ok(Some(Box::new(bench.store[&key].clone()))) });
    assert_eq!(bench.outcome(waiter), "none");
    assert_eq!(bench.dispatcher.gauges().in_flight, 1);
}

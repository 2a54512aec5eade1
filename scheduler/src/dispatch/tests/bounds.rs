//! Bounds, and who goes first under them.

use super::*;

#[test]
fn calls_go_by_kind_across_objects() {
    let (mut bench, _) = throttled();
    let keys: Vec<_> = (0..5).map(|n| bench.create(&format!("{n}"))).collect();
    let content: Vec<_> = keys.iter().map(|key| bench.content(key)).collect();
    bench.submit(&keys[0], Call::Rendering(content[0]));
    bench.submit(&keys[1], Call::Cancelled(content[1], String::new()));
    bench.submit(&keys[2], Call::Delete);
    bench.submit(&keys[3], rendered(content[3], "done"));
    bench.submit(&keys[4], rendered(content[4], "done"));
    let plug = Kind::Rendering;
    assert_eq!(bench.drain(), [plug, Kind::Delete, Kind::Result, Kind::Result, Kind::Cancelled, Kind::Rendering]);
}

#[test]
fn a_call_that_waits_is_overtaken_for_a_bounded_time() {
    let (mut bench, key) = throttled();
    let ageing = DispatchLimits::default().ageing;
    let waiter = bench.submit(&key, Call::Rendering(bench.content(&key)));
    // Results without end, each of another object, one each tenth of a step.
    let mut overtaken = 0;
    for round in 0.. {
        bench.now = bench.now + ageing / 10;
        let other = bench.create(&format!("other {round}"));
        bench.submit(&other, rendered(bench.content(&other), "done"));
        bench.answer();
        if bench.outcome(waiter) != "none" {
            break;
        }
        overtaken += 1;
        assert!(round < 1_000, "for ever");
    }
    let steps = Kind::Rendering as usize - Kind::Result as usize;
    assert!((10..=10 * steps + 1).contains(&overtaken), "{overtaken}");
}

#[test]
fn a_stream_of_newer_calls_does_not_lose_the_place_in_line() {
    let (mut bench, key) = throttled();
    let content = bench.content(&key);
    bench.submit(&key, Call::Scheduled(content));
    let other = bench.create("other");
    bench.submit(&other, Call::Scheduled(bench.content(&other)));
    for call in [Call::Rendering(content), Call::Scheduled(content)] {
        bench.now = bench.now + Duration::from_millis(1);
        bench.submit(&key, call);
    }
    bench.answer();
    assert_eq!(bench.sent[0].key, key);
}

#[test]
fn no_more_than_the_bound_is_in_flight() {
    let mut bench = Bench::new(DispatchLimits { in_flight: 3, ..DispatchLimits::default() });
    for n in 0..10 {
        let key = bench.create(&format!("{n}"));
        bench.submit(&key, rendered(bench.content(&key), "done"));
    }
    let mut answered = 0;
    while !bench.sent.is_empty() {
        assert!(bench.sent.len() <= 3);
        assert_eq!(bench.dispatcher.gauges().in_flight, bench.sent.len());
        bench.answer();
        answered += 1;
    }
    assert_eq!(answered, 10);
}

#[test]
fn a_status_yields_its_place_to_a_result() {
    let limits = DispatchLimits { in_flight: 1, waiting: 3, ..DispatchLimits::default() };
    let mut bench = Bench::new(limits);
    let keys: Vec<_> = (0..6).map(|n| bench.create(&format!("{n}"))).collect();
    let content: Vec<_> = keys.iter().map(|key| bench.content(key)).collect();
    bench.submit(&keys[0], Call::Rendering(content[0]));
    let result = bench.submit(&keys[1], rendered(content[1], "done"));
    let old = bench.submit(&keys[2], Call::Rendering(content[2]));
    let last = bench.submit(&keys[3], Call::Rendering(content[3]));
    assert!(!bench.dispatcher.has_room());
    let status = bench.submit(&keys[4], Call::Rendering(content[4]));
    assert_eq!(bench.outcome(status), "failed", "no room");
    let second = bench.submit(&keys[4], rendered(content[4], "done"));
    assert_eq!([result, old, last, second].map(|waiter| bench.outcome(waiter)), ["none", "none", "failed", "none"]);
    // An object that has a place needs no other.
    let newer = bench.submit(&keys[2], rendered(content[2], "done"));
    assert_eq!((bench.outcome(old), bench.outcome(newer)), ("overwritten", "none"));
    let third = bench.submit(&keys[5], rendered(content[5], "done"));
    assert_eq!(bench.outcome(third), "failed", "no status is left to yield");
    assert_eq!(bench.dispatcher.counters().refused, 3);
    assert_eq!(bench.dispatcher.gauges().waiting, 3);
    bench.drain();
    assert_eq!([result, second, newer].map(|waiter| bench.outcome(waiter)), ["executed"; 3]);
    assert!(bench.store[&keys[5]].is_unfinished(), "the sweep finds it");
}

#[test]
fn the_bytes_of_results_are_bounded() {
    let limits = DispatchLimits { bytes: 100, ..DispatchLimits::default() };
    let mut bench = Bench::new(limits);
    let keys: Vec<_> = (0..3).map(|n| bench.create(&format!("{n}"))).collect();
    let content: Vec<_> = keys.iter().map(|key| bench.content(key)).collect();
    // Larger than the bound by itself: or it could never be saved.
    let large = bench.submit(&keys[0], rendered(content[0], &"x".repeat(200)));
    assert!(!bench.dispatcher.has_room());
    let refused = bench.submit(&keys[1], rendered(content[1], "done"));
    let status = bench.submit(&keys[1], Call::Rendering(content[1]));
    assert_eq!([large, refused, status].map(|waiter| bench.outcome(waiter)), ["none", "failed", "none"]);
    bench.drain();
    assert_eq!(bench.outcome(large), "executed");
    assert_eq!(bench.dispatcher.gauges().bytes, 0);
    let small = bench.submit(&keys[1], rendered(content[1], &"x".repeat(40)));
    let other = bench.submit(&keys[2], rendered(content[2], &"x".repeat(40)));
    // A newer result of the same object does not need room beside the one that it replaces.
    let newer = bench.submit(&keys[2], rendered(content[2], &"y".repeat(40)));
    bench.drain();
    assert_eq!([small, other, newer].map(|waiter| bench.outcome(waiter)), ["executed", "executed", "failed"]);
}

#[test]
fn the_cache_forgets_what_was_used_longest_ago() {
    let mut bench = Bench::new(DispatchLimits { cached: 2, ..DispatchLimits::default() });
    let keys: Vec<_> = (0..3).map(|n| bench.create(&format!("{n}"))).collect();
    for n in [0, 1, 0, 2] {
        let content = bench.content(&keys[n]);
        bench.submit(&keys[n], Call::Scheduled(content));
        bench.submit(&keys[n], Call::Rendering(content));
        bench.drain();
    }
    let known = [0, 1, 2].map(|n: usize| bench.dispatcher.known(&keys[n]).is_some());
    assert_eq!(known, [true, false, true]);
    assert_eq!(bench.dispatcher.gauges().cached, 2);
    // What is not known is written, not guessed.
    let waiter = bench.submit(&keys[1], Call::Rendering(bench.content(&keys[1])));
    assert_eq!(bench.drain(), [Kind::Rendering]);
    assert_eq!(bench.outcome(waiter), "executed");
}

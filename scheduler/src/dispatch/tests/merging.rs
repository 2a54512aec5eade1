//! What a newer call does to an older one. The first tests bear the names of what KEP-5229 tells of.

use super::*;

#[test]
fn a_newer_status_replaces_a_waiting_status() {
    let (mut bench, key) = throttled();
    let content = bench.content(&key);
    let first = bench.submit(&key, Call::Rendering(content));
    let second = bench.submit(&key, Call::Cancelled(content, "by request".into()));
    assert_eq!((bench.outcome(first), bench.outcome(second)), ("overwritten", "none"));
    assert_eq!(bench.drain(), [Kind::Rendering, Kind::Cancelled], "the plug's, and one call for two");
    assert_eq!(bench.outcome(second), "executed");
}

#[test]
fn a_call_in_flight_is_not_touched() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let content = bench.content(&key);
    let flying = bench.submit(&key, Call::Rendering(content));
    let waiting = bench.submit(&key, rendered(content, "done"));
    assert_eq!(bench.kinds(), [Kind::Rendering], "one in flight an object, whatever comes");
    let newer = bench.submit(&key, rendered(content, "done better"));
    assert_eq!([flying, waiting, newer].map(|w| bench.outcome(w)), ["none", "overwritten", "none"]);
    assert_eq!(bench.drain(), [Kind::Rendering, Kind::Result]);
    assert_eq!([flying, newer].map(|w| bench.outcome(w)), ["executed"; 2]);
    assert_eq!(bench.store[&key].content_digest, ContentDigest::of(&files("done better")));
}

#[test]
fn a_deletion_cancels_all_that_waits() {
    let (mut bench, key) = throttled();
    let content = bench.content(&key);
    let result = bench.submit(&key, rendered(content, "done"));
    let status = bench.submit(&key, Call::Scheduled(content));
    let deletion = bench.submit(&key, Call::Delete);
    let late = bench.submit(&key, Call::Rendering(content));
    let again = bench.submit(&key, Call::Delete);
    let outcomes = [result, status, deletion, late, again].map(|waiter| bench.outcome(waiter));
    assert_eq!(outcomes, ["overwritten", "overwritten", "overwritten", "skipped", "none"]);
    assert_eq!(bench.drain(), [Kind::Rendering, Kind::Delete]);
    assert_eq!(bench.outcome(again), "executed", "one deletion for two");
    assert!(!bench.store.contains_key(&key));
}

#[test]
fn a_deletion_that_is_learned_cancels_all_that_waits() {
    let (mut bench, key) = throttled();
    let content = bench.content(&key);
    let result = bench.submit(&key, rendered(content, "done"));
    let status = bench.submit(&key, Call::Scheduled(content));
    bench.event(Event::Deleted(key.clone()));
    assert_eq!([result, status].map(|waiter| bench.outcome(waiter)), ["gone"; 2]);
    assert_eq!(bench.drain(), [Kind::Rendering]);
    assert!(bench.dispatcher.known(&key).is_none(), "no trace");
}

#[test]
fn a_deletion_behind_a_call_in_flight() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let content = bench.content(&key);
    let flying = bench.submit(&key, Call::Rendering(content));
    bench.store.remove(&key);
    bench.event(Event::Deleted(key.clone()));
    let late = bench.submit(&key, rendered(content, "done"));
    assert_eq!([flying, late].map(|waiter| bench.outcome(waiter)), ["none", "gone"]);
    bench.answer();
    assert_eq!(bench.outcome(flying), "gone");
    assert!(bench.dispatcher.is_idle());
    assert_eq!(bench.dispatcher.gauges().cached, 0);
}

#[test]
fn a_foreign_change_is_noticed() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let content = bench.content(&key);
    bench.submit(&key, Call::Rendering(content));
    bench.drain();
    let same = bench.submit(&key, Call::Rendering(content));
    assert_eq!(bench.outcome(same), "skipped", "nothing would change");

    // Another scheduler took over for a while, and says so of the same content.
    let at = bench.at();
    let changed = rules::set_state(&bench.store[&key], content, &RenderState::Scheduled, at).unwrap().unwrap();
    bench.store.insert(key.clone(), changed.clone());
    bench.event(Event::Notified(Box::new(changed)));
    let again = bench.submit(&key, Call::Rendering(content));
    assert_eq!(bench.kinds(), [Kind::Rendering], "what would change nothing before would change something now");
    bench.drain();
    assert_eq!((bench.outcome(again), bench.state(&key)), ("executed", RenderState::Rendering));
}

#[test]
fn new_content_outdates_what_waits_for_the_old() {
    let (mut bench, key) = throttled();
    let other = bench.create("other");
    let content = bench.content(&key);
    // Known to the dispatcher since it wrote to it.
    bench.answer();
    bench.submit(&key, Call::Rendering(content));
    bench.answer();
    bench.submit(&other, Call::Rendering(bench.content(&other)));
    let result = bench.submit(&key, rendered(content, "done"));
    let status = bench.submit(&key, Call::Scheduled(content));
    let changed = bench.client(&key, &ClientUpdate::files(files("edited")));
    bench.event(Event::Notified(Box::new(changed)));
    assert_eq!(bench.outcome(result), "superseded", "reported to whoever waits for it");
    assert_eq!(bench.outcome(status), "overwritten");
    let late = bench.submit(&key, rendered(content, "done"));
    assert_eq!(bench.outcome(late), "superseded");
    assert_eq!(bench.dispatcher.counters().conflicts, 2);
    assert_eq!(bench.drain(), [Kind::Rendering], "nothing was sent for it");
}

#[test]
fn objects_are_independent() {
    let mut bench = Bench::new(DispatchLimits::default());
    let keys: Vec<_> = ["a", "b", "c"].iter().map(|name| bench.create(name)).collect();
    let content: Vec<_> = keys.iter().map(|key| bench.content(key)).collect();
    let a = bench.submit(&keys[0], Call::Rendering(content[0]));
    let b = bench.submit(&keys[1], Call::Rendering(content[1]));
    bench.submit(&keys[0], rendered(content[0], "a done"));
    bench.submit(&keys[1], Call::Delete);
    let c = bench.submit(&keys[2], rendered(content[2], "c done"));
    assert_eq!(bench.kinds(), [Kind::Rendering, Kind::Rendering, Kind::Result]);
    // One that fails holds up no other.
    bench.fail(ErrorClass::Transient);
    assert_eq!(bench.drain(), [Kind::Rendering, Kind::Result, Kind::Delete]);
    assert_eq!([a, b, c].map(|waiter| bench.outcome(waiter)), ["overwritten", "executed", "executed"]);
    assert!(!bench.store.contains_key(&keys[1]));
    bench.wake();
    assert_eq!(bench.drain(), [Kind::Result]);
    assert_eq!(bench.store[&keys[0]].content_digest, ContentDigest::of(&files("a done")));
    assert_eq!(bench.store[&keys[2]].content_digest, ContentDigest::of(&files("c done")));
}

#[test]
fn changes_nothing_is_judged_against_what_the_call_in_flight_leaves() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let content = bench.content(&key);
    bench.submit(&key, Call::Scheduled(content));
    bench.drain();
    // `Scheduled` changes nothing now, but it will, once the call in flight is done.
    bench.submit(&key, Call::Rendering(content));
    let back = bench.submit(&key, Call::Scheduled(content));
    assert_eq!(bench.outcome(back), "none");
    assert_eq!(bench.drain(), [Kind::Rendering, Kind::Scheduled]);
    assert_eq!((bench.outcome(back), bench.state(&key)), ("executed", RenderState::Scheduled));
    // And the other way round: it changes something now, and nothing any more then.
    bench.submit(&key, Call::Rendering(content));
    let same = bench.submit(&key, Call::Rendering(content));
    assert_eq!(bench.outcome(same), "none", "not before that is sure");
    assert_eq!(bench.drain(), [Kind::Rendering]);
    assert_eq!(bench.outcome(same), "skipped");
}

#[test]
fn changes_nothing_is_judged_again_when_the_call_in_flight_fails() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let content = bench.content(&key);
    bench.submit(&key, Call::Scheduled(content));
    bench.drain();
    let first = bench.submit(&key, Call::Rendering(content));
    let same = bench.submit(&key, Call::Rendering(content));
    bench.fail(ErrorClass::Permanent);
    assert_eq!((bench.outcome(first), bench.outcome(same)), ("failed", "none"), "what it hoped for did not come");
    assert_eq!(bench.drain(), [Kind::Rendering]);
    assert_eq!(bench.outcome(same), "executed");
    // What a failed call would have changed stays, so going back to it is nothing to write.
    bench.submit(&key, rendered(content, "done"));
    let same = bench.submit(&key, Call::Rendering(content));
    bench.fail(ErrorClass::Permanent);
    assert_eq!(bench.outcome(same), "skipped");
    assert!(bench.dispatcher.is_idle());
}

#[test]
fn one_more_render_asked_for_behind_a_result_follows_it() {
    for in_flight in [false, true] {
        let (mut bench, key) = throttled();
        let content = bench.content(&key);
        if in_flight {
            bench.answer();
        }
        let result = bench.submit(&key, rendered(content, "done"));
        let first = bench.submit(&key, Call::Scheduled(content));
        let second = bench.submit(&key, Call::Scheduled(content));
        assert_eq!([result, first, second].map(|waiter| bench.outcome(waiter)), ["none", "overwritten", "none"]);
        bench.drain();
        assert_eq!([result, second].map(|waiter| bench.outcome(waiter)), ["executed"; 2]);
        assert_eq!(bench.store[&key].content_digest, ContentDigest::of(&files("done")), "the files are not lost");
        assert_eq!(bench.state(&key), RenderState::Scheduled, "of what the result left");
    }
}

#[test]
fn any_other_status_behind_a_result_is_too_late() {
    let late: [fn(ContentVersion) -> Call; 3] = [
        |base| Call::Cancelled(base, String::new()),
        Call::Rendering,
        |base| Call::Waiting(base, "for another try".to_owned()),
    ];
    for (in_flight, late) in [false, true].into_iter().flat_map(|first| late.map(|late| (first, late))) {
        for call in [rendered as fn(_, _) -> _, |base, _: &str| failed(base)] {
            let (mut bench, key) = throttled();
            let content = bench.content(&key);
            if in_flight {
                bench.answer();
            }
            let result = bench.submit(&key, call(content, "done"));
            let status = bench.submit(&key, late(content));
            bench.drain();
            assert_eq!([result, status].map(|waiter| bench.outcome(waiter)), ["executed", "skipped"]);
        }
    }
    // But when the result can't be written, the cancellation stands.
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let content = bench.content(&key);
    let result = bench.submit(&key, rendered(content, "done"));
    let cancel = bench.submit(&key, Call::Cancelled(content, String::new()));
    bench.fail(ErrorClass::Permanent);
    bench.drain();
    assert_eq!([result, cancel].map(|waiter| bench.outcome(waiter)), ["failed", "executed"]);
}

#[test]
fn a_result_carries_what_a_status_would_write() {
    let (mut bench, key) = throttled();
    let content = bench.content(&key);
    let status = bench.submit(&key, Call::Rendering(content));
    let result = bench.submit(&key, failed(content));
    bench.drain();
    assert_eq!([status, result].map(|waiter| bench.outcome(waiter)), ["overwritten", "executed"]);
    let RenderState::Ended(ending) = bench.state(&key) else { panic!("it has ended") };
    assert_eq!(ending.message, "no such image");
}

#[test]
fn calls_about_older_content_have_nothing_to_add() {
    let (mut bench, key) = throttled();
    let old = bench.content(&key);
    let result = bench.submit(&key, rendered(old, "done"));
    let new = bench.client(&key, &ClientUpdate::files(files("edited"))).content_version;
    let newer = bench.submit(&key, Call::Rendering(new));
    let stale = [rendered(old, "done"), Call::Scheduled(old)].map(|call| bench.submit(&key, call));
    assert_eq!([result, newer].map(|waiter| bench.outcome(waiter)), ["overwritten", "none"]);
    assert_eq!(stale.map(|waiter| bench.outcome(waiter)), ["skipped"; 2]);
    assert_eq!(bench.drain(), [Kind::Rendering, Kind::Rendering]);
}

#[test]
fn foreign_fields_and_conditions_stay() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let foreign = Condition { kind: "Ready".into(), ..bench.store[&key].conditions[0].clone() };
    let labels = BTreeMap::from([("team".to_owned(), "red".to_owned())]);
    let content = bench.content(&key);
    bench.submit(&key, Call::Rendering(content));
    let update = ClientUpdate {
        conditions: Some(vec![foreign.clone()]),
        labels: Some(labels.clone()),
        ..ClientUpdate::default()
    };
    // While our call is in flight, and unknown to us.
    bench.client(&key, &update);
    bench.submit(&key, rendered(content, "done"));
    bench.drain();
    assert!(bench.store[&key].conditions.contains(&foreign));
    assert_eq!(bench.store[&key].labels, labels);
    let known = bench.dispatcher.known(&key).unwrap();
    assert_eq!(known, &bench.store[&key], "the answer is in the cache");
}

#[test]
fn a_notification_of_a_state_already_replaced_is_ignored() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    let content = bench.content(&key);
    let before = bench.store[&key].clone();
    bench.submit(&key, Call::Rendering(content));
    bench.drain();
    let own = bench.store[&key].clone();
    for old in [before, own.clone()] {
        bench.event(Event::Notified(Box::new(old)));
        assert_eq!(bench.dispatcher.known(&key), Some(&own));
    }
    assert_eq!(bench.dispatcher.counters().stale_notifications, 2);
    // Nor does an answer replace a notification that overtook it.
    bench.submit(&key, Call::Scheduled(content));
    let Sent { ticket, call, .. } = bench.sent.remove(0);
    let answer = bench.apply(&key, &call);
    let newer = bench.client(&key, &ClientUpdate::files(files("edited")));
    bench.event(Event::Notified(Box::new(newer.clone())));
    bench.event(Event::Answered { ticket, key: key.clone(), answer });
    assert_eq!(bench.dispatcher.known(&key), Some(&newer));
}

#[test]
fn a_notification_alone_is_not_remembered() {
    let mut bench = Bench::new(DispatchLimits::default());
    let key = bench.create("a");
    bench.event(Event::Notified(Box::new(bench.store[&key].clone())));
    assert!(bench.dispatcher.known(&key).is_none(), "it may be old, and nothing would correct it");
}

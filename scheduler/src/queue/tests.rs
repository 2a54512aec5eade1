//! What the queue promises, one promise a test; and random schedules against what must always hold.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use super::*;

type Names = Queue<String, &'static str, &'static str>;

const AGE: Duration = Duration::from_secs(30);
const MIB: u64 = 1 << 20;

fn ms(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

fn queue(slots: usize) -> Names {
    Queue::new(Settings { slots, ..Settings::default() })
}

fn request(tenant: &'static &'static str) -> Request<'static, &'static str, &'static str> {
    Request { tenant, member: &"m", priority: Priority::Normal, cost: Cost::default() }
}

fn memory(tenant: &'static &'static str, memory: u64) -> Request<'static, &'static str, &'static str> {
    Request { cost: Cost { memory, fuel: 0 }, ..request(tenant) }
}

fn priority(priority: Priority) -> Request<'static, &'static str, &'static str> {
    Request { priority, ..request(&"t") }
}

fn add(queue: &mut Names, key: &str, request: Request<'_, &'static str, &'static str>, now: Time) -> Added {
    queue.add(&key.to_owned(), request, now).unwrap()
}

/// Takes all that may run.
fn take_all(queue: &mut Names, now: Time) -> Vec<Taken<String>> {
    std::iter::from_fn(|| queue.take(now)).collect()
}

fn keys(taken: &[Taken<String>]) -> Vec<&str> {
    taken.iter().map(|taken| taken.key.as_str()).collect()
}

/// Takes and finishes one after the other.
fn order(queue: &mut Names, now: Time) -> Vec<String> {
    let one = |queue: &mut Names| {
        let taken = queue.take(now)?;
        queue.finish(taken.ticket, 0, now);
        Some(taken.key)
    };
    std::iter::from_fn(|| one(queue)).collect()
}

#[test]
fn a_key_has_one_entry() {
    let mut queue = queue(9);
    assert_eq!(add(&mut queue, "a", request(&"t"), ms(0)), Added::New);
    assert_eq!(add(&mut queue, "a", request(&"t"), ms(0)), Added::Already);
    assert_eq!(queue.len(), 1);
    assert_eq!(keys(&take_all(&mut queue, ms(0))), ["a"]);
}

#[test]
fn a_key_never_runs_twice_and_an_add_meanwhile_is_kept() {
    let mut queue = queue(9);
    add(&mut queue, "a", request(&"t"), ms(0));
    let first = queue.take(ms(0)).unwrap();
    assert_eq!(add(&mut queue, "a", request(&"t"), ms(1)), Added::Again);
    assert_eq!(add(&mut queue, "a", request(&"t"), ms(1)), Added::Again);
    assert_eq!(queue.take(ms(2)), None);
    assert_eq!(queue.lengths().again, 1);
    assert_eq!(queue.finish(first.ticket, 0, ms(3)), Finished::Again);
    let second = queue.take(ms(3)).unwrap();
    assert_eq!(queue.finish(first.ticket, 0, ms(4)), Finished::Stale);
    assert_eq!(queue.finish(second.ticket, 0, ms(4)), Finished::Done);
    assert!(queue.is_empty());
    assert_eq!(queue.finish(second.ticket, 0, ms(4)), Finished::Stale);
}

#[test]
fn first_in_first_out_within_a_member() {
    let mut queue = queue(1);
    for key in ["a", "b", "c"] {
        add(&mut queue, key, request(&"t"), ms(0));
    }
    assert_eq!(order(&mut queue, ms(0)), ["a", "b", "c"]);
}

#[test]
fn tenants_take_turns_and_their_members_do() {
    let mut queue = queue(1);
    for (key, tenant, member) in [
        ("a1", &"a", &"r1"),
        ("a2", &"a", &"r1"),
        ("a3", &"a", &"r1"),
        ("a4", &"a", &"r2"),
        ("b1", &"b", &"r1"),
        ("b2", &"b", &"r1"),
    ] {
        let request = Request { tenant, member, priority: Priority::Normal, cost: Cost::default() };
        add(&mut queue, key, request, ms(0));
    }
    assert_eq!(order(&mut queue, ms(0)), ["a1", "b1", "a4", "b2", "a2", "a3"]);
}

#[test]
fn a_newcomer_does_not_wait_for_a_flood() {
    let mut queue = queue(4);
    for n in 0..10_000 {
        add(&mut queue, &format!("flood{n}"), request(&"a"), ms(0));
    }
    let running = take_all(&mut queue, ms(0));
    add(&mut queue, "newcomer", request(&"b"), ms(1));
    queue.finish(running[0].ticket, 0, ms(50));
    queue.finish(running[1].ticket, 0, ms(50));
    let next = take_all(&mut queue, ms(50));
    assert!(keys(&next).contains(&"newcomer"), "{:?}", keys(&next));
}

#[test]
fn the_lower_classes_have_their_share() {
    let mut queue = queue(1);
    for n in 0..100 {
        add(&mut queue, &format!("high{n}"), priority(Priority::High), ms(0));
        add(&mut queue, &format!("normal{n}"), priority(Priority::Normal), ms(0));
        add(&mut queue, &format!("low{n}"), priority(Priority::Low), ms(0));
    }
    let first: Vec<String> = order(&mut queue, ms(0)).into_iter().take(26).collect();
    let count = |what: &str| first.iter().filter(|key| key.starts_with(what)).count();
    assert_eq!([count("high"), count("normal"), count("low")], [18, 6, 2]);
    assert!(first[0].starts_with("high"));
}

#[test]
fn whoever_waits_moves_up() {
    let mut queue = queue(1);
    add(&mut queue, "low", priority(Priority::Low), ms(0));
    let just_before = Time::default() + AGE + AGE;
    add(&mut queue, "high", priority(Priority::High), just_before);
    // In the highest class by now, and the first in it.
    let late = Time::default() + AGE;
    assert_eq!(queue.lengths().ready, 2);
    queue.set_slots(0);
    assert_eq!(queue.take(late), None);
    assert_eq!(queue.take(just_before), None);
    queue.set_slots(1);
    add(&mut queue, "high2", priority(Priority::High), just_before);
    assert_eq!(order(&mut queue, just_before), ["high", "low", "high2"]);
}

#[test]
fn of_several_priorities_the_most_urgent_counts() {
    let mut queue = queue(1);
    add(&mut queue, "a", priority(Priority::Low), ms(0));
    add(&mut queue, "b", priority(Priority::Normal), ms(0));
    add(&mut queue, "a", priority(Priority::High), ms(0));
    add(&mut queue, "a", priority(Priority::Low), ms(0));
    assert_eq!(order(&mut queue, ms(0)), ["a", "b"]);
}

/// Who may ask for which priority is the operator's word, not the asker's.
#[test]
fn nobody_is_in_a_higher_class_than_the_operator_allows() {
    let mut queue = queue(1);
    let bulk = Some(Quota { highest: Priority::Low, ..Quota::default() });
    assert!(queue.set_quota(&"bulk", bulk, ms(0)).is_empty());
    let of = |tenant, priority| Request { priority, ..request(tenant) };
    add(&mut queue, "pushed", of(&"bulk", Priority::High), ms(0));
    add(&mut queue, "normal", of(&"t", Priority::Normal), ms(0));
    add(&mut queue, "pushed", of(&"bulk", Priority::High), ms(0));
    assert_eq!(order(&mut queue, ms(0)), ["normal", "pushed"]);

    // What waits already, or will be ready again, is taken down when the bound is, and not when it only stays.
    add(&mut queue, "runs", of(&"u", Priority::Normal), ms(0));
    let runs = queue.take(ms(0)).unwrap();
    for key in ["runs", "urgent"] {
        add(&mut queue, key, of(&"u", Priority::High), ms(0));
    }
    queue.add_at(&"later".to_owned(), of(&"u", Priority::High), ms(5), ms(0)).unwrap();
    let normal = Some(Quota { highest: Priority::Normal, ..Quota::default() });
    assert!(queue.set_quota(&"u", normal, ms(0)).is_empty());
    let low = Some(Quota { highest: Priority::Low, ..Quota::default() });
    assert!(queue.set_quota(&"u", low, ms(0)).is_empty());
    queue.finish(runs.ticket, 0, ms(10));
    for key in ["n1", "n2"] {
        add(&mut queue, key, of(&"t", Priority::Normal), ms(10));
    }
    assert_eq!(order(&mut queue, ms(10)), ["n1", "n2", "urgent", "runs", "later"]);

    // It ages as any other does, and is not taken back for that.
    let aged = ms(10) + AGE + AGE;
    add(&mut queue, "aged", of(&"u", Priority::High), ms(10));
    queue.set_slots(0);
    assert!(queue.take(ms(10) + AGE).is_none() && queue.take(aged).is_none(), "there is no slot");
    assert!(queue.set_quota(&"u", low, aged).is_empty());
    add(&mut queue, "normal", of(&"t", Priority::Normal), aged);
    queue.set_slots(1);
    assert_eq!(order(&mut queue, aged), ["aged", "normal"]);
}

#[test]
fn of_several_delays_the_earliest_wins_and_a_real_add_overtakes() {
    let mut queue = queue(1);
    let key = "a".to_owned();
    assert_eq!(queue.add_at(&key, request(&"t"), ms(50), ms(0)), Ok(Added::New));
    assert_eq!(queue.add_at(&key, request(&"t"), ms(90), ms(0)), Ok(Added::Already));
    assert_eq!(queue.next_wake(), Some(ms(50)));
    assert_eq!(queue.add_at(&key, request(&"t"), ms(20), ms(0)), Ok(Added::Sooner));
    assert_eq!(queue.next_wake(), Some(ms(20)));
    assert_eq!(queue.take(ms(19)), None);
    assert_eq!(queue.add(&key, request(&"t"), ms(19)), Ok(Added::Sooner));
    assert_eq!(queue.next_wake(), None);
    assert!(queue.take(ms(19)).is_some());
}

#[test]
fn a_delay_can_be_put_off() {
    let mut queue = queue(1);
    let key = "a".to_owned();
    queue.add_at(&key, request(&"t"), ms(50), ms(0)).unwrap();
    assert!(queue.put_off(&key, ms(70)));
    assert!(queue.put_off(&key, ms(60)));
    assert_eq!(queue.take(ms(69)), None);
    let taken = queue.take(ms(70)).unwrap();
    assert!(!queue.put_off(&key, ms(90)));
    queue.add_at(&key, request(&"t"), ms(75), ms(70)).unwrap();
    assert!(queue.put_off(&key, ms(80)));
    queue.finish(taken.ticket, 0, ms(71));
    assert_eq!(queue.next_wake(), Some(ms(80)));
}

#[test]
fn a_forgotten_key_is_gone_and_a_running_one_does_not_come_back() {
    let mut queue = queue(1);
    let (a, b) = ("a".to_owned(), "b".to_owned());
    add(&mut queue, "a", request(&"t"), ms(0));
    queue.add_at(&b, request(&"t"), ms(9), ms(0)).unwrap();
    assert_eq!(queue.forget(&b, ms(0)), Some(State::Delayed));
    let taken = queue.take(ms(0)).unwrap();
    add(&mut queue, "a", request(&"t"), ms(0));
    assert_eq!(queue.forget(&a, ms(0)), Some(State::Running));
    assert_eq!(queue.finish(taken.ticket, 0, ms(1)), Finished::Done);
    add(&mut queue, "a", request(&"t"), ms(1));
    assert_eq!(queue.forget(&a, ms(1)), Some(State::Ready));
    assert_eq!(queue.forget(&a, ms(1)), None);
    assert!(queue.is_empty());
}

#[test]
fn a_full_queue_says_so_at_once_and_still_takes_what_it_holds() {
    let mut queue: Names = Queue::new(Settings { slots: 1, keys: 2, ..Settings::default() });
    add(&mut queue, "a", request(&"t"), ms(0));
    add(&mut queue, "b", request(&"t"), ms(0));
    assert_eq!(queue.add(&"c".to_owned(), request(&"t"), ms(0)), Err(AddError::Full { limit: 2 }));
    assert_eq!(add(&mut queue, "a", request(&"t"), ms(0)), Added::Already);
    let taken = queue.take(ms(0)).unwrap();
    assert_eq!(add(&mut queue, "a", request(&"t"), ms(0)), Added::Again);
    queue.finish(taken.ticket, 0, ms(0));
    assert_eq!(order(&mut queue, ms(0)), ["b", "a"]);
    assert_eq!(add(&mut queue, "c", request(&"t"), ms(0)), Added::New);
}

#[test]
fn a_draining_queue_gives_out_what_it_has() {
    let mut queue = queue(1);
    add(&mut queue, "a", request(&"t"), ms(0));
    add(&mut queue, "b", request(&"t"), ms(0));
    let taken = queue.take(ms(0)).unwrap();
    queue.drain();
    assert_eq!(queue.add(&"c".to_owned(), request(&"t"), ms(0)), Err(AddError::ShutDown));
    queue.finish(taken.ticket, 0, ms(0));
    assert!(!queue.is_drained());
    assert_eq!(order(&mut queue, ms(0)), ["b"]);
    assert!(queue.is_drained());
}

/// Founding document 004: "Sleep 250ms between deferred requests to not hog the CPU".
#[test]
fn a_tenant_at_its_quota_waits_in_order_and_holds_up_nobody() {
    let mut queue = queue(9);
    let none = queue.set_quota(&"a", Some(Quota { running: 1, ..Quota::default() }), ms(0));
    assert!(none.is_empty());
    for key in ["a1", "a2", "a3"] {
        add(&mut queue, key, request(&"a"), ms(0));
    }
    for key in ["b1", "b2"] {
        add(&mut queue, key, request(&"b"), ms(0));
    }
    let taken = take_all(&mut queue, ms(0));
    assert_eq!(keys(&taken), ["a1", "b1", "b2"]);
    // Nothing to do and nothing to wake up for.
    assert_eq!((queue.take(ms(1)), queue.next_wake()), (None, None));
    queue.finish(taken[1].ticket, 0, ms(1));
    assert_eq!(queue.take(ms(1)), None);
    queue.finish(taken[0].ticket, 0, ms(2));
    assert_eq!(keys(&take_all(&mut queue, ms(2))), ["a2"]);
}

/// Founding document 004: a long queue was worked on in slices of time that always began at its head.
#[test]
fn the_end_of_a_long_queue_is_reached_while_its_head_is_blocked() {
    let mut queue = queue(2);
    let quota = Some(Quota { running: 1, ..Quota::default() });
    assert!(queue.set_quota(&"blocked", quota, ms(0)).is_empty());
    for n in 0..5_000 {
        add(&mut queue, &format!("blocked{n}"), request(&"blocked"), ms(0));
    }
    add(&mut queue, "last", request(&"other"), ms(0));
    assert_eq!(keys(&take_all(&mut queue, ms(0))), ["blocked0", "last"]);
}

#[test]
fn a_tenants_memory_is_bounded_and_its_first_is_not_overtaken_by_smaller_ones() {
    let mut queue = queue(9);
    let quota = Some(Quota { memory: 10, ..Quota::default() });
    assert!(queue.set_quota(&"a", quota, ms(0)).is_empty());
    for (key, needs) in [("a1", 6), ("a2", 8), ("a3", 2)] {
        add(&mut queue, key, memory(&"a", needs), ms(0));
    }
    let first = take_all(&mut queue, ms(0));
    assert_eq!(keys(&first), ["a1"]);
    assert_eq!(queue.lengths().at_quota, 1);
    queue.finish(first[0].ticket, 0, ms(1));
    assert_eq!(keys(&take_all(&mut queue, ms(1))), ["a2", "a3"]);
}

#[test]
fn a_large_one_reserves_its_memory_while_small_ones_use_what_is_left_beside_it() {
    let mut queue: Names = Queue::new(Settings { slots: 9, memory: 10, ..Settings::default() });
    add(&mut queue, "s1", memory(&"small", 5), ms(0));
    add(&mut queue, "large", memory(&"large", 8), ms(0));
    let first = take_all(&mut queue, ms(0));
    assert_eq!(keys(&first), ["s1"]);
    // Ever more small ones: two of memory is what the large one leaves.
    for n in 0..5 {
        add(&mut queue, &format!("t{n}"), memory(&"small", 1), ms(1));
    }
    let beside = take_all(&mut queue, ms(1));
    assert_eq!(keys(&beside), ["t0", "t1"]);
    assert_eq!(queue.lengths().reserving, 2);
    queue.finish(first[0].ticket, 0, ms(2));
    let second = take_all(&mut queue, ms(2));
    assert_eq!(keys(&second), ["large"]);
    assert_eq!(queue.memory(), 10);
    queue.finish(second[0].ticket, 0, ms(3));
    assert_eq!(keys(&take_all(&mut queue, ms(3))), ["t2", "t3", "t4"]);
}

/// Founding document 004: paused requests were resumed last in, first out.
#[test]
fn of_several_paused_items_the_earliest_resumes_first() {
    let mut queue: Names = Queue::new(Settings { slots: 9, memory: 10, ..Settings::default() });
    add(&mut queue, "first", memory(&"a", 10), ms(0));
    let first = queue.take(ms(0)).unwrap();
    add(&mut queue, "second", memory(&"b", 9), ms(1));
    add(&mut queue, "third", memory(&"c", 8), ms(2));
    add(&mut queue, "fourth", memory(&"d", 7), ms(3));
    assert!(take_all(&mut queue, ms(4)).is_empty());
    let mut before = first;
    for expected in ["second", "third", "fourth"] {
        queue.finish(before.ticket, 0, ms(5));
        let mut next = take_all(&mut queue, ms(5));
        assert_eq!(keys(&next), [expected]);
        before = next.remove(0);
    }
}

/// Founding document 004: requests that nobody can serve waited while the provider was paused.
#[test]
fn an_item_that_nobody_can_serve_is_refused_even_while_paused() {
    let mut queue: Names = Queue::new(Settings { slots: 0, memory: 10, ..Settings::default() });
    let never = queue.add(&"a".to_owned(), memory(&"t", 11), ms(0));
    assert_eq!(never, Err(AddError::Never { resource: Resource::Memory, wanted: 11, most: 10 }));
    let fuel = Some(Fuel { per_second: 5, most: 50 });
    assert!(queue.set_quota(&"t", Some(Quota { fuel, ..Quota::default() }), ms(0)).is_empty());
    let request = Request { cost: Cost { memory: 0, fuel: 51 }, ..request(&"t") };
    let never = queue.add(&"a".to_owned(), request, ms(0));
    assert_eq!(never, Err(AddError::Never { resource: Resource::Fuel, wanted: 51, most: 50 }));
    assert!(queue.is_empty());
}

#[test]
fn what_new_settings_make_impossible_is_given_back() {
    let mut queue: Names = Queue::new(Settings { slots: 9, memory: 10, ..Settings::default() });
    add(&mut queue, "a", memory(&"t", 9), ms(0));
    add(&mut queue, "b", memory(&"t", 4), ms(0));
    add(&mut queue, "c", memory(&"t", 9), ms(0));
    let running = queue.take(ms(0)).unwrap();
    assert!(queue.take(ms(0)).is_none());
    let gone = queue.set_settings(Settings { slots: 9, memory: 5, ..Settings::default() }, ms(0));
    assert_eq!(gone, ["c"]);
    queue.finish(running.ticket, 0, ms(0));
    assert_eq!(order(&mut queue, ms(0)), ["b"]);
    add(&mut queue, "d", memory(&"t", 4), ms(0));
    assert_eq!(queue.set_quota(&"t", Some(Quota { running: 0, ..Quota::default() }), ms(0)), ["d"]);
}

#[test]
fn fuel_is_paid_at_the_end_and_waited_for_without_polling() {
    let mut queue = queue(1);
    let quota = Quota { fuel: Some(Fuel { per_second: 10, most: 100 }), ..Quota::default() };
    assert!(queue.set_quota(&"a", Some(quota), ms(0)).is_empty());
    add(&mut queue, "a1", request(&"a"), ms(0));
    add(&mut queue, "a2", request(&"a"), ms(0));
    add(&mut queue, "b1", request(&"b"), ms(0));
    let first = queue.take(ms(0)).unwrap();
    queue.finish(first.ticket, 119, ms(0));
    // 19 too many; one more is needed to begin.
    assert_eq!(queue.take(ms(0)).unwrap().key, "b1");
    queue.set_slots(2);
    assert_eq!(queue.take(ms(1)), None);
    assert_eq!(queue.next_wake(), Some(ms(2000)));
    assert_eq!(queue.take(ms(1999)), None);
    assert_eq!(queue.take(ms(2000)).unwrap().key, "a2");
}

#[test]
fn fuel_is_not_forgotten_with_the_last_key_and_is_in_the_end() {
    let mut queue = queue(1);
    let fuel = Some(Fuel { per_second: 10, most: 100 });
    assert!(queue.set_quota(&"a", Some(Quota { fuel, ..Quota::default() }), ms(0)).is_empty());
    add(&mut queue, "a1", request(&"a"), ms(0));
    let first = queue.take(ms(0)).unwrap();
    queue.finish(first.ticket, 150, ms(0));
    assert!(queue.is_empty());
    add(&mut queue, "a1", request(&"a"), ms(1000));
    assert_eq!(queue.take(ms(1000)), None);
    queue.forget(&"a1".to_owned(), ms(1000));
    assert_eq!(queue.take(ms(60_000)), None);
    assert_eq!(queue.next_wake(), None);
    assert_eq!(queue.groups.iter().count(), 0);
}

/// Founding document 003: idle workers cost nothing.
#[test]
fn an_empty_queue_gives_its_memory_back() {
    let mut queue = queue(1);
    for n in 0..5_000 {
        add(&mut queue, &format!("k{n}"), request(&"t"), ms(0));
    }
    assert_eq!(order(&mut queue, ms(0)).len(), 5_000);
    assert_eq!((queue.entries.bound(), queue.keys.capacity()), (0, 0));
}

#[derive(Debug, Clone)]
enum Step {
    Add { key: u8, priority: u8, memory: u64, delay: u64 },
    PutOff(u8, u64),
    Forget(u8),
    Take,
    Finish { which: usize, fuel: u64 },
    Wait(u64),
    Slots(usize),
    Quota { tenant: u8, running: u32, memory: u64, fuel: bool },
    Memory(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..40u8, 0..3u8, 0..10 * MIB, prop_oneof![Just(0), 0..200u64])
            .prop_map(|(key, priority, memory, delay)| Step::Add { key, priority, memory, delay }),
        1 => (0..40u8, 0..200u64).prop_map(|(key, delay)| Step::PutOff(key, delay)),
        1 => (0..40u8).prop_map(Step::Forget),
        6 => Just(Step::Take),
        5 => (0..9usize, 0..2_000u64).prop_map(|(which, fuel)| Step::Finish { which, fuel }),
        2 => (0..60_000u64).prop_map(Step::Wait),
        1 => (0..6usize).prop_map(Step::Slots),
        1 => (0..4u8, 0..4u32, 0..30 * MIB, any::<bool>())
            .prop_map(|(tenant, running, memory, fuel)| Step::Quota { tenant, running, memory, fuel }),
        1 => (0..40 * MIB).prop_map(Step::Memory),
    ];
    prop::collection::vec(step, 1..300)
}

/// What must be so, kept as plainly as possible.
#[derive(Default)]
struct Model {
    waiting: BTreeSet<u8>,
    running: BTreeMap<u8, (Ticket, u8, u64, bool)>,
    memory_of: BTreeMap<u8, u64>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Whatever happens: no key runs twice, no bound is exceeded when something starts, nothing is lost, and when
    /// everything that runs ends and time passes, everything is served.
    #[test]
    fn nothing_is_lost_and_no_bound_is_exceeded(steps in steps()) {
        let mut queue: Queue<u8, u8, u8> = Queue::new(Settings { slots: 3, memory: 20 * MIB, keys: 30, ..Settings::default() });
        let mut model = Model::default();
        let mut now = ms(0);

        for step in steps {
            match step {
                Step::Add { key, priority, memory, delay } => {
                    let tenant = key % 4;
                    let priority = [Priority::Low, Priority::Normal, Priority::High][usize::from(priority)];
                    let request = Request { tenant: &tenant, member: &(key % 3), priority, cost: Cost { memory, fuel: 0 } };
                    let added = queue.add_at(&key, request, now + Duration::from_millis(delay), now);
                    let known = model.waiting.contains(&key) || model.running.contains_key(&key);
                    match added {
                        Ok(Added::New) => { prop_assert!(!known); model.waiting.insert(key); }
                        Ok(Added::Again) => model.running.get_mut(&key).unwrap().3 = true,
                        Ok(_) => prop_assert!(model.waiting.contains(&key)),
                        Err(AddError::Full { .. }) => prop_assert!(!known && queue.len() == 30),
                        Err(AddError::Never { .. }) => {}
                        Err(AddError::ShutDown) => unreachable!(),
                    }
                    if added.is_ok() && !matches!(queue.state(&key), Some((State::AtQuota | State::Reserving | State::Granted, _))) {
                        model.memory_of.insert(key, memory);
                    }
                }
                Step::PutOff(key, delay) => { queue.put_off(&key, now + Duration::from_millis(delay)); }
                Step::Forget(key) => {
                    let was = queue.forget(&key, now);
                    if let Some(running) = model.running.get_mut(&key) {
                        prop_assert_eq!(was, Some(State::Running));
                        running.3 = false;
                    } else {
                        prop_assert_eq!(was.is_some(), model.waiting.remove(&key));
                    }
                }
                Step::Take => if let Some(taken) = queue.take(now) {
                    prop_assert!(model.waiting.remove(&taken.key));
                    let memory = model.memory_of[&taken.key];
                    model.running.insert(taken.key, (taken.ticket, taken.key % 4, memory, false));
                    prop_assert!(model.running.len() <= queue.settings().slots);
                },
                Step::Finish { which, fuel } => {
                    let Some(key) = model.running.keys().copied().nth(which) else { continue };
                    let (ticket, _, _, again) = model.running.remove(&key).unwrap();
                    let finished = queue.finish(ticket, fuel, now);
                    prop_assert_eq!(finished, if again { Finished::Again } else { Finished::Done });
                    if again { model.waiting.insert(key); }
                    prop_assert_eq!(queue.finish(ticket, fuel, now), Finished::Stale);
                }
                Step::Wait(time) => now = now + Duration::from_millis(time),
                Step::Slots(slots) => queue.set_slots(slots),
                Step::Quota { tenant, running, memory, fuel } => {
                    let fuel = fuel.then_some(Fuel { per_second: 100, most: 1000 });
                    for key in queue.set_quota(&tenant, Some(Quota { running, memory, fuel, ..Quota::default() }), now) {
                        prop_assert!(model.waiting.remove(&key));
                    }
                }
                Step::Memory(memory) => {
                    let settings = Settings { memory, ..queue.settings().clone() };
                    for key in queue.set_settings(settings, now) {
                        prop_assert!(model.waiting.remove(&key));
                    }
                }
            }
            let lengths = queue.lengths();
            prop_assert_eq!(lengths.waiting(), model.waiting.len());
            prop_assert_eq!(lengths.running, model.running.len());
            prop_assert_eq!(queue.len(), model.waiting.len() + model.running.len());
        }
        // Everything ends: all that waits is served, each key once, within its bounds.
        for key in 0..4 {
            let quota = Quota { running: 2, memory: 12 * MIB, ..Quota::default() };
            for gone in queue.set_quota(&key, Some(quota), now) { prop_assert!(model.waiting.remove(&gone)); }
        }
        let settings = Settings { slots: 3, memory: 20 * MIB, keys: 30, ..Settings::default() };
        for gone in queue.set_settings(settings, now) { prop_assert!(model.waiting.remove(&gone)); }
        for (key, (ticket, _, _, again)) in std::mem::take(&mut model.running) {
            queue.finish(ticket, 0, now);
            if again { model.waiting.insert(key); }
        }
        while !model.waiting.is_empty() || !model.running.is_empty() {
            let before = (model.waiting.len(), model.running.len());
            while let Some(taken) = queue.take(now) {
                prop_assert!(model.waiting.remove(&taken.key));
                let memory = model.memory_of[&taken.key];
                model.running.insert(taken.key, (taken.ticket, taken.key % 4, memory, false));
                prop_assert!(model.running.len() <= 3);
                prop_assert!(model.running.values().map(|r| r.2).sum::<u64>() <= 20 * MIB);
                for tenant in 0..4 {
                    let of = || model.running.values().filter(move |r| r.1 == tenant);
                    prop_assert!(of().count() <= 2);
                    prop_assert!(of().map(|r| r.2).sum::<u64>() <= 12 * MIB);
                }
            }
            if let Some(key) = model.running.keys().next().copied() {
                let (ticket, ..) = model.running.remove(&key).unwrap();
                queue.finish(ticket, 0, now);
            } else {
                let next = queue.next_wake();
                prop_assert!(next.is_some(), "{} wait and nothing will wake them", model.waiting.len());
                now = next.unwrap();
                prop_assert!(before.1 == 0);
            }
        }
        prop_assert!(queue.is_empty());
        prop_assert_eq!(queue.memory(), 0);
    }

    /// Between two turns of a waiting tenant, each other tenant has at most one.
    #[test]
    fn overtaking_is_bounded(load in prop::collection::vec((0..5u8, 0..3u8), 1..120)) {
        let mut queue: Queue<usize, u8, u8> = Queue::new(Settings { slots: 1, ..Settings::default() });
        for (key, (tenant, member)) in load.iter().enumerate() {
            let request = Request { tenant, member, priority: Priority::Normal, cost: Cost::default() };
            queue.add(&key, request, ms(0)).unwrap();
        }
        let mut left: BTreeMap<u8, usize> = BTreeMap::new();
        for (tenant, _) in &load { *left.entry(*tenant).or_default() += 1; }
        let mut since: BTreeMap<u8, BTreeMap<u8, usize>> = BTreeMap::new();
        while let Some(taken) = queue.take(ms(0)) {
            let tenant = load[taken.key].0;
            queue.finish(taken.ticket, 0, ms(0));
            *left.get_mut(&tenant).unwrap() -= 1;
            since.remove(&tenant);
            for other in left.iter().filter(|(other, left)| **other != tenant && **left > 0).map(|(other, _)| *other) {
                let turns = since.entry(other).or_default().entry(tenant).or_default();
                *turns += 1;
                prop_assert!(*turns <= 1, "tenant {} had two turns while {} waited", tenant, other);
            }
        }
        prop_assert!(left.values().all(|left| *left == 0));
    }
}

//! The queue with 1,000,000 keys of 10,000 tenants: processor time an operation, bytes a key.
//!
//! `cargo bench -p portico-scheduler --no-default-features --bench queue`
#![expect(clippy::print_stdout, reason = "its output is what it is for")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

mod counting;

use std::sync::Arc;

use portico_scheduler::model::{Priority, RevisionKey};
use portico_scheduler::queue::{Cost, Queue, Request, Settings};
use portico_scheduler::time::Time;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

const KEYS: usize = 1_000_000;
const TENANTS: usize = 10_000;

type Renders = Queue<RevisionKey, Arc<str>, Arc<str>>;

fn main() {
    let namespaces: Vec<Arc<str>> = (0..TENANTS / 10).map(|n| format!("namespace-{n:05}").into()).collect();
    let repositories: Vec<Arc<str>> = (0..10).map(|n| format!("repository-{n}").into()).collect();
    let key = |n: usize| RevisionKey {
        namespace: Arc::clone(&namespaces[n % namespaces.len()]),
        name: format!("package-{n:07}.v1").into(),
        uid: format!("6f1c2c1e-{:04x}-4a5e-9d0f-{n:012x}", n & 0xffff).into(),
    };
    let add = |queue: &mut Renders, key: &RevisionKey, n: usize| {
        let request = Request {
            tenant: &key.namespace,
            member: &repositories[n / namespaces.len() % repositories.len()],
            priority: Priority::Normal,
            cost: Cost { memory: 64 << 20, fuel: 0 },
        };
        queue.add(key, request, Time::default()).expect("there is room");
    };

    // Bytes: the keys come into being one by one, and the queue is the only one to hold them.
    let mut queue = Queue::new(Settings { keys: KEYS, slots: 4, ..Settings::default() });
    let before = counting::held();
    for n in 0..KEYS {
        add(&mut queue, &key(n), n);
    }
    let held = counting::held() - before;
    println!("held by {KEYS} keys of {TENANTS} tenants: {:.0} bytes a key, its own text among them", per(held, KEYS));
    drop(queue);
    let keys: Vec<RevisionKey> = (0..KEYS).map(key).collect();
    let mut queue = Queue::new(Settings { keys: KEYS, slots: 4, ..Settings::default() });
    let before = counting::held();
    let started = processor_seconds();
    for (n, key) in keys.iter().enumerate() {
        add(&mut queue, key, n);
    }
    let adding = processor_seconds() - started;
    println!("without the text: {:.0} bytes a key", per(counting::held() - before, KEYS));
    let started = processor_seconds();
    let mut taken = 0;
    while let Some(next) = queue.take(Time::default()) {
        queue.finish(next.ticket, 0, Time::default());
        taken += 1;
    }
    let taking = processor_seconds() - started;
    assert_eq!(taken, KEYS);
    let rate = |seconds: f64| KEYS as f64 / seconds / 1e6;
    println!("add: {:.2} million a second", rate(adding));
    println!("take and finish: {:.2} million a second", rate(taking));
    println!("add, take and finish: {:.2} million a second", rate(adding + taking));

    // A full queue at work: each key that is finished is added again.
    for (n, key) in keys.iter().enumerate() {
        add(&mut queue, key, n);
    }
    let place: std::collections::HashMap<&RevisionKey, usize> = keys.iter().zip(0..).collect();
    let started = processor_seconds();
    for _ in 0..KEYS {
        let next = queue.take(Time::default()).expect("a million wait");
        queue.finish(next.ticket, 0, Time::default());
        add(&mut queue, &next.key, place[&next.key]);
    }
    let turns = processor_seconds() - started;
    println!("take, finish and add with {KEYS} waiting: {:.2} million a second", rate(turns));
    println!("held when all is done: {} bytes", {
        while let Some(next) = queue.take(Time::default()) {
            queue.finish(next.ticket, 0, Time::default());
        }
        counting::held() - before.min(counting::held())
    });
}

/// What this thread has had of a processor, in seconds: other work on the machine does not count.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).expect("nanoseconds first") / 1e9
}

fn per(all: usize, count: usize) -> f64 {
    all as f64 / count as f64
}

//! Time, the network, the store, and what goes wrong.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use portico_scheduler::core::{Ended, Event, Failure, Outcome, RunId};
use portico_scheduler::model::{Ending, ErrorClass, Reason, Revision, RevisionKey};
use portico_scheduler::store::memory::{Fault, FaultPlan, Operation, Point};
use portico_scheduler::store::{Change, Clock, MemoryStore, PackageStore as _, Select, StoreLimits};
use portico_scheduler::time::Time;

use super::network::ask;
use super::node::{Answer, Node, Op, Output, millis};
use super::oracle::{Nature, Oracle, nature, rendered};
use super::plan::Plan;

const LEASE: Duration = Duration::from_secs(15);
const BEAT: Duration = Duration::from_secs(5);
const SWEEP: Duration = Duration::from_mins(5);
/// How long everything may take to end once all is well: the longest backoff, two sweeps, and the renders.
const AFTERWARDS: Duration = Duration::from_mins(40);

/// The clock of the store: the world's.
#[derive(Debug, Default)]
struct VirtualTime(AtomicU64);

impl Clock for VirtualTime {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What the world has planned for some time.
#[derive(Debug)]
pub(crate) enum What {
    Client,
    Edit(RevisionKey),
    Cancel(RevisionKey),
    Unpropose(RevisionKey),
    Fault,
    Return(usize),
    Heal(usize),
    OutageEnds,
    Inspect,
    /// A message arrives at the store.
    Arrives(Address, Op),
    Answered(Address, Answer),
    Told(Address, Change),
    Later(Address, Op),
    RenderEnds(Address, RunId, u32),
    WakeCore(Address),
    WakeDispatcher(Address),
    Beat(Address),
    Sweep(Address),
}

/// A scheduler in one of its lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    pub(super) node: usize,
    pub(super) life: u64,
}

/// What happened, in numbers. Two runs of one plan have the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Summary {
    pub(crate) changes: u64,
    pub(crate) deletions: u64,
    pub(crate) cancellations: u64,
    pub(crate) proposed: u64,
    pub(crate) renders: u64,
    pub(crate) saved: u64,
    pub(crate) conflicts: u64,
    pub(crate) superseded: u64,
    pub(crate) messages: u64,
    pub(crate) crashes: u64,
    pub(crate) cuts: u64,
    pub(crate) outages: u64,
    /// Turning points by reason.
    pub(crate) told: BTreeMap<&'static str, u64>,
    /// Of everything that happened, in order.
    pub(crate) hash: u64,
}

pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) random: fastrand::Rng,
    pub(crate) now: Time,
    agenda: BTreeMap<(Time, u64), What>,
    sequence: u64,
    clock: Arc<VirtualTime>,
    pub(crate) truth: MemoryStore,
    pub(crate) nodes: Vec<Node>,
    pub(crate) oracle: Oracle,
    pub(crate) keys: Vec<Option<RevisionKey>>,
    pub(crate) configuration: u64,
    pub(super) outage: bool,
    /// Clients and faults are at work.
    pub(crate) busy: bool,
    /// When the store last forgot who was registered.
    pub(super) forgot: Time,
    pub(crate) summary: Summary,
    recent: VecDeque<String>,
    print: bool,
}

/// Prints what is needed to have a failed run again.
impl Drop for World {
    #[expect(clippy::print_stderr, reason = "a failed test talks to a person")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            for line in &self.recent {
                eprintln!("{line}");
            }
            eprintln!(
                "{:?}\nthe simulation failed at {:?}; again: PORTICO_SIMULATION='{}'",
                self.summary, self.now, self.plan
            );
        }
    }
}

impl World {
    pub(crate) fn new(plan: Plan) -> Self {
        let clock = Arc::new(VirtualTime::default());
        let limits = StoreLimits { history: 3, events: 1, ..StoreLimits::default() };
        let truth = MemoryStore::new(clock.clone(), limits, LEASE);
        let mut world = Self {
            random: fastrand::Rng::with_seed(plan.seed),
            now: Time::default(),
            agenda: BTreeMap::new(),
            sequence: 0,
            clock,
            truth,
            nodes: Vec::new(),
            oracle: Oracle::default(),
            keys: vec![None; plan.packages],
            configuration: 1,
            outage: false,
            busy: true,
            forgot: Time::default(),
            summary: Summary::default(),
            recent: VecDeque::new(),
            print: std::env::var_os("PORTICO_SIMULATION_TRACE").is_some(),
            plan,
        };
        for index in 0..world.plan.nodes {
            let node = world.node(index, 0);
            world.nodes.push(node);
            world.begin(index);
        }
        world.at(Duration::ZERO, What::Client);
        world.at(Duration::from_mins(10), What::Inspect);
        if world.plan.faults {
            world.at(Duration::from_mins(1), What::Fault);
        }
        world
    }

    fn node(&mut self, index: usize, life: u64) -> Node {
        let seed = self.random.u64(..);
        let mut faults = FaultPlan::seeded(seed);
        if self.plan.faults {
            for operation in [Operation::Get, Operation::Revision] {
                faults = faults.by_chance(Point::Before(operation), 0.03, Fault::StaleRead(3));
            }
            faults = faults.by_chance(Point::Before(Operation::Get), 0.01, Fault::PartialRead);
        }
        Node::new(&format!("node {index}"), life, seed, self.truth.session(faults), self.configuration)
    }

    fn begin(&mut self, index: usize) {
        let to = self.address(index);
        let first = self.spread(BEAT);
        self.at(first, What::Beat(to));
        let first = self.spread(SWEEP);
        self.at(first, What::Sweep(to));
    }

    pub(super) fn address(&self, index: usize) -> Address {
        Address { node: index, life: self.nodes[index].life }
    }

    pub(crate) fn at(&mut self, delay: Duration, what: What) {
        self.sequence += 1;
        self.agenda.insert((self.now + delay, self.sequence), what);
    }

    /// A time between nothing and this.
    pub(crate) fn spread(&mut self, most: Duration) -> Duration {
        most.mul_f64(self.random.f64())
    }

    /// A time around this, now and then a much longer one.
    pub(crate) fn around(&mut self, mean: Duration) -> Duration {
        mean.mul_f64(-(1.0 - self.random.f64()).ln())
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.random.f64() < probability
    }

    /// Something goes wrong with this probability, as long as things go wrong.
    pub(super) fn fault(&mut self, probability: f64) -> bool {
        self.plan.faults && self.busy && self.chance(probability)
    }

    /// Writes down what happens, for the one who reads a failed run, and for comparing two.
    fn note(&mut self, what: &What) {
        let mut line = Line(String::new());
        let at = self.now.since(Time::default());
        // The end of a line that is too long is left out.
        let _ = write!(line, "{:>8}.{:06} {what:?}", at.as_secs(), at.subsec_micros());
        let line = line.0;
        for byte in line.bytes() {
            self.summary.hash = (self.summary.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if self.print {
            print_line(&line);
        }
        self.recent.push_back(line);
        if self.recent.len() > 100 {
            self.recent.pop_front();
        }
    }

    pub(crate) fn run(mut self) -> Summary {
        let end = Time::default() + self.plan.length;
        while let Some(((at, _), what)) = self.agenda.pop_first() {
            if self.busy && at > end {
                self.now = end;
                self.all_is_well();
            }
            if at > end + AFTERWARDS {
                break;
            }
            self.now = self.now.max(at);
            self.clock.0.store(millis(self.now), Ordering::Relaxed);
            self.note(&what);
            self.happens(what);
        }
        self.settled();
        std::mem::take(&mut self.summary)
    }

    fn happens(&mut self, what: What) {
        match what {
            What::Client => {
                if self.busy {
                    self.client();
                }
            }
            What::Edit(key) => self.edit(&key),
            What::Cancel(key) => self.cancel(key),
            What::Unpropose(key) => self.unpropose(&key),
            What::Fault => self.strike(),
            What::Return(index) => {
                let life = self.nodes[index].life;
                self.nodes[index] = self.node(index, life);
                self.begin(index);
            }
            What::Heal(index) => self.heal(index),
            What::OutageEnds => self.outage = false,
            What::Inspect => self.inspect(),
            What::Arrives(from, op) => self.arrives(from, op),
            What::Later(from, op) => {
                if self.lives(from) {
                    self.send(from, op);
                }
            }
            What::Answered(to, answer) => self.with(to, |node, now| node.answered(answer, now)),
            What::Told(to, change) => {
                if !self.nodes[to.node].cut {
                    self.with(to, |node, now| node.notified(&change, now));
                }
            }
            What::RenderEnds(to, run, turn) => self.render_ends(to, run, turn),
            What::WakeCore(to) => self.with(to, |node, now| node.event(Event::Tick, now)),
            What::WakeDispatcher(to) => self.with(to, Node::tick_dispatcher),
            What::Beat(to) => {
                if self.lives(to) {
                    self.at(BEAT, What::Beat(to));
                    self.with(to, Node::beat);
                }
            }
            What::Sweep(to) => {
                if self.lives(to) {
                    self.at(SWEEP, What::Sweep(to));
                    self.with(to, Node::sweep);
                }
            }
        }
    }

    pub(super) fn lives(&self, address: Address) -> bool {
        let node = &self.nodes[address.node];
        node.up && node.life == address.life
    }

    /// Lets a scheduler act, and does what it wants done.
    pub(crate) fn with(&mut self, to: Address, act: impl FnOnce(&mut Node, Time) -> Vec<Output>) {
        if !self.lives(to) {
            return;
        }
        for output in act(&mut self.nodes[to.node], self.now) {
            match output {
                Output::Send(op) => self.send(to, op),
                Output::Later(delay, op) => self.at(delay, What::Later(to, op)),
                Output::Render(run) => self.render_begins(to, run),
                Output::Stop(run) => {
                    let running = self.nodes[to.node].runs.get_mut(&run).expect("only what runs is stopped");
                    running.turn += 1;
                    let (rendering, turn) = (running.rendering, running.turn);
                    if rendering {
                        let delay = self.spread(Duration::from_millis(10));
                        self.at(delay, What::RenderEnds(to, run, turn));
                    }
                }
                Output::WakeCore(at) => self.at(at.since(self.now), What::WakeCore(to)),
                Output::WakeDispatcher(at) => self.at(at.since(self.now), What::WakeDispatcher(to)),
                Output::Register => {
                    let registration = self.nodes[to.node].registration();
                    self.send(to, Op::Register(registration));
                }
            }
        }
        self.nodes[to.node].check();
    }

    pub(crate) fn each(&mut self, mut act: impl FnMut(&mut Node, Time) -> Vec<Output>) {
        for index in 0..self.nodes.len() {
            let to = self.address(index);
            self.with(to, &mut act);
        }
    }

    fn render_begins(&mut self, to: Address, run: RunId) {
        let node = &self.nodes[to.node];
        let running = &node.runs[&run];
        let key = running.key.clone();
        assert!(node.may_work(self.now) || self.plan.faults);
        // Nobody else renders it who has, and knows that it has, the right to.
        for (index, other) in self.nodes.iter().enumerate().filter(|(index, other)| *index != to.node && other.up) {
            let epoch = other.me.as_ref().map_or(0, |me| me.epoch);
            let holds = other.runs.values().any(|theirs| {
                let held = theirs.claim.as_ref().is_some_and(|(_, of, since)| *of == epoch && *since > self.forgot);
                theirs.key == key && theirs.rendering && held
            });
            assert!(!holds || !other.may_work(self.now), "`{key}` is rendered by nodes {} and {index}", to.node);
        }
        self.summary.renders += 1;
        let turn = running.turn;
        let time = match self.random.u32(..100) {
            0 => self.spread(Duration::from_mins(1)),
            1..20 => self.spread(Duration::from_secs(5)),
            _ => self.spread(Duration::from_millis(600)),
        };
        self.at(time, What::RenderEnds(to, run, turn));
    }

    fn render_ends(&mut self, to: Address, run: RunId, turn: u32) {
        if !self.lives(to) {
            return;
        }
        let Some(running) = self.nodes[to.node].runs.get(&run) else { return };
        if running.turn != turn {
            return;
        }
        let files = running.content.as_ref().expect("it renders").files.clone();
        let configuration = self.nodes[to.node].configuration;
        let stopped = turn > 0 && self.chance(0.9);
        let broken = |class, text: &str| Outcome::Broken(Failure::new(class, text));
        let outcome = if stopped {
            Outcome::Cancelled
        } else if self.fault(0.02) {
            broken(ErrorClass::Transient, "no more memory just now")
        } else if self.fault(0.01) {
            broken(ErrorClass::Unclassified, "something went wrong")
        } else {
            match nature(&files) {
                Nature::Bad => {
                    let ending = Ending::failure(Reason::RenderFailed, "set-labels: no such label");
                    Outcome::Rendered { ending, files: None }
                }
                Nature::Needs(wanted) if wanted > configuration => broken(ErrorClass::Permanent, "no such function"),
                _ => Outcome::Rendered { ending: Ending::success(), files: Some(rendered(&files)) },
            }
        };
        let ended = Ended { outcome, log: Bytes::from_static(b"log"), fuel: 1 };
        self.with(to, |node, now| node.event(Event::Ended { run, ended, digest: None }, now));
    }

    pub(crate) fn revisions(&self) -> Vec<Revision> {
        ask(true, self.truth.page(Select::All, None, 1000)).expect("the truth is at hand").revisions
    }

    /// Looks whether all is as it must be in the middle of everything.
    fn inspect(&mut self) {
        self.at(Duration::from_mins(10), What::Inspect);
        let revisions = self.revisions();
        assert_eq!(revisions.len(), self.oracle.packages());
        for revision in revisions {
            self.oracle.patient(&revision, self.now);
        }
    }

    /// Looks whether everything has come to its end.
    fn settled(&mut self) {
        for revision in self.revisions() {
            let there = ask(true, self.truth.get(&revision.key)).expect("it is there").files;
            self.oracle.settled(&revision, &there);
        }
        for node in &self.nodes {
            assert!(node.up && node.may_work(self.now));
            assert!(node.core.is_idle(), "something is left: {:?}", node.core);
            assert!(node.dispatcher.is_idle(), "something is left: {:?}", node.dispatcher);
            assert!(node.runs.is_empty());
        }
        for index in 0..self.nodes.len() {
            self.count(index);
        }
        assert_eq!(self.truth.claims_held(), 0, "a claim is left held");
        self.summary.saved = self.oracle.results;
    }
}

/// A line of bounded length: formatting stops where it is full.
struct Line(String);

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() > 500 {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[expect(clippy::print_stderr, reason = "asked for by a person")]
fn print_line(line: &str) {
    eprintln!("{line}");
}

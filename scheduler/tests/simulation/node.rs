//! A scheduler: the pure core and the pure dispatcher, and what a driver does around them.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use portico_scheduler::core::{self, Acquired, Core, Failure, RunId, SaveId};
use portico_scheduler::dispatch::{self, Call, DispatchLimits, Dispatcher, Ticket, Waiter};
use portico_scheduler::events::{EventLimits, EventSink, Recorder, Ring, TurningPoint};
use portico_scheduler::model::{ErrorClass, Reason, RenderState, Revision, RevisionKey};
use portico_scheduler::queue;
use portico_scheduler::store::{
    Change, Claim, ClaimOutcome, Instance, InstanceId, MemoryStore, Page, PageToken, Presence, Registration, RenderLog,
    Snapshot, StoreError,
};
use portico_scheduler::time::Time;

/// Workers of a scheduler.
const WORKERS: usize = 4;

/// A message to the store.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Register(Registration),
    Beat(Instance, Vec<Claim>),
    Claim { run: RunId, key: RevisionKey, me: Instance },
    Read { run: RunId, key: RevisionKey },
    Release(Claim),
    Write { ticket: Ticket, key: RevisionKey, call: Call },
    Log { key: RevisionKey, log: RenderLog },
    Look(RevisionKey),
    Page { sweep: bool, after: Option<PageToken> },
    Invalid,
}

/// The store's answer.
#[derive(Debug)]
pub(crate) enum Answer {
    Registered(Result<Instance, StoreError>),
    Beat(Instance, Result<Vec<Instance>, StoreError>),
    Claimed(RunId, Result<ClaimOutcome, StoreError>),
    Read(RunId, Result<Snapshot, StoreError>),
    Released,
    Written(Ticket, RevisionKey, Result<Option<Box<Revision>>, dispatch::Failure>),
    Logged,
    Looked(RevisionKey, Result<Revision, StoreError>),
    Paged(bool, Result<Page, StoreError>),
    Invalid(Result<Page, StoreError>),
}

/// What the world is to do for it.
#[derive(Debug)]
pub(crate) enum Output {
    Send(Op),
    /// Send it after this time.
    Later(Duration, Op),
    Render(RunId),
    Stop(RunId),
    WakeCore(Time),
    WakeDispatcher(Time),
    Register,
}

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) key: RevisionKey,
    /// With the registration, and when it was asked for: its answer may come after the store has forgotten it.
    pub(crate) claim: Option<(Claim, u64, Time)>,
    asked: Time,
    pub(crate) content: Option<Snapshot>,
    pub(crate) rendering: bool,
    /// Moves when it is stopped: the end that was planned does not come.
    pub(crate) turn: u32,
}

#[derive(Debug)]
enum Input {
    Core(core::Event),
    Dispatch(dispatch::Event),
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) up: bool,
    pub(crate) cut: bool,
    /// Moves with each crash: messages to an earlier life are not heard.
    pub(crate) life: u64,
    pub(crate) session: MemoryStore,
    pub(crate) core: Core,
    pub(crate) dispatcher: Dispatcher,
    recorder: Recorder,
    pub(crate) ring: Ring,
    presence: Presence,
    pub(crate) me: Option<Instance>,
    id: InstanceId,
    working: bool,
    pub(crate) runs: BTreeMap<RunId, Running>,
    saves: BTreeMap<Waiter, SaveId>,
    next_waiter: u64,
    /// The listing that goes on, and the one that is to follow.
    listing: Option<bool>,
    list_next: Option<bool>,
    pub(crate) configuration: u64,
    inputs: VecDeque<Input>,
    outputs: Vec<Output>,
    pub(crate) told: BTreeMap<&'static str, u64>,
}

pub(crate) fn dispatch_limits() -> DispatchLimits {
    DispatchLimits { in_flight: 4, waiting: 50, cached: 20, ..DispatchLimits::default() }
}

pub(crate) fn core_settings(seed: u64) -> core::Settings {
    let queue = queue::Settings { keys: 200, ..queue::Settings::default() };
    core::Settings { seed, queue, unsaved: 20, ..core::Settings::default() }
}

impl Node {
    pub(crate) fn new(name: &str, life: u64, seed: u64, session: MemoryStore, configuration: u64) -> Self {
        let mut node = Self {
            up: true,
            cut: false,
            life,
            session,
            core: Core::new(core_settings(seed)),
            dispatcher: Dispatcher::new(dispatch_limits(), seed),
            recorder: Recorder::new(EventLimits { objects: 20, ..EventLimits::default() }),
            ring: Ring::new(100),
            presence: Presence::new(),
            me: None,
            id: InstanceId(format!("{name}-{life}").into()),
            working: false,
            runs: BTreeMap::new(),
            saves: BTreeMap::new(),
            next_waiter: 0,
            listing: None,
            list_next: None,
            configuration,
            inputs: VecDeque::new(),
            outputs: Vec::new(),
            told: BTreeMap::new(),
        };
        node.core(core::Event::Configuration(configuration));
        node
    }

    /// Whether it may work, as far as it knows.
    pub(crate) fn may_work(&self, now: Time) -> bool {
        self.presence.may_work(millis(now))
    }

    fn core(&mut self, event: core::Event) {
        self.inputs.push_back(Input::Core(event));
    }

    /// Takes what was put in, until nothing more follows from it.
    fn run(&mut self, now: Time) -> Vec<Output> {
        while let Some(input) = self.inputs.pop_front() {
            match input {
                Input::Core(event) => {
                    for action in self.core.on(event, now) {
                        self.act(action, now);
                    }
                }
                Input::Dispatch(event) => {
                    for action in self.dispatcher.on(event, now) {
                        self.dispatched(action);
                    }
                }
            }
        }
        std::mem::take(&mut self.outputs)
    }

    fn act(&mut self, action: core::Action, now: Time) {
        match action {
            core::Action::Acquire { run, key } => {
                assert!(self.runs.values().all(|other| other.key != key), "`{key}` is given to two workers");
                let running =
                    Running { key: key.clone(), claim: None, asked: now, content: None, rendering: false, turn: 0 };
                self.runs.insert(run, running);
                assert!(self.runs.len() <= WORKERS);
                match &self.me {
                    Some(me) if self.presence.may_work(millis(now)) => {
                        let me = me.clone();
                        self.outputs.push(Output::Send(Op::Claim { run, key, me }));
                    }
                    _ => self.acquired(run, Acquired::Held(Duration::from_secs(1))),
                }
            }
            core::Action::Render { run, .. } => {
                let running = self.runs.get_mut(&run).expect("only what was acquired is rendered");
                assert!(running.content.is_some() && !running.rendering);
                running.rendering = true;
                self.outputs.push(Output::Render(run));
            }
            core::Action::Stop(run) => self.outputs.push(Output::Stop(run)),
            core::Action::Release(run) => {
                let running = self.runs.remove(&run).expect("released once");
                self.outputs.extend(running.claim.map(|(claim, ..)| Output::Send(Op::Release(claim))));
            }
            core::Action::Save { save, key, call } => {
                self.next_waiter += 1;
                let waiter = Waiter(self.next_waiter);
                self.saves.insert(waiter, save);
                let submit = dispatch::Event::Submit { key, call, waiter: Some(waiter) };
                self.inputs.push_back(Input::Dispatch(submit));
            }
            core::Action::Write(key, call) => {
                self.inputs.push_back(Input::Dispatch(dispatch::Event::Submit { key, call, waiter: None }));
            }
            core::Action::KeepLog { key, content, log } => {
                let log = RenderLog { content, kept: false, ended_ms: 0, text: log };
                self.outputs.push(Output::Send(Op::Log { key, log }));
            }
            core::Action::Look(key) => self.outputs.push(Output::Send(Op::Look(key))),
            core::Action::List => self.list(false),
            core::Action::ListInvalid => self.outputs.push(Output::Send(Op::Invalid)),
            core::Action::Emit(key, turn) => self.emit(&key, &turn, now),
            core::Action::Settled(_) => {}
            core::Action::WakeAt(at) => self.outputs.push(Output::WakeCore(at)),
        }
    }

    fn emit(&mut self, key: &RevisionKey, turn: &TurningPoint, now: Time) {
        *self.told.entry(turn.reason().as_str()).or_default() += 1;
        if let Some(event) = self.recorder.record(key, turn, now, millis(now)) {
            self.ring.tell(&event);
        }
    }

    fn dispatched(&mut self, action: dispatch::Action) {
        match action {
            dispatch::Action::Send { ticket, key, call } => {
                self.outputs.push(Output::Send(Op::Write { ticket, key, call }));
            }
            dispatch::Action::Resolve(waiter, written) => {
                let save = self.saves.remove(&waiter).expect("each who waits is told once");
                self.core(core::Event::Saved { save, written });
            }
            dispatch::Action::GaveUp(..) => {}
            dispatch::Action::WakeAt(at) => self.outputs.push(Output::WakeDispatcher(at)),
        }
    }

    fn acquired(&mut self, run: RunId, result: Acquired) {
        self.core(core::Event::Acquired { run, result });
    }

    pub(crate) fn event(&mut self, event: core::Event, now: Time) -> Vec<Output> {
        self.core(event);
        self.run(now)
    }

    pub(crate) fn tick_dispatcher(&mut self, now: Time) -> Vec<Output> {
        self.inputs.push_back(Input::Dispatch(dispatch::Event::Tick));
        self.run(now)
    }

    /// The watch told of a change, perhaps late.
    pub(crate) fn notified(&mut self, change: &Change, now: Time) -> Vec<Output> {
        match change {
            Change::Put(revision) => {
                let revision = Box::new((**revision).clone());
                self.inputs.push_back(Input::Dispatch(dispatch::Event::Notified(revision.clone())));
                self.core(core::Event::Seen(revision));
            }
            Change::Deleted(key) => self.gone(key),
        }
        self.run(now)
    }

    fn gone(&mut self, key: &RevisionKey) {
        self.inputs.push_back(Input::Dispatch(dispatch::Event::Deleted(key.clone())));
        self.core(core::Event::Gone(key.clone()));
        self.recorder.forget(key);
        self.ring.forget(key);
    }

    pub(crate) fn configured(&mut self, configuration: u64, now: Time) -> Vec<Output> {
        self.configuration = configuration;
        self.event(core::Event::Configuration(configuration), now)
    }

    /// Registers or keeps its registration alive; works only while it is sure of it.
    pub(crate) fn beat(&mut self, now: Time) -> Vec<Output> {
        if !self.presence.may_work(millis(now)) && self.working {
            self.working = false;
            self.core(core::Event::Workers(0));
        }
        match &self.me {
            Some(me) => self.outputs.push(Output::Send(Op::Beat(me.clone(), self.held()))),
            None => self.outputs.push(Output::Register),
        }
        self.run(now)
    }

    /// The claims that it knows of.
    fn held(&self) -> Vec<Claim> {
        self.runs.values().filter_map(|running| running.claim.as_ref()).map(|(claim, ..)| claim.clone()).collect()
    }

    pub(crate) fn registration(&self) -> Registration {
        let (version, catalog) = ("1".to_owned(), "catalog".to_owned());
        Registration { id: self.id.clone(), version, catalog, memory: 1 << 30 }
    }

    pub(crate) fn sweep(&mut self, now: Time) -> Vec<Output> {
        self.list(true);
        self.run(now)
    }

    pub(crate) fn relist(&mut self, now: Time) -> Vec<Output> {
        self.list(false);
        self.run(now)
    }

    fn list(&mut self, sweep: bool) {
        if self.listing.is_some() {
            // A listing of all is also a sweep, not the other way round.
            self.list_next = Some(sweep && self.list_next.unwrap_or(true));
            return;
        }
        self.listing = Some(sweep);
        self.core(core::Event::ListBegin { sweep });
        self.outputs.push(Output::Send(Op::Page { sweep, after: None }));
    }

    fn paged(&mut self, sweep: bool, page: Result<Page, StoreError>) {
        if let Ok(page) = page {
            let next = page.next;
            self.core(core::Event::Page(page.revisions));
            if next.is_some() {
                return self.outputs.push(Output::Send(Op::Page { sweep, after: next }));
            }
            self.core(core::Event::ListEnd);
        } else {
            self.core(core::Event::ListFailed);
            if !sweep {
                self.list_next = Some(false);
            }
        }
        self.listing = None;
        if let Some(sweep) = self.list_next.take() {
            self.list(sweep);
        }
    }

    pub(crate) fn answered(&mut self, answer: Answer, now: Time) -> Vec<Output> {
        match answer {
            Answer::Registered(Ok(me)) => {
                self.outputs.push(Output::Send(Op::Beat(me.clone(), self.held())));
                self.me = Some(me);
            }
            // A release that was lost is not sent again: heartbeats name the claim no more.
            Answer::Registered(Err(_)) | Answer::Logged | Answer::Released => {}
            Answer::Beat(of, Ok(all)) => {
                if self.me.as_ref().is_some_and(|me| me.epoch == of.epoch) {
                    self.presence.saw(&of, all);
                    if !self.working && self.presence.may_work(millis(now)) {
                        self.working = true;
                        self.core(core::Event::Workers(WORKERS));
                        self.list(false);
                    }
                }
            }
            Answer::Beat(of, Err(error)) => self.unsure(&error, of.epoch),
            Answer::Claimed(run, result) => self.claimed(run, result, now),
            Answer::Read(run, result) => self.read(run, result, now),
            Answer::Written(ticket, key, answer) => {
                self.inputs.push_back(Input::Dispatch(dispatch::Event::Answered { ticket, key, answer }));
            }
            Answer::Looked(_, Ok(revision)) => {
                let revision = Box::new(revision);
                self.inputs.push_back(Input::Dispatch(dispatch::Event::Notified(revision.clone())));
                self.core(core::Event::Seen(revision));
            }
            Answer::Looked(key, Err(error)) if error.class() == ErrorClass::Gone => self.gone(&key),
            Answer::Looked(key, Err(_)) => {
                self.outputs.push(Output::Later(Duration::from_secs(1), Op::Look(key)));
            }
            Answer::Paged(sweep, page) => self.paged(sweep, page),
            Answer::Invalid(Ok(page)) => {
                for revision in page.revisions {
                    let state = revision.render_state();
                    if matches!(state, Some(RenderState::Ended(end)) if end.reason == Reason::InvalidPackage) {
                        self.core(core::Event::Seen(Box::new(revision)));
                    }
                }
            }
            Answer::Invalid(Err(_)) => self.outputs.push(Output::Later(Duration::from_secs(1), Op::Invalid)),
        }
        self.run(now)
    }

    fn unsure(&mut self, error: &StoreError, epoch: u64) {
        let current = self.me.as_ref().is_some_and(|me| me.epoch == epoch);
        if current && matches!(error, StoreError::NotRegistered(_)) {
            self.presence.lost();
            self.me = None;
            if std::mem::take(&mut self.working) {
                self.core(core::Event::Workers(0));
            }
            self.outputs.push(Output::Register);
        }
    }

    fn claimed(&mut self, run: RunId, result: Result<ClaimOutcome, StoreError>, now: Time) {
        let epoch = self.me.as_ref().map_or(u64::MAX, |me| me.epoch);
        let result = match result {
            // Given to a registration that has run out since: it is not held any more.
            Ok(ClaimOutcome::Claimed(claim, _)) if claim.fence < epoch => Acquired::Held(Duration::ZERO),
            Ok(ClaimOutcome::Claimed(claim, _)) => {
                let running = self.runs.get_mut(&run).expect("it waits for this answer");
                running.claim = Some((claim, epoch, running.asked));
                let key = running.key.clone();
                return self.outputs.push(Output::Send(Op::Read { run, key }));
            }
            Ok(ClaimOutcome::Held { until_ms, .. }) => {
                Acquired::Held(Duration::from_millis(until_ms.saturating_sub(millis(now))))
            }
            Ok(ClaimOutcome::Finished(revision)) => Acquired::Finished(revision),
            Ok(ClaimOutcome::Gone) => Acquired::Gone,
            Err(error) => {
                self.unsure(&error, epoch);
                Acquired::Failed(failure(&error))
            }
        };
        self.acquired(run, result);
    }

    fn read(&mut self, run: RunId, result: Result<Snapshot, StoreError>, now: Time) {
        let epoch = self.me.as_ref().map(|me| me.epoch);
        let claimed = self.runs.get(&run).and_then(|running| running.claim.as_ref()).map(|(_, epoch, _)| *epoch);
        let result = match result.and_then(Snapshot::checked) {
            // Read for so long that the claim has ended with its registration.
            Ok(_) if claimed != epoch || !self.may_work(now) => Acquired::Held(Duration::from_secs(1)),
            Ok(snapshot) => {
                let revision = Box::new(snapshot.revision.clone());
                self.inputs.push_back(Input::Dispatch(dispatch::Event::Notified(revision.clone())));
                let running = self.runs.get_mut(&run).expect("it waits for this answer");
                running.content = Some(snapshot);
                Acquired::Content(revision)
            }
            Err(error @ StoreError::Incomplete(_)) => Acquired::NotYet(error.to_string()),
            Err(error) if error.class() == ErrorClass::Gone => Acquired::Gone,
            Err(error) => Acquired::Failed(failure(&error)),
        };
        self.acquired(run, result);
    }

    /// What must hold at any moment.
    pub(crate) fn check(&self) {
        let (gauges, limits, settings) = (self.dispatcher.gauges(), dispatch_limits(), core_settings(0));
        assert!(gauges.in_flight <= limits.in_flight, "{gauges:?}");
        assert!(gauges.waiting <= limits.waiting + limits.in_flight, "{gauges:?}");
        assert!(gauges.cached <= limits.cached, "{gauges:?}");
        assert!(self.core.unsaved() <= settings.unsaved + WORKERS + settings.queue.keys);
        assert_eq!(self.core.lengths().running, self.runs.len());
        assert!(self.ring.len() <= 100 && self.recorder.objects() <= 20);
    }
}

fn failure(error: &StoreError) -> Failure {
    Failure { retry_after: error.retry_after(), ..Failure::new(error.class(), error.to_string()) }
}

pub(crate) fn millis(time: Time) -> u64 {
    time.0 / 1_000_000
}

//! The world around a core: a store of revisions, workers, and answers that come when the test says so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::core::{Acquired, Action, Core, Ended, Event, Failure, Outcome, RunId, SaveId, Settings};
use crate::dispatch::{Call, Failure as WriteFailure, Outcome as Written};
use crate::events::TurningPoint;
use crate::model::{
    ContentVersion, Ending, ErrorClass, Files, ObjectVersion, Reason, RenderState, Revision, RevisionKey,
};
use crate::store::rules::{self, At};
use crate::store::{ClientUpdate, Expected, NewRevision, StoreError, StoreLimits};
use crate::time::Time;

/// A worker's run as the world sees it.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) key: RevisionKey,
    /// What it renders; `None` while it waits for its content.
    pub(super) content: Option<Revision>,
    pub(super) rendering: bool,
    pub(super) stopped: bool,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) core: Core,
    pub(super) now: Time,
    pub(super) store: BTreeMap<RevisionKey, Revision>,
    version: u64,
    pub(super) runs: BTreeMap<RunId, Running>,
    pub(super) saves: BTreeMap<SaveId, (RevisionKey, Call)>,
    pub(super) looks: Vec<RevisionKey>,
    pub(super) told: Vec<(RevisionKey, TurningPoint)>,
    pub(super) logs: Vec<ContentVersion>,
    pub(super) lists: usize,
    pub(super) lists_of_invalid: usize,
    pub(super) wake: Option<Time>,
    /// Notifications of writes that the core has not seen.
    pub(super) unseen: Vec<Revision>,
    /// How often each content was rendered to its end and saved.
    pub(super) saved: BTreeMap<(RevisionKey, ContentVersion), usize>,
    pub(super) conflicts: usize,
}

pub(super) fn files(text: &str) -> Files {
    Arc::new(BTreeMap::from([("Kptfile".to_owned(), Bytes::from(text.to_owned()))]))
}

pub(super) fn good() -> Outcome {
    Outcome::Rendered { ending: Ending::success(), files: None }
}

pub(super) fn bad() -> Outcome {
    Outcome::Rendered { ending: Ending::failure(Reason::RenderFailed, "set-labels: no such label"), files: None }
}

pub(super) fn broken(class: ErrorClass) -> Outcome {
    Outcome::Broken(Failure::new(class, "out of order"))
}

impl World {
    pub(super) fn new(settings: Settings, workers: usize) -> Self {
        let mut world = Self {
            core: Core::new(settings),
            now: Time::default(),
            store: BTreeMap::new(),
            version: 0,
            runs: BTreeMap::new(),
            saves: BTreeMap::new(),
            looks: Vec::new(),
            told: Vec::new(),
            logs: Vec::new(),
            lists: 0,
            lists_of_invalid: 0,
            wake: None,
            unseen: Vec::new(),
            saved: BTreeMap::new(),
            conflicts: 0,
        };
        world.on(Event::Workers(workers));
        world
    }

    pub(super) fn on(&mut self, event: Event) {
        for action in self.core.on(event, self.now) {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Acquire { run, key } => {
                assert!(self.runs.values().all(|other| other.key != key), "`{key}` is given to two workers");
                let running = Running { key, content: None, rendering: false, stopped: false };
                self.runs.insert(run, running);
            }
            Action::Render { run, .. } => {
                let running = self.runs.get_mut(&run).expect("only what was acquired is rendered");
                assert!(running.content.is_some() && !running.rendering);
                running.rendering = true;
            }
            Action::Stop(run) => self.runs.get_mut(&run).expect("only what runs is stopped").stopped = true,
            Action::Release(run) => drop(self.runs.remove(&run).expect("released once")),
            Action::Save { save, key, call } => drop(self.saves.insert(save, (key, call))),
            Action::Write(key, call) => {
                let _ = self.write(&key, &call);
            }
            Action::KeepLog { content, .. } => self.logs.push(content),
            Action::Look(key) => self.looks.push(key),
            Action::List => self.lists += 1,
            Action::ListInvalid => self.lists_of_invalid += 1,
            Action::Emit(key, turn) => self.told.push((key, turn)),
            Action::Settled(_) => {}
            Action::WakeAt(at) => self.wake = Some(at),
        }
    }

    fn at(&self) -> At {
        At { version: ObjectVersion(self.version + 1), now_ms: 0 }
    }

    fn put(&mut self, revision: Revision) -> Revision {
        self.version += 1;
        self.unseen.push(revision.clone());
        self.store.insert(revision.key.clone(), revision.clone());
        revision
    }

    /// A write of the scheduler's own.
    fn write(&mut self, key: &RevisionKey, call: &Call) -> Result<Revision, StoreError> {
        let current = self.store.get(key).ok_or_else(|| StoreError::NotFound(key.clone()))?.clone();
        let limits = StoreLimits::default();
        let written = match call {
            Call::Result(write) => {
                rules::save_result(&current, write.base(), write.result(), None, &limits, self.at())?.revision
            }
            call => {
                let (base, state) = (call.base().unwrap(), call.state().unwrap());
                let Some(written) = rules::set_state(&current, base, &state, self.at())? else { return Ok(current) };
                written
            }
        };
        Ok(self.put(written))
    }

    /// A client makes a draft. The core does not know yet.
    pub(super) fn create(&mut self, namespace: &str, name: &str) -> RevisionKey {
        let new = NewRevision::new(namespace, name, "repository", files("first"));
        let uid = format!("uid-{}", self.version);
        let made = rules::create(&new, None, &uid, &StoreLimits::default(), self.at()).unwrap().revision;
        self.put(made).key
    }

    /// A client writes other files. The core does not know yet.
    pub(super) fn edit(&mut self, key: &RevisionKey) -> Revision {
        let current = self.store[key].clone();
        let update = ClientUpdate::files(files(&format!("edit {}", self.version)));
        let expected = Expected::Content(current.content_version);
        let written =
            rules::update(&current, expected, &update, None, &StoreLimits::default(), self.at()).unwrap().revision;
        self.put(written)
    }

    /// The core sees everything that was written so far, in order.
    pub(super) fn notify(&mut self) {
        for revision in std::mem::take(&mut self.unseen) {
            self.on(Event::Seen(Box::new(revision)));
        }
    }

    /// A client writes and the core sees it.
    pub(super) fn edit_seen(&mut self, key: &RevisionKey) {
        self.edit(key);
        self.notify();
    }

    /// A draft that the core knows.
    pub(super) fn draft(&mut self, name: &str) -> RevisionKey {
        let key = self.create("namespace", name);
        self.notify();
        key
    }

    pub(super) fn delete(&mut self, key: &RevisionKey) {
        self.store.remove(key);
        self.unseen.retain(|revision| revision.key != *key);
        self.on(Event::Gone(key.clone()));
    }

    /// The run that has this revision.
    pub(super) fn run_of(&self, key: &RevisionKey) -> Option<RunId> {
        self.runs.iter().find(|(_, running)| running.key == *key).map(|(run, _)| *run)
    }

    /// Answers a worker that waits for its content with what the store has.
    pub(super) fn give(&mut self, run: RunId) {
        let key = self.runs[&run].key.clone();
        let result = match self.store.get(&key) {
            None => Acquired::Gone,
            Some(revision) if !revision.is_unfinished() => Acquired::Finished(Box::new(revision.clone())),
            Some(revision) => Acquired::Content(Box::new(revision.clone())),
        };
        self.acquired(run, result);
    }

    pub(super) fn acquired(&mut self, run: RunId, result: Acquired) {
        if let Acquired::Content(revision) = &result {
            self.runs.get_mut(&run).unwrap().content = Some((**revision).clone());
        }
        self.on(Event::Acquired { run, result });
    }

    pub(super) fn end(&mut self, run: RunId, outcome: Outcome) {
        let ended = Ended { outcome, log: Bytes::from_static(b"log"), fuel: 1 };
        self.on(Event::Ended { run, ended, digest: None });
    }

    /// The store answers a save.
    pub(super) fn answer(&mut self, save: SaveId) {
        let (key, call) = self.saves.remove(&save).unwrap();
        let written = match self.write(&key, &call) {
            Ok(revision) => {
                if let Call::Result(write) = &call {
                    *self.saved.entry((key.clone(), write.base())).or_default() += 1;
                }
                Written::Executed(Some(Box::new(revision)))
            }
            Err(error) => {
                self.conflicts += usize::from(error.class() == ErrorClass::Superseded);
                let current = self.store.get(&key).cloned().map(Box::new);
                Written::Failed(WriteFailure { current, ..WriteFailure::new(error.class(), error.to_string()) })
            }
        };
        self.on(Event::Saved { save, written });
    }

    pub(super) fn answer_all(&mut self) {
        while let Some(save) = self.saves.keys().next().copied() {
            self.answer(save);
        }
        for key in std::mem::take(&mut self.looks) {
            let event = match self.store.get(&key) {
                Some(revision) => Event::Seen(Box::new(revision.clone())),
                None => Event::Gone(key),
            };
            self.on(event);
        }
    }

    pub(super) fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
        self.on(Event::Tick);
    }

    /// Starts, renders well and saves what this revision has now.
    pub(super) fn render(&mut self, key: &RevisionKey) {
        let run = self.run_of(key).expect("a worker has it");
        self.give(run);
        self.end(run, good());
        self.answer_all();
        self.notify();
    }

    pub(super) fn state(&self, key: &RevisionKey) -> Option<RenderState> {
        self.store[key].render_state()
    }

    /// How often something was told of a revision.
    pub(super) fn told(&self, key: &RevisionKey, turn: &TurningPoint) -> usize {
        self.told.iter().filter(|(of, told)| of == key && told == turn).count()
    }

    /// Answers everything well, and lets time pass, until there is nothing left to do.
    pub(super) fn finish_everything(&mut self) {
        for _ in 0..10_000 {
            self.notify();
            self.answer_all();
            if std::mem::take(&mut self.lists) > 0 {
                self.list(false);
            }
            let next = self.runs.iter().next().map(|(run, running)| (*run, running.clone()));
            match next {
                Some((run, Running { content: None, .. })) => self.give(run),
                Some((run, running)) => self.end(run, if running.stopped { Outcome::Cancelled } else { good() }),
                None if self.core.is_idle() && self.unseen.is_empty() => return,
                None if !self.saves.is_empty() || !self.looks.is_empty() || !self.unseen.is_empty() => {}
                None => {
                    let wake = self.wake.take().unwrap_or_else(|| panic!("something waits for ever: {:?}", self.core));
                    self.now = self.now.max(wake);
                    self.on(Event::Tick);
                }
            }
        }
        panic!("no end: {:?}", self.core);
    }

    /// Lists the unfinished revisions of the store.
    pub(super) fn list(&mut self, sweep: bool) {
        let unfinished: Vec<_> = self.store.values().filter(|revision| revision.is_unfinished()).cloned().collect();
        self.on(Event::ListBegin { sweep });
        self.on(Event::Page(unfinished));
        self.on(Event::ListEnd);
    }
}

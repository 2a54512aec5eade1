//! Messages between schedulers and the store: late, and now and then lost.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use portico_scheduler::dispatch::{self, Call};
use portico_scheduler::model::{ErrorClass, Revision, RevisionKey};
use portico_scheduler::store::{Change, Claims as _, MemoryStore, PackageStore as _, Select, StoreError};

use super::node::{Answer, Op};
use super::world::{Address, What, World};

/// How long a caller waits for an answer that never comes.
const TIMEOUT: Duration = Duration::from_secs(1);

impl World {
    pub(super) fn send(&mut self, from: Address, op: Op) {
        let delay = self.latency();
        self.at(delay, What::Arrives(from, op));
    }

    fn latency(&mut self) -> Duration {
        let most = if self.fault(0.02) { Duration::from_secs(3) } else { Duration::from_millis(5) };
        self.spread(most)
    }

    pub(super) fn arrives(&mut self, from: Address, op: Op) {
        self.summary.messages += 1;
        let cut = self.outage || (self.lives(from) && self.nodes[from.node].cut) || self.fault(0.01);
        if cut {
            // Lost on its way.
            let answer = self.execute(from, op, false);
            return self.at(TIMEOUT, What::Answered(from, answer));
        }
        let answer = if self.fault(0.01) {
            // Done, and the answer lost on its way back.
            self.execute(from, op.clone(), true);
            self.execute(from, op, false)
        } else {
            self.execute(from, op, true)
        };
        let delay = self.latency();
        self.at(delay, What::Answered(from, answer));
    }

    /// What the store makes of a message; or that it can't be reached.
    fn execute(&mut self, from: Address, op: Op, reached: bool) -> Answer {
        // That of its life: one that has died since has no other any more, and needs none.
        let session = self.nodes[from.node].session.clone();
        let store = &session;
        match op {
            Op::Register(registration) => Answer::Registered(ask(reached, store.register(registration))),
            Op::Beat(me, held) => {
                let all = ask(reached, store.heartbeat(&me, &held));
                Answer::Beat(me, all)
            }
            Op::Claim { run, key, me } => Answer::Claimed(run, ask(reached, store.claim(&me, &key))),
            Op::Read { run, key } => Answer::Read(run, ask(reached, store.get(&key))),
            Op::Release(claim) => {
                let _ = ask(reached, store.release(&claim));
                Answer::Released
            }
            Op::Write { ticket, key, call } => {
                let answer = if reached { self.write(&session, &key, &call) } else { Err(unreachable_store()) };
                let answer = answer.map(|revision| Some(Box::new(revision))).map_err(|error| {
                    let mut failure = dispatch::Failure::new(error.class(), error.to_string());
                    if failure.class == ErrorClass::Superseded {
                        failure.current = ask(true, session.revision(&key)).ok().map(Box::new);
                    }
                    failure
                });
                Answer::Written(ticket, key, answer)
            }
            Op::Log { key, log } => {
                let _ = ask(reached, store.save_log(&key, log));
                Answer::Logged
            }
            Op::Look(key) => {
                let result = ask(reached, store.revision(&key));
                Answer::Looked(key, result)
            }
            Op::Page { sweep, after } => Answer::Paged(sweep, ask(reached, store.page(Select::Unfinished, after, 10))),
            Op::Invalid => Answer::Invalid(ask(reached, store.page(Select::Drafts, None, 1000))),
        }
    }

    /// A scheduler's write, looked at before and after.
    fn write(&mut self, session: &MemoryStore, key: &RevisionKey, call: &Call) -> Result<Revision, StoreError> {
        let before = ask(true, self.truth.revision(key))?;
        let written = match call {
            Call::Result(write) => ask(true, session.save_result(key, write.base(), write.result().clone())),
            call => {
                let (content, state) = (call.base().expect("of a content"), call.state().expect("it has a state"));
                ask(true, session.set_state(key, content, state))
            }
        };
        match written {
            Ok(after) => {
                let there = ask(true, self.truth.get(key))?.files;
                self.oracle.written(&before, call, &after, &there, self.now);
                if before != after {
                    self.tell(&Change::Put(Arc::new(after.clone())));
                }
                Ok(after)
            }
            Err(error) => {
                let is_conflict = matches!(call, Call::Result(_)) && error.class() == ErrorClass::Superseded;
                self.summary.conflicts += u64::from(is_conflict);
                Err(error)
            }
        }
    }

    /// The watches tell of a change: late, out of order, or not at all.
    pub(crate) fn tell(&mut self, change: &Change) {
        for index in 0..self.nodes.len() {
            if self.fault(0.03) {
                continue;
            }
            let late = self.fault(0.05);
            let delay = self.spread(if late { Duration::from_secs(10) } else { Duration::from_millis(5) });
            let to = self.address(index);
            self.at(delay, What::Told(to, change.clone()));
        }
    }
}

fn unreachable_store() -> StoreError {
    StoreError::Unavailable { why: "no answer".to_owned(), retry_after: None }
}

/// The store's answer, at once; or none.
pub(crate) fn ask<T>(reached: bool, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    if !reached {
        return Err(unreachable_store());
    }
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("the store in memory has been told to delay nothing"),
    }
}

//! The thread that writes.
//!
//! All writes go through it, in order. What waits when it begins a transaction goes into the same one, so that callers
//! who write at the same time share the wait for the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::Core;
use super::apply::{Applied, Hashed, Write};
use super::fail::{Fail, guarded};
use super::tables::{Tables, meta};
use crate::model::{ObjectVersion, Revision};
use crate::store::rules::At;
use crate::store::{Change, StoreError, WatchEvent};

pub(super) type Answer = Result<Option<Revision>, StoreError>;

/// A write that waits for its turn.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) write: Write,
    pub(super) hashed: Option<Hashed>,
    pub(super) reply: oneshot::Sender<Answer>,
    /// Its share of the memory that waiting writes may hold.
    pub(super) _memory: OwnedSemaphorePermit,
}

/// What the writer is asked.
#[derive(Debug)]
pub(super) enum Order {
    Write(Box<Job>),
    /// Close the file after all that was ordered before, and say so.
    Close(oneshot::Sender<()>),
}

/// What the writer has done since the file was opened.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) writes: AtomicU64,
    pub(super) commits: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) largest: AtomicU64,
    pub(super) reopened: AtomicU64,
}

/// Works until the last handle is gone or somebody closes the store.
pub(super) fn run(core: &Arc<Core>, mut orders: mpsc::Receiver<Order>) {
    let mut closing = None;
    while closing.is_none() {
        let Some(first) = orders.blocking_recv() else { break };
        let mut batch = Vec::new();
        let mut next = Some(first);
        while let Some(order) = next {
            match order {
                Order::Write(job) => batch.push(*job),
                Order::Close(done) => {
                    closing = Some(done);
                    break;
                }
            }
            next = if batch.len() < core.batch { orders.try_recv().ok() } else { None };
        }
        // Nobody waits any more: the write was never begun, so it is left.
        batch.retain(|job| !job.reply.is_closed());
        write(core, batch);
    }
    orders.close();
    core.close();
    if let Some(done) = closing {
        let _ = done.send(());
    }
}

fn write(core: &Core, batch: Vec<Job>) {
    if batch.is_empty() {
        return;
    }
    match guarded(|| transaction(core, &batch)).unwrap_or_else(|what| Err(Fail::Damage(StoreError::Corrupt { what }))) {
        Ok(answers) => answer(core, batch, answers),
        Err(fail) => {
            if !matches!(fail, Fail::Refused(_)) {
                tracing::warn!(store = core.name, error = ?fail, "a write failed; the file is opened anew");
                core.reopen(true);
            }
            if let [_] = &*batch {
                let error = fail.into_error(&core.name);
                for (job, error) in batch.into_iter().zip([error]) {
                    let _ = job.reply.send(Err(error));
                }
                return;
            }
            // One of them may be to blame, for instance because it is too large for what room is left.
            for job in batch {
                write(core, vec![job]);
            }
        }
    }
}

type Answers = Vec<Result<Applied, StoreError>>;

/// Does all writes of a batch in one transaction. What is refused has changed nothing.
fn transaction(core: &Core, batch: &[Job]) -> Result<(Answers, Vec<ObjectVersion>), Fail> {
    let database = core.database()?;
    let Some(database) = database.as_ref() else { return Err(Fail::Refused(StoreError::Closed)) };
    let mut transaction = database.begin_write()?;
    // After a crash the file is open again at once, whatever its size, and no crafted content can pass for a commit
    // that was cut; the price is a second wait for the disk.
    transaction.set_quick_repair(core.quick_repair);
    let (mut answers, mut versions, mut wrote) = (Vec::with_capacity(batch.len()), Vec::new(), false);
    {
        let mut tables = Tables::open(&transaction)?;
        let stored = redb::ReadableTable::get(&tables.meta, meta::VERSION)?.map(|version| version.value());
        let mut version = stored.ok_or_else(|| Fail::damage("its version is missing".into()))?;
        for job in batch {
            let at = At { version: ObjectVersion(version + 1), now_ms: core.clock.now_ms() };
            match tables.apply(&job.write, job.hashed.as_ref(), &core.limits, at) {
                Ok(applied) => {
                    wrote |= applied.wrote;
                    if applied.change.is_some() {
                        version += 1;
                    }
                    answers.push(Ok(applied));
                }
                Err(Fail::Refused(error)) => answers.push(Err(error)),
                Err(fail) => return Err(fail),
            }
            versions.push(ObjectVersion(version));
        }
        tables.meta.insert(meta::VERSION, version)?;
    }
    if wrote {
        transaction.commit()?;
        core.counters.commits.fetch_add(1, Ordering::Relaxed);
        core.counters.largest.fetch_max(batch.len() as u64, Ordering::Relaxed);
    } else {
        transaction.abort()?;
    }
    Ok((answers, versions))
}

/// All is on disk: watchers hear of it, then the callers.
fn answer(core: &Core, batch: Vec<Job>, (answers, versions): (Answers, Vec<ObjectVersion>)) {
    let mut events = Vec::new();
    for (applied, version) in answers.iter().zip(versions) {
        match applied {
            Ok(Applied { change: Some(change), before, .. }) => {
                if let Change::Deleted(key) = change {
                    core.claims().forget(key);
                }
                events.push(WatchEvent { version, change: change.clone(), before: before.clone() });
            }
            Ok(_) => {}
            Err(_) => {
                core.counters.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    core.counters.writes.fetch_add(answers.len() as u64, Ordering::Relaxed);
    core.events.publish(events);
    for (job, answer) in batch.into_iter().zip(answers) {
        let _ = job.reply.send(answer.map(|applied| applied.revision));
    }
}

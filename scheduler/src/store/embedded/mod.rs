//! A store in one file, for one process: the default.
//!
//! The file is a redb database. Writes go through one thread that puts those that wait into one transaction; reads see
//! the last one and never wait for a write. Work on the file never runs on the threads of the async runtime.

mod apply;
mod backup;
mod check;
mod fail;
mod open;
mod read;
mod tables;
mod writer;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc, oneshot};

use self::apply::Write;
pub use self::check::CheckReport;
use self::fail::{Fail, guarded};
pub use self::open::{FileMedium, Medium, OpenError};
use self::read::View;
use self::writer::{Answer, Counters, Job, Order};
use super::{
    Claim, ClaimOutcome, ClaimTable, Claims, ClientUpdate, Clock, EventLog, Expected, HistoryEntry, Instance, LogWatch,
    NewRevision, PackageStore, Page, PageToken, Registration, RenderLog, RenderResult, Select, Snapshot, StoreError,
    StoreLimits, StoreMeter, StoreOperation, SystemClock,
};
use crate::model::{ContentVersion, Files, ObjectVersion, RenderState, Revision, RevisionKey};

/// From this many bytes of files on, digests are taken off the threads of the async runtime.
const LARGE: usize = 64 << 10;

/// How to open a store.
#[derive(Debug, Clone)]
pub struct EmbeddedOptions {
    /// What the store takes.
    pub limits: StoreLimits,
    /// How long a scheduler's registration lives without a heartbeat.
    pub lease: Duration,
    /// The store's time.
    pub clock: Arc<dyn Clock>,
    /// Memory for pages of the file, in bytes.
    pub cache_bytes: usize,
    /// Writes that wait for their turn; others wait to wait.
    pub queue: usize,
    /// Memory of the writes that wait, in bytes; one larger than that waits until it is alone.
    pub queue_bytes: usize,
    /// Writes of one transaction.
    pub batch: usize,
    /// Keep in the file, with each commit, what makes it open at once after a crash. Otherwise a commit waits for the disk
    /// once instead of twice, and after a crash the whole file is read.
    pub quick_repair: bool,
    /// Who hears of each call.
    pub meter: Option<Arc<dyn StoreMeter>>,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            limits: StoreLimits::default(),
            lease: ClaimTable::LEASE,
            clock: Arc::new(SystemClock::default()),
            cache_bytes: 64 << 20,
            queue: 1024,
            queue_bytes: 256 << 20,
            batch: 256,
            quick_repair: true,
            meter: None,
        }
    }
}

/// A store in one file. The file is locked as long as a handle lives.
#[derive(Debug, Clone)]
pub struct EmbeddedStore {
    core: Arc<Core>,
    writer: Arc<WriterHandle>,
}

/// What the handles and the writer share.
#[derive(Debug)]
struct Core {
    /// The file, for messages.
    name: String,
    medium: Arc<dyn Medium>,
    /// `None`: closed, or it could not be opened anew after a failure.
    database: RwLock<Option<redb::Database>>,
    closed: std::sync::atomic::AtomicBool,
    events: Arc<EventLog>,
    claims: Mutex<ClaimTable>,
    clock: Arc<dyn Clock>,
    limits: StoreLimits,
    cache_bytes: usize,
    batch: usize,
    quick_repair: bool,
    counters: Counters,
    meter: Option<Arc<dyn StoreMeter>>,
}

/// Ends the writer with the last handle: when it is dropped, all that was ordered is done and the lock is given back.
#[derive(Debug)]
struct WriterHandle {
    orders: Option<mpsc::Sender<Order>>,
    /// In KiB.
    memory: Arc<Semaphore>,
    units: usize,
    thread: Option<JoinHandle<()>>,
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // It has no panics of its own to tell of.
            let _ = thread.join();
        }
    }
}

/// What a store has done since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddedStats {
    /// Writes that were answered.
    pub writes: u64,
    /// Transactions on disk.
    pub commits: u64,
    /// Writes that were refused.
    pub refused: u64,
    /// Most writes of one transaction.
    pub largest_batch: u64,
    /// How often the file was opened anew after a failure.
    pub reopened: u64,
}

impl EmbeddedStore {
    /// Opens the store in this file, or makes it. Blocks: the file may have to be repaired after a crash.
    pub fn open(path: &Path, options: EmbeddedOptions) -> Result<Self, OpenError> {
        FileMedium::prepare(path, &options)?;
        Self::open_on(Arc::new(FileMedium::new(path)), options)
    }

    /// Opens the store on a medium that need not be a file, or makes it there.
    pub fn open_on(medium: Arc<dyn Medium>, options: EmbeddedOptions) -> Result<Self, OpenError> {
        let (database, version) = open::database(&*medium, options.cache_bytes)?;
        let core = Arc::new(Core {
            name: medium.name(),
            medium,
            database: RwLock::new(Some(database)),
            closed: false.into(),
            events: EventLog::new(options.limits.events, options.limits.event_bytes, version),
            claims: Mutex::new(ClaimTable::new(options.lease)),
            clock: options.clock,
            limits: options.limits,
            cache_bytes: options.cache_bytes,
            batch: options.batch.max(1),
            quick_repair: options.quick_repair,
            counters: Counters::default(),
            meter: options.meter,
        });
        let (orders, received) = mpsc::channel(options.queue.max(1));
        let shared = Arc::clone(&core);
        let spawned =
            std::thread::Builder::new().name("portico-store".into()).spawn(move || writer::run(&shared, received));
        let thread = spawned.map_err(|source| OpenError::Io { path: core.name.clone(), source })?;
        // In KiB, of which a semaphore can hold enough and one write can take all.
        let units = (options.queue_bytes >> 10).clamp(1, (u32::MAX as usize).min(Semaphore::MAX_PERMITS));
        let memory = Arc::new(Semaphore::new(units));
        let writer = WriterHandle { orders: Some(orders), memory, units, thread: Some(thread) };
        Ok(Self { core, writer: Arc::new(writer) })
    }

    /// Closes the file after all writes that were ordered, and gives its lock back. Other handles then get
    /// [`StoreError::Closed`].
    pub async fn close(self) {
        let (done, closed) = oneshot::channel();
        if let Some(orders) = &self.writer.orders
            && orders.send(Order::Close(done)).await.is_ok()
        {
            // An error means that it is closed already.
            let _ = closed.await;
        }
    }

    /// What it has done since it was opened.
    pub fn stats(&self) -> EmbeddedStats {
        let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.core.counters;
        EmbeddedStats {
            writes: of(&counters.writes),
            commits: of(&counters.commits),
            refused: of(&counters.refused),
            largest_batch: of(&counters.largest),
            reopened: of(&counters.reopened),
        }
    }

    /// Copies the store as it is at one instant to this file, while others read and write. The file appears whole or
    /// not at all, in place of one that is there. A copy gives uids of its own.
    pub async fn backup(&self, to: &Path) -> Result<(), StoreError> {
        let (to, own) = (to.to_owned(), self.core.name.clone());
        self.view(StoreOperation::Maintain, move |view| backup::copy(&view, &own, &to)).await
    }

    /// Looks at everything that is stored: digests, indices, counts.
    pub async fn check(&self) -> Result<CheckReport, StoreError> {
        self.view(StoreOperation::Maintain, |view| check::check(&view)).await
    }

    /// [`EmbeddedStore::check`] of a file that no process has open, with the checksums of its pages. Blocks.
    pub fn check_file(path: &Path) -> Result<CheckReport, OpenError> {
        check::check_file(path)
    }

    async fn view<T: Send + 'static>(
        &self,
        operation: StoreOperation,
        read: impl FnOnce(View) -> Result<T, Fail> + Send + 'static,
    ) -> Result<T, StoreError> {
        let core = Arc::clone(&self.core);
        let viewed = async move {
            let task = tokio::task::spawn_blocking(move || core.view(read));
            // Lost with its runtime.
            task.await.map_err(|_| StoreError::Closed)?
        };
        self.timed(operation, viewed).await
    }

    async fn write(&self, write: Write) -> Answer {
        self.timed(write.operation(), self.ordered(write)).await
    }

    /// Does a call and tells the meter of it.
    async fn timed<T>(
        &self,
        operation: StoreOperation,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let Some(meter) = &self.core.meter else { return call.await };
        let began = Instant::now();
        let result = call.await;
        meter.called(operation, began.elapsed(), result.as_ref().err().map(StoreError::class));
        result
    }

    async fn ordered(&self, write: Write) -> Answer {
        let Some(orders) = &self.writer.orders else { return Err(StoreError::Closed) };
        let bytes = write.bytes();
        let units = (bytes >> 10).clamp(1, self.writer.units);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let memory = Arc::clone(&self.writer.memory).acquire_many_owned(units).await;
        let memory = memory.map_err(|_| StoreError::Closed)?;
        let (write, hashed) = if bytes > LARGE {
            let hash = move || {
                let hashed = write.hashed();
                (write, hashed)
            };
            tokio::task::spawn_blocking(hash).await.map_err(|_| StoreError::Closed)?
        } else {
            let hashed = write.hashed();
            (write, hashed)
        };
        let (reply, answer) = oneshot::channel();
        let job = Job { write, hashed, reply, _memory: memory };
        orders.send(Order::Write(Box::new(job))).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// A write that answers with the revision.
    async fn write_revision(&self, write: Write) -> Result<Revision, StoreError> {
        let missing = || StoreError::Corrupt { what: "a write has no answer".into() };
        self.write(write).await?.ok_or_else(missing)
    }
}

impl Core {
    fn claims(&self) -> MutexGuard<'_, ClaimTable> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database, opened anew if an earlier attempt failed.
    fn database(&self) -> Result<RwLockReadGuard<'_, Option<redb::Database>>, Fail> {
        let read = || self.database.read().unwrap_or_else(PoisonError::into_inner);
        let database = read();
        if database.is_some() {
            return Ok(database);
        }
        drop(database);
        if self.closed.load(Ordering::SeqCst) {
            return Err(StoreError::Closed.into());
        }
        self.reopen(false);
        let database = read();
        if database.is_some() {
            return Ok(database);
        }
        let why = format!("`{}` can't be opened anew", self.name);
        Err(StoreError::Unavailable { why, retry_after: None }.into())
    }

    /// Opens the file anew after a failure: redb refuses all work after one, and what is on disk is the last commit.
    /// `failed`: also if it is open.
    fn reopen(&self, failed: bool) {
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        if self.closed.load(Ordering::SeqCst) || (database.is_some() && !failed) {
            return;
        }
        // Before the other one is opened: it has the lock.
        *database = None;
        match open::database(&*self.medium, self.cache_bytes) {
            Ok((opened, _)) => {
                *database = Some(opened);
                self.counters.reopened.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => tracing::error!(store = self.name, %error, "the store can't be opened anew"),
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        *self.database.write().unwrap_or_else(PoisonError::into_inner) = None;
        self.events.close();
    }

    fn view<T>(&self, read: impl FnOnce(View) -> Result<T, Fail>) -> Result<T, StoreError> {
        let seen = || {
            let database = self.database()?;
            let Some(database) = database.as_ref() else { return Err(Fail::Refused(StoreError::Closed)) };
            guarded(|| read(View::new(database)?)).unwrap_or_else(|what| Err(Fail::damage(what)))
        };
        seen().map_err(|fail| fail.into_error(&self.name))
    }
}

impl PackageStore for EmbeddedStore {
    type Watch = LogWatch;

    async fn page(&self, select: Select, after: Option<PageToken>, limit: usize) -> Result<Page, StoreError> {
        let limit = limit.clamp(1, self.core.limits.page.max(1));
        self.view(StoreOperation::Page, move |view| view.page(select, after, limit)).await
    }

    async fn get(&self, key: &RevisionKey) -> Result<Snapshot, StoreError> {
        let key = key.clone();
        self.view(StoreOperation::Get, move |view| view.get(&key)).await
    }

    async fn revision(&self, key: &RevisionKey) -> Result<Revision, StoreError> {
        let key = key.clone();
        self.view(StoreOperation::Revision, move |view| view.revision(&key)).await
    }

    async fn find(&self, namespace: &str, name: &str) -> Result<Revision, StoreError> {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        self.view(StoreOperation::Revision, move |view| view.find(&namespace, &name)).await
    }

    async fn history(&self, key: &RevisionKey) -> Result<Vec<HistoryEntry>, StoreError> {
        let key = key.clone();
        self.view(StoreOperation::History, move |view| view.history(&key)).await
    }

    async fn content(&self, key: &RevisionKey, version: ContentVersion) -> Result<Files, StoreError> {
        let key = key.clone();
        self.view(StoreOperation::Content, move |view| view.content(&key, version)).await
    }

    async fn log(&self, key: &RevisionKey) -> Result<Option<RenderLog>, StoreError> {
        let key = key.clone();
        self.view(StoreOperation::Log, move |view| view.log(&key)).await
    }

    async fn create(&self, new: NewRevision) -> Result<Revision, StoreError> {
        self.write_revision(Write::Create(new)).await
    }

    async fn update(
        &self,
        key: &RevisionKey,
        expected: Expected,
        update: ClientUpdate,
    ) -> Result<Revision, StoreError> {
        self.write_revision(Write::Update(key.clone(), expected, update)).await
    }

    async fn delete(&self, key: &RevisionKey, expected: Option<Expected>) -> Result<(), StoreError> {
        self.write(Write::Delete(key.clone(), expected)).await.map(drop)
    }

    async fn save_result(
        &self,
        key: &RevisionKey,
        rendered: ContentVersion,
        result: RenderResult,
    ) -> Result<Revision, StoreError> {
        self.write_revision(Write::SaveResult(key.clone(), rendered, result)).await
    }

    async fn set_state(
        &self,
        key: &RevisionKey,
        content: ContentVersion,
        state: RenderState,
    ) -> Result<Revision, StoreError> {
        self.write_revision(Write::SetState(key.clone(), content, state)).await
    }

    async fn save_log(&self, key: &RevisionKey, log: RenderLog) -> Result<(), StoreError> {
        self.write(Write::SaveLog(key.clone(), log)).await.map(drop)
    }

    async fn watch(&self, after: ObjectVersion) -> Result<LogWatch, StoreError> {
        // From the file: a reader may have seen a version whose notification is still to come.
        let now = self.view(StoreOperation::Watch, |view| view.version()).await?;
        self.core.events.watch(after, now)
    }
}

/// Claims live in memory: the file has one process, and with it all its schedulers end.
impl Claims for EmbeddedStore {
    async fn register(&self, registration: Registration) -> Result<Instance, StoreError> {
        Ok(self.core.claims().register(registration, self.core.clock.now_ms()))
    }

    async fn heartbeat(&self, instance: &Instance, held: &[Claim]) -> Result<Vec<Instance>, StoreError> {
        self.core.claims().heartbeat(instance, held, self.core.clock.now_ms())
    }

    async fn unregister(&self, instance: &Instance) -> Result<(), StoreError> {
        self.core.claims().unregister(instance, self.core.clock.now_ms());
        Ok(())
    }

    async fn claim(&self, instance: &Instance, key: &RevisionKey) -> Result<ClaimOutcome, StoreError> {
        let (core, instance, key) = (Arc::clone(&self.core), instance.clone(), key.clone());
        let task = tokio::task::spawn_blocking(move || {
            // Held while reading: a deletion in between forgets the claim after it was made.
            let mut claims = core.claims();
            let current = core.view(|view| view.named(&key.namespace, &key.name))?;
            claims.claim(&instance, &key, current, core.clock.now_ms())
        });
        task.await.map_err(|_| StoreError::Closed)?
    }

    async fn release(&self, claim: &Claim) -> Result<(), StoreError> {
        self.core.claims().release(claim);
        Ok(())
    }
}

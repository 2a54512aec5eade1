//! A server from its start to its end.

use std::fmt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portico_runtime::{Allocation, Compiler, Engine, EngineConfig, EngineError, FunctionSource};
use portico_scheduler::driver::Settings;
use portico_scheduler::events::Ring;
use portico_scheduler::store::embedded::{EmbeddedOptions, OpenError};
use portico_scheduler::store::{PackageStore as _, Select, StoreLimits};
use tokio::task::{AbortHandle, JoinHandle};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::address::{Address, Listener};
use super::admission::Admission;
use super::front::{Front, unbounded};
use super::health::Health;
use super::listen::Acceptor;
use super::live::Live;
use super::metrics::{self, Metrics, Sources};
use super::reload::{Standing, keep_read};
use super::signals::Stop;
use super::tls::{Tls, TlsError};
use crate::auth::{AllowAll, AllowKnown, Authenticator, Authorizer, RolesOfFile};
use crate::config::{ConfigError, Renders, ServerConfig};
use crate::record::{self, RecordLimits};
use crate::{Scheduler, Store, api, grpc, ui};

/// Events that are kept for readers, of all revisions.
const EVENTS: usize = 10_000;

/// What the program brings that serves.
#[derive(Clone)]
pub struct Program {
    /// Functions that are part of it.
    pub functions: Arc<dyn FunctionSource>,
    /// Its own file: compiling and isolated renders start it.
    pub path: PathBuf,
    /// Where compiled modules are kept.
    pub cache: Option<PathBuf>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("path", &self.path).field("cache", &self.cache).finish_non_exhaustive()
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A file that the configuration names is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The store can't be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// No function could run.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Certificates.
    #[error("TLS can't be set up")]
    Tls(#[from] TlsError),
    /// gRPC.
    #[error(transparent)]
    Grpc(#[from] grpc::ServeError),
    /// The address can't be listened on.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// Which.
        address: Address,
        /// Why.
        source: io::Error,
    },
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    /// The API.
    pub api: Address,
    /// True where the API has TLS.
    pub tls: bool,
    /// gRPC, as its clients write it.
    pub grpc: Option<String>,
}

impl fmt::Display for Addresses {
    /// `api=https://127.0.0.1:8443 grpc=127.0.0.1:9445`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.api {
            Address::Tcp(address) => write!(f, "api={}://{address}", if self.tls { "https" } else { "http" })?,
            unix @ Address::Unix(_) => write!(f, "api={unix}")?,
        }
        self.grpc.iter().try_for_each(|grpc| write!(f, " grpc={grpc}"))
    }
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// In order.
    InOrder,
    /// In order, but some requests or results were not done in time; what was promised is in the store.
    Late,
    /// At once, as it was asked to.
    AtOnce,
}

/// A server that listens, and answers when it is run.
#[derive(Debug)]
pub struct Server {
    addresses: Addresses,
    acceptor: Acceptor,
    grpc: Option<(grpc::Services, grpc::Listener)>,
    live: Arc<Live>,
    standing: Arc<Standing>,
    draining: CancellationToken,
}

impl Server {
    /// Opens the store and listens. Nothing is rendered before [`run`](Self::run).
    pub async fn start(config: ServerConfig, program: &Program) -> Result<Self, StartError> {
        let tls = config.tls.clone().map(Tls::new).transpose()?.map(Arc::new);
        let certificates = config.tls.as_ref().is_some_and(|tls| tls.client_authorities.is_some());
        let authenticator = Arc::new(Authenticator::new(config.tokens.as_deref(), certificates)?);
        let roles = config.roles.as_deref().map(RolesOfFile::load).transpose()?.map(Arc::new);
        let authorizer: Arc<dyn Authorizer> = match &roles {
            Some(roles) => Arc::clone(roles) as _,
            None if config.authenticates() => Arc::new(AllowKnown),
            None => Arc::new(AllowAll),
        };
        let metrics = Arc::new(Metrics::new());
        // First of what others may have: nobody is listened to while the store is not there.
        let store = open(&config.store, &metrics).await?;
        let listener = bind(&config.api).await?;
        let api = listener.address().map_err(|source| StartError::Listen { address: config.api.clone(), source })?;

        let engine = engine(&config, program)?;
        let settings = Arc::new(Renders::new(engine.clone(), program.clone(), config.clone()));
        let records = record::Renders::new(RecordLimits::default());
        let backend = record::Backend::new(Arc::clone(&settings) as _, Arc::clone(&records));
        let backend = Arc::new(backend.metered(Arc::clone(&metrics) as _));
        let events = Arc::new(Ring::new(EVENTS));
        let scheduler = Scheduler::new(store, backend, Arc::clone(&events) as _, scheduling(&config, &metrics));
        metrics.observe(Sources { scheduler: scheduler.clone(), engine: Some(engine) });
        for (name, namespace) in &config.namespaces {
            scheduler.set_quota(name, namespace.quota);
        }
        let app = api::App::new(api::Parts {
            scheduler: scheduler.clone(),
            events,
            authorizer: Arc::clone(&authorizer),
            renders: Arc::clone(&records),
            // Bodies have been bounded when they come to the API.
            limits: api::ApiLimits { body_bytes: usize::MAX, ..api::ApiLimits::default() },
            store_limits: StoreLimits::default(),
        });
        let grpc = match &config.grpc {
            None => None,
            Some(address) => {
                let parts = grpc::Parts {
                    settings: grpc::Settings { drain: config.drain.requests, ..config.grpc_settings.clone() },
                    renders: Arc::clone(&settings) as _,
                    authorizer: Arc::clone(&authorizer),
                    identify: Arc::clone(&authenticator) as _,
                    meter: Arc::clone(&metrics) as _,
                };
                let revisions = grpc::Revisions { scheduler: scheduler.clone(), renders: Arc::clone(&records) };
                let services = grpc::Services::with_revisions(parts, revisions).await?;
                Some((services, grpc::Listener::bind(&address.to_string()).await?))
            }
        };
        let page = ui::Ui { scheduler: scheduler.clone(), renders: records, authorizer: Arc::clone(&authorizer) };
        let addresses =
            Addresses { api, tls: tls.is_some(), grpc: grpc.as_ref().map(|(_, listener)| listener.address()) };

        let admission = Arc::new(Admission::new(config.requests.clone()));
        let (draining, ending) = (CancellationToken::new(), CancellationToken::new());
        let standing = Arc::new(Standing::counted(Arc::clone(&metrics)));
        let router = api::router(app).merge(ui::router(page)).merge(metrics::router(Arc::clone(&metrics)));
        let front = Front {
            admission: Arc::clone(&admission),
            authenticator: Arc::clone(&authenticator),
            authorizer,
            health: health(&scheduler, &standing, &draining).router(),
            router: router.layer(unbounded()),
            metrics,
            ending: ending.clone(),
        };
        let live = Live {
            config: Mutex::new(config.clone()),
            started: config,
            renders: settings,
            admission,
            scheduler,
            authenticator,
            roles,
            tls: tls.clone(),
        };
        let acceptor = Acceptor {
            listener,
            front: Arc::new(front),
            tls,
            connections: TaskTracker::new(),
            ending,
            abort: CancellationToken::new(),
        };
        Ok(Self { addresses, acceptor, grpc, live: Arc::new(live), standing, draining })
    }

    /// Reads every file that the configuration names, without starting anything.
    pub fn check(config: &ServerConfig) -> Result<(), StartError> {
        config.tls.clone().map(Tls::new).transpose()?;
        Authenticator::new(config.tokens.as_deref(), false)?;
        config.roles.as_deref().map(RolesOfFile::load).transpose()?;
        Ok(())
    }

    /// Where it listens.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Serves and renders until it is told to stop.
    pub async fn run(self, stop: &Stop) -> Ended {
        let Self { acceptor, grpc, live, standing, draining, .. } = self;
        let (ending, abort, connections) =
            (acceptor.ending.clone(), acceptor.abort.clone(), acceptor.connections.clone());
        live.scheduler.start_processing(live.started.workers);
        let accepting = tokio::spawn(acceptor.run());
        let reading = tokio::spawn(keep_read(live.subjects(), standing));
        let calls =
            grpc.map(|(services, listener)| tokio::spawn(services.serve(listener, ending.clone().cancelled_owned())));
        let calls_abort = calls.as_ref().map(JoinHandle::abort_handle);

        let in_order = async {
            stop.soon.cancelled().await;
            tracing::info!("stopping: not ready any more");
            draining.cancel();
            let drain = live.config().drain;
            // From now on nothing is read again: it could set work going.
            reading.abort();
            tokio::time::sleep(drain.delay).await;
            // Watches end, connections end after what they are at, and nobody else is let in.
            ending.cancel();
            connections.close();
            let all = async {
                connections.wait().await;
                if let Some(calls) = calls {
                    // A panic in it has been told of by itself.
                    let _ = calls.await;
                }
            };
            let answered = done_within(drain.requests, all).await;
            if !answered {
                tracing::warn!(left = connections.len(), "not all requests were answered in time; they are cut off");
            }
            abort.cancel();
            connections.wait().await;
            let stored = done_within(drain.renders, live.scheduler.close()).await;
            if !stored {
                tracing::warn!("not all renders stopped in time; what they did is done again at the next start");
            }
            tracing::info!("stopped");
            if answered && stored { Ended::InOrder } else { Ended::Late }
        };
        let ended = tokio::select! {
            biased;
            () = stop.now.cancelled() => Ended::AtOnce,
            ended = in_order => ended,
        };
        abort.cancel();
        accepting.abort();
        calls_abort.iter().for_each(AbortHandle::abort);
        ended
    }
}

/// Whether something comes to its end in time.
async fn done_within(time: Duration, future: impl Future<Output = ()>) -> bool {
    tokio::time::timeout(time, future).await.is_ok()
}

async fn bind(address: &Address) -> Result<Listener, StartError> {
    Listener::bind(address).await.map_err(|source| StartError::Listen { address: address.clone(), source })
}

/// Opening may read the whole file after a crash.
async fn open(path: &Path, metrics: &Arc<Metrics>) -> Result<Store, StartError> {
    let path = path.to_owned();
    let options = EmbeddedOptions { meter: Some(Arc::clone(metrics) as _), ..EmbeddedOptions::default() };
    let opened = tokio::task::spawn_blocking(move || Store::open(&path, options));
    match opened.await {
        Ok(store) => Ok(store?),
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn engine(config: &ServerConfig, program: &Program) -> Result<Engine, EngineError> {
    Engine::new(EngineConfig {
        allocation: Allocation::Auto,
        cache_dir: program.cache.clone(),
        compiler: Compiler::Child(program.path.clone()),
        compile_limits: config.compiler,
        // Each render has its own bound on this.
        module_bytes: u64::MAX,
    })
}

/// How the scheduler works.
fn scheduling(config: &ServerConfig, metrics: &Arc<Metrics>) -> Settings {
    let mut settings = Settings { meter: Arc::clone(metrics) as _, ..Settings::default() };
    let queue = &mut settings.core.queue;
    (queue.keys, queue.memory, queue.age) = (config.queue.entries, config.queue.memory, config.queue.age);
    queue.quota = config.quota;
    settings.core.seed = fastrand::u64(..);
    settings
}

fn health(scheduler: &Scheduler, standing: &Arc<Standing>, draining: &CancellationToken) -> Health {
    let (store, scheduler) = (scheduler.store().clone(), scheduler.clone());
    let (standing, draining) = (Arc::clone(standing), draining.clone());
    Health::default()
        .with("store", move || {
            let store = store.clone();
            async move {
                let read = store.page(Select::Unfinished, None, 1).await;
                read.map(|_| String::new()).map_err(|error| error.to_string())
            }
        })
        .with_instant("scheduler", move || {
            if scheduler.is_watching() {
                Ok(String::new())
            } else {
                Err("it does not hear of changes in the store at the moment".to_owned())
            }
        })
        .with_instant("configuration", move || Ok(standing.words()))
        .with_instant("shutdown", move || {
            if draining.is_cancelled() { Err("the server is stopping".to_owned()) } else { Ok(String::new()) }
        })
}

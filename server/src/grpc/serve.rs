//! Connections: accepted, counted, asked to go, ended.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use super::evaluate::Evaluator;
use super::front::{Front, Identify};
use super::pool::{CallMeter, Pool};
use super::proto::DESCRIPTORS;
use super::proto::evaluator::function_evaluator_server::FunctionEvaluatorServer;
use super::proto::v1::render_service_server::RenderServiceServer;
use super::render::{Revisions, Service};
use super::settings::Settings;
use crate::auth::Authorizer;
use crate::linger::linger;
use crate::record::RenderSettings;

/// How long a new connection may say nothing.
const SILENCE: Duration = Duration::from_secs(10);

/// How often a connection that says nothing is asked whether it is there, and how long it may take to answer.
const KEEPALIVE: (Duration, Duration) = (Duration::from_mins(1), Duration::from_secs(20));

/// How long to wait after the system gave no connection: most likely there are no descriptors left.
const NO_CONNECTION: Duration = Duration::from_millis(100);

/// What the services are made of.
pub struct Parts {
    /// The operator's.
    pub settings: Settings,
    /// What renders and under which limits.
    pub renders: Arc<dyn RenderSettings>,
    /// Who may do what.
    pub authorizer: Arc<dyn Authorizer>,
    /// Who calls.
    pub identify: Arc<dyn Identify>,
    /// Hears how long calls wait and what they run.
    pub meter: Arc<dyn CallMeter>,
}

/// All services. Clones share everything: several listeners may serve them.
#[derive(Clone)]
pub struct Services {
    routes: Front<Routes>,
    settings: Arc<Settings>,
    health: HealthReporter,
    connections: Arc<Semaphore>,
    leaving: CancellationToken,
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Services").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on `{address}` for gRPC")]
    Listen {
        /// The address.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// The protocol's descriptors are damaged: a fault of this program.
    #[error("the reflection service cannot be made")]
    Reflection(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Where connections come from. A Unix socket's file goes with it.
#[derive(Debug)]
pub struct Listener(Kind);

#[derive(Debug)]
enum Kind {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens on `HOST:PORT`, or on `unix:PATH`. The file of a socket that nobody listens on any more is replaced.
    pub async fn bind(address: &str) -> Result<Self, ServeError> {
        let error = |source| ServeError::Listen { address: address.to_owned(), source };
        match address.strip_prefix("unix:") {
            Some(path) => {
                // As clients write it: `unix:PATH` and `unix:///PATH`.
                let path = Path::new(path.strip_prefix("//").unwrap_or(path));
                forget_dead_socket(path).await.map_err(error)?;
                let listener = UnixListener::bind(path).map_err(error)?;
                Ok(Self(Kind::Unix(listener, path.to_owned())))
            }
            None => Ok(Self(Kind::Tcp(TcpListener::bind(address).await.map_err(error)?))),
        }
    }

    /// Where it listens, as clients write it.
    pub fn address(&self) -> String {
        match &self.0 {
            Kind::Tcp(listener) => listener.local_addr().map(|address| address.to_string()).unwrap_or_default(),
            Kind::Unix(_, path) => format!("unix:{}", path.display()),
        }
    }

    async fn accept(&self) -> io::Result<Stream> {
        match &self.0 {
            Kind::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // Answers are small and whole: nothing is gained by waiting for more.
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Kind::Unix(listener, _) => Ok(Stream::Unix(listener.accept().await?.0)),
        }
    }
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self(Kind::Tcp(listener))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Kind::Unix(_, path) = &self.0
            && let Err(error) = std::fs::remove_file(path)
        {
            tracing::debug!("the socket `{}` cannot be removed: {error}", path.display());
        }
    }
}

/// Removes a socket's file if nobody listens on it.
async fn forget_dead_socket(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt as _;
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => {}
        // Nothing there; or something else, which the system will not replace either.
        _ => return Ok(()),
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        _ => Ok(()),
    }
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Whether it has begun to speak in time.
    async fn speaks(&self) -> bool {
        let ready = async {
            match self {
                Stream::Tcp(stream) => stream.readable().await,
                Stream::Unix(stream) => stream.readable().await,
            }
        };
        matches!(tokio::time::timeout(SILENCE, ready).await, Ok(Ok(())))
    }
}

impl Services {
    /// The services of these parts, for a server that keeps no revisions: `RenderService` has `Render` alone. Called within
    /// a tokio runtime.
    pub async fn new(parts: Parts) -> Result<Self, ServeError> {
        Self::made_of(parts, None).await
    }

    /// All services. Called within a tokio runtime.
    pub async fn with_revisions(parts: Parts, revisions: Revisions) -> Result<Self, ServeError> {
        Self::made_of(parts, Some(revisions)).await
    }

    async fn made_of(parts: Parts, revisions: Option<Revisions>) -> Result<Self, ServeError> {
        let settings = Arc::new(parts.settings);
        let pool = Pool::new(settings.concurrency, settings.queue, settings.queue_time, parts.meter);
        let render = Service {
            settings: Arc::clone(&settings),
            renders: Arc::clone(&parts.renders),
            revisions,
            authorizer: Arc::clone(&parts.authorizer),
            pool: pool.clone(),
        };
        let render = RenderServiceServer::new(render)
            .max_decoding_message_size(settings.receive_bytes)
            .max_encoding_message_size(usize::MAX);
        let evaluator = Evaluator::new(Arc::clone(&settings), parts.renders, parts.authorizer, pool);
        let evaluator = FunctionEvaluatorServer::new(evaluator)
            .max_decoding_message_size(settings.receive_bytes)
            // The service itself says what is too large, in better words.
            .max_encoding_message_size(usize::MAX);
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<FunctionEvaluatorServer<Evaluator>>().await;
        health.set_serving::<RenderServiceServer<Service>>().await;
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(DESCRIPTORS)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let failed = |error| ServeError::Reflection(Box::new(error));
        let routes = Routes::new(evaluator)
            .add_service(render)
            .add_service(health_service)
            .add_service(reflection().build_v1().map_err(failed)?)
            // Tools that ask by the name that the service had first.
            .add_service(reflection().build_v1alpha().map_err(failed)?)
            .prepare();
        let leaving = CancellationToken::new();
        let routes = Front::new(routes, Arc::clone(&settings), parts.identify, leaving.clone());
        let connections = Arc::new(Semaphore::new(settings.connections.clamp(1, Semaphore::MAX_PERMITS)));
        Ok(Self { routes, settings, health, connections, leaving })
    }

    /// Tells health checks that no new calls are wanted. They are answered all the same.
    pub async fn not_serving(&self) {
        for name in ["", "evaluator.FunctionEvaluator", "portico.v1.RenderService"] {
            self.health.set_service_status(name, ServingStatus::NotServing).await;
        }
    }

    /// Serves until `shutdown`, which of several listeners is to be the same for all, and then until every call has ended, at most for [`Settings::drain`]. Clients are told to
    /// go elsewhere (GOAWAY) as soon as `shutdown` is there.
    pub async fn serve(self, listener: Listener, shutdown: impl Future<Output = ()>) {
        let tasks = TaskTracker::new();
        let (leave, leaving) = watch::channel(());
        let end = CancellationToken::new();
        let mut shutdown = pin!(shutdown);
        loop {
            let permit = tokio::select! {
                () = &mut shutdown => break,
                permit = Arc::clone(&self.connections).acquire_owned() => permit,
            };
            let stream = tokio::select! {
                () = &mut shutdown => break,
                stream = listener.accept() => stream,
            };
            let stream = match stream {
                Ok(stream) => stream,
                Err(error) => {
                    tracing::warn!("no gRPC connection was accepted: {error}");
                    tokio::time::sleep(NO_CONNECTION).await;
                    continue;
                }
            };
            let (services, leaving, end) = (self.clone(), leaving.clone(), end.clone());
            tasks.spawn(async move {
                let _permit = permit;
                tokio::select! {
                    () = end.cancelled() => {}
                    () = services.accepted(stream, leaving) => {}
                }
            });
        }
        self.not_serving().await;
        self.leaving.cancel();
        // From now on connections are refused, and clients try another address at once.
        drop(listener);
        drop(leave);
        tasks.close();
        if tokio::time::timeout(self.settings.drain, tasks.wait()).await.is_err() {
            tracing::warn!("{} gRPC connections did not end within {:?} and are cut", tasks.len(), self.settings.drain);
            end.cancel();
            tasks.wait().await;
        }
    }

    async fn accepted(self, stream: Stream, leaving: watch::Receiver<()>) {
        if !stream.speaks().await {
            return;
        }
        match stream {
            Stream::Tcp(stream) => self.connection(stream, leaving).await,
            Stream::Unix(stream) => self.connection(stream, leaving).await,
        }
    }

    /// Serves one connection until it ends. When the sender of `leaving` is gone the client is told to go.
    async fn connection<I>(self, mut io: I, mut leaving: watch::Receiver<()>)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        self.until_it_ends(&mut io, &mut leaving).await;
        linger(io).await;
    }

    async fn until_it_ends<I>(&self, io: &mut I, leaving: &mut watch::Receiver<()>)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let settings = &self.settings;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .initial_stream_window_size(1 << 20)
            .initial_connection_window_size(4 << 20)
            .max_concurrent_streams(settings.streams)
            .max_header_list_size(settings.header_bytes)
            .keep_alive_interval(KEEPALIVE.0)
            .keep_alive_timeout(KEEPALIVE.1);
        let service = TowerToHyperService::new(self.routes.clone());
        let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
        let age = settings.connection_age;
        let mut old = pin!(async move {
            match age {
                // A tenth more or less, so that connections of one moment do not all come back at one moment.
                Some(age) => tokio::time::sleep(age.mul_f64(0.9 + 0.2 * fastrand::f64())).await,
                None => std::future::pending().await,
            }
        });
        let mut asked = false;
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!("a gRPC connection ended: {error}");
                    }
                    return;
                }
                () = &mut old, if !asked => asked = true,
                _ = leaving.changed(), if !asked => asked = true,
            }
            connection.as_mut().graceful_shutdown();
        }
    }
}

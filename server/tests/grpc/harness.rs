//! A server on a loopback address, with functions that are made to behave badly.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use portico_runtime::package::PackageLimits;
use portico_runtime::{
    Engine, EngineConfig, FunctionError, FunctionModule, FunctionSource, Limits, ModuleCode, RenderOptions, Renderer,
    Sources,
};
use portico_scheduler::driver;
use portico_scheduler::events::Ring;
use portico_scheduler::store::embedded::EmbeddedOptions;
use portico_server::auth::{AllowAll, Authorizer};
use portico_server::config::{Flags, ServerConfig};
use portico_server::grpc::proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use portico_server::grpc::proto::v1::render_service_client::RenderServiceClient;
use portico_server::grpc::{Anonymous, Identify, Listener, Parts, Revisions, Services, Settings};
use portico_server::ops::Program;
use portico_server::ops::metrics::Metrics;
use portico_server::record::{Backend, Effective, RecordLimits, RenderSettings, Renders};
use portico_server::{Scheduler, Store};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::codegen::http::{Request, Response};
use tonic::transport::{Channel, Endpoint};

/// Where the probes live.
pub(crate) const PREFIX: &str = "probe.local";

/// Reads stdin in pieces of 64 KiB, `$each` of which is called with the length of each.
fn reading(data: &str, each: &str, end: &str) -> String {
    format!(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
            (memory (export "memory") 2)
            {data}
            (func $print (param $to i32) (param $at i32) (param $length i32)
                (i32.store (i32.const 0) (local.get $at))
                (i32.store (i32.const 4) (local.get $length))
                (drop (call $write (local.get $to) (i32.const 0) (i32.const 1) (i32.const 12))))
            (func (export "_start")
                (loop $more
                    (i32.store (i32.const 0) (i32.const 65536))
                    (i32.store (i32.const 4) (i32.const 65536))
                    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
                    (if (i32.load (i32.const 8)) (then {each} (br $more))))
                {end}))"#
    )
}

const COPY: &str = "(call $print (i32.const 1) (i32.const 65536) (i32.load (i32.const 8)))";

/// What `fail` writes to stdout.
pub(crate) const FAILED: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nresults:\n  - message: replicas is wrong\n    severity: error\n";

fn probe(name: &str) -> Option<String> {
    let text = |text: &str| format!("(data (i32.const 1024) {text:?})");
    let print = |to: u8, length: usize| format!("(call $print (i32.const {to}) (i32.const 1024) (i32.const {length}))");
    Some(match name {
        "echo" => reading("", COPY, ""),
        "chatty" => reading(&text("by the way\n"), COPY, &print(2, 11)),
        "spin" => reading("", "", "(loop $l (br $l))"),
        "garbage" => reading(&text("hello"), "", &print(1, 5)),
        "silent" => reading("", "", ""),
        "fail" => {
            let data = format!("{} (data (i32.const 4096) \"first\\0asecond\\0a\")", text_of(FAILED));
            let stderr = "(call $print (i32.const 2) (i32.const 4096) (i32.const 13))";
            reading(&data, "", &format!("{} {stderr} (call $exit (i32.const 3))", print(1, FAILED.len())))
        }
        "broken" => "(module)".to_owned(),
        _ => return None,
    })
}

/// A text as a data segment at 1024.
fn text_of(text: &str) -> String {
    format!("(data (i32.const 1024) \"{}\")", text.replace('\n', "\\0a"))
}

struct Probes;

impl FunctionSource for Probes {
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        let Some(rest) = image.strip_prefix("probe.local/") else { return Ok(None) };
        let name = rest.split([':', '@']).next().unwrap_or(rest);
        let Some(text) = probe(name) else { return Ok(None) };
        let wasm = wat::parse_str(text).expect("the probe is valid");
        Ok(Some(FunctionModule { name: name.to_owned(), code: ModuleCode::Wasm(Arc::from(wasm)) }))
    }

    fn names(&self) -> Vec<String> {
        vec!["echo".to_owned()]
    }
}

/// Everything for every namespace; `tight` has little fuel, `brief` little time.
struct Same(Renderer);

impl RenderSettings for Same {
    fn for_namespace(&self, namespace: &str) -> Effective {
        let mut options = RenderOptions::default();
        let limits = &mut options.call.limits;
        *limits = Limits { fuel: u64::MAX, ..Limits::default() };
        match namespace {
            "tight" => *limits = Limits { fuel: 10_000, fuel_per_step: 0, fuel_per_input_byte: 0, ..limits.clone() },
            "brief" => limits.step_time = std::time::Duration::from_millis(20),
            _ => {}
        }
        Effective { renderer: self.0.clone(), options, limits: PackageLimits::default(), warnings: Vec::new() }
    }

    fn configuration(&self) -> u64 {
        1
    }
}

/// What holds where an operator said this.
fn configured(text: &str) -> Arc<dyn RenderSettings> {
    let text = format!("apiVersion: portico.dev/v1alpha1\nkind: ServerConfiguration\nstore: /s.redb\n{text}");
    let config = ServerConfig::read("s.yaml", text.as_bytes(), &Flags::default()).expect("a configuration");
    let engine = Engine::new(EngineConfig::default()).expect("an engine");
    let program = Program { functions: Arc::new(Probes), path: "/proc/self/exe".into(), cache: None };
    Arc::new(portico_server::config::Renders::new(engine, program, config))
}

/// A running server. Dropped, it stops.
pub(crate) struct Server {
    pub(crate) address: String,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
    kept: Option<(Scheduler, tempfile::TempDir)>,
}

fn parts(settings: Settings, authorizer: Arc<dyn Authorizer>) -> Parts {
    let engine = Engine::new(EngineConfig::default()).expect("an engine");
    let renderer = Renderer::new(engine, Sources::new(vec![Arc::new(Probes)]));
    Parts {
        settings,
        renders: Arc::new(Same(renderer)),
        authorizer,
        identify: Arc::new(Anonymous),
        meter: Arc::new(Metrics::new()),
    }
}

impl Server {
    pub(crate) async fn start(settings: Settings) -> Self {
        Self::with(settings, Arc::new(AllowAll), "127.0.0.1:0").await
    }

    pub(crate) async fn with(settings: Settings, authorizer: Arc<dyn Authorizer>, address: &str) -> Self {
        let services = Services::new(parts(settings, authorizer)).await.expect("the services");
        Self::listening(services, address, None).await
    }

    /// One that wants to know who calls.
    pub(crate) async fn identifying(settings: Settings, identify: Arc<dyn Identify>) -> Self {
        let parts = Parts { identify, ..parts(settings, Arc::new(AllowAll)) };
        Self::listening(Services::new(parts).await.expect("the services"), "127.0.0.1:0", None).await
    }

    /// One that tells these metrics.
    pub(crate) async fn metered(settings: Settings, metrics: &Arc<Metrics>) -> Self {
        let parts = Parts { meter: Arc::clone(metrics) as _, ..parts(settings, Arc::new(AllowAll)) };
        Self::listening(Services::new(parts).await.expect("the services"), "127.0.0.1:0", None).await
    }

    /// One with this in its configuration file.
    pub(crate) async fn configured(settings: Settings, text: &str) -> Self {
        let parts = Parts { renders: configured(text), ..parts(settings, Arc::new(AllowAll)) };
        Self::listening(Services::new(parts).await.expect("the services"), "127.0.0.1:0", None).await
    }

    /// One that keeps revisions, with a scheduler of so many workers.
    pub(crate) async fn with_revisions(settings: Settings, authorizer: Arc<dyn Authorizer>, workers: usize) -> Self {
        Self::keeping(parts(settings, authorizer), workers, tempfile::tempdir().expect("a directory")).await
    }

    /// The same, with this in its configuration file.
    pub(crate) async fn configured_with_revisions(text: &str, workers: usize) -> Self {
        let parts = Parts { renders: configured(text), ..parts(settings(), Arc::new(AllowAll)) };
        Self::keeping(parts, workers, tempfile::tempdir().expect("a directory")).await
    }

    /// Another one on the same store, when this one has ended.
    pub(crate) async fn restarted(mut self, text: &str, workers: usize) -> Self {
        self.stop().await.expect("it ends");
        let (scheduler, directory) = self.kept.take().expect("it keeps revisions");
        scheduler.close().await;
        scheduler.store().clone().close().await;
        let parts = Parts { renders: configured(text), ..parts(settings(), Arc::new(AllowAll)) };
        Self::keeping(parts, workers, directory).await
    }

    async fn keeping(parts: Parts, workers: usize, directory: tempfile::TempDir) -> Self {
        let path = directory.path().join("store");
        let store = Store::open(&path, EmbeddedOptions::default()).expect("a store");
        let renders = Renders::new(RecordLimits::default());
        let backend = Arc::new(Backend::new(Arc::clone(&parts.renders), Arc::clone(&renders)));
        let scheduler = Scheduler::new(store, backend, Arc::new(Ring::new(100)), driver::Settings::default());
        scheduler.start_processing(workers);
        let revisions = Revisions { scheduler: scheduler.clone(), renders };
        let services = Services::with_revisions(parts, revisions).await.expect("the services");
        Self::listening(services, "127.0.0.1:0", Some((scheduler, directory))).await
    }

    async fn listening(services: Services, address: &str, kept: Option<(Scheduler, tempfile::TempDir)>) -> Self {
        let listener = Listener::bind(address).await.expect("a free address");
        let address = listener.address();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(services.serve(listener, async {
            let _ = stopped.await;
        }));
        Self { address, stop: Some(stop), task: Some(task), kept }
    }

    pub(crate) fn scheduler(&self) -> &Scheduler {
        &self.kept.as_ref().expect("it keeps revisions").0
    }

    pub(crate) async fn renders(&self) -> RenderServiceClient<Channel> {
        RenderServiceClient::new(self.channel().await)
    }

    pub(crate) async fn channel(&self) -> Channel {
        let address = match self.address.strip_prefix("unix:") {
            Some(path) => format!("unix://{path}"),
            None => format!("http://{}", self.address),
        };
        Endpoint::from_shared(address).expect("an address").connect().await.expect("it listens")
    }

    pub(crate) async fn client(&self) -> FunctionEvaluatorClient<Channel> {
        let most = 128 << 20;
        FunctionEvaluatorClient::new(self.channel().await)
            .max_decoding_message_size(most)
            .max_encoding_message_size(most)
    }

    /// Tells it to stop; the handle ends when it has.
    pub(crate) fn stop(&mut self) -> JoinHandle<()> {
        drop(self.stop.take());
        self.task.take().expect("it runs")
    }
}

/// A connection that keeps no time of its own and does not come back when it is ended.
#[derive(Clone)]
pub(crate) struct Raw(http2::SendRequest<tonic::body::Body>);

impl Raw {
    /// The connection, and a task that ends with it.
    pub(crate) async fn connect(address: &str) -> (Self, JoinHandle<()>) {
        let stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
        let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (sender, connection) = handshake.expect("it speaks HTTP/2");
        let task = tokio::spawn(async {
            let _ = connection.await;
        });
        (Self(sender), task)
    }
}

impl tower::Service<Request<tonic::body::Body>> for Raw {
    type Response = Response<hyper::body::Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, hyper::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<tonic::body::Body>) -> Self::Future {
        // HTTP/2 wants to know the host; any will do.
        *request.uri_mut() = format!("http://localhost{}", request.uri().path()).parse().expect("an address");
        Box::pin(self.0.send_request(request))
    }
}

/// Settings that take the probes.
pub(crate) fn settings() -> Settings {
    Settings { prefixes: vec![PREFIX.to_owned()], ..Settings::default() }
}

/// A list with a comment and an odd layout, which must come through.
pub(crate) const LIST: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n# licence\n- apiVersion: v1\n  kind:   ConfigMap # odd\n  metadata:\n    name: 'a'\n    annotations:\n      internal.config.kubernetes.io/path: a.yaml\n      internal.config.kubernetes.io/index: '0'\n";

/// A list of about this many bytes.
pub(crate) fn list_of(bytes: usize) -> String {
    let item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n  data:\n    key: ";
    format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{item}{}\n", "x".repeat(bytes))
}

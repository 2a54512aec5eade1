//! A server of the API on a loopback port, with a store in a folder of its own, and clients of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::middleware::{self, Next};
use bytes::Bytes;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use portico_catalog::Catalog;
use portico_runtime::package::PackageLimits;
use portico_runtime::{Engine, EngineConfig, RenderOptions, Renderer, Sources};
use portico_scheduler::core::{Ended, Outcome};
use portico_scheduler::driver::{Job, RenderBackend, Settings};
use portico_scheduler::events::Ring;
use portico_scheduler::model::{Ending, Reason, RenderState, mirror};
use portico_scheduler::store::embedded::EmbeddedOptions;
use portico_scheduler::store::{EmbeddedStore, PackageStore, StoreLimits};
use portico_server::Scheduler;
use portico_server::api::{ApiLimits, App, Parts, router};
use portico_server::auth::{AllowAll, Attributes, Authorizer, Identity};
use portico_server::record::{Backend, Effective, RecordLimits, RenderSettings, Renders};
use serde_json::{Value, json};
use tokio::sync::watch;

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n";

/// The namespace of nearly all tests.
pub(crate) const NS: &str = "default";

/// Holds renders until a test lets them go.
#[derive(Debug)]
pub(crate) struct Gate(watch::Sender<bool>);

impl Gate {
    /// Renders of packages with a file `hold` wait from now on.
    pub(crate) fn close(&self) {
        self.0.send_replace(false);
    }

    pub(crate) fn open(&self) {
        self.0.send_replace(true);
    }
}

/// Renders without functions: a file `hold` makes it wait for the gate, a file `fail` makes it fail with its text, and what
/// stands in a file `echo` stands in the file `echoed` afterwards.
#[derive(Debug)]
struct Scripted(Arc<Gate>);

impl RenderBackend for Scripted {
    fn render(&self, job: &Job) -> Ended {
        let cancelled = || Ended { outcome: Outcome::Cancelled, log: Bytes::new(), fuel: 0 };
        if job.files.contains_key("hold") {
            while !*self.0.0.borrow() {
                if job.cancel.wait_timeout(Duration::from_millis(1)) {
                    return cancelled();
                }
            }
        }
        let ending = match job.files.get("fail") {
            Some(why) => Ending::failure(Reason::RenderFailed, String::from_utf8_lossy(why)),
            None => Ending::success(),
        };
        let mut files = (*job.files).clone();
        if let Some(text) = job.files.get("echo") {
            files.insert("echoed".to_owned(), text.clone());
        }
        let files = mirror(&Arc::new(files), &RenderState::Ended(ending.clone()));
        let outcome = Outcome::Rendered { ending, files: Some(files) };
        Ended { outcome, log: Bytes::from_static(b"scripted\n"), fuel: 0 }
    }

    fn configuration(&self) -> u64 {
        1
    }
}

/// The embedded functions, with default limits.
struct Embedded(Renderer);

impl RenderSettings for Embedded {
    fn for_namespace(&self, namespace: &str) -> Effective {
        Effective {
            renderer: self.0.for_tenant(namespace),
            options: RenderOptions::default(),
            limits: PackageLimits::default(),
            warnings: Vec::new(),
        }
    }

    fn configuration(&self) -> u64 {
        1
    }
}

/// What a world is made of.
pub(crate) struct Setup {
    pub(crate) workers: usize,
    pub(crate) embedded: bool,
    pub(crate) limits: ApiLimits,
    pub(crate) store_limits: StoreLimits,
    pub(crate) authorizer: Arc<dyn Authorizer>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            workers: 2,
            embedded: false,
            limits: ApiLimits::default(),
            store_limits: StoreLimits::default(),
            authorizer: Arc::new(AllowAll),
        }
    }
}

pub(crate) struct World {
    pub(crate) app: Arc<App>,
    pub(crate) scheduler: Scheduler,
    pub(crate) gate: Arc<Gate>,
    pub(crate) url: String,
    pub(crate) client: kube::Client,
    pub(crate) folder: tempfile::TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Setup::default()).await
    }

    /// With the embedded functions.
    pub(crate) async fn embedded() -> Self {
        Self::with(Setup { embedded: true, ..Setup::default() }).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = EmbeddedOptions { limits: setup.store_limits, ..EmbeddedOptions::default() };
        let store = EmbeddedStore::open(&folder.path().join("store.redb"), options).unwrap();
        let renders = Renders::new(RecordLimits::default());
        let gate = Arc::new(Gate(watch::Sender::new(true)));
        let backend: Arc<dyn RenderBackend> = if setup.embedded {
            let engine = Engine::new(EngineConfig::default()).unwrap();
            let renderer = Renderer::new(engine, Sources::new(vec![Arc::new(Catalog)]));
            Arc::new(Backend::new(Arc::new(Embedded(renderer)), Arc::clone(&renders)))
        } else {
            Arc::new(Scripted(Arc::clone(&gate)))
        };
        let events = Arc::new(Ring::new(10_000));
        let scheduler = Scheduler::new(store, backend, Arc::new(Arc::clone(&events)), Settings::default());
        scheduler.start_processing(setup.workers);
        let app = App::new(Parts {
            scheduler: scheduler.clone(),
            events,
            authorizer: setup.authorizer,
            renders,
            limits: setup.limits,
            store_limits: setup.store_limits,
        });
        let routes = router(Arc::clone(&app)).layer(middleware::from_fn(identify));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        let client = client(&url);
        Self { app, scheduler, gate, url, client, folder }
    }

    /// Another API on the same store, as after a restart.
    pub(crate) fn another(&self) -> Arc<App> {
        App::new(Parts {
            scheduler: self.scheduler.clone(),
            events: Arc::new(Ring::new(1)),
            authorizer: Arc::new(AllowAll),
            renders: Renders::new(RecordLimits::default()),
            limits: ApiLimits::default(),
            store_limits: StoreLimits::default(),
        })
    }

    pub(crate) fn revisions(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), NS, &resource("PackageRevision", "packagerevisions"))
    }

    pub(crate) fn resources(&self) -> Api<DynamicObject> {
        let resource = resource("PackageRevisionResources", "packagerevisionresources");
        Api::namespaced_with(self.client.clone(), NS, &resource)
    }

    /// Makes a draft, and waits for its first render.
    pub(crate) async fn draft(&self, package: &str, workspace: &str) -> DynamicObject {
        let made = self.revisions().create(&PostParams::default(), &revision(package, workspace)).await.unwrap();
        self.rendered(made.metadata.name.as_deref().unwrap()).await
    }

    /// Waits until the newest content has been rendered.
    pub(crate) async fn rendered(&self, name: &str) -> DynamicObject {
        let key = self.scheduler.store().find(NS, name).await.unwrap().key;
        tokio::time::timeout(PATIENCE, self.scheduler.rendered(&key)).await.expect("a render ends").unwrap();
        self.revisions().get(name).await.unwrap()
    }

    /// Writes files into a draft, in place of those of the same names.
    pub(crate) async fn write(&self, name: &str, files: &[(&str, &str)]) -> DynamicObject {
        let resources: BTreeMap<&str, &str> = files.iter().copied().collect();
        let patch = json!({"spec": {"resources": resources}});
        let patch = kube::api::Patch::Merge(&patch);
        self.resources().patch(name, &kube::api::PatchParams::default(), &patch).await.unwrap()
    }

    /// An object with another lifecycle.
    pub(crate) async fn step(&self, name: &str, lifecycle: &str) -> Result<DynamicObject, kube::Error> {
        let patch = json!({"spec": {"lifecycle": lifecycle}});
        self.revisions().patch(name, &kube::api::PatchParams::default(), &kube::api::Patch::Merge(&patch)).await
    }

    /// The same through `approval`.
    pub(crate) async fn approve(&self, name: &str, lifecycle: &str) -> Result<DynamicObject, kube::Error> {
        let patch = kube::api::Patch::Merge(json!({"spec": {"lifecycle": lifecycle}}));
        self.revisions().patch_subresource("approval", name, &kube::api::PatchParams::default(), &patch).await
    }

    /// Proposes and approves.
    pub(crate) async fn publish(&self, name: &str) -> DynamicObject {
        self.rendered(name).await;
        self.step(name, "Proposed").await.unwrap();
        self.approve(name, "Published").await.unwrap()
    }

    /// A request as it is; the answer's status, headers and body.
    pub(crate) async fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Raw {
        use http_body_util::BodyExt as _;
        let mut request = axum::http::Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(kube::client::Body::from(body.as_bytes().to_vec())).unwrap();
        let answer = self.client.send(request).await.unwrap();
        let (parts, body) = answer.into_parts();
        let bytes = tokio::time::timeout(PATIENCE, body.collect()).await.expect("an answer ends").unwrap().to_bytes();
        Raw { code: parts.status.as_u16(), headers: parts.headers, body: String::from_utf8_lossy(&bytes).into_owned() }
    }

    /// GETs JSON.
    pub(crate) async fn get(&self, path: &str) -> Value {
        self.raw("GET", path, &[], "").await.json()
    }
}

#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) code: u16,
    pub(crate) headers: axum::http::HeaderMap,
    pub(crate) body: String,
}

impl Raw {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The events of a watch.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A client of a server at this address.
pub(crate) fn client(url: &str) -> kube::Client {
    let mut config = kube::Config::new(url.parse().unwrap());
    // What is refused is looked at, not tried again.
    config.default_retry = false;
    kube::Client::try_from(config).unwrap()
}

pub(crate) fn resource(kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("porch.kpt.dev", "v1alpha1", kind), plural)
}

/// The path of an object.
pub(crate) fn path(plural: &str, name: &str) -> String {
    let base = format!("/apis/porch.kpt.dev/v1alpha1/namespaces/{NS}/{plural}");
    if name.is_empty() { base } else { format!("{base}/{name}") }
}

/// A draft of an empty package in the repository `r`, named by its parts.
pub(crate) fn revision(package: &str, workspace: &str) -> DynamicObject {
    let spec = json!({"packageName": package, "repository": "r", "workspaceName": workspace});
    object("PackageRevision", json!({"namespace": NS}), json!({"spec": spec}))
}

#[expect(clippy::needless_pass_by_value, reason = "those who call it write the values in place")]
pub(crate) fn object(kind: &str, metadata: Value, rest: Value) -> DynamicObject {
    let mut whole = json!({"apiVersion": "porch.kpt.dev/v1alpha1", "kind": kind, "metadata": metadata});
    for (name, value) in rest.as_object().unwrap() {
        whole[name] = value.clone();
    }
    serde_json::from_value(whole).unwrap()
}

/// The status of the condition of this type; empty if it is not there.
pub(crate) fn condition(object: &DynamicObject, kind: &str) -> String {
    let conditions = object.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == kind);
    found.and_then(|condition| condition["status"].as_str()).unwrap_or_default().to_owned()
}

/// The `Status` of a refused request.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, kube::Error>) -> kube::core::Status {
    match result {
        Err(kube::Error::Api(status)) => *status,
        other => panic!("{other:?} is no refusal"),
    }
}

/// Who sends a request: what a listener would have found out. The user stands in a header.
async fn identify(mut request: Request, next: Next) -> axum::response::Response {
    let user = request.headers().get("x-user").and_then(|user| user.to_str().ok()).unwrap_or("alice");
    let identity = Identity { user: user.into(), groups: Arc::from(["system:authenticated".to_owned()]) };
    request.extensions_mut().insert(identity);
    next.run(request).await
}

/// Each user may do everything in the namespace of the same name, and nothing elsewhere; `alice` may do all.
#[derive(Debug)]
pub(crate) struct OwnNamespace;

impl Authorizer for OwnNamespace {
    fn allows(&self, who: &Identity, what: &Attributes<'_>) -> Result<(), String> {
        if *who.user == *"alice" || *who.user == *what.namespace {
            return Ok(());
        }
        Err("no role allows it".to_owned())
    }
}

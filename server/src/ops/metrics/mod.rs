//! What a monitoring system reads at `/metrics`: `OpenMetrics` or Prometheus' own text.
//!
//! One [`Metrics`] lasts as long as the process. It is made first, given to whoever has something to tell (the scheduler as
//! its [`Meter`], the store as its [`StoreMeter`], the backend as its [`StepMeter`]), and then told whom to ask at each
//! scrape ([`Metrics::observe`]). So nothing begins anew when a configuration is read again or work is stopped and started.
//!
//! Values are in base units, times in seconds. Every label has a bounded number of values; all that is known beforehand is
//! there from the first scrape on. The names are in `docs/server-metrics.md`.

mod functions;
mod process;
mod scrape;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use portico_runtime::{Engine, FunctionReply, StepReport};
use portico_scheduler::core::Waited;
use portico_scheduler::driver::{Meter, RenderEnd};
use portico_scheduler::model::ErrorClass;
use portico_scheduler::store::{StoreMeter, StoreOperation};
use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use self::functions::Functions;
use self::process::Process;
use self::scrape::Scraped;
use crate::Scheduler;
use crate::grpc::CallMeter;
use crate::record::StepMeter;

/// Functions that are told apart; the rest counts as `other`.
///
/// - Problem: each image is a set of time series for ever, and whoever writes a Kptfile names images.
/// - Mechanism: the first that run have a label of their own, without tag and digest; later ones share one.
/// - Default: 200, fixed; the embedded catalog has some 60.
/// - Does not stop: names that came first and never run again; a restart forgets them.
pub const FUNCTIONS: usize = 200;

/// The states of `portico_calls`.
const CALL_WAITS: &str = "waiting";
const CALL_RUNS: &str = "running";

type Label = [(&'static str, &'static str); 1];
type Labels = [(&'static str, &'static str); 2];

/// Counts and times what the server does.
pub struct Metrics {
    registry: Registry,
    told: Told,
    functions: Arc<Functions>,
    sources: Arc<OnceLock<Sources>>,
}

/// Whom to ask at each scrape.
#[derive(Debug, Clone)]
pub struct Sources {
    /// The scheduler, and the store behind it.
    pub scheduler: Scheduler,
    /// Where modules are loaded, if it is in this process.
    pub engine: Option<Engine>,
}

/// What is told as it happens.
#[derive(Debug)]
struct Told {
    wait: Histogram,
    turn_wait: Histogram,
    render: Family<Label, Histogram, fn() -> Histogram>,
    work: Histogram,
    turn: Histogram,
    longest_turn: Gauge<f64, std::sync::atomic::AtomicU64>,
    lag: Histogram,
    store: Family<Label, Histogram, fn() -> Histogram>,
    store_errors: Family<Labels, Counter>,
    reloads: Family<Label, Counter>,
    reloaded: Gauge,
    refused: Family<Label, Counter>,
    call_wait: Histogram,
    calls: Family<Label, Gauge>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("observes", &self.sources.get().is_some()).finish_non_exhaustive()
    }
}

/// From a tenth of a millisecond to 52 s, each twice the last.
fn short() -> Histogram {
    Histogram::new((0..20).map(|n| 0.0001 * f64::from(1 << n)))
}

/// From a millisecond to some nine minutes, each twice the last.
fn long() -> Histogram {
    Histogram::new((0..20).map(|n| 0.001 * f64::from(1 << n)))
}

/// From a microsecond to a second, each four times the last.
fn tiny() -> Histogram {
    Histogram::new((0..11).map(|n| 0.000_001 * f64::from(1 << (2 * n))))
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Metrics that nobody has told anything.
    pub fn new() -> Self {
        let mut registry = Registry::default();
        let told = Told::new(&mut registry);
        let functions = Arc::new(Functions::new(FUNCTIONS));
        registry.register_collector(Box::new(Arc::clone(&functions)));
        let sources = Arc::new(OnceLock::new());
        registry.register_collector(Box::new(Scraped::new(Arc::clone(&sources))));
        registry.register_collector(Box::new(Process::new()));
        Self { registry, told, functions, sources }
    }

    /// Whom to ask at each scrape from now on. Once: a second time changes nothing.
    pub fn observe(&self, sources: Sources) {
        let _ = self.sources.set(sources);
    }

    /// The configuration was read again, and taken or refused.
    pub fn reloaded(&self, taken: bool) {
        let result = if taken { "taken" } else { "refused" };
        self.told.reloads.get_or_create(&[("result", result)]).inc();
        self.told.reloaded.set(i64::from(taken));
    }

    /// A request was refused by this limit.
    pub fn refused(&self, limit: &'static str) {
        self.told.refused.get_or_create(&[("limit", limit)]).inc();
    }

    /// All of it, in the format that is asked for. Looks at every revision in the queue.
    ///
    /// # Errors
    /// None that the text itself does not cause.
    pub fn encode(&self, format: Format) -> Result<String, fmt::Error> {
        let mut text = String::new();
        match format {
            Format::OpenMetrics => text::encode(&mut text, &self.registry)?,
            Format::Prometheus => prometheus_text::encode(&mut text, &self.registry)?,
        }
        Ok(text)
    }
}

/// How metrics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `OpenMetrics` 1.0.
    OpenMetrics,
    /// Prometheus' text, version 0.0.4.
    Prometheus,
}

impl Format {
    /// The one that a client accepts.
    pub fn accepted(headers: &HeaderMap) -> Self {
        let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let open = accepted.flat_map(|value| value.split(',')).any(|one| {
            let one = one.trim();
            one.split(';').next() == Some("application/openmetrics-text")
                && !one.contains("q=0;")
                && !one.ends_with("q=0")
        });
        if open { Self::OpenMetrics } else { Self::Prometheus }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => prometheus_text::CONTENT_TYPE,
        }
    }
}

/// `/metrics`. Who may read it is asked before.
pub fn router(metrics: Arc<Metrics>) -> Router {
    Router::new().route("/metrics", get(scrape)).with_state(metrics)
}

async fn scrape(State(metrics): State<Arc<Metrics>>, headers: HeaderMap) -> Response {
    let format = Format::accepted(&headers);
    match metrics.encode(format) {
        Ok(text) => ([(CONTENT_TYPE, format.content_type())], text).into_response(),
        Err(error) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("the metrics can't be written: {error}\n")).into_response()
        }
    }
}

impl Told {
    fn new(registry: &mut Registry) -> Self {
        let told = Self {
            wait: long(),
            turn_wait: long(),
            render: Family::new_with_constructor(long),
            work: long(),
            turn: tiny(),
            longest_turn: Gauge::default(),
            lag: long(),
            store: Family::new_with_constructor(short),
            store_errors: Family::default(),
            reloads: Family::default(),
            reloaded: Gauge::default(),
            refused: Family::default(),
            call_wait: short(),
            calls: Family::default(),
        };
        for state in [CALL_WAITS, CALL_RUNS] {
            drop(told.calls.get_or_create(&[("state", state)]));
        }
        for end in RenderEnd::ALL {
            drop(told.render.get_or_create(&[("outcome", end.as_str())]));
        }
        for operation in StoreOperation::ALL {
            drop(told.store.get_or_create(&[("operation", operation.as_str())]));
        }
        for result in ["taken", "refused"] {
            drop(told.reloads.get_or_create(&[("result", result)]));
        }
        told.reloaded.set(1);
        registry.register(
            "portico_render_wait_seconds",
            "Time from the scheduling of a render to its begin, quiet periods included",
            told.wait.clone(),
        );
        registry.register(
            "portico_scheduler_turn_seconds",
            "Time that the scheduler's lock was held for one event",
            told.turn.clone(),
        );
        registry.register(
            "portico_watch_lag_seconds",
            "How long after its writing a change of content was seen by the scheduler",
            told.lag.clone(),
        );
        let name = [("name".into(), "renders".into())];
        let queue = registry.sub_registry_with_labels(name.into_iter());
        queue.register(
            "workqueue_queue_duration_seconds",
            "Time that a render waited for its turn once it could run",
            told.turn_wait.clone(),
        );
        queue.register(
            "workqueue_work_duration_seconds",
            "Time that a worker had a revision, with its claim and its read",
            told.work.clone(),
        );
        registry.register(
            "portico_render_duration_seconds",
            "Time that a render ran, by how it ended",
            told.render.clone(),
        );
        registry.register(
            "portico_scheduler_turn_longest_seconds",
            "The longest turn under the scheduler's lock since the start",
            told.longest_turn.clone(),
        );
        registry.register(
            "portico_store_call_duration_seconds",
            "Time that a call of the store took, waits for other calls included",
            told.store.clone(),
        );
        registry.register(
            "portico_store_errors",
            "Calls of the store that failed, refused writes included",
            told.store_errors.clone(),
        );
        registry.register(
            "portico_configuration_reloads",
            "Readings of a configuration that changed",
            told.reloads.clone(),
        );
        registry.register(
            "portico_configuration_current",
            "1 when the last configuration that was read is in use, 0 when it was refused",
            told.reloaded.clone(),
        );
        registry.register(
            "portico_requests_refused",
            "Requests that were refused, by the limit that refused them",
            told.refused.clone(),
        );
        registry.register(
            "portico_call_wait_seconds",
            "Time that a call over gRPC waited for a worker",
            told.call_wait.clone(),
        );
        registry.register(
            "portico_calls",
            "Calls over gRPC that wait for a worker, and that have one",
            told.calls.clone(),
        );
        told
    }
}

impl Meter for Metrics {
    fn started(&self, waited: Waited) {
        self.told.wait.observe(waited.scheduled.as_secs_f64());
        self.told.turn_wait.observe(waited.turn.as_secs_f64());
    }

    fn ended(&self, end: RenderEnd, took: Duration) {
        self.told.render.get_or_create(&[("outcome", end.as_str())]).observe(took.as_secs_f64());
    }

    fn worked(&self, took: Duration) {
        self.told.work.observe(took.as_secs_f64());
    }

    fn turn(&self, took: Duration) {
        let took = took.as_secs_f64();
        self.told.turn.observe(took);
        // One turn at a time: nobody else sets it in between.
        if took > self.told.longest_turn.get() {
            self.told.longest_turn.set(took);
        }
    }

    fn lag(&self, lag: Duration) {
        self.told.lag.observe(lag.as_secs_f64());
    }
}

impl StoreMeter for Metrics {
    fn called(&self, operation: StoreOperation, took: Duration, error: Option<ErrorClass>) {
        self.told.store.get_or_create(&[("operation", operation.as_str())]).observe(took.as_secs_f64());
        if let Some(class) = error {
            let labels = [("operation", operation.as_str()), ("class", scrape::class(class))];
            self.told.store_errors.get_or_create(&labels).inc();
        }
    }
}

impl CallMeter for Metrics {
    fn waiting(&self, more: bool) {
        self.told.calls.get_or_create(&[("state", CALL_WAITS)]).inc_by(if more { 1 } else { -1 });
    }

    fn waited(&self, how_long: Duration) {
        self.told.call_wait.observe(how_long.as_secs_f64());
    }

    fn running(&self, more: bool) {
        self.told.calls.get_or_create(&[("state", CALL_RUNS)]).inc_by(if more { 1 } else { -1 });
    }

    fn function(&self, reply: &FunctionReply) {
        self.functions.call(reply);
    }
}

impl StepMeter for Metrics {
    fn step(&self, step: &StepReport) {
        self.functions.step(step);
    }
}

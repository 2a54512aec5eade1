//! How long a function still runs after its caller is gone, and after the deadline of its call: calls of a function that
//! computes for ever, over a real connection.
//!
//!     cargo run --release -p portico-server --example stop
//!
//! The time ends when the worker is free again, after the function's memory has been given back. A deadline is that of the
//! client, counted from its call; the client itself is told at once, and does not wait for that.
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portico_runtime::package::PackageLimits;
use portico_runtime::{
    Engine, EngineConfig, FunctionError, FunctionModule, FunctionReply, FunctionSource, Limits, ModuleCode,
    RenderOptions, Renderer, Sources, StepReport,
};
use portico_server::auth::AllowAll;
use portico_server::grpc::proto::evaluator::EvaluateFunctionRequest;
use portico_server::grpc::proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use portico_server::grpc::{Anonymous, CallMeter, Listener, Parts, Services, Settings};
use portico_server::record::{Effective, RenderSettings, StepMeter};
use tokio::sync::mpsc;
use tonic::Request;
use tonic::transport::{Channel, Endpoint};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const IMAGE: &str = "example.com/spin:v1";
const LIST: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";

/// Calls of each kind.
const CALLS: u32 = 1_000;

/// A function that computes for ever.
const SPIN: &str = r#"(module (memory (export "memory") 16) (func (export "_start") (loop $l (br $l))))"#;

/// Has it, compiled from text.
struct Spin(Arc<[u8]>);

impl FunctionSource for Spin {
    fn resolve(&self, image: &str) -> std::result::Result<Option<FunctionModule>, FunctionError> {
        let code = ModuleCode::Wasm(Arc::clone(&self.0));
        Ok((image == IMAGE).then(|| FunctionModule { name: "spin".to_owned(), code }))
    }

    fn names(&self) -> Vec<String> {
        vec!["spin".to_owned()]
    }
}

/// Limits that stop nothing.
struct Endless(Renderer);

impl RenderSettings for Endless {
    fn for_namespace(&self, _: &str) -> Effective {
        let mut options = RenderOptions::default();
        let hour = Duration::from_hours(1);
        options.call.limits = Limits { fuel: u64::MAX, step_time: hour, render_time: hour, ..Limits::default() };
        Effective { renderer: self.0.clone(), options, limits: PackageLimits::default(), warnings: Vec::new() }
    }

    fn configuration(&self) -> u64 {
        1
    }
}

/// Tells when a worker is taken, and when it is free again.
struct Turns(mpsc::UnboundedSender<(bool, Instant)>);

impl StepMeter for Turns {
    fn step(&self, _: &StepReport) {}
}

impl CallMeter for Turns {
    fn waiting(&self, _: bool) {}
    fn waited(&self, _: Duration) {}
    fn function(&self, _: &FunctionReply) {}

    fn running(&self, more: bool) {
        let _ = self.0.send((more, Instant::now()));
    }
}

fn call() -> Request<EvaluateFunctionRequest> {
    Request::new(EvaluateFunctionRequest { resource_list: LIST.into(), image: IMAGE.to_owned() })
}

/// When the next worker is taken, or free.
async fn next(turns: &mut mpsc::UnboundedReceiver<(bool, Instant)>, taken: bool) -> Result<Instant> {
    match turns.recv().await {
        Some((more, at)) if more == taken => Ok(at),
        told => Err(format!("a call was not told as expected: {told:?}").into()),
    }
}

async fn cancelled(
    client: &FunctionEvaluatorClient<Channel>,
    turns: &mut mpsc::UnboundedReceiver<(bool, Instant)>,
) -> Result<Duration> {
    let mut client = client.clone();
    let running = tokio::spawn(async move { client.evaluate_function(call()).await });
    next(turns, true).await?;
    // Somewhere in its run, not always at the same place.
    tokio::time::sleep(Duration::from_micros(fastrand::u64(1_000..4_000))).await;
    let gone = Instant::now();
    running.abort();
    Ok(next(turns, false).await?.saturating_duration_since(gone))
}

async fn late(
    client: &FunctionEvaluatorClient<Channel>,
    turns: &mut mpsc::UnboundedReceiver<(bool, Instant)>,
) -> Result<Duration> {
    let timeout = Duration::from_millis(5);
    let mut request = call();
    request.set_timeout(timeout);
    let mut client = client.clone();
    let due = Instant::now() + timeout;
    let answer = tokio::spawn(async move { client.evaluate_function(request).await });
    next(turns, true).await?;
    let free = next(turns, false).await?;
    if answer.await?.is_ok() {
        return Err("a function that computes for ever has passed".into());
    }
    Ok(free.saturating_duration_since(due))
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: usize| times[(times.len() - 1) * part / 1000].as_secs_f64() * 1e3;
    println!("{what}: p50 {:.2} ms, p99 {:.2} ms, most {:.2} ms", at(500), at(990), at(1000));
}

#[tokio::main]
async fn main() -> Result<()> {
    let spin = Spin(wat::parse_str(SPIN)?.into());
    let renderer = Renderer::new(Engine::new(EngineConfig::default())?, Sources::new(vec![Arc::new(spin)]));
    let (tell, mut turns) = mpsc::unbounded_channel();
    let parts = Parts {
        settings: Settings { prefixes: vec!["example.com".to_owned()], ..Settings::default() },
        renders: Arc::new(Endless(renderer)),
        authorizer: Arc::new(AllowAll),
        identify: Arc::new(Anonymous),
        meter: Arc::new(Turns(tell)),
    };
    let listener = Listener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", listener.address());
    tokio::spawn(Services::new(parts).await?.serve(listener, std::future::pending()));
    let client = FunctionEvaluatorClient::new(Endpoint::from_shared(address)?.connect().await?);
    // The first one compiles.
    cancelled(&client, &mut turns).await?;
    let (mut gone, mut due) = (Vec::new(), Vec::new());
    for _ in 0..CALLS {
        gone.push(cancelled(&client, &mut turns).await?);
        due.push(late(&client, &mut turns).await?);
    }
    println!("{CALLS} calls each, from then until the worker is free:");
    report("the caller is gone", gone);
    report("its deadline has passed", due);
    Ok(())
}

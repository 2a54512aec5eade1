//! How long writes take while renders have no end: open-loop writes of packages, with the only worker spinning and a long queue.
//!
//!     portico serve --config LOAD.yaml --store /tmp/load.redb --workers 1 &
//!     cargo run --release -p portico-server --example load -- 127.0.0.1:8080 --disk /tmp
//!
//! The configuration lets a function spin, and one client write as much as it likes:
//!
//!     apiVersion: portico.dev/v1alpha1
//!     kind: ServerConfiguration
//!     limits: {fuel: unlimited, stepTime: 1h, renderTime: 1h}
//!     requests: {perSecond: 10000, burst: 10000}
//!
//! A write's time begins when it was due, not when a connection was free for it: what waits for an answer that is late is late
//! too. Beside it stands what one wait for the disk takes, which is most of it.
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const GROUP: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces";

/// What is asked for on the command line.
struct Plan {
    address: String,
    disk: PathBuf,
    rate: u32,
    clients: u32,
    seconds: u32,
    waiting: u32,
    bytes: usize,
}

impl Plan {
    fn read() -> Result<Self> {
        let mut arguments = std::env::args().skip(1);
        let address = arguments.next().ok_or("which server? write its address, such as 127.0.0.1:8080")?;
        let mut plan =
            Self { address, disk: ".".into(), rate: 500, clients: 50, seconds: 20, waiting: 10_000, bytes: 20 << 10 };
        while let Some(flag) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("`{flag}` needs a value"))?;
            match flag.as_str() {
                "--disk" => plan.disk = value.into(),
                "--rate" => plan.rate = value.parse()?,
                "--clients" => plan.clients = value.parse()?,
                "--seconds" => plan.seconds = value.parse()?,
                "--waiting" => plan.waiting = value.parse()?,
                "--bytes" => plan.bytes = value.parse()?,
                _ => return Err(format!("`{flag}` is not known").into()),
            }
        }
        Ok(plan)
    }
}

/// One connection.
struct Client(SendRequest<Full<Bytes>>);

impl Client {
    async fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self(sender))
    }

    async fn text(&mut self, method: Method, path: &str, body: Option<Value>) -> Result<(u16, Bytes)> {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))?;
        self.0.ready().await?;
        let response = self.0.send_request(request).await?;
        let code = response.status().as_u16();
        Ok((code, response.into_body().collect().await?.to_bytes()))
    }

    async fn ask(&mut self, method: Method, path: &str, body: Option<Value>) -> Result<(u16, Value)> {
        let (code, bytes) = self.text(method, path, body).await?;
        Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    /// A new draft; its name.
    async fn draft(&mut self, package: &str) -> Result<()> {
        let draft = json!({
            "apiVersion": "porch.kpt.dev/v1alpha1",
            "kind": "PackageRevision",
            "metadata": {"name": package, "namespace": "load"},
            "spec": {"packageName": package, "repository": "load", "workspaceName": "v1", "lifecycle": "Draft"},
        });
        let (code, said) = self.ask(Method::POST, &format!("{GROUP}/load/packagerevisions"), Some(draft)).await?;
        // From a run before.
        if matches!(code, 201 | 409) { Ok(()) } else { Err(format!("no draft `{package}`: {code} {said}").into()) }
    }

    async fn files(&mut self, package: &str) -> Result<Value> {
        let (code, files) = self.ask(Method::GET, &path_of_files(package), None).await?;
        if code == 200 { Ok(files) } else { Err(format!("no files of `{package}`: {code} {files}").into()) }
    }

    /// The server's memory, in bytes.
    async fn memory(&mut self) -> Result<f64> {
        let (_, bytes) = self.text(Method::GET, "/metrics", None).await?;
        let text = String::from_utf8_lossy(&bytes);
        let value = text.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
        Ok(value.ok_or("the server tells nothing of its memory")?.trim().parse()?)
    }
}

fn path_of_files(package: &str) -> String {
    format!("{GROUP}/load/packagerevisionresources/{package}")
}

/// A pipeline whose function has no end. Its numbers stay small: large ones would fill the memory that it may have.
fn spinning(files: &mut Value) {
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: spin\npipeline:\n  mutators:\n  - image: starlark:latest\n    configPath: spin.yaml\n";
    let script = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: spin\nsource: |\n  def spin():\n    for i in range(1000000):\n      for j in range(1000000):\n        pass\n  spin()\n";
    files["spec"]["resources"] = json!({"Kptfile": kptfile, "spin.yaml": script});
}

/// Writes of one client, each at its time, on a package of its own.
async fn write(plan: Arc<Plan>, client: u32, begin: Instant, told: Arc<Told>) -> Result<()> {
    let mut connection = Client::connect(&plan.address).await?;
    let package = format!("target{client}");
    connection.draft(&package).await?;
    let mut files = connection.files(&package).await?;
    let text = "x".repeat(plan.bytes);
    for n in (client..plan.rate * plan.seconds).step_by(plan.clients as usize) {
        files["spec"]["resources"]["notes.txt"] = Value::from(format!("{n}\n{text}\n"));
        let due = begin + Duration::from_secs(1) * n / plan.rate;
        tokio::time::sleep_until(due.into()).await;
        let (code, answer) = connection.ask(Method::PUT, &path_of_files(&package), Some(files.clone())).await?;
        told.tell(code, due.elapsed());
        if code == 200 {
            files = answer;
        }
    }
    Ok(())
}

/// How long writes took, by the code of their answer.
#[derive(Default)]
struct Told(Mutex<BTreeMap<u16, Vec<Duration>>>);

impl Told {
    fn tell(&self, code: u16, took: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(code).or_default().push(took);
    }
}

fn shown(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |percent: usize| times.get(times.len() * percent / 100).or(times.last()).copied().unwrap_or_default();
    let [half, most, all] = [at(50), at(99), at(100)].map(|time| time.as_secs_f64() * 1e3);
    format!("{} times: p50 {half:.2} ms, p99 {most:.2} ms, longest {all:.2} ms", times.len())
}

/// How long a wait for the disk takes.
fn disk(directory: &PathBuf) -> Result<Vec<Duration>> {
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    let mut times = Vec::new();
    for _ in 0..200 {
        file.write_all(&[0; 4096])?;
        let begun = Instant::now();
        file.as_file().sync_data()?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

#[tokio::main]
async fn main() -> Result<()> {
    let plan = Arc::new(Plan::read()?);
    let mut client = Client::connect(&plan.address).await?;
    println!("a wait for the disk, before: {}", shown(&mut disk(&plan.disk)?));
    println!("the server's memory: {:.1} MiB", client.memory().await? / f64::from(1 << 20));

    client.draft("spin").await?;
    loop {
        let mut files = client.files("spin").await?;
        spinning(&mut files);
        let (code, said) = client.ask(Method::PUT, &path_of_files("spin"), Some(files)).await?;
        match code {
            200 => break,
            // The draft's first render was faster.
            409 => {}
            _ => return Err(format!("nothing spins: {code} {said}").into()),
        }
    }
    loop {
        let (_, spin) = client.ask(Method::GET, &format!("{GROUP}/load/packagerevisions/spin"), None).await?;
        if spin["status"]["conditions"].to_string().contains("\"Rendering\"") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    println!("the worker spins");

    let begun = Instant::now();
    let adding = (0..64).map(|part| {
        let plan = Arc::clone(&plan);
        tokio::spawn(async move {
            let mut client = Client::connect(&plan.address).await?;
            for n in (part..plan.waiting).step_by(64) {
                client.draft(&format!("waits{n}")).await?;
            }
            Ok::<_, Box<dyn Error + Send + Sync>>(())
        })
    });
    for added in adding.collect::<Vec<_>>() {
        added.await??;
    }
    let took = begun.elapsed().as_secs_f64();
    println!("{} drafts wait, added in {took:.1} s by 64 clients", plan.waiting);
    println!("the server's memory: {:.1} MiB", client.memory().await? / f64::from(1 << 20));

    let told = Arc::new(Told::default());
    let begin = Instant::now() + Duration::from_secs(1);
    let writers: Vec<_> =
        (0..plan.clients).map(|n| tokio::spawn(write(Arc::clone(&plan), n, begin, Arc::clone(&told)))).collect();
    for writer in writers {
        writer.await??;
    }
    println!("{} writes a second of {} bytes by {} clients:", plan.rate, plan.bytes, plan.clients);
    for (code, times) in &mut *told.0.lock().unwrap_or_else(PoisonError::into_inner) {
        println!("  answered {code}, {}", shown(times));
    }
    println!("the server's memory: {:.1} MiB", client.memory().await? / f64::from(1 << 20));
    println!("a wait for the disk, after: {}", shown(&mut disk(&plan.disk)?));
    Ok(())
}

//! Clients that write while the only worker spins: how long does a write wait for its answer?
//!
//! `cargo build --release -p portico && cargo bench -p portico-server --bench load [-- --rate 500 --seconds 20]`
//!
//! The server is the real program in a process of its own. 10,000 drafts wait; functions that never end hold the only
//! worker one after the other. 50 clients replace packages of 20 KB, open loop: each write has its time, whether the one
//! before it was answered or not, and the waiting time counts from there.
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::Instant as TokioInstant;

const API: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default";

/// What is asked for.
struct Plan {
    clients: u32,
    /// Writes a second, all clients together.
    rate: u32,
    seconds: u32,
    waiting: usize,
}

fn main() {
    let mut plan = Plan { clients: 50, rate: 500, seconds: 20, waiting: 10_000 };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse().ok()).expect("a number follows it");
        match argument.as_str() {
            "--clients" => plan.clients = number(),
            "--rate" => plan.rate = number(),
            "--seconds" => plan.seconds = number(),
            "--waiting" => plan.waiting = number() as usize,
            // Cargo's own.
            _ => {}
        }
    }
    let directory = tempfile::tempdir().expect("a directory for the store");
    let mut server = Server::start(directory.path());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    println!("fsync of 4 KB: {}", shown(&mut synced(directory.path())));
    runtime.block_on(measure(&plan, &server));
    println!("memory of the server: {} MB, at most {} MB", server.memory("VmRSS"), server.memory("VmHWM"));
    server.stop();
}

async fn measure(plan: &Plan, server: &Server) {
    let began = Instant::now();
    let each = plan.waiting.div_ceil(32);
    let creations: Vec<_> = (0..32)
        .map(|n| {
            let address = server.address;
            tokio::spawn(async move {
                let mut client = Client::new(address).await;
                for i in 0..each {
                    client.create(&format!("waiting-{n}-{i}")).await;
                }
            })
        })
        .collect();
    for creation in creations {
        creation.await.expect("the drafts are there");
    }
    println!("{} drafts in {:.1} s", each * 32, began.elapsed().as_secs_f64());

    let count = plan.rate * plan.seconds / plan.clients;
    let every = Duration::from_secs(1) * plan.clients / plan.rate;
    let mut clients = Vec::new();
    for n in 0..plan.clients {
        let mut client = Client::new(server.address).await;
        let name = format!("edited-{n}");
        client.create(&name).await;
        clients.push((client, name, every * n / plan.clients));
    }
    let start = TokioInstant::now() + Duration::from_millis(100);
    let writers: Vec<_> = clients
        .into_iter()
        .map(|(mut client, name, offset)| {
            tokio::spawn(async move {
                let mut times = Vec::with_capacity(count as usize);
                let mut resources = client.resources(&name).await;
                for i in 0..count {
                    let due = start + offset + every * i;
                    tokio::time::sleep_until(due).await;
                    resources = client.replace(&name, resources, &format!("{name} {i}")).await;
                    times.push(due.elapsed());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for writer in writers {
        times.extend(writer.await.expect("no write fails"));
    }
    let took = start.elapsed().as_secs_f64();
    println!("{} writes of 20 KB, {:.0} a second: {}", times.len(), times.len() as f64 / took, shown(&mut times));
}

/// Median, 99th percentile and the longest.
fn shown(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    format!("median {:.2} ms, 99th percentile {:.2} ms, longest {:.2} ms", at(50), at(99), at(100))
}

/// What the disk takes for the least durable write.
fn synced(directory: &Path) -> Vec<Duration> {
    let mut file = File::create(directory.join("synced")).expect("a file");
    let mut once = || {
        let began = Instant::now();
        file.write_all(&[7; 4096]).and_then(|()| file.sync_data()).expect("the disk takes it");
        began.elapsed()
    };
    (0..200).map(|_| once()).collect()
}

/// A package of 20 KB whose function never ends by itself.
fn package(note: &str) -> Value {
    let script = "def forever():\n  for i in range(1000000):\n    for j in range(1000000):\n      pass\nforever()\n";
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: spins\npipeline:\n  mutators:\n  - image: starlark\n    configPath: spin.yaml\n";
    let spin = format!(
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: spin\nsource: |\n  {}",
        script.trim_end().replace('\n', "\n  ") + "\n"
    );
    let filling = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: filling\ndata:\n  note: {note}\n  text: {}\n",
        "x".repeat(20_000)
    );
    json!({ "Kptfile": kptfile, "spin.yaml": spin, "filling.yaml": filling })
}

struct Client(SendRequest<Full<Bytes>>);

impl Client {
    async fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the server listens");
        stream.set_nodelay(true).expect("a socket");
        let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("it speaks HTTP");
        tokio::spawn(connection);
        Self(sender)
    }

    async fn send(&mut self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let (status, answer) = self.try_send(method, path, body).await;
        assert!(status.is_success(), "{status}: {answer}");
        answer
    }

    async fn try_send(&mut self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let bytes = body.map(|body| serde_json::to_vec(body).expect("JSON")).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(format!("{API}/{path}"))
            .header("host", "portico")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(bytes)))
            .expect("a request");
        self.0.ready().await.expect("the connection lasts");
        let answer = self.0.send_request(request).await.expect("an answer");
        let status = answer.status();
        let body = answer.into_body().collect().await.expect("a whole answer").to_bytes();
        (status, serde_json::from_slice(&body).expect("JSON"))
    }

    async fn create(&mut self, name: &str) {
        let object = json!({
            "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": { "name": name },
            "spec": { "packageName": name, "workspaceName": "v1", "repository": "load", "lifecycle": "Draft" },
        });
        self.send(Method::POST, "packagerevisions", Some(&object)).await;
        let resources = self.resources(name).await;
        self.replace(name, resources, name).await;
    }

    async fn resources(&mut self, name: &str) -> Value {
        self.send(Method::GET, &format!("packagerevisionresources/{name}"), None).await
    }

    async fn replace(&mut self, name: &str, mut resources: Value, note: &str) -> Value {
        loop {
            resources["spec"]["resources"] = package(note);
            let path = format!("packagerevisionresources/{name}");
            match self.try_send(Method::PUT, &path, Some(&resources)).await {
                (StatusCode::OK, written) => return written,
                // The scheduler wrote its conditions in between: read again, as every client has to.
                (StatusCode::CONFLICT, _) => resources = self.resources(name).await,
                (status, answer) => panic!("{status}: {answer}"),
            }
        }
    }
}

struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(directory: &Path) -> Self {
        let program = std::env::var_os("PORTICO").map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/release/portico")),
            PathBuf::from,
        );
        let mut process = Command::new(&program)
            .arg("serve")
            .args(["--listen", "127.0.0.1:0", "--workers", "1", "--store"])
            .arg(directory.join("store.redb"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("build the program first: cargo build --release -p portico");
        let mut lines = BufReader::new(process.stderr.take().expect("piped")).lines();
        let address = loop {
            let line = lines.next().expect("it says where it listens").expect("text");
            if let Some(at) = line.find("127.0.0.1:") {
                let text: String = line[at..].chars().take_while(|c| c.is_ascii_digit() || ".:".contains(*c)).collect();
                break text.parse().expect("an address");
            }
        };
        // What it says later must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, address }
    }

    /// A line of `/proc/PID/status`, in MB.
    fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default() / 1024
    }

    fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

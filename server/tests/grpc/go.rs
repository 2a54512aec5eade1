//! Clients in Go: Porch's own way to call, our module, kpt's renderer with our runtime, and load.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portico_server::auth::AllowAll;
use portico_server::grpc::Settings;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use crate::harness::{Server, settings};

/// Waits for no network where the modules are there already.
const GO: &str = "go";

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[expect(clippy::print_stderr, reason = "what is skipped is to be seen")]
fn go_is_missing() -> bool {
    // `go --version` is no command of it.
    let missing = std::process::Command::new(GO).arg("version").output().is_err();
    if missing {
        eprintln!("skipped: `go` is not on the PATH");
    }
    missing
}

async fn go(directory: &Path, arguments: &[&str], address: &str) -> String {
    let mut go = Command::new(GO);
    go.args(arguments).current_dir(directory).env("PORTICO_GRPC", address).kill_on_drop(true);
    let output = go.output().await.expect("go runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "go {arguments:?} in {}:\n{text}\n{}",
        directory.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// One worker more than the tests keep busy at once.
async fn server() -> Server {
    Server::with_revisions(Settings { concurrency: 4, ..settings() }, Arc::new(AllowAll), 1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_the_dial_options_of_porch() {
    if go_is_missing() {
        return;
    }
    let server = server().await;
    let directory = here("tests/go/porch");
    go(&directory, &["vet", "./..."], "").await;
    go(&directory, &["test", "-race", "-count=1", "./..."], &server.address).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn our_module_and_its_examples() {
    if go_is_missing() {
        return;
    }
    let server = server().await;
    let directory = here("../bindings/go");
    go(&directory, &["vet", "./..."], "").await;
    go(&directory, &["test", "-race", "-count=1", ".", "./internal/..."], &server.address).await;
    let package = tempfile::tempdir().expect("a directory");
    for (path, content) in crate::render::package(&["echo"]) {
        std::fs::write(package.path().join(path), content).expect("a file");
    }
    let shown = package.path().to_str().expect("a path");
    let wrote = go(&directory, &["run", "./examples/render", &server.address, shown], "").await;
    assert_eq!(wrote, "wrote Kptfile\n");
    let kptfile = std::fs::read_to_string(package.path().join("Kptfile")).expect("a file");
    assert!(kptfile.contains("type: Rendered"), "{kptfile}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runtime_of_kpt() {
    if go_is_missing() {
        return;
    }
    let server = server().await;
    let directory = here("../bindings/go/kpt");
    go(&directory, &["vet", "./..."], "").await;
    go(&directory, &["test", "-race", "-count=1", "./..."], &server.address).await;
    // kpt's own renderer, in a build without a module that is not to be had everywhere.
    let bare = tempfile::tempdir().expect("a directory");
    go(&directory, &["run", "./internal/bare", bare.path().to_str().expect("a path")], "").await;
    let modules = format!("-modfile={}", bare.path().join("go.mod").display());
    go(&directory, &["test", "-count=1", &modules, "-tags", "kpt_renderer", "./..."], &server.address).await;
}

/// Passes each new connection on to one of the servers that take some, as a Service of Kubernetes does.
struct Balancer {
    address: String,
    ready: Arc<Mutex<Vec<String>>>,
}

impl Balancer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free address");
        let address = listener.local_addr().expect("an address").to_string();
        let ready: Arc<Mutex<Vec<String>>> = Arc::default();
        let backends = Arc::clone(&ready);
        tokio::spawn(async move {
            for turn in 0.. {
                let Ok((mut client, _)) = listener.accept().await else { return };
                let backend = {
                    let backends = backends.lock().expect("no panic");
                    backends.get(turn % backends.len().max(1)).cloned()
                };
                let Some(backend) = backend else { continue };
                tokio::spawn(async move {
                    if let Ok(mut server) = TcpStream::connect(backend).await {
                        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                    }
                });
            }
        });
        Self { address, ready }
    }

    fn add(&self, server: &Server) {
        self.ready.lock().expect("no panic").push(server.address.clone());
    }

    fn remove(&self, server: &Server) {
        self.ready.lock().expect("no panic").retain(|address| *address != server.address);
    }
}

/// What `load` has counted.
#[derive(Debug)]
struct Figures {
    calls: u64,
    failed: u64,
    line: String,
}

/// The program that calls without end, and a place for what it prints.
async fn load_program(directory: &Path) -> PathBuf {
    let program = directory.join("load");
    go(&here("tests/go/porch"), &["build", "-o", program.to_str().expect("a path"), "./load"], "").await;
    program
}

async fn figures(lines: &mut tokio::io::Lines<BufReader<tokio::process::ChildStdout>>) -> Figures {
    let line = lines.next_line().await.expect("it prints").expect("figures");
    let number = |name: &str| {
        let value = line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        value.and_then(|value| value.parse().ok()).expect("a number")
    };
    Figures { calls: number("calls"), failed: number("failed"), line: line.clone() }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_restarted_in_turn_under_load_fail_no_call() {
    const RESTARTS: usize = 6;
    if go_is_missing() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let program = load_program(directory.path()).await;
    let balancer = Balancer::start().await;
    let mut servers = [server().await, server().await];
    for server in &servers {
        balancer.add(server);
    }
    let mut load = Command::new(program)
        .args(["-target", &balancer.address, "-callers", "20"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(load.stdout.take().expect("a pipe")).lines();
    assert_eq!(lines.next_line().await.expect("it prints").as_deref(), Some("started"));
    for turn in 0..RESTARTS {
        // Kubernetes sends no new connections by the time that a server is told to stop.
        let mut old = std::mem::replace(&mut servers[turn % 2], server().await);
        balancer.remove(&old);
        let stopped = old.stop();
        tokio::time::timeout(Duration::from_mins(1), stopped).await.expect("no call hangs").expect("no panic");
        balancer.add(&servers[turn % 2]);
    }
    // The end of its standard input ends it.
    drop(load.stdin.take());
    let figures = figures(&mut lines).await;
    assert_eq!(figures.failed, 0, "{figures:?}");
    assert!(figures.calls > 100, "{figures:?}");
}

fn resident_bytes() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0");
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() * 1024
    };
    (of("VmRSS:"), of("VmHWM:"))
}

/// The figures of docs/porch.md: `cargo test --release -p portico-server --test grpc -- --ignored --nocapture bench`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; prints figures"]
#[expect(clippy::print_stdout, reason = "it prints figures")]
async fn bench() {
    if go_is_missing() {
        return;
    }
    let seconds = std::env::var("PORTICO_BENCH_SECONDS").unwrap_or_else(|_| "60".to_owned());
    let directory = tempfile::tempdir().expect("a directory");
    let program = load_program(directory.path()).await;
    let server = Server::start(settings()).await;
    println!("before: {:?} resident, at most", resident_bytes());
    let mut idle = Vec::new();
    for _ in 0..1_000 {
        idle.push(server.channel().await);
    }
    println!("1,000 idle connections, both ends in this process: {:?}", resident_bytes());
    drop(idle);
    for (callers, size) in [(1, 1_000), (1, 100_000), (1, 1_000_000), (1, 5_000_000), (200, 1_000), (200, 100_000)] {
        let load = Command::new(&program)
            .args(["-target", &server.address, "-for", &format!("{seconds}s")])
            .args(["-callers", &callers.to_string(), "-size", &size.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut load = load.expect("it starts");
        let mut lines = BufReader::new(load.stdout.take().expect("a pipe")).lines();
        lines.next_line().await.expect("it prints");
        let figures = figures(&mut lines).await;
        println!("{callers} callers, {size} bytes: {} resident {:?}", figures.line, resident_bytes());
    }
}

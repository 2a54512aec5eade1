//! A server in a process of its own that sends traces, and what is asked of it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Far more time than anything here takes on a busy machine: only a fault waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// Where package revisions are.
pub(crate) const REVISIONS: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/team-a/packagerevisions";

/// Where their files are.
pub(crate) const RESOURCES: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/team-a/packagerevisionresources";

/// The lines of a process's pipe, as they come; the end of the channel is the end of the pipe.
pub(crate) fn lines(pipe: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (told, lines) = mpsc::channel();
    thread::spawn(move || {
        // Read on even if nobody listens: the pipe must not fill.
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let _ = told.send(line);
        }
    });
    lines
}

/// Waits for a line with these words.
pub(crate) fn line_with(lines: &Receiver<String>, words: &str) -> String {
    let mut before = Vec::new();
    loop {
        let Ok(line) = lines.recv_timeout(PATIENCE) else { panic!("no `{words}` in: {before:#?}") };
        if line.contains(words) {
            return line;
        }
        before.push(line);
    }
}

/// A server; it ends with this.
pub(crate) struct Server {
    child: Child,
    out: Receiver<String>,
    pub(crate) log: Receiver<String>,
    pub(crate) api: String,
    pub(crate) grpc: String,
    _folder: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What starts one that sends traces to this collector.
fn command(folder: &TempDir, collector: &str) -> Command {
    let config = folder.path().join("server.yaml");
    let text = format!(
        "apiVersion: portico.dev/v1alpha1\nkind: ServerConfiguration\nlisten:\n  api: 127.0.0.1:0\n  grpc: 127.0.0.1:0\n\
         workers: 1\ntraces:\n  endpoint: {collector}\n"
    );
    std::fs::write(&config, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_portico"));
    command.args(["serve", "--config"]).arg(config).arg("--store").arg(folder.path().join("store"));
    command.env("XDG_CACHE_HOME", folder.path()).env_remove("RUST_LOG");
    command
}

impl Server {
    /// One that sends traces to this collector, with these variables for its exporter.
    pub(crate) fn start(collector: &str, variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut child = command(&folder, collector)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (out, log) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        let serving = line_with(&out, "serving ");
        let address = |key: &str| {
            let found = serving.split(' ').find_map(|word| word.strip_prefix(key));
            found.unwrap_or_else(|| panic!("no `{key}` in: {serving}")).to_owned()
        };
        Self { child, out, log, api: address("api=http://"), grpc: address("grpc="), _folder: folder }
    }

    /// What one says that does not start with this collector.
    pub(crate) fn refused(collector: &str) -> String {
        let output = command(&tempfile::tempdir().unwrap(), collector).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    }

    /// Waits until it is ready: the scheduler may not have heard of the store yet.
    pub(crate) fn ready(&self) {
        let begun = Instant::now();
        while self.ask("GET", "/readyz", &[], "").0 != 200 {
            assert!(begun.elapsed() < PATIENCE, "it is never ready");
            thread::yield_now();
        }
    }

    /// Asks on a connection of its own; the code and the body of the answer.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.api).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len().to_string();
        let always = [("Host", "localhost"), ("Connection", "close"), ("Content-Length", &*length)];
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in always.iter().chain(headers) {
            text.extend([name, ": ", value, "\r\n"]);
        }
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Sends an object within a trace; the answer.
    pub(crate) fn send(&self, method: &str, path: &str, trace: &str, body: &Value) -> Value {
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let headers = [("Content-Type", kind), ("traceparent", trace)];
        let (code, answer) = self.ask(method, path, &headers, &body.to_string());
        assert!(matches!(code, 200 | 201), "{method} {path}: {code} {answer}");
        serde_json::from_str(&answer).unwrap()
    }

    /// Tells it to end, and waits until it has, in order.
    pub(crate) fn end(mut self) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        // Its end is the end of its pipe.
        let said = self.out.recv_timeout(PATIENCE);
        assert_eq!(said, Err(RecvTimeoutError::Disconnected), "it does not end, or has words");
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

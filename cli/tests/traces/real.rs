//! The collector that people run, built from its makers' modules: it takes what is sent to it, and passes it on to ours.
#![expect(clippy::print_stdout, reason = "who runs the tests is to know what was looked at, and what was not")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;

use crate::arrival::{AT_ONCE, everything_arrives};
use crate::collector::Collector;
use crate::harness::{Server, line_with, lines};

/// The collector; it ends with this.
struct Process {
    child: Child,
    log: Receiver<String>,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Why nothing came through is what it knows.
        if std::thread::panicking() {
            self.log.iter().for_each(|line| println!("collector: {line}"));
        }
    }
}

/// The collector's program; `None`, with a word, without Go. Takes minutes the first time.
fn built() -> Option<PathBuf> {
    if Command::new("go").arg("version").output().is_err() {
        println!("SKIPPED: the OpenTelemetry Collector is not tried without `go`");
        return None;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("collector");
    let mut go = Command::new("go");
    go.args(["build", "-mod=readonly", "-o"]).arg(&program).arg(".");
    let output = go.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces/collector")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

/// A port that nobody has, for a program that can't say which one it took.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn the_collector_that_people_run_takes_everything() {
    let Some(program) = built() else { return };
    let (ours, folder) = (Collector::start(), tempfile::tempdir().unwrap());
    let address = format!("127.0.0.1:{}", free_port());
    let config = folder.path().join("config.yaml");
    let text = include_str!("collector/config.yaml").replace("INPUT", &address).replace("OUTPUT", &ours.endpoint);
    std::fs::write(&config, text).unwrap();
    let mut child = Command::new(program).arg("--config").arg(config).stderr(Stdio::piped()).spawn().unwrap();
    let log = lines(child.stderr.take().unwrap());
    let process = Process { child, log };
    line_with(&process.log, "Everything is ready");
    everything_arrives(Server::start(&format!("http://{address}"), &AT_ONCE), &ours);
}

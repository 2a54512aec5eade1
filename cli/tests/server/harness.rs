//! A server in a process of its own, and what is asked of it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use hyper::Request;
use serde_json::Value;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_portico");

/// A server on a port of its own; it ends with this.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    folder: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a command said.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// It ended with this code.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    /// It said so on stderr.
    #[track_caller]
    pub(crate) fn told(self, words: &str) -> Self {
        assert!(self.err.contains(words), "no `{words}` in: {}", self.err);
        self
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap())
    }

    fn start_in(folder: TempDir) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["serve", "--listen", "127.0.0.1:0", "--store"])
            .arg(folder.path().join("store"))
            .env("XDG_CACHE_HOME", folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // What it logs is of no interest, and must not fill the pipe.
        let mut log = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().split_once("api=").expect(&line).1.split(' ').next().unwrap().to_owned();
        Self { child, url, folder }
    }

    /// Ends it as an operator does, and starts another one on the same store.
    pub(crate) fn restarted(mut self) -> Self {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        drop(self);
        Self::start_in(folder)
    }

    /// Runs a command against it, in the namespace `team-a`.
    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        let mut all = arguments.to_vec();
        all.extend(["--server", &self.url, "--namespace", "team-a"]);
        run(&all)
    }

    /// Asks for an object.
    pub(crate) fn get(&self, resource: &str, name: &str) -> Value {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = kube::Client::try_from(kube::Config::new(self.url.parse().unwrap())).unwrap();
            let path = format!("/apis/porch.kpt.dev/v1alpha1/namespaces/team-a/{resource}/{name}");
            client.request(Request::get(path).body(Vec::new()).unwrap()).await.unwrap()
        })
    }
}

pub(crate) fn run(arguments: &[&str]) -> Said {
    let Output { status, stdout, stderr } =
        Command::new(PROGRAM).args(arguments).env_remove("KUBECONFIG").env("HOME", "/nonexistent").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { code: status.code(), out: text(stdout), err: text(stderr) }
}

/// A package in a folder.
pub(crate) struct Package(pub(crate) TempDir);

impl Package {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let package = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            package.write(path, text);
        }
        package
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    pub(crate) fn arg(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }
}

/// A Kptfile of the package `web` with this pipeline.
pub(crate) fn kptfile(pipeline: &str) -> String {
    format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n{pipeline}")
}

/// Sets the label `app: web` on everything.
pub(crate) const LABELS: &str =
    "pipeline:\n  mutators:\n  - image: set-labels:latest\n    configMap:\n      app: web\n";

pub(crate) const SERVICE: &str =
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n";

/// A function that fails with these words.
pub(crate) fn failing(words: &str) -> String {
    format!(
        "pipeline:\n  validators:\n  - image: starlark:latest\n    configMap:\n      source: |\n        print(\"looking\")\n        fail({words:?})\n"
    )
}

/// The folder of node's modules with these in it; `None`, with a word, where they can't be had.
pub(crate) fn modules(wanted: &[&str]) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("modules");
    let there = |name: &&str| folder.join("node_modules").join(name.split('@').next().unwrap_or_default()).is_dir();
    if wanted.iter().all(there) {
        return Some(folder);
    }
    std::fs::create_dir_all(&folder).unwrap();
    let installed = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
        .arg(&folder)
        .args(wanted)
        .output();
    installed.is_ok_and(|output| output.status.success()).then_some(folder)
}

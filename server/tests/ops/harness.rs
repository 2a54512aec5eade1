//! A server on a free port, and a client that says exactly what a test wants said.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portico_catalog::Catalog;
use portico_server::auth::new_token;
use portico_server::config::{Flags, ServerConfig};
use portico_server::ops::{Address, Ended, Program, Server, Stop};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// Far more time than anything here takes on a busy machine: only a fault waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A watch of everything.
pub(crate) const WATCH: &str = "/apis/porch.kpt.dev/v1alpha1/packagerevisions?watch=1";

/// A directory for a server's files.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("written");
        path
    }

    /// The configuration file; `DIR` in it is this directory.
    pub(crate) fn configure(&self, text: &str) -> PathBuf {
        let text = text.replace("DIR", &self.0.path().display().to_string());
        self.write("server.yaml", &format!("apiVersion: portico.dev/v1alpha1\nkind: ServerConfiguration\n{text}"))
    }

    /// A file of tokens with a token for each user, given as `user` or `user:group`.
    pub(crate) fn tokens(&self, users: &[&str]) -> Vec<String> {
        let mut text = "apiVersion: portico.dev/v1alpha1\nkind: Tokens\ntokens:\n".to_owned();
        let mut tokens = Vec::new();
        for user in users {
            let (token, digest) = new_token();
            let (user, group) = user.split_once(':').unwrap_or((user, ""));
            let groups = if group.is_empty() { String::new() } else { format!(", groups: [{group}]") };
            writeln!(text, "- {{user: {user}, sha256: {digest}{groups}}}").expect("a string takes text");
            tokens.push(token);
        }
        self.write("tokens.yaml", &text);
        tokens
    }
}

/// A server that runs.
pub(crate) struct Running {
    pub(crate) address: String,
    pub(crate) stop: Stop,
    pub(crate) task: JoinHandle<Ended>,
    pub(crate) place: Place,
}

/// Starts one with this configuration.
pub(crate) async fn start(text: &str) -> Running {
    start_in(Place::new(), text).await
}

/// Starts one in this place.
pub(crate) async fn start_in(place: Place, text: &str) -> Running {
    let file = place.configure(text);
    let server = server(&place, &file).await;
    let Address::Tcp(address) = server.addresses().api.clone() else { panic!("it listens on a port") };
    let stop = Stop::default();
    let task = tokio::spawn({
        let stop = stop.clone();
        async move { server.run(&stop).await }
    });
    Running { address: address.to_string(), stop, task, place }
}

async fn server(place: &Place, file: &Path) -> Server {
    let flags = Flags {
        store: Some(place.path("store.redb")),
        api: Some("127.0.0.1:0".parse().expect("an address")),
        workers: Some(1),
        ..Flags::default()
    };
    let config = ServerConfig::load(Some(file), &flags).unwrap_or_else(|error| panic!("{error}"));
    let program = Program { functions: Arc::new(Catalog), path: "/proc/self/exe".into(), cache: None };
    Server::start(config, &program).await.unwrap_or_else(|error| panic!("{error}"))
}

/// An answer: its code, its head in lower case, its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn of(text: &str) -> Option<Self> {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let code = head.split(' ').nth(1)?.parse().ok()?;
        Some(Self { code, head: head.to_ascii_lowercase(), body: body.to_owned() })
    }

    /// Fails unless this is a refusal for too much, with the time to come back.
    pub(crate) fn is_overload(&self, setting: &str) {
        assert_eq!(self.code, 429, "{self:?}");
        assert!(self.head.contains("\r\nretry-after: 1"), "{self:?}");
        assert!(self.body.contains(setting) && self.body.contains(r#""reason":"TooManyRequests""#), "{self:?}");
    }
}

/// Everything until the other side closes.
pub(crate) async fn rest(io: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    // What was said before a connection was cut counts.
    let read = tokio::time::timeout(PATIENCE, io.read_to_end(&mut bytes)).await;
    let _ = read.expect("the server closes the connection");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Says something and hears everything that is answered until the end.
pub(crate) async fn exchange(io: &mut (impl AsyncRead + AsyncWrite + Unpin), text: &str) -> String {
    // A server that has heard enough may close before it has heard all.
    let _ = io.write_all(text.as_bytes()).await;
    rest(io).await
}

impl Running {
    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).await.expect("it listens")
    }

    /// Opens a connection and says this.
    pub(crate) async fn say(&self, text: &str) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.expect("it listens");
        stream
    }

    /// Asks on a connection of its own.
    pub(crate) async fn ask(&self, method: &str, path: &str, token: Option<&str>) -> Answer {
        let mut stream = self.connect().await;
        let text = exchange(&mut stream, &request(method, path, token)).await;
        Answer::of(&text).unwrap_or_else(|| panic!("no answer: {text:?}"))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, None).await
    }

    /// Asks until the answer is so.
    pub(crate) async fn until(&self, path: &str, is_so: impl Fn(&Answer) -> bool) -> Answer {
        let ask = async {
            loop {
                let answer = self.get(path).await;
                if is_so(&answer) {
                    return answer;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, ask).await.unwrap_or_else(|_| panic!("`{path}` never is so"))
    }

    /// Waits until it is ready: the scheduler may not have heard of the store yet.
    pub(crate) async fn ready(&self) {
        self.until("/readyz", |answer| answer.code == 200).await;
    }

    /// Ends it in order.
    pub(crate) async fn end(self) -> Ended {
        self.stop.soon.cancel();
        tokio::time::timeout(PATIENCE, self.task).await.expect("it ends").expect("it does not panic")
    }
}

/// A request without a body, after which the connection is closed.
pub(crate) fn request(method: &str, path: &str, token: Option<&str>) -> String {
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{token}Content-Length: 0\r\n\r\n")
}

/// The head of a request whose body is to have this length.
pub(crate) fn posting(length: usize) -> String {
    format!("POST /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n")
}

//! A server's process, from the line that says where it listens to its end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cli::{Place, signal};

/// Far more than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server that has said where it listens, without TLS. It ends with this.
#[derive(Debug)]
pub struct Serving {
    child: Child,
    /// Of its API.
    pub address: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Serving {
    /// Starts it with these arguments, and waits until it is ready.
    pub fn start(place: &Place, arguments: &str) -> Result<Self> {
        let mut command = place.command(arguments)?;
        command.env_remove("RUST_LOG").env_remove("KUBECONFIG");
        let mut child = command.spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("it is a pipe")?).read_line(&mut line)?;
        let addresses = line.trim().strip_prefix("serving api=http://");
        let Some(address) = addresses.and_then(|line| line.split(' ').next()).map(str::to_owned) else {
            let said = child.wait_with_output()?;
            bail!("{line:?}: {}", String::from_utf8_lossy(&said.stderr));
        };
        let server = Self { child, address };
        // The scheduler may not have heard of the store yet.
        server.until("/readyz", 200)?;
        Ok(server)
    }

    /// The code and body of an answer.
    pub fn get(&self, path: &str) -> Result<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let (head, body) = text.split_once("\r\n\r\n").context("an answer")?;
        Ok((head.split(' ').nth(1).context("a code")?.parse()?, body.to_owned()))
    }

    /// Asks until the answer has this code.
    pub fn until(&self, path: &str, code: u16) -> Result<()> {
        let begun = Instant::now();
        loop {
            let (answered, body) = self.get(path)?;
            if answered == code {
                return Ok(());
            }
            ensure!(begun.elapsed() < PATIENCE, "`{path}` stays {answered}: {body}");
            // Nobody tells when it changes, and each question is a connection.
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Tells it something, by the name of a signal.
    pub fn signal(&self, name: &str) -> Result<()> {
        signal(self.child.id(), name)
    }

    /// Waits until it has ended; its code and what it said on standard error.
    pub fn ended(mut self) -> Result<(Option<i32>, String)> {
        let mut pipe = self.child.stderr.take().context("it is a pipe")?;
        let (tell, told) = std::sync::mpsc::channel();
        // The pipe ends with the process.
        std::thread::spawn(move || {
            let mut said = String::new();
            let _ = tell.send(pipe.read_to_string(&mut said).map(|_| said));
        });
        let said = told.recv_timeout(PATIENCE).context("it does not end")??;
        Ok((self.child.wait()?.code(), said))
    }
}

//! Where a server listens.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// An address to listen on: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, `unix:/run/portico/api.sock`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An address and a port; zero is any port that is free.
    Tcp(SocketAddr),
    /// A socket in the file system, which only this user can open.
    Unix(PathBuf),
}

impl Address {
    /// True where only this machine's own processes can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            if path.is_absolute() {
                return Ok(Self::Unix(path));
            }
            return Err(format!("`{text}`: write an absolute path behind `unix:`"));
        }
        if let Some(port) = text.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
            return Ok(Self::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)));
        }
        text.parse().map(Self::Tcp).map_err(|_| {
            format!(
                "`{text}` is no address to listen on; write `127.0.0.1:8080`, `[::]:8080` or `unix:/path/to/socket`"
            )
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// An open listener.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, Unlink),
}

/// Takes the socket's name away at the end.
#[derive(Debug)]
pub(crate) struct Unlink(PathBuf);

impl Drop for Unlink {
    fn drop(&mut self) {
        // Somebody else may have been faster; then there is nothing to do.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A connection, and who opened it.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream, IpAddr),
    Unix(UnixStream),
}

impl Listener {
    pub(crate) async fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => TcpListener::bind(address).await.map(Self::Tcp),
            Address::Unix(path) => bind_unix(path).map(|listener| Self::Unix(listener, Unlink(path.clone()))),
        }
    }

    /// Where it is, with the port that it got.
    pub(crate) fn address(&self) -> io::Result<Address> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Address::Tcp),
            Self::Unix(_, Unlink(path)) => Ok(Address::Unix(path.clone())),
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Watches are small pieces, each of which somebody waits for.
                stream.set_nodelay(true)?;
                // A peer that went without a word is noticed after some minutes.
                let alive = socket2::TcpKeepalive::new().with_time(std::time::Duration::from_mins(1));
                socket2::SockRef::from(&stream).set_tcp_keepalive(&alive)?;
                Ok(Stream::Tcp(stream, peer.ip()))
            }
            Self::Unix(listener, _) => listener.accept().await.map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

/// A socket that only this user can open, in the place of one that nobody listens on any more.
fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    let is_socket = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    if is_socket(path) {
        match std::os::unix::net::UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
            // Somebody listens there: binding says so.
            _ => {}
        }
    }
    // Bound beside it and moved: at its path it has its permissions from the first moment.
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    if path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    let listener = UnixListener::bind(&beside)?;
    let moved = std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(0o600))
        .and_then(|()| std::fs::rename(&beside, path));
    if let Err(error) = moved {
        let _ = std::fs::remove_file(&beside);
        return Err(error);
    }
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        for (text, shown, local) in [
            ("127.0.0.1:80", "127.0.0.1:80", true),
            ("localhost:0", "127.0.0.1:0", true),
            ("[::1]:80", "[::1]:80", true),
            ("0.0.0.0:80", "0.0.0.0:80", false),
            ("[::]:80", "[::]:80", false),
            ("unix:/run/a.sock", "unix:/run/a.sock", true),
        ] {
            let address: Address = text.parse().expect(text);
            assert_eq!((address.to_string().as_str(), address.is_local()), (shown, local));
        }
        for text in ["", "80", "host:80", "127.0.0.1", "unix:a.sock", "127.0.0.1:99999"] {
            let message = text.parse::<Address>().expect_err(text);
            assert!(message.starts_with(&format!("`{text}`")), "{message}");
        }
    }

    #[tokio::test]
    async fn a_socket_that_is_left_over_is_replaced_and_one_in_use_is_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("api.sock");
        let address = Address::Unix(path.clone());
        let left = std::os::unix::net::UnixListener::bind(&path).expect("bound");
        drop(left);
        let listener = Listener::bind(&address).await.expect("nobody listens there");
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(Listener::bind(&address).await.is_err(), "it is in use");
        drop(listener);
        assert!(!path.exists());
        std::fs::write(&path, "a file").expect("written");
        assert!(Listener::bind(&address).await.is_err(), "it is no socket");
        assert_eq!(std::fs::read(&path).expect("untouched"), b"a file");
    }
}

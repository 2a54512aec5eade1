//! TLS: certificates from files, read anew when they change.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::auth::Identity;

/// Where the certificates are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, with those between it and a root behind it, as PEM.
    pub certificate: PathBuf,
    /// Its key, as PEM.
    pub key: PathBuf,
    /// Who vouches for clients, as PEM; `None`: client certificates are not looked at.
    pub client_authorities: Option<PathBuf>,
}

impl TlsFiles {
    /// All of them.
    pub fn paths(&self) -> Vec<PathBuf> {
        [&self.certificate, &self.key].into_iter().chain(&self.client_authorities).cloned().collect()
    }
}

/// Why TLS can't be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is missing, or holds something else.
    #[error("`{}` can't be read as {what}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What it should be.
        what: &'static str,
        /// Why it is not.
        why: String,
    },
    /// The files don't fit together.
    #[error("certificate `{}` and key `{}` can't be used", certificate.display(), key.display())]
    Pair {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// Nobody in the file can vouch for clients.
    #[error("`{}` names nobody who can vouch for clients: {why}", path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

/// TLS with the certificates as they were read the last time.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    config: ArcSwap<ServerConfig>,
}

impl Tls {
    pub(crate) fn new(files: TlsFiles) -> Result<Self, TlsError> {
        let config = ArcSwap::from_pointee(read(&files)?);
        Ok(Self { files, config })
    }

    /// Reads the files again; connections from now on have what is there. With an error all stays as it was.
    pub(crate) fn reload(&self) -> Result<(), TlsError> {
        self.config.store(Arc::new(read(&self.files)?));
        Ok(())
    }

    /// The handshake, and whom the client's certificate names.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<(TlsStream<TcpStream>, Option<Identity>)> {
        let stream = TlsAcceptor::from(self.config.load_full()).accept(stream).await?;
        let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let identity = certificate.map(|certificate| Identity::of_certificate(certificate)).transpose();
        let identity = identity.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok((stream, identity))
    }
}

fn read(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let chain = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| TlsError::File {
        path: files.key.clone(),
        what: "a key",
        why: error.to_string(),
    })?;
    let pair = |source| TlsError::Pair { certificate: files.certificate.clone(), key: files.key.clone(), source };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(pair)?;
    let builder = match &files.client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let wrong = |why: String| TlsError::Authorities { path: path.clone(), why };
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
            }
            // Who brings none may still have a token, or ask for health.
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .allow_unauthenticated()
                .build()
                .map_err(|error| wrong(error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(pair)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = |why: String| TlsError::File { path: path.to_owned(), what: "certificates", why };
    let read: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?.collect();
    match read {
        Ok(read) if read.is_empty() => Err(wrong("there is none".into())),
        Ok(read) => Ok(read),
        Err(error) => Err(wrong(error.to_string())),
    }
}

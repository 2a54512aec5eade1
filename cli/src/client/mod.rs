//! A server of the Kubernetes API, as the commands speak to it.

mod objects;

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use hyper::{Request, Response, Uri};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;

pub(crate) use objects::{Finished, difference, files, finished, generation, lifecycle, resource_version};

use crate::args::ServerArgs;

/// Where our objects are.
const GROUP: &str = "/apis/porch.kpt.dev/v1alpha1";

/// A connection, and the namespace to speak of.
pub(crate) struct Server {
    client: Client,
    pub(crate) namespace: String,
}

/// A request that came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The server refused it, in these words.
    #[error("{message}")]
    Status { code: u16, message: String },
    /// It did not reach the server, or its answer did not come back.
    #[error("the server can't be reached")]
    Away(#[from] kube::Error),
    /// The answer is no object.
    #[error("the server's answer is no JSON; is it a server of the Kubernetes API?")]
    Answer(#[from] serde_json::Error),
}

impl Refusal {
    /// The HTTP status code; 0 where there was no answer.
    pub(crate) fn code(&self) -> u16 {
        match self {
            Refusal::Status { code, .. } => *code,
            Refusal::Away(_) | Refusal::Answer(_) => 0,
        }
    }
}

impl Server {
    /// As kubectl finds a server, unless the arguments say otherwise.
    pub(crate) async fn connect(arguments: &ServerArgs, kubeconfig: Option<&Path>) -> Result<Server> {
        let mut config = match (&arguments.server, kubeconfig) {
            (Some(server), None) if arguments.context.is_none() => {
                let mut config = Config::new(server.parse().with_context(|| format!("`--server {server}`"))?);
                "default".clone_into(&mut config.default_namespace);
                config
            }
            (_, kubeconfig) => {
                let options = KubeConfigOptions { context: arguments.context.clone(), ..KubeConfigOptions::default() };
                let read = match kubeconfig {
                    Some(path) => {
                        let file = Kubeconfig::read_from(path)
                            .with_context(|| format!("`--kubeconfig {}`", path.display()))?;
                        Config::from_custom_kubeconfig(file, &options).await
                    }
                    None => Config::from_kubeconfig(&options).await,
                };
                read.context("no server is known; give `--server URL` or a kubeconfig")?
            }
        };
        if let Some(server) = &arguments.server {
            config.cluster_url = server.parse().with_context(|| format!("`--server {server}`"))?;
        }
        if let Some(token) = &arguments.token {
            if config.cluster_url.scheme_str() == Some("http") && !is_loopback(&config.cluster_url) {
                bail!("a token is not sent to `{}` in plain text; use https", config.cluster_url);
            }
            config.auth_info = kube::config::AuthInfo { token: Some(token.clone().into()), ..Default::default() };
        }
        if let Some(path) = &arguments.certificate_authority {
            let shown = || format!("`--certificate-authority {}`", path.display());
            let pem = std::fs::read(path).with_context(shown)?;
            config.root_cert = Some(certificates(&pem).with_context(shown)?);
            config.root_cert_file = None;
        }
        let namespace = arguments.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        check_segment(&namespace)?;
        let client = Client::try_from(config).context("cannot speak to the server")?;
        Ok(Server { client, namespace })
    }

    /// The path of an object of ours, or of a subresource.
    pub(crate) fn path(&self, resource: &str, name: &str, subresource: &str) -> Result<String> {
        check_segment(name)?;
        let below = if subresource.is_empty() { String::new() } else { format!("/{subresource}") };
        Ok(format!("{}/{name}{below}", self.collection(resource)))
    }

    /// The path of a collection of ours.
    pub(crate) fn collection(&self, resource: &str) -> String {
        format!("{GROUP}/namespaces/{}/{resource}", self.namespace)
    }

    /// Sends a request; the answer is an object.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Refusal> {
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let bytes = self.send(method, path, kind, body).await?.into_body().collect_bytes().await?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// Sends a request; the answer comes in parts.
    pub(crate) async fn stream(&self, path: &str) -> Result<Response<Body>, Refusal> {
        self.send("GET", path, "application/json", None).await
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: Option<&Value>,
    ) -> Result<Response<Body>, Refusal> {
        let mut request = Request::builder().method(method).uri(path);
        if body.is_some() {
            request = request.header("content-type", kind);
        }
        let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request = request.body(Body::from(bytes)).map_err(kube::Error::HttpError)?;
        let response = self.client.send(request).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let code = response.status();
        let bytes = response.into_body().collect_bytes().await?;
        let status = serde_json::from_slice::<Value>(&bytes).ok();
        let message = match status.as_ref().and_then(|status| status["message"].as_str()) {
            Some(message) => message.to_owned(),
            None => String::from_utf8_lossy(&bytes).trim().chars().take(1000).collect(),
        };
        let message = if message.is_empty() { format!("the server answers `{code}`") } else { message };
        Err(Refusal::Status { code: code.as_u16(), message })
    }
}

/// A name or namespace as a part of a path. What Kubernetes allows needs no escapes.
fn check_segment(name: &str) -> Result<()> {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(known) {
        bail!("`{name}` can't be a name; letters, digits, `-`, `.` and `_` can");
    }
    Ok(())
}

fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The certificates of a PEM file, in DER.
fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>> {
    let all = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>()?;
    if all.is_empty() {
        bail!("it holds no certificate");
    }
    Ok(all.into_iter().map(|certificate| certificate.to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_not_lead_elsewhere() {
        for name in ["web.v1", "a-b", "A_1"] {
            check_segment(name).unwrap();
        }
        for name in ["", "..", ".", "a/b", "a?b", "a%2fb", "a b", "ä"] {
            assert!(check_segment(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_token_goes_over_plain_text_to_this_machine_alone() {
        for (uri, here) in [
            ("http://127.0.0.1:8080", true),
            ("http://[::1]:8080", true),
            ("http://localhost", true),
            ("http://example.com", false),
            ("http://127.0.0.1.example.com", false),
        ] {
            assert_eq!(is_loopback(&uri.parse().unwrap()), here, "{uri}");
        }
    }
}

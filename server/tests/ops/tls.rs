//! Certificates, of the server and of clients.

use std::path::Path;
use std::sync::Arc;

use portico_server::ops::Ended;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::harness::{Answer, PATIENCE, Place, Running, exchange, request, rest, start_in};

/// An authority that signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate and its key: for a host, or for a user with a group.
    fn signs(&self, host: Option<&str>, user: &str, group: &str) -> (rcgen::Certificate, KeyPair) {
        let mut params =
            CertificateParams::new(host.into_iter().map(str::to_owned).collect::<Vec<_>>()).expect("names");
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, user);
        if !group.is_empty() {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        let key = KeyPair::generate().expect("a key");
        (params.signed_by(&key, &self.0).expect("signed"), key)
    }

    fn write_server(&self, place: &Place) {
        let (certificate, key) = self.signs(Some("localhost"), "server", "");
        place.write("key.pem", &key.serialize_pem());
        place.write("certificate.pem", &certificate.pem());
    }

    fn connector(&self, client: Option<(&rcgen::Certificate, &KeyPair)>) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).expect("an authority");
        let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots);
        let mut config = match client {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain: Vec<CertificateDer<'static>> = vec![certificate.der().clone()];
                let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
                builder.with_client_auth_cert(chain, key).expect("they fit")
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        TlsConnector::from(Arc::new(config))
    }
}

const TEXT: &str = "\
tls: {certificate: DIR/certificate.pem, key: DIR/key.pem, clientAuthorities: DIR/clients.pem}
access: {roles: DIR/roles.yaml}
requests: {handshake: 300ms}
";

const ROLES: &str = "\
apiVersion: portico.dev/v1alpha1
kind: Roles
roles:
- name: all
  rules: [{verbs: [get], paths: ['*']}]
bindings:
- {role: all, groups: [operators]}
";

async fn server(authority: &Authority, clients: &Authority) -> Running {
    let place = Place::new();
    authority.write_server(&place);
    place.write("clients.pem", &clients.pem());
    place.write("roles.yaml", ROLES);
    start_in(place, TEXT).await
}

async fn connect(server: &Running, connector: &TlsConnector) -> std::io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from("localhost").expect("a name");
    connector.connect(name, server.connect().await).await
}

async fn get(server: &Running, connector: &TlsConnector, path: &str) -> Answer {
    let mut stream = connect(server, connector).await.expect("a handshake");
    let text = exchange(&mut stream, &request("GET", path, None)).await;
    Answer::of(&text).unwrap_or_else(|| panic!("no answer: {text:?}"))
}

#[tokio::test]
async fn a_clients_certificate_names_its_user_and_groups() {
    let (authority, clients) = (Authority::new("servers"), Authority::new("clients"));
    let server = server(&authority, &clients).await;
    let nobody = authority.connector(None);
    assert_eq!(get(&server, &nobody, "/livez").await.code, 200);
    assert_eq!(get(&server, &nobody, "/metrics").await.code, 401);
    let (certificate, key) = clients.signs(None, "op", "operators");
    let op = authority.connector(Some((&certificate, &key)));
    assert!(!matches!(get(&server, &op, "/metrics").await.code, 401 | 403));
    let (certificate, key) = clients.signs(None, "ann", "team-a");
    let ann = authority.connector(Some((&certificate, &key)));
    let answer = get(&server, &ann, "/metrics").await;
    assert!(answer.code == 403 && answer.body.contains("`ann`"), "{answer:?}");
    assert_eq!(server.end().await, Ended::InOrder);
}

#[tokio::test]
async fn a_certificate_of_somebody_else_is_refused() {
    let (authority, clients) = (Authority::new("servers"), Authority::new("clients"));
    let server = server(&authority, &clients).await;
    // The servers' authority vouches for servers alone.
    let (certificate, key) = authority.signs(None, "op", "operators");
    let connector = authority.connector(Some((&certificate, &key)));
    // With TLS 1.3 the client hears of it when it reads.
    let answered = match connect(&server, &connector).await {
        Ok(mut stream) => exchange(&mut stream, &request("GET", "/livez", None)).await,
        Err(_) => String::new(),
    };
    assert_eq!(answered, "");
}

#[tokio::test]
async fn a_client_that_says_nothing_and_one_without_tls_are_closed() {
    let authority = Authority::new("servers");
    let server = server(&authority, &authority).await;
    assert_eq!(rest(&mut server.connect().await).await, "", "the handshake has a time");
    let plain = exchange(&mut server.connect().await, &request("GET", "/livez", None)).await;
    assert!(!plain.contains("200 OK"), "{plain}");
}

#[tokio::test]
async fn a_new_certificate_is_shown_without_a_restart() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let server = server(&old, &old).await;
    assert_eq!(get(&server, &old.connector(None), "/livez").await.code, 200);
    // A key that does not fit changes nothing.
    server.place.write("key.pem", &KeyPair::generate().expect("a key").serialize_pem());
    let renewed = async {
        new.write_server(&server.place);
        loop {
            if connect(&server, &new.connector(None)).await.is_ok() {
                return;
            }
            assert!(Path::new(&server.place.path("key.pem")).exists());
        }
    };
    tokio::time::timeout(PATIENCE, renewed).await.expect("it is read again");
    assert!(connect(&server, &old.connector(None)).await.is_err(), "nobody knows the new one by the old authority");
    assert_eq!(get(&server, &new.connector(None), "/livez").await.code, 200);
}

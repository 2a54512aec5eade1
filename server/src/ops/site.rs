//! Pages of others, in a browser on this machine.
//!
//! - Problem: where nobody is asked for credentials, whatever reaches the address may do everything, and a browser opens
//!   pages of anybody. Such a page can send requests here, or let its own name lead here (DNS rebinding) and read the
//!   answers, too.
//! - Mechanism: where no credentials are needed, a request with an `Origin` must come from this server's own page; and one
//!   that comes over a loopback address must name an address or `localhost` as its host, because a name that was made to
//!   lead here is a name.
//! - Does not stop: other programs of this machine, which can send what they like.

use std::net::IpAddr;

use axum::http::{HeaderName, header, request, uri::Authority};

use super::listen::Peer;

/// Why a request is none of this server's user; `None` if nothing speaks against it.
pub(super) fn foreign(parts: &request::Parts, peer: &Peer) -> Option<String> {
    let text = |name: HeaderName| parts.headers.get(name).map(|value| value.to_str().unwrap_or_default());
    // HTTP/2 has it in the address.
    let host = parts.uri.authority().map(Authority::as_str).or_else(|| text(header::HOST)).unwrap_or_default();
    if let Some(origin) = text(header::ORIGIN) {
        let site = origin.split_once("://").map_or("", |(_, site)| site);
        if site.is_empty() || !site.eq_ignore_ascii_case(host) {
            return Some(format!("a page of `{}` may not use this server", origin.escape_debug()));
        }
    }
    let loopback = peer.address.is_some_and(|address| address.is_loopback());
    if loopback && !host.is_empty() && !is_own(host) {
        let shown = host.escape_debug();
        return Some(format!("`{shown}` is no name of this server here; use its address, or `localhost`"));
    }
    None
}

/// An address or `localhost`, with or without a port.
fn is_own(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn refused(address: Option<&str>, host: &str, origin: &str) -> bool {
        let mut request = Request::builder().uri("/apis").header(header::HOST, host);
        if !origin.is_empty() {
            request = request.header(header::ORIGIN, origin);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let peer = Peer { address: address.map(|a| a.parse().expect("an address")), certificate: None };
        foreign(&parts, &peer).is_some()
    }

    #[test]
    fn names_that_lead_here_are_not_ours() {
        let local = Some("127.0.0.1");
        for host in ["127.0.0.1:8080", "127.0.0.1", "localhost:8080", "LOCALHOST", "[::1]:8080"] {
            assert!(!refused(local, host, ""), "{host}");
        }
        for host in ["evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "user@x y"] {
            assert!(refused(local, host, ""), "{host}");
        }
        // Who listens elsewhere without asking has said so in so many words; a socket has no names.
        assert!(!refused(Some("10.0.0.7"), "portico.cluster.local", ""));
        assert!(!refused(None, "portico", ""));
    }

    #[test]
    fn pages_of_others_are_refused_and_our_own_is_not() {
        for address in [Some("127.0.0.1"), Some("10.0.0.7"), None] {
            assert!(!refused(address, "127.0.0.1:8080", "http://127.0.0.1:8080"));
            for origin in ["http://evil.example", "null", "http://127.0.0.1:9090", "http://", "x"] {
                assert!(refused(address, "127.0.0.1:8080", origin), "{origin}");
            }
        }
    }
}

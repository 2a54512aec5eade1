//! Collectors that are not there, never answer, or take nothing for a while.

use std::net::TcpListener;

use crate::arrival::AT_ONCE;
use crate::collector::Collector;
use crate::harness::{PATIENCE, Server, line_with};

/// More spans than wait for the collector at most.
const MANY: usize = 2_048 + 500;

/// All is answered, and it ends in order.
fn delays_nothing(server: Server) {
    for _ in 0..MANY {
        assert_eq!(server.ask("GET", "/apis", &[], "").0, 200);
    }
    server.ready();
    server.end();
}

#[test]
fn one_that_is_not_there_delays_nothing_and_is_told_of() {
    // Nobody listens on the first of all ports.
    let server = Server::start("http://127.0.0.1:1", &AT_ONCE);
    assert_eq!(server.ask("GET", "/apis", &[], "").0, 200);
    let line = line_with(&server.log, "the collector takes no traces");
    assert!(line.contains("WARN") && line.contains("http://127.0.0.1:1"), "{line}");
    delays_nothing(server);
}

#[test]
fn one_that_never_answers_delays_nothing() {
    // Connections are made by the kernel; nobody reads what they bring.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    delays_nothing(Server::start(&format!("http://{}", listener.local_addr().unwrap()), &AT_ONCE));
}

#[test]
fn one_that_takes_nothing_for_a_while_is_told_of_once_each_way() {
    let collector = Collector::start();
    collector.refuse(true);
    let server = Server::start(&collector.endpoint, &AT_ONCE);
    let ask = || assert_eq!(server.ask("GET", "/apis", &[], "").0, 200);
    for _ in 0..3 {
        ask();
        collector.has_refused();
    }
    collector.refuse(false);
    ask();
    let mut seen = Vec::new();
    collector.until(&mut seen, "a request", |span| span.name == "request");
    line_with(&server.log, "the collector takes no traces");
    let again = |line: &String| line.contains("the collector takes traces again");
    let next = || server.log.recv_timeout(PATIENCE).ok();
    let between: Vec<String> = std::iter::from_fn(next).take_while(|line| !again(line)).collect();
    assert!(!between.iter().any(|line| line.contains("the collector")), "{between:#?}");
    server.end();
}

#[test]
fn an_address_that_is_none_is_told_at_the_start() {
    let words = Server::refused("https://127.0.0.1:4317");
    assert!(words.contains("traces can't be sent to `https://127.0.0.1:4317`"), "{words}");
}

//! The end of a server.

use portico_server::ops::Ended;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::{Answer, PATIENCE, posting, request, rest, start};

#[tokio::test]
async fn it_is_not_ready_then_finishes_what_it_is_at_and_ends() {
    let server = start("drain: {delay: 2s, requests: 60s}\n").await;
    server.ready().await;
    let mut begun = server.say(&posting(10)).await;
    server.stop.soon.cancel();
    // Requests are still taken while those who send them have not noticed.
    let answer = server.until("/readyz?verbose", |answer| answer.code == 503).await;
    assert!(answer.body.contains("[-]shutdown failed: the server is stopping"), "{answer:?}");
    assert_eq!(server.get("/livez").await.code, 200);
    assert_eq!(server.get("/x").await.code, 404);
    // Then nobody is let in, and what was begun is finished.
    let refused = async {
        while tokio::net::TcpStream::connect(&server.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, refused).await.expect("it stops listening");
    assert!(!server.task.is_finished(), "a request is not answered yet");
    begun.write_all(b"0123456789").await.expect("it is still read");
    assert_eq!(Answer::of(&rest(&mut begun).await).map(|answer| answer.code), Some(404));
    assert_eq!(server.end().await, Ended::InOrder);
}

#[tokio::test]
async fn a_request_that_does_not_end_is_cut_off() {
    let server = start("drain: {requests: 200ms}\n").await;
    let mut held = server.say(&posting(10)).await;
    server.until("/livez", |answer| answer.code == 200).await;
    assert_eq!(server.end().await, Ended::Late);
    assert_eq!(rest(&mut held).await, "");
}

#[tokio::test]
async fn idle_connections_and_watches_end_with_it() {
    let server = start("").await;
    let mut idle = server.connect().await;
    let mut watch = server.say(&request("GET", crate::harness::WATCH, None)).await;
    let mut head = [0; 15];
    watch.read_exact(&mut head).await.expect("it begins");
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    assert_eq!(server.end().await, Ended::InOrder);
    let end = rest(&mut watch).await;
    assert!(end.ends_with("0\r\n\r\n"), "the watch ends as a watch does: {end:?}");
    assert_eq!(rest(&mut idle).await, "");
}

#[tokio::test]
async fn told_twice_it_ends_at_once() {
    let server = start("drain: {delay: 1h}\n").await;
    let _held = server.say(&posting(10)).await;
    server.stop.soon.cancel();
    server.until("/readyz", |answer| answer.code == 503).await;
    server.stop.now.cancel();
    assert_eq!(server.end().await, Ended::AtOnce);
}

//! Each limit of requests, tripped.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::{Answer, Running, WATCH, exchange, posting, request, rest, start};

/// Waits until the server works on so many requests: each holds a place that others see taken.
async fn taken(server: &Running, probe: &str, setting: &str) -> Answer {
    server.until(probe, |answer| answer.code == 429 && answer.body.contains(setting)).await
}

#[tokio::test]
async fn one_connection_more_than_there_may_be_is_told_so() {
    let server = start("requests: {connections: 2}\n").await;
    let (one, _two) = (server.connect().await, server.connect().await);
    // Accepted in the order in which they came.
    server.get("/livez").await.is_overload("requests.connections");
    drop(one);
    server.until("/livez", |answer| answer.code == 200).await;
}

#[tokio::test]
async fn half_a_head_and_a_connection_without_any_end_in_time() {
    let server = start("requests: {headTime: 200ms}\n").await;
    for text in ["", "GET /livez HTTP/1.1\r\nHost:", "PRI * HTTP/2.0\r\n"] {
        let mut stream = server.say(text).await;
        let answer = rest(&mut stream).await;
        assert!(!answer.contains("200 OK"), "{text:?}: {answer}");
    }
    // One that has had its answer is not kept for ever either.
    let mut stream = server.say("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(rest(&mut stream).await.contains("200 OK"));
}

#[tokio::test]
async fn a_long_head_is_refused() {
    let server = start("requests: {headBytes: 8KiB}\n").await;
    let long = format!("GET /livez HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(30_000));
    let text = exchange(&mut server.connect().await, &long).await;
    assert_eq!(Answer::of(&text).map(|answer| answer.code), Some(431), "{text}");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_told_or_not() {
    let server = start("requests: {bodyBytes: 1000}\n").await;
    let fits = exchange(&mut server.connect().await, &format!("{}{}", posting(1000), "x".repeat(1000))).await;
    assert_eq!(Answer::of(&fits).map(|answer| answer.code), Some(404), "{fits}");
    // Nothing of it is waited for.
    let told = exchange(&mut server.connect().await, &posting(1001)).await;
    let told = Answer::of(&told).expect("an answer");
    assert!(told.code == 413 && told.body.contains("requests.bodyBytes"), "{told:?}");
    let chunk = format!("{:x}\r\n{}\r\n", 600, "x".repeat(600));
    let chunks = format!("POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}{chunk}");
    let mut stream = server.say(&chunks).await;
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.expect("an answer");
    assert_eq!(&head, b"HTTP/1.1 413");
}

#[tokio::test]
async fn two_bodies_where_there_is_room_for_one() {
    let server = start("requests: {bodyBytes: 1000, bodiesBytes: 1500}\n").await;
    let mut first = server.say(&posting(1000)).await;
    // Until the first holds its room, the second is just a body that is there.
    let whole = format!("{}{}", posting(1000), "x".repeat(1000));
    loop {
        let text = exchange(&mut server.connect().await, &whole).await;
        let answer = Answer::of(&text).expect("an answer");
        if answer.code != 404 {
            answer.is_overload("requests.bodiesBytes");
            break;
        }
    }
    first.write_all("x".repeat(1000).as_bytes()).await.expect("it listens");
    assert_eq!(Answer::of(&rest(&mut first).await).map(|answer| answer.code), Some(404));
    let text = exchange(&mut server.connect().await, &whole).await;
    assert_eq!(Answer::of(&text).map(|answer| answer.code), Some(404), "there is room again: {text}");
}

#[tokio::test]
async fn one_request_more_than_there_may_be_and_health_is_answered_all_the_same() {
    let server = start("requests: {inFlight: 1}\n").await;
    server.ready().await;
    let mut held = server.say(&posting(10)).await;
    taken(&server, "/x", "requests.inFlight").await.is_overload("requests.inFlight");
    assert_eq!(server.get("/livez").await.code, 200);
    assert_eq!(server.get("/readyz").await.code, 200);
    held.write_all(b"0123456789").await.expect("it listens");
    assert_eq!(Answer::of(&rest(&mut held).await).map(|answer| answer.code), Some(404));
    server.until("/x", |answer| answer.code == 404).await;
}

#[tokio::test]
async fn another_user_is_answered_when_one_asks_too_much() {
    let place = crate::harness::Place::new();
    let tokens = place.tokens(&["ann", "bob"]);
    let text = "access: {tokens: DIR/tokens.yaml}\nrequests: {inFlightPerUser: 1}\n";
    let server = crate::harness::start_in(place, text).await;
    let [ann, bob] = &tokens[..] else { panic!("two") };
    let head = posting(10).replace("Content", &format!("Authorization: Bearer {ann}\r\nContent"));
    let _held = server.say(&head).await;
    loop {
        let answer = server.ask("GET", "/x", Some(ann)).await;
        if answer.code != 404 {
            answer.is_overload("requests.inFlightPerUser");
            break;
        }
    }
    assert_eq!(server.ask("GET", "/x", Some(bob)).await.code, 404);
}

#[tokio::test]
async fn a_burst_beyond_the_rate() {
    // A rate of one in a thousand years, nearly: the test may be as slow as it likes.
    let server = start("requests: {perSecond: 1, burst: 2}\n").await;
    let codes = [server.get("/x").await, server.get("/x").await];
    assert!(codes.iter().all(|answer| answer.code == 404));
    // As fast as it goes: at one a second some are too many.
    taken(&server, "/x", "requests.perSecond").await.is_overload("requests.perSecond");
}

#[tokio::test]
async fn half_a_body_ends_in_time() {
    let server = start("requests: {time: 300ms}\n").await;
    let mut stream = server.say(&format!("{}12345", posting(10))).await;
    let answer = Answer::of(&rest(&mut stream).await).expect("an answer");
    assert!(answer.code == 408 && answer.body.contains("requests.time"), "{answer:?}");
}

#[tokio::test]
async fn one_watch_more_than_there_may_be() {
    let server = start("requests: {watches: 1}\n").await;
    let mut watch = server.say(&request("GET", WATCH, None)).await;
    let mut head = [0; 15];
    watch.read_exact(&mut head).await.expect("it begins");
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    server.get(WATCH).await.is_overload("requests.watches");
    // It is none of the requests, and its place is free when it ends.
    assert_eq!(server.get("/x").await.code, 404);
    drop(watch);
    let ends = format!("{WATCH}&timeoutSeconds=1");
    server.until(&ends, |answer| answer.code == 200).await;
}

#[tokio::test]
async fn speaks_http_2_without_tls_too() {
    let server = start("").await;
    // The preface and empty settings: it answers with settings of its own.
    let mut stream = server.say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.expect("it listens");
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).await.expect("a frame");
    assert_eq!(frame[3], 4, "settings come first");
}

//! A configuration that changes.

use crate::harness::{Answer, Running, start};

/// Writes the configuration, and asks until the server has read it.
async fn configure_until(server: &Running, text: &str, path: &str, is_so: impl Fn(&Answer) -> bool) -> Answer {
    server.place.configure(text);
    server.until(path, is_so).await
}

#[tokio::test]
async fn limits_hold_when_the_file_says_so_and_a_wrong_file_changes_nothing() {
    let server = start("requests: {burst: 100000, perSecond: 100000}\n").await;
    server.ready().await;
    let tight = "requests: {burst: 1, perSecond: 1}\n";
    configure_until(&server, tight, "/x", |answer| answer.code == 429).await;
    // Health is not counted. What is wrong is told, and what held holds.
    let wrong = "requests: {brust: 100000}\n";
    let answer = configure_until(&server, wrong, "/readyz?verbose", |answer| answer.body.contains("brust")).await;
    assert_eq!(answer.code, 200, "{answer:?}");
    assert!(answer.body.contains("configuration: what was read before holds:"), "{answer:?}");
    assert!(answer.body.contains("server.yaml:3: `requests`: unknown field `brust`"), "{answer:?}");
    assert!(answer.body.contains("did you mean `burst`?"), "{answer:?}");
    server.until("/x", |answer| answer.code == 429).await;
    let right = "requests: {burst: 100000, perSecond: 100000}\n";
    configure_until(&server, right, "/x", |answer| answer.code == 404).await;
    assert!(!server.get("/readyz?verbose").await.body.contains("brust"));
}

#[tokio::test]
async fn what_needs_a_restart_is_told() {
    let server = start("").await;
    server.ready().await;
    let text = "log: {level: warn}\nqueue: {entries: 5}\n";
    let answer = configure_until(&server, text, "/readyz?verbose", |answer| answer.body.contains("restart")).await;
    assert!(answer.body.contains("what changed of `queue`, `log` holds after a restart"), "{answer:?}");
    assert_eq!(answer.code, 200);
}

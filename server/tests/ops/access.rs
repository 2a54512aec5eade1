//! Who may do what, over the wire.

use crate::harness::{Place, Running, exchange, start, start_in};

const ROLES: &str = "\
apiVersion: portico.dev/v1alpha1
kind: Roles
roles:
- name: author
  rules:
  - verbs: ['*']
    resources: ['*']
- name: operator
  rules:
  - verbs: [get]
    paths: [/metrics]
bindings:
- {role: author, users: [ann], namespaces: [team-a]}
- {role: author, groups: [team-b], namespaces: [team-b]}
- {role: operator, users: [op]}
";

/// Tokens of ann, bob (of team-b) and op.
async fn tenants(more: &str) -> (Running, [String; 3]) {
    let place = Place::new();
    let tokens = place.tokens(&["ann", "bob:team-b", "op"]);
    place.write("roles.yaml", ROLES);
    let text = format!("access: {{tokens: DIR/tokens.yaml, roles: DIR/roles.yaml}}\n{more}");
    let server = start_in(place, &text).await;
    (server, tokens.try_into().expect("three"))
}

fn at(namespace: &str, rest: &str) -> String {
    format!("/apis/porch.kpt.dev/v1alpha1/namespaces/{namespace}/{rest}")
}

#[tokio::test]
async fn nobody_without_credentials_but_for_health() {
    let (server, [ann, ..]) = tenants("").await;
    server.ready().await;
    for path in ["/livez", "/readyz", "/healthz", "/readyz/store"] {
        assert_eq!(server.get(path).await.code, 200, "{path}");
    }
    let list = at("team-a", "packagerevisions");
    for path in ["/metrics", "/api", "/apis", "/version", "/openapi/v3", "/ui/api/queue", "/x", &list] {
        let answer = server.get(path).await;
        assert_eq!(answer.code, 401, "{path}");
        assert!(answer.head.contains("www-authenticate: bearer") && answer.body.contains(r#""reason":"Unauthorized""#));
        assert_eq!(server.ask("GET", path, Some("portico-of-somebody-else-entirely-0000")).await.code, 401, "{path}");
    }
    assert_eq!(server.ask("GET", &list, Some(&ann)).await.code, 200);
}

#[tokio::test]
async fn guessing_has_a_bound() {
    let (server, [ann, ..]) = tenants("requests: {perSecond: 1, burst: 2}\n").await;
    let answer = server.until("/apis", |answer| answer.code == 429).await;
    answer.is_overload("requests.perSecond");
    // Those who are known are not held up by it.
    assert_ne!(server.ask("GET", "/apis", Some(&ann)).await.code, 429);
}

#[tokio::test]
async fn a_tenant_does_nothing_in_the_namespace_of_another() {
    let (server, [ann, bob, _]) = tenants("").await;
    for (method, rest) in [
        ("GET", "packagerevisions"),
        ("GET", "packagerevisions/x"),
        ("GET", "packagerevisions?watch=1"),
        ("GET", "packagerevisions/x/log"),
        ("GET", "packagerevisions/x/log?follow=true"),
        ("GET", "packagerevisionresources"),
        ("GET", "packagerevisionresources/x"),
        ("POST", "packagerevisions"),
        ("PUT", "packagerevisionresources/x"),
        ("PUT", "packagerevisions/x"),
        ("PUT", "packagerevisions/x/approval"),
        ("POST", "packagerevisions/x/cancel"),
        ("DELETE", "packagerevisions/x"),
    ] {
        let answer = server.ask(method, &at("team-b", rest), Some(&ann)).await;
        assert_eq!(answer.code, 403, "{method} {rest}: {answer:?}");
        assert!(answer.body.contains(r#""reason":"Forbidden""#), "{answer:?}");
        // It is a way that there is: to the tenant whose it is, it is not forbidden.
        if !rest.contains("watch") {
            assert_ne!(server.ask(method, &at("team-b", rest), Some(&bob)).await.code, 403, "{method} {rest}");
        }
    }
    // Nor in all of them at once.
    for path in ["packagerevisions", "packagerevisions?watch=1", "packagerevisionresources"] {
        let path = format!("/apis/porch.kpt.dev/v1alpha1/{path}");
        assert_eq!(server.ask("GET", &path, Some(&ann)).await.code, 403, "{path}");
    }
    assert_eq!(server.ask("GET", "/api/v1/namespaces/team-b/events", Some(&ann)).await.code, 403);
}

#[tokio::test]
async fn paths_are_for_those_whose_role_names_them() {
    let (server, [ann, _, op]) = tenants("").await;
    assert_eq!(server.ask("GET", "/metrics", Some(&ann)).await.code, 403);
    assert_ne!(server.ask("GET", "/metrics", Some(&op)).await.code, 403);
    // The page itself says nothing of anybody.
    assert_eq!(server.get("/ui/").await.code, 200);
    assert_eq!(server.ask("GET", "/apis", Some(&op)).await.code, 200, "discovery is for all who are known");
}

#[tokio::test]
async fn on_this_machine_alone_nobody_is_asked() {
    let server = start("").await;
    assert_eq!(server.get("/apis").await.code, 200);
    assert_ne!(server.get("/metrics").await.code, 401);
}

#[tokio::test]
async fn a_token_that_is_taken_away_is_worth_nothing() {
    let (server, [ann, ..]) = tenants("").await;
    assert_eq!(server.ask("GET", "/apis", Some(&ann)).await.code, 200);
    server.place.tokens(&["ann"]);
    let revoked = async {
        while server.ask("GET", "/apis", Some(&ann)).await.code != 401 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::harness::PATIENCE, revoked).await.expect("it is read again");
}

#[tokio::test]
async fn a_page_of_somebody_else_does_nothing_where_nobody_is_asked() {
    let server = start("").await;
    server.ready().await;
    let send = async |headers: &str| {
        let mut connection = server.connect().await;
        let text = format!("GET /apis HTTP/1.1\r\nconnection: close\r\n{headers}\r\n");
        exchange(&mut connection, &text).await
    };
    for headers in ["host: 127.0.0.1\r\n", "host: localhost:8080\r\norigin: http://localhost:8080\r\n"] {
        assert!(send(headers).await.starts_with("HTTP/1.1 200"), "{headers}");
    }
    for headers in ["host: evil.example\r\n", "host: 127.0.0.1\r\norigin: http://evil.example\r\n"] {
        let answer = send(headers).await;
        assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("this server"), "{headers}: {answer}");
    }
}

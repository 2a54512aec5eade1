//! `/livez`, `/readyz`, `/healthz`.

use std::fmt::Write as _;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long an answer of a check counts: whoever asks faster is told the same again.
const FRESH: Duration = Duration::from_secs(1);

/// How long a check may take before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a check came to: a word on how things are, or what is wrong.
pub type CheckResult = Result<String, String>;

type Probe = Box<dyn Fn() -> Pin<Box<dyn Future<Output = CheckResult> + Send>> + Send + Sync>;

/// A check, with what it came to the last time.
struct Check {
    name: &'static str,
    probe: Probe,
    /// How long an answer counts.
    fresh: Duration,
    last: Mutex<Option<(Instant, CheckResult)>>,
}

/// All checks of readiness.
#[derive(Default)]
pub struct Health {
    checks: Vec<Check>,
}

impl std::fmt::Debug for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.checks.iter().map(|check| check.name)).finish()
    }
}

impl Health {
    /// Adds a check. It is asked once a second at most, however many ask.
    #[must_use]
    pub fn with<F>(mut self, name: &'static str, probe: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = CheckResult> + Send + 'static,
    {
        let probe: Probe = Box::new(move || Box::pin(probe()));
        self.checks.push(Check { name, probe, fresh: FRESH, last: Mutex::default() });
        self
    }

    /// Adds a check that costs nothing: it is asked each time.
    #[must_use]
    pub fn with_instant(mut self, name: &'static str, probe: impl Fn() -> CheckResult + Send + Sync + 'static) -> Self {
        let probe: Probe = Box::new(move || Box::pin(std::future::ready(probe())));
        self.checks.push(Check { name, probe, fresh: Duration::ZERO, last: Mutex::default() });
        self
    }

    /// The routes. They ask nobody who they are.
    pub fn router(self) -> Router {
        let live = || async { "ok" };
        Router::new()
            .route("/livez", get(live))
            .route("/livez/{check}", get(|Path(check): Path<String>| async move { only_ping(&check) }))
            .route("/readyz", get(ready))
            .route("/readyz/{check}", get(one))
            .route("/healthz", get(ready))
            .route("/healthz/{check}", get(one))
            .with_state(Arc::new(self))
    }
}

impl Check {
    async fn result(&self) -> CheckResult {
        // One asks, the others wait for what it hears.
        let mut last = self.last.lock().await;
        if let Some((at, result)) = &*last
            && at.elapsed() < self.fresh
        {
            return result.clone();
        }
        let result = tokio::time::timeout(PATIENCE, (self.probe)()).await;
        let result = result.unwrap_or_else(|_| Err(format!("no answer within {} s", PATIENCE.as_secs())));
        *last = Some((Instant::now(), result.clone()));
        result
    }
}

fn only_ping(check: &str) -> (StatusCode, String) {
    match check {
        "ping" => (StatusCode::OK, "ok".into()),
        _ => (StatusCode::NOT_FOUND, "there is one check of life: `ping`\n".into()),
    }
}

async fn ready(State(health): State<Arc<Health>>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let mut excluded = Vec::new();
    let mut verbose = false;
    for (key, value) in pairs {
        match key {
            "exclude" => excluded.push(value),
            "verbose" => verbose = !matches!(value, "false" | "0"),
            _ => {}
        }
    }
    let mut text = String::new();
    let mut failed = Vec::new();
    for check in &health.checks {
        let name = check.name;
        // A string never fails to take text.
        if excluded.contains(&name) {
            _ = writeln!(text, "[+]{name} excluded: ok");
            continue;
        }
        match check.result().await {
            Ok(word) if word.is_empty() => _ = writeln!(text, "[+]{name} ok"),
            Ok(word) => _ = writeln!(text, "[+]{name} ok: {word}"),
            Err(why) => {
                _ = writeln!(text, "[-]{name} failed: {why}");
                failed.push(name);
            }
        }
    }
    for name in excluded.iter().filter(|name| !health.checks.iter().any(|check| check.name == **name)) {
        _ = writeln!(text, "warn: there is no check `{}` to exclude", name.escape_default());
    }
    if failed.is_empty() {
        let answer = if verbose { format!("{text}readyz check passed\n") } else { "ok".to_owned() };
        return answer.into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, format!("{text}readyz check failed\n")).into_response()
}

async fn one(State(health): State<Arc<Health>>, Path(name): Path<String>) -> Response {
    let Some(check) = health.checks.iter().find(|check| check.name == name) else {
        let names: Vec<&str> = health.checks.iter().map(|check| check.name).collect();
        let text = format!("there is no such check; there are: {}\n", names.join(", "));
        return (StatusCode::NOT_FOUND, text).into_response();
    };
    match check.result().await {
        Ok(_) => "ok".into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("[-]{name} failed: {why}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::body::Body;
    use axum::http::Request;
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;

    async fn get(router: &Router, path: &str) -> (u16, String) {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let response = router.clone().oneshot(request).await.expect("infallible");
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        (code, String::from_utf8_lossy(&body).into_owned())
    }

    fn router(asked: &Arc<AtomicUsize>) -> Router {
        let asked = Arc::clone(asked);
        Health::default()
            .with("store", move || {
                asked.fetch_add(1, Ordering::SeqCst);
                async { Ok(String::new()) }
            })
            .with("configuration", || async { Err("`c.yaml` is wrong".to_owned()) })
            .router()
    }

    #[tokio::test(start_paused = true)]
    async fn ready_when_all_checks_pass_and_each_can_be_asked_or_left_out() {
        let asked = Arc::default();
        let router = router(&asked);
        assert_eq!(get(&router, "/livez").await, (200, "ok".into()));
        let (code, text) = get(&router, "/readyz").await;
        assert_eq!(code, 503);
        assert_eq!(text, "[+]store ok\n[-]configuration failed: `c.yaml` is wrong\nreadyz check failed\n");
        assert_eq!(get(&router, "/readyz?exclude=configuration").await, (200, "ok".into()));
        let (code, text) = get(&router, "/healthz?verbose&exclude=configuration&exclude=x").await;
        assert_eq!(code, 200);
        assert!(
            text.contains("[+]configuration excluded: ok\n") && text.contains("warn: there is no check `x`"),
            "{text}"
        );
        assert_eq!(get(&router, "/readyz/store").await, (200, "ok".into()));
        assert_eq!(get(&router, "/readyz/configuration").await.0, 503);
        assert_eq!(get(&router, "/readyz/gone").await.0, 404);
    }

    #[tokio::test(start_paused = true)]
    async fn a_check_is_asked_once_a_second() {
        let asked = Arc::default();
        let router = router(&asked);
        for _ in 0..5 {
            get(&router, "/readyz").await;
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        tokio::time::advance(FRESH).await;
        get(&router, "/readyz").await;
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_check_that_hangs_has_failed() {
        let router = Health::default().with("store", std::future::pending).router();
        let (code, text) = get(&router, "/readyz").await;
        assert_eq!((code, text.contains("[-]store failed: no answer within 2 s")), (503, true), "{text}");
    }
}

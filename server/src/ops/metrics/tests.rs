//! What stands at `/metrics`, as a monitoring system reads it.

use std::collections::BTreeMap;
use std::sync::mpsc;

use axum::body::Body;
use axum::http::Request;
use bytes::Bytes;
use portico_runtime::{EngineConfig, StepKind, StepState};
use portico_scheduler::core::{Ended, Outcome};
use portico_scheduler::driver::{Job, RenderBackend, Settings};
use portico_scheduler::events::Ring;
use portico_scheduler::model::{ContentVersion, Ending, Files, Reason};
use portico_scheduler::store::embedded::EmbeddedOptions;
use portico_scheduler::store::{ClientUpdate, EmbeddedStore, Expected, NewRevision, PackageStore as _};
use tower::ServiceExt as _;

use super::functions::without_version;
use super::*;

/// The value of a series that counts.
#[expect(clippy::cast_sign_loss, reason = "what counts is never negative: a test that says otherwise is told 0")]
fn count(text: &str, series: &str) -> u64 {
    value(text, series) as u64
}

/// The value of a series, as it stands there: its name with its labels.
fn value(text: &str, series: &str) -> f64 {
    let found = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("`{series}` is not in\n{text}")).parse().unwrap()
}

fn text(metrics: &Metrics) -> String {
    metrics.encode(Format::Prometheus).unwrap()
}

fn step(image: &str, state: StepState, fuel: u64) -> StepReport {
    StepReport {
        package: String::new(),
        package_name: "web".into(),
        kind: StepKind::Mutator,
        index: 0,
        number: 1,
        name: String::new(),
        image: image.into(),
        exec: if image.is_empty() { "./run.sh".into() } else { String::new() },
        state,
        exit_code: 0,
        execution_error: None,
        kpt_error: None,
        cause: None,
        stderr: String::new(),
        stderr_dropped: 0,
        results: Vec::new(),
        resources: Some(1),
        selective: false,
        recorded: true,
        elapsed: Duration::from_millis(3),
        fuel,
        peak_memory: 3 << 20,
        changes: None,
    }
}

#[test]
fn functions_are_told_apart_by_their_image_without_its_version() {
    for (image, name) in [
        ("set-labels", "set-labels"),
        ("set-labels:v0.2", "set-labels"),
        ("example.com/fn/set-labels:v0.2@sha256:00", "example.com/fn/set-labels"),
        ("example.com:5000/fn/set-labels", "example.com:5000/fn/set-labels"),
        ("example.com:5000/fn/set-labels:latest", "example.com:5000/fn/set-labels"),
    ] {
        assert_eq!(without_version(image), name, "{image}");
    }
    let metrics = Metrics::new();
    metrics.step(&step("fn/a:v1", StepState::Passed, 5));
    metrics.step(&step("fn/a:v2", StepState::Failed, 7));
    metrics.step(&step("", StepState::Passed, 0));
    metrics.step(&step("strange\"\n\\name", StepState::Passed, 0));
    let text = text(&metrics);
    assert_eq!(count(&text, "portico_function_runs_total{image=\"fn/a\",outcome=\"passed\"}"), 1);
    assert_eq!(count(&text, "portico_function_runs_total{image=\"fn/a\",outcome=\"failed\"}"), 1);
    assert_eq!(count(&text, "portico_function_fuel_total{image=\"fn/a\"}"), 12);
    assert_eq!(count(&text, "portico_function_duration_seconds_count{image=\"fn/a\"}"), 2);
    assert_eq!(count(&text, "portico_function_memory_bytes_bucket{image=\"fn/a\",le=\"1.048576e+06\"}"), 0);
    assert_eq!(count(&text, "portico_function_memory_bytes_bucket{image=\"fn/a\",le=\"4.194304e+06\"}"), 2);
    assert_eq!(count(&text, "portico_function_runs_total{image=\"exec\",outcome=\"passed\"}"), 1);
    assert_eq!(count(&text, "portico_function_memory_bytes_count{image=\"exec\"}"), 0);
    assert!(text.contains(r#"{image="strange\"\n\\name",outcome="passed"} 1"#), "no label ends early");
}

#[test]
fn names_of_functions_are_bounded() {
    let metrics = Metrics::new();
    for n in 0..FUNCTIONS + 300 {
        metrics.step(&step(&format!("fn/made-up-{n}:v1"), StepState::Passed, 1));
    }
    metrics.step(&step("fn/made-up-0:v2", StepState::Passed, 1));
    let text = text(&metrics);
    let images = text.lines().filter(|line| line.starts_with("portico_function_fuel_total")).count();
    assert_eq!(images, FUNCTIONS + 1);
    assert_eq!(count(&text, "portico_function_fuel_total{image=\"other\"}"), 300);
    assert_eq!(count(&text, "portico_function_fuel_total{image=\"fn/made-up-0\"}"), 2);
}

#[test]
fn what_is_known_beforehand_is_there_from_the_first_scrape_on() {
    let metrics = Metrics::new();
    metrics.refused("requests_in_flight");
    let text = text(&metrics);
    for series in [
        "portico_render_duration_seconds_count{outcome=\"stopped\"}",
        "portico_store_call_duration_seconds_count{operation=\"save_result\"}",
        "portico_configuration_reloads_total{result=\"refused\"}",
        "portico_scheduler_turn_seconds_count",
        "workqueue_queue_duration_seconds_count{name=\"renders\"}",
    ] {
        assert_eq!(count(&text, series), 0, "{series}");
    }
    assert_eq!(count(&text, "portico_requests_refused_total{limit=\"requests_in_flight\"}"), 1);
    assert_eq!(count(&text, "portico_configuration_current"), 1);
    assert!(value(&text, "process_start_time_seconds") > 1_600_000_000.0);
    if cfg!(target_os = "linux") {
        assert!(value(&text, "process_resident_memory_bytes") > 1_000_000.0);
        assert!(value(&text, "process_cpu_seconds_total") >= 0.0);
        assert!(value(&text, "process_open_fds") >= 3.0 && value(&text, "process_max_fds") > 3.0);
    }
}

/// What both formats, and every program that reads them, rest on.
fn well_formed(text: &str) {
    let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(kinds.insert(name, kind).is_none(), "`{name}` is described twice");
            let unit = ["_seconds", "_bytes", "_total"].iter().any(|unit| name.ends_with(unit));
            let counts = matches!(kind, "counter" | "gauge");
            assert!(counts || unit, "`{name}` has a base unit");
            let known = ["portico_", "workqueue_", "process_"].iter().any(|prefix| name.starts_with(prefix));
            assert!(known && !name.contains("milli") && !name.ends_with("_total_total"), "{name}");
        } else if !line.starts_with('#') {
            let (series, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let name = series.split('{').next().unwrap();
            let family = ["_bucket", "_sum", "_count", "_total", ""].iter().filter_map(|end| name.strip_suffix(end));
            assert!(family.into_iter().any(|name| kinds.contains_key(name)) || kinds.contains_key(name), "{line}");
        }
    }
    assert!(kinds.len() > 20);
}

/// Says when it begins; waits until it is told to go on, or to stop.
struct Waits {
    begins: mpsc::Sender<()>,
    goes_on: std::sync::Mutex<mpsc::Receiver<()>>,
}

impl RenderBackend for Waits {
    fn render(&self, job: &Job) -> Ended {
        self.begins.send(()).unwrap();
        let outcome = if &job.files["edit"][..] == b"waits" {
            while !job.cancel.wait_timeout(Duration::from_mins(1)) {}
            Outcome::Cancelled
        } else {
            self.goes_on.lock().unwrap().recv().unwrap();
            let ending = match &job.files["edit"][..] {
                b"bad" => Ending::failure(Reason::RenderFailed, "no"),
                _ => Ending::success(),
            };
            Outcome::Rendered { ending, files: None }
        };
        Ended { outcome, log: Bytes::new(), fuel: 1 }
    }
}

fn package(edit: &'static str) -> Files {
    Arc::new([("edit".to_owned(), Bytes::from_static(edit.as_bytes()))].into())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scheduler_at_work_shows_what_waits_runs_and_became_of_it() {
    let metrics = Arc::new(Metrics::new());
    let directory = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions { meter: Some(metrics.clone()), ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open(&directory.path().join("store"), options).unwrap();
    let (begins, began) = mpsc::channel();
    let (go_on, goes_on) = mpsc::channel();
    let backend = Arc::new(Waits { begins, goes_on: goes_on.into() });
    let settings = Settings { meter: metrics.clone(), ..Settings::default() };
    let scheduler = Scheduler::new(store.clone(), backend, Arc::new(Ring::new(100)), settings);
    let engine = Engine::new(EngineConfig::default()).unwrap();
    metrics.observe(Sources { scheduler: scheduler.clone(), engine: Some(engine) });

    let create = async |name: &str, edit| {
        let made = store.create(NewRevision::new("ns", name, "repo", package(edit))).await.unwrap();
        scheduler.changed(made.clone());
        made
    };
    let first = create("first", "good").await;
    let second = create("second", "bad").await;
    let third = create("third", "waits").await;
    let late = Expected::Content(ContentVersion(0));
    store.update(&first.key, late, ClientUpdate::files(package("good"))).await.unwrap_err();
    let before = text(&metrics);
    well_formed(&before);
    assert_eq!(count(&before, "portico_queue_revisions{state=\"ready\"}"), 3);
    assert_eq!(count(&before, "workqueue_depth{name=\"renders\"}"), 3);
    assert_eq!(count(&before, "workqueue_adds_total{name=\"renders\"}"), 3);
    assert!(value(&before, "portico_queue_oldest_seconds") > 0.0);
    assert_eq!(count(&before, "portico_workers"), 0);

    scheduler.start_processing(1);
    tokio::task::block_in_place(|| began.recv().unwrap());
    let during = text(&metrics);
    assert_eq!(count(&during, "portico_queue_revisions{state=\"running\"}"), 1);
    assert!(value(&during, "workqueue_longest_running_processor_seconds{name=\"renders\"}") > 0.0);
    go_on.send(()).unwrap();
    go_on.send(()).unwrap();
    for key in [&first.key, &second.key] {
        scheduler.rendered(key).await.unwrap();
    }
    tokio::task::block_in_place(|| (0..2).for_each(|_| began.recv().unwrap()));
    scheduler.cancel(&third.key, "no longer wanted").await.unwrap();
    scheduler.rendered(&third.key).await.unwrap();
    metrics.reloaded(false);

    let after = text(&metrics);
    well_formed(&after);
    for (series, expected) in [
        ("portico_renders_started_total", 3),
        ("portico_renders_total{outcome=\"succeeded\"}", 1),
        ("portico_renders_total{outcome=\"failed\"}", 1),
        ("portico_renders_total{outcome=\"cancelled\"}", 1),
        ("portico_renders_total{outcome=\"superseded\"}", 0),
        ("portico_renders_total{outcome=\"conflict\"}", 0),
        ("portico_render_duration_seconds_count{outcome=\"stopped\"}", 1),
        ("portico_render_wait_seconds_count", 3),
        ("workqueue_work_duration_seconds_count{name=\"renders\"}", 3),
        ("workqueue_retries_total{name=\"renders\"}", 0),
        ("portico_render_retries_total", 0),
        ("portico_queue_revisions{state=\"running\"}", 0),
        ("portico_workers", 1),
        ("portico_store_call_duration_seconds_count{operation=\"create\"}", 3),
        ("portico_store_errors_total{operation=\"update\",class=\"superseded\"}", 1),
        ("portico_store_refusals_total", 1),
        ("portico_module_compilations_total", 0),
        ("portico_configuration_reloads_total{result=\"refused\"}", 1),
        ("portico_configuration_current", 0),
    ] {
        assert_eq!(count(&after, series), expected, "{series}\n{after}");
    }
    assert!(value(&after, "portico_writes_total{outcome=\"executed\"}") >= 3.0);
    // One is read after the other, and the scheduler does not wait for that.
    assert!(
        count(&after, "portico_scheduler_turn_seconds_count") >= 3
            && count(&after, "portico_scheduler_events_total") >= 3
    );
    assert!(value(&after, "portico_scheduler_turn_longest_seconds") > 0.0);
    assert!(value(&after, "portico_store_commits_total") >= 3.0);

    // Each stands in the documentation, with its kind.
    let documented = include_str!("../../../../docs/server-metrics.md");
    metrics.step(&step("fn/a", StepState::Passed, 1));
    for line in text(&metrics).lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        assert!(documented.contains(&format!("| `{name}` | {kind} |")), "`{name}`, a {kind}, is not documented");
    }

    // As it is served, in the format that is asked for.
    let serve = async |accept: &str| {
        let request = Request::get("/metrics").header(ACCEPT, accept).body(Body::empty()).unwrap();
        let response = router(metrics.clone()).oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let kind = response.headers()[CONTENT_TYPE].to_str().unwrap().to_owned();
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (kind, String::from_utf8(body.to_vec()).unwrap())
    };
    let (kind, body) = serve("application/openmetrics-text;version=1.0.0,text/plain;q=0.5").await;
    assert!(kind.starts_with("application/openmetrics-text") && body.ends_with("# EOF\n"), "{kind}");
    let (kind, body) = serve("*/*").await;
    assert!(kind.starts_with("text/plain; version=0.0.4") && !body.contains("# EOF"), "{kind}");
    assert_eq!(count(&body, "portico_renders_started_total"), 3);
    scheduler.close().await;
}

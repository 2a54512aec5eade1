//! What operators see of calls.

use std::sync::Arc;
use std::time::Duration;

use portico_server::grpc::Settings;
use portico_server::grpc::proto::evaluator::EvaluateFunctionRequest;
use portico_server::grpc::proto::v1::RenderBegin;
use portico_server::ops::metrics::{Format, Metrics};
use tonic::{Code, Request};

use crate::harness::{LIST, Server, settings};
use crate::render::{package, render};

fn call(function: &str) -> Request<EvaluateFunctionRequest> {
    let image = format!("probe.local/{function}:v1");
    Request::new(EvaluateFunctionRequest { resource_list: LIST.into(), image })
}

/// The value of a series: its name with its labels.
fn value(metrics: &Metrics, series: &str) -> f64 {
    let text = metrics.encode(Format::Prometheus).expect("they can be written");
    let found = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("`{series}` is not in\n{text}")).parse().expect("a number")
}

#[track_caller]
fn holds(metrics: &Metrics, series: &str, expected: u32) {
    let value = value(metrics, series);
    assert!((value - f64::from(expected)).abs() < f64::EPSILON, "{series}: {value}");
}

#[tokio::test]
async fn functions_of_both_services_are_counted_by_image() {
    let metrics = Arc::new(Metrics::new());
    let server = Server::metered(settings(), &metrics).await;
    holds(&metrics, "portico_calls{state=\"waiting\"}", 0);
    holds(&metrics, "portico_calls{state=\"running\"}", 0);
    let mut client = server.client().await;
    client.evaluate_function(call("echo")).await.unwrap();
    assert_eq!(client.evaluate_function(call("fail")).await.unwrap_err().code(), Code::Internal);
    let runs = |image: &str, outcome: &str| {
        format!("portico_function_runs_total{{image=\"probe.local/{image}\",outcome=\"{outcome}\"}}")
    };
    holds(&metrics, &runs("echo", "passed"), 1);
    holds(&metrics, &runs("fail", "failed"), 1);
    let rendered = render(&server, RenderBegin::default(), &package(&["echo", "chatty", "fail"])).await.unwrap();
    assert!(!rendered.outcome.unwrap().rendered);
    holds(&metrics, &runs("echo", "passed"), 2);
    holds(&metrics, &runs("chatty", "passed"), 1);
    holds(&metrics, &runs("fail", "failed"), 2);
    assert!(value(&metrics, "portico_function_fuel_total{image=\"probe.local/echo\"}") > 0.0);
    // Three calls, none of which had to wait.
    holds(&metrics, "portico_call_wait_seconds_count", 3);
    holds(&metrics, "portico_call_wait_seconds_sum", 0);
}

#[tokio::test]
async fn how_many_calls_wait_and_for_how_long_is_told() {
    let metrics = Arc::new(Metrics::new());
    let settings = Settings { concurrency: 1, queue_time: Duration::from_millis(20), ..settings() };
    let server = Server::metered(settings, &metrics).await;
    let mut client = server.client().await;
    let mut second = client.clone();
    let spins = tokio::spawn(async move { client.evaluate_function(call("spin")).await });
    while value(&metrics, "portico_calls{state=\"running\"}") < 1.0 {
        tokio::task::yield_now().await;
    }
    // Who goes while he waits has waited.
    let mut impatient = call("echo");
    impatient.set_timeout(Duration::from_millis(5));
    assert!(second.evaluate_function(impatient).await.is_err());
    while value(&metrics, "portico_call_wait_seconds_count") < 2.0 {
        tokio::task::yield_now().await;
    }
    let waits = tokio::spawn(async move { second.evaluate_function(call("echo")).await });
    let sent_away = waits.await.expect("it does not panic").unwrap_err();
    assert_eq!(sent_away.code(), Code::Unavailable);
    holds(&metrics, "portico_call_wait_seconds_count", 3);
    assert!(value(&metrics, "portico_call_wait_seconds_sum") >= 0.02, "who is sent away has waited, too");
    spins.abort();
    while value(&metrics, "portico_calls{state=\"running\"}") > 0.0 {
        tokio::task::yield_now().await;
    }
    holds(&metrics, "portico_calls{state=\"waiting\"}", 0);
}

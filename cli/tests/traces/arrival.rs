//! What arrives: whose trace it is in, below what, with which attributes; and what does not.

use portico_server::grpc::proto::evaluator::EvaluateFunctionRequest;
use portico_server::grpc::proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use serde_json::{Value, json};
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::collector::{Collector, Seen};
use crate::harness::{RESOURCES, REVISIONS, Server};

/// Spans are sent as they end, not some seconds later.
pub(crate) const AT_ONCE: [(&str, &str); 1] = [("OTEL_BSP_SCHEDULE_DELAY", "20")];

const NAME: &str = "default.web.v1";

/// The name of a trace and of a span in it, made from a digit.
fn names(digit: char) -> (String, String) {
    (digit.to_string().repeat(32), digit.to_string().repeat(16))
}

/// How a sender names them.
fn sender(digit: char) -> String {
    let (trace, span) = names(digit);
    format!("00-{trace}-{span}-01")
}

/// It is the sender's, and something that was asked for.
#[track_caller]
fn is_below(span: &Seen, digit: char) {
    assert_eq!((span.trace.clone(), span.parent.clone()), names(digit), "{span:?}");
    assert!(span.serves && span.failure.is_none(), "{span:?}");
}

/// A render is the first of a trace of its own, and about what a request left.
#[track_caller]
fn renders_what_left(render: &Seen, request: &Seen) {
    assert_eq!(render.parent, "", "{render:?}");
    assert_ne!(render.trace, request.trace);
    assert!(!render.serves, "{render:?}");
    assert!(render.get("render").len() > 8, "{render:?}");
    assert_eq!(render.get("revision"), format!("team-a/{NAME}"));
    assert!(render.get("content").parse::<u64>().is_ok_and(|version| version > 0), "{render:?}");
    for key in ["revision", "content"] {
        assert_eq!(request.get(key), render.get(key), "{request:?} {render:?}");
    }
    assert!(render.events.iter().any(|event| event == "the render begins"), "{render:?}");
}

fn package(pipeline: &str) -> Value {
    let kptfile = format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n{pipeline}");
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n";
    json!({"spec": {"resources": {"Kptfile": kptfile, "svc.yaml": service}}})
}

const LABELS: &str = "pipeline:\n  mutators:\n  - image: set-labels:latest\n    configMap:\n      app: web\n";

const FAILING: &str =
    "pipeline:\n  validators:\n  - image: starlark:latest\n    configMap:\n      source: fail(\"no\")\n";

const LIST: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig:\n  apiVersion: v1\n  \
                    kind: ConfigMap\n  metadata:\n    name: labels\n  data:\n    app: web\n";

/// Asks for what nobody wants to see in traces.
fn noise(server: &Server) {
    server.ready();
    for path in ["/livez", "/readyz?verbose", "/readyz/store", "/healthz", "/metrics"] {
        assert_eq!(server.ask("GET", path, &[], "").0, 200, "{path}");
    }
    // A sender that records nothing, and wants nothing recorded.
    let unrecorded = sender('e').replace("-01", "-00");
    assert_eq!(server.ask("GET", "/apis", &[("traceparent", &unrecorded)], "").0, 200);
    calling(async {
        let channel = Endpoint::from_shared(format!("http://{}", server.grpc)).unwrap().connect().await.unwrap();
        HealthClient::new(channel).check(HealthCheckRequest::default()).await.unwrap();
    });
}

/// A function, called as Porch calls it.
fn evaluate(server: &Server, trace: &str) {
    let message = EvaluateFunctionRequest {
        resource_list: LIST.to_owned().into(),
        image: "ghcr.io/kptdev/krm-functions-catalog/set-labels:latest".to_owned(),
    };
    let mut request = tonic::Request::new(message);
    request.metadata_mut().insert("traceparent", trace.parse().unwrap());
    calling(async {
        let channel = Endpoint::from_shared(format!("http://{}", server.grpc)).unwrap().connect().await.unwrap();
        FunctionEvaluatorClient::new(channel).evaluate_function(request).await.unwrap();
    });
}

fn calling(call: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(call);
}

/// Everything that is to arrive at a collector that this server sends to, perhaps by way of another one.
pub(crate) fn everything_arrives(server: Server, collector: &Collector) {
    let mut seen = Vec::new();
    // Sent in their order: had these been sent, they were there before all others.
    noise(&server);

    let revision = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
        "metadata": {"namespace": "team-a"},
        "spec": {"packageName": "web", "repository": "default", "workspaceName": "v1", "lifecycle": "Draft"},
    });
    let made = server.send("POST", REVISIONS, &sender('a'), &revision);
    assert_eq!(made["metadata"]["name"], NAME);
    // Its render is not to be superseded by the next one.
    let empty = collector.until(&mut seen, "the first render", |span| span.name == "render");
    let post = request(collector, &mut seen, 'a', "POST", REVISIONS);
    assert_eq!((post.get("status"), post.service.as_str()), ("201", "portico"));
    renders_what_left(&empty, &post);
    assert_eq!(empty.failure, None);

    let path = format!("{RESOURCES}/{NAME}");
    server.send("PATCH", &path, &sender('b'), &package(LABELS));
    let render = collector.until(&mut seen, "the render", |span| span.name == "render");
    let patch = request(collector, &mut seen, 'b', "PATCH", &path);
    assert_eq!(patch.get("status"), "200");
    renders_what_left(&render, &patch);
    assert_ne!((render.get("render"), render.get("content")), (empty.get("render"), empty.get("content")));
    let step = step_of(&seen, &render);
    assert!(step.get("step").contains("set-labels"), "{step:?}");
    assert_eq!((&render.failure, &step.failure), (&None, &None));

    server.send("PATCH", &path, &sender('c'), &package(FAILING));
    let render = collector.until(&mut seen, "the render that fails", |span| span.name == "render");
    renders_what_left(&render, &request(collector, &mut seen, 'c', "PATCH", &path));
    assert!(render.failure.as_ref().is_some_and(|why| why.contains("starlark")), "{render:?}");
    assert!(step_of(&seen, &render).failure.is_some());

    evaluate(&server, &sender('d'));
    let call = collector.until(&mut seen, "the call", |span| span.name == "grpc");
    is_below(&call, 'd');
    assert_eq!(call.get("method"), "evaluator.FunctionEvaluator/EvaluateFunction");
    assert_eq!((call.get("trace_id"), call.get("parent_id")), (&*names('d').0, &*names('d').1));

    // Without a sender's trace it is the first of one; probes with one are followed.
    assert_eq!(server.ask("GET", "/apis", &[], "").0, 200);
    let alone = find(collector, &mut seen, "/apis", |span| span.get("path") == "/apis");
    assert!(alone.parent.is_empty() && alone.serves && alone.trace.len() == 32, "{alone:?}");
    assert_eq!(server.ask("GET", "/livez", &[("traceparent", &sender('f'))], "").0, 200);
    request(collector, &mut seen, 'f', "GET", "/livez");

    server.end();
    seen.extend(collector.rest());
    let mut names: Vec<&str> = seen.iter().map(|span| &*span.name).collect();
    names.sort_unstable();
    let expected = [&["grpc"][..], &["render"; 3], &["request"; 5], &["step"; 2]].concat();
    assert_eq!(names, expected, "{seen:#?}");
    assert!(seen.iter().all(|span| span.service == "portico"), "{seen:#?}");
}

/// A span that may have arrived already.
fn find(collector: &Collector, seen: &mut Vec<Seen>, what: &str, is_it: impl Fn(&Seen) -> bool) -> Seen {
    match seen.iter().find(|span| is_it(span)) {
        Some(span) => span.clone(),
        None => collector.until(seen, what, is_it),
    }
}

/// The span of a request in this trace.
fn request(collector: &Collector, seen: &mut Vec<Seen>, digit: char, method: &str, path: &str) -> Seen {
    let span = find(collector, seen, path, |span| span.trace == names(digit).0);
    assert_eq!((&*span.name, span.get("method"), span.get("path")), ("request", method, path), "{span:?}");
    is_below(&span, digit);
    span
}

/// The only step of a render.
#[track_caller]
fn step_of<'a>(seen: &'a [Seen], render: &Seen) -> &'a Seen {
    let steps: Vec<&Seen> = seen.iter().filter(|span| span.parent == render.id).collect();
    let [step] = *steps else { panic!("one step of {render:?}: {steps:?}") };
    assert_eq!((&*step.name, &step.trace), ("step", &render.trace), "{step:?}");
    step
}

#[test]
fn requests_calls_renders_and_steps_arrive_and_probes_do_not() {
    let collector = Collector::start();
    everything_arrives(Server::start(&collector.endpoint, &AT_ONCE), &collector);
}

#[test]
fn what_is_left_is_sent_at_the_end() {
    let collector = Collector::start();
    // In twos or never: the first two open the connection, the third is left.
    let variables = [("OTEL_BSP_SCHEDULE_DELAY", "3600000"), ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")];
    let server = Server::start(&collector.endpoint, &variables);
    let ask = |digit| assert_eq!(server.ask("GET", "/apis", &[("traceparent", &sender(digit))], "").0, 200);
    ask('a');
    ask('b');
    let mut seen = Vec::new();
    collector.until(&mut seen, "the second", |span| span.trace == names('b').0);
    ask('c');
    server.end();
    is_below(&collector.rest().pop().expect("the third"), 'c');
}

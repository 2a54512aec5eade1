//! `EvaluateFunction`, line by line of the error table in `docs/porch.md`.

use std::sync::Arc;
use std::time::Duration;

use portico_runtime::FunctionPattern;
use portico_server::auth::{Attributes, Authorizer, Identity};
use portico_server::grpc::proto::evaluator::EvaluateFunctionRequest;
use portico_server::grpc::proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use portico_server::grpc::proto::v1::FunctionFailure;
use portico_server::grpc::{Fallback, FallbackRule, Settings};
use prost::Message as _;
use tonic::{Code, Request, Response, Status};

use crate::harness::{FAILED, LIST, Raw, Server, list_of, settings};

fn request(image: &str, list: &str) -> Request<EvaluateFunctionRequest> {
    Request::new(EvaluateFunctionRequest { resource_list: list.to_owned().into(), image: image.to_owned() })
}

fn with<T>(mut request: Request<T>, key: &'static str, value: &str) -> Request<T> {
    request.metadata_mut().insert(key, value.parse().expect("ASCII"));
    request
}

async fn call(server: &Server, image: &str, list: &str) -> Result<(String, String), Status> {
    send(server, request(image, list)).await
}

async fn send(server: &Server, request: Request<EvaluateFunctionRequest>) -> Result<(String, String), Status> {
    let response = server.client().await.evaluate_function(request).await.map(Response::into_inner)?;
    let text = |bytes: bytes::Bytes| String::from_utf8(bytes.into()).expect("text");
    Ok((text(response.resource_list), text(response.log)))
}

fn failure(status: &Status) -> FunctionFailure {
    let details = tonic_types::Status::decode(status.details()).expect("details").details;
    let found = details.iter().find(|any| any.type_url.ends_with("portico.v1.FunctionFailure")).expect("a failure");
    FunctionFailure::decode(&*found.value).expect("a failure")
}

fn comes_back(status: &Status) -> bool {
    use tonic_types::StatusExt as _;
    status.get_details_retry_info().is_some_and(|info| info.retry_delay.is_some())
}

#[tokio::test]
async fn bytes_come_through_as_the_function_wrote_them() {
    let server = Server::start(settings()).await;
    let (list, log) = call(&server, "probe.local/echo:v1", LIST).await.unwrap();
    assert_eq!((&*list, &*log), (LIST, ""));
    let digest = format!("probe.local/echo@sha256:{}", "0".repeat(64));
    assert_eq!(call(&server, &digest, LIST).await.unwrap().0, LIST);
}

#[tokio::test]
async fn standard_error_is_the_log_and_a_result_for_who_wants_it() {
    let server = Server::start(settings()).await;
    let image = "probe.local/chatty:v1";
    let (list, log) = call(&server, image, LIST).await.unwrap();
    assert_eq!((&*list, &*log), (LIST, "by the way\n"));
    let wanted = with(request(image, LIST), "portico-stderr", "results");
    let (list, _) = send(&server, wanted).await.unwrap();
    assert!(list.contains("message: 'stderr: by the way'") && list.contains("severity: info"), "{list}");
    assert!(list.contains("# licence") && list.contains("# odd"), "{list}");
    let always = Server::start(Settings { stderr_results: true, ..settings() }).await;
    assert!(call(&always, image, LIST).await.unwrap().0.contains("stderr: by the way"));
    assert_eq!(send(&always, with(request(image, LIST), "portico-stderr", "none")).await.unwrap().0, LIST);
    let wrong = send(&always, with(request(image, LIST), "portico-stderr", "maybe")).await.unwrap_err();
    assert_eq!(wrong.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_function_that_fails_gives_its_results_and_its_list() {
    let server = Server::start(settings()).await;
    let status = call(&server, "probe.local/fail:v1", LIST).await.unwrap_err();
    assert_eq!(status.code(), Code::Internal);
    assert_eq!(
        status.message(),
        "function `probe.local/fail:v1` failed: it ended with exit code 3; results: [error] replicas is wrong; \
         stderr: first | second"
    );
    let failure = failure(&status);
    assert_eq!((failure.exit_code, &*failure.cause), (3, "exit"));
    assert_eq!(failure.resource_list, FAILED);
    assert_eq!(failure.stderr, "first\nsecond\n");
}

#[tokio::test]
async fn names_that_nobody_knows_and_names_that_are_none() {
    let server = Server::start(settings()).await;
    for (image, code) in [
        ("probe.local/other:v1", Code::NotFound),
        // It stands outside what the operator allows.
        ("elsewhere.local/echo:v1", Code::NotFound),
        ("set-labels", Code::NotFound),
        ("", Code::InvalidArgument),
        ("Probe.local/UPPER:v1", Code::InvalidArgument),
        ("probe.local/echo:not a tag", Code::InvalidArgument),
    ] {
        let status = call(&server, image, LIST).await.unwrap_err();
        assert_eq!(status.code(), code, "{image}: {status}");
        assert!(code != Code::NotFound || status.message().contains(image), "{status}");
    }
}

#[tokio::test]
async fn input_and_output_have_to_be_resource_lists() {
    let server = Server::start(settings()).await;
    for wrong in ["", "a: [", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "just text"] {
        let status = call(&server, "probe.local/echo:v1", wrong).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{wrong}: {status}");
    }
    for (image, words) in [("garbage", "no ResourceList"), ("silent", "is empty"), ("broken", "cannot be used")] {
        let status = call(&server, &format!("probe.local/{image}:v1"), LIST).await.unwrap_err();
        assert_eq!(status.code(), Code::Internal, "{status}");
        assert!(status.message().contains(words), "{status}");
    }
}

#[tokio::test]
async fn limits_of_the_operator_have_their_codes() {
    let server = Server::start(settings()).await;
    let spin = |namespace| with(request("probe.local/spin:v1", LIST), "portico-namespace", namespace);
    let status = send(&server, spin("tight")).await.unwrap_err();
    assert_eq!((status.code(), &*failure(&status).cause), (Code::ResourceExhausted, "outOfFuel"));
    let status = send(&server, spin("brief")).await.unwrap_err();
    assert_eq!((status.code(), &*failure(&status).cause), (Code::DeadlineExceeded, "deadline"));
}

#[tokio::test]
async fn the_deadline_of_the_caller_stops_the_function() {
    let server = Server::start(Settings { concurrency: 1, ..settings() }).await;
    let mut client = FunctionEvaluatorClient::new(Raw::connect(&server.address).await.0);
    let spin = with(request("probe.local/spin:v1", LIST), "grpc-timeout", "100m");
    let status = client.evaluate_function(spin).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    assert!(status.message().contains("grpc-timeout"), "{status}");
    // The only worker is free again.
    assert!(call(&server, "probe.local/echo:v1", LIST).await.is_ok());
    let wrong = with(request("probe.local/echo:v1", LIST), "grpc-timeout", "soon");
    assert_eq!(client.evaluate_function(wrong).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_caller_that_goes_away_frees_its_worker() {
    let server = Server::start(Settings { concurrency: 1, queue: 0, ..settings() }).await;
    let mut client = server.client().await;
    let spinning = tokio::spawn(async move { client.evaluate_function(request("probe.local/spin:v1", LIST)).await });
    // Full: the function runs.
    let full = loop {
        match call(&server, "probe.local/echo:v1", LIST).await {
            Ok(_) => tokio::task::yield_now().await,
            Err(status) => break status,
        }
    };
    assert_eq!(full.code(), Code::Unavailable, "{full}");
    assert!(comes_back(&full), "{full:?}");
    spinning.abort();
    while let Err(status) = call(&server, "probe.local/echo:v1", LIST).await {
        assert_eq!(status.code(), Code::Unavailable, "{status}");
    }
}

#[tokio::test]
async fn nobody_waits_longer_than_the_queue_allows() {
    let settings = Settings { concurrency: 1, queue_time: Duration::from_millis(50), ..settings() };
    let server = Server::start(settings).await;
    let mut client = server.client().await;
    let spinning = tokio::spawn(async move { client.evaluate_function(request("probe.local/spin:v1", LIST)).await });
    let status = loop {
        match call(&server, "probe.local/echo:v1", LIST).await {
            Ok(_) => tokio::task::yield_now().await,
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("no worker became free within 50ms"), "{status}");
    spinning.abort();
}

#[tokio::test]
async fn five_megabytes_pass_and_each_bound_on_bytes_is_said() {
    let image = "probe.local/echo:v1";
    let large = list_of(5 << 20);
    let server = Server::start(settings()).await;
    assert_eq!(call(&server, image, &large).await.unwrap().0, large);
    let asks = with(request(image, &large), "portico-max-response-bytes", "6291456");
    assert!(send(&server, asks).await.is_ok());
    let asks = with(request(image, &large), "portico-max-response-bytes", "1000000");
    let status = send(&server, asks).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("the 1000000 that may be sent"), "{status}");

    let small = Server::start(Settings { receive_bytes: 1 << 20, ..settings() }).await;
    let status = call(&small, image, &large).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("`grpc.receiveBytes`"), "{status}");

    let small = Server::start(Settings { send_bytes: 1 << 20, ..settings() }).await;
    assert_eq!(call(&small, image, &large).await.unwrap_err().code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn requests_that_wait_are_held_within_a_bound() {
    let server = Server::start(Settings { concurrency: 1, held_bytes: 1_000_000, ..settings() }).await;
    let large = list_of(900_000);
    // Alone it may be larger than the bound.
    assert!(call(&server, "probe.local/echo:v1", &list_of(2_000_000)).await.is_ok());
    let mut client = server.client().await;
    let list = large.clone();
    let spinning = tokio::spawn(async move { client.evaluate_function(request("probe.local/spin:v1", &list)).await });
    let status = loop {
        match call(&server, "probe.local/echo:v1", &large).await {
            Ok(_) => tokio::task::yield_now().await,
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(status.message().contains("`grpc.heldBytes`") && comes_back(&status), "{status:?}");
    spinning.abort();
}

/// Field 3 and 4 of later versions of Porch, and one that nobody has.
#[tokio::test]
async fn unknown_fields_are_read_over() {
    #[derive(Clone, PartialEq, prost::Message)]
    struct Later {
        #[prost(bytes = "vec", tag = "1")]
        resource_list: Vec<u8>,
        #[prost(string, tag = "2")]
        image: String,
        #[prost(string, tag = "3")]
        tag: String,
        #[prost(string, tag = "4")]
        exec_path: String,
        #[prost(uint64, tag = "5000")]
        other: u64,
    }
    let server = Server::start(settings()).await;
    let mut client = tonic::client::Grpc::new(server.channel().await);
    client.ready().await.unwrap();
    let later = Later {
        resource_list: LIST.into(),
        image: "probe.local/echo:v1".into(),
        tag: "~0.1".into(),
        exec_path: "/bin/true".into(),
        other: 7,
    };
    let path = "/evaluator.FunctionEvaluator/EvaluateFunction".parse().unwrap();
    let codec = tonic_prost::ProstCodec::<Later, Later>::default();
    let answer = client.unary(Request::new(later), path, codec).await.unwrap().into_inner();
    assert_eq!(answer.resource_list, LIST.as_bytes());
}

#[tokio::test]
async fn another_function_runner_gets_what_has_no_module_and_its_errors_pass() {
    let other = Server::start(settings()).await;
    let rules = vec![FallbackRule {
        functions: FunctionPattern { name: None, image: Some("probe.local/*".to_owned()) },
        ..FallbackRule::default()
    }];
    let fallback = Some(Fallback::new(&other.address, rules).unwrap());
    // Nothing is allowed here, so all of it goes there.
    let server = Server::start(Settings { prefixes: vec![], fallback, ..settings() }).await;
    assert_eq!(call(&server, "probe.local/echo:v1", LIST).await.unwrap().0, LIST);
    let status = call(&server, "probe.local/fail:v1", LIST).await.unwrap_err();
    assert_eq!((status.code(), failure(&status).exit_code), (Code::Internal, 3));
    let status = call(&server, "elsewhere.local/echo:v1", LIST).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    let mut client = FunctionEvaluatorClient::new(Raw::connect(&server.address).await.0);
    let spin = with(request("probe.local/spin:v1", LIST), "grpc-timeout", "100m");
    assert_eq!(client.evaluate_function(spin).await.unwrap_err().code(), Code::DeadlineExceeded);
}

/// Nobody may evaluate in `theirs`.
struct NotTheirs;

impl Authorizer for NotTheirs {
    fn allows(&self, who: &Identity, what: &Attributes<'_>) -> Result<(), String> {
        assert_eq!((&*who.user, what.verb, what.resource), ("system:anonymous", "create", "functionevaluations"));
        if what.namespace == "theirs" { Err("it is not yours".to_owned()) } else { Ok(()) }
    }
}

#[tokio::test]
async fn who_may_not_is_told_so() {
    let server = Server::with(settings(), Arc::new(NotTheirs), "127.0.0.1:0").await;
    let echo = |namespace| with(request("probe.local/echo:v1", LIST), "portico-namespace", namespace);
    assert!(send(&server, echo("mine")).await.is_ok());
    let status = send(&server, echo("theirs")).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::PermissionDenied, "it is not yours"));
}

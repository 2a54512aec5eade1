//! Health, reflection, sockets, and the end of a server.

use std::sync::Arc;
use std::time::Duration;

use portico_server::auth::Identity;
use portico_server::grpc::proto::evaluator::EvaluateFunctionRequest;
use portico_server::grpc::proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use portico_server::grpc::proto::v1::ListRequest;
use portico_server::grpc::{Identify, Listener, Settings};
use tonic::Code;
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::harness::{LIST, Raw, Server, settings};

fn echo() -> EvaluateFunctionRequest {
    EvaluateFunctionRequest { resource_list: LIST.into(), image: "probe.local/echo:v1".to_owned() }
}

fn spin() -> EvaluateFunctionRequest {
    EvaluateFunctionRequest { resource_list: LIST.into(), image: "probe.local/spin:v1".to_owned() }
}

#[tokio::test]
async fn health_is_checked_and_watched() {
    let mut server = Server::start(settings()).await;
    let mut health = HealthClient::new(server.channel().await);
    for service in ["", "evaluator.FunctionEvaluator"] {
        let service = service.to_owned();
        let answer = health.check(HealthCheckRequest { service }).await.unwrap().into_inner();
        assert_eq!(answer.status, ServingStatus::Serving as i32);
    }
    let unknown = health.check(HealthCheckRequest { service: "other".to_owned() }).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    let mut watch = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status, ServingStatus::Serving as i32);
    let stopped = server.stop();
    assert_eq!(watch.message().await.unwrap().unwrap().status, ServingStatus::NotServing as i32);
    drop((watch, health));
    stopped.await.unwrap();
}

#[tokio::test]
async fn tools_find_the_services() {
    let server = Server::start(settings()).await;
    let mut client = ServerReflectionClient::new(server.channel().await);
    let asks = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut answers = client.server_reflection_info(tokio_stream::once(asks)).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response;
    let Some(MessageResponse::ListServicesResponse(list)) = answer else { panic!("{answer:?}") };
    let names: Vec<String> = list.service.into_iter().map(|service| service.name).collect();
    assert!(names.contains(&"evaluator.FunctionEvaluator".to_owned()), "{names:?}");
    assert!(names.contains(&"grpc.health.v1.Health".to_owned()), "{names:?}");
}

#[tokio::test]
async fn calls_that_run_are_ended_and_no_new_connection_is_taken() {
    let mut server = Server::start(settings()).await;
    let mut client = FunctionEvaluatorClient::new(Raw::connect(&server.address).await.0);
    client.evaluate_function(echo()).await.unwrap();
    let mut spinning = tonic::Request::new(spin());
    spinning.metadata_mut().insert("grpc-timeout", "300m".parse().unwrap());
    let running = tokio::spawn(async move { client.evaluate_function(spinning).await });
    let address = server.address.clone();
    // A second client that does nothing is told to go, and does.
    let idle = server.channel().await;
    let stopped = server.stop();
    while tokio::net::TcpStream::connect(&address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    // It came to its own end, not to the server's.
    let status = running.await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    stopped.await.unwrap();
    drop(idle);
}

#[tokio::test]
async fn a_call_that_does_not_end_is_cut_after_the_drain() {
    let mut server = Server::start(Settings { drain: Duration::from_millis(100), ..settings() }).await;
    let mut client = server.client().await;
    client.evaluate_function(echo()).await.unwrap();
    let running = tokio::spawn(async move { client.evaluate_function(spin()).await });
    // It runs for ever, and is on the way when the server is told to stop.
    tokio::task::yield_now().await;
    server.stop().await.unwrap();
    assert!(running.await.unwrap().is_err());
}

#[tokio::test]
async fn a_unix_socket_is_served_and_goes_with_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("portico.sock");
    let address = format!("unix:{}", path.display());
    // One that a killed server left.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let mut server = Server::with(settings(), Arc::new(portico_server::auth::AllowAll), &address).await;
    server.client().await.evaluate_function(echo()).await.unwrap();
    assert!(Listener::bind(&address).await.is_err(), "one that is listened on stays");
    server.stop().await.unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn an_old_connection_is_asked_to_go_when_its_calls_have_ended() {
    let settings = Settings { connection_age: Some(Duration::from_millis(20)), ..settings() };
    let server = Server::start(settings).await;
    let (raw, ended) = Raw::connect(&server.address).await;
    let mut client = FunctionEvaluatorClient::new(raw);
    let mut spinning = tonic::Request::new(spin());
    spinning.metadata_mut().insert("grpc-timeout", "200m".parse().unwrap());
    let status = client.evaluate_function(spinning).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    ended.await.unwrap();
}

#[tokio::test]
async fn connections_beyond_the_bound_wait() {
    let server = Server::start(Settings { connections: 1, ..settings() }).await;
    let first = server.client().await;
    first.clone().evaluate_function(echo()).await.unwrap();
    let address = server.address.clone();
    let second = tokio::spawn(async move {
        let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{address}")).unwrap();
        let channel = endpoint.connect().await.unwrap();
        FunctionEvaluatorClient::new(channel).evaluate_function(echo()).await
    });
    first.clone().evaluate_function(echo()).await.unwrap();
    assert!(!second.is_finished());
    drop(first);
    second.await.unwrap().unwrap();
}

/// Knows one token and wants it.
struct Strict;

impl Identify for Strict {
    fn identify(&self, authorization: Option<&str>) -> Result<Identity, String> {
        match authorization {
            Some("Bearer good") => Ok(Identity::authenticated("me", Vec::new())),
            _ => Err("who are you?".to_owned()),
        }
    }
}

#[tokio::test]
async fn credentials_are_needed_but_for_health_and_for_porch() {
    for open in [true, false] {
        let settings = Settings { evaluate_without_credentials: open, ..settings() };
        let server = Server::identifying(settings, Arc::new(Strict)).await;
        let mut health = HealthClient::new(server.channel().await);
        assert!(health.check(HealthCheckRequest::default()).await.is_ok());
        let with = |token: Option<&'static str>| {
            let mut request = tonic::Request::new(echo());
            if let Some(token) = token {
                request.metadata_mut().insert("authorization", token.parse().unwrap());
            }
            request
        };
        let mut client = server.client().await;
        assert_eq!(client.evaluate_function(with(None)).await.is_ok(), open);
        assert!(client.evaluate_function(with(Some("Bearer good"))).await.is_ok());
        let wrong = client.evaluate_function(with(Some("Bearer bad"))).await.unwrap_err();
        assert_eq!((wrong.code(), wrong.message()), (Code::Unauthenticated, "who are you?"));
        let nobody = server.renders().await.list(ListRequest::default()).await.unwrap_err();
        assert_eq!(nobody.code(), Code::Unauthenticated);
    }
}

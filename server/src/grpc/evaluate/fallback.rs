//! Functions without a module here go to a function runner that there was before.

use std::time::Duration;

use portico_runtime::FunctionPattern;
use tonic::codegen::http::uri::Authority;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};

use crate::grpc::front::Deadline;
use crate::grpc::proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use crate::grpc::proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use crate::grpc::settings::Settings;

/// How long the other function runner may take to be reached.
const CONNECT: Duration = Duration::from_secs(10);

/// By how much the other function runner's deadline is later than the caller's.
const GRACE: Duration = Duration::from_secs(1);

/// Another function runner, in plaintext as Porch itself speaks to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    address: String,
    rules: Vec<FallbackRule>,
}

/// An address that is none.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no address of a function runner; write `HOST:PORT`")]
pub struct FallbackError(String);

/// Which calls go to another function runner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FallbackRule {
    /// Which functions.
    pub functions: FunctionPattern,
    /// Of which namespaces; empty for all. A caller says its namespace by the metadata `portico-namespace`; Porch says
    /// none, and matches rules without namespaces alone.
    pub namespaces: Vec<String>,
    /// Whether those go there that have a module here, too.
    pub always: bool,
}

impl Fallback {
    /// The function runner at `HOST:PORT`, and what goes there: the first rule that matches holds, and a call that none
    /// matches stays here. Nothing is connected before the first such call.
    pub fn new(address: &str, rules: Vec<FallbackRule>) -> Result<Self, FallbackError> {
        let parsed = address.parse::<Authority>().ok().filter(|authority| authority.port().is_some());
        parsed.ok_or_else(|| FallbackError(address.to_owned()))?;
        Ok(Self { address: address.to_owned(), rules })
    }

    /// The function runner at `HOST:PORT` for everything that has no module here.
    pub fn at(address: &str) -> Result<Self, FallbackError> {
        Self::new(address, vec![FallbackRule::default()])
    }
}

/// The way to it.
#[derive(Debug)]
pub(super) struct Forward {
    client: FunctionEvaluatorClient<Channel>,
    rules: Vec<FallbackRule>,
}

impl Forward {
    pub(super) fn new(fallback: &Fallback, settings: &Settings) -> Self {
        let address = format!("http://{}", fallback.address);
        // It was checked; and were it none, the call would say so.
        let endpoint = Endpoint::from_shared(address).unwrap_or_else(|_| Endpoint::from_static("http://localhost"));
        let channel = endpoint.connect_timeout(CONNECT).tcp_nodelay(true).connect_lazy();
        let client = FunctionEvaluatorClient::new(channel)
            .max_decoding_message_size(settings.send_bytes)
            .max_encoding_message_size(settings.receive_bytes);
        Self { client, rules: fallback.rules.clone() }
    }

    /// Whether a call of this image goes there; `here` says that there is a module.
    pub(super) fn takes(&self, image: &str, namespace: &str, here: bool) -> bool {
        let matches = |rule: &&FallbackRule| {
            let namespaces = &rule.namespaces;
            rule.functions.matches(image, "") && (namespaces.is_empty() || namespaces.iter().any(|n| n == namespace))
        };
        self.rules.iter().find(matches).is_some_and(|rule| rule.always || !here)
    }

    /// Its answer, or its error, as they are.
    pub(super) async fn call(
        &self,
        request: Request<EvaluateFunctionRequest>,
    ) -> Result<Response<EvaluateFunctionResponse>, Status> {
        let mut forwarded = Request::new(());
        if let Some(Deadline(at)) = request.extensions().get() {
            // A little more than the caller's own time, which ends this call and with it the other one.
            forwarded.set_timeout(at.saturating_duration_since(tokio::time::Instant::now()) + GRACE);
        }
        for key in ["traceparent", "tracestate"] {
            if let Some(value) = request.metadata().get(key) {
                forwarded.metadata_mut().insert(key, value.clone());
            }
        }
        let (metadata, extensions, ()) = forwarded.into_parts();
        let request = Request::from_parts(metadata, extensions, request.into_inner());
        self.client.clone().evaluate_function(request).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for good in ["function-runner:9445", "127.0.0.1:1", "[::1]:9445"] {
            assert!(Fallback::at(good).is_ok(), "{good}");
        }
        for wrong in ["", "function-runner", "http://a:1", "a b:1", "a:1/b"] {
            let error = Fallback::at(wrong).unwrap_err();
            assert!(error.to_string().contains("HOST:PORT"), "{error}");
        }
    }

    #[tokio::test]
    async fn the_first_rule_that_matches_holds() {
        let name = |name: &str| FunctionPattern { name: Some(name.to_owned()), image: None };
        let rules = vec![
            FallbackRule { functions: name("set-*"), namespaces: vec!["old".to_owned()], always: true },
            FallbackRule { functions: name("gatekeeper"), ..FallbackRule::default() },
        ];
        let fallback = Fallback::new("127.0.0.1:1", rules).unwrap();
        let forward = Forward::new(&fallback, &Settings::default());
        assert!(forward.takes("reg.io/set-labels:v1", "old", true));
        assert!(!forward.takes("reg.io/set-labels:v1", "new", false));
        assert!(forward.takes("reg.io/gatekeeper:v1", "new", false));
        assert!(!forward.takes("reg.io/gatekeeper:v1", "new", true));
        assert!(!forward.takes("reg.io/other:v1", "old", false));
    }
}

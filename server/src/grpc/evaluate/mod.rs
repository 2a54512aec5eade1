//! `evaluator.FunctionEvaluator`: one function on one `ResourceList`, as Porch calls its function runner.

mod failure;
mod fallback;

use std::sync::Arc;

use bytes::Bytes;
use portico_krm::yaml::ParseLimits;
use portico_krm::{FunctionResult, ResourceList};
use portico_runtime::{CallError, FunctionCall, FunctionReply};
use tonic::{Request, Response, Status};

use self::failure::{call_error, not_allowed, not_found, not_passed, wrong};
use self::fallback::Forward;
pub use self::fallback::{Fallback, FallbackError, FallbackRule};
use super::front::{Deadline, Held, number, word};
use super::pool::Pool;
use super::proto::evaluator::function_evaluator_server::FunctionEvaluator;
use super::proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use super::settings::Settings;
use super::status;
use crate::auth::{Attributes, Authorizer, Identity};
use crate::record::{Effective, RenderSettings};

/// Metadata by which a caller says for whom it calls: decides on limits.
pub(crate) const NAMESPACE: &str = "portico-namespace";
const MAX_DETAILS: &str = "portico-max-details-bytes";
const MAX_RESPONSE: &str = "portico-max-response-bytes";
const STDERR: &str = "portico-stderr";

/// The service.
pub(crate) struct Evaluator {
    settings: Arc<Settings>,
    renders: Arc<dyn RenderSettings>,
    authorizer: Arc<dyn Authorizer>,
    pool: Pool,
    forward: Option<Forward>,
}

/// What a caller wants besides its function.
#[derive(Debug, Clone)]
struct Wishes {
    namespace: String,
    details_bytes: usize,
    response_bytes: usize,
    stderr_results: bool,
}

impl Wishes {
    fn of<T>(request: &Request<T>, settings: &Settings) -> Result<Self, Status> {
        let metadata = request.metadata();
        let (usual, most) = settings.details_bytes;
        let stderr_results = match word(metadata, STDERR)? {
            None => settings.stderr_results,
            Some("results") => true,
            Some("none") => false,
            Some(_) => return Err(Status::invalid_argument(format!("`{STDERR}` is either `results` or `none`"))),
        };
        Ok(Self {
            namespace: word(metadata, NAMESPACE)?.unwrap_or_default().to_owned(),
            details_bytes: number(metadata, MAX_DETAILS)?.unwrap_or(usual).min(most),
            response_bytes: number(metadata, MAX_RESPONSE)?.unwrap_or(usize::MAX).min(settings.send_bytes),
            stderr_results,
        })
    }
}

impl Evaluator {
    pub(crate) fn new(
        settings: Arc<Settings>,
        renders: Arc<dyn RenderSettings>,
        authorizer: Arc<dyn Authorizer>,
        pool: Pool,
    ) -> Self {
        let forward = settings.fallback.as_ref().map(|fallback| Forward::new(fallback, &settings));
        Self { settings, renders, authorizer, pool, forward }
    }

    fn authorize<T>(&self, request: &Request<T>, namespace: &str) -> Result<(), Status> {
        let Some(identity) = request.extensions().get::<Identity>() else {
            return Err(Status::internal("nobody said who calls"));
        };
        let what = Attributes {
            verb: "create",
            group: "portico.dev",
            resource: "functionevaluations",
            subresource: "",
            namespace,
            name: "",
        };
        self.authorizer.allows(identity, &what).map_err(|why| Status::permission_denied(status::safe(&why)))
    }
}

#[tonic::async_trait]
impl FunctionEvaluator for Evaluator {
    async fn evaluate_function(
        &self,
        request: Request<EvaluateFunctionRequest>,
    ) -> Result<Response<EvaluateFunctionResponse>, Status> {
        let wishes = Wishes::of(&request, &self.settings)?;
        self.authorize(&request, &wishes.namespace)?;
        if request.get_ref().image.is_empty() {
            return Err(wrong("image", "the request has no `image`"));
        }
        let Effective { renderer, options, .. } = self.renders.for_namespace(&wishes.namespace);
        let options = options.call;
        let image = renderer.full_image(&request.get_ref().image, "", &options).map_err(call_error)?;
        let here = self.settings.allows(&image) && renderer.knows(&image);
        if let Some(forward) = &self.forward
            && forward.takes(&image, &wishes.namespace, here)
        {
            return forward.call(request).await;
        }
        if !self.settings.allows(&image) {
            return Err(not_allowed(&image, &self.settings.prefixes));
        }
        let held = request.extensions().get::<Arc<Held>>().cloned();
        let deadline = request.extensions().get::<Deadline>().copied();
        let EvaluateFunctionRequest { resource_list, image } = request.into_inner();
        let limits = options.limits.yaml;
        let run = {
            let wishes = wishes.clone();
            self.pool.run(move |cancel| {
                // What the caller will not wait for need not begin.
                if deadline.is_some_and(|Deadline(at)| at <= tokio::time::Instant::now()) {
                    return Err(CallError::Cancelled);
                }
                // The message's buffer holds nothing but this, so most often this takes it as it is.
                let call = FunctionCall { image, tag: String::new(), resource_list: resource_list.into() };
                let mut reply = renderer.call(call, &options, cancel)?;
                if wishes.stderr_results && reply.passed() {
                    tell_stderr(&mut reply, &limits);
                }
                Ok(reply)
            })
        };
        let reply = match run.await {
            Ok(Ok(reply)) => reply,
            Ok(Err(CallError::NotFound { image, text })) => return Err(not_found(&image, &text)),
            Ok(Err(error)) => return Err(call_error(error)),
            Err(error) => return Err(status::of_pool(error, &self.settings)),
        };
        self.pool.meter().function(&reply);
        if !reply.passed() {
            tracing::debug!(image = reply.image, "a function failed");
            return Err(not_passed(&reply, wishes.details_bytes, &limits));
        }
        if let Some(warning) = &reply.warning {
            tracing::debug!(image = reply.image, "{warning}");
        }
        let (size, most) = (reply.output.len() + reply.stderr.len(), wishes.response_bytes);
        if size.saturating_add(32) > most {
            return Err(failure::response_too_large(&reply.image, size, most));
        }
        if let Some(held) = held {
            held.add(size as u64);
        }
        let response = EvaluateFunctionResponse { resource_list: reply.output.into(), log: reply.stderr.into() };
        Ok(Response::new(response))
    }
}

/// Makes what a function wrote to standard error one of its results.
fn tell_stderr(reply: &mut FunctionReply, limits: &ParseLimits) {
    let text = String::from_utf8_lossy(&reply.stderr);
    if text.trim().is_empty() {
        return;
    }
    // It was read before: that it passed means that it can be read.
    let Ok(mut list) = ResourceList::parse(&reply.output, limits) else { return };
    list.results.push(FunctionResult::new("info", status::safe(&format!("stderr: {text}"))));
    reply.output = list.to_yaml().into_bytes();
}

/// Bytes as a message has them.
fn bytes_of(text: String) -> Bytes {
    Bytes::from(text)
}

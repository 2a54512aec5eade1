//! `portico.v1.RenderService`: whole packages, at once or in the background.

mod convert;
mod files;
mod once;
mod revisions;
mod schedule;
mod watch;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::{Stream, StreamExt as _, stream};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::front::Deadline;
use super::pool::Pool;
use super::proto::v1;
use super::proto::v1::render_service_server::RenderService;
use super::settings::Settings;
use super::status;
use crate::Scheduler;
use crate::auth::{Attributes, Authorizer, Identity};
use crate::record::{RenderSettings, Renders};

/// The API group of revisions.
const PORCH: &str = "porch.kpt.dev";

/// The revisions that a server keeps.
#[derive(Clone)]
pub struct Revisions {
    /// Schedules their renders, and has the store.
    pub scheduler: Scheduler,
    /// The records of their renders.
    pub renders: Arc<Renders>,
}

/// The service.
pub(crate) struct Service {
    pub(crate) settings: Arc<Settings>,
    pub(crate) renders: Arc<dyn RenderSettings>,
    pub(crate) revisions: Option<Revisions>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) pool: Pool,
}

/// A stream of answers.
type Answer<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Service {
    /// Whether the caller may do this to group, resource and subresource; a refusal that tells the caller why.
    fn authorize<T>(
        &self,
        request: &Request<T>,
        verb: &str,
        (group, resource, subresource): (&str, &str, &str),
        namespace: &str,
        name: &str,
    ) -> Result<(), Status> {
        let Some(identity) = request.extensions().get::<Identity>() else {
            return Err(Status::internal("nobody said who calls"));
        };
        let what = Attributes { verb, group, resource, subresource, namespace, name };
        self.authorizer.allows(identity, &what).map_err(|why| Status::permission_denied(status::safe(&why)))
    }

    fn revisions(&self) -> Result<&Revisions, Status> {
        self.revisions.as_ref().ok_or_else(|| Status::failed_precondition("this server keeps no package revisions"))
    }
}

/// Does `work`, which sends the messages of an answer, beside that answer: until it ends, nobody listens any more, or the
/// time is up. Its error ends the answer, behind all messages.
fn answered<T: Send + 'static>(
    tell: &mpsc::Sender<T>,
    told: mpsc::Receiver<T>,
    deadline: Option<Deadline>,
    work: impl Future<Output = Result<(), Status>> + Send + 'static,
) -> Answer<T> {
    let (end, ended) = oneshot::channel();
    let listener = tell.clone();
    let work = async move {
        let up = async {
            match deadline {
                Some(Deadline(at)) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let result = tokio::select! {
            result = work => result,
            () = listener.closed() => return,
            () = up => Err(Status::deadline_exceeded("the call did not end within its `grpc-timeout`")),
        };
        // Nobody may listen any more.
        let _ = end.send(result);
    };
    tokio::spawn(tracing::Instrument::in_current_span(work));
    let end = stream::once(ended).filter_map(async |ended| match ended {
        Ok(result) => result.err().map(Err),
        Err(_) => Some(Err(Status::internal("the call ended in a panic, which is a fault of this program"))),
    });
    Box::pin(ReceiverStream::new(told).map(Ok).chain(end))
}

#[tonic::async_trait]
impl RenderService for Service {
    type RenderStream = Answer<v1::RenderResponse>;
    type GetStream = Answer<v1::GetResponse>;
    type WatchStream = Answer<v1::WatchResponse>;
    type LogsStream = Answer<v1::LogsResponse>;

    async fn render(
        &self,
        request: Request<Streaming<v1::RenderRequest>>,
    ) -> Result<Response<Self::RenderStream>, Status> {
        once::render(self, request).await.map(Response::new)
    }

    async fn schedule(
        &self,
        request: Request<Streaming<v1::ScheduleRequest>>,
    ) -> Result<Response<v1::ScheduleResponse>, Status> {
        schedule::schedule(self, request).await.map(Response::new)
    }

    async fn get(&self, request: Request<v1::GetRequest>) -> Result<Response<Self::GetStream>, Status> {
        revisions::get(self, request).await.map(Response::new)
    }

    async fn watch(&self, request: Request<v1::WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        watch::watch(self, request).await.map(Response::new)
    }

    async fn cancel(&self, request: Request<v1::CancelRequest>) -> Result<Response<v1::CancelResponse>, Status> {
        revisions::cancel(self, request).await.map(Response::new)
    }

    async fn list(&self, request: Request<v1::ListRequest>) -> Result<Response<v1::ListResponse>, Status> {
        revisions::list(self, request).await.map(Response::new)
    }

    async fn logs(&self, request: Request<v1::LogsRequest>) -> Result<Response<Self::LogsStream>, Status> {
        revisions::logs(self, request).await.map(Response::new)
    }
}

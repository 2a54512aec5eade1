//! A collector in this process, and what it was sent.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use tokio::runtime::Runtime;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use crate::harness::PATIENCE;

/// A span that arrived. Ids are in hexadecimal digits.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) service: String,
    pub(crate) name: String,
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty for the first of a trace.
    pub(crate) parent: String,
    /// It is one of something that others asked for.
    pub(crate) serves: bool,
    /// Why it failed, if it did.
    pub(crate) failure: Option<String>,
    pub(crate) attributes: BTreeMap<String, String>,
    /// Names of what was told within it.
    pub(crate) events: Vec<String>,
}

impl Seen {
    /// The value of an attribute; empty if there is none.
    pub(crate) fn get(&self, key: &str) -> &str {
        self.attributes.get(key).map_or("", String::as_str)
    }

    fn of(service: &str, span: Span) -> Self {
        let status = span.status.unwrap_or_default();
        Self {
            service: service.to_owned(),
            name: span.name,
            trace: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            serves: span.kind == opentelemetry_proto::tonic::trace::v1::span::SpanKind::Server as i32,
            failure: (status.code == StatusCode::Error as i32).then_some(status.message),
            attributes: texts(span.attributes),
            events: span.events.into_iter().map(|event| event.name).collect(),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |value: Option<AnyValue>| match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(truth)) => truth.to_string(),
        other => format!("{other:?}"),
    };
    attributes.into_iter().map(|attribute| (attribute.key, text(attribute.value))).collect()
}

/// Takes spans on a port of its own as long as it lives.
pub(crate) struct Collector {
    pub(crate) endpoint: String,
    arrived: Receiver<Seen>,
    refused: Receiver<()>,
    refuses: Arc<AtomicBool>,
    _runtime: Runtime,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let ((told, arrived), (refusing, refused)) = (mpsc::channel(), mpsc::channel());
        let refuses = Arc::new(AtomicBool::new(false));
        let service = TraceServiceServer::new(Service { told, refusing, refuses: Arc::clone(&refuses) });
        let endpoint = runtime.block_on(async {
            let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let address = incoming.local_addr().unwrap();
            tokio::spawn(tonic::transport::Server::builder().add_service(service).serve_with_incoming(incoming));
            format!("http://{address}")
        });
        Self { endpoint, arrived, refused, refuses, _runtime: runtime }
    }

    /// From now on it takes nothing, or does again.
    pub(crate) fn refuse(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::SeqCst);
    }

    /// Waits until it has refused something.
    pub(crate) fn has_refused(&self) {
        self.refused.recv_timeout(PATIENCE).expect("something is sent");
    }

    /// Waits for a span like this; what comes before it is added, and it, too.
    pub(crate) fn until(&self, seen: &mut Vec<Seen>, what: &str, is_so: impl Fn(&Seen) -> bool) -> Seen {
        loop {
            let Ok(span) = self.arrived.recv_timeout(PATIENCE) else {
                panic!("{what} does not arrive; only {seen:#?}")
            };
            seen.push(span.clone());
            if is_so(&span) {
                return span;
            }
        }
    }

    /// What has arrived, of a server that has ended.
    pub(crate) fn rest(&self) -> Vec<Seen> {
        self.arrived.try_iter().collect()
    }
}

struct Service {
    told: Sender<Seen>,
    refusing: Sender<()>,
    refuses: Arc<AtomicBool>,
}

#[tonic::async_trait]
impl TraceService for Service {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        if self.refuses.load(Ordering::SeqCst) {
            let _ = self.refusing.send(());
            return Err(Status::permission_denied("not now"));
        }
        for ResourceSpans { resource, scope_spans, .. } in request.into_inner().resource_spans {
            let resource = texts(resource.unwrap_or_default().attributes);
            let service = resource.get("service.name").map_or("", String::as_str);
            for span in scope_spans.into_iter().flat_map(|scope| scope.spans) {
                // A test that has seen enough does not listen any more.
                let _ = self.told.send(Seen::of(service, span));
            }
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

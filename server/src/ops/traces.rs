//! Spans of requests, and where they go.
//!
//! Everything about OpenTelemetry is here, as its versions change often.

use axum::http::Request;
use portico_scheduler::model::Revision;
use tracing::Span;
use tracing::field::{Empty, display};

/// Target of the spans that are nobody's work: lines of the log have their fields, and no trace has them.
pub(crate) const QUIET: &str = "portico_server::quiet";

/// What is asked again and again, by whoever looks after this process.
const PROBES: [&str; 4] = ["/livez", "/readyz", "/healthz", "/metrics"];

/// The span of a request; what is told within it carries its fields.
pub(crate) fn request_span<B>(request: &Request<B>) -> Span {
    let (method, path) = (request.method().as_str(), request.uri().path());
    let probes =
        PROBES.iter().any(|top| path.strip_prefix(top).is_some_and(|rest| matches!(rest.as_bytes(), [] | [b'/', ..])));
    if probes && !request.headers().contains_key("traceparent") {
        return tracing::info_span!(target: QUIET, "request", method, path);
    }
    let span = tracing::info_span!("request", method, path, status = Empty, revision = Empty, content = Empty);
    follow(&span, request.headers());
    span
}

/// Notes in the span of a request which status it was answered with.
pub(crate) fn answered(status: u16) {
    let span = Span::current();
    span.record("status", status);
    if status >= 500 {
        failed(&span, "");
    }
}

/// Notes in the span of a request which revision it left, in which version of its content. The render of that content, which
/// begins when the request may be over and may be the first after several of them, has the same fields.
pub(crate) fn wrote(revision: &Revision) {
    Span::current().record("revision", display(&revision.key)).record("content", revision.content_version.0);
}

/// Makes a span a part of its sender's trace (`traceparent`), where there are traces.
#[cfg(not(feature = "otlp"))]
pub(crate) fn follow(_: &Span, _: &axum::http::HeaderMap) {}

/// Marks a span as one of something that failed, where there are traces.
#[cfg(not(feature = "otlp"))]
pub(crate) fn failed(_: &Span, _: &str) {}

#[cfg(feature = "otlp")]
pub(crate) use otlp::{Traces, failed, follow, is_traced, layer};

#[cfg(feature = "otlp")]
mod otlp {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use axum::http::HeaderMap;
    use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
    use opentelemetry::trace::{SpanKind, Status, TracerProvider as _};
    use opentelemetry_otlp::WithExportConfig as _;
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::error::OTelSdkResult;
    use opentelemetry_sdk::propagation::TraceContextPropagator;
    use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
    use tracing::{Level, Metadata, Span, Subscriber};
    use tracing_opentelemetry::{OpenTelemetryLayer, OpenTelemetrySpanExt as _};
    use tracing_subscriber::registry::LookupSpan;

    /// How long the collector may take for a batch.
    const PATIENCE: Duration = Duration::from_secs(5);

    /// How long the end of the process waits for the last batch.
    const LAST: Duration = Duration::from_millis(500);

    /// Sends spans to a collector. Spans wait in a queue of 2,048 for a thread of their own; where that is full or nobody
    /// answers they are dropped, so nothing waits for a collector.
    #[derive(Debug)]
    pub(crate) struct Traces(SdkTracerProvider);

    impl Traces {
        pub(crate) fn new(endpoint: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
            let exporter = opentelemetry_otlp::SpanExporter::builder()
                .with_tonic()
                .with_endpoint(endpoint)
                .with_timeout(PATIENCE)
                .build()?;
            let exporter = Telling { inner: exporter, endpoint: endpoint.to_owned(), takes: AtomicBool::new(true) };
            let resource = Resource::builder().with_service_name("portico").build();
            Ok(Self(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build()))
        }

        /// Sends what is left.
        pub(crate) fn end(&self) {
            if let Err(error) = self.0.shutdown_with_timeout(LAST) {
                tracing::debug!(%error, "the last spans were not taken");
            }
        }
    }

    pub(crate) fn layer<S>(traces: &Traces) -> OpenTelemetryLayer<S, opentelemetry_sdk::trace::SdkTracer>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        // Where in our source a span is made and on which thread it runs is of no use to whoever reads it.
        tracing_opentelemetry::layer()
            .with_tracer(traces.0.tracer("portico"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
    }

    /// Whether a span or an event belongs into traces: our own spans, and what is told within them.
    pub(crate) fn is_traced(metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let ours = target != super::QUIET && target.starts_with("portico");
        *metadata.level() <= Level::INFO && (metadata.is_event() || ours)
    }

    /// Spans of what others ask of this process.
    const SERVED: [&str; 2] = ["request", "grpc"];

    /// Tells once in the log that the collector takes nothing, and once that it does again.
    #[derive(Debug)]
    struct Telling<E> {
        inner: E,
        endpoint: String,
        /// What the last batch met with.
        takes: AtomicBool,
    }

    impl<E: SpanExporter> SpanExporter for Telling<E> {
        async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
            for span in batch.iter_mut().filter(|span| SERVED.contains(&&*span.name)) {
                span.span_kind = SpanKind::Server;
            }
            let result = self.inner.export(batch).await;
            let took = self.takes.swap(result.is_ok(), Ordering::Relaxed);
            match &result {
                Err(error) if took => {
                    tracing::warn!(endpoint = self.endpoint, %error, "the collector takes no traces; they are dropped");
                }
                Ok(()) if !took => tracing::info!(endpoint = self.endpoint, "the collector takes traces again"),
                _ => {}
            }
            result
        }

        fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
            self.inner.shutdown_with_timeout(timeout)
        }

        fn force_flush(&self) -> OTelSdkResult {
            self.inner.force_flush()
        }

        fn set_resource(&mut self, resource: &Resource) {
            self.inner.set_resource(resource);
        }
    }

    struct Headers<'a>(&'a HeaderMap);

    impl Extractor for Headers<'_> {
        fn get(&self, key: &str) -> Option<&str> {
            self.0.get(key).and_then(|value| value.to_str().ok())
        }

        fn keys(&self) -> Vec<&str> {
            self.0.keys().map(axum::http::HeaderName::as_str).collect()
        }
    }

    /// Makes a span a part of its sender's trace (`traceparent`).
    pub(crate) fn follow(span: &Span, headers: &HeaderMap) {
        if headers.contains_key("traceparent") {
            // A span that nobody wants takes no parent.
            let _ = span.set_parent(TraceContextPropagator::new().extract(&Headers(headers)));
        }
    }

    /// Marks a span as one of something that failed.
    pub(crate) fn failed(span: &Span, why: &str) {
        span.set_status(Status::error(why.to_owned()));
    }
}

//! Spans of requests, and where they go.
//!
//! Everything about OpenTelemetry is here, as its versions change often.

use axum::http::Request;
use tracing::Span;

/// The span of a request; what is told within it carries its fields.
pub(crate) fn request_span<B>(request: &Request<B>) -> Span {
    let method = request.method().as_str();
    let span = tracing::info_span!("request", method, path = request.uri().path());
    follow(&span, request.headers());
    span
}

/// Makes a span a part of its sender's trace (`traceparent`), where there are traces.
#[cfg(not(feature = "otlp"))]
pub(crate) fn follow(_: &Span, _: &axum::http::HeaderMap) {}

#[cfg(feature = "otlp")]
pub(crate) use otlp::{Traces, follow, layer};

#[cfg(feature = "otlp")]
mod otlp {
    use std::time::Duration;

    use axum::http::HeaderMap;
    use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::propagation::TraceContextPropagator;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing::{Span, Subscriber};
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
            let exporter =
                SpanExporter::builder().with_tonic().with_endpoint(endpoint).with_timeout(PATIENCE).build()?;
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
        tracing_opentelemetry::layer().with_tracer(traces.0.tracer("portico"))
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
}

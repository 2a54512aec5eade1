//! Lines of the log, on standard error; and traces, where there are any.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{Layer, Registry, fmt};

use crate::config::{LogConfig, LogFormat};

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The level can't be read.
    #[error("the log's level `{level}` can't be read; write `info`, `debug` or what `RUST_LOG` takes")]
    Level {
        /// As it was written.
        level: String,
        /// Why.
        source: tracing_subscriber::filter::ParseError,
    },
    /// Somebody else has set one up in this process.
    #[error("the log can't be set up")]
    Taken(#[from] TryInitError),
    /// There is a collector, and nothing that could send to it.
    #[error("`traces` names the collector `{0}`, and this program was built without the feature `otlp`")]
    NoTraces(String),
    /// The collector's address can't be used.
    #[error("traces can't be sent to `{endpoint}`")]
    Traces {
        /// The collector.
        endpoint: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The log of this process, as long as it lives.
#[derive(Debug)]
pub struct Log {
    #[cfg(feature = "otlp")]
    traces: Option<super::traces::Traces>,
}

impl Drop for Log {
    fn drop(&mut self) {
        #[cfg(feature = "otlp")]
        self.traces.iter().for_each(super::traces::Traces::end);
    }
}

/// Sets up the log of this process, and traces to this collector. `RUST_LOG` goes before the configured level. To be called
/// within a tokio runtime.
pub fn init_log(config: &LogConfig, collector: Option<&str>) -> Result<Log, LogError> {
    let variable = std::env::var("RUST_LOG").ok().filter(|level| !level.is_empty());
    let level = variable.or_else(|| config.level.clone()).unwrap_or_else(|| "info".to_owned());
    let filter = EnvFilter::try_new(&level).map_err(|source| LogError::Level { level, source })?;
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match config.format {
        LogFormat::Text => {
            let color = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
            Box::new(fmt::layer().with_writer(io::stderr).with_ansi(color))
        }
        // The fields of all spans around a line stand in the line: a render's id is one of them.
        LogFormat::Json => Box::new(fmt::layer().json().with_writer(io::stderr).with_current_span(false)),
    };
    let registry = tracing_subscriber::registry().with(lines.with_filter(filter));
    #[cfg(feature = "otlp")]
    {
        use tracing_subscriber::filter::{FilterFn, LevelFilter};

        let traces = collector.map(|endpoint| {
            super::traces::Traces::new(endpoint)
                .map_err(|source| LogError::Traces { endpoint: endpoint.to_owned(), source })
        });
        let traces = traces.transpose()?;
        let spans = traces.as_ref().map(|traces| {
            let traced = FilterFn::new(super::traces::is_traced).with_max_level_hint(LevelFilter::INFO);
            super::traces::layer(traces).with_filter(traced)
        });
        registry.with(spans).try_init()?;
        Ok(Log { traces })
    }
    #[cfg(not(feature = "otlp"))]
    {
        if let Some(collector) = collector {
            return Err(LogError::NoTraces(collector.to_owned()));
        }
        registry.try_init()?;
        Ok(Log {})
    }
}

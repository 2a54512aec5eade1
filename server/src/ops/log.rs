//! Lines of the log, on standard error.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;
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
}

/// Sets up the log of this process. `RUST_LOG` goes before the configured level.
pub fn init_log(config: &LogConfig) -> Result<(), LogError> {
    let variable = std::env::var("RUST_LOG").ok().filter(|level| !level.is_empty());
    let level = variable.or_else(|| config.level.clone()).unwrap_or_else(|| "info".to_owned());
    let filter = EnvFilter::try_new(&level).map_err(|source| LogError::Level { level, source })?;
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match config.format {
        LogFormat::Text => Box::new(
            fmt::layer()
                .with_writer(io::stderr)
                .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()))
                .with_span_events(FmtSpan::NONE),
        ),
        // The fields of all spans around a line stand in the line: a render's id is one of them.
        LogFormat::Json => Box::new(fmt::layer().json().with_writer(io::stderr).with_current_span(false)),
    };
    tracing_subscriber::registry().with(lines.with_filter(filter)).try_init()?;
    Ok(())
}

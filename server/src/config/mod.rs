//! Configuration: of the server, and what its file shares with the command line's.

mod compiler;
mod document;
mod error;
mod file;
mod grpc;
mod header;
mod limits;
mod renders;
mod server;
mod units;

pub use self::compiler::CompilerFields;
pub(crate) use self::document::nearest;
pub use self::document::{LARGEST, read_bytes, read_document};
pub use self::error::ConfigError;
pub use self::header::Header;
pub use self::limits::{LimitFields, ProfileFields, parse_limit};
pub use self::renders::Renders;
pub use self::server::{
    Drain, Flags, LogConfig, LogFormat, Modules, Namespace, QueueConfig, ServerConfig, Source, schema,
};
pub use self::units::{Bound, Number, Size, Span, Text, parse_bytes, parse_count, parse_duration};

#[cfg(test)]
mod reference_tests;

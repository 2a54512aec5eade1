//! What can go wrong, its number, and its words.

use std::ffi::{CStr, CString};

use portico_runtime::package::ReadError;
use portico_runtime::{CallError, EngineError, FunctionError, RenderError, with_causes};

use crate::abi;

/// What can go wrong in a call.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Error {
    /// What the caller gave cannot be used.
    #[error("`{argument}` {problem}")]
    Argument { argument: String, problem: String },
    /// Another header.
    #[error(
        "the program was compiled with version {found} of the C interface and this library has version {}; compile it with this library's portico.h",
        abi::ABI_VERSION
    )]
    Abi { found: u32 },
    /// The system does not give what an engine needs. With all causes.
    #[error("{0}")]
    Engine(String),
    /// The queue is full.
    #[error(
        "{waiting} renders wait, which is the limit `queue` of this engine; try again when some have ended, or raise it"
    )]
    Busy { waiting: usize },
    /// The package cannot be read, or not be rendered at all. With all causes.
    #[error("{0}")]
    Package(String),
    /// Somebody cancelled it.
    #[error("the render was cancelled")]
    Cancelled,
    /// The worker process died.
    #[error("{0}")]
    Worker(String),
    /// A panic.
    #[error("internal error: {0}; please report it")]
    Panic(String),
}

impl Error {
    pub(crate) fn argument(argument: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Argument { argument: argument.into(), problem: problem.into() }
    }

    pub(crate) fn thread(error: &std::io::Error) -> Error {
        Error::Engine(format!("can't start a thread to render on: {error}"))
    }

    pub(crate) fn code(&self) -> i32 {
        match self {
            Error::Argument { .. } => abi::INVALID_ARGUMENT,
            Error::Abi { .. } => abi::ABI_MISMATCH,
            Error::Engine(_) => abi::ENGINE,
            Error::Busy { .. } => abi::BUSY,
            Error::Package(_) => abi::PACKAGE,
            Error::Cancelled => abi::CANCELLED,
            Error::Worker(_) => abi::WORKER,
            Error::Panic(_) => abi::INTERNAL,
        }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        Error::Engine(with_causes(&error))
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        Error::Package(with_causes(&error))
    }
}

impl From<FunctionError> for Error {
    fn from(error: FunctionError) -> Self {
        Error::argument("functions", format!("has an entry that can't be used: {}", with_causes(&error)))
    }
}

impl From<RenderError> for Error {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Cancelled => Error::Cancelled,
            RenderError::Worker { .. } => Error::Worker(with_causes(&error)),
            other => Error::Package(with_causes(&other)),
        }
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Cancelled => Error::Cancelled,
            CallError::Name(text) => Error::argument("image", format!("can't be used: {text}")),
            CallError::Input { text, .. } => Error::argument("resource_list", format!("can't be used: {text}")),
            other => Error::Engine(with_causes(&other)),
        }
    }
}

/// An error as C gets it: `portico_error_t`.
#[derive(Debug)]
pub struct ErrorReport {
    code: i32,
    message: CString,
}

impl ErrorReport {
    pub(crate) fn new(error: &Error) -> Self {
        // A zero byte would end the message for whoever reads it as C does.
        let text = error.to_string().replace('\0', "\\0");
        Self { code: error.code(), message: CString::new(text).unwrap_or_default() }
    }

    pub(crate) fn code(&self) -> i32 {
        self.code
    }

    pub(crate) fn message(&self) -> &CStr {
        &self.message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_whole_for_c_even_with_a_zero_byte_in_it() {
        let error = ErrorReport::new(&Error::argument("files[0].path", "is `a\0b`"));
        assert_eq!(error.message(), c"`files[0].path` is `a\\0b`");
        assert_eq!(error.code(), abi::INVALID_ARGUMENT);
    }

    #[test]
    fn causes_are_told() {
        let source = std::io::Error::other("disk on fire");
        let error = Error::from(ReadError::Io { path: "a.yaml".into(), source });
        assert_eq!(error.to_string(), "cannot read `a.yaml`: disk on fire");
        assert_eq!(error.code(), abi::PACKAGE);
    }
}

//! Runs the functions of a kpt package as WASI programs.

pub mod package;

mod cache;
mod cancel;
mod check;
mod engine;
mod error;
mod limits;
mod module;
mod module_cache;
mod native;
mod sandbox;
mod wasi;

pub use cache::CacheError;
pub use cancel::CancelToken;
pub use engine::{Allocation, Compiler, Engine, EngineConfig, EngineError};
pub use error::{Deadline, ModuleError, RunError, RunFailure, TrapKind};
pub use limits::Limits;
pub use module::{Digest, FunctionModule, Module, ModuleCode, precompile};
pub use native::PrecompiledCode;
pub use sandbox::{Invocation, RunOutput, Sandbox};

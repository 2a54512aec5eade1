//! Runs the functions of a kpt package as WASI programs.

pub mod image;
pub mod package;

mod builtin;
mod cache;
mod call;
mod cancel;
mod changes;
mod check;
mod child;
mod compile;
mod component;
mod condition;
mod engine;
mod error;
mod eval;
mod exec;
mod function;
mod grant;
mod isolation;
mod limits;
mod load;
mod module;
mod module_cache;
mod native;
mod outcome;
mod pipeline;
mod renderer;
mod report;
mod sandbox;
mod single;
mod tags;
mod verify;
mod wasi;
mod write_back;

#[cfg(test)]
mod cancel_trials;
#[cfg(test)]
mod render_tests;

pub use cache::CacheError;
pub use call::with_causes;
pub use cancel::CancelToken;
pub use changes::{ChangeKind, ChangeOptions, HiddenKind, ResourceChange, StepChanges};
pub use child::{Confinement, FileConfinement, serve_child};
pub use compile::{CompileLimit, CompileLimits};
pub use engine::{Allocation, Compiler, Engine, EngineConfig, EngineError, ModuleCounts};
pub use error::{Deadline, ModuleError, RunError, RunFailure, TrapKind};
pub use eval::{EvalConfig, EvalInput, EvalOptions, read_resources, source, to_documents, to_files, to_resource_list};
pub use function::{FunctionDir, FunctionError, FunctionFiles, FunctionSource, Sources};
pub use grant::{GrantError, GrantLimits, GrantWarning, GrantedDirectory, Grants, Mount, MountError};
pub use isolation::{Isolation, WorkerConfig, WorkerLimits};
pub use limits::{
    DecidedLimit, DecidedLimits, FunctionPattern, LimitLayers, LimitName, LimitProfile, LimitSetting, LimitSettings,
    LimitSource, LimitUnit, LimitValue, Limits, StepLimits, StepProfile,
};
pub use module::{Digest, FunctionModule, Module, ModuleCode, precompile};
pub use native::PrecompiledCode;
pub use outcome::{Failure, FailureKind, Outcome, RenderError};
pub use portico_krm::kptfile::StatusMode;
pub use renderer::{CallOptions, RenderOptions, Renderer, results_of};
pub use report::{Cause, Event, Observer, StepKind, StepReport, StepState};
pub use sandbox::{Invocation, RunOutput, Sandbox};
pub use single::{CallError, FunctionCall, FunctionReply};
pub use verify::Difference;
pub use write_back::WriteStyle;

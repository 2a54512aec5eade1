//! Renders in a child process: a second wall around tenants that are hostile to each other.
//!
//! ```text
//! Renderer --package, options-->  Workers  ==pipe==>  worker: engine without compiler, no files, sockets, programs
//!          <--events, outcome---  checks   <==pipe==  pipeline, sandbox
//!                                   |  image? -> its code
//!                                Sources, compile cache
//! ```
//!
//! The worker has nothing but the package of its tenant. It asks for functions by image and gets compiled code. What it
//! says is read within bounds and checked: it may be in the hands of whoever broke out of the sandbox.

mod limits;
mod outcome;
mod pool;
mod talk;
mod values;
mod wire;
mod worker;
mod worker_process;

use std::path::PathBuf;

pub use limits::WorkerLimits;
pub(crate) use pool::Workers;
pub(crate) use values::{ParseLimitsForm, results, shared};
pub(crate) use worker::worker;

/// Where renders run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// In this process.
    #[default]
    None,
    /// In a child process for each tenant, which the system holds to computing.
    Process,
}

impl std::str::FromStr for Isolation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "process" => Ok(Self::Process),
            _ => Err(format!("`{text}` is no isolation: use `none` or `process`")),
        }
    }
}

impl std::fmt::Display for Isolation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Process => "process",
        })
    }
}

/// How to start workers.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// A program that calls [`serve_child`](crate::serve_child) first, of the same version as this library: `portico` does.
    pub program: PathBuf,
    /// What a worker may use.
    pub limits: WorkerLimits,
}

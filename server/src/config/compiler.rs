//! What compiling a module may take.

use portico_runtime::CompileLimits;
use serde::Deserialize;

use super::units::{Size, Span};

/// The bounds on compiling that a file names.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "camelCase",
    expecting = "a mapping with `memory`, `cpu`, `time`, `codeBytes`"
)]
pub struct CompilerFields {
    /// Memory of the process that compiles.
    memory: Option<Size>,
    /// Its processor time.
    cpu: Option<Span>,
    /// Time until it is killed.
    time: Option<Span>,
    /// Machine code of a module.
    code_bytes: Option<Size>,
}

impl CompilerFields {
    /// The bounds, with the defaults where nothing is said.
    pub fn limits(self) -> CompileLimits {
        let default = CompileLimits::default();
        CompileLimits {
            memory: self.memory.map_or(default.memory, |size| size.0),
            cpu: self.cpu.map_or(default.cpu, |span| span.0),
            time: self.time.map_or(default.time, |span| span.0),
            code_bytes: self.code_bytes.map_or(default.code_bytes, |size| size.0),
        }
    }

    /// What a later file says goes before.
    pub fn add(&mut self, later: CompilerFields) {
        self.memory = later.memory.or(self.memory);
        self.cpu = later.cpu.or(self.cpu);
        self.time = later.time.or(self.time);
        self.code_bytes = later.code_bytes.or(self.code_bytes);
    }
}

//! Runs a Starlark script over the resources of a package: the KRM function `starlark`, on crate `starlark`.
//!
//! `config` reads the script from the functionConfig, [`transform`] runs it. `syntax` gives Go's error texts and
//! bounds, `convert` turns trees into values and back, `library` holds what a script may `load`.

#[expect(
    clippy::unnecessary_wraps,
    reason = "functions of the evaluator return a result, whether they can fail or not"
)]
mod builtins;
mod config;
mod convert;
mod error;
mod eval;
mod function;
mod library;
mod number;
#[expect(unsafe_code, reason = "the evaluator's derive implements its marker trait, which is unsafe")]
mod open_api;
#[expect(unsafe_code, reason = "the evaluator's derive implements its marker trait, which is unsafe")]
mod printer;
mod syntax;
mod transform;

pub use config::{ConfigError, script};
pub use error::ScriptError;
pub use eval::Script;
pub use function::{Starlark, program};
pub use printer::Printer;
pub use transform::{Surroundings, transform};

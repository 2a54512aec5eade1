//! Runs a Starlark script over the resources of a package.

mod builtins;
mod error;
mod eval;
mod library;
mod number;
#[expect(unsafe_code, reason = "the evaluator's derive implements its marker trait, which is unsafe")]
mod printer;
mod syntax;

pub use error::ScriptError;
pub use eval::Script;
pub use printer::Printer;

//! Runs a script over the values of a `ResourceList`.

use starlark::environment::{Globals, GlobalsBuilder, LibraryExtension, Module};
use starlark::eval::Evaluator;
use starlark::syntax::{AstModule, Dialect, DialectTypes};
use starlark::values::Value;

use crate::error::ScriptError;
use crate::printer::{Print, Printer};
use crate::{builtins, library, syntax};

/// How many calls of a script may be active at once. Go's evaluator knows no bound; a WASI guest has a stack.
pub(crate) const CALLS: usize = 400;

/// A script and the name that its messages carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Name of the functionConfig.
    pub name: String,
    /// The text.
    pub source: String,
}

/// What upstream allows beyond the Bazel dialect: `for` and `if` at the top level, assigning globals again,
/// recursion, sets.
fn dialect() -> Dialect {
    Dialect {
        enable_top_level_stmt: true,
        enable_keyword_only_arguments: true,
        enable_types: DialectTypes::Disable,
        ..Dialect::Standard
    }
}

fn globals() -> Globals {
    GlobalsBuilder::extended_by(&[LibraryExtension::SetType]).with(builtins::register).build()
}

/// Parses and runs `script` in `module`, where the caller has put what the script may use.
pub(crate) fn run<'v>(module: &Module<'v>, script: &Script, printer: &dyn Printer) -> Result<Value<'v>, ScriptError> {
    let ast = parse(script)?;
    let print = Print(printer);
    let loader = library::Loader;
    let mut evaluator = Evaluator::new(module);
    evaluator.extra = Some(&print);
    evaluator.set_loader(&loader);
    evaluator.set_max_callstack_size(CALLS).expect("a fresh evaluator has no limit yet");
    evaluator.eval_module(ast, &globals()).map_err(|e| ScriptError::from_evaluator(&script.name, &e))
}

fn parse(script: &Script) -> Result<AstModule, ScriptError> {
    let checked = syntax::check(&script.source);
    let told = |fault: syntax::Fault| ScriptError::syntax(&script.name, &fault.at.to_string(), fault.message);
    if let Some(fault) = checked.fault.as_ref()
        && fault.last_word
    {
        return Err(told(checked.fault.expect("it was there a line ago")));
    }
    match (AstModule::parse(&script.name, checked.source.into_owned(), &dialect()), checked.fault) {
        (Ok(ast), _) => Ok(ast),
        (Err(_), Some(fault)) => Err(told(fault)),
        (Err(error), None) => Err(ScriptError::from_parser(&script.name, &error)),
    }
}

#[cfg(test)]
pub(crate) mod tests;

//! The function: a `ResourceList` in, a `ResourceList` out.

use portico_fn::{Error, FunctionResult, Output, Processor, Resource, ResourceList, Severity, Verdict};

use crate::printer::{Printer, Stderr};
use crate::{ScriptError, Surroundings, config, transform};

/// Runs the script of the functionConfig over the items of a list.
pub struct Starlark<'p> {
    /// Where `print`, and the traceback of a script that fails, go.
    pub printer: &'p dyn Printer,
    /// What the script sees as `ctx.environment`.
    pub environment: Vec<(String, String)>,
}

impl Starlark<'_> {
    /// Replaces the items. They stay as they are when the script fails.
    fn run(&self, list: &mut ResourceList) -> Result<(), ScriptError> {
        let config = list.function_config.as_ref().map(|config| &config.tree);
        let script = config::script(config).map_err(|error| ScriptError::new(error.to_string()))?;
        let items = list.items.iter().map(|item| item.tree.clone()).collect();
        let surroundings = Surroundings { function_config: config, environment: &self.environment };
        let trees = transform(&script, items, surroundings, self.printer)?;
        // every tree that comes back has a mapping as its root
        list.items = trees.into_iter().filter_map(|tree| Resource::new(tree).ok()).collect();
        Ok(())
    }
}

impl Processor for Starlark<'_> {
    fn process(&self, list: &mut ResourceList) -> Result<Verdict, Error> {
        let Err(error) = self.run(list) else { return Ok(Verdict::Pass) };
        if let Some(trace) = &error.trace {
            self.printer.print_line(trace);
        }
        list.results = vec![FunctionResult::new(Severity::Error.as_str(), error.message)];
        Ok(Verdict::Fail)
    }
}

/// The whole program: bytes of a `ResourceList` in, bytes and an exit code out. What scripts print goes to stderr at
/// once.
pub fn program(input: &[u8]) -> Output {
    let environment = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .collect();
    portico_fn::run(&Starlark { printer: &Stderr, environment }, input)
}

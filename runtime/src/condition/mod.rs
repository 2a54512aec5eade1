//! Conditions of steps: a CEL expression over the resources that a function is about to get.
//!
//! The crate `cel` reads the expression; it is evaluated here, because its own evaluator has no bound on time or memory
//! and wants all resources copied into values of its own. This one looks at the trees where they are and pays for every
//! step from a budget.

mod eval;
mod functions;
mod value;

use cel::parser::PrattParser;
use portico_krm::yaml::Tree;

use self::eval::Evaluator;
use self::value::Value;

/// Bytes of an expression.
const MAX_TEXT: usize = 4096;
/// Nodes of an expression, macros expanded.
const MAX_NODES: usize = 4000;
/// How deep the parser follows brackets.
const MAX_NESTING: u16 = 64;

/// Why a condition is neither true nor false.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConditionError {
    #[error("it is longer than {MAX_TEXT} bytes")]
    TooLong,
    #[error("it is no CEL expression: line {line}, column {column}: {message}")]
    Syntax { line: isize, column: isize, message: String },
    #[error("{0}")]
    Evaluation(String),
    #[error("it gives {0}, and must give true or false")]
    NotBool(&'static str),
    #[error("it takes more than {} steps", eval::STEPS)]
    Steps,
    #[error("its values take more than {} MiB", eval::ROOM >> 20)]
    Room,
    #[error("it is nested too deeply")]
    Nesting,
}

impl ConditionError {
    /// True for the end of a budget, which no `||` makes good.
    fn is_final(&self) -> bool {
        matches!(self, ConditionError::Steps | ConditionError::Room | ConditionError::Nesting)
    }
}

/// Evaluates a condition; `resources` is the only variable it has.
pub(crate) fn holds(condition: &str, resources: &[&Tree]) -> Result<bool, ConditionError> {
    if condition.len() > MAX_TEXT {
        return Err(ConditionError::TooLong);
    }
    let parser = PrattParser::new().max_recursion_depth(MAX_NESTING).max_expression_node_count(MAX_NODES);
    let expression = parser.parse(condition).map_err(|errors| match errors.errors.first() {
        Some(error) => {
            let (line, column) = error.pos;
            ConditionError::Syntax { line, column, message: error.msg.clone() }
        }
        None => ConditionError::Evaluation("it cannot be read".to_owned()),
    })?;
    let items = resources.iter().map(|tree| Value::Node(tree, tree.root())).collect();
    match Evaluator::new(items).evaluate(&expression)? {
        Value::Bool(verdict) => Ok(verdict),
        other => Err(ConditionError::NotBool(other.type_name())),
    }
}

#[cfg(test)]
mod tests;

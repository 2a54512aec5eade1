//! Why a text is no `ResourceList`.

use std::fmt;

use crate::results::ResultsError;
use crate::yaml::{ParseError, Position, Tree};

/// How much of a line a message shows, in bytes.
const MAX_EXCERPT: usize = 160;

/// A text that is no `ResourceList`, with the place and the line that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceListError {
    /// What is wrong.
    pub fault: ResourceListFault,
    /// Where.
    pub position: Option<Position>,
    /// The line at that place, cut to a readable length, without control characters.
    pub excerpt: Option<String>,
}

/// What is wrong with a text that should be a `ResourceList`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResourceListFault {
    /// Nothing but white space, comments or null.
    #[error("there is no document in it")]
    Empty,
    /// No YAML, or too much of it.
    #[error("{}", .0.message)]
    Syntax(ParseError),
    /// The document, or an item, is no mapping. The text is kpt's.
    #[error("{}wrong node kind: expected MappingNode but got {got}", item(*.index))]
    NotAMapping {
        /// Which item; `None` for the document itself.
        index: Option<usize>,
        /// Its kind in Go's words.
        got: &'static str,
    },
    /// A list of another API group.
    #[error("apiVersion `{0}` is not of the group config.kubernetes.io")]
    ForeignGroup(String),
    /// The input of a function is something else.
    #[error("input was of unexpected kind {0:?}; expected ResourceList")]
    UnexpectedKind(String),
    /// A `ResourceList` and something else beside it.
    #[error("a ResourceList must be the only document")]
    SecondDocument,
    /// Neither items nor a functionConfig.
    #[error("the ResourceList has no `items`")]
    NoItems,
    /// More items than [`ParseLimits::documents`](crate::yaml::ParseLimits::documents).
    #[error("it holds {found} items, more than the limit `yaml.documents` of {limit}")]
    TooManyItems {
        /// How many there are.
        found: usize,
        /// The bound.
        limit: usize,
    },
    /// `items` holds something else than a list.
    #[error("`items` must be a list")]
    ItemsNotAList,
    /// `functionConfig` holds something else than a mapping.
    #[error("`functionConfig` must be a mapping")]
    ConfigNotAMapping,
    /// An alias to an anchor in another item, which means nothing once the items go to their files.
    #[error("the alias `*{0}` refers to an anchor of another item")]
    ForeignAlias(String),
    /// Results in a shape that nobody writes.
    #[error("{0}")]
    Results(ResultsError),
}

fn item(index: Option<usize>) -> String {
    index.map_or(String::new(), |index| format!("items[{index}]: "))
}

impl ResourceListError {
    pub(super) fn new(fault: ResourceListFault, position: Option<Position>, source: &str) -> ResourceListError {
        let line = position.and_then(|at| source.lines().nth(at.line as usize - 1));
        ResourceListError { fault, position, excerpt: line.and_then(excerpt) }
    }

    pub(super) fn at(fault: ResourceListFault, tree: &Tree, id: crate::yaml::NodeId) -> ResourceListError {
        ResourceListError::new(fault, tree.position(id), tree.source())
    }

    /// The error as kpt words it where it knows the fault: `yaml: line N: …`, else our own text without the place.
    pub fn kpt_text(&self) -> String {
        match &self.fault {
            ResourceListFault::Syntax(error) => format!("MalformedYAMLError: {}", error.go_text()),
            fault => fault.to_string(),
        }
    }
}

impl fmt::Display for ResourceListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.position {
            write!(f, "line {}, column {}: ", at.line, at.column)?;
        }
        self.fault.fmt(f)?;
        match &self.excerpt {
            Some(line) => write!(f, ": `{line}`"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ResourceListError {}

/// A line of untrusted text for a message: no control characters, no surrounding space, not too long.
pub(super) fn excerpt(line: &str) -> Option<String> {
    let line = line.trim();
    let cut = line.floor_char_boundary(MAX_EXCERPT);
    let mut shown: String = line[..cut].chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if cut < line.len() {
        shown.push('…');
    }
    (!shown.is_empty()).then_some(shown)
}

//! Whether documents are resources, with their place for the message.

use std::fmt;

use portico_krm::Resource;
use portico_krm::yaml::ParseLimits;

use super::list::Item;
use super::paths;

/// Why a document is no resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    path: String,
    what: String,
}

/// kpt's words: the package-relative path and the field that is missing.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

impl Problem {
    /// With the path from the root and the line where the document begins.
    pub(crate) fn located(&self, root: &str, item: &Item) -> String {
        let tree = &item.resource.tree;
        let path = paths::root_relative(&item.resource, root).unwrap_or_else(|_| self.path.clone());
        match tree.position(tree.root()) {
            Some(at) if item.source.is_some() => format!("{path}:{}: {}", at.line, self.what),
            _ => format!("{path}: {}", self.what),
        }
    }
}

/// What keeps a document from being a resource; `None` for a resource and for what kustomize reads.
pub(crate) fn krm_problem(resource: &Resource) -> Option<Problem> {
    let path = resource.path().unwrap_or_default();
    let what = portico_krm::check::is_krm_tree(&resource.tree, path).err()?;
    Some(Problem { path: path.to_owned(), what: what.to_string() })
}

/// What an answer may look like; its size is bounded by the sandbox.
pub(crate) fn parse_limits() -> ParseLimits {
    ParseLimits::default()
}

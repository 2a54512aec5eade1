//! Whether documents are resources, with their place for the message.

use std::fmt;

use portico_krm::Resource;
use portico_krm::yaml::position_at;

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
    /// With the path from the root and the line where the document begins: at its `---`, where it has one.
    pub(crate) fn located(&self, root: &str, item: &Item) -> String {
        let path = paths::root_relative(&item.resource, root).unwrap_or_else(|_| self.path.clone());
        // A document that is no resource never went through a function: its text is still that of its file.
        match item.source {
            Some(source) => {
                let line = position_at(item.resource.tree.source(), source.offset as usize, 0).line;
                format!("{path}:{}: {}", line - u32::from(source.offset > 0), self.what)
            }
            None => format!("{path}: {}", self.what),
        }
    }
}

/// What keeps a document from being a resource; `None` for a resource and for what kustomize reads.
pub(crate) fn krm_problem(resource: &Resource) -> Option<Problem> {
    let path = resource.path().unwrap_or_default();
    let what = portico_krm::check::is_krm_tree(&resource.tree, path).err()?;
    Some(Problem { path: path.to_owned(), what: what.to_string() })
}

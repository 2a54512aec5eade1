//! The Kptfile: strict reading, validation, and writing the status of a render.

mod decode;
mod error;
mod marshal;
mod model;
pub mod reference;
mod schema;
mod status;
mod suggest;
mod validate;
mod view;

pub use error::{FaultKind, KptfileError, Problem, go_quote};
pub use model::{Function, Generic, Git, Info, Inventory, Metadata, Pipeline, Upstream, UpstreamLock};
pub use status::{Condition, RenderStatus, RenderStep, StatusMode, StatusUpdate};
pub use validate::{ConfigFile, ConfigFileError, FunctionKind, ValidateError, label};

use std::fmt::Write as _;

use crate::yaml::{ParseError, ParseLimits, SourceFile, Tree};
use view::View;

/// Name of the file that makes a directory a package.
pub const KPTFILE_NAME: &str = "Kptfile";

/// Fields beyond the schema that kpt has, each refused unless it is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Experiments {
    /// `condition` of a function: a CEL expression that says whether it runs.
    pub conditions: bool,
}

/// A Kptfile of version `kpt.dev/v1`, read strictly.
#[derive(Clone, Debug)]
pub struct Kptfile {
    /// The first document of the file.
    pub tree: Tree,
    /// Name, labels, annotations.
    pub metadata: Metadata,
    /// Where the package came from.
    pub upstream: Option<Upstream>,
    /// Where it came from, resolved.
    pub upstream_lock: Option<UpstreamLock>,
    /// What people should know about it.
    pub info: Option<Info>,
    /// Its functions.
    pub pipeline: Pipeline,
    /// What `kpt live` keeps.
    pub inventory: Option<Inventory>,
    /// `status.conditions`.
    pub conditions: Vec<Condition>,
}

impl Kptfile {
    /// Reads the first document of a file; what follows it are ordinary resources of the package.
    pub fn parse(bytes: &[u8]) -> Result<Kptfile, KptfileError> {
        Kptfile::parse_with(bytes, Experiments::default())
    }

    /// [`Kptfile::parse`] with fields that kpt does not know.
    pub fn parse_with(bytes: &[u8], experiments: Experiments) -> Result<Kptfile, KptfileError> {
        Kptfile::read(first_document(bytes)?, experiments)
    }

    /// Reads a document of a package that was accepted before; experimental fields may be in it.
    pub fn from_tree(tree: Tree) -> Result<Kptfile, KptfileError> {
        Kptfile::read(tree, Experiments { conditions: true })
    }

    fn read(tree: Tree, experiments: Experiments) -> Result<Kptfile, KptfileError> {
        decode::check(&tree, experiments)?;
        let (view, root) = (View::new(&tree), tree.root());
        Ok(Kptfile {
            metadata: view.metadata(root),
            upstream: view.upstream(root),
            upstream_lock: view.upstream_lock(root),
            info: view.info(root),
            pipeline: view.pipeline(root),
            inventory: view.inventory(root),
            conditions: status::conditions(&view, root),
            tree,
        })
    }

    /// True when an annotation says `true`, in any case.
    pub fn flag(&self, annotation: &str) -> bool {
        self.metadata.annotations.get(annotation).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

/// The first document of a file.
fn first_document(bytes: &[u8]) -> Result<Tree, KptfileError> {
    let first =
        documents(bytes, &ParseLimits::default()).map_err(|mut errors| errors.swap_remove(0))?.into_iter().next();
    first.ok_or_else(|| {
        let message = "it is empty: a Kptfile starts with `apiVersion: kpt.dev/v1` and `kind: Kptfile`".to_owned();
        KptfileError::new(FaultKind::Empty, "EOF", vec![Problem { position: None, field: String::new(), message }])
    })
}

fn documents(bytes: &[u8], limits: &ParseLimits) -> Result<Vec<Tree>, Vec<ParseError>> {
    let file = SourceFile::parse(bytes, limits)?;
    Ok(file.into_documents().into_iter().map(|document| document.tree).collect())
}

impl From<ParseError> for KptfileError {
    fn from(error: ParseError) -> KptfileError {
        let mut message = error.message.clone();
        if let Some((what, at)) = &error.related {
            _ = write!(message, " ({what} at line {}, column {})", at.line, at.column);
        }
        // a key that stands twice is a syntax error to our parser, and to Go's decoder an error like others
        let twice = error.message.strip_prefix("mapping key `").and_then(|rest| rest.split_once('`'));
        let go = match (twice, &error.related) {
            (Some((key, _)), Some((_, first))) => format!(
                "yaml: unmarshal errors:\n  line {}: mapping key {} already defined at line {}",
                error.position.line,
                go_quote(key),
                first.line
            ),
            _ => error.go_text(),
        };
        let problem = Problem { position: Some(error.position), field: String::new(), message };
        KptfileError::new(FaultKind::Syntax, go, vec![problem])
    }
}

#[cfg(test)]
mod tests;

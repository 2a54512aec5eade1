//! Finding setters in the comments of an object.

use std::convert::Infallible;

use portico_fn::Resource;
use portico_fn::yaml::{NodeId, ScalarType, Tree};
use setters_core::{MARK, Path, Pattern, Visitor, walk};

use crate::setters::Setters;

/// Counts the setters of one object.
pub(crate) fn count(object: &Resource, setters: &mut Setters) {
    if !object.tree.is_without_comments() {
        let Ok(()) = walk(&object.tree, &mut Counter(setters));
    }
}

struct Counter<'a>(&'a mut Setters);

impl Visitor for Counter<'_> {
    type Error = Infallible;

    fn list(&mut self, tree: &Tree, key: NodeId, list: NodeId, _: &Path<'_>) -> Result<bool, Infallible> {
        let comment = [key, list].into_iter().find_map(|id| tree.line_comment(id).filter(|c| c.starts_with(MARK)));
        if let Some(pattern) = comment.and_then(Pattern::of_comment) {
            let name = pattern.only_name().unwrap_or_else(|| bare_name(pattern.text()));
            self.0.count_list(name, || {
                let mut values: Vec<String> = tree.elements(list).map(|id| tree.text(id).to_owned()).collect();
                values.sort();
                values
            });
        }
        Ok(true)
    }

    fn scalar(&mut self, tree: &Tree, key: Option<NodeId>, id: NodeId, _: &Path<'_>) -> Result<(), Infallible> {
        let key = key.filter(|_| tree.is_null(id) && tree.line_comment(id).is_none());
        if let Some(pattern) = tree.line_comment(key.unwrap_or(id)).and_then(Pattern::of_comment) {
            let kind = type_name(tree.scalar_type(id));
            for (name, value) in pattern.values_in(tree.text(id)) {
                self.0.count_scalar(name, value, kind);
            }
        }
        Ok(())
    }
}

/// A pattern that is no single setter, without what surrounds one.
fn bare_name(pattern: &str) -> &str {
    let inner = pattern.strip_prefix("${").unwrap_or(pattern);
    inner.strip_suffix('}').unwrap_or(inner)
}

/// The type as YAML's tags call it.
fn type_name(kind: ScalarType) -> &'static str {
    match kind {
        ScalarType::Null => "null",
        ScalarType::Bool => "bool",
        ScalarType::Int => "int",
        ScalarType::Float => "float",
        ScalarType::Timestamp => "timestamp",
        ScalarType::Binary => "binary",
        ScalarType::Merge => "merge",
        ScalarType::Str => "str",
    }
}

//! Objects of a package.

use std::borrow::Cow;
use std::rc::Rc;

use portico_fn::yaml::{Kind, ScalarType, Tree};
use portico_fn::{PlainError, Resource, plain_copy};
use thiserror::Error;

use crate::check::{ClosedOrder, check};
use crate::problem::Violation;
use crate::schemas::{LookupError, Schemas};

/// Why an object was not checked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ObjectError {
    /// Its aliases.
    #[error(transparent)]
    Plain(#[from] PlainError),
    /// Its schema.
    #[error(transparent)]
    Lookup(#[from] LookupError),
}

/// Checks an object against the schema of its kind; `None` when there is no such schema. Aliases count as what they
/// stand for.
pub fn check_object(
    object: &Resource,
    schemas: &Schemas<'_>,
    order: ClosedOrder,
) -> Result<Option<Vec<Violation>>, ObjectError> {
    let Some(schema) = schemas.find(object.api_version(), object.kind())? else { return Ok(None) };
    let object: Cow<'_, Resource> =
        if has_aliases(&object.tree) { Cow::Owned(plain_copy(object, false)?) } else { Cow::Borrowed(object) };
    let schema = Rc::clone(&schema);
    Ok(Some(check(&object.tree, object.tree.root(), &schema, schemas, order)?))
}

fn has_aliases(tree: &Tree) -> bool {
    let mut open = vec![tree.root()];
    while let Some(id) = open.pop() {
        match tree.kind(id) {
            Kind::Alias => return true,
            Kind::Scalar if tree.scalar_type(id) == ScalarType::Merge => return true,
            Kind::Scalar => {}
            Kind::Mapping | Kind::Sequence => open.extend(tree.children(id)),
        }
    }
    false
}

//! JSON patches, one operation at a time, each weighed before it is done.

use json_patch::{PatchErrorKind, PatchOperation, jsonptr::Pointer};
use serde_json::Value;

use super::PatchError;
use super::size::Size;
use crate::schema::{Limits, shown};

/// The most operations in one patch, as in the API server of Kubernetes.
pub const MAX_OPERATIONS: usize = 10_000;

/// The most bytes that the `copy` operations of one patch make in all: each can double an object, so that a patch of a
/// few hundred bytes could fill any memory. As in Kubernetes, the largest body of a request.
pub const MAX_COPIED: usize = 6 << 20;

/// The most values that the operations of one patch touch in all: an insertion at the head of a list moves those behind it,
/// a move is measured. Without it, 10,000 small operations on one large list take half a minute. 5 million are some tens of
/// milliseconds; a patch of a real object touches a few hundred. It does not bound reading the patch, which
/// [`Limits`] does.
pub const MAX_WORK: usize = 5_000_000;

/// The operations in a body.
pub(super) fn operations(body: Value) -> Result<Vec<PatchOperation>, PatchError> {
    let Value::Array(list) = body else {
        return Err(PatchError::NoOperations { message: "expected a list".to_owned() });
    };
    if list.len() > MAX_OPERATIONS {
        return Err(PatchError::TooManyOperations { got: list.len(), limit: MAX_OPERATIONS });
    }
    let read = |(index, operation)| {
        serde_json::from_value(operation)
            .map_err(|error| PatchError::NoOperations { message: format!("operation {index}: {error}") })
    };
    list.into_iter().enumerate().map(read).collect()
}

/// Carries out the operations in their order. After an error the object is in a state between.
pub(super) fn patch(object: &mut Value, operations: &[PatchOperation], limits: &Limits) -> Result<(), PatchError> {
    let mut spent = Spent { copied: 0, work: 0 };
    for (index, operation) in operations.iter().enumerate() {
        spent.weigh(index, object, operation, limits)?;
        json_patch::patch_unsafe(object, std::slice::from_ref(operation)).map_err(|error| {
            let message = match error.kind {
                PatchErrorKind::TestFailed => "the value is another one".to_owned(),
                PatchErrorKind::InvalidPointer => "there is no such place in the object".to_owned(),
                PatchErrorKind::InvalidFromPointer => "there is nothing at the place in `from`".to_owned(),
                other => other.to_string(),
            };
            let path = shown(operation.path().as_str());
            PatchError::Operation { index, operation: name(operation), path, message }
        })?;
    }
    Ok(())
}

fn name(operation: &PatchOperation) -> &'static str {
    match operation {
        PatchOperation::Add(_) => "add",
        PatchOperation::Remove(_) => "remove",
        PatchOperation::Replace(_) => "replace",
        PatchOperation::Move(_) => "move",
        PatchOperation::Copy(_) => "copy",
        PatchOperation::Test(_) => "test",
    }
}

/// What the operations so far have cost.
struct Spent {
    copied: usize,
    work: usize,
}

impl Spent {
    /// Refuses an operation that would go beyond the bounds.
    fn weigh(
        &mut self,
        index: usize,
        object: &Value,
        operation: &PatchOperation,
        limits: &Limits,
    ) -> Result<(), PatchError> {
        let (from, value) = match operation {
            PatchOperation::Add(add) => (None, Some(&add.value)),
            PatchOperation::Replace(replace) => (None, Some(&replace.value)),
            PatchOperation::Move(from) => (Some(&from.from), object.pointer(from.from.as_str())),
            PatchOperation::Copy(from) => (Some(&from.from), object.pointer(from.from.as_str())),
            PatchOperation::Remove(_) => (None, None),
            // Its cost is that of the value in the patch, which has its bounds.
            PatchOperation::Test(_) => return Ok(()),
        };
        let size = value.map(Size::of).unwrap_or_default();
        // What is put somewhere may have what stood there below it no more: the bound is on what can be.
        let path = operation.path();
        let limit = limits.depth();
        if value.is_some() && path.count() + size.depth > limit {
            return Err(PatchError::TooDeep { index, limit, path: shown(path.as_str()) });
        }
        self.work += 1 + size.nodes + beside(object, path) + from.map_or(0, |from| beside(object, from));
        if self.work > MAX_WORK {
            return Err(PatchError::TooMuch { index, what: "touch values", limit: MAX_WORK });
        }
        if matches!(operation, PatchOperation::Copy(_)) {
            self.copied += size.bytes;
            if self.copied > MAX_COPIED {
                return Err(PatchError::TooMuch { index, what: "copy bytes", limit: MAX_COPIED });
            }
        }
        Ok(())
    }
}

/// How many elements a change at this place may move: those of the list that it is in.
fn beside(object: &Value, path: &Pointer) -> usize {
    let list = path.parent().and_then(|parent| object.pointer(parent.as_str()));
    list.and_then(Value::as_array).map_or(0, Vec::len)
}

#[cfg(test)]
mod tests;

//! What a client wants of an object, and who manages which of its fields.

use serde_json::Value;

use super::App;
use super::body::{self, Warnings};
use super::request::{Caller, Target};
use super::status::Status;
use super::types::{Kind, ManagedFieldsEntry};
use crate::patch::{Patch, PatchType};

/// What a client wants of an object.
#[derive(Debug)]
pub(super) enum Change {
    /// To be this.
    Replace(Value, Warnings),
    /// To be patched.
    Patch(Patch),
}

/// What a change makes of an object, before it is looked at.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) object: Value,
    pub(super) warnings: Warnings,
    /// Whether it was applied: then it says itself who manages what.
    applied: bool,
}

impl Change {
    /// The body of a PATCH.
    pub(super) fn patch(app: &App, caller: &Caller, body: &[u8]) -> Result<Self, Status> {
        let kind = PatchType::of(Some(&caller.content_type))?;
        if kind == PatchType::Apply && caller.query.manager.is_none() {
            return Err(Status::bad_request(
                "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is \
                                            required for apply patch",
            ));
        }
        if kind != PatchType::Apply && caller.query.force {
            return Err(Status::bad_request(
                "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified \
                                            for non-apply patch",
            ));
        }
        Ok(Self::Patch(Patch::read(kind, body, &app.body_limits())?))
    }

    /// Whether it makes an object that is not there.
    pub(super) fn creates(&self) -> bool {
        matches!(self, Self::Patch(patch) if patch.kind() == PatchType::Apply)
    }

    /// The object as it is to be.
    pub(super) fn onto(&self, app: &App, caller: &Caller, kind: Kind, current: Option<&Value>) -> Result<Made, Status> {
        match self {
            Self::Replace(object, warnings) => {
                Ok(Made { object: object.clone(), warnings: warnings.clone(), applied: false })
            }
            Self::Patch(patch) => {
                let empty = Value::Object(serde_json::Map::new());
                let object = patch.onto(current.unwrap_or(&empty), &app.body_limits())?;
                let warnings = body::check_fields(caller, kind, &object, patch.duplicates())?;
                Ok(Made { object, warnings, applied: patch.kind() == PatchType::Apply })
            }
        }
    }
}

impl Made {
    /// Who manages what of the object that came of it.
    pub(super) fn managed(
        &self,
        _caller: &Caller,
        _target: Target<'_>,
        _before: Option<&Value>,
        _after: Value,
    ) -> Result<Vec<ManagedFieldsEntry>, Status> {
        let _ = self.applied;
        Ok(Vec::new())
    }
}

/// Whether two say other things, when they said so aside.
pub(super) fn differ(before: &[ManagedFieldsEntry], after: &[ManagedFieldsEntry]) -> bool {
    let timeless = |entry: &ManagedFieldsEntry| ManagedFieldsEntry { time: None, ..entry.clone() };
    before.len() != after.len() || before.iter().zip(after).any(|(a, b)| timeless(a) != timeless(b))
}

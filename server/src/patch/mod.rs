//! Changes of JSON objects: JSON patch, merge patch, server-side apply. Pure: no I/O, no clock.
//!
//! - [`PatchType::of`] and [`Patch::read`] read a request once; [`Patch::onto`] can then be tried on one object after the
//!   other, as a read-modify-write wants it.
//! - [`apply`] is server-side apply; [`track`] says whose the fields are that another write sets.

mod apply;
mod compare;
mod error;
mod fields;
mod json;
mod managers;
mod merge;
mod size;

use serde_json::Value;

pub use apply::{Writer, apply, track};
pub use error::{Conflict, PatchError};
pub use json::{MAX_COPIED, MAX_OPERATIONS, MAX_WORK};
pub use managers::{MAX_APPLIERS, MAX_MANAGED_BYTES, MAX_UPDATERS};

use crate::schema::{Body, Format, Limits, media_type, shown};

/// The formats of a PATCH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchType {
    /// RFC 6902, a list of operations.
    Json,
    /// RFC 7396, an object that is laid over the other.
    Merge,
    /// Server-side apply: what one manager wants of an object.
    Apply,
}

impl PatchType {
    /// What a request may be, as the 415 of an API server says it of custom resources.
    pub const ACCEPTED: &str =
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

    /// By the `Content-Type` of a request. The strategic merge patch is for the types that are built into Kubernetes;
    /// clients ask for a merge patch when it is refused.
    pub fn of(content_type: Option<&str>) -> Result<Self, PatchError> {
        let given = content_type.unwrap_or_default();
        match media_type(given).as_str() {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ => Err(PatchError::Type { given: shown(given) }),
        }
    }
}

/// A patch that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Patch {
    kind: PatchType,
    body: Value,
    operations: Vec<json_patch::PatchOperation>,
    duplicates: Vec<String>,
}

impl Patch {
    /// Reads the body of a request.
    pub fn read(kind: PatchType, body: &[u8], limits: &Limits) -> Result<Self, PatchError> {
        let format = if kind == PatchType::Apply { Format::Yaml } else { Format::Json };
        let Body { value, duplicates } = Body::read(body, format, limits)?;
        let (body, operations) = match kind {
            PatchType::Json => (Value::Null, json::operations(value)?),
            PatchType::Merge | PatchType::Apply if !value.is_object() => return Err(PatchError::NotAnObject),
            PatchType::Merge | PatchType::Apply => (value, Vec::new()),
        };
        Ok(Self { kind, body, operations, duplicates })
    }

    /// Whether its options fit: an apply must name its manager, and nothing else can be forced.
    pub fn check_options(&self, manager: Option<&str>, force: bool) -> Result<(), PatchError> {
        match self.kind {
            PatchType::Apply if manager.unwrap_or_default().is_empty() => Err(PatchError::ManagerMissing),
            PatchType::Json | PatchType::Merge if force => Err(PatchError::Force),
            _ => Ok(()),
        }
    }

    /// Its format.
    pub fn kind(&self) -> PatchType {
        self.kind
    }

    /// The object of a merge patch, or the one that is to be applied; null for a JSON patch.
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// The paths of fields that stand in it twice.
    pub fn duplicates(&self) -> &[String] {
        &self.duplicates
    }

    /// The object that this patch makes of another one, which has its bounds already. Who owns what is not looked at: that
    /// is for [`track`] and, with a patch of type [`PatchType::Apply`], for [`apply`] instead of this.
    pub fn onto(&self, current: &Value, limits: &Limits) -> Result<Value, PatchError> {
        let mut patched = current.clone();
        match self.kind {
            PatchType::Json => json::patch(&mut patched, &self.operations, limits)?,
            PatchType::Merge | PatchType::Apply => json_patch::merge(&mut patched, &self.body),
        }
        if !patched.is_object() {
            return Err(PatchError::NotAnObject);
        }
        if size::Size::of(&patched).bytes > limits.bytes {
            return Err(PatchError::Large { limit: limits.bytes });
        }
        Ok(patched)
    }
}

#[cfg(test)]
mod tests;

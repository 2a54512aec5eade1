//! What a client wants of an object, and who manages which of its fields.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::App;
use super::body::{self, Warnings};
use super::request::{Caller, Target};
use super::status::Status;
use super::types::{Kind, ManagedFieldsEntry};
use crate::patch::{self, Patch, PatchType, Writer};
use crate::schema;

/// What nobody owns besides what no object lets anybody own: the server's words about it.
const UNOWNED: &[&[&str]] = &[&["status"]];

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
    pub(super) managed: Said,
}

/// What a change says of who manages what.
#[derive(Debug)]
pub(super) struct Said {
    /// `metadata.managedFields` as the client, or the apply, has it.
    fields: Option<Value>,
    /// Whether the object was applied: then this is how it is.
    applied: bool,
}

impl Change {
    /// The body of a PATCH.
    pub(super) fn patch(app: &App, caller: &Caller, body: &[u8]) -> Result<Self, Status> {
        let patch = Patch::read(PatchType::of(Some(&caller.content_type))?, body, &app.body_limits())?;
        patch.check_options(caller.query.manager.as_deref(), caller.query.force)?;
        Ok(Self::Patch(patch))
    }

    /// Whether it makes an object that is not there.
    pub(super) fn creates(&self) -> bool {
        matches!(self, Self::Patch(patch) if patch.kind() == PatchType::Apply)
    }

    /// The object as it is to be.
    pub(super) fn onto(
        &self,
        app: &App,
        caller: &Caller,
        target: Target<'_>,
        current: Option<&Value>,
    ) -> Result<Made, Status> {
        match self {
            Self::Replace(object, warnings) => Ok(Made::new(object.clone(), warnings.clone(), false)),
            Self::Patch(patch) if patch.kind() == PatchType::Apply => {
                let warnings = body::check_fields(caller, target.kind, patch.body(), patch.duplicates())?;
                let object = patch::apply(current, patch.body(), &writer(caller, target), caller.query.force)?;
                Ok(Made::new(object, warnings, true))
            }
            Self::Patch(patch) => {
                let empty = Value::Object(Map::new());
                let object = patch.onto(current.unwrap_or(&empty), &app.body_limits())?;
                let warnings = body::check_fields(caller, target.kind, &object, patch.duplicates())?;
                Ok(Made::new(object, warnings, false))
            }
        }
    }
}

fn writer<'a>(caller: &'a Caller, target: Target<'a>) -> Writer<'a> {
    let kind: Kind = target.kind;
    Writer {
        manager: caller.manager(),
        subresource: target.subresource,
        api_version: kind.api_version(),
        now: Timestamp::now(),
        structure: schema::structure(kind),
        ignored: UNOWNED,
    }
}

impl Made {
    fn new(mut object: Value, warnings: Warnings, applied: bool) -> Self {
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        let fields = metadata.and_then(|metadata| metadata.remove("managedFields"));
        Self { object, warnings, managed: Said { fields, applied } }
    }
}

impl Said {
    /// Who manages what of the object that came of it: `after` is how it is to be stored.
    pub(super) fn of(
        &self,
        caller: &Caller,
        target: Target<'_>,
        before: Option<&Value>,
        mut after: Value,
    ) -> Vec<ManagedFieldsEntry> {
        if self.applied {
            return entries(self.fields.clone());
        }
        // A client may have its own say.
        if let Some(metadata) = after.get_mut("metadata").and_then(Value::as_object_mut) {
            match &self.fields {
                Some(fields) => metadata.insert("managedFields".to_owned(), fields.clone()),
                None => metadata.remove("managedFields"),
            };
        }
        let mut tracked = patch::track(before, &after, &writer(caller, target));
        entries(tracked.pointer_mut("/metadata/managedFields").map(Value::take))
    }
}

fn entries(value: Option<Value>) -> Vec<ManagedFieldsEntry> {
    // They are ours, of the form that we read.
    value.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
}

/// Whether two say other things, when they said so aside.
pub(super) fn differ(before: &[ManagedFieldsEntry], after: &[ManagedFieldsEntry]) -> bool {
    let timeless = |entry: &ManagedFieldsEntry| ManagedFieldsEntry { time: None, ..entry.clone() };
    before.len() != after.len() || before.iter().zip(after).any(|(a, b)| timeless(a) != timeless(b))
}

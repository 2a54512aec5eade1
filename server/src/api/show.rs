//! Objects in the form that a client asked for.

use std::sync::Arc;

use portico_scheduler::model::{Files, RenderState, Revision};
use portico_scheduler::store::{PackageStore, StoreError};
use serde::Serialize;
use serde_json::{Value, json};

use super::App;
use super::document::Document;
use super::request::{Caller, Form};
use super::status::Status;
use super::types::{Kind, RenderStatus};
use super::{convert, render_status, table, time};

/// How a client wants objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) kind: Kind,
    pub(super) form: Form,
    /// The version of `meta.k8s.io`, of a table or of metadata.
    pub(super) meta: &'static str,
    /// What a table brings of each object.
    include: Include,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Include {
    Metadata,
    Object,
    Nothing,
}

impl Wanted {
    pub(super) fn of(caller: &Caller, kind: Kind) -> Result<Self, Status> {
        let (form, meta) = caller.accept.form()?;
        let include = match caller.query.include_object.as_deref() {
            None | Some("Metadata") => Include::Metadata,
            Some("Object") => Include::Object,
            Some("None") => Include::Nothing,
            Some(other) => {
                let message = format!("includeObject: Unsupported value: {other:?}: use Metadata, Object or None");
                return Err(Status::bad_request(message));
            }
        };
        let meta = if meta.ends_with("v1beta1") { "meta.k8s.io/v1beta1" } else { "meta.k8s.io/v1" };
        Ok(Self { kind, form, meta, include })
    }

    /// Whether files are needed.
    pub(super) fn files(self) -> bool {
        self.kind == Kind::PackageRevisionResources && self.form != Form::Metadata
    }

    /// `kind` and `apiVersion` of a list.
    pub(super) fn list(self) -> (&'static str, &'static str) {
        match self.form {
            Form::Object => (self.kind.list_name(), self.kind.api_version()),
            Form::Table => ("Table", self.meta),
            Form::Metadata => ("PartialObjectMetadataList", self.meta),
        }
    }

    /// The field of a list that its objects stand in.
    pub(super) fn items(self) -> &'static str {
        if self.form == Form::Table { "rows" } else { "items" }
    }

    /// An item of a list: the object, its metadata, or a table's row of these cells.
    pub(super) fn item(self, object: impl FnOnce() -> Value, cells: impl FnOnce() -> Value) -> Value {
        match self.form {
            Form::Object => object(),
            Form::Metadata => partial(object(), self.meta),
            Form::Table => {
                let cells = cells();
                match self.include {
                    Include::Object => json!({"cells": cells, "object": object()}),
                    Include::Metadata => json!({"cells": cells, "object": partial(object(), self.meta)}),
                    Include::Nothing => json!({"cells": cells}),
                }
            }
        }
    }

    /// An item as an object of its own: a row becomes a table.
    pub(super) fn alone(self, item: Value, version: &str, columns: bool) -> Value {
        if self.form != Form::Table {
            return item;
        }
        let columns = if columns { table::columns(self.kind) } else { Value::Null };
        json!({
            "kind": "Table", "apiVersion": self.meta, "metadata": {"resourceVersion": version},
            "columnDefinitions": columns, "rows": [item],
        })
    }

    /// The object of a bookmark, which tells of a version and, at the end of a watch's first objects, of that.
    pub(super) fn bookmark(self, version: u64, initial_end: bool) -> Value {
        let mut metadata = json!({"resourceVersion": version.to_string(), "creationTimestamp": null});
        if initial_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let (kind, api_version) = match self.form {
            Form::Object => (self.kind.name(), self.kind.api_version()),
            Form::Metadata => ("PartialObjectMetadata", self.meta),
            Form::Table => {
                let object = json!({"kind": "PartialObjectMetadata", "apiVersion": self.meta, "metadata": metadata});
                let row = json!({"cells": [], "object": object});
                return self.alone(row, &version.to_string(), false);
            }
        };
        json!({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    }
}

/// An object's metadata alone.
fn partial(mut object: Value, meta: &str) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": meta, "metadata": object["metadata"].take()})
}

/// An object as JSON. Our objects have text keys, and nothing that JSON could refuse.
pub(super) fn to_value(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// A revision with what of it is to be shown.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) revision: Arc<Revision>,
    pub(super) document: Document,
    pub(super) files: Option<Files>,
    pub(super) render: RenderStatus,
}

impl Shown {
    /// Without files.
    pub(super) fn of(revision: Arc<Revision>) -> Self {
        let document = Document::of(&revision);
        Self { revision, document, files: None, render: RenderStatus::default() }
    }

    /// As an object of this kind.
    pub(super) fn object(&self, kind: Kind) -> Value {
        let document = self.document.clone();
        if kind == Kind::PackageRevisionResources {
            let (files, render) = (self.files.as_ref(), self.render.clone());
            return to_value(&convert::package_revision_resources(&self.revision, document, files, render));
        }
        to_value(&convert::package_revision(&self.revision, document))
    }

    /// As a client wants it in a list.
    pub(super) fn item(&self, wanted: Wanted) -> Value {
        let cells = || {
            let now = time::now_ms();
            if wanted.kind == Kind::PackageRevisionResources {
                let files = self.files.as_ref().map_or(0, |files| files.len());
                table::resources(&self.revision, &self.document, files, now)
            } else {
                table::revision(&self.revision, &self.document, now)
            }
        };
        wanted.item(|| self.object(wanted.kind), cells)
    }

    /// As a client wants it alone.
    pub(super) fn alone(&self, wanted: Wanted) -> Value {
        wanted.alone(self.item(wanted), &self.revision.object_version.0.to_string(), true)
    }
}

impl App {
    /// A revision as it was at its version, with its files where they are wanted. `None`: those files are not kept any
    /// more, or it is gone; then the object has a newer state, which whoever watches is told of later.
    pub(super) async fn shown(&self, revision: Arc<Revision>, files: bool) -> Result<Option<Shown>, Status> {
        let mut shown = Shown::of(revision);
        if !files {
            return Ok(Some(shown));
        }
        let revision = &shown.revision;
        match self.store().content(&revision.key, revision.content_version).await {
            Ok(files) => {
                shown.render = self.render_status(revision).await?;
                shown.files = Some(files);
                Ok(Some(shown))
            }
            Err(StoreError::NotFound(_) | StoreError::NoSuchContent { .. }) => Ok(None),
            Err(error) => Err(Status::of_store(&error, Kind::PackageRevisionResources, &revision.key.name)),
        }
    }

    /// The same with how its render ended, where the kind shows it.
    pub(super) async fn with_render_status(&self, mut shown: Shown, kind: Kind) -> Result<Shown, Status> {
        if kind == Kind::PackageRevisionResources {
            shown.render = self.render_status(&shown.revision).await?;
        }
        Ok(shown)
    }

    /// How the last render of what the revision holds ended: empty while one is to come.
    async fn render_status(&self, revision: &Revision) -> Result<RenderStatus, Status> {
        let Some(RenderState::Ended(ending)) = revision.render_state() else { return Ok(RenderStatus::default()) };
        let log = match self.store().log(&revision.key).await {
            Ok(log) => log,
            Err(StoreError::NotFound(_)) => None,
            Err(error) => return Err(Status::of_store(&error, Kind::PackageRevisionResources, &revision.key.name)),
        };
        Ok(render_status::of(&revision.key, &ending, log.as_ref()))
    }
}

//! Updates and patches: read, change, compare-and-set, and again where somebody else's write came before.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use portico_scheduler::model::{Lifecycle, ObjectVersion, Revision, RevisionKey};
use portico_scheduler::store::{ClientUpdate, Expected, PackageStore, Snapshot, StoreError, rules};
use serde_json::{Map, Value};

use super::App;
use super::body::{self, Warnings};
use super::document::Document;
use super::managed::{self, Change, Made};
use super::request::{Caller, Target};
use super::show::{Shown, Wanted};
use super::status::{Cause, Status};
use super::types::{Kind, ManagedFieldsEntry, ObjectMeta};
use super::{resources, revisions, time};
use crate::ops::traces;

/// Bytes that a change of the lifecycle may add to an object's metadata where there is no room for more.
const LIFECYCLE_BYTES: usize = 1 << 10;

/// What a write makes of an object: what the store is to change.
#[derive(Debug)]
pub(super) struct Next {
    /// What changes; the document stands beside.
    pub(super) update: ClientUpdate,
    /// All that the API keeps.
    pub(super) document: Document,
    /// What the client should know besides.
    pub(super) warnings: Warnings,
    /// The object as it is to be, without its new version and without who manages what.
    pub(super) object: Value,
}

impl App {
    /// Changes an object as `change` says, in the name of this caller.
    pub(super) async fn modify(
        self: &Arc<Self>,
        caller: &Caller,
        target: Target<'_>,
        change: &Change,
    ) -> Result<Response, Status> {
        let wanted = Wanted::of(caller, target.kind)?;
        let (kind, name) = (target.kind, target.name);
        for _ in 0..self.limits.attempts.max(1) {
            let current = match self.find(target.namespace, name, kind).await {
                Ok(current) => current,
                Err(status) if status.code == 404 && target.subresource.is_empty() => {
                    return self.create_by(caller, target, change, status).await;
                }
                Err(status) => return Err(status),
            };
            let before = current.object(kind);
            let Made { object, mut warnings, managed: said } = change.onto(self, caller, target, Some(&before))?;
            let next = next(&current, target, object)?;
            warnings.extend(next.warnings);
            let changed = differ(&before, &next.object);
            let manages = said.of(caller, target, Some(&before), next.object);
            let managed = managed_fields(kind, &current.document);
            if !changed && !managed::differ(managed, &manages) {
                let current = self.with_render_status(current, kind).await?;
                return Ok(answer(&current, wanted, &warnings, StatusCode::OK));
            }
            let mut document = next.document;
            set_managed_fields(kind, &mut document, manages);
            if finished(&document) && document.deletion_timestamp.is_some() {
                match self.finish_deletion(caller, &current, wanted).await {
                    Err(StoreError::Conflict { .. }) => continue,
                    done => return done.map_err(|error| Status::of_store(&error, kind, name)),
                }
            }
            document.replaced = current.revision.object_version.0;
            let mut update = next.update;
            update.document = Some(document.to_bytes());
            self.check_room(&current.revision, &update, kind)?;
            let files = update.files.clone();
            let done = if caller.query.dry_run {
                self.rehearse(&current, &update)
            } else {
                self.commit(caller, &current, update, document).await
            };
            match done {
                Ok(revision) => {
                    let same = files.is_none();
                    let shown = Shown { files: files.or(current.files), ..Shown::of(Arc::new(revision)) };
                    // New files have none yet.
                    let shown = if same { self.with_render_status(shown, kind).await? } else { shown };
                    return Ok(answer(&shown, wanted, &warnings, StatusCode::OK));
                }
                // Whoever named a version has it looked at again, and is told.
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(Status::of_store(&error, kind, name)),
            }
        }
        Err(Status::modified(kind, name))
    }

    /// The revision that has this name now, with its files where the kind has them; without how its render ended.
    pub(super) async fn find(&self, namespace: &str, name: &str, kind: Kind) -> Result<Shown, Status> {
        // One look instead of two, where its uid is known.
        if kind == Kind::PackageRevisionResources
            && let Some(key) = self.cache.key(namespace, name)
            && let Some(shown) = self.newest(&key, kind).await?
        {
            return Ok(shown);
        }
        let store = |error: StoreError| Status::of_store(&error, kind, name);
        let revision = self.store().find(namespace, name).await.map_err(store)?;
        if kind != Kind::PackageRevisionResources {
            return Ok(Shown::of(Arc::new(revision)));
        }
        self.newest(&revision.key, kind).await?.ok_or_else(|| Status::not_found(kind, name))
    }

    /// A revision as it is now, with its files; `None` if it is gone.
    pub(super) async fn newest(&self, key: &RevisionKey, kind: Kind) -> Result<Option<Shown>, Status> {
        match self.store().get(key).await {
            Ok(Snapshot { revision, files }) => Ok(Some(Shown { files: Some(files), ..Shown::of(Arc::new(revision)) })),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(Status::of_store(&error, kind, &key.name)),
        }
    }

    /// What the write would leave, by the store's own rules.
    fn rehearse(&self, current: &Shown, update: &ClientUpdate) -> Result<Revision, StoreError> {
        let revision = &current.revision;
        let at = rules::At { version: revision.object_version, now_ms: time::now_ms() };
        let expected = Expected::Object(revision.object_version);
        let limits = self.store_limits;
        let mut rehearsed = rules::update(revision, expected, update, None, &limits, at)?.revision;
        // Not stored: it has the content that is there.
        rehearsed.content_version = revision.content_version;
        Ok(rehearsed)
    }

    async fn commit(
        self: &Arc<Self>,
        caller: &Caller,
        current: &Shown,
        update: ClientUpdate,
        document: Document,
    ) -> Result<Revision, StoreError> {
        let publishes =
            update.lifecycle == Some(Lifecycle::Published) && current.revision.lifecycle == Lifecycle::Proposed;
        if publishes {
            return self.publish(caller, current, update, document).await;
        }
        self.store_update(&current.revision, update).await
    }

    /// Writes, and tells the scheduler.
    pub(super) async fn store_update(&self, current: &Revision, update: ClientUpdate) -> Result<Revision, StoreError> {
        let expected = Expected::Object(current.object_version);
        let revision = self.store().update(&current.key, expected, update).await?;
        traces::wrote(&revision);
        self.scheduler.changed(revision.clone());
        Ok(revision)
    }

    /// Whether there is room for what a write makes larger.
    fn check_room(&self, current: &Revision, update: &ClientUpdate, kind: Kind) -> Result<(), Status> {
        let document = update.document.as_ref().map_or(0, bytes::Bytes::len);
        if document > self.limits.document_bytes {
            let message = format!(
                "metadata and spec, without labels, annotations and files, have {document} bytes, and the limit \
                 `document_bytes` is {}",
                self.limits.document_bytes
            );
            let status = Status::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message);
            return Err(status.about(kind, &current.key.name));
        }
        let size = |notes: &BTreeMap<String, String>| notes.iter().map(|(k, v)| k.len() + v.len()).sum::<usize>();
        let new = document
            + size(update.labels.as_ref().unwrap_or(&current.labels))
            + size(update.annotations.as_ref().unwrap_or(&current.annotations));
        let old = current.document.len() + size(&current.labels) + size(&current.annotations);
        // Who published it, and when, has to have room.
        let free = if update.lifecycle.is_some() { LIFECYCLE_BYTES } else { 0 };
        match new.checked_sub(old + free) {
            None | Some(0) => Ok(()),
            Some(more) => self.check_quota(kind, &current.key.name, more),
        }
    }

    /// Whether so many bytes more of metadata have room in memory.
    pub(super) fn check_quota(&self, kind: Kind, name: &str, more: usize) -> Result<(), Status> {
        let (used, max) = (self.cache.bytes(), self.limits.cache_bytes);
        if used.saturating_add(more) <= max {
            return Ok(());
        }
        let message = format!(
            "{} {name:?} is forbidden: exceeded quota: the metadata of all package revisions has {used} bytes, and the limit \
             `cache_bytes` is {max}; delete some, or ask the operator for a larger limit",
            kind.qualified()
        );
        Err(Status::new(StatusCode::FORBIDDEN, "Forbidden", message).about(kind, name))
    }
}

/// An object as an answer.
pub(super) fn answer(shown: &Shown, wanted: Wanted, warnings: &Warnings, code: StatusCode) -> Response {
    body::with_warnings((code, Json(shown.alone(wanted))).into_response(), warnings)
}

/// Whether nobody has to finish anything before it goes.
fn finished(document: &Document) -> bool {
    document.finalizers.is_empty()
}

/// What a write makes of an object.
fn next(current: &Shown, target: Target<'_>, value: Value) -> Result<Next, Status> {
    let kind = target.kind;
    if kind == Kind::PackageRevisionResources {
        let wanted: super::types::PackageRevisionResources = body::typed(value, kind)?;
        check_identity(current, kind, &wanted.api_version, &wanted.kind, &wanted.metadata)?;
        return resources::next(current, wanted);
    }
    let wanted: super::types::PackageRevision = body::typed(value, kind)?;
    check_identity(current, kind, &wanted.api_version, &wanted.kind, &wanted.metadata)?;
    if target.subresource == "approval" {
        revisions::approve(current, &wanted)
    } else {
        revisions::next(current, wanted)
    }
}

/// That a client speaks of the object that is there, in the version that it saw.
fn check_identity(
    current: &Shown,
    kind: Kind,
    api_version: &str,
    kind_name: &str,
    metadata: &ObjectMeta,
) -> Result<(), Status> {
    let revision = &current.revision;
    let name = &*revision.key.name;
    check_kind(kind, api_version, kind_name)?;
    if metadata.name != *name {
        let words = format!("the name of the object ({}) does not match the name on the URL ({name})", metadata.name);
        return Err(Status::bad_request(words));
    }
    check_namespace(&metadata.namespace, &revision.key.namespace)?;
    if !metadata.uid.is_empty() && metadata.uid != *revision.key.uid {
        let why = format!(
            "Precondition failed: UID in precondition: {}, UID in object meta: {}",
            metadata.uid, revision.key.uid
        );
        return Err(Status::conflict(kind, name, &why));
    }
    if metadata.resource_version.is_empty() {
        let cause = Cause::invalid("metadata.resourceVersion", "", "must be specified for an update");
        return Err(Status::invalid(kind, name, vec![cause]));
    }
    if seen(current, kind, &metadata.resource_version) { Ok(()) } else { Err(Status::modified(kind, name)) }
}

/// Whether the client has seen what it is about to replace. Of resources that are the files and what clients wrote: the
/// scheduler's words about a render don't count, or nobody could write while one is under way.
fn seen(current: &Shown, kind: Kind, version: &str) -> bool {
    let revision = &current.revision;
    let Ok(version) = version.parse::<u64>() else { return false };
    match kind {
        Kind::PackageRevisionResources => {
            let written = revision.content_version.0.max(current.document.replaced.saturating_add(1));
            (written..=revision.object_version.0).contains(&version)
        }
        _ => ObjectVersion(version) == revision.object_version,
    }
}

/// That an object says that it is what its address says.
pub(super) fn check_kind(kind: Kind, api_version: &str, kind_name: &str) -> Result<(), Status> {
    if !api_version.is_empty() && api_version != kind.api_version() {
        let message = format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            kind.api_version()
        );
        return Err(Status::bad_request(message));
    }
    if !kind_name.is_empty() && kind_name != kind.name() {
        let message = format!("the kind in the data ({kind_name}) does not match the expected kind ({})", kind.name());
        return Err(Status::bad_request(message));
    }
    Ok(())
}

/// That an object is in the namespace of its address.
pub(super) fn check_namespace(given: &str, expected: &str) -> Result<(), Status> {
    if given.is_empty() || given == expected {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the namespace of the provided object does not match the namespace sent on the request: {given:?} and {expected:?}"
    )))
}

/// Whether two states of an object differ in more than what every write changes.
fn differ(before: &Value, after: &Value) -> bool {
    const BOOKKEEPING: [&str; 3] = ["managedFields", "resourceVersion", "generation"];
    let metadata = |object: &Value| -> Map<String, Value> {
        let all = object["metadata"].as_object().into_iter().flatten();
        let kept = all.filter(|(name, _)| !BOOKKEEPING.contains(&name.as_str()));
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    ["spec", "status"].iter().any(|part| before[part] != after[part]) || metadata(before) != metadata(after)
}

fn managed_fields(kind: Kind, document: &Document) -> &[ManagedFieldsEntry] {
    match kind {
        Kind::PackageRevisionResources => &document.resources.managed_fields,
        _ => &document.managed_fields,
    }
}

fn set_managed_fields(kind: Kind, document: &mut Document, fields: Vec<ManagedFieldsEntry>) {
    match kind {
        Kind::PackageRevisionResources => document.resources.managed_fields = fields,
        _ => document.managed_fields = fields,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(version: u64, content: u64, replaced: u64) -> Shown {
        let mut revision = super::super::convert::tests::sample();
        revision.object_version = ObjectVersion(version);
        revision.content_version = portico_scheduler::model::ContentVersion(content);
        let mut shown = Shown::of(Arc::new(revision));
        shown.document.replaced = replaced;
        shown
    }

    #[test]
    fn the_schedulers_words_are_no_conflict_for_files_and_all_else_is() {
        // Made at 5, metadata written by a client at 8 in place of 7, conditions at 9 and 10.
        let current = shown(10, 5, 7);
        let files = |version: &str| seen(&current, Kind::PackageRevisionResources, version);
        assert!(files("10") && files("9") && files("8"));
        assert!(!files("7") && !files("5") && !files("11") && !files("x"));
        // A render's result at 10.
        assert!(!seen(&shown(10, 10, 7), Kind::PackageRevisionResources, "9"));
        assert!(seen(&current, Kind::PackageRevision, "10") && !seen(&current, Kind::PackageRevision, "9"));
    }

    #[test]
    fn an_update_names_the_version_that_it_saw() {
        let current = shown(10, 5, 7);
        let metadata = |version: &str| ObjectMeta {
            name: "r.net.core.v1".into(),
            resource_version: version.into(),
            ..ObjectMeta::default()
        };
        let check = |metadata: &ObjectMeta| {
            check_identity(&current, Kind::PackageRevision, "", "", metadata).map_err(|status| status.code)
        };
        assert_eq!(check(&metadata("10")), Ok(()));
        assert_eq!(check(&metadata("")), Err(422));
        assert_eq!(check(&metadata("9")), Err(409));
        assert_eq!(check(&ObjectMeta { uid: "other".into(), ..metadata("10") }), Err(409));
        assert_eq!(check(&ObjectMeta { namespace: "other".into(), ..metadata("10") }), Err(400));
        assert_eq!(check(&ObjectMeta { name: "other".into(), ..metadata("10") }), Err(400));
    }
}

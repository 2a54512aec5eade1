//! Deletions.

use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use portico_scheduler::model::Lifecycle;
use portico_scheduler::store::{ClientUpdate, Expected, StoreError};
use serde::Deserialize;

use super::App;
use super::list;
use super::request::{Caller, Target};
use super::selection::Selection;
use super::show::{Shown, Wanted};
use super::status::{Cause, Status};
use super::time;
use super::types::Kind;
use super::write::answer;
use crate::schema::{Body, Format};

const KIND: Kind = Kind::PackageRevision;

/// What a client may say of a deletion. How its dependents are deleted is nothing to us: there are none.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DeleteOptions {
    preconditions: Preconditions,
    dry_run: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Preconditions {
    uid: Option<String>,
    resource_version: Option<String>,
}

impl DeleteOptions {
    /// Those of a request's body, which may be empty.
    pub(super) fn read(app: &App, caller: &mut Caller, bytes: &[u8]) -> Result<Self, Status> {
        if bytes.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        let format = Format::of(Some(&*caller.content_type))?;
        let value = Body::read(bytes, format, &app.body_limits())?.value;
        let bad = |error: serde_json::Error| Status::bad_request(format!("the DeleteOptions can't be read: {error}"));
        let mut value = value;
        crate::schema::drop_nulls(&mut value);
        let options: Self = serde_json::from_value(value).map_err(bad)?;
        match &options.dry_run[..] {
            [] => {}
            [all] if all == "All" => caller.query.dry_run = true,
            other => {
                let given = other.join(",");
                let cause = Cause::not_supported("dryRun", &given, &["All"]);
                return Err(Status::bad_request(format!("dryRun: {}", cause.message)).because(cause));
            }
        }
        Ok(options)
    }

    fn check(&self, current: &Shown) -> Result<(), Status> {
        let revision = &current.revision;
        let name = &revision.key.name;
        if let Some(uid) = self.preconditions.uid.as_ref().filter(|uid| **uid != *revision.key.uid) {
            let why =
                format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", revision.key.uid);
            return Err(Status::conflict(KIND, name, &why));
        }
        let version = revision.object_version.0.to_string();
        if let Some(given) = self.preconditions.resource_version.as_ref().filter(|given| **given != version) {
            let why = format!(
                "Precondition failed: ResourceVersion in precondition: {given}, ResourceVersion in object meta: {version}"
            );
            return Err(Status::conflict(KIND, name, &why));
        }
        Ok(())
    }
}

/// How a deletion went.
enum Deleted {
    /// It is gone.
    Gone(Shown),
    /// It waits for its finalizers.
    Marked(Shown),
}

impl App {
    /// Deletes a package revision, or marks it where somebody has to finish something first.
    pub(super) async fn delete(
        self: &Arc<Self>,
        caller: &Caller,
        target: Target<'_>,
        options: &DeleteOptions,
    ) -> Result<Response, Status> {
        let wanted = Wanted::of(caller, KIND)?;
        match self.delete_one(caller, target, options).await? {
            Deleted::Gone(shown) => {
                Ok(Json(Status::deleted(KIND, target.name, &shown.revision.key.uid)).into_response())
            }
            Deleted::Marked(shown) => Ok(answer(&shown, wanted, &Vec::new(), StatusCode::OK)),
        }
    }

    /// Deletes all that are selected. The first that can't be deleted ends it.
    pub(super) async fn delete_all(
        self: &Arc<Self>,
        caller: &Caller,
        namespace: &str,
        options: &DeleteOptions,
    ) -> Result<Response, Status> {
        let wanted = Wanted::of(caller, KIND)?;
        let selection = Selection::of(KIND, Some(namespace), &caller.query)?;
        self.cache.fresh().await?;
        let (entries, version) = self.cache.list(&selection);
        let mut items = Vec::new();
        for entry in entries {
            let target = Target::one(KIND, namespace, &entry.revision.key.name);
            match self.delete_one(caller, target, options).await {
                Ok(Deleted::Gone(shown) | Deleted::Marked(shown)) => items.push(shown.item(wanted)),
                // Somebody else was faster.
                Err(status) if status.code == 404 => {}
                Err(status) => return Err(status),
            }
        }
        let metadata = serde_json::json!({"resourceVersion": version.0.to_string()});
        Ok(list::whole(wanted, &metadata, items.into_iter()))
    }

    async fn delete_one(
        self: &Arc<Self>,
        caller: &Caller,
        target: Target<'_>,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        let name = target.name;
        for _ in 0..self.limits.attempts.max(1) {
            let current = self.find(target.namespace, name, KIND).await?;
            options.check(&current)?;
            if current.revision.lifecycle == Lifecycle::Published {
                let why = "it is Published: set its lifecycle to DeletionProposed before it is deleted";
                return Err(Status::invalid(KIND, name, vec![Cause::forbidden("spec.lifecycle", why)]));
            }
            let expected = Expected::Object(current.revision.object_version);
            let done = if current.document.finalizers.is_empty() {
                if caller.query.dry_run {
                    return Ok(Deleted::Gone(current));
                }
                self.delete_settled(&current, expected).await.map(|()| Deleted::Gone(current))
            } else {
                self.mark(caller, current).await.map(Deleted::Marked)
            };
            match done {
                Ok(done) => return Ok(done),
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(Status::of_store(&error, KIND, name)),
            }
        }
        Err(Status::modified(KIND, name))
    }

    /// Notes when deletion was asked for first.
    async fn mark(&self, caller: &Caller, current: Shown) -> Result<Shown, StoreError> {
        if current.document.deletion_timestamp.is_some() {
            return Ok(current);
        }
        let mut document = current.document.clone();
        document.deletion_timestamp = Some(time::seconds(time::now_ms()));
        document.generation += 1;
        document.replaced = current.revision.object_version.0;
        if caller.query.dry_run {
            return Ok(Shown { document, ..current });
        }
        let update = ClientUpdate { document: Some(document.to_bytes()), ..ClientUpdate::default() };
        Ok(Shown::of(Arc::new(self.store_update(&current.revision, update).await?)))
    }

    /// Deletes what has lost its last finalizer. The answer is the object as it was.
    pub(super) async fn finish_deletion(
        &self,
        caller: &Caller,
        current: &Shown,
        wanted: Wanted,
    ) -> Result<Response, StoreError> {
        let expected = Expected::Object(current.revision.object_version);
        if !caller.query.dry_run {
            self.delete_settled(current, expected).await?;
        }
        let mut gone = current.clone();
        gone.document.finalizers.clear();
        Ok(answer(&gone, wanted, &Vec::new(), StatusCode::OK))
    }
}

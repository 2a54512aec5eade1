//! New package revisions.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use portico_scheduler::model::{Files, Lifecycle, ObjectVersion, RenderState, Revision, mirror};
use portico_scheduler::store::{NewRevision, PackageStore, StoreError, rules};
use serde_json::Value;

use super::App;
use super::body::{self, Warnings};
use super::cache::{Package, weight};
use super::document::Document;
use super::managed::{Change, Made, Said};
use super::package::{self, Facts};
use super::request::{Caller, Target};
use super::resources::note;
use super::show::{Shown, Wanted};
use super::status::{Cause, Status};
use super::types::{Kind, LATEST_REVISION, PackageRevision, PackageRevisionSpec, Task};
use super::write::{answer, check_kind, check_namespace};
use super::{convert, names, revisions, time};
use crate::ops::traces;

const KIND: Kind = Kind::PackageRevision;
/// How often another name is tried where the server makes it up.
const NAMES: usize = 8;

impl App {
    /// Makes what server-side apply finds missing; `missing` is the answer to everybody else.
    pub(super) async fn create_by(
        self: &Arc<Self>,
        caller: &Caller,
        target: Target<'_>,
        change: &Change,
        missing: Status,
    ) -> Result<Response, Status> {
        if !change.creates() {
            return Err(missing);
        }
        if target.kind != KIND {
            let why = "; make the packagerevision of this name first";
            let mut missing = missing;
            missing.message += why;
            return Err(missing);
        }
        self.authorize(caller, "create", target)?;
        let Made { object, warnings, managed } = change.onto(self, caller, target, None)?;
        let wanted: PackageRevision = body::typed(object, KIND)?;
        if wanted.metadata.name != target.name {
            let words = format!(
                "the name of the object ({}) does not match the name on the URL ({})",
                wanted.metadata.name, target.name
            );
            return Err(Status::bad_request(words));
        }
        self.create(caller, target.namespace, wanted, warnings, managed).await
    }

    /// Makes what a client posts.
    pub(super) async fn post(
        self: &Arc<Self>,
        caller: &Caller,
        namespace: &str,
        value: Value,
        warnings: Warnings,
    ) -> Result<Response, Status> {
        let target = Target::all(KIND, namespace);
        let change = Change::Replace(value, warnings);
        let Made { object, warnings, managed } = change.onto(self, caller, target, None)?;
        let wanted: PackageRevision = body::typed(object, KIND)?;
        self.create(caller, namespace, wanted, warnings, managed).await
    }

    async fn create(
        self: &Arc<Self>,
        caller: &Caller,
        namespace: &str,
        wanted: PackageRevision,
        warnings: Warnings,
        managed: Said,
    ) -> Result<Response, Status> {
        let form = Wanted::of(caller, KIND)?;
        check_kind(KIND, &wanted.api_version, &wanted.kind)?;
        check_namespace(&wanted.metadata.namespace, namespace)?;
        if !wanted.metadata.resource_version.is_empty() {
            return Err(Status::bad_request("resourceVersion should not be set on objects to be created"));
        }
        check(&wanted, namespace)?;
        let files = self.content(caller, namespace, &wanted.spec).await?;
        let files = mirror(&files, &RenderState::Scheduled);
        let generated = wanted.metadata.name.is_empty() && !wanted.metadata.generate_name.is_empty();
        let mut name = match (&*wanted.metadata.name, &*wanted.metadata.generate_name) {
            ("", "") => names::composed(&wanted.spec),
            ("", prefix) => names::generated(prefix),
            (name, _) => name.to_owned(),
        };
        let mut new = new_revision(namespace, &wanted, files);
        let mut document = new_document(&wanted, &new.files);
        for attempt in 0.. {
            new.name = name.as_str().into();
            let before = shown(&rehearsed(&new, &document, &self.store_limits)?).object(KIND);
            let target = Target::one(KIND, namespace, &name);
            document.managed_fields = managed.of(caller, target, None, before);
            new.document = document.to_bytes();
            match self.store_new(caller, &new, &document).await {
                Ok(revision) => {
                    return Ok(answer(&shown(&revision), form, &warnings, StatusCode::CREATED));
                }
                Err(status) if generated && attempt < NAMES && status.reason == "AlreadyExists" => {
                    name = names::generated(&wanted.metadata.generate_name);
                }
                Err(status) => return Err(status),
            }
        }
        Err(Status::internal("no free name was found"))
    }

    /// Writes a new revision, unless its names are taken.
    async fn store_new(&self, caller: &Caller, new: &NewRevision, document: &Document) -> Result<Revision, Status> {
        let name = &*new.name;
        let failed = |error: StoreError| Status::of_store(&error, KIND, name);
        let package = Package {
            namespace: Arc::clone(&new.namespace),
            repository: Arc::clone(&new.repository),
            name: document.package_name.as_str().into(),
        };
        let _one_at_a_time = self.locks.lock(&package).await;
        self.cache.fresh().await?;
        let mut others = self.cache.of_package(&package).into_iter();
        if let Some(other) = others.find(|other| *other.workspace == *document.workspace_name) {
            let other = &other.revision.key.name;
            if **other == *name {
                return Err(Status::already_exists(KIND, name));
            }
            let message = format!(
                "{} {name:?} already exists: {other:?} is workspace {:?} of package {:?} in repository {:?}",
                KIND.qualified(),
                document.workspace_name,
                document.package_name,
                new.repository
            );
            let mut taken = Status::already_exists(KIND, name);
            taken.message = message;
            return Err(taken);
        }
        let rehearsal = rehearsed(new, document, &self.store_limits)?;
        self.check_quota(KIND, name, weight(&rehearsal))?;
        if caller.query.dry_run {
            return match self.store().find(&new.namespace, name).await {
                Ok(_) => Err(Status::already_exists(KIND, name)),
                Err(StoreError::NoSuchName { .. }) => Ok(rehearsal),
                Err(error) => Err(failed(error)),
            };
        }
        let revision = self.store().create(new.clone()).await.map_err(failed)?;
        traces::wrote(&revision);
        self.scheduler.changed(revision.clone());
        Ok(revision)
    }

    /// The files that a new revision begins with.
    async fn content(&self, caller: &Caller, namespace: &str, spec: &PackageRevisionSpec) -> Result<Files, Status> {
        let package = &*spec.package_name;
        match spec.tasks.first() {
            None => Ok(package::init(package, &super::types::PackageInitTask::default())),
            Some(Task { init: Some(task), .. }) => Ok(package::init(package, task)),
            Some(task) => {
                let Some((field, source)) = source(task) else {
                    return Ok(package::init(package, &super::types::PackageInitTask::default()));
                };
                // Whoever clones reads: nobody gets files in this way that they may not see.
                let files = Kind::PackageRevisionResources;
                self.authorize(caller, "get", Target::one(files, namespace, source))?;
                let unfit = |why: String| {
                    Status::invalid(KIND, &names::composed(spec), vec![Cause::invalid(field, source, &why)])
                };
                let source = match self.find(namespace, source, files).await {
                    Ok(source) => source,
                    Err(status) if status.code == 404 => {
                        return Err(unfit("there is no such package revision in this namespace".into()));
                    }
                    Err(status) => return Err(status),
                };
                if task.edit.is_some() {
                    let (old, document) = (&source.revision, &source.document);
                    if document.package_name != package || *old.repository != *spec.repository {
                        return Err(unfit(format!(
                            "it is of package {:?} in repository {:?}: to begin another package with it, use a task of type \
                             \"clone\"",
                            document.package_name, old.repository
                        )));
                    }
                    if !matches!(old.lifecycle, Lifecycle::Published | Lifecycle::DeletionProposed) {
                        return Err(unfit(format!(
                            "it is {:?}: only what is published can be edited anew",
                            old.lifecycle
                        )));
                    }
                }
                let files = source.files.unwrap_or_default();
                Ok(if task.clone.is_some() { package::renamed(&files, package) } else { files })
            }
        }
    }
}

fn shown(revision: &Revision) -> Shown {
    Shown::of(Arc::new(revision.clone()))
}

/// The revision that a task begins with, and the field that names it.
fn source(task: &Task) -> Option<(&'static str, &str)> {
    let clone = task.clone.as_ref().and_then(|clone| clone.upstream_ref.upstream_ref.as_ref());
    let edit = task.edit.as_ref().and_then(|edit| edit.source_ref.as_ref());
    let clone = clone.map(|source| ("spec.tasks[0].clone.upstreamRef.upstreamRef.name", &*source.name));
    clone.or_else(|| edit.map(|source| ("spec.tasks[0].edit.sourceRef.name", &*source.name)))
}

fn new_revision(namespace: &str, wanted: &PackageRevision, files: Files) -> NewRevision {
    let mut labels = wanted.metadata.labels.clone();
    labels.remove(LATEST_REVISION);
    let facts = Facts::of(&files).unwrap_or_default();
    let mut conditions = facts.conditions;
    conditions.retain(|old| !wanted.status.conditions.iter().any(|new| new.kind == old.kind));
    conditions.extend(wanted.status.conditions.iter().cloned());
    NewRevision {
        labels,
        annotations: wanted.metadata.annotations.clone(),
        conditions: convert::stored_conditions(&conditions, &[], time::now_ms()),
        ..NewRevision::new(namespace, "", &wanted.spec.repository, files)
    }
}

fn new_document(wanted: &PackageRevision, files: &Files) -> Document {
    let mut document = Document {
        package_name: wanted.spec.package_name.clone(),
        workspace_name: wanted.spec.workspace_name.clone(),
        generation: 1,
        generate_name: wanted.metadata.generate_name.clone(),
        finalizers: wanted.metadata.finalizers.clone(),
        owner_references: wanted.metadata.owner_references.clone(),
        tasks: wanted.spec.tasks.clone(),
        ..Document::default()
    };
    note(&mut document, &Facts::of(files).unwrap_or_default());
    if !wanted.spec.readiness_gates.is_empty() {
        document.readiness_gates.clone_from(&wanted.spec.readiness_gates);
    }
    if wanted.spec.package_metadata.is_some() {
        document.package_metadata.clone_from(&wanted.spec.package_metadata);
    }
    document
}

/// The revision as the store would make it.
fn rehearsed(
    new: &NewRevision,
    document: &Document,
    limits: &portico_scheduler::store::StoreLimits,
) -> Result<Revision, Status> {
    let at = rules::At { version: ObjectVersion(0), now_ms: time::now_ms() };
    let new = NewRevision { document: document.to_bytes(), ..new.clone() };
    let made = rules::create(&new, None, "", limits, at);
    Ok(made.map_err(|error| Status::of_store(&error, KIND, &new.name))?.revision)
}

/// What a new object must be.
fn check(wanted: &PackageRevision, namespace: &str) -> Result<(), Status> {
    let mut causes = Vec::new();
    if !names::is_namespace(namespace) {
        let why = "must consist of lower case letters, digits and '-', begin and end with a letter or digit, and have at \
                   most 63 characters";
        causes.push(Cause::invalid("metadata.namespace", namespace, why));
    }
    names::check_metadata(&wanted.metadata, &mut causes);
    names::check_wishes(&wanted.metadata, &mut causes);
    names::check_spec(&wanted.spec, &mut causes);
    revisions::check_conditions(&wanted.status.conditions, &mut causes);
    if !matches!(wanted.spec.lifecycle, None | Some(super::types::Lifecycle::Draft)) {
        let why = "a new package revision is a Draft: propose it when it has rendered";
        causes.push(Cause::forbidden("spec.lifecycle", why));
    }
    if let [_, _, ..] = &*wanted.spec.tasks {
        causes.push(Cause::forbidden("spec.tasks", "at most one task says where the content comes from"));
    } else if let Some(task) = wanted.spec.tasks.first() {
        check_task(task, &mut causes);
    }
    if causes.is_empty() {
        return Ok(());
    }
    let name =
        if wanted.metadata.name.is_empty() { names::composed(&wanted.spec) } else { wanted.metadata.name.clone() };
    Err(Status::invalid(KIND, &name, causes))
}

fn check_task(task: &Task, causes: &mut Vec<Cause>) {
    let given = [
        ("init", task.init.is_some()),
        ("clone", task.clone.is_some()),
        ("edit", task.edit.is_some()),
        ("upgrade", task.upgrade.is_some()),
    ];
    if !given.iter().any(|(kind, _)| *kind == task.kind) {
        let kinds = ["init", "clone", "edit", "upgrade"];
        causes.push(Cause::not_supported("spec.tasks[0].type", &task.kind, &kinds));
        return;
    }
    for (kind, _) in given.iter().filter(|(kind, given)| *given && *kind != task.kind) {
        let why = format!("the task is of type {:?}", task.kind);
        causes.push(Cause::forbidden(&format!("spec.tasks[0].{kind}"), &why));
    }
    match &*task.kind {
        "init" if task.init.as_ref().is_some_and(|init| !init.subpackage.is_empty()) => {
            let why = "subpackages are made by writing their files to the packagerevisionresources";
            causes.push(Cause::forbidden("spec.tasks[0].init.subpackage", why));
        }
        "clone" => {
            let upstream = task.clone.as_ref().map(|clone| &clone.upstream_ref);
            let elsewhere = upstream.is_some_and(|upstream| upstream.git.is_some() || upstream.oci.is_some());
            if elsewhere {
                let why = "this server fetches nothing from git and OCI repositories: fetch the package (`kpt pkg get`) and \
                           push its files (`portico push`, or an update of the packagerevisionresources)";
                causes.push(Cause::forbidden("spec.tasks[0].clone.upstreamRef", why));
            } else if source(task).is_none_or(|(_, name)| name.is_empty()) {
                let why = "name a package revision of this namespace";
                causes.push(Cause::required("spec.tasks[0].clone.upstreamRef.upstreamRef.name", why));
            }
        }
        "edit" if source(task).is_none_or(|(_, name)| name.is_empty()) => {
            let why = "name a published revision of this package";
            causes.push(Cause::required("spec.tasks[0].edit.sourceRef.name", why));
        }
        "upgrade" => {
            let why = "this server merges no packages: begin a draft with a task of type \"edit\", merge the upstream into its \
                       files (`kpt pkg update`) and push them";
            causes.push(Cause::forbidden("spec.tasks[0].type", why));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(task: &Value) -> Vec<String> {
        let spec = serde_json::json!({"packageName": "p", "repository": "r", "workspaceName": "w", "tasks": [task]});
        let wanted = body::typed(serde_json::json!({ "spec": spec }), KIND).unwrap();
        match check(&wanted, "ns") {
            Ok(()) => Vec::new(),
            Err(status) => status.details.unwrap().causes.into_iter().map(|cause| cause.field).collect(),
        }
    }

    #[test]
    fn tasks_that_can_be_done_and_others() {
        let ok = [
            serde_json::json!({"type": "init"}),
            serde_json::json!({"type": "init", "init": {"description": "d"}}),
            serde_json::json!({"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": "a"}}}}),
            serde_json::json!({"type": "edit", "edit": {"sourceRef": {"name": "a"}}}),
        ];
        for task in ok {
            assert_eq!(faults(&task), [""; 0], "{task}");
        }
        let git = serde_json::json!({"type": "clone", "clone": {"upstreamRef": {"type": "git", "git": {"repo": "x"}}}});
        assert_eq!(faults(&git), ["spec.tasks[0].clone.upstreamRef"]);
        assert_eq!(faults(&serde_json::json!({"type": "clone"})), ["spec.tasks[0].clone.upstreamRef.upstreamRef.name"]);
        assert_eq!(faults(&serde_json::json!({"type": "edit"})), ["spec.tasks[0].edit.sourceRef.name"]);
        assert_eq!(faults(&serde_json::json!({"type": "upgrade"})), ["spec.tasks[0].type"]);
        assert_eq!(faults(&serde_json::json!({"type": "other"})), ["spec.tasks[0].type"]);
        assert_eq!(faults(&serde_json::json!({"type": "init", "edit": {}})), ["spec.tasks[0].edit"]);
    }
}

//! What clients may change of a `PackageRevision`: pure.

use portico_scheduler::store::ClientUpdate;
use serde_json::Value;

use super::convert;
use super::document::Document;
use super::show::{Shown, to_value};
use super::status::{Cause, Status};
use super::types::{Condition, Kind, LATEST_REVISION, Lifecycle, ObjectMeta, PackageRevision, PackageRevisionSpec};
use super::write::Next;
use super::{names, time};

/// What an update of the object makes of it.
pub(super) fn next(current: &Shown, wanted: PackageRevision) -> Result<Next, Status> {
    let before = convert::package_revision(&current.revision, current.document.clone());
    let mut causes = Vec::new();
    names::check_metadata(&wanted.metadata, &mut causes);
    if wanted.metadata.annotations != before.metadata.annotations {
        names::check_wishes(&wanted.metadata, &mut causes);
    }
    check_fixed(&before.spec, &wanted.spec, &mut causes);
    check_finalizers(&before.metadata, &wanted.metadata, &mut causes);
    check_conditions(&wanted.status.conditions, &mut causes);
    let lifecycle = wanted.spec.lifecycle.or(before.spec.lifecycle);
    if let (Some(from), Some(to)) = (before.spec.lifecycle, lifecycle) {
        check_step(from, to, &mut causes);
    }
    if !causes.is_empty() {
        return Err(Status::invalid(Kind::PackageRevision, &before.metadata.name, causes));
    }
    let mut after = before.clone();
    after.spec.lifecycle = lifecycle;
    after.spec.readiness_gates = wanted.spec.readiness_gates;
    after.spec.package_metadata = wanted.spec.package_metadata;
    after.metadata.labels = wanted.metadata.labels;
    // Whether it is the newest is not the client's to say.
    match before.metadata.labels.get(LATEST_REVISION) {
        Some(value) => after.metadata.labels.insert(LATEST_REVISION.to_owned(), value.clone()),
        None => after.metadata.labels.remove(LATEST_REVISION),
    };
    after.metadata.annotations = wanted.metadata.annotations;
    after.metadata.finalizers = wanted.metadata.finalizers;
    after.metadata.owner_references = wanted.metadata.owner_references;
    after.status.conditions = conditions(&before.status.conditions, wanted.status.conditions);
    Ok(changes(current, &before, after))
}

/// What an update through the subresource `approval` makes of it: the lifecycle, and nothing else.
pub(super) fn approve(current: &Shown, wanted: &PackageRevision) -> Result<Next, Status> {
    use Lifecycle::{DeletionProposed, Draft, Proposed, Published};
    let before = convert::package_revision(&current.revision, current.document.clone());
    let mut after = before.clone();
    after.spec.lifecycle = wanted.spec.lifecycle.or(before.spec.lifecycle);
    if let (Some(from), Some(to)) = (before.spec.lifecycle, after.spec.lifecycle) {
        let known = from == to
            || matches!(
                (from, to),
                (Proposed, Published | Draft) | (Published, DeletionProposed) | (DeletionProposed, Published)
            );
        if !known {
            let why = format!(
                "it is {from:?} and can't become {to:?} by approval: a draft is proposed by an update of the package revision \
                 itself; approval makes Proposed to Published or Draft, and Published to DeletionProposed and back"
            );
            let causes = vec![Cause::forbidden("spec.lifecycle", &why)];
            return Err(Status::invalid(Kind::PackageRevision, &before.metadata.name, causes));
        }
    }
    Ok(changes(current, &before, after))
}

/// The store's changes between two states of the object.
fn changes(current: &Shown, before: &PackageRevision, mut after: PackageRevision) -> Next {
    if after.spec != before.spec {
        after.metadata.generation += 1;
    }
    let differs = |a: Option<Lifecycle>, b: Option<Lifecycle>| a.filter(|_| a != b);
    let update = ClientUpdate {
        lifecycle: differs(after.spec.lifecycle, before.spec.lifecycle).map(convert::stored_lifecycle),
        labels: (after.metadata.labels != before.metadata.labels).then(|| after.metadata.labels.clone()),
        annotations: (after.metadata.annotations != before.metadata.annotations)
            .then(|| after.metadata.annotations.clone()),
        conditions: (after.status.conditions != before.status.conditions).then(|| {
            convert::stored_conditions(&after.status.conditions, &current.revision.conditions, time::now_ms())
        }),
        ..ClientUpdate::default()
    };
    let document = Document {
        generation: after.metadata.generation,
        finalizers: after.metadata.finalizers.clone(),
        owner_references: after.metadata.owner_references.clone(),
        readiness_gates: after.spec.readiness_gates.clone(),
        package_metadata: after.spec.package_metadata.clone(),
        ..current.document.clone()
    };
    let object: Value = to_value(&after);
    Next { update, document, warnings: Vec::new(), object }
}

/// What can't be changed. What is left out stays as it is: a client need not know it.
fn check_fixed(before: &PackageRevisionSpec, wanted: &PackageRevisionSpec, causes: &mut Vec<Cause>) {
    let names = [
        ("spec.packageName", &before.package_name, &wanted.package_name),
        ("spec.repository", &before.repository, &wanted.repository),
        ("spec.workspaceName", &before.workspace_name, &wanted.workspace_name),
    ];
    for (field, old, new) in names {
        if !new.is_empty() && new != old {
            causes.push(Cause::invalid(field, new, "field is immutable"));
        }
    }
    if !wanted.tasks.is_empty() && wanted.tasks != before.tasks {
        causes.push(Cause::forbidden("spec.tasks", "field is immutable: it says where the content came from"));
    }
    if before.lifecycle != Some(Lifecycle::Draft) {
        let changed = [
            ("spec.readinessGates", before.readiness_gates != wanted.readiness_gates),
            ("spec.packageMetadata", before.package_metadata != wanted.package_metadata),
        ];
        for (field, _) in changed.into_iter().filter(|(_, changed)| *changed) {
            causes.push(Cause::forbidden(field, "only a draft can be edited"));
        }
    }
}

fn check_finalizers(before: &ObjectMeta, wanted: &ObjectMeta, causes: &mut Vec<Cause>) {
    let added = wanted.finalizers.iter().any(|finalizer| !before.finalizers.contains(finalizer));
    if before.deletion_timestamp.is_some() && added {
        let why = "no new finalizers can be added if the object is being deleted";
        causes.push(Cause::forbidden("metadata.finalizers", why));
    }
}

pub(super) fn check_conditions(wanted: &[Condition], causes: &mut Vec<Cause>) {
    for (at, condition) in wanted.iter().enumerate() {
        if condition.kind.is_empty() {
            causes.push(Cause::required(&format!("status.conditions[{at}].type"), ""));
        }
        if !matches!(&*condition.status, "True" | "False" | "Unknown") {
            let field = format!("status.conditions[{at}].status");
            causes.push(Cause::not_supported(&field, &condition.status, &["True", "False", "Unknown"]));
        }
    }
}

/// The steps that an update of the object itself may take; the store looks at the others.
fn check_step(from: Lifecycle, to: Lifecycle, causes: &mut Vec<Cause>) {
    use Lifecycle::{DeletionProposed, Draft, Proposed, Published};
    if matches!((from, to), (Proposed, Draft | Published) | (DeletionProposed, Published)) {
        let why = format!("it is {from:?}: it becomes {to:?} through the subresource \"approval\" only");
        causes.push(Cause::forbidden("spec.lifecycle", &why));
    }
}

/// The conditions as they are to be: the two of the render as they are, the others as the client wants them, with their
/// times where they stay.
fn conditions(before: &[Condition], wanted: Vec<Condition>) -> Vec<Condition> {
    let ours = |kind: &str| portico_scheduler::model::RenderState::owns(kind);
    let theirs = wanted.into_iter().filter(|condition| !ours(&condition.kind)).map(|mut condition| {
        let old = before.iter().find(|old| old.kind == condition.kind && old.status == condition.status);
        // A time that a client writes is not taken: it is the server's.
        condition.last_transition_time = old.and_then(|old| old.last_transition_time.clone());
        condition
    });
    let mut theirs: Vec<Condition> = theirs.collect();
    // In the order in which the store keeps them.
    theirs.extend(before.iter().filter(|condition| ours(&condition.kind)).cloned());
    if theirs.len() == before.len() && before.iter().all(|condition| theirs.contains(condition)) {
        return before.to_vec();
    }
    theirs
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use portico_scheduler::model;

    use super::super::convert::tests::sample;
    use super::super::types::ReadinessGate;
    use super::*;

    fn shown(lifecycle: model::Lifecycle) -> (Shown, PackageRevision) {
        let mut revision = sample();
        revision.lifecycle = lifecycle;
        let shown = Shown::of(Arc::new(revision));
        let object = convert::package_revision(&shown.revision, shown.document.clone());
        (shown, object)
    }

    fn refused(result: Result<Next, Status>) -> Vec<String> {
        result.unwrap_err().details.unwrap().causes.into_iter().map(|cause| cause.field).collect()
    }

    #[test]
    fn what_is_the_servers_is_set_anew_and_what_is_the_clients_is_taken() {
        let (current, mut wanted) = shown(model::Lifecycle::Draft);
        wanted.metadata.labels.insert(LATEST_REVISION.into(), "true".into());
        wanted.metadata.labels.insert("a".into(), "b".into());
        wanted.metadata.uid = "other".into();
        wanted.spec.revision = 7;
        wanted.status.published_by = "me".into();
        wanted.status.conditions[0].status = "True".into();
        wanted.status.conditions.push(Condition {
            kind: "Ready".into(),
            status: "False".into(),
            ..Condition::default()
        });
        let next = next(&current, wanted).unwrap();
        let labels = next.update.labels.unwrap();
        assert!(labels.contains_key("a") && !labels.contains_key(LATEST_REVISION));
        assert_eq!(next.document.revision, 0);
        let conditions = next.update.conditions.unwrap();
        assert_eq!((conditions.len(), &*conditions[0].kind), (1, "Ready"));
        assert_eq!(next.object["metadata"]["uid"], "uid-1");
        assert_eq!(next.object["metadata"]["generation"], 1, "nothing of the spec has changed");
    }

    #[test]
    fn names_and_origin_are_for_ever_and_may_be_left_out() {
        let (current, mut wanted) = shown(model::Lifecycle::Draft);
        wanted.spec = PackageRevisionSpec::default();
        assert!(next(&current, wanted.clone()).unwrap().update.lifecycle.is_none());
        wanted.spec.package_name = "other".into();
        wanted.spec.tasks = vec![super::super::types::Task { kind: "init".into(), ..Default::default() }];
        assert_eq!(refused(next(&current, wanted)), ["spec.packageName", "spec.tasks"]);
    }

    #[test]
    fn proposing_is_an_update_and_approving_is_not() {
        let (current, mut wanted) = shown(model::Lifecycle::Draft);
        wanted.spec.lifecycle = Some(Lifecycle::Proposed);
        let proposed = next(&current, wanted.clone()).unwrap();
        assert_eq!(proposed.update.lifecycle, Some(model::Lifecycle::Proposed));
        assert_eq!(proposed.document.generation, 2);
        assert_eq!(refused(approve(&current, &wanted)), ["spec.lifecycle"]);

        for to in [Lifecycle::Draft, Lifecycle::Published] {
            let (current, mut wanted) = shown(model::Lifecycle::Proposed);
            wanted.spec.lifecycle = Some(to);
            assert_eq!(refused(next(&current, wanted.clone())), ["spec.lifecycle"]);
            let approved = approve(&current, &wanted).unwrap();
            assert_eq!(approved.update.lifecycle, Some(convert::stored_lifecycle(to)));
        }
        let (current, mut wanted) = shown(model::Lifecycle::Published);
        wanted.spec.lifecycle = Some(Lifecycle::DeletionProposed);
        assert!(next(&current, wanted.clone()).is_ok() && approve(&current, &wanted).is_ok());
        let (current, mut wanted) = shown(model::Lifecycle::DeletionProposed);
        wanted.spec.lifecycle = Some(Lifecycle::Published);
        assert_eq!(refused(next(&current, wanted.clone())), ["spec.lifecycle"]);
        assert!(approve(&current, &wanted).is_ok());
    }

    #[test]
    fn approval_takes_the_lifecycle_alone() {
        let (current, mut wanted) = shown(model::Lifecycle::Proposed);
        wanted.spec.lifecycle = Some(Lifecycle::Published);
        wanted.metadata.labels.insert("a".into(), "b".into());
        let approved = approve(&current, &wanted).unwrap();
        assert!(approved.update.labels.is_none());
    }

    #[test]
    fn what_is_published_is_fixed_but_for_its_metadata() {
        let (current, mut wanted) = shown(model::Lifecycle::Published);
        wanted.metadata.labels.insert("a".into(), "b".into());
        assert!(next(&current, wanted.clone()).is_ok());
        wanted.spec.readiness_gates = vec![ReadinessGate { condition_type: "Ready".into() }];
        assert_eq!(refused(next(&current, wanted)), ["spec.readinessGates"]);
    }

    #[test]
    fn what_is_being_deleted_gets_no_new_finalizers() {
        let (mut current, mut wanted) = shown(model::Lifecycle::Draft);
        current.document.deletion_timestamp = Some("2026-01-01T00:00:00Z".into());
        wanted.metadata.finalizers = vec![];
        assert!(next(&current, wanted.clone()).is_ok());
        wanted.metadata.finalizers = vec!["example.com/more".into()];
        assert_eq!(refused(next(&current, wanted)), ["metadata.finalizers"]);
    }
}

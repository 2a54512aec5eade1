//! What the store holds, as the API shows it: pure.

use std::collections::BTreeMap;

use portico_scheduler::model::{self, ConditionStatus, Files, Reason, RenderState, Revision};

use super::document::Document;
use super::time;
use super::types::{
    API_VERSION, BINARY_FILES, Condition, Kind, Lifecycle, ObjectMeta, PackageRevision, PackageRevisionResources,
    PackageRevisionResourcesSpec, PackageRevisionResourcesStatus, PackageRevisionSpec, PackageRevisionStatus,
    RenderStatus,
};

/// A revision as `PackageRevision`.
pub(super) fn package_revision(revision: &Revision, document: Document) -> PackageRevision {
    PackageRevision {
        api_version: API_VERSION.to_owned(),
        kind: Kind::PackageRevision.name().to_owned(),
        spec: PackageRevisionSpec {
            package_name: document.package_name.clone(),
            repository: revision.repository.to_string(),
            workspace_name: document.workspace_name.clone(),
            revision: document.revision,
            lifecycle: Some(lifecycle(revision.lifecycle)),
            tasks: document.tasks.clone(),
            readiness_gates: document.readiness_gates.clone(),
            package_metadata: document.package_metadata.clone(),
        },
        status: PackageRevisionStatus {
            upstream_lock: document.upstream_lock.clone(),
            self_lock: None,
            published_by: document.published_by.clone(),
            publish_timestamp: document.publish_timestamp.clone(),
            deployment: false,
            conditions: revision.conditions.iter().map(condition).collect(),
        },
        metadata: ObjectMeta {
            annotations: revision.annotations.clone(),
            managed_fields: document.managed_fields.clone(),
            ..metadata(revision, document)
        },
    }
}

/// A revision with its files as `PackageRevisionResources`. Without files it is the object that was, as a watch shows it
/// when it goes.
pub(super) fn package_revision_resources(
    revision: &Revision,
    mut document: Document,
    files: Option<&Files>,
    render_status: RenderStatus,
) -> PackageRevisionResources {
    let resources = std::mem::take(&mut document.resources);
    let (texts, binary) = files.map(split).unwrap_or_default();
    let mut annotations = resources.annotations;
    if !binary.is_empty() {
        annotations.insert(BINARY_FILES.to_owned(), serde_json::to_string(&binary).unwrap_or_default());
    }
    PackageRevisionResources {
        api_version: API_VERSION.to_owned(),
        kind: Kind::PackageRevisionResources.name().to_owned(),
        spec: PackageRevisionResourcesSpec {
            package_name: document.package_name.clone(),
            workspace_name: document.workspace_name.clone(),
            revision: document.revision,
            repository: revision.repository.to_string(),
            resources: texts,
        },
        status: PackageRevisionResourcesStatus { render_status },
        metadata: ObjectMeta {
            annotations,
            managed_fields: resources.managed_fields,
            // They belong to the package revision: it is what waits for them.
            finalizers: Vec::new(),
            owner_references: Vec::new(),
            generate_name: String::new(),
            ..metadata(revision, document)
        },
    }
}

/// The files that are text, and the sizes of those that are not.
fn split(files: &Files) -> (BTreeMap<String, String>, BTreeMap<String, usize>) {
    let (mut texts, mut binary) = (BTreeMap::new(), BTreeMap::new());
    for (path, content) in files.iter() {
        match std::str::from_utf8(content) {
            Ok(text) => {
                texts.insert(path.clone(), text.to_owned());
            }
            Err(_) => {
                binary.insert(path.clone(), content.len());
            }
        }
    }
    (texts, binary)
}

fn metadata(revision: &Revision, document: Document) -> ObjectMeta {
    ObjectMeta {
        name: revision.key.name.to_string(),
        generate_name: document.generate_name,
        namespace: revision.key.namespace.to_string(),
        uid: revision.key.uid.to_string(),
        resource_version: revision.object_version.0.to_string(),
        generation: document.generation,
        creation_timestamp: Some(time::seconds(revision.created_ms)),
        deletion_grace_period_seconds: document.deletion_timestamp.is_some().then_some(0),
        deletion_timestamp: document.deletion_timestamp,
        labels: revision.labels.clone(),
        finalizers: document.finalizers,
        owner_references: document.owner_references,
        ..ObjectMeta::default()
    }
}

/// The API's word for a lifecycle.
pub(super) fn lifecycle(lifecycle: model::Lifecycle) -> Lifecycle {
    match lifecycle {
        model::Lifecycle::Draft => Lifecycle::Draft,
        model::Lifecycle::Proposed => Lifecycle::Proposed,
        model::Lifecycle::Published => Lifecycle::Published,
        model::Lifecycle::DeletionProposed => Lifecycle::DeletionProposed,
    }
}

/// The store's word for a lifecycle.
pub(super) fn stored_lifecycle(lifecycle: Lifecycle) -> model::Lifecycle {
    match lifecycle {
        Lifecycle::Draft => model::Lifecycle::Draft,
        Lifecycle::Proposed => model::Lifecycle::Proposed,
        Lifecycle::Published => model::Lifecycle::Published,
        Lifecycle::DeletionProposed => model::Lifecycle::DeletionProposed,
    }
}

fn condition(condition: &model::Condition) -> Condition {
    let status = match condition.status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    };
    Condition {
        kind: condition.kind.to_string(),
        status: status.to_owned(),
        reason: condition.reason.to_string(),
        message: condition.message.clone(),
        last_transition_time: Some(time::seconds(condition.since_ms)),
    }
}

/// The conditions that a client may set, as the store takes them; a status that stays keeps its time.
pub(super) fn stored_conditions(
    wanted: &[Condition],
    current: &[model::Condition],
    now_ms: u64,
) -> Vec<model::Condition> {
    let theirs = wanted.iter().filter(|condition| !RenderState::owns(&condition.kind));
    let stored = theirs.map(|condition| {
        let status = match &*condition.status {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        };
        let old = current.iter().find(|old| *old.kind == *condition.kind && old.status == status);
        model::Condition {
            kind: condition.kind.clone().into(),
            status,
            reason: condition.reason.clone().into(),
            message: condition.message.clone(),
            content: model::ContentDigest([0; 32]),
            configuration: None,
            since_ms: old.map_or(now_ms, |old| old.since_ms),
        }
    });
    stored.collect()
}

/// How its render stands, in a word: what `kubectl get` shows as RENDERED.
pub(super) fn rendered(revision: &Revision) -> &'static str {
    match revision.render_state() {
        Some(RenderState::Ended(ending)) if ending.rendered => "True",
        Some(RenderState::Ended(_)) => "False",
        Some(RenderState::Rendering) => "Rendering",
        Some(RenderState::Scheduled | RenderState::Waiting(_)) => "Scheduled",
        None => "Unknown",
    }
}

/// Why: the reason and what a person should read of it.
pub(super) fn rendered_why(revision: &Revision) -> (&'static str, String) {
    match revision.render_state() {
        Some(RenderState::Ended(ending)) => (ending.reason.as_str(), ending.message),
        Some(RenderState::Rendering) => (Reason::Rendering.as_str(), String::new()),
        Some(RenderState::Scheduled) => (Reason::Scheduled.as_str(), String::new()),
        Some(RenderState::Waiting(why)) => (Reason::Scheduled.as_str(), why),
        None => ("", String::new()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use portico_scheduler::model::{Ending, RevisionKey};
    use portico_scheduler::store::{NewRevision, StoreLimits, rules};

    use super::*;
    use crate::api::types::PackageMetadata;

    pub(in crate::api) fn files(contents: &[(&str, &[u8])]) -> Files {
        let files = contents.iter().map(|(path, content)| ((*path).to_owned(), Bytes::copy_from_slice(content)));
        Arc::new(files.collect())
    }

    /// A draft as the store makes it.
    pub(in crate::api) fn sample() -> Revision {
        let document = Document {
            package_name: "net/core".into(),
            workspace_name: "v1".into(),
            generation: 1,
            finalizers: vec!["example.com/cleanup".into()],
            package_metadata: Some(PackageMetadata::default()),
            ..Document::default()
        };
        let new = NewRevision {
            labels: [("team".to_owned(), "a".to_owned())].into(),
            annotations: [("note".to_owned(), "b".to_owned())].into(),
            document: document.to_bytes(),
            ..NewRevision::new("ns", "r.net.core.v1", "r", files(&[("Kptfile", b"k"), ("logo.png", &[0xff, 0xfe])]))
        };
        let at = rules::At { version: model::ObjectVersion(7), now_ms: 1_790_000_000_000 };
        rules::create(&new, None, "uid-1", &StoreLimits::default(), at).unwrap().revision
    }

    #[test]
    fn a_revision_is_shown_with_porchs_names() {
        let mut revision = sample();
        revision.conditions.push(model::Condition {
            kind: "Ready".into(),
            status: ConditionStatus::False,
            reason: "Theirs".into(),
            message: "not yet".into(),
            content: model::ContentDigest([0; 32]),
            configuration: None,
            since_ms: 0,
        });
        let object = package_revision(&revision, Document::of(&revision));
        let json = serde_json::to_value(&object).unwrap();
        assert_eq!(json["apiVersion"], "porch.kpt.dev/v1alpha1");
        assert_eq!(json["metadata"]["resourceVersion"], "7");
        assert_eq!(json["metadata"]["creationTimestamp"], "2026-09-21T14:13:20Z");
        assert_eq!(json["metadata"]["finalizers"], serde_json::json!(["example.com/cleanup"]));
        assert_eq!(json["metadata"]["annotations"], serde_json::json!({"note": "b"}));
        assert_eq!(json["spec"]["packageName"], "net/core");
        assert_eq!(json["spec"]["lifecycle"], "Draft");
        assert_eq!(json["status"]["conditions"][0]["type"], "RenderFinished");
        assert_eq!(json["status"]["conditions"][0]["status"], "False");
        assert_eq!(json["status"]["conditions"][1]["type"], "Ready");
        assert_eq!(serde_json::from_value::<PackageRevision>(json).unwrap(), object, "it reads what it has shown");
    }

    #[test]
    fn files_that_are_no_text_stand_in_an_annotation_and_annotations_are_its_own() {
        let revision = sample();
        let files = files(&[("Kptfile", b"k"), ("logo.png", &[0xff, 0xfe])]);
        let status = RenderStatus::default();
        let object = package_revision_resources(&revision, Document::of(&revision), Some(&files), status);
        assert_eq!(object.spec.resources, [("Kptfile".to_owned(), "k".to_owned())].into());
        assert_eq!(object.metadata.annotations, [(BINARY_FILES.to_owned(), r#"{"logo.png":2}"#.to_owned())].into());
        assert_eq!(object.metadata.labels, revision.labels);
        assert!(object.metadata.finalizers.is_empty());
    }

    #[test]
    fn a_clients_conditions_are_stored_without_the_renders_and_keep_their_time() {
        let wanted =
            |kind: &str, status: &str| Condition { kind: kind.into(), status: status.into(), ..Condition::default() };
        let first = stored_conditions(&[wanted("Rendered", "True"), wanted("Ready", "False")], &[], 10);
        assert_eq!(first.len(), 1);
        let same = stored_conditions(&[wanted("Ready", "False")], &first, 20);
        assert_eq!(same[0].since_ms, 10);
        let changed = stored_conditions(&[wanted("Ready", "True")], &first, 20);
        assert_eq!(changed[0].since_ms, 20);
    }

    #[test]
    fn how_a_render_stands_is_one_word() {
        let mut revision = sample();
        let digest = revision.content_digest;
        assert_eq!(rendered(&revision), "Scheduled");
        for (state, word) in [
            (RenderState::Rendering, "Rendering"),
            (RenderState::Waiting("no route".into()), "Scheduled"),
            (RenderState::Ended(Ending::success()), "True"),
            (RenderState::Ended(Ending::failure(Reason::Cancelled, "asked")), "False"),
        ] {
            state.write(&mut revision.conditions, digest, 1);
            assert_eq!(rendered(&revision), word);
        }
        assert_eq!(rendered_why(&revision), ("Cancelled", "asked".to_owned()));
        revision.key = RevisionKey::new("ns", "other", "uid");
        revision.conditions.clear();
        assert_eq!(rendered(&revision), "Unknown");
    }
}

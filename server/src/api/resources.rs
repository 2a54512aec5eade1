//! What clients may change of a `PackageRevisionResources`: pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use portico_krm::kptfile::KPTFILE_NAME;
use portico_scheduler::model::{Files, Lifecycle, RenderState, Revision, mirror};
use portico_scheduler::store::ClientUpdate;

use super::convert;
use super::document::Document;
use super::names;
use super::package::Facts;
use super::show::{Shown, to_value};
use super::status::{Cause, Status};
use super::time;
use super::types::{BINARY_FILES, Condition, Kind, PackageRevisionResources, RenderStatus};
use super::write::Next;
use crate::record::{now_ms, wishes};

/// What an update of the files makes of them.
pub(super) fn next(current: &Shown, wanted: PackageRevisionResources) -> Result<Next, Status> {
    let revision = &current.revision;
    let kind = Kind::PackageRevisionResources;
    let old = current.files.clone().unwrap_or_default();
    let mut warnings = Vec::new();
    let mut causes = Vec::new();
    names::check_metadata(&wanted.metadata, &mut causes);
    let mut annotations = wanted.metadata.annotations;
    let kept = binary(&old, annotations.remove(BINARY_FILES).as_deref(), &mut causes);
    if !causes.is_empty() {
        return Err(Status::invalid(kind, &revision.key.name, causes));
    }
    if wanted.metadata.labels != revision.labels {
        warnings.push(
            "metadata.labels: labels are those of the packagerevision of this name, and are changed there".into(),
        );
    }
    let new = wanted.spec.resources.into_iter().map(|(path, text)| (path, Bytes::from(text)));
    let new: Files = Arc::new(kept.into_iter().chain(new).collect());

    let mut document = current.document.clone();
    document.resources.annotations.clone_from(&annotations);
    let mut update = ClientUpdate::default();
    if !same(&old, &new, revision) {
        if revision.lifecycle != Lifecycle::Draft {
            let why = format!("it is {:?}: only the files of a draft can change", revision.lifecycle);
            return Err(Status::invalid(kind, &revision.key.name, vec![Cause::forbidden("spec.resources", &why)]));
        }
        document.generation += 1;
        let facts = Facts::of(&new);
        if let Some(facts) = &facts {
            note(&mut document, facts);
            update.conditions = Some(merged(revision, facts));
        }
        // What a client says of a render is not what the server knows of it.
        update.files = Some(mirror(&new, &RenderState::Scheduled));
        update.annotations = wishes::without_passed(&revision.annotations, now_ms());
    }
    let (files, render) = match &update.files {
        Some(files) => (files, RenderStatus::default()),
        None => (&old, current.render.clone()),
    };
    let after = convert::package_revision_resources(revision, document.clone(), Some(files), render);
    Ok(Next { update, document, warnings, object: to_value(&after) })
}

/// Keeps what a Kptfile says.
pub(super) fn note(document: &mut Document, facts: &Facts) {
    document.package_metadata.clone_from(&facts.metadata);
    document.upstream_lock.clone_from(&facts.upstream_lock);
    if !facts.readiness_gates.is_empty() {
        document.readiness_gates.clone_from(&facts.readiness_gates);
    }
}

/// The conditions of the Kptfile, and those of the revision that it does not name.
fn merged(revision: &Revision, facts: &Facts) -> Vec<portico_scheduler::model::Condition> {
    let theirs = revision.conditions.iter().filter(|old| !facts.conditions.iter().any(|new| *new.kind == *old.kind));
    let mut conditions: Vec<_> = theirs.cloned().collect();
    let valid = |condition: &&Condition| matches!(&*condition.status, "True" | "False" | "Unknown");
    let new: Vec<Condition> = facts.conditions.iter().filter(valid).cloned().collect();
    conditions.extend(convert::stored_conditions(&new, &revision.conditions, time::now_ms()));
    conditions
}

/// Whether the files say the same, whatever a Kptfile says of its render: another render would come to the same.
fn same(old: &Files, new: &Files, revision: &Revision) -> bool {
    if old == new {
        return true;
    }
    let others = |files: &Files| files.len() - usize::from(files.contains_key(KPTFILE_NAME));
    let differ = new.iter().any(|(path, content)| path != KPTFILE_NAME && old.get(path) != Some(content));
    if differ || others(old) != others(new) {
        return false;
    }
    // The state that the stored Kptfile shows is that of its last render, or the one that it was stored with.
    let ended = revision.render_state().unwrap_or(RenderState::Scheduled);
    [ended, RenderState::Scheduled].iter().any(|state| mirror(new, state) == mirror(old, state))
}

/// The files that are no text and stay. A client names them in an annotation, or does not know of it.
fn binary(old: &Files, named: Option<&str>, causes: &mut Vec<Cause>) -> BTreeMap<String, Bytes> {
    let field = format!("metadata.annotations[{BINARY_FILES}]");
    let mut kept: BTreeMap<String, Bytes> = old
        .iter()
        .filter(|(_, content)| std::str::from_utf8(content).is_err())
        .map(|(p, c)| (p.clone(), c.clone()))
        .collect();
    let Some(named) = named else { return kept };
    let Ok(names) = serde_json::from_str::<BTreeMap<String, serde_json::Value>>(named) else {
        let why = "it must be a JSON object of paths, as the server gives it; leave a path out to remove the file";
        causes.push(Cause::invalid(&field, named, why));
        return kept;
    };
    for path in names.keys().filter(|path| !kept.contains_key(*path)) {
        let why =
            "there is no such file: files that are no text can be kept or removed by this API, and not be brought";
        causes.push(Cause::invalid(&field, path, why));
    }
    kept.retain(|path, _| names.contains_key(path));
    kept
}

#[cfg(test)]
mod tests {
    use portico_scheduler::model::Ending;

    use super::super::convert::tests::{files, sample};
    use super::*;

    const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n";

    fn shown(contents: &[(&str, &[u8])]) -> (Shown, PackageRevisionResources) {
        let mut revision = sample();
        let files = files(contents);
        let ended = RenderState::Ended(Ending::success());
        let files = mirror(&files, &ended);
        ended.write(&mut revision.conditions, revision.content_digest, 1);
        let shown = Shown { files: Some(files.clone()), ..Shown::of(Arc::new(revision)) };
        let object = convert::package_revision_resources(
            &shown.revision,
            shown.document.clone(),
            Some(&files),
            RenderStatus::default(),
        );
        (shown, object)
    }

    #[test]
    fn equal_files_are_no_write_whatever_their_kptfile_says_of_its_render() {
        let (current, mut wanted) = shown(&[("Kptfile", KPTFILE.as_bytes()), ("a.yaml", b"a: 1\n")]);
        assert!(next(&current, wanted.clone()).unwrap().update.files.is_none());
        wanted.spec.resources.insert("Kptfile".into(), KPTFILE.into());
        assert!(next(&current, wanted.clone()).unwrap().update.files.is_none());
        wanted.spec.resources.insert("a.yaml".into(), "a: 2\n".into());
        let next = next(&current, wanted).unwrap();
        assert_eq!(next.document.generation, 2);
        let files = next.update.files.unwrap();
        assert_eq!(&files["a.yaml"][..], b"a: 2\n");
        assert!(String::from_utf8_lossy(&files["Kptfile"]).contains("type: RenderFinished"));
    }

    #[test]
    fn files_that_are_no_text_stay_until_they_are_taken_out_of_the_annotation() {
        let (current, mut wanted) = shown(&[("Kptfile", KPTFILE.as_bytes()), ("logo.png", &[0xff])]);
        assert!(wanted.metadata.annotations.contains_key(BINARY_FILES));
        wanted.spec.resources.insert("a.yaml".into(), "a: 1\n".into());
        assert!(next(&current, wanted.clone()).unwrap().update.files.unwrap().contains_key("logo.png"));
        let mut unknowing = wanted.clone();
        unknowing.metadata.annotations.clear();
        assert!(next(&current, unknowing).unwrap().update.files.unwrap().contains_key("logo.png"));
        wanted.metadata.annotations.insert(BINARY_FILES.into(), "{}".into());
        let removed = next(&current, wanted.clone()).unwrap();
        assert!(!removed.update.files.unwrap().contains_key("logo.png"));
        assert!(!removed.document.resources.annotations.contains_key(BINARY_FILES));
        wanted.metadata.annotations.insert(BINARY_FILES.into(), r#"{"other.png":3}"#.into());
        assert_eq!(next(&current, wanted).unwrap_err().code, 422);
    }

    #[test]
    fn only_the_files_of_a_draft_change() {
        let (mut current, mut wanted) = shown(&[("Kptfile", KPTFILE.as_bytes())]);
        let published = Revision { lifecycle: Lifecycle::Published, ..(*current.revision).clone() };
        current.revision = Arc::new(published);
        wanted.metadata.annotations.insert("a".into(), "b".into());
        assert!(next(&current, wanted.clone()).is_ok());
        wanted.spec.resources.insert("a.yaml".into(), "a: 1\n".into());
        assert_eq!(next(&current, wanted).unwrap_err().code, 422);
    }

    #[test]
    fn labels_are_the_package_revisions() {
        let (current, mut wanted) = shown(&[("Kptfile", KPTFILE.as_bytes())]);
        wanted.metadata.labels.clear();
        let next = next(&current, wanted).unwrap();
        assert_eq!((next.update.labels, next.warnings.len()), (None, 1));
    }

    #[test]
    fn what_the_kptfile_says_is_noted() {
        let (current, mut wanted) = shown(&[("Kptfile", KPTFILE.as_bytes())]);
        let kptfile = format!(
            "{KPTFILE}  labels: {{team: x}}\nstatus:\n  conditions:\n  - type: Ready\n    status: \"True\"\n  - type: Rendered\n    \
             status: \"True\"\n"
        );
        wanted.spec.resources.insert("Kptfile".into(), kptfile);
        let next = next(&current, wanted).unwrap();
        assert_eq!(next.document.package_metadata.unwrap().labels["team"], "x");
        let kinds: Vec<_> = next.update.conditions.unwrap().iter().map(|c| c.kind.to_string()).collect();
        assert!(kinds.contains(&"Ready".to_owned()));
    }
}

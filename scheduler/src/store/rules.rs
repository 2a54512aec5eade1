//! What a write makes of a revision: pure, and the same for every store.
//!
//! Each function takes the revision as it is in the transaction and the version that the write will have, and gives the
//! revision as it is to be, or refuses. A store that calls them between its read and its write is right by
//! construction.

use bytes::Bytes;

use super::{ClientUpdate, Expected, NewRevision, RenderLog, RenderResult, StoreError, StoreLimits};
use crate::model::{
    Condition, ContentDigest, ContentVersion, Files, Lifecycle, ObjectVersion, RenderState, Revision, RevisionKey,
    mirror,
};

/// When a write takes place: the version that it will have, and the time in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub struct At {
    /// The version.
    pub version: ObjectVersion,
    /// The time.
    pub now_ms: u64,
}

/// Files as a store keeps them, with their digest. Made of what a writer brings before the write waits for its turn: it
/// takes as long as the files are large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The files.
    pub files: Files,
    /// Their digest.
    pub digest: ContentDigest,
}

impl Content {
    /// A client's files. Their Kptfile says that a render is scheduled, as the revision's status does from the same
    /// instant on, whatever the client, or the package that it is a clone of, said there; see [`mirror`].
    pub fn accepted(files: &Files) -> Self {
        Self::rendered(&mirror(files, &RenderState::Scheduled))
    }

    /// A render's files, as they are.
    pub fn rendered(files: &Files) -> Self {
        Self { digest: ContentDigest::of(files), files: Files::clone(files) }
    }
}

/// What a write makes.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The revision as it is to be.
    pub revision: Revision,
    /// The files, if they are written: the content version has moved.
    pub files: Option<Files>,
}

/// A new draft. `content` is [`Content::accepted`] of its files, where that was done already.
pub fn create(
    new: &NewRevision,
    content: Option<&Content>,
    uid: &str,
    limits: &StoreLimits,
    at: At,
) -> Result<Outcome, StoreError> {
    let key = RevisionKey::new(&new.namespace, &new.name, uid);
    for (what, name) in [("namespace", &new.namespace), ("name", &new.name), ("repository", &new.repository)] {
        check_name(&key, what, name, limits)?;
    }
    let content = content.map_or_else(|| Content::accepted(&new.files), Content::clone);
    check_files(&key, &content.files, limits)?;
    within(&key, || "number of labels".into(), new.labels.len(), "labels", limits.labels)?;
    within(&key, || "number of annotations".into(), new.annotations.len(), "annotations", limits.annotations)?;
    let digest = content.digest;
    let mut conditions = foreign(&key, &new.conditions, limits)?;
    RenderState::Scheduled.write(&mut conditions, digest, at.now_ms);
    let revision = Revision {
        key,
        repository: new.repository.clone(),
        lifecycle: Lifecycle::Draft,
        priority: new.priority,
        labels: new.labels.clone(),
        annotations: new.annotations.clone(),
        document: new.document.clone(),
        object_version: at.version,
        content_version: ContentVersion(at.version.0),
        content_digest: digest,
        conditions,
        created_ms: at.now_ms,
        changed_ms: at.now_ms,
    };
    check_texts(&revision, limits)?;
    Ok(Outcome { revision, files: Some(content.files) })
}

/// A client's write. `content` is [`Content::accepted`] of its files, where that was done already.
pub fn update(
    current: &Revision,
    expected: Expected,
    update: &ClientUpdate,
    content: Option<&Content>,
    limits: &StoreLimits,
    at: At,
) -> Result<Outcome, StoreError> {
    expect(current, expected)?;
    let mut revision = current.clone();
    revision.object_version = at.version;
    if let Some(labels) = &update.labels {
        within(&current.key, || "number of labels".into(), labels.len(), "labels", limits.labels)?;
        revision.labels.clone_from(labels);
    }
    if let Some(annotations) = &update.annotations {
        within(&current.key, || "number of annotations".into(), annotations.len(), "annotations", limits.annotations)?;
        revision.annotations.clone_from(annotations);
    }
    if let Some(document) = &update.document {
        revision.document.clone_from(document);
    }
    if let Some(priority) = update.priority {
        revision.priority = priority;
    }
    if let Some(conditions) = &update.conditions {
        let ours = current.conditions.iter().filter(|c| RenderState::owns(&c.kind));
        revision.conditions = foreign(&current.key, conditions, limits)?;
        revision.conditions.extend(ours.cloned());
    }
    check_texts(&revision, limits)?;
    let mut written = None;
    if let Some(files) = &update.files {
        draft(current)?;
        let content = content.map_or_else(|| Content::accepted(files), Content::clone);
        check_files(&current.key, &content.files, limits)?;
        set_content(&mut revision, content.digest, at);
        RenderState::Scheduled.write(&mut revision.conditions, content.digest, at.now_ms);
        written = Some(content.files);
    }
    // Last, so that new files and a proposal in one write are refused: nothing has rendered them.
    if let Some(to) = update.lifecycle {
        change_lifecycle(&mut revision, to)?;
    }
    Ok(Outcome { revision, files: written })
}

/// Whether the revision may go.
pub fn delete(current: &Revision, expected: Option<Expected>) -> Result<(), StoreError> {
    expected.map_or(Ok(()), |expected| expect(current, expected))
}

/// The scheduler's write of a render's result. The caller keeps the log as well. `content` is [`Content::rendered`] of the
/// result's files, where that was done already.
pub fn save_result(
    current: &Revision,
    rendered: ContentVersion,
    result: &RenderResult,
    content: Option<&Content>,
    limits: &StoreLimits,
    at: At,
) -> Result<Outcome, StoreError> {
    expect(current, Expected::Content(rendered))?;
    draft(current)?;
    if !current.is_unfinished() {
        return Err(StoreError::AlreadyFinished { key: current.key.clone(), content: rendered });
    }
    let mut revision = current.clone();
    revision.object_version = at.version;
    let mut written = None;
    if let Some(files) = &result.files {
        check_files(&current.key, files, limits)?;
        let digest = content.map_or_else(|| ContentDigest::of(files), |content| content.digest);
        // Equal files are no new content: whoever read them has read the newest.
        if digest != current.content_digest {
            set_content(&mut revision, digest, at);
            written = Some(files.clone());
        }
    }
    let digest = revision.content_digest;
    RenderState::Ended(result.ending.clone()).write(&mut revision.conditions, digest, at.now_ms);
    Ok(Outcome { revision, files: written })
}

/// The scheduler's word on how a render stands; `None` if the revision says so already.
pub fn set_state(
    current: &Revision,
    content: ContentVersion,
    state: &RenderState,
    at: At,
) -> Result<Option<Revision>, StoreError> {
    expect(current, Expected::Content(content))?;
    draft(current)?;
    if state.stands_in(&current.conditions, current.content_digest) {
        return Ok(None);
    }
    // What has ended has ended: a scheduler that has not heard of it yet, and believes that it runs, waits or was
    // cancelled, would have it rendered once more. To begin anew is asked for in so many words.
    let ended = matches!(current.render_state(), Some(RenderState::Ended(_)));
    if ended && *state != RenderState::Scheduled {
        return Err(StoreError::AlreadyFinished { key: current.key.clone(), content });
    }
    let mut revision = current.clone();
    revision.object_version = at.version;
    state.write(&mut revision.conditions, current.content_digest, at.now_ms);
    Ok(Some(revision))
}

/// Whether the log of a render without a result is worth keeping: not when that of newer content is there.
pub fn keeps_log(current: Option<&RenderLog>, new: &RenderLog) -> bool {
    current.is_none_or(|current| current.content <= new.content)
}

/// A render's text of at most [`StoreLimits::log_bytes`]: head and tail of a longer one.
pub fn bounded_log(text: &Bytes, limits: &StoreLimits) -> Bytes {
    if text.len() <= limits.log_bytes {
        return text.clone();
    }
    let note = 64;
    let each = limits.log_bytes.saturating_sub(note) / 2;
    let left_out = text.len() - 2 * each;
    let mut short = Vec::with_capacity(limits.log_bytes);
    short.extend_from_slice(&text[..each]);
    short.extend_from_slice(format!("\n[{left_out} bytes left out]\n").as_bytes());
    short.extend_from_slice(&text[text.len() - each..]);
    short.into()
}

fn set_content(revision: &mut Revision, digest: ContentDigest, at: At) {
    revision.content_version = ContentVersion(at.version.0);
    revision.content_digest = digest;
    revision.changed_ms = at.now_ms;
}

fn expect(current: &Revision, expected: Expected) -> Result<(), StoreError> {
    let holds = match expected {
        Expected::Object(version) => current.object_version == version,
        Expected::Content(version) => current.content_version == version,
    };
    if holds {
        return Ok(());
    }
    Err(StoreError::Conflict {
        key: current.key.clone(),
        expected,
        found: current.object_version,
        content: current.content_version,
    })
}

fn draft(current: &Revision) -> Result<(), StoreError> {
    if current.lifecycle == Lifecycle::Draft {
        return Ok(());
    }
    Err(StoreError::NotADraft { key: current.key.clone(), lifecycle: current.lifecycle })
}

/// Porch's steps. Beyond `Draft`, only what is rendered goes on.
fn change_lifecycle(revision: &mut Revision, to: Lifecycle) -> Result<(), StoreError> {
    use Lifecycle::{DeletionProposed, Draft, Proposed, Published};
    let from = revision.lifecycle;
    let key = || revision.key.clone();
    match (from, to) {
        _ if from == to => return Ok(()),
        (Draft, Proposed) | (Proposed, Published) => match revision.render_state() {
            Some(RenderState::Ended(ending)) if ending.rendered => {}
            Some(RenderState::Ended(ending)) => {
                let (content, reason) = (revision.content_version, ending.reason);
                return Err(StoreError::RenderFailed { key: key(), content, reason, to });
            }
            _ => return Err(StoreError::RenderPending { key: key(), content: revision.content_version, to }),
        },
        (Proposed, Draft) | (Published, DeletionProposed) | (DeletionProposed, Published) => {}
        _ => return Err(StoreError::Lifecycle { key: key(), from, to }),
    }
    revision.lifecycle = to;
    Ok(())
}

/// The conditions that are not the scheduler's, the last of a type.
fn foreign(key: &RevisionKey, conditions: &[Condition], limits: &StoreLimits) -> Result<Vec<Condition>, StoreError> {
    let mut kept: Vec<Condition> = Vec::new();
    for condition in conditions.iter().filter(|c| !RenderState::owns(&c.kind)) {
        let size = condition.kind.len() + condition.reason.len() + condition.message.len();
        within(
            key,
            || format!("condition `{}`", condition.kind.escape_debug()),
            size,
            "text_bytes",
            limits.text_bytes,
        )?;
        kept.retain(|old| old.kind != condition.kind);
        kept.push(condition.clone());
        within(key, || "number of conditions".into(), kept.len(), "conditions", limits.conditions)?;
    }
    Ok(kept)
}

/// The texts that clients put beside the files.
fn check_texts(revision: &Revision, limits: &StoreLimits) -> Result<(), StoreError> {
    let labels = revision.labels.iter().map(|(name, value)| name.len() + value.len());
    let theirs = revision.conditions.iter().filter(|c| !RenderState::owns(&c.kind));
    let conditions = theirs.map(|c| c.kind.len() + c.reason.len() + c.message.len());
    let what = || "the text of labels and conditions".into();
    within(&revision.key, what, labels.chain(conditions).sum(), "text_bytes", limits.text_bytes)?;
    let annotations = revision.annotations.iter().map(|(name, value)| name.len() + value.len()).sum();
    let what = || "the text of annotations".into();
    within(&revision.key, what, annotations, "annotation_bytes", limits.annotation_bytes)?;
    let what = || "what the API keeps beside".into();
    within(&revision.key, what, revision.document.len(), "document_bytes", limits.document_bytes)
}

fn check_name(key: &RevisionKey, what: &'static str, name: &str, limits: &StoreLimits) -> Result<(), StoreError> {
    within(key, || what.into(), name.len(), "name_bytes", limits.name_bytes)?;
    let problem = if name.is_empty() {
        "is empty"
    } else if name.chars().any(|c| c.is_control() || c == '/') {
        "has a slash or a control character"
    } else {
        return Ok(());
    };
    Err(StoreError::Invalid { key: key.clone(), what, value: name.escape_debug().collect(), problem })
}

fn check_files(key: &RevisionKey, files: &Files, limits: &StoreLimits) -> Result<(), StoreError> {
    if files.is_empty() {
        return Err(StoreError::NoFiles(key.clone()));
    }
    within(key, || "number of files".into(), files.len(), "files", limits.files)?;
    let mut bytes = 0;
    for (path, content) in files.iter() {
        within(key, || "a path".into(), path.len(), "path_bytes", limits.path_bytes)?;
        let problem = if path.contains('\0') {
            "has a null character"
        } else if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            "is not a plain relative path"
        } else {
            bytes += (path.len() + content.len()) as u64;
            continue;
        };
        let value = path.escape_debug().collect();
        return Err(StoreError::Invalid { key: key.clone(), what: "path", value, problem });
    }
    if bytes > limits.package_bytes {
        let (what, limit) = ("the package".into(), "package_bytes");
        return Err(StoreError::TooLarge { key: key.clone(), what, size: bytes, limit, max: limits.package_bytes });
    }
    Ok(())
}

fn within(
    key: &RevisionKey,
    what: impl FnOnce() -> String,
    size: usize,
    limit: &'static str,
    max: usize,
) -> Result<(), StoreError> {
    if size <= max {
        return Ok(());
    }
    Err(StoreError::TooLarge { key: key.clone(), what: what(), size: size as u64, limit, max: max as u64 })
}

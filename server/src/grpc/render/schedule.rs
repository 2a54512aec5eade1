//! `Schedule`: content, and what is wished for its render, become a revision's; the render follows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use portico_runtime::LimitSettings;
use portico_scheduler::model::{ContentVersion, Priority, Revision};
use portico_scheduler::store::{ClientUpdate, Expected, NewRevision, PackageStore as _, StoreError};
use tonic::{Request, Status, Streaming};

use super::convert::{self, SOURCE_VERSION, store_error};
use super::files::Incoming;
use super::once::next;
use super::revisions::{find, key_of};
use super::{PORCH, Service};
use crate::api::names::is_subdomain;
use crate::grpc::proto::v1;
use crate::grpc::proto::v1::schedule_request::Message as Asked;
use crate::ops::traces;
use crate::record::{now_ms, wishes};

/// How often a write is tried again after somebody else's.
const TRIES: usize = 64;

pub(super) async fn schedule(
    service: &Service,
    request: Request<Streaming<v1::ScheduleRequest>>,
) -> Result<v1::ScheduleResponse, Status> {
    let scheduler = service.revisions()?.scheduler.clone();
    let (metadata, extensions, mut messages) = request.into_parts();
    let Some(v1::ScheduleRequest { message: Some(Asked::Begin(begin)) }) = next(&mut messages).await? else {
        return Err(Status::invalid_argument("the first message is to be `begin`"));
    };
    let notes = Notes::of(&begin, now_ms())?;
    let wishes = begin.no_limits || !begin.limits.is_empty() || begin.style != 0 || begin.deadline.is_some();
    let v1::ScheduleBegin { key, content_version, with_files, repository, priority, .. } = begin;
    let key = key_of(key)?;
    let resource = if with_files { "packagerevisionresources" } else { "packagerevisions" };
    let who = Request::from_parts(metadata, extensions, ());
    service.authorize(&who, "update", (PORCH, resource, ""), &key.namespace, &key.name)?;
    if with_files && wishes {
        // They are annotations, which whoever may write files alone does not set in the Kubernetes API either.
        service.authorize(&who, "update", (PORCH, "packagerevisions", ""), &key.namespace, &key.name)?;
    }
    let expected = match &*content_version {
        "" => None,
        version => Some(ContentVersion(convert::version(version, "content_version")?)),
    };
    let priority = convert::priority(priority)?;
    if !repository.is_empty() && !is_subdomain(&repository) {
        return Err(Status::invalid_argument("`repository` is no name of Kubernetes"));
    }
    let files = if with_files { Some(Arc::new(files(service, &key, &notes, &mut messages).await?)) } else { None };
    let write = Write { service, key, expected, files, repository, priority, notes };
    let mut revision = write.done(&who).await?;
    let status = if with_files {
        traces::wrote(&revision);
        scheduler.changed(revision.clone());
        scheduler.render_execution_status(&revision.key)
    } else {
        let failed = |error: StoreError| store_error(&error, &service.settings);
        let status = scheduler.schedule_render(&revision.key).await.map_err(failed)?;
        revision = scheduler.store().revision(&revision.key).await.map_err(failed)?;
        traces::wrote(&revision);
        status
    };
    let revision = convert::revision(&revision, status);
    Ok(v1::ScheduleResponse { status: revision.status, revision: Some(revision) })
}

/// The files that follow, as large as the limits allow that hold for the revision.
async fn files(
    service: &Service,
    key: &v1::Key,
    notes: &Notes,
    messages: &mut Streaming<v1::ScheduleRequest>,
) -> Result<BTreeMap<String, Bytes>, Status> {
    let limits = match &notes.limits {
        Some(limits) => limits.clone(),
        // Those of before stay. Without a revision there are none; a store that fails does so again at the write.
        None => match find(service, key).await {
            Ok(revision) => wishes::limits_of(&revision.annotations).unwrap_or_default(),
            Err(_) => LimitSettings::default(),
        },
    };
    let mut incoming = Incoming::new(service.renders.for_request(&key.namespace, &limits).limits);
    while let Some(message) = next(messages).await? {
        match message.message {
            Some(Asked::Files(files)) => incoming.add(files)?,
            Some(Asked::Begin(_)) => return Err(Status::invalid_argument("`begin` comes once")),
            None => {}
        }
    }
    Ok(incoming.finish()?.into_iter().map(|(path, content)| (path, Bytes::from(content))).collect())
}

/// What becomes of a revision's annotations.
#[derive(Debug, Default, PartialEq)]
struct Notes {
    /// The new value of each, or none; those that are not named stay.
    changes: BTreeMap<&'static str, Option<String>>,
    /// All limits that are asked for now; `None`: those of before.
    limits: Option<LimitSettings>,
}

impl Notes {
    /// What a call says that came at this time, in milliseconds since 1970.
    fn of(begin: &v1::ScheduleBegin, now_ms: u64) -> Result<Self, Status> {
        let mut notes = Self::default();
        if begin.with_files {
            // What the caller calls this content: nothing of an older one stays.
            let source = Some(begin.source_version.clone()).filter(|source| !source.is_empty());
            notes.changes.insert(SOURCE_VERSION, source);
        }
        if begin.no_limits && !begin.limits.is_empty() {
            return Err(Status::invalid_argument("`no_limits` goes with no `limits`"));
        }
        if begin.no_limits || !begin.limits.is_empty() {
            let limits = convert::limits(&begin.limits)?;
            let text = Some(wishes::limits_text(&limits)).filter(|text| !text.is_empty());
            notes.changes.insert(wishes::LIMITS, text);
            notes.limits = Some(limits);
        }
        if let Some(style) = convert::wanted_style(begin.style)? {
            notes.changes.insert(wishes::YAML_STYLE, Some(wishes::style_text(style).to_owned()));
        }
        // A time is of the call that asked for it: that of an earlier one says nothing of what is asked for now.
        let by = begin.deadline.as_ref().map(|deadline| by(deadline, now_ms)).transpose()?;
        notes.changes.insert(wishes::RENDER_BY, by);
        let mut written = BTreeMap::new();
        notes.apply(&mut written);
        // What could not be rendered is refused here, where the caller hears of it.
        wishes::Wishes::read(&written).map_err(|error| Status::invalid_argument(error.to_string()))?;
        Ok(notes)
    }

    fn apply(&self, annotations: &mut BTreeMap<String, String>) {
        for (name, value) in &self.changes {
            match value {
                Some(value) => _ = annotations.insert((*name).to_owned(), value.clone()),
                None => _ = annotations.remove(*name),
            }
        }
    }
}

fn by(deadline: &prost_types::Duration, now_ms: u64) -> Result<String, Status> {
    let after = Duration::try_from(*deadline).ok().filter(|after| !after.is_zero());
    let text = after.and_then(|after| wishes::by_text(now_ms, after));
    text.ok_or_else(|| Status::invalid_argument("`deadline` is to be more than nothing, and to end within this age"))
}

/// What a call makes of a revision, which may have to be made itself if there are files.
struct Write<'a> {
    service: &'a Service,
    key: v1::Key,
    expected: Option<ContentVersion>,
    files: Option<Arc<BTreeMap<String, Bytes>>>,
    repository: String,
    priority: Option<Priority>,
    notes: Notes,
}

impl Write<'_> {
    async fn done(&self, who: &Request<()>) -> Result<Revision, Status> {
        let failed = |error: StoreError| store_error(&error, &self.service.settings);
        let mut tries = 0;
        loop {
            let written = match (find(self.service, &self.key).await, &self.files) {
                (Ok(revision), _) => {
                    self.check(&revision).map_err(failed)?;
                    self.update(revision).await
                }
                (Err(StoreError::NoSuchName { .. }), Some(files)) if self.expected.is_none() => {
                    let what = (PORCH, "packagerevisions", "");
                    self.service.authorize(who, "create", what, &self.key.namespace, &self.key.name)?;
                    self.create(files).await
                }
                (Err(error), _) => Err(error),
            };
            tries += 1;
            match written {
                Ok(revision) => return Ok(revision),
                // Somebody else was there in between: whether that matters to the caller is seen in what is there now.
                Err(StoreError::Conflict { .. } | StoreError::Exists(_)) if tries < TRIES => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Whether the content is what the caller has seen.
    fn check(&self, revision: &Revision) -> Result<(), StoreError> {
        match self.expected {
            Some(expected) if expected != revision.content_version => Err(StoreError::Conflict {
                key: revision.key.clone(),
                expected: Expected::Content(expected),
                found: revision.object_version,
                content: revision.content_version,
            }),
            _ => Ok(()),
        }
    }

    async fn create(&self, files: &Arc<BTreeMap<String, Bytes>>) -> Result<Revision, StoreError> {
        let v1::Key { namespace, name, .. } = &self.key;
        let mut new = NewRevision::new(namespace, name, &self.repository, Arc::clone(files));
        new.priority = self.priority.unwrap_or_default();
        self.notes.apply(&mut new.annotations);
        self.store()?.create(new).await
    }

    async fn update(&self, revision: Revision) -> Result<Revision, StoreError> {
        let mut annotations = revision.annotations.clone();
        self.notes.apply(&mut annotations);
        let update = ClientUpdate {
            files: self.files.clone(),
            annotations: Some(annotations).filter(|annotations| *annotations != revision.annotations),
            priority: self.priority.filter(|priority| *priority != revision.priority),
            ..ClientUpdate::default()
        };
        if update.files.is_none() && update.annotations.is_none() && update.priority.is_none() {
            return Ok(revision);
        }
        // Annotations are replaced whole, so they must not have changed meanwhile.
        let expected = Expected::Object(revision.object_version);
        self.store()?.update(&revision.key, expected, update).await
    }

    fn store(&self) -> Result<&crate::Store, StoreError> {
        self.service.revisions.as_ref().map(|revisions| revisions.scheduler.store()).ok_or(StoreError::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_796_029_698_000;

    fn of(begin: &v1::ScheduleBegin) -> Result<BTreeMap<&'static str, Option<String>>, Status> {
        Notes::of(begin, NOW).map(|notes| notes.changes)
    }

    fn limit(name: &str, value: u64) -> v1::Limit {
        v1::Limit { name: name.to_owned(), value }
    }

    #[test]
    fn a_call_that_says_nothing_leaves_all_but_the_time() {
        assert_eq!(of(&v1::ScheduleBegin::default()).unwrap(), BTreeMap::from([(wishes::RENDER_BY, None)]));
        let with_files = v1::ScheduleBegin { with_files: true, ..v1::ScheduleBegin::default() };
        assert_eq!(of(&with_files).unwrap(), BTreeMap::from([(SOURCE_VERSION, None), (wishes::RENDER_BY, None)]));
    }

    #[test]
    fn what_a_call_says_is_noted_in_the_words_of_the_annotations() {
        let begin = v1::ScheduleBegin {
            limits: vec![limit("memory", 1 << 20), limit("renderTime", 1_500_000_000), limit("fuel", u64::MAX)],
            style: v1::YamlStyle::Kpt.into(),
            deadline: Some(prost_types::Duration { seconds: 2, nanos: 500_000_000 }),
            ..v1::ScheduleBegin::default()
        };
        let expected = BTreeMap::from([
            (wishes::LIMITS, Some("fuel=unlimited,renderTime=1s 500ms,memory=1048576".to_owned())),
            (wishes::YAML_STYLE, Some("kpt".to_owned())),
            (wishes::RENDER_BY, Some("2026-11-30T09:08:20.500Z".to_owned())),
        ]);
        assert_eq!(of(&begin).unwrap(), expected);
        let none = v1::ScheduleBegin { no_limits: true, ..v1::ScheduleBegin::default() };
        assert_eq!(of(&none).unwrap()[wishes::LIMITS], None);
    }

    #[test]
    fn what_could_not_be_done_is_refused() {
        let base = v1::ScheduleBegin::default;
        let time =
            |seconds, nanos| v1::ScheduleBegin { deadline: Some(prost_types::Duration { seconds, nanos }), ..base() };
        for (begin, words) in [
            (v1::ScheduleBegin { limits: vec![limit("speed", 1)], ..base() }, "no limit `speed`"),
            (v1::ScheduleBegin { limits: vec![limit("memory", 0)], ..base() }, "`memory`: nothing could run"),
            (v1::ScheduleBegin { limits: vec![limit("renderTime", 0)], ..base() }, "`renderTime`: nothing could run"),
            (v1::ScheduleBegin { limits: vec![limit("fuel", 1)], no_limits: true, ..base() }, "`no_limits`"),
            (v1::ScheduleBegin { style: 9, ..base() }, "`style` has no value 9"),
            (time(0, 0), "`deadline`"),
            (time(-1, 0), "`deadline`"),
            (time(i64::MAX, 0), "`deadline`"),
        ] {
            let status = of(&begin).unwrap_err();
            assert_eq!(status.code(), tonic::Code::InvalidArgument);
            assert!(status.message().contains(words), "{status}");
        }
    }
}

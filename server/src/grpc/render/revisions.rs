//! Revisions that the server keeps: scheduled, read, listed, cancelled.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use portico_scheduler::model::{ContentVersion, Priority, Revision, RevisionKey};
use portico_scheduler::store::{
    ClientUpdate, Expected, NewRevision, PackageStore as _, PageToken, Select, Snapshot, StoreError,
};
use tokio_stream::StreamExt as _;
use tonic::{Code, Request, Status, Streaming};

use super::convert::{self, SOURCE_VERSION, store_error};
use super::files::{Incoming, pieces};
use super::once::next;
use super::{Answer, PORCH, Service};
use crate::api::names::{is_namespace, is_subdomain};
use crate::grpc::front::Held;
use crate::grpc::proto::v1;
use crate::grpc::proto::v1::get_response::Message as Got;
use crate::grpc::proto::v1::schedule_request::Message as Asked;
use crate::grpc::status::{come_back, safe};
use crate::ops::traces;
use crate::record::log::{LogError, LogQuery, log};

/// How often a write that names no version is tried again after somebody else's.
const TRIES: usize = 8;

/// The key of a request; a namespace and a name at least, as Kubernetes has them.
fn key_of(key: Option<v1::Key>) -> Result<v1::Key, Status> {
    let key = key.unwrap_or_default();
    for (field, value, good) in
        [("namespace", &key.namespace, is_namespace(&key.namespace)), ("name", &key.name, is_subdomain(&key.name))]
    {
        if !good {
            let text = format!("`key.{field}`: `{}` is no {field} of Kubernetes: lower case, digits, `-`", safe(value));
            return Err(Status::invalid_argument(text));
        }
    }
    Ok(key)
}

/// The revision that a key names.
async fn find(service: &Service, key: &v1::Key) -> Result<Revision, StoreError> {
    let store = match &service.revisions {
        Some(revisions) => revisions.scheduler.store(),
        None => return Err(StoreError::Closed),
    };
    if key.uid.is_empty() {
        return store.find(&key.namespace, &key.name).await;
    }
    store.revision(&RevisionKey::new(&key.namespace, &key.name, &key.uid)).await
}

pub(super) async fn schedule(
    service: &Service,
    request: Request<Streaming<v1::ScheduleRequest>>,
) -> Result<v1::ScheduleResponse, Status> {
    let scheduler = service.revisions()?.scheduler.clone();
    let (metadata, extensions, mut messages) = request.into_parts();
    let Some(v1::ScheduleRequest { message: Some(Asked::Begin(begin)) }) = next(&mut messages).await? else {
        return Err(Status::invalid_argument("the first message is to be `begin`"));
    };
    let v1::ScheduleBegin { key, content_version, with_files, repository, priority, source_version } = begin;
    let key = key_of(key)?;
    let resource = if with_files { "packagerevisionresources" } else { "packagerevisions" };
    let who = Request::from_parts(metadata, extensions, ());
    service.authorize(&who, "update", (PORCH, resource, ""), &key.namespace, &key.name)?;
    let expected = match &*content_version {
        "" => None,
        version => Some(ContentVersion(convert::version(version, "content_version")?)),
    };
    let priority = convert::priority(priority)?;
    if !repository.is_empty() && !is_subdomain(&repository) {
        return Err(Status::invalid_argument("`repository` is no name of Kubernetes"));
    }
    if !with_files {
        let revision = find(service, &key).await.map_err(|error| store_error(&error, &service.settings))?;
        if expected.is_some_and(|expected| expected != revision.content_version) {
            return Err(Status::aborted(format!(
                "package revision `{}` has content version {}, not {content_version}; read it again",
                revision.key, revision.content_version.0
            )));
        }
        let failed = |error: StoreError| store_error(&error, &service.settings);
        if let Some(priority) = priority.filter(|priority| *priority != revision.priority) {
            let update = ClientUpdate { priority: Some(priority), ..ClientUpdate::default() };
            let content = Expected::Content(revision.content_version);
            scheduler.store().update(&revision.key, content, update).await.map_err(failed)?;
        }
        let status = scheduler.schedule_render(&revision.key).await.map_err(failed)?;
        let revision = scheduler.store().revision(&revision.key).await.map_err(failed)?;
        traces::wrote(&revision);
        let revision = convert::revision(&revision, status);
        return Ok(v1::ScheduleResponse { status: revision.status, revision: Some(revision) });
    }
    let mut incoming = Incoming::new(service.renders.for_namespace(&key.namespace).limits);
    while let Some(message) = next(&mut messages).await? {
        match message.message {
            Some(Asked::Files(files)) => incoming.add(files)?,
            Some(Asked::Begin(_)) => return Err(Status::invalid_argument("`begin` comes once")),
            None => {}
        }
    }
    let files = incoming.finish()?.into_iter().map(|(path, content)| (path, Bytes::from(content))).collect();
    let write = Write { service, key, expected, files: Arc::new(files), repository, priority, source_version };
    let revision = write.done(&who).await?;
    traces::wrote(&revision);
    scheduler.changed(revision.clone());
    let status = scheduler.render_execution_status(&revision.key);
    let revision = convert::revision(&revision, status);
    Ok(v1::ScheduleResponse { status: revision.status, revision: Some(revision) })
}

/// New content for a revision, which may have to be made.
struct Write<'a> {
    service: &'a Service,
    key: v1::Key,
    expected: Option<ContentVersion>,
    files: Arc<BTreeMap<String, Bytes>>,
    repository: String,
    priority: Option<Priority>,
    source_version: String,
}

impl Write<'_> {
    async fn done(&self, who: &Request<()>) -> Result<Revision, Status> {
        let mut tries = 0;
        loop {
            let written = match find(self.service, &self.key).await {
                Ok(revision) => self.update(revision).await,
                Err(StoreError::NoSuchName { .. }) if self.expected.is_none() => {
                    let what = (PORCH, "packagerevisions", "");
                    self.service.authorize(who, "create", what, &self.key.namespace, &self.key.name)?;
                    self.create().await
                }
                Err(error) => Err(error),
            };
            tries += 1;
            match written {
                Ok(revision) => return Ok(revision),
                // Somebody else was there in between; the caller said that this does not matter.
                Err(StoreError::Conflict { .. } | StoreError::Exists(_))
                    if self.expected.is_none() && tries < TRIES => {}
                Err(error) => return Err(store_error(&error, &self.service.settings)),
            }
        }
    }

    async fn create(&self) -> Result<Revision, StoreError> {
        let v1::Key { namespace, name, .. } = &self.key;
        let mut new = NewRevision::new(namespace, name, &self.repository, Arc::clone(&self.files));
        new.priority = self.priority.unwrap_or_default();
        self.note(&mut new.annotations);
        self.store()?.create(new).await
    }

    async fn update(&self, revision: Revision) -> Result<Revision, StoreError> {
        let mut annotations = revision.annotations;
        self.note(&mut annotations);
        let update = ClientUpdate {
            files: Some(Arc::clone(&self.files)),
            annotations: Some(annotations),
            priority: self.priority,
            ..ClientUpdate::default()
        };
        // Annotations are replaced whole, so without a version of the caller's they must not have changed meanwhile.
        let expected = self.expected.map_or(Expected::Object(revision.object_version), Expected::Content);
        self.store()?.update(&revision.key, expected, update).await
    }

    fn store(&self) -> Result<&crate::Store, StoreError> {
        self.service.revisions.as_ref().map(|revisions| revisions.scheduler.store()).ok_or(StoreError::Closed)
    }

    /// What the caller calls this content; nothing of an older one stays.
    fn note(&self, annotations: &mut BTreeMap<String, String>) {
        if self.source_version.is_empty() {
            annotations.remove(SOURCE_VERSION);
        } else {
            annotations.insert(SOURCE_VERSION.to_owned(), self.source_version.clone());
        }
    }
}

pub(super) async fn get(
    service: &Service,
    request: Request<v1::GetRequest>,
) -> Result<Answer<v1::GetResponse>, Status> {
    let scheduler = service.revisions()?.scheduler.clone();
    let key = key_of(request.get_ref().key.clone())?;
    service.authorize(&request, "get", (PORCH, "packagerevisions", ""), &key.namespace, &key.name)?;
    let failed = |error: StoreError| store_error(&error, &service.settings);
    let revision = find(service, &key).await.map_err(failed)?;
    let told = move |revision: &Revision| {
        let status = scheduler.render_execution_status(&revision.key);
        v1::GetResponse { message: Some(Got::Revision(convert::revision(revision, status))) }
    };
    if !request.get_ref().with_files {
        return Ok(Box::pin(tokio_stream::once(Ok(told(&revision)))));
    }
    service.authorize(&request, "get", (PORCH, "packagerevisionresources", ""), &key.namespace, &key.name)?;
    let store = service.revisions()?.scheduler.store();
    let Snapshot { revision, files } = store.get(&revision.key).await.map_err(failed)?;
    if let Some(held) = request.extensions().get::<Arc<Held>>() {
        held.add(files.values().map(|content| content.len() as u64).sum());
    }
    // The contents are shared, not copied.
    let files: Vec<_> = files.iter().map(|(path, content)| (path.clone(), Some(content.clone()))).collect();
    let files = pieces(files).map(|files| v1::GetResponse { message: Some(Got::Files(files)) });
    Ok(Box::pin(tokio_stream::iter(std::iter::once(told(&revision)).chain(files).map(Ok))))
}

pub(super) async fn list(service: &Service, request: Request<v1::ListRequest>) -> Result<v1::ListResponse, Status> {
    let scheduler = &service.revisions()?.scheduler;
    let asked = request.get_ref();
    service.authorize(&request, "list", (PORCH, "packagerevisions", ""), &asked.namespace, "")?;
    let after = match &*asked.page_token {
        "" => None,
        token => Some(PageToken(ContentVersion(convert::version(token, "page_token")?))),
    };
    let select = if asked.unfinished { Select::Unfinished } else { Select::All };
    let most = if asked.page_size == 0 { usize::MAX } else { asked.page_size as usize };
    let page = scheduler.store().page(select, after, most).await;
    let page = page.map_err(|error| store_error(&error, &service.settings))?;
    let in_namespace = |revision: &&Revision| asked.namespace.is_empty() || *revision.key.namespace == *asked.namespace;
    let revisions = page.revisions.iter().filter(in_namespace);
    Ok(v1::ListResponse {
        revisions: revisions
            .map(|revision| convert::revision(revision, scheduler.render_execution_status(&revision.key)))
            .collect(),
        next_page_token: page.next.map(|PageToken(at)| at.0.to_string()).unwrap_or_default(),
        version: page.version.0.to_string(),
    })
}

pub(super) async fn cancel(
    service: &Service,
    request: Request<v1::CancelRequest>,
) -> Result<v1::CancelResponse, Status> {
    let scheduler = &service.revisions()?.scheduler;
    let key = key_of(request.get_ref().key.clone())?;
    service.authorize(&request, "update", (PORCH, "packagerevisions", "cancel"), &key.namespace, &key.name)?;
    let failed = |error: StoreError| store_error(&error, &service.settings);
    let revision = find(service, &key).await.map_err(failed)?;
    let why = match request.get_ref().reason.as_str() {
        "" => "cancelled by a client".to_owned(),
        why => safe(why),
    };
    scheduler.cancel(&revision.key, &why).await.map_err(failed)?;
    Ok(v1::CancelResponse {})
}

pub(super) async fn logs(
    service: &Service,
    request: Request<v1::LogsRequest>,
) -> Result<Answer<v1::LogsResponse>, Status> {
    let revisions = service.revisions()?;
    let asked = request.get_ref();
    let key = key_of(asked.key.clone())?;
    service.authorize(&request, "get", (PORCH, "packagerevisions", "log"), &key.namespace, &key.name)?;
    let revision = find(service, &key).await.map_err(|error| store_error(&error, &service.settings))?;
    let (lines, bytes) = (asked.tail_lines.to_string(), asked.limit_bytes.to_string());
    let mut query = vec![("render", &*asked.render)];
    let words = [
        (asked.follow, ("follow", "true")),
        (asked.json, ("format", "json")),
        (asked.tail_lines > 0, ("tailLines", &*lines)),
        (asked.limit_bytes > 0, ("limitBytes", &*bytes)),
    ];
    query.extend(words.into_iter().filter_map(|(said, word)| said.then_some(word)));
    let failed = |error: LogError| log_error(error, service);
    let query = LogQuery::parse(query).map_err(failed)?;
    let answer = log(&revisions.renders, &revisions.scheduler, &revision.key, &query).await.map_err(failed)?;
    let pieces = answer.into_body().into_data_stream().map(|piece| match piece {
        Ok(text) => Ok(v1::LogsResponse { text }),
        Err(error) => Err(Status::unavailable(safe(&error.to_string()))),
    });
    Ok(Box::pin(pieces))
}

fn log_error(error: LogError, service: &Service) -> Status {
    let text = safe(&error.to_string());
    match error {
        LogError::Query { .. } => Status::invalid_argument(text),
        LogError::NotYet(_) | LogError::NotKept { .. } => Status::not_found(text),
        LogError::TooMany(_) => come_back(Code::ResourceExhausted, &text, service.settings.retry_after),
        LogError::Store(error) => store_error(&error, &service.settings),
    }
}

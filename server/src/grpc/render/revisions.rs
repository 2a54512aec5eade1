//! Revisions that the server keeps: read, listed, cancelled.

use std::sync::Arc;

use portico_scheduler::model::{ContentVersion, Revision, RevisionKey};
use portico_scheduler::store::{PackageStore as _, PageToken, Select, Snapshot, StoreError};
use tokio_stream::StreamExt as _;
use tonic::{Code, Request, Status};

use super::convert::{self, store_error};
use super::files::pieces;
use super::{Answer, PORCH, Service};
use crate::api::names::{is_namespace, is_subdomain};
use crate::grpc::front::Held;
use crate::grpc::proto::v1;
use crate::grpc::proto::v1::get_response::Message as Got;
use crate::grpc::status::{come_back, safe};
use crate::record::log::{LogError, LogQuery, log};

/// The key of a request; a namespace and a name at least, as Kubernetes has them.
pub(super) fn key_of(key: Option<v1::Key>) -> Result<v1::Key, Status> {
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
pub(super) async fn find(service: &Service, key: &v1::Key) -> Result<Revision, StoreError> {
    let store = match &service.revisions {
        Some(revisions) => revisions.scheduler.store(),
        None => return Err(StoreError::Closed),
    };
    if key.uid.is_empty() {
        return store.find(&key.namespace, &key.name).await;
    }
    store.revision(&RevisionKey::new(&key.namespace, &key.name, &key.uid)).await
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

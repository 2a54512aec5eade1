//! `Watch`: what changes, from where an earlier one ended.

use std::sync::Arc;

use portico_scheduler::model::{ObjectVersion, Revision, RevisionKey};
use portico_scheduler::store::{Change, PackageStore as _, Select, StoreError, Watch as _, WatchEvent};
use tokio::sync::mpsc;
use tonic::{Request, Status};

use super::convert::{self, store_error};
use super::{Answer, PORCH, Service, answered};
use crate::Scheduler;
use crate::grpc::front::Deadline;
use crate::grpc::proto::v1;
use crate::grpc::proto::v1::watch_response::Message as Told;

/// Changes that wait for a client that reads slowly. Beyond those the store keeps them, and a client that is slower than
/// the store's history lists again.
const WAITING: usize = 64;

/// Revisions of a page of what there is in the beginning.
const PAGE: usize = 200;

type Teller = mpsc::Sender<v1::WatchResponse>;

/// Which revisions.
struct Selection {
    namespace: String,
    name: String,
}

impl Selection {
    fn has(&self, key: &RevisionKey) -> bool {
        (self.namespace.is_empty() || *key.namespace == *self.namespace)
            && (self.name.is_empty() || *key.name == *self.name)
    }
}

pub(super) async fn watch(
    service: &Service,
    request: Request<v1::WatchRequest>,
) -> Result<Answer<v1::WatchResponse>, Status> {
    let scheduler = service.revisions()?.scheduler.clone();
    let deadline = request.extensions().get::<Deadline>().copied();
    let asked = request.get_ref();
    if asked.namespace.is_empty() && !asked.name.is_empty() {
        return Err(Status::invalid_argument("a `name` needs its `namespace`"));
    }
    service.authorize(&request, "watch", (PORCH, "packagerevisions", ""), &asked.namespace, &asked.name)?;
    let after = match &*asked.version {
        "" => None,
        version => Some(ObjectVersion(convert::version(version, "version")?)),
    };
    if let Some(after) = after {
        // Said at once rather than in the stream.
        scheduler.store().watch(after).await.map_err(|error| store_error(&error, &service.settings))?;
    }
    let v1::WatchRequest { namespace, name, .. } = request.into_inner();
    let selection = Selection { namespace, name };
    let settings = Arc::clone(&service.settings);
    let (tell, told) = mpsc::channel(WAITING);
    let teller = tell.clone();
    let work = async move {
        match tell_all(&scheduler, &selection, after, &teller).await {
            Err(Ended::Failed(error)) => Err(store_error(&error, &settings)),
            Ok(()) | Err(Ended::Gone) => Ok(()),
        }
    };
    Ok(answered(&tell, told, deadline, work))
}

enum Ended {
    /// Nobody listens any more.
    Gone,
    Failed(StoreError),
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

async fn send(tell: &Teller, message: Told, version: String) -> Result<(), Ended> {
    tell.send(v1::WatchResponse { message: Some(message), version }).await.map_err(|_| Ended::Gone)
}

async fn tell_all(
    scheduler: &Scheduler,
    selection: &Selection,
    after: Option<ObjectVersion>,
    tell: &Teller,
) -> Result<(), Ended> {
    let after = match after {
        Some(after) => after,
        None => tell_what_is(scheduler, selection, tell).await?,
    };
    let mut watch = scheduler.store().watch(after).await?;
    loop {
        let WatchEvent { version, change, .. } = watch.next().await?;
        if !selection.has(change.key()) {
            continue;
        }
        let message = match &change {
            Change::Put(revision) => put(scheduler, revision),
            Change::Deleted(key) => Told::Deleted(convert::key(key)),
        };
        send(tell, message, version.0.to_string()).await?;
    }
}

/// Tells all that there is; gives the version from which a watch misses nothing.
async fn tell_what_is(scheduler: &Scheduler, selection: &Selection, tell: &Teller) -> Result<ObjectVersion, Ended> {
    let (mut next, mut from) = (None, None);
    loop {
        let page = scheduler.store().page(Select::All, next, PAGE).await?;
        // From the first page's on nothing is missed; what changes meanwhile is told twice.
        let from = *from.get_or_insert(page.version);
        for revision in page.revisions.iter().filter(|revision| selection.has(&revision.key)) {
            send(tell, put(scheduler, revision), String::new()).await?;
        }
        next = page.next;
        if next.is_none() {
            send(tell, Told::Listed(true), from.0.to_string()).await?;
            return Ok(from);
        }
    }
}

fn put(scheduler: &Scheduler, revision: &Revision) -> Told {
    Told::Put(convert::revision(revision, scheduler.render_execution_status(&revision.key)))
}

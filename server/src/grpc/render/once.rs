//! `Render`: a package comes, is rendered, and goes; nothing of it is kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use portico_runtime::package::{Change, PackageFiles};
use portico_runtime::{CancelToken, Event, Outcome, RenderError};
use tokio::sync::mpsc;
use tonic::{Code, Request, Status, Streaming};

use super::files::{Incoming, pieces};
use super::{Answer, Service, convert};
use crate::grpc::CallMeter;
use crate::grpc::front::{Deadline, Held};
use crate::grpc::proto::v1;
use crate::grpc::proto::v1::render_request::Message as Asked;
use crate::grpc::proto::v1::render_response::Message as Told;
use crate::grpc::status::{of_pool, safe};
use crate::record::Effective;

/// Messages that wait for a client that reads slowly.
const WAITING: usize = 64;

/// The longest name of a package.
const NAME: usize = 253;

pub(super) async fn render(
    service: &Service,
    request: Request<Streaming<v1::RenderRequest>>,
) -> Result<Answer<v1::RenderResponse>, Status> {
    let deadline = request.extensions().get::<Deadline>().copied();
    let held = request.extensions().get::<Arc<Held>>().cloned();
    let (metadata, extensions, mut messages) = request.into_parts();
    let Some(v1::RenderRequest { message: Some(Asked::Begin(begin)) }) = next(&mut messages).await? else {
        return Err(Status::invalid_argument("the first message is to be `begin`"));
    };
    let who = Request::from_parts(metadata, extensions, ());
    service.authorize(&who, "create", ("portico.dev", "renders", ""), &begin.namespace, "")?;
    let effective = prepared(service, &begin)?;
    let mut incoming = Incoming::new(effective.limits.clone());
    while let Some(message) = next(&mut messages).await? {
        match message.message {
            Some(Asked::Files(files)) => incoming.add(files)?,
            Some(Asked::Begin(_)) => return Err(Status::invalid_argument("`begin` comes once")),
            // A message of a later version.
            None => {}
        }
    }
    let files = incoming.finish()?;
    let (tell, told) = mpsc::channel(WAITING);
    let (pool, settings) = (service.pool.clone(), Arc::clone(&service.settings));
    let teller = tell.clone();
    let meter = Arc::clone(pool.meter());
    let work = async move {
        let events = begin.events.then(|| teller.clone());
        let done = pool.run(move |cancel| work(&begin, &effective, files, events.as_ref(), &*meter, cancel)).await;
        let (outcome, changes) = done.map_err(|error| of_pool(error, &settings))??;
        if let Some(held) = &held {
            held.add(changes.iter().map(size).sum());
        }
        let files = pieces(changes.into_iter().map(file)).map(Told::Files);
        for message in std::iter::once(Told::Outcome(outcome)).chain(files) {
            if teller.send(v1::RenderResponse { message: Some(message) }).await.is_err() {
                break;
            }
        }
        Ok(())
    };
    Ok(super::answered(&tell, told, deadline, work))
}

/// The next message; the protocol's own refusals in our words.
pub(super) async fn next<T>(messages: &mut Streaming<T>) -> Result<Option<T>, Status> {
    messages.message().await.map_err(|status| match status.code() {
        Code::OutOfRange => {
            Status::resource_exhausted(format!("a message is too large; send files in pieces: {}", status.message()))
        }
        _ => status,
    })
}

fn size(change: &Change) -> u64 {
    match change {
        Change::Write { bytes, .. } => bytes.len() as u64,
        Change::Delete { .. } => 0,
    }
}

fn file(change: Change) -> (String, Option<Bytes>) {
    match change {
        Change::Write { path, bytes } => (path, Some(Bytes::from(bytes))),
        Change::Delete { path } => (path, None),
    }
}

/// What holds for this render: what holds for its namespace, with what it asks for.
fn prepared(service: &Service, begin: &v1::RenderBegin) -> Result<Effective, Status> {
    if begin.name.len() > NAME || begin.name.contains(['/', '\0']) || begin.name == ".." {
        return Err(Status::invalid_argument("`name` is no name of a directory"));
    }
    let limits = convert::limits(&begin.limits)?;
    let mut effective = service.renders.for_request(&begin.namespace, &limits);
    effective.renderer = effective.renderer.for_tenant(&begin.namespace);
    let options = &mut effective.options;
    options.style = convert::style(begin.style)?;
    options.status = convert::status_mode(begin.status)?;
    options.out_of_place = false;
    options.call.allow_exec = false;
    Ok(effective)
}

type Rendered = Result<(v1::RenderOutcome, Vec<Change>), Status>;

/// The render itself, on a thread of its own.
fn work(
    begin: &v1::RenderBegin,
    effective: &Effective,
    files: BTreeMap<String, Vec<u8>>,
    events: Option<&mpsc::Sender<v1::RenderResponse>>,
    meter: &dyn CallMeter,
    cancel: &CancelToken,
) -> Rendered {
    let name = if begin.name.is_empty() { "package" } else { &begin.name };
    let package = PackageFiles::from_map(&format!("/{name}"), files, &effective.limits)
        .map_err(|error| Status::invalid_argument(safe(&format!("the package cannot be read: {error}"))))?;
    let mut warnings = effective.warnings.clone();
    let mut observer = |event: &Event<'_>| {
        match event {
            Event::Warning(text) => warnings.push((*text).to_owned()),
            Event::StepPassed(step) | Event::StepFailed(step) => meter.step(step),
            _ => {}
        }
        if let (Some(events), Some(event)) = (events, convert::event(event)) {
            // Whoever reads too slowly for these has the outcome, which tells it all again.
            let _ = events.try_send(v1::RenderResponse { message: Some(Told::Event(event)) });
        }
    };
    let rendered = effective.renderer.render(&package, &effective.options, cancel, &mut observer);
    let mut outcome: Outcome = rendered.map_err(|error| match error {
        RenderError::Cancelled => Status::cancelled("the render was cancelled"),
        RenderError::Worker { .. } => Status::internal(safe(&error.to_string())),
        // There is no root Kptfile to render by, or none that can be read.
        error => Status::invalid_argument(safe(&error.to_string())),
    })?;
    let changes = std::mem::take(&mut outcome.changes);
    Ok((convert::outcome(&outcome, warnings), changes))
}

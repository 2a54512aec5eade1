//! Lists of package revisions and of their resources.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use portico_scheduler::model::ObjectVersion;
use serde_json::{Value, json};

use super::App;
use super::cache::Entry;
use super::request::{Caller, Form, Target};
use super::rests::{Listed, Question};
use super::selection::Selection;
use super::show::{Shown, Wanted};
use super::status::Status;
use super::types::Kind;
use super::{table, watch};

/// Bytes of a list that are made before they are sent.
const CHUNK: usize = 64 << 10;

/// Lists, or watches, objects of a kind in a namespace or in all.
pub(super) async fn list(
    app: Arc<App>,
    caller: Caller,
    kind: Kind,
    namespace: Option<&str>,
) -> Result<Response, Status> {
    let verb = if caller.query.watch { "watch" } else { "list" };
    app.authorize(&caller, verb, Target::all(kind, namespace.unwrap_or_default()))?;
    let wanted = Wanted::of(&caller, kind)?;
    let selection = Selection::of(kind, namespace, &caller.query)?;
    if caller.query.watch {
        return watch::watch(app, &caller, wanted, selection).await;
    }
    let page = page(&app, &caller, kind, &selection).await?;
    Ok(respond(app, wanted, page))
}

/// A page of a list.
struct Page {
    listed: Listed,
    from: usize,
    to: usize,
    continues: Option<String>,
    /// How many come after it; told where no selector is at work, as Kubernetes does.
    remaining: Option<usize>,
}

async fn page(app: &App, caller: &Caller, kind: Kind, selection: &Selection) -> Result<Page, Status> {
    let query = &caller.query;
    let question = || Question {
        path: format!("{}/{}", kind.qualified(), selection.namespace().unwrap_or_default()),
        labels: query.labels.clone(),
        fields: query.fields.clone(),
        user: Arc::clone(&caller.identity.user),
    };
    let limit = if query.limit == 0 { usize::MAX } else { query.limit };
    let (listed, from, next) = if let Some(token) = &query.continues {
        if query.version.as_deref().is_some_and(|version| version != "0") || query.version_match.is_some() {
            return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
        }
        let (listed, from, next) = app.rests.find(token, &question(), Instant::now())?;
        let from = from.min(listed.entries.len());
        let to = from.saturating_add(limit);
        let next = (to < listed.entries.len()).then(|| next(to));
        (listed, from, next)
    } else {
        let listed = read(app, caller, selection).await?;
        let more = limit < listed.entries.len();
        let keep = || app.rests.keep(question(), listed.clone(), limit, Instant::now());
        let next = if more { keep() } else { None };
        (listed, 0, next)
    };
    let all = listed.entries.len();
    // Too long to keep: it comes in one piece.
    let to = if next.is_some() { from.saturating_add(limit) } else { all };
    let remaining = (next.is_some() && !selection.selects()).then(|| all - to);
    Ok(Page { listed, from, to, continues: next, remaining })
}

/// All that are selected, of one instant.
async fn read(app: &App, caller: &Caller, selection: &Selection) -> Result<Listed, Status> {
    let version = caller.query.version()?;
    match (version, caller.query.version_match.as_deref()) {
        (None, Some(_)) => {
            let message = "resourceVersionMatch: Forbidden: it is for lists with a resourceVersion";
            return Err(Status::bad_request(message));
        }
        (Some(ObjectVersion(0)), Some("Exact")) => {
            let message = "resourceVersionMatch: Forbidden: \"Exact\" is for a resourceVersion other than \"0\"";
            return Err(Status::bad_request(message));
        }
        (_, None | Some("NotOlderThan" | "Exact")) => {}
        (_, Some(other)) => {
            let message =
                format!("resourceVersionMatch: Unsupported value: {other:?}: use \"Exact\" or \"NotOlderThan\"");
            return Err(Status::bad_request(message));
        }
    }
    match version {
        None => app.cache.fresh().await?,
        // Zero is any version; that of a cache which has never seen the store is none.
        Some(version) => app.cache.reach(version).await?,
    }
    let (entries, at) = app.cache.list(selection);
    if let (Some(version), Some("Exact")) = (version, caller.query.version_match.as_deref())
        && version != at
    {
        let message = format!("The resourceVersion for the provided list is too old: {}, current: {}", version.0, at.0);
        return Err(Status::expired(message));
    }
    Ok(Listed { entries: Arc::new(entries), version: at })
}

/// The page as a body that is made while it is sent: a list may be larger than what should stand in memory twice.
fn respond(app: Arc<App>, wanted: Wanted, page: Page) -> Response {
    let mut metadata = json!({"resourceVersion": page.listed.version.0.to_string()});
    if let Some(token) = page.continues {
        metadata["continue"] = token.into();
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = remaining.into();
    }
    let head = head(wanted, &metadata);
    let writer = Writer { app, wanted, entries: page.listed.entries, at: page.from, to: page.to, first: true };
    let body = stream::unfold((Some(head), Some(writer)), |(head, writer)| async move {
        let mut writer = writer?;
        let mut chunk = head.unwrap_or_default();
        match writer.fill(&mut chunk).await {
            Ok(true) => Some((Ok(Bytes::from(chunk)), (None, Some(writer)))),
            Ok(false) => {
                chunk.extend_from_slice(b"]}\n");
                Some((Ok(Bytes::from(chunk)), (None, None)))
            }
            // The head is sent: all that is left is to break off, so that no part passes for the whole.
            Err(status) => Some((Err(std::io::Error::other(status.message)), (None, None))),
        }
    });
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (json, Body::from_stream(body)).into_response()
}

/// What comes before the items: `{"kind":…,"items":[`.
pub(super) fn head(wanted: Wanted, metadata: &Value) -> Vec<u8> {
    let (kind, api_version) = wanted.list();
    let columns = if wanted.form == Form::Table {
        format!(r#","columnDefinitions":{}"#, table::columns(wanted.kind))
    } else {
        String::new()
    };
    let items = wanted.items();
    format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{metadata}{columns},"{items}":["#).into_bytes()
}

/// A list of values that are there already.
pub(super) fn whole(wanted: Wanted, metadata: &Value, items: impl Iterator<Item = Value>) -> Response {
    let mut body = head(wanted, metadata);
    for (at, item) in items.enumerate() {
        if at > 0 {
            body.push(b',');
        }
        body.extend_from_slice(item.to_string().as_bytes());
    }
    body.extend_from_slice(b"]}\n");
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}

struct Writer {
    app: Arc<App>,
    wanted: Wanted,
    entries: Arc<Vec<Entry>>,
    at: usize,
    to: usize,
    first: bool,
}

impl Writer {
    /// Adds items until the chunk is full. False when all are there.
    async fn fill(&mut self, chunk: &mut Vec<u8>) -> Result<bool, Status> {
        while chunk.len() < CHUNK {
            let Some(entry) = self.entries.get(self.at).filter(|_| self.at < self.to) else { return Ok(false) };
            self.at += 1;
            let Some(shown) = self.shown(entry).await? else { continue };
            if !std::mem::take(&mut self.first) {
                chunk.push(b',');
            }
            chunk.extend_from_slice(shown.item(self.wanted).to_string().as_bytes());
        }
        Ok(true)
    }

    /// As it was when it was listed; if those files are gone by now, as it is now; `None` if it is gone itself.
    async fn shown(&self, entry: &Entry) -> Result<Option<Shown>, Status> {
        let files = self.wanted.files();
        let shown = self.app.shown(Arc::clone(&entry.revision), files).await?;
        if shown.is_some() || !files {
            return Ok(shown);
        }
        match self.app.newest(&entry.revision.key, self.wanted.kind).await? {
            Some(shown) => self.app.with_render_status(shown, self.wanted.kind).await.map(Some),
            None => Ok(None),
        }
    }
}

//! Watches of package revisions and of their resources.
//!
//! A watch reads from the store's log of changes at the pace of its client, so that a slow one costs no memory; one that
//! is slower than the log is long is told to list again.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use portico_scheduler::model::{ObjectVersion, Revision};
use portico_scheduler::store::{Change, PackageStore, StoreError, Watch, WatchEvent};
use serde_json::Value;
use tokio::time::Instant;

use super::App;
use super::cache::Entry;
use super::request::{Caller, Query};
use super::selection::Selection;
use super::show::{Shown, Wanted, to_value};
use super::status::{Cause, Status};
use crate::Store;

/// Where a watch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// With all that there is, as `ADDED`; then what changes.
    All {
        /// Whether a bookmark says where the first objects end.
        marked: bool,
    },
    /// With what changes after this version.
    After(ObjectVersion),
}

impl Start {
    /// As a query says.
    pub(super) fn of(query: &Query) -> Result<Self, Status> {
        let version = query.version()?;
        let forbidden = |message: &str| {
            let cause = Cause::forbidden("resourceVersionMatch", message);
            Status::bad_request(format!("resourceVersionMatch: {}", cause.message)).because(cause)
        };
        match (query.initial_events, query.version_match.as_deref()) {
            (None, Some(_)) => {
                Err(forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
            }
            (Some(_), None | Some("Exact")) => {
                Err(forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
            }
            (Some(_), Some(other)) if other != "NotOlderThan" => {
                Err(forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
            }
            (Some(true), _) => Ok(Self::All { marked: query.bookmarks }),
            // Without the first objects it begins with what there is now.
            (Some(false) | None, _) => Ok(match version {
                Some(ObjectVersion(version)) if version > 0 => Self::After(ObjectVersion(version)),
                _ => Self::All { marked: false },
            }),
        }
    }
}

/// Answers with a watch.
pub(super) async fn watch(
    app: Arc<App>,
    caller: &Caller,
    wanted: Wanted,
    selection: Selection,
) -> Result<Response, Status> {
    let query = &caller.query;
    let (initial, after, marked) = match Start::of(query)? {
        Start::After(version) => (Vec::new(), version, false),
        Start::All { marked } => {
            match query.version()? {
                Some(version) if query.initial_events.is_some() => app.cache.reach(version).await?,
                _ => app.cache.fresh().await?,
            }
            let (entries, version) = app.cache.list(&selection);
            let skip = query.initial_events == Some(false);
            (if skip { Vec::new() } else { entries }, version, marked)
        }
    };
    let changes = match app.store().watch(after).await {
        Ok(changes) => changes,
        Err(error) => return Err(Status::of_store(&error, wanted.kind, "")),
    };
    let now = Instant::now();
    let watcher = Watcher {
        wanted,
        selection,
        initial: initial.into_iter(),
        marked,
        changes,
        seen: after.0,
        first_row: true,
        ends: now + query.timeout.unwrap_or_else(|| spread(app.limits.watch)),
        bookmarks: query.bookmarks.then_some(app.limits.bookmark),
        bookmark: now + app.limits.bookmark,
        app,
    };
    let body = stream::unfold(Some(watcher), |watcher| async move {
        let mut watcher = watcher?;
        match watcher.next().await {
            Next::Event(line) => Some((Ok::<_, std::convert::Infallible>(line), Some(watcher))),
            Next::Last(line) => Some((Ok(line), None)),
            Next::End => None,
        }
    });
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    Ok((json, Body::from_stream(body)).into_response())
}

/// At random up to twice as long.
pub(super) fn spread(time: Duration) -> Duration {
    time.mul_f64(1.0 + fastrand::f64())
}

/// A line of a watch.
pub(super) fn line(kind: &str, object: &Value) -> Bytes {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n").into()
}

/// The last line of a watch that failed.
pub(super) fn error_line(status: &Status) -> Bytes {
    line("ERROR", &to_value(status))
}

/// What a watch's client is to be told.
enum Next {
    Event(Bytes),
    Last(Bytes),
    End,
}

struct Watcher {
    app: Arc<App>,
    wanted: Wanted,
    selection: Selection,
    initial: std::vec::IntoIter<Entry>,
    /// Whether the end of the first objects is still to be marked.
    marked: bool,
    changes: <Store as PackageStore>::Watch,
    /// The version up to which the client knows all.
    seen: u64,
    first_row: bool,
    ends: Instant,
    bookmarks: Option<Duration>,
    bookmark: Instant,
}

impl Watcher {
    async fn next(&mut self) -> Next {
        loop {
            if let Some(entry) = self.initial.next() {
                match self.app.shown(entry.revision, self.wanted.files()).await {
                    Ok(Some(shown)) => return Next::Event(self.event("ADDED", &shown)),
                    // It has changed by now: the change brings it.
                    Ok(None) => continue,
                    Err(status) => return Next::Last(error_line(&status)),
                }
            }
            if std::mem::take(&mut self.marked) {
                return Next::Event(line("BOOKMARK", &self.wanted.bookmark(self.seen, true)));
            }
            let bookmark = self.bookmarks.map(|_| self.bookmark);
            tokio::select! {
                // A stream of changes must not put off the end.
                biased;
                () = self.app.closing() => return Next::End,
                () = tokio::time::sleep_until(self.ends) => return Next::End,
                () = sleep_until(bookmark) => {
                    self.bookmark = Instant::now() + self.bookmarks.unwrap_or_default();
                    return Next::Event(line("BOOKMARK", &self.wanted.bookmark(self.seen, false)));
                }
                event = self.changes.next() => match event {
                    Ok(event) => {
                        self.seen = self.seen.max(event.version.0);
                        match self.tell(event).await {
                            Ok(Some(line)) => return Next::Event(line),
                            Ok(None) => {}
                            Err(status) => return Next::Last(error_line(&status)),
                        }
                    }
                    Err(StoreError::Closed) => return Next::End,
                    Err(error) => return Next::Last(error_line(&Status::of_store(&error, self.wanted.kind, ""))),
                }
            }
        }
    }

    /// What a change is to this watch: what enters its selection is added, what leaves it is deleted.
    async fn tell(&mut self, event: WatchEvent) -> Result<Option<Bytes>, Status> {
        let was = event.before.filter(|before| self.selection.has(before));
        let (kind, shown) = match event.change {
            Change::Put(revision) if self.selection.has(&revision) => {
                let kind = if was.is_some() { "MODIFIED" } else { "ADDED" };
                (kind, self.app.shown(revision, self.wanted.files()).await?)
            }
            // As it was, with the version at which it left: a watch can go on from there.
            Change::Put(_) | Change::Deleted(_) => {
                let Some(before) = was else { return Ok(None) };
                let gone = Revision { object_version: event.version, ..Arc::unwrap_or_clone(before) };
                ("DELETED", Some(Shown::of(Arc::new(gone))))
            }
        };
        Ok(shown.map(|shown| self.event(kind, &shown)))
    }

    fn event(&mut self, kind: &str, shown: &Shown) -> Bytes {
        let version = shown.revision.object_version.0.to_string();
        let columns = std::mem::take(&mut self.first_row);
        line(kind, &self.wanted.alone(shown.item(self.wanted), &version, columns))
    }
}

/// Never, without a time.
pub(super) async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(version: Option<&str>, matching: Option<&str>, initial: Option<bool>, bookmarks: bool) -> Query {
        Query {
            version: version.map(Into::into),
            version_match: matching.map(Into::into),
            initial_events: initial,
            bookmarks,
            ..Query::default()
        }
    }

    #[test]
    fn where_a_watch_begins() {
        let all = Start::All { marked: false };
        assert_eq!(Start::of(&query(None, None, None, true)).unwrap(), all);
        assert_eq!(Start::of(&query(Some("0"), None, None, false)).unwrap(), all);
        assert_eq!(Start::of(&query(Some("7"), None, None, false)).unwrap(), Start::After(ObjectVersion(7)));
        let streamed = query(Some("7"), Some("NotOlderThan"), Some(true), true);
        assert_eq!(Start::of(&streamed).unwrap(), Start::All { marked: true });
        for (matching, initial) in [(Some("NotOlderThan"), None), (None, Some(true)), (Some("Exact"), Some(true))] {
            assert_eq!(Start::of(&query(None, matching, initial, true)).unwrap_err().code, 400);
        }
    }
}

//! Events: what the scheduler told of renders, in both of Kubernetes' forms. Read-only.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use futures_util::stream;
use portico_scheduler::events::{ACTION, RenderEvent};
use portico_scheduler::model::ObjectVersion;
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use super::App;
use super::request::{Caller, Target};
use super::selection::Selection;
use super::show::{Wanted, to_value};
use super::status::Status;
use super::types::{API_VERSION, CoreEvent, Event, EventSeries, EventSource, Kind, ObjectMeta, ObjectReference};
use super::watch::{Start, error_line, line, sleep_until, spread};
use super::{list, table, time};

/// Who tells of renders.
const COMPONENT: &str = "portico-scheduler";
/// Events that are read at once.
const BATCH: usize = 256;

/// Numbers of events. The scheduler counts from one in each process; an operator's clients outlive it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers(u64);

impl Numbers {
    /// Those of a process that begins now: no process tells of a thousand events a millisecond as long as it lives.
    pub(super) fn new(now_ms: u64) -> Self {
        Self(now_ms.saturating_mul(1000))
    }

    fn version(self, step: u64) -> u64 {
        self.0.saturating_add(step)
    }

    /// The step that a version speaks of; `None` if it is another process's.
    fn step(self, version: ObjectVersion, last: u64) -> Option<u64> {
        version.0.checked_sub(self.0).filter(|step| *step <= last)
    }

    fn name(self, event: &RenderEvent) -> String {
        format!("{}.{:x}", event.regarding.name, self.version(event.id))
    }
}

/// An event as an object.
fn object(kind: Kind, numbers: Numbers, step: u64, event: &RenderEvent) -> Value {
    let metadata = ObjectMeta {
        name: numbers.name(event),
        namespace: event.regarding.namespace.to_string(),
        uid: format!("{:016x}-{:x}", numbers.0, event.id),
        resource_version: numbers.version(step).to_string(),
        creation_timestamp: Some(time::seconds(event.first_ms)),
        ..ObjectMeta::default()
    };
    let regarding = ObjectReference {
        api_version: API_VERSION.to_owned(),
        kind: Kind::PackageRevision.name().to_owned(),
        namespace: event.regarding.namespace.to_string(),
        name: event.regarding.name.to_string(),
        uid: event.regarding.uid.to_string(),
    };
    let series = (event.count > 1)
        .then(|| EventSeries { count: event.count, last_observed_time: Some(time::micros(event.last_ms)) });
    let source = EventSource { component: COMPONENT.to_owned() };
    let (first, last) = (Some(time::seconds(event.first_ms)), Some(time::seconds(event.last_ms)));
    let event_time = Some(time::micros(event.first_ms));
    let instance = format!("{COMPONENT}-{:x}", numbers.0);
    if kind == Kind::Event {
        return to_value(&Event {
            api_version: kind.api_version().to_owned(),
            kind: kind.name().to_owned(),
            metadata,
            event_time,
            series,
            reporting_controller: COMPONENT.to_owned(),
            reporting_instance: instance,
            action: ACTION.to_owned(),
            reason: event.reason.as_str().to_owned(),
            regarding,
            note: event.note.to_string(),
            kind_of_event: event.kind.as_str().to_owned(),
            deprecated_source: source,
            deprecated_first_timestamp: first,
            deprecated_last_timestamp: last,
            deprecated_count: event.count,
        });
    }
    to_value(&CoreEvent {
        api_version: kind.api_version().to_owned(),
        kind: kind.name().to_owned(),
        metadata,
        involved_object: regarding,
        reason: event.reason.as_str().to_owned(),
        message: event.note.to_string(),
        source,
        first_timestamp: first,
        last_timestamp: last,
        count: event.count,
        kind_of_event: event.kind.as_str().to_owned(),
        event_time,
        series,
        action: ACTION.to_owned(),
        reporting_component: COMPONENT.to_owned(),
        reporting_instance: instance,
    })
}

fn item(wanted: Wanted, numbers: Numbers, step: u64, event: &RenderEvent) -> Value {
    let cells = || table::event(event, &numbers.name(event), COMPONENT, time::now_ms());
    wanted.item(|| object(wanted.kind, numbers, step, event), cells)
}

/// Lists or watches events of a namespace, or of all.
pub(super) fn list(app: Arc<App>, caller: &Caller, kind: Kind, namespace: Option<&str>) -> Result<Response, Status> {
    let verb = if caller.query.watch { "watch" } else { "list" };
    app.authorize(caller, verb, Target::all(kind, namespace.unwrap_or_default()))?;
    let wanted = Wanted::of(caller, kind)?;
    let selection = Selection::of(kind, namespace, &caller.query)?;
    if caller.query.watch {
        return watch(app, caller, wanted, selection);
    }
    let numbers = app.numbers;
    let last = *app.events.told().borrow();
    let limit = if caller.query.limit == 0 { usize::MAX } else { caller.query.limit };
    let mut after = caller.query.continues.as_deref().map_or(Ok(0), read_token)?;
    let (mut items, mut continues) = (Vec::new(), None);
    'all: loop {
        let batch = app.events.after(after, BATCH);
        if batch.is_empty() {
            break;
        }
        for (step, event) in batch {
            if step > last {
                break 'all;
            }
            if selects(&selection, kind, numbers, step, &event) {
                if items.len() == limit {
                    continues = Some(URL_SAFE_NO_PAD.encode(after.to_be_bytes()));
                    break 'all;
                }
                items.push(item(wanted, numbers, step, &event));
            }
            after = step;
        }
    }
    let mut metadata = json!({"resourceVersion": numbers.version(last).to_string()});
    if let Some(token) = continues {
        metadata["continue"] = token.into();
    }
    Ok(list::whole(wanted, &metadata, items.into_iter()))
}

fn selects(selection: &Selection, kind: Kind, numbers: Numbers, step: u64, event: &RenderEvent) -> bool {
    selection.namespace().is_none_or(|namespace| namespace == &*event.regarding.namespace)
        && (!selection.selects() || selection.has_object(&object(kind, numbers, step, event)))
}

fn read_token(token: &str) -> Result<u64, Status> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok().and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
    bytes
        .map(u64::from_be_bytes)
        .ok_or_else(|| Status::bad_request("continue: the token is not one that this server gave"))
}

/// One event by its name.
pub(super) fn get(app: &App, caller: &Caller, kind: Kind, namespace: &str, name: &str) -> Result<Response, Status> {
    app.authorize(caller, "get", Target::one(kind, namespace, name))?;
    let wanted = Wanted::of(caller, kind)?;
    let numbers = app.numbers;
    let mut after = 0;
    loop {
        let batch = app.events.after(after, BATCH);
        let Some((last, _)) = batch.last() else { return Err(Status::not_found(kind, name)) };
        after = *last;
        let mut found = batch.iter().filter(|(_, event)| *event.regarding.namespace == *namespace);
        if let Some((step, event)) = found.find(|(_, event)| numbers.name(event) == name) {
            let version = numbers.version(*step).to_string();
            let shown = wanted.alone(item(wanted, numbers, *step, event), &version, true);
            return Ok(Json(shown).into_response());
        }
    }
}

struct Watcher {
    app: Arc<App>,
    wanted: Wanted,
    selection: Selection,
    told: Receiver<u64>,
    /// The step up to which the client knows all.
    after: u64,
    /// The step after which the first objects end, while they are to be marked.
    marked: Option<u64>,
    read: std::vec::IntoIter<(u64, Arc<RenderEvent>)>,
    first_row: bool,
    ends: Instant,
    bookmarks: bool,
    bookmark: Instant,
}

fn watch(app: Arc<App>, caller: &Caller, wanted: Wanted, selection: Selection) -> Result<Response, Status> {
    let told = app.events.told();
    let last = *told.borrow();
    let (after, marked) = match Start::of(&caller.query)? {
        Start::All { marked } => {
            let skip = caller.query.initial_events == Some(false);
            (if skip { last } else { 0 }, marked.then_some(last))
        }
        Start::After(version) => {
            let step = app.numbers.step(version, last);
            let gone = || Status::expired(format!("too old resource version: {}; list again", version.0));
            (step.ok_or_else(gone)?, None)
        }
    };
    let now = Instant::now();
    let watcher = Watcher {
        wanted,
        selection,
        told,
        after,
        marked,
        read: Vec::new().into_iter(),
        first_row: true,
        ends: now + caller.query.timeout.unwrap_or_else(|| spread(app.limits.watch)),
        bookmarks: caller.query.bookmarks,
        bookmark: now + app.limits.bookmark,
        app,
    };
    let body = stream::unfold(watcher, |mut watcher| async move {
        watcher.next().await.map(|line| (Ok::<_, std::convert::Infallible>(line), watcher))
    });
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    Ok((json, Body::from_stream(body)).into_response())
}

impl Watcher {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let numbers = self.app.numbers;
            if let Some((step, event)) = self.read.next() {
                if self.marked.is_some_and(|last| step > last) {
                    // What is read is read again after the mark.
                    self.read = Vec::new().into_iter();
                } else {
                    self.after = step;
                    if !selects(&self.selection, self.wanted.kind, numbers, step, &event) {
                        continue;
                    }
                    let kind = if event.count > 1 { "MODIFIED" } else { "ADDED" };
                    let version = numbers.version(step).to_string();
                    let item = item(self.wanted, numbers, step, &event);
                    let columns = std::mem::take(&mut self.first_row);
                    return Some(line(kind, &self.wanted.alone(item, &version, columns)));
                }
            } else {
                // Marked before looking: what comes after that wakes.
                self.told.mark_unchanged();
                self.read = self.app.events.after(self.after, BATCH).into_iter();
                if self.read.len() > 0 {
                    continue;
                }
            }
            if let Some(last) = self.marked.take() {
                self.after = self.after.max(last);
                return Some(line("BOOKMARK", &self.wanted.bookmark(numbers.version(self.after), true)));
            }
            let bookmark = self.bookmarks.then_some(self.bookmark);
            tokio::select! {
                biased;
                () = self.app.closing() => return None,
                () = tokio::time::sleep_until(self.ends) => return None,
                () = sleep_until(bookmark) => {
                    self.bookmark = Instant::now() + self.app.limits.bookmark;
                    return Some(line("BOOKMARK", &self.wanted.bookmark(numbers.version(self.after), false)));
                }
                changed = self.told.changed() => if changed.is_err() {
                    return Some(error_line(&Status::unavailable("no more events are told", 1)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use portico_scheduler::events::{EventReason, EventType};
    use portico_scheduler::model::RevisionKey;

    use super::*;

    fn event(count: u64) -> RenderEvent {
        RenderEvent {
            id: 3,
            regarding: RevisionKey::new("ns", "a", "uid-1"),
            reason: EventReason::RenderFailed,
            kind: EventType::Warning,
            note: "the render failed: no".into(),
            count,
            first_ms: 1000,
            last_ms: 2000,
        }
    }

    #[test]
    fn both_forms_say_the_same() {
        let numbers = Numbers::new(5);
        let core = object(Kind::CoreEvent, numbers, 7, &event(2));
        assert_eq!(core["apiVersion"], "v1");
        assert_eq!(core["metadata"]["name"], format!("a.{:x}", 5003));
        assert_eq!(core["involvedObject"]["uid"], "uid-1");
        assert_eq!((&core["reason"], &core["type"]), (&json!("RenderFailed"), &json!("Warning")));
        assert_eq!((&core["count"], &core["lastTimestamp"]), (&json!(2), &json!("1970-01-01T00:00:02Z")));
        let new = object(Kind::Event, numbers, 7, &event(1));
        assert_eq!(new["apiVersion"], "events.k8s.io/v1");
        assert_eq!((&new["regarding"], &new["note"]), (&core["involvedObject"], &core["message"]));
        assert_eq!((&new["deprecatedCount"], new.get("series")), (&json!(1), None));
    }

    #[test]
    fn versions_of_another_process_are_told_apart() {
        let (old, new) = (Numbers::new(1_790_000_000_000), Numbers::new(1_790_000_001_000));
        let seen = ObjectVersion(old.version(10));
        assert_eq!(old.step(seen, 10), Some(10));
        assert_eq!(new.step(seen, 10), None);
        assert_eq!(old.step(ObjectVersion(new.version(1)), 10), None);
    }
}

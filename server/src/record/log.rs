//! The `log` subresource of a revision.
//!
//! `GET …/packagerevisions/NAME/log` answers with what the revision's render that runs now has done so far, or else with
//! the last one, as text. The words of the query are kubectl's where it has them:
//!
//! | | |
//! |---|---|
//! | `follow=true` | goes on until the newest content has been rendered, into the next render where one is superseded |
//! | `format=json` | the record; with `follow`, a JSON object a line |
//! | `render=ID` | of this render, while it is in memory or the last one |
//! | `tailLines=N` | of what is there already, the last lines |
//! | `limitBytes=N` | ends after so many bytes |

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use portico_scheduler::model::RevisionKey;
use portico_scheduler::store::{PackageStore as _, StoreError};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::limits::RecordLimits;
use super::live::{Form, Live};
use super::model::{Record, RecordOutcome, RenderId};
use super::renders::Renders;
use super::text;
use crate::Scheduler;

/// Bytes that are made ready for a reader at once.
const PART: usize = 64 << 10;

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The query can't be understood.
    #[error("`{name}={value}`: {expected}")]
    Query {
        /// Of the parameter.
        name: &'static str,
        /// What it is.
        value: String,
        /// What it is to be.
        expected: &'static str,
    },
    /// No render has begun yet.
    #[error("no render of `{0}` has begun yet; `follow=true` waits for it")]
    NotYet(RevisionKey),
    /// Not in memory, and not the last one.
    #[error("the log of the render `{render}` of `{key}` is not kept; without `render` there is that of the last one")]
    NotKept {
        /// The revision.
        key: RevisionKey,
        /// The render that was asked for.
        render: String,
    },
    /// Too many follow logs already.
    #[error("{0} logs are being followed already; try again later, or without `follow`")]
    TooMany(usize),
    /// The store does not answer, or the revision is gone.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LogError {
    /// The status of an answer that says so.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Query { .. } => StatusCode::BAD_REQUEST,
            Self::NotYet(_) | Self::NotKept { .. } | Self::Store(StoreError::NotFound(_)) => StatusCode::NOT_FOUND,
            Self::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogQuery {
    follow: bool,
    json: bool,
    render: Option<String>,
    tail_lines: Option<usize>,
    limit_bytes: Option<usize>,
}

impl LogQuery {
    /// Reads the query part of an address, decoded into names and values. Names that are not known are passed over, as
    /// Kubernetes does.
    pub fn parse<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, LogError> {
        let mut query = Self::default();
        for (name, value) in pairs {
            match name {
                "follow" => query.follow = truth("follow", value)?,
                "format" => {
                    query.json = match value {
                        "json" => true,
                        "" | "text" => false,
                        _ => return Err(wrong("format", value, "`text` or `json`")),
                    }
                }
                "render" if !value.is_empty() => query.render = Some(value.to_owned()),
                "tailLines" => query.tail_lines = Some(number("tailLines", value)?),
                "limitBytes" => query.limit_bytes = Some(number("limitBytes", value)?),
                _ => {}
            }
        }
        if query.json && !query.follow && query.tail_lines.is_some() {
            return Err(wrong("format", "json", "`tailLines` goes with text, or with `follow=true`"));
        }
        Ok(query)
    }

    fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Text }
    }
}

fn wrong(name: &'static str, value: &str, expected: &'static str) -> LogError {
    LogError::Query { name, value: value.chars().take(64).collect(), expected }
}

fn truth(name: &'static str, value: &str) -> Result<bool, LogError> {
    match value {
        "" | "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(wrong(name, value, "`true` or `false`")),
    }
}

fn number(name: &'static str, value: &str) -> Result<usize, LogError> {
    value.parse().map_err(|_| wrong(name, value, "a whole number, not negative"))
}

/// Answers a request for the log of a revision that exists. Who asks was checked before.
pub async fn log(
    renders: &Arc<Renders>,
    scheduler: &Scheduler,
    key: &RevisionKey,
    query: &LogQuery,
) -> Result<Response, LogError> {
    if !query.follow {
        let found = find(renders, scheduler, key, query.render.as_deref()).await?;
        return Ok(once(&found, query));
    }
    let mut start = Start { named: query.render.is_some(), ..Start::default() };
    let found = if start.named {
        // What was asked for by name ends when it has ended.
        Some(find(renders, scheduler, key, query.render.as_deref()).await?)
    } else {
        let last = renders.last(key);
        let revision = scheduler.store().revision(key).await?;
        if revision.is_unfinished() {
            // An older one is none of its business, unless it runs: then it is about to be superseded.
            let (now, old) = match last {
                Some(live) if live.json().is_none() || live.content_version() == revision.content_version.0 => {
                    (Some(live), None)
                }
                old => (None, old),
            };
            start.old = old.map(|live| live.id().clone());
            now.map(Found::Live)
        } else {
            Some(find(renders, scheduler, key, None).await?)
        }
    };
    match found {
        Some(found @ Found::Stored(_)) => return Ok(once_as_followed(&found, query, *renders.limits())),
        Some(Found::Live(live)) => start.first = Some(live),
        None => {}
    }
    let limits = *renders.limits();
    let room = renders.follower().ok_or(LogError::TooMany(limits.followers))?;
    let (sender, receiver) = mpsc::channel(1);
    let reader = Reader { sender, query: query.clone(), stall: limits.stall, left: query.limit_bytes };
    let deadline = Instant::now().checked_add(limits.follow);
    let (renders, scheduler, key) = (Arc::clone(renders), scheduler.clone(), key.clone());
    tokio::spawn(async move {
        let (room, mut reader) = (room, reader);
        let following = follow(&mut reader, &renders, &scheduler, &key, start);
        let word = match deadline {
            None => following.await,
            Some(deadline) => timeout_at(deadline, following).await.unwrap_or(Err(Cut::TooLong)),
        };
        if let Err(Cut::TooSlow | Cut::TooLong) = word {
            // Its place is free: what waits for it is a line.
            drop(room);
            renders.cut_one();
            let why =
                if matches!(word, Err(Cut::TooSlow)) { "the reader is too slow" } else { "it was followed for long" };
            let word = match reader.query.form() {
                Form::Text => format!("\n[the log ends here: {why}; ask again to go on]\n"),
                Form::Json => format!("{}\n", serde_json::json!({ "type": "Cut", "message": why })),
            };
            // It is there when the reader comes back, or the connection has been closed by then.
            let _ = timeout(limits.follow, reader.sender.send(word.into())).await;
        }
    });
    let parts = stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|part| (Ok::<Bytes, std::convert::Infallible>(part), receiver))
    });
    Ok(answer(query.json, None, Body::from_stream(parts)))
}

/// A render's record, wherever it is.
enum Found {
    Live(Arc<Live>),
    Stored(Box<Record>),
}

impl Found {
    fn record(&self) -> Record {
        match self {
            Self::Live(live) => live.record(),
            Self::Stored(record) => (**record).clone(),
        }
    }
}

/// The record of a render: of this one, or else of the one that runs now, or else of the last one.
async fn find(
    renders: &Renders,
    scheduler: &Scheduler,
    key: &RevisionKey,
    render: Option<&str>,
) -> Result<Found, LogError> {
    let Some(render) = render else {
        if let Some(live) = renders.live(key) {
            return Ok(Found::Live(live));
        }
        let stored = scheduler.last_log(key).await?.map(|log| Record::stored(key, &log));
        return match (renders.last(key), stored) {
            // The scheduler has given up since, without a render. No two clocks are compared for that: its words are
            // replaced by the record of a later render as soon as that is saved.
            (Some(live), Some(words)) if words.is_words() && words.content_version >= live.content_version() => {
                Ok(Found::Stored(Box::new(words)))
            }
            // The store gets it in a moment, or has it.
            (Some(live), _) => Ok(Found::Live(live)),
            (None, Some(record)) => Ok(Found::Stored(Box::new(record))),
            (None, None) => Err(LogError::NotYet(key.clone())),
        };
    };
    if let Some(live) = renders.find(key, render) {
        return Ok(Found::Live(live));
    }
    match scheduler.last_log(key).await?.map(|log| Record::stored(key, &log)) {
        Some(record) if record.render.as_str() == render => Ok(Found::Stored(Box::new(record))),
        _ => Err(LogError::NotKept { key: key.clone(), render: render.chars().take(64).collect() }),
    }
}

/// A record as it is now.
fn once(found: &Found, query: &LogQuery) -> Response {
    let record = found.record();
    let render = HeaderValue::from_str(record.render.as_str()).ok();
    let text = if query.json {
        let ended = match found {
            Found::Live(live) => live.json(),
            Found::Stored(_) => None,
        };
        let json = ended.or_else(|| serde_json::to_vec(&record).ok().map(Bytes::from)).unwrap_or_default();
        [&json[..], b"\n"].concat()
    } else {
        tail(text::whole(&record), query.tail_lines).into_bytes()
    };
    answer(query.json, render, Body::from(limited(text, query.limit_bytes)))
}

/// A record that has ended, in the form of one that is followed.
fn once_as_followed(found: &Found, query: &LogQuery, limits: RecordLimits) -> Response {
    let record = found.record();
    let render = HeaderValue::from_str(record.render.as_str()).ok();
    let text =
        if query.json { Live::ended(record, limits).read(0, Form::Json, usize::MAX).0 } else { text::whole(&record) };
    let text = tail(text, query.tail_lines).into_bytes();
    answer(query.json, render, Body::from(limited(text, query.limit_bytes)))
}

fn limited(mut text: Vec<u8>, bytes: Option<usize>) -> Vec<u8> {
    text.truncate(bytes.unwrap_or(usize::MAX));
    text
}

fn answer(json: bool, render: Option<HeaderValue>, body: Body) -> Response {
    let kind = if json { "application/json" } else { "text/plain; charset=utf-8" };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let mut response = (headers, body).into_response();
    if let Some(render) = render {
        response.headers_mut().insert("portico-render", render);
    }
    response
}

/// The last lines of a text.
fn tail(text: String, lines: Option<usize>) -> String {
    let Some(lines) = lines else { return text };
    let start = match lines {
        0 => text.len(),
        lines => {
            let breaks = text.trim_end_matches('\n').rmatch_indices('\n');
            breaks.map(|(at, _)| at + 1).nth(lines - 1).unwrap_or(0)
        }
    };
    text[start..].to_owned()
}

/// Why a log ends before its render does.
enum Cut {
    /// Nobody reads any more, or all that was asked for was sent.
    Done,
    TooSlow,
    TooLong,
}

/// Whoever follows.
struct Reader {
    sender: mpsc::Sender<Bytes>,
    query: LogQuery,
    stall: Duration,
    /// Bytes that may still be sent.
    left: Option<usize>,
}

impl Reader {
    async fn send(&mut self, text: String) -> Result<(), Cut> {
        let mut bytes = Bytes::from(text);
        if let Some(left) = &mut self.left {
            bytes.truncate(*left);
            *left -= bytes.len();
        }
        if !bytes.is_empty() {
            match timeout(self.stall, self.sender.send(bytes)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(Cut::Done),
                Err(_) => return Err(Cut::TooSlow),
            }
        }
        if self.left == Some(0) { Err(Cut::Done) } else { Ok(()) }
    }

    /// A render from its beginning to its end.
    async fn render(&mut self, live: &Live) -> Result<(), Cut> {
        let form = self.query.form();
        let mut told = live.subscribe();
        let mut from = 0;
        if let Some(lines) = self.query.tail_lines.take() {
            let (text, next, _) = live.read(0, form, usize::MAX);
            from = next;
            self.send(tail(text, Some(lines))).await?;
        }
        loop {
            told.mark_unchanged();
            let (text, next, end) = live.read(from, form, PART);
            let more = next > from;
            from = next;
            self.send(text).await?;
            if end {
                return Ok(());
            }
            if !more {
                tokio::select! {
                    // The sender lives as long as `live`.
                    _ = told.changed() => {}
                    () = self.sender.closed() => return Err(Cut::Done),
                }
            }
        }
    }
}

/// Where a reader begins.
#[derive(Default)]
struct Start {
    /// With this render.
    first: Option<Arc<Live>>,
    /// It was asked for by its id: no other is shown.
    named: bool,
    /// This one has ended, and newer content waits.
    old: Option<RenderId>,
}

/// Shows a render, and those that follow until there is nothing to render any more.
async fn follow(
    reader: &mut Reader,
    renders: &Renders,
    scheduler: &Scheduler,
    key: &RevisionKey,
    start: Start,
) -> Result<(), Cut> {
    let Start { first: mut next, named, old: mut shown } = start;
    let mut began = renders.began();
    let (mut settled, mut any) = (false, false);
    loop {
        began.mark_unchanged();
        let newer = |live: &Arc<Live>| shown.as_ref() != Some(live.id());
        if let Some(live) = next.take().or_else(|| renders.last(key)).filter(newer) {
            (shown, any, settled) = (Some(live.id().clone()), true, false);
            reader.render(&live).await?;
            // Another one follows, or the scheduler says that it was cancelled.
            if named || !matches!(live.record().outcome, RecordOutcome::Stopped | RecordOutcome::Broken) {
                return Ok(());
            }
            continue;
        }
        if settled {
            break;
        }
        tokio::select! {
            // The sender lives as long as `renders`.
            _ = began.changed() => {}
            // With an error the revision is gone, or the store is: there is nothing to wait for.
            _ = scheduler.rendered(key) => settled = true,
            () = reader.sender.closed() => return Err(Cut::Done),
        }
    }
    // Rendered by another process, or given up before a render began.
    match find(renders, scheduler, key, None).await {
        Ok(Found::Live(live)) if !any => reader.render(&live).await,
        Ok(Found::Stored(record)) if !any => reader.render(&Live::ended(*record, *renders.limits())).await,
        _ => Ok(()),
    }
}

//! Revisions over gRPC: scheduled, watched, listed, read, cancelled.

use std::sync::Arc;
use std::time::Duration;

use portico_server::auth::{AllowAll, Attributes, Authorizer, Identity};
use portico_server::grpc::Settings;
use portico_server::grpc::proto::v1::get_response::Message as Got;
use portico_server::grpc::proto::v1::schedule_request::Message as Ask;
use portico_server::grpc::proto::v1::watch_response::Message as Told;
use portico_server::grpc::proto::v1::{
    CancelRequest, GetRequest, Key, ListRequest, LogsRequest, Priority, RenderExecutionStatus, Revision, ScheduleBegin,
    ScheduleRequest, ScheduleResponse, WatchRequest,
};
use tonic::{Code, Request, Status};

use crate::harness::{Server, settings};
use crate::render::{chunks, package};

async fn server(workers: usize) -> Server {
    Server::with_revisions(settings(), Arc::new(AllowAll), workers).await
}

pub(crate) fn key(name: &str) -> Key {
    Key { namespace: "team".to_owned(), name: name.to_owned(), uid: String::new() }
}

pub(crate) fn begin(name: &str) -> ScheduleBegin {
    ScheduleBegin { key: Some(key(name)), repository: "blueprints".to_owned(), ..ScheduleBegin::default() }
}

pub(crate) async fn schedule(
    server: &Server,
    begin: ScheduleBegin,
    functions: Option<&[&str]>,
) -> Result<ScheduleResponse, Status> {
    schedule_files(server, begin, functions.map(package).as_deref()).await
}

pub(crate) async fn schedule_files(
    server: &Server,
    begin: ScheduleBegin,
    files: Option<&[(String, Vec<u8>)]>,
) -> Result<ScheduleResponse, Status> {
    let begin = ScheduleBegin { with_files: files.is_some(), ..begin };
    let files = files.map(|files| chunks(files, 50)).unwrap_or_default();
    let messages = std::iter::once(Ask::Begin(begin)).chain(files.into_iter().map(Ask::Files));
    let messages: Vec<_> = messages.map(|message| ScheduleRequest { message: Some(message) }).collect();
    server.renders().await.schedule(tokio_stream::iter(messages)).await.map(tonic::Response::into_inner)
}

fn rendered(revision: &Revision) -> Option<bool> {
    let of = |kind: &str| revision.conditions.iter().find(|condition| condition.r#type == kind);
    (of("RenderFinished")?.status == "True").then(|| of("Rendered").is_some_and(|condition| condition.status == "True"))
}

/// Watches until the render of a revision has ended; with the last version.
pub(crate) async fn until_rendered(server: &Server, name: &str) -> (Revision, String) {
    let request = WatchRequest { namespace: "team".to_owned(), name: name.to_owned(), version: String::new() };
    let mut watch = server.renders().await.watch(request).await.unwrap().into_inner();
    loop {
        let message = watch.message().await.unwrap().unwrap();
        if let Some(Told::Put(revision)) = message.message
            && rendered(&revision).is_some()
        {
            assert_eq!(revision.status(), RenderExecutionStatus::None);
            return (revision, message.version);
        }
    }
}

#[tokio::test]
async fn what_is_scheduled_is_rendered_and_can_be_read() {
    let server = server(1).await;
    let source = ScheduleBegin { source_version: "abc".to_owned(), priority: Priority::High.into(), ..begin("app") };
    let scheduled = schedule(&server, source, Some(&["echo"])).await.unwrap();
    let revision = scheduled.revision.unwrap();
    assert_eq!((&*revision.lifecycle, &*revision.source_version), ("Draft", "abc"));
    assert_eq!(revision.priority(), Priority::High);
    let (ended, _) = until_rendered(&server, "app").await;
    assert_eq!(rendered(&ended), Some(true));
    assert_eq!(ended.source_version, "abc");

    let mut client = server.renders().await;
    let request = GetRequest { key: Some(key("app")), with_files: true };
    let mut answer = client.get(request).await.unwrap().into_inner();
    let first = answer.message().await.unwrap().unwrap().message;
    assert!(matches!(first, Some(Got::Revision(got)) if got.content_version == ended.content_version));
    let Some(Got::Files(files)) = answer.message().await.unwrap().unwrap().message else { panic!("no files") };
    let paths: Vec<&str> = files.chunks.iter().map(|chunk| &*chunk.path).collect();
    assert_eq!(paths, ["Kptfile", "README.md", "a.yaml"]);
    assert!(answer.message().await.unwrap().is_none());

    let request = LogsRequest { key: Some(key("app")), ..LogsRequest::default() };
    let mut logs = client.logs(request).await.unwrap().into_inner();
    let mut text = Vec::new();
    while let Some(piece) = logs.message().await.unwrap() {
        text.extend(piece.text);
    }
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("probe.local/echo:v1"), "{text}");

    // With nothing new it renders what is there.
    let again = schedule(&server, begin("app"), None).await.unwrap();
    assert_ne!(again.status(), RenderExecutionStatus::None);
    until_rendered(&server, "app").await;
}

#[tokio::test]
async fn versions_keep_writers_apart() {
    let server = server(0).await;
    let first = schedule(&server, begin("app"), Some(&["echo"])).await.unwrap().revision.unwrap();
    let second = schedule(&server, begin("app"), Some(&["chatty"])).await.unwrap().revision.unwrap();
    assert_ne!(first.content_version, second.content_version);
    let stale = || ScheduleBegin { content_version: first.content_version.clone(), ..begin("app") };
    for functions in [Some(&["echo"][..]), None] {
        let status = schedule(&server, stale(), functions).await.unwrap_err();
        assert_eq!(status.code(), Code::Aborted, "{status}");
    }
    let current = ScheduleBegin { content_version: second.content_version.clone(), ..begin("app") };
    assert!(schedule(&server, current, Some(&["echo"])).await.is_ok());
    let mut other = begin("app");
    other.key.as_mut().unwrap().uid = "another".to_owned();
    for (begin, functions, code) in [
        (begin("absent"), None, Code::NotFound),
        (other, Some(&["echo"][..]), Code::NotFound),
        (ScheduleBegin { content_version: "1".to_owned(), ..begin("absent") }, Some(&["echo"][..]), Code::NotFound),
        (ScheduleBegin { content_version: "x".to_owned(), ..begin("app") }, None, Code::InvalidArgument),
        (ScheduleBegin::default(), None, Code::InvalidArgument),
        (begin("Not A Name"), Some(&["echo"][..]), Code::InvalidArgument),
    ] {
        let status = schedule(&server, begin, functions).await.unwrap_err();
        assert_eq!(status.code(), code, "{status}");
    }
}

#[tokio::test]
async fn a_watch_goes_on_where_another_ended() {
    let server = server(1).await;
    schedule(&server, begin("app"), Some(&["echo"])).await.unwrap();
    let mut client = server.renders().await;
    let mut watch = client.watch(WatchRequest::default()).await.unwrap().into_inner();
    let version = loop {
        let message = watch.message().await.unwrap().unwrap();
        if let Some(Told::Listed(_)) = message.message {
            break message.version;
        }
    };
    drop(watch);
    schedule(&server, begin("later"), Some(&["echo"])).await.unwrap();
    let resumed = WatchRequest { version: version.clone(), ..WatchRequest::default() };
    let mut watch = client.watch(resumed).await.unwrap().into_inner();
    let mut names = Vec::new();
    while !names.contains(&"later".to_owned()) {
        let message = watch.message().await.unwrap().unwrap();
        assert!(!message.version.is_empty());
        if let Some(Told::Put(revision)) = message.message {
            names.push(revision.key.unwrap().name);
        }
    }
    let (later, _) = until_rendered(&server, "later").await;
    server.scheduler().store();
    let key = later.key.unwrap();
    let key = portico_scheduler::model::RevisionKey::new(&key.namespace, &key.name, &key.uid);
    portico_scheduler::store::PackageStore::delete(server.scheduler().store(), &key, None).await.unwrap();
    loop {
        if let Some(Told::Deleted(gone)) = watch.message().await.unwrap().unwrap().message {
            assert_eq!(gone.name, "later");
            break;
        }
    }
    for (version, code) in [("999999", Code::OutOfRange), ("soon", Code::InvalidArgument)] {
        let request = WatchRequest { version: version.to_owned(), ..WatchRequest::default() };
        assert_eq!(client.watch(request).await.unwrap_err().code(), code, "{version}");
    }
}

#[tokio::test]
async fn a_watch_ends_with_the_server_and_with_its_time_and_is_one_of_so_many() {
    let settings = Settings { lasting: 1, ..settings() };
    let mut server = Server::with_revisions(settings, Arc::new(AllowAll), 1).await;
    let mut client = server.renders().await;
    let mut brief = Request::new(WatchRequest::default());
    brief.metadata_mut().insert("grpc-timeout", "50m".parse().unwrap());
    let mut watch = client.watch(brief).await.unwrap().into_inner();
    let ended = loop {
        match watch.message().await {
            Ok(Some(_)) => {}
            ended => break ended,
        }
    };
    assert_eq!(ended.unwrap_err().code(), Code::DeadlineExceeded);
    drop(watch);
    let mut watch = loop {
        // Its place is free as soon as the server has seen the end.
        match client.watch(WatchRequest::default()).await {
            Ok(watch) => break watch.into_inner(),
            Err(status) => assert_eq!(status.code(), Code::ResourceExhausted, "{status}"),
        }
    };
    let status = client.watch(WatchRequest::default()).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("`grpc.lasting`"), "{status}");
    assert!(matches!(watch.message().await.unwrap().unwrap().message, Some(Told::Listed(_))));
    let stopped = server.stop();
    let status = watch.message().await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    drop((watch, client));
    stopped.await.unwrap();
}

#[tokio::test]
async fn what_spins_is_cancelled_and_its_end_recorded() {
    let server = server(1).await;
    schedule(&server, begin("app"), Some(&["spin"])).await.unwrap();
    let mut client = server.renders().await;
    let reason = "nobody wants it\nany more".to_owned();
    client.cancel(CancelRequest { key: Some(key("app")), reason }).await.unwrap();
    let (ended, _) = until_rendered(&server, "app").await;
    let condition = ended.conditions.iter().find(|condition| condition.r#type == "Rendered").unwrap();
    assert_eq!((&*condition.status, &*condition.reason), ("False", "Cancelled"));
    assert!(condition.message.contains("nobody wants it | any more"), "{}", condition.message);
    let absent = client.cancel(CancelRequest { key: Some(key("absent")), reason: String::new() }).await.unwrap_err();
    assert_eq!(absent.code(), Code::NotFound);
}

#[tokio::test]
async fn lists_come_in_pages() {
    let server = server(0).await;
    for name in ["a", "b", "c"] {
        schedule(&server, begin(name), Some(&["echo"])).await.unwrap();
    }
    let mut client = server.renders().await;
    let (mut token, mut names) = (String::new(), Vec::new());
    loop {
        let request = ListRequest { page_size: 2, page_token: token, unfinished: true, ..ListRequest::default() };
        let page = client.list(request).await.unwrap().into_inner();
        assert!(page.revisions.len() <= 2 && !page.version.is_empty());
        names.extend(page.revisions.into_iter().map(|revision| revision.key.unwrap().name));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(names, ["a", "b", "c"]);
    let elsewhere = ListRequest { namespace: "other".to_owned(), ..ListRequest::default() };
    assert!(client.list(elsewhere).await.unwrap().into_inner().revisions.is_empty());
}

/// Members of `team` may do everything there and nothing elsewhere.
struct TeamAlone;

impl Authorizer for TeamAlone {
    fn allows(&self, _: &Identity, what: &Attributes<'_>) -> Result<(), String> {
        if what.namespace == "team" { Ok(()) } else { Err(format!("{} {}: not here", what.verb, what.resource)) }
    }
}

#[tokio::test]
async fn no_method_shows_or_changes_what_is_somebody_elses() {
    let server = Server::with_revisions(settings(), Arc::new(TeamAlone), 0).await;
    schedule(&server, begin("app"), Some(&["echo"])).await.unwrap();
    let mut client = server.renders().await;
    let key = Some(Key { namespace: "other".to_owned(), name: "app".to_owned(), uid: String::new() });
    let other = || ScheduleBegin { key: key.clone(), ..begin("app") };
    let mut refused = vec![
        schedule(&server, other(), Some(&["echo"])).await.unwrap_err(),
        schedule(&server, other(), None).await.unwrap_err(),
        client.get(GetRequest { key: key.clone(), with_files: false }).await.unwrap_err(),
        client.cancel(CancelRequest { key: key.clone(), reason: String::new() }).await.unwrap_err(),
        client.logs(LogsRequest { key: key.clone(), ..LogsRequest::default() }).await.unwrap_err(),
        client.list(ListRequest::default()).await.unwrap_err(),
        client.watch(WatchRequest::default()).await.unwrap_err(),
    ];
    let watch = WatchRequest { namespace: "other".to_owned(), ..WatchRequest::default() };
    refused.push(client.watch(watch).await.unwrap_err());
    for status in refused {
        assert_eq!(status.code(), Code::PermissionDenied, "{status}");
    }
    let mine = WatchRequest { namespace: "team".to_owned(), ..WatchRequest::default() };
    let mut watch = client.watch(mine).await.unwrap().into_inner();
    let first = tokio::time::timeout(Duration::from_secs(30), watch.message()).await.unwrap();
    assert!(matches!(first.unwrap().unwrap().message, Some(Told::Put(_))));
}

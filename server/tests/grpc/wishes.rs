//! What `Schedule` and annotations ask of the renders of revisions: limits, a time, a style.

use std::collections::BTreeMap;
use std::sync::Arc;

use portico_scheduler::model::RevisionKey;
use portico_scheduler::store::{ClientUpdate, Expected, PackageStore as _};
use portico_server::auth::AllowAll;
use portico_server::grpc::proto::v1::get_response::Message as Got;
use portico_server::grpc::proto::v1::{
    CancelRequest, Condition, GetRequest, Limit, LogsRequest, RenderExecutionStatus, Revision, ScheduleBegin, YamlStyle,
};
use portico_server::record::wishes::{LIMITS, RENDER_BY, YAML_STYLE};
use serde_json::Value;
use tonic::Code;

use crate::harness::{Server, settings};
use crate::render::package;
use crate::revisions::{begin, key, schedule, schedule_files, until_rendered};

const FUEL: &str = "\
limits: {fuel: 20000, fuelPerStep: 0, fuelPerInputByte: 0}
maximum: {fuel: 300000}
";

fn fuel(value: u64) -> Vec<Limit> {
    vec![Limit { name: "fuel".to_owned(), value }]
}

fn nanoseconds(nanos: i32) -> prost_types::Duration {
    prost_types::Duration { seconds: 0, nanos }
}

fn how(revision: &Revision) -> Condition {
    revision.conditions.iter().find(|condition| condition.r#type == "Rendered").expect("it has ended").clone()
}

/// The record of the last render.
async fn record(server: &Server, name: &str) -> Value {
    let request = LogsRequest { key: Some(key(name)), json: true, ..LogsRequest::default() };
    let mut logs = server.renders().await.logs(request).await.unwrap().into_inner();
    let mut text = Vec::new();
    while let Some(piece) = logs.message().await.unwrap() {
        text.extend(piece.text);
    }
    serde_json::from_slice(&text).unwrap()
}

async fn files(server: &Server, name: &str) -> BTreeMap<String, String> {
    let request = GetRequest { key: Some(key(name)), with_files: true };
    let mut answer = server.renders().await.get(request).await.unwrap().into_inner();
    let mut files = BTreeMap::<String, String>::new();
    while let Some(message) = answer.message().await.unwrap() {
        if let Some(Got::Files(pieces)) = message.message {
            for piece in pieces.chunks {
                files.entry(piece.path).or_default().push_str(std::str::from_utf8(&piece.data).unwrap());
            }
        }
    }
    files
}

/// Sets annotations, as a client of another API could.
async fn annotate(server: &Server, revision: &Revision, annotations: &[(&str, &str)]) {
    let key = revision.key.as_ref().unwrap();
    let key = RevisionKey::new(&key.namespace, &key.name, &key.uid);
    let store = server.scheduler().store();
    let content = store.revision(&key).await.unwrap().content_version;
    let annotations = annotations.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let update = ClientUpdate { annotations: Some(annotations), ..ClientUpdate::default() };
    store.update(&key, Expected::Content(content), update).await.unwrap();
}

#[tokio::test]
async fn a_scheduled_render_has_the_limits_that_were_asked_for_up_to_the_maximum() {
    let server = Server::configured_with_revisions(FUEL, 1).await;
    let used = async |begin: ScheduleBegin, functions: Option<&[&str]>| {
        schedule(&server, begin, functions).await.unwrap();
        let (ended, _) = until_rendered(&server, "app").await;
        assert_eq!(how(&ended).reason, "RenderFailed");
        let record = record(&server, "app").await;
        let asked: Vec<u64> = ended.limits.iter().map(|limit| limit.value).collect();
        (record["fuel"].as_u64().unwrap(), asked, record["warnings"].to_string().contains("300000 holds"))
    };
    let with = |limits| ScheduleBegin { limits, ..begin("app") };
    let spin = Some(&["spin"][..]);
    assert_eq!(used(begin("app"), spin).await, (20_000, vec![], false));
    assert_eq!(used(with(fuel(200_000)), spin).await, (200_000, vec![200_000], false));
    // A call that says nothing of them leaves them, with files and without.
    assert_eq!(used(begin("app"), spin).await, (200_000, vec![200_000], false));
    assert_eq!(used(begin("app"), None).await, (200_000, vec![200_000], false));
    assert_eq!(used(with(fuel(u64::MAX)), None).await, (300_000, vec![u64::MAX], true));
    assert_eq!(used(with(fuel(10_000)), spin).await, (10_000, vec![10_000], false));
    // Those that are taken away are gone for the next render.
    assert_eq!(used(ScheduleBegin { no_limits: true, ..begin("app") }, None).await, (20_000, vec![], false));

    let speed = with(vec![Limit { name: "speed".to_owned(), value: 1 }]);
    let status = schedule(&server, speed, spin).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("`limits`: there is no limit `speed`"), "{status}");
}

#[tokio::test]
async fn a_scheduled_package_may_be_as_large_as_was_asked_for() {
    let text = "limits: {package: {files: 2}}\nmaximum: {package: {files: 3}}\n";
    let server = Server::configured_with_revisions(text, 0).await;
    let status = schedule(&server, begin("app"), Some(&["echo"])).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    let limits = vec![Limit { name: "package.files".to_owned(), value: 3 }];
    schedule(&server, ScheduleBegin { limits, ..begin("app") }, Some(&["echo"])).await.unwrap();
    // What was asked for before counts where nothing is said.
    schedule(&server, begin("app"), Some(&["echo"])).await.unwrap();
    let none = ScheduleBegin { no_limits: true, ..begin("app") };
    assert_eq!(schedule(&server, none, Some(&["echo"])).await.unwrap_err().code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn a_deadline_stops_a_render_for_good_and_one_of_a_call_is_not_that_of_the_next() {
    let server = Server::with_revisions(settings(), Arc::new(AllowAll), 1).await;
    let brief = ScheduleBegin { deadline: Some(nanoseconds(1_500_000_000)), ..begin("app") };
    let scheduled = schedule(&server, brief, Some(&["spin"])).await.unwrap().revision.unwrap();
    let by = scheduled.render_by.unwrap();
    let (ended, _) = until_rendered(&server, "app").await;
    let Condition { status, reason, message, .. } = how(&ended);
    assert_eq!((&*status, &*reason, ended.render_by), ("False", "DeadlineExceeded", Some(by)), "{message}");
    assert!(message.contains(RENDER_BY), "{message}");
    assert_eq!(record(&server, "app").await["steps"][0]["cause"], "deadline");
    // It has ended, and nothing else happens.
    assert_eq!(ended.status(), RenderExecutionStatus::None);
    assert_eq!(server.scheduler().lengths().waiting(), 0);

    let next = schedule(&server, begin("app"), Some(&["echo"])).await.unwrap().revision.unwrap();
    assert_eq!(next.render_by, None);
    assert_eq!(how(&until_rendered(&server, "app").await.0).reason, "RenderSuccess");
}

#[tokio::test]
async fn a_deadline_that_passes_while_it_waits_ends_the_render_in_its_turn() {
    let server = Server::with_revisions(settings(), Arc::new(AllowAll), 1).await;
    schedule(&server, begin("long"), Some(&["spin"])).await.unwrap();
    let late = ScheduleBegin { deadline: Some(nanoseconds(1)), ..begin("late") };
    schedule(&server, late, Some(&["echo"])).await.unwrap();
    server.renders().await.cancel(CancelRequest { key: Some(key("long")), reason: String::new() }).await.unwrap();
    let (ended, _) = until_rendered(&server, "late").await;
    let Condition { reason, message, .. } = how(&ended);
    assert_eq!(reason, "DeadlineExceeded");
    assert!(message.contains("had passed before its turn came"), "{message}");
    // Asked again without one, it is rendered as it is.
    schedule(&server, begin("late"), None).await.unwrap();
    assert_eq!(how(&until_rendered(&server, "late").await.0).reason, "RenderSuccess");
}

#[tokio::test]
async fn files_are_written_in_the_style_that_was_asked_for() {
    let server = Server::with_revisions(settings(), Arc::new(AllowAll), 1).await;
    let wide = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n    name: 'wide'\n";
    let mut package = package(&["echo"]);
    package.push(("wide.yaml".to_owned(), wide.as_bytes().to_vec()));
    let written = async |begin: ScheduleBegin| {
        schedule_files(&server, begin, Some(&package)).await.unwrap();
        let (ended, _) = until_rendered(&server, "app").await;
        assert_eq!(how(&ended).reason, "RenderSuccess");
        (ended.style(), files(&server, "app").await["wide.yaml"].clone())
    };
    let styled = |style: YamlStyle| ScheduleBegin { style: style.into(), ..begin("app") };
    let narrow = wide.replace("    ", "  ");
    assert_eq!(written(begin("app")).await, (YamlStyle::Unspecified, wide.to_owned()));
    assert_eq!(written(styled(YamlStyle::Kpt)).await, (YamlStyle::Kpt, narrow.clone()));
    assert_eq!(written(begin("app")).await, (YamlStyle::Kpt, narrow));
    assert_eq!(written(styled(YamlStyle::Preserve)).await, (YamlStyle::Preserve, wide.to_owned()));
}

#[tokio::test]
async fn an_annotation_that_cannot_be_read_is_told_and_one_that_is_set_right_holds() {
    let server = Server::configured_with_revisions(FUEL, 1).await;
    let revision = schedule(&server, begin("app"), Some(&["spin"])).await.unwrap().revision.unwrap();
    until_rendered(&server, "app").await;
    for (name, value) in [(LIMITS, "fuel=much"), (YAML_STYLE, "pretty"), (RENDER_BY, "tomorrow")] {
        annotate(&server, &revision, &[(name, value)]).await;
        // Asked for by an API that takes no time away.
        let key = revision.key.clone().unwrap();
        let key = RevisionKey::new(&key.namespace, &key.name, &key.uid);
        server.scheduler().schedule_render(&key).await.unwrap();
        let (ended, _) = until_rendered(&server, "app").await;
        let Condition { reason, message, .. } = how(&ended);
        assert_eq!(reason, "InvalidPackage");
        assert!(message.starts_with(&format!("annotation `{name}`: `{value}`: ")), "{message}");
        assert!(message.contains("expected"), "{message}");
    }
    annotate(&server, &revision, &[(LIMITS, "fuel=30K")]).await;
    schedule(&server, begin("app"), None).await.unwrap();
    let (ended, _) = until_rendered(&server, "app").await;
    assert_eq!(how(&ended).reason, "RenderFailed");
    assert_eq!(record(&server, "app").await["fuel"], 30_000);
}

#[tokio::test]
async fn what_was_asked_for_survives_a_restart() {
    let server = Server::configured_with_revisions(FUEL, 0).await;
    let deadline = Some(prost_types::Duration { seconds: 3600, nanos: 0 });
    let begin = ScheduleBegin { limits: fuel(40_000), style: YamlStyle::Kpt.into(), deadline, ..begin("app") };
    let before = schedule(&server, begin, Some(&["spin"])).await.unwrap().revision.unwrap();
    let server = server.restarted(FUEL, 1).await;
    let (after, _) = until_rendered(&server, "app").await;
    assert_eq!((&after.limits, after.style(), after.render_by), (&fuel(40_000), YamlStyle::Kpt, before.render_by));
    assert_eq!(record(&server, "app").await["fuel"], 40_000);
}

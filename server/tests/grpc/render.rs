//! `RenderService/Render`: whole packages that nobody keeps.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use portico_server::grpc::Settings;
use portico_server::grpc::proto::v1::render_event::Kind;
use portico_server::grpc::proto::v1::render_request::Message as Ask;
use portico_server::grpc::proto::v1::render_response::Message as Told;
use portico_server::grpc::proto::v1::{
    CancelRequest, FileChunk, Files, Limit, RenderBegin, RenderEvent, RenderOutcome, RenderRequest, YamlStyle,
};
use tonic::{Code, Request, Status};

use crate::harness::{Server, settings};

/// A package with these functions.
pub(crate) fn package(functions: &[&str]) -> Vec<(String, Vec<u8>)> {
    let mut kptfile =
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n".to_owned();
    for function in functions {
        writeln!(kptfile, "  - image: probe.local/{function}:v1").expect("text takes text");
    }
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # mine\n";
    vec![
        ("Kptfile".to_owned(), kptfile.into_bytes()),
        ("a.yaml".to_owned(), map.into()),
        ("README.md".to_owned(), b"text".to_vec()),
    ]
}

pub(crate) fn chunks(files: &[(String, Vec<u8>)], piece: usize) -> Vec<Files> {
    let mut messages = Vec::new();
    for (path, data) in files {
        let pieces: Vec<&[u8]> = if data.is_empty() { vec![&[]] } else { data.chunks(piece).collect() };
        for (at, data) in pieces.iter().enumerate() {
            let more = at + 1 < pieces.len();
            let chunk = FileChunk { path: path.clone(), data: data.to_vec().into(), more, deleted: false };
            messages.push(Files { chunks: vec![chunk] });
        }
    }
    messages
}

#[derive(Debug, Default)]
pub(crate) struct Rendered {
    events: Vec<RenderEvent>,
    pub(crate) outcome: Option<RenderOutcome>,
    files: BTreeMap<String, Vec<u8>>,
}

fn requests(begin: RenderBegin, files: &[(String, Vec<u8>)], piece: usize) -> Vec<RenderRequest> {
    let files = chunks(files, piece).into_iter().map(Ask::Files);
    std::iter::once(Ask::Begin(begin)).chain(files).map(|message| RenderRequest { message: Some(message) }).collect()
}

pub(crate) async fn render(
    server: &Server,
    begin: RenderBegin,
    files: &[(String, Vec<u8>)],
) -> Result<Rendered, Status> {
    send(server, Request::new(tokio_stream::iter(requests(begin, files, 700)))).await
}

async fn send<S>(server: &Server, request: Request<S>) -> Result<Rendered, Status>
where
    S: tokio_stream::Stream<Item = RenderRequest> + Send + 'static,
{
    let mut answer = server.renders().await.render(request).await?.into_inner();
    let mut rendered = Rendered::default();
    while let Some(message) = answer.message().await? {
        match message.message.expect("known") {
            Told::Event(event) => rendered.events.push(event),
            Told::Outcome(outcome) => rendered.outcome = Some(outcome),
            Told::Files(files) => {
                for chunk in files.chunks {
                    rendered.files.entry(chunk.path).or_default().extend(chunk.data);
                }
            }
        }
    }
    Ok(rendered)
}

#[tokio::test]
async fn a_package_goes_in_and_what_changed_comes_out() {
    let server = Server::start(settings()).await;
    let begin = RenderBegin { name: "app".to_owned(), events: true, ..RenderBegin::default() };
    let rendered = render(&server, begin, &package(&["echo", "chatty"])).await.unwrap();
    let outcome = rendered.outcome.unwrap();
    assert!(outcome.rendered, "{outcome:?}");
    let states: Vec<&str> = outcome.steps.iter().map(|step| &*step.state).collect();
    assert_eq!(states, ["passed", "passed"]);
    assert_eq!(outcome.steps[1].stderr, "by the way");
    assert!(outcome.results_yaml.contains("kind: FunctionResultList"), "{}", outcome.results_yaml);
    // Nothing but the status has changed.
    assert_eq!(rendered.files.keys().collect::<Vec<_>>(), ["Kptfile"]);
    let kinds: Vec<Kind> = rendered.events.iter().map(RenderEvent::kind).collect();
    let expected = [
        Kind::PackageStarted,
        Kind::StepStarted,
        Kind::StepPassed,
        Kind::StepStarted,
        Kind::StepPassed,
        Kind::PackageFinished,
    ];
    assert_eq!(kinds, expected);
}

#[tokio::test]
async fn a_pipeline_that_fails_is_an_outcome() {
    let server = Server::start(settings()).await;
    let rendered = render(&server, RenderBegin::default(), &package(&["fail", "echo"])).await.unwrap();
    let outcome = rendered.outcome.unwrap();
    assert!(!outcome.rendered && outcome.failure_kind == "function", "{outcome:?}");
    let [failed, not_run] = &outcome.steps[..] else { panic!("{outcome:?}") };
    assert_eq!((failed.exit_code, &*failed.state, &*failed.cause), (3, "failed", "exit"));
    assert_eq!((&*failed.results[0].message, &*failed.results[0].severity), ("replicas is wrong", "error"));
    assert_eq!(not_run.state, "notRun");
    let rendered = render(&server, RenderBegin::default(), &package(&["unknown"])).await.unwrap();
    assert_eq!(rendered.outcome.unwrap().failure_kind, "unresolved");
}

#[tokio::test]
async fn what_cannot_begin_is_an_error() {
    let server = Server::start(settings()).await;
    let no_kptfile = [("a.yaml".to_owned(), b"a: 1\n".to_vec())];
    let outside = [("../a".to_owned(), Vec::new())];
    for (begin, files, words) in [
        (RenderBegin::default(), &no_kptfile[..], "Kptfile"),
        (RenderBegin::default(), &outside[..], "../a"),
        (RenderBegin { name: "a/b".to_owned(), ..RenderBegin::default() }, &package(&[])[..], "`name`"),
        (RenderBegin { style: 99, ..RenderBegin::default() }, &package(&[])[..], "`style` has no value 99"),
        (
            RenderBegin { limits: vec![Limit { name: "speed".to_owned(), value: 1 }], ..RenderBegin::default() },
            &package(&[])[..],
            "no limit `speed`",
        ),
    ] {
        let status = render(&server, begin, files).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert!(status.message().contains(words), "{status}");
    }
    let nothing = send(&server, Request::new(tokio_stream::empty())).await.unwrap_err();
    assert_eq!(nothing.code(), Code::InvalidArgument);
    let scheduling = server.renders().await.cancel(CancelRequest::default()).await.unwrap_err();
    assert_eq!(scheduling.code(), Code::FailedPrecondition, "it keeps no revisions");
}

#[tokio::test]
async fn a_request_lowers_limits_and_raises_none() {
    let server = Server::start(settings()).await;
    let with = |namespace: &str, value| RenderBegin {
        namespace: namespace.to_owned(),
        limits: vec![Limit { name: "fuel".to_owned(), value }],
        ..RenderBegin::default()
    };
    let spins = package(&["spin"]);
    let cause = async |begin| render(&server, begin, &spins).await.unwrap().outcome.unwrap().steps[0].cause.clone();
    assert_eq!(cause(with("", 100_000)).await, "outOfFuel");
    assert_eq!(cause(with("tight", u64::MAX)).await, "outOfFuel");
}

#[tokio::test]
async fn a_request_raises_limits_to_the_operators_maximum_and_no_further() {
    let text = "\
limits: {fuel: 20000, fuelPerStep: 0, fuelPerInputByte: 0, package: {files: 2}}
maximum: {fuel: 300000, package: {files: 4}}
namespaces:
  small: {maximum: {fuel: 50000}}
";
    let server = Server::configured(settings(), text).await;
    let with = |namespace: &str, limits: &[(&str, u64)]| RenderBegin {
        namespace: namespace.to_owned(),
        limits: limits.iter().map(|(name, value)| Limit { name: (*name).to_owned(), value: *value }).collect(),
        ..RenderBegin::default()
    };
    let files = |count| {
        let mut files = package(&["spin"]);
        files.extend(
            (files.len()..count)
                .map(|at| (format!("{at}.yaml"), b"apiVersion: v1\nkind: A\nmetadata: {name: a}\n".to_vec())),
        );
        files
    };
    let used = async |namespace: &str, fuel: u64| {
        let begin = with(namespace, &[("fuel", fuel), ("package.files", u64::MAX), ("stdout", u64::MAX)]);
        let outcome = render(&server, begin, &files(4)).await.unwrap().outcome.unwrap();
        assert_eq!(outcome.steps[0].cause, "outOfFuel", "{outcome:?}");
        assert!(outcome.warnings.iter().any(|text| text.contains("`stdout`") && text.contains("128 MiB holds")));
        (outcome.steps[0].fuel, outcome.warnings.iter().any(|text| text.contains("`fuel`")))
    };
    // How much it used is how much it was given: below, up to and beyond both maxima.
    assert_eq!(used("", 10_000).await, (10_000, false));
    assert_eq!(used("", 200_000).await, (200_000, false));
    assert_eq!(used("", 300_001).await, (300_000, true));
    assert_eq!(used("small", 50_000).await, (50_000, false));
    assert_eq!(used("small", 200_000).await, (50_000, true));
    // How large a package may be follows, too.
    for (limits, count) in [(&[][..], 3), (&[("package.files", 4)][..], 5), (&[("package.files", 1)][..], 2)] {
        let status = render(&server, with("", limits), &files(count)).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
        assert!(status.message().contains("`package.files`"), "{status}");
    }
}

#[tokio::test]
async fn large_packages_pass_in_pieces_and_the_styles_differ() {
    let server = Server::start(settings()).await;
    let mut files = package(&["echo"]);
    let item = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n    name: 'large'\ndata:\n    key: ";
    files.push(("large.yaml".to_owned(), format!("{item}{}\n", "x".repeat(6 << 20)).into_bytes()));
    let begin = |style: YamlStyle| RenderBegin { style: style.into(), ..RenderBegin::default() };
    let pieces = |style| Request::new(tokio_stream::iter(requests(begin(style), &files, 1 << 20)));
    let preserved = send(&server, pieces(YamlStyle::Preserve)).await.unwrap();
    assert!(!preserved.files.contains_key("large.yaml"));
    let kpt = send(&server, pieces(YamlStyle::Kpt)).await.unwrap();
    // Four spaces become two, and 6 MiB come back in pieces.
    assert!(kpt.files["large.yaml"].len() > 6 << 20);
    assert!(kpt.files["large.yaml"].starts_with(b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: 'large'"));
}

#[tokio::test]
async fn a_render_ends_with_its_caller_and_with_its_time() {
    let server = Server::start(Settings { concurrency: 1, ..settings() }).await;
    let mut request = Request::new(tokio_stream::iter(requests(RenderBegin::default(), &package(&["spin"]), 700)));
    request.metadata_mut().insert("grpc-timeout", "100m".parse().unwrap());
    let late = send(&server, request).await.unwrap_err();
    assert!(matches!(late.code(), Code::DeadlineExceeded | Code::Cancelled), "{late}");
    let begin = RenderBegin { events: true, ..RenderBegin::default() };
    let spins = Request::new(tokio_stream::iter(requests(begin, &package(&["spin"]), 700)));
    let mut spinning = server.renders().await.render(spins).await.unwrap().into_inner();
    // It runs; then its caller is gone.
    while !matches!(
        spinning.message().await.unwrap().unwrap().message,
        Some(Told::Event(event)) if event.kind() == Kind::StepStarted
    ) {}
    drop(spinning);
    assert!(render(&server, RenderBegin::default(), &package(&["echo"])).await.unwrap().outcome.unwrap().rendered);
}

//! Which address is answered by what.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, OriginalUri, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use portico_scheduler::store::StoreError;
use serde_json::Value;

use super::App;
use super::delete::DeleteOptions;
use super::managed::Change;
use super::request::{Caller, Target};
use super::show::{Shown, Wanted};
use super::status::Status;
use super::types::Kind;
use super::write::answer;
use super::{body, discovery, events, list, namespaces, protobuf, review};
use crate::record::{LogError, LogQuery, log};
use crate::schema::{self, Body, Format};

type Payload = Result<Bytes, BytesRejection>;
type Answer = Result<Response, Status>;
type Shared = State<Arc<App>>;

const PORCH: &str = "/apis/porch.kpt.dev/v1alpha1";

/// All addresses of the API.
pub(super) fn router(app: Arc<App>) -> Router {
    let limit = app.limits.body_bytes;
    let router = Router::new();
    let router = revisions(router);
    let router = resources(router);
    let router = reading(router, "/api/v1", Kind::CoreEvent);
    let router = reading(router, "/apis/events.k8s.io/v1", Kind::Event);
    let router = router
        .route("/api/v1/namespaces", only(get(|State(app): Shared, caller: Caller| namespaces::list(app, caller))))
        .route("/api/v1/namespaces/{name}", only(get(one_namespace)))
        .route("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", only(post(access)))
        .route("/apis/authentication.k8s.io/v1/selfsubjectreviews", only(post(whoami)))
        .route("/api", only(get(|caller: Caller| async move { discovery::core(&caller) })))
        .route("/apis", only(get(|caller: Caller| async move { discovery::groups(&caller) })))
        .route(
            "/api/{version}",
            only(get(|Path(version): Path<String>| async move { found(discovery::resources("", &version)) })),
        )
        .route("/apis/{group}", only(get(|Path(group): Path<String>| async move { found(discovery::group(&group)) })))
        .route("/apis/{group}/{version}", only(get(version)))
        .route("/openapi/v3", only(get(openapi)))
        .route("/openapi/v3/{*document}", only(get(openapi)))
        .route("/version", only(get(|| async { Json(discovery::version()) })));
    router.fallback(|| async { Status::no_such_path() }).layer(DefaultBodyLimit::max(limit)).with_state(app)
}

/// Answers other methods in Kubernetes' form.
fn only(methods: MethodRouter<Arc<App>>) -> MethodRouter<Arc<App>> {
    methods.fallback(|| async {
        Status::method_not_allowed("the server does not allow this method on the requested resource")
    })
}

/// What clients read before they explain or check objects.
async fn openapi(OriginalUri(uri): OriginalUri, headers: HeaderMap) -> Answer {
    schema::openapi::respond(uri.path(), uri.query().unwrap_or_default(), &headers).ok_or_else(Status::no_such_path)
}

fn found(json: Option<Value>) -> Answer {
    json.map(|json| Json(json).into_response()).ok_or_else(Status::no_such_path)
}

async fn version(Path((group, version)): Path<(String, String)>) -> Answer {
    found(discovery::resources(&group, &version))
}

fn revisions(router: Router<Arc<App>>) -> Router<Arc<App>> {
    const KIND: Kind = Kind::PackageRevision;
    let all = format!("{PORCH}/packagerevisions");
    let some = format!("{PORCH}/namespaces/{{namespace}}/packagerevisions");
    let one = format!("{some}/{{name}}");
    let listed = async |State(app): Shared, caller: Caller, Path(namespace): Path<String>| {
        list::list(app, caller, KIND, Some(&namespace)).await
    };
    router
        .route(&all, only(get(|State(app): Shared, caller: Caller| list::list(app, caller, KIND, None))))
        .route(&some, only(get(listed).post(create).delete(delete_all)))
        .route(&one, only(get(get_revision).put(update_revision).patch(patch_revision).delete(delete)))
        .route(&format!("{one}/approval"), only(get(get_approval).put(update_approval).patch(patch_approval)))
        .route(&format!("{one}/cancel"), only(post(cancel)))
        .route(&format!("{one}/log"), only(get(read_log)))
        .route(&format!("{one}/render"), only(post(render)))
}

fn resources(router: Router<Arc<App>>) -> Router<Arc<App>> {
    const KIND: Kind = Kind::PackageRevisionResources;
    let all = format!("{PORCH}/packagerevisionresources");
    let some = format!("{PORCH}/namespaces/{{namespace}}/packagerevisionresources");
    let one = format!("{some}/{{name}}");
    let listed = async |State(app): Shared, caller: Caller, Path(namespace): Path<String>| {
        list::list(app, caller, KIND, Some(&namespace)).await
    };
    let not_here = || async {
        let message = "packagerevisionresources are made and deleted with their packagerevision: create or delete the \
                       packagerevisions object of this name";
        Status::method_not_allowed(message)
    };
    router
        .route(&all, only(get(|State(app): Shared, caller: Caller| list::list(app, caller, KIND, None))))
        .route(&some, only(get(listed).post(not_here).delete(not_here)))
        .route(&one, only(get(get_files).put(update_files).patch(patch_files).delete(not_here)))
}

/// Events of one form.
fn reading(router: Router<Arc<App>>, base: &str, kind: Kind) -> Router<Arc<App>> {
    let listed = async move |State(app): Shared, caller: Caller, Path(namespace): Path<String>| {
        events::list(app, &caller, kind, Some(&namespace))
    };
    let one = async move |State(app): Shared, caller: Caller, Path((namespace, name)): Path<(String, String)>| {
        events::get(&app, &caller, kind, &namespace, &name)
    };
    router
        .route(
            &format!("{base}/events"),
            only(get(async move |State(app): Shared, caller: Caller| events::list(app, &caller, kind, None))),
        )
        .route(&format!("{base}/namespaces/{{namespace}}/events"), only(get(listed)))
        .route(&format!("{base}/namespaces/{{namespace}}/events/{{name}}"), only(get(one)))
}

type Named = Path<(String, String)>;

async fn show(app: &Arc<App>, caller: &Caller, target: Target<'_>) -> Answer {
    app.authorize(caller, "get", target)?;
    let wanted = Wanted::of(caller, target.kind)?;
    let shown = app.find(target.namespace, target.name, target.kind).await?;
    let shown = app.with_render_status(shown, target.kind).await?;
    Ok(answer(&shown, wanted, &Vec::new(), StatusCode::OK))
}

async fn update(app: &Arc<App>, caller: &Caller, target: Target<'_>, body: Payload) -> Answer {
    app.authorize(caller, "update", target)?;
    let (value, warnings) = app.read(caller, &body::bytes(body)?, target.kind)?;
    app.modify(caller, target, &Change::Replace(value, warnings)).await
}

async fn patch(app: &Arc<App>, caller: &Caller, target: Target<'_>, body: Payload) -> Answer {
    app.authorize(caller, "patch", target)?;
    let change = Change::patch(app, caller, &body::bytes(body)?)?;
    app.modify(caller, target, &change).await
}

async fn get_revision(State(app): Shared, caller: Caller, Path((namespace, name)): Named) -> Answer {
    show(&app, &caller, Target::one(Kind::PackageRevision, &namespace, &name)).await
}

async fn update_revision(State(app): Shared, caller: Caller, Path((namespace, name)): Named, body: Payload) -> Answer {
    update(&app, &caller, Target::one(Kind::PackageRevision, &namespace, &name), body).await
}

async fn patch_revision(State(app): Shared, caller: Caller, Path((namespace, name)): Named, body: Payload) -> Answer {
    patch(&app, &caller, Target::one(Kind::PackageRevision, &namespace, &name), body).await
}

async fn get_approval(State(app): Shared, caller: Caller, Path((namespace, name)): Named) -> Answer {
    show(&app, &caller, Target::one(Kind::PackageRevision, &namespace, &name).sub("approval")).await
}

async fn update_approval(State(app): Shared, caller: Caller, Path((namespace, name)): Named, body: Payload) -> Answer {
    update(&app, &caller, Target::one(Kind::PackageRevision, &namespace, &name).sub("approval"), body).await
}

async fn patch_approval(State(app): Shared, caller: Caller, Path((namespace, name)): Named, body: Payload) -> Answer {
    patch(&app, &caller, Target::one(Kind::PackageRevision, &namespace, &name).sub("approval"), body).await
}

async fn get_files(State(app): Shared, caller: Caller, Path((namespace, name)): Named) -> Answer {
    show(&app, &caller, Target::one(Kind::PackageRevisionResources, &namespace, &name)).await
}

async fn update_files(State(app): Shared, caller: Caller, Path((namespace, name)): Named, body: Payload) -> Answer {
    update(&app, &caller, Target::one(Kind::PackageRevisionResources, &namespace, &name), body).await
}

async fn patch_files(State(app): Shared, caller: Caller, Path((namespace, name)): Named, body: Payload) -> Answer {
    patch(&app, &caller, Target::one(Kind::PackageRevisionResources, &namespace, &name), body).await
}

async fn create(State(app): Shared, caller: Caller, Path(namespace): Path<String>, body: Payload) -> Answer {
    app.authorize(&caller, "create", Target::all(Kind::PackageRevision, &namespace))?;
    let (value, warnings) = app.read(&caller, &body::bytes(body)?, Kind::PackageRevision)?;
    app.post(&caller, &namespace, value, warnings).await
}

async fn delete(State(app): Shared, mut caller: Caller, Path((namespace, name)): Named, body: Payload) -> Answer {
    let target = Target::one(Kind::PackageRevision, &namespace, &name);
    app.authorize(&caller, "delete", target)?;
    let options = DeleteOptions::read(&app, &mut caller, &body::bytes(body)?)?;
    app.delete(&caller, target, &options).await
}

async fn delete_all(State(app): Shared, mut caller: Caller, Path(namespace): Path<String>, body: Payload) -> Answer {
    app.authorize(&caller, "deletecollection", Target::all(Kind::PackageRevision, &namespace))?;
    let options = DeleteOptions::read(&app, &mut caller, &body::bytes(body)?)?;
    app.delete_all(&caller, &namespace, &options).await
}

/// Stops the render of what the revision holds now, whether it waits or runs.
async fn cancel(State(app): Shared, caller: Caller, Path((namespace, name)): Named) -> Answer {
    let target = Target::one(Kind::PackageRevision, &namespace, &name).sub("cancel");
    app.authorize(&caller, "create", target)?;
    let shown = app.find(&namespace, &name, target.kind).await?;
    let failed = |error: StoreError| Status::of_store(&error, target.kind, &name);
    let why = format!("cancelled by {:?}", caller.identity.user);
    app.scheduler.cancel(&shown.revision.key, &why).await.map_err(failed)?;
    let wanted = Wanted::of(&caller, target.kind)?;
    Ok(answer(&shown, wanted, &Vec::new(), StatusCode::ACCEPTED))
}

/// Asks for a render of what the revision holds now, also where one has ended.
async fn render(State(app): Shared, caller: Caller, Path((namespace, name)): Named) -> Answer {
    let target = Target::one(Kind::PackageRevision, &namespace, &name).sub("render");
    app.authorize(&caller, "create", target)?;
    let wanted = Wanted::of(&caller, target.kind)?;
    let shown = app.find(&namespace, &name, target.kind).await?;
    let failed = |error: StoreError| Status::of_store(&error, target.kind, &name);
    app.scheduler.schedule_render(&shown.revision.key).await.map_err(failed)?;
    let shown: Shown = app.find(&namespace, &name, target.kind).await?;
    Ok(answer(&shown, wanted, &Vec::new(), StatusCode::ACCEPTED))
}

/// What the last render said, or the one that runs.
async fn read_log(
    State(app): Shared,
    caller: Caller,
    Path((namespace, name)): Named,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Answer {
    let target = Target::one(Kind::PackageRevision, &namespace, &name).sub("log");
    app.authorize(&caller, "get", target)?;
    let failed = |error: LogError| match &error {
        LogError::Store(error) => Status::of_store(error, target.kind, &name),
        error => {
            let code = error.status();
            let reason = match code {
                StatusCode::NOT_FOUND => "NotFound",
                StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
                _ => "BadRequest",
            };
            let status = Status::new(code, reason, error.to_string()).about(target.kind, &name);
            if code == StatusCode::TOO_MANY_REQUESTS { status.retry_after(1) } else { status }
        }
    };
    let pairs = pairs.iter().map(|(name, value)| (&**name, &**value));
    let query = LogQuery::parse(pairs).map_err(failed)?;
    let shown = app.find(&namespace, &name, target.kind).await?;
    log::log(&app.renders, &app.scheduler, &shown.revision.key, &query).await.map_err(failed)
}

async fn one_namespace(State(app): Shared, caller: Caller, Path(name): Path<String>) -> Answer {
    namespaces::get(app, caller, &name).await
}

async fn access(State(app): Shared, caller: Caller, body: Payload) -> Answer {
    let body = body::bytes(body)?;
    if caller.content_type == protobuf::MEDIA {
        let unread = || Status::bad_request("the body is no SelfSubjectAccessReview");
        return review::access(&app, &caller, protobuf::access_review(&body).ok_or_else(unread)?);
    }
    let format = Format::of(Some(&*caller.content_type))?;
    let value = Body::read(&body, format, &app.body_limits())?.value;
    review::access(&app, &caller, value)
}

async fn whoami(caller: Caller) -> Response {
    review::identity(&caller)
}

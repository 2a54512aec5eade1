//! What a request asks for: its caller, its query, what it accepts.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, Query as UriQuery};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use portico_scheduler::model::ObjectVersion;

use super::App;
use super::status::{Cause, Status};
use super::types::Kind;
use crate::auth::{Attributes, Identity};

/// Longest name of a field manager. Kubernetes' own bound.
const MANAGER_BYTES: usize = 128;

/// Who asks, and how.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) identity: Identity,
    pub(super) query: Query,
    pub(super) accept: Accept,
    /// The program, by its `User-Agent`: who manages a field where `fieldManager` does not say.
    agent: String,
    /// `Content-Type`, lower case, without parameters.
    pub(super) content_type: String,
}

/// The parameters of a request that the API knows. Others are passed over, as Kubernetes does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) watch: bool,
    pub(super) limit: usize,
    pub(super) continues: Option<String>,
    pub(super) version: Option<String>,
    pub(super) version_match: Option<String>,
    pub(super) labels: String,
    pub(super) fields: String,
    pub(super) bookmarks: bool,
    pub(super) initial_events: Option<bool>,
    pub(super) timeout: Option<Duration>,
    pub(super) dry_run: bool,
    pub(super) manager: Option<String>,
    pub(super) validation: Option<String>,
    pub(super) force: bool,
    /// What a table brings of each object: `Metadata`, `Object` or `None`.
    pub(super) include_object: Option<String>,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The objects.
    Object,
    /// A table, for people.
    Table,
    /// Their metadata alone.
    Metadata,
}

/// What a client accepts, best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Accept {
    /// The form, and the version of `meta.k8s.io` that it is to have; `None` where nothing that we have would do.
    form: Option<(Form, String)>,
    /// Whether groups may come as one document.
    pub(super) aggregated_discovery: bool,
}

impl Accept {
    fn of(headers: &HeaderMap) -> Self {
        let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let text = values.collect::<Vec<_>>().join(",");
        let mut accept = Self { form: None, aggregated_discovery: false };
        if text.trim().is_empty() {
            accept.form = Some((Form::Object, String::new()));
            return accept;
        }
        for (at, range) in text.split(',').enumerate() {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default().to_ascii_lowercase();
            let parameter = |name: &str| {
                let mut found = range.split(';').skip(1).filter_map(|part| part.trim().split_once('='));
                found.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim_matches('"'))
            };
            if !matches!(&*media, "application/json" | "application/*" | "*/*") {
                continue;
            }
            let of_meta =
                matches!(parameter("g"), Some("meta.k8s.io")) && matches!(parameter("v"), Some("v1" | "v1beta1"));
            let form = match parameter("as") {
                None => Form::Object,
                Some("Table") if of_meta => Form::Table,
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") if of_meta => Form::Metadata,
                Some("APIGroupDiscoveryList") => {
                    let version = matches!(parameter("v"), Some("v2" | "v2beta1"));
                    // Only if nothing plainer comes first.
                    accept.aggregated_discovery |= version && accept.form.is_none() && at < 8;
                    continue;
                }
                Some(_) => continue,
            };
            let version = parameter("v").unwrap_or_default();
            accept.form.get_or_insert_with(|| (form, version.to_owned()));
        }
        accept
    }

    /// The form of an answer of objects, with the version of `meta.k8s.io`.
    pub(super) fn form(&self) -> Result<(Form, &str), Status> {
        let (form, version) = self.form.as_ref().ok_or_else(|| {
            let message = "only the following media types are accepted: application/json";
            Status::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
        })?;
        Ok((*form, if version == "v1beta1" { "meta.k8s.io/v1beta1" } else { "meta.k8s.io/v1" }))
    }
}

fn flag(text: &str) -> bool {
    !matches!(text, "0" | "f" | "F" | "false" | "False" | "FALSE")
}

impl Query {
    fn of(pairs: Vec<(String, String)>) -> Result<Self, Status> {
        let mut query = Self::default();
        let number = |name: &str, text: &str| {
            let bad = || Status::bad_request(format!("the parameter {name:?} must be a number, and is {text:?}"));
            if text.is_empty() { Ok(0) } else { text.parse::<u64>().map_err(|_| bad()) }
        };
        let text = |value: String| Some(value).filter(|value| !value.is_empty());
        for (name, value) in pairs {
            match &*name {
                "watch" => query.watch = flag(&value),
                "limit" => query.limit = usize::try_from(number("limit", &value)?).unwrap_or(usize::MAX),
                "continue" => query.continues = text(value),
                "resourceVersion" => query.version = text(value),
                "resourceVersionMatch" => query.version_match = text(value),
                "labelSelector" => query.labels = value,
                "fieldSelector" => query.fields = value,
                "allowWatchBookmarks" => query.bookmarks = flag(&value),
                "sendInitialEvents" => query.initial_events = text(value).map(|value| flag(&value)),
                "timeoutSeconds" => {
                    let seconds = number("timeoutSeconds", &value)?;
                    // A day is for ever, and no clock runs over.
                    query.timeout = (seconds > 0).then(|| Duration::from_secs(seconds.min(86_400)));
                }
                "dryRun" if value.is_empty() => {}
                "dryRun" if value == "All" => query.dry_run = true,
                "dryRun" => {
                    let cause = Cause::not_supported("dryRun", &value, &["All"]);
                    return Err(Status::bad_request(format!("dryRun: {}", cause.message)).because(cause));
                }
                "fieldManager" => query.manager = text(value),
                "fieldValidation" => query.validation = text(value),
                "force" => query.force = flag(&value),
                "includeObject" => query.include_object = text(value),
                _ => {}
            }
        }
        let bad = |manager: &String| manager.len() > MANAGER_BYTES || manager.chars().any(char::is_control);
        if query.manager.as_ref().is_some_and(bad) {
            let what = "must have at most 128 characters, all of them printable";
            return Err(Status::bad_request(format!("the parameter \"fieldManager\" {what}")));
        }
        Ok(query)
    }

    /// `resourceVersion`: `None` for the newest, zero for any.
    pub(super) fn version(&self) -> Result<Option<ObjectVersion>, Status> {
        let Some(text) = &self.version else { return Ok(None) };
        let bad = |_| Status::bad_request(format!("resourceVersion: Invalid value: {text:?}: must be a number"));
        text.parse().map(|version| Some(ObjectVersion(version))).map_err(bad)
    }
}

impl Caller {
    /// Who manages the fields that this request sets.
    pub(super) fn manager(&self) -> &str {
        self.query.manager.as_deref().unwrap_or(&self.agent)
    }
}

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, Status> {
        let pairs = UriQuery::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let pairs = pairs.map_err(|error| Status::bad_request(format!("the query can't be read: {error}")))?.0;
        let anonymous =
            || Identity { user: "system:anonymous".into(), groups: Arc::from(["system:unauthenticated".to_owned()]) };
        let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let agent = text(header::USER_AGENT);
        let agent = agent.split('/').next().unwrap_or_default();
        let media = text(header::CONTENT_TYPE).split(';').next().unwrap_or_default();
        Ok(Self {
            query: Query::of(pairs)?,
            accept: Accept::of(&parts.headers),
            agent: if agent.is_empty() { "unknown" } else { &agent[..agent.floor_char_boundary(MANAGER_BYTES)] }
                .to_owned(),
            content_type: media.trim().to_ascii_lowercase(),
            identity: parts.extensions.get::<Identity>().cloned().unwrap_or_else(anonymous),
        })
    }
}

/// An object, or a collection, of the API.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) kind: Kind,
    pub(super) subresource: &'a str,
    /// Empty for all.
    pub(super) namespace: &'a str,
    /// Empty for a collection.
    pub(super) name: &'a str,
}

impl<'a> Target<'a> {
    /// All of a kind in a namespace, or in all of them.
    pub(super) fn all(kind: Kind, namespace: &'a str) -> Self {
        Self { kind, subresource: "", namespace, name: "" }
    }

    /// One of a kind.
    pub(super) fn one(kind: Kind, namespace: &'a str, name: &'a str) -> Self {
        Self { kind, subresource: "", namespace, name }
    }

    /// A part of it.
    pub(super) fn sub(self, subresource: &'a str) -> Self {
        Self { subresource, ..self }
    }
}

impl App {
    /// Whether this caller may do that; a 403 in Kubernetes' words if not.
    pub(super) fn authorize(&self, caller: &Caller, verb: &str, target: Target<'_>) -> Result<(), Status> {
        let Target { kind, subresource, namespace, name } = target;
        let attributes =
            Attributes { verb, group: kind.group(), resource: kind.plural(), subresource, namespace, name };
        self.authorizer.allows(&caller.identity, &attributes).map_err(|why| {
            let (resource, group) = (kind.plural(), kind.group());
            let resource =
                if subresource.is_empty() { resource.to_owned() } else { format!("{resource}/{subresource}") };
            let place = match namespace {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace {namespace:?}"),
            };
            let named = if name.is_empty() { String::new() } else { format!(" {name:?}") };
            let why = if why.is_empty() { why } else { format!(": {why}") };
            let message = format!(
                "{}{named} is forbidden: User {:?} cannot {verb} resource {resource:?} in API group {group:?} {place}{why}",
                kind.qualified(),
                caller.identity.user
            );
            Status::new(StatusCode::FORBIDDEN, "Forbidden", message).about(kind, name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(text: &str) -> Accept {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, text.parse().unwrap());
        Accept::of(&headers)
    }

    fn query(text: &str) -> Result<Query, Status> {
        let uri = format!("/x?{text}").parse().unwrap();
        Query::of(UriQuery::try_from_uri(&uri).unwrap().0)
    }

    #[test]
    fn what_kubectl_accepts() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,\
                     application/json";
        assert_eq!(accept(table).form().unwrap(), (Form::Table, "meta.k8s.io/v1"));
        let partial = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
        assert_eq!(accept(partial).form().unwrap().0, Form::Metadata);
        assert_eq!(accept("application/vnd.kubernetes.protobuf, */*").form().unwrap().0, Form::Object);
        assert_eq!(accept("application/vnd.kubernetes.protobuf").form().unwrap_err().code, 406);
        let discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
        assert!(accept(discovery).aggregated_discovery && accept(discovery).form().is_ok());
        assert!(!accept("application/json").aggregated_discovery);
        assert_eq!(Accept::of(&HeaderMap::new()).form().unwrap().0, Form::Object);
    }

    #[test]
    fn parameters_are_read_and_faulty_ones_refused() {
        let read = query("watch=1&limit=500&timeoutSeconds=30&allowWatchBookmarks=true&dryRun=All&pretty=x").unwrap();
        assert!(read.watch && read.bookmarks && read.dry_run);
        assert_eq!((read.limit, read.timeout), (500, Some(Duration::from_secs(30))));
        assert_eq!(query("watch=false").unwrap(), Query::default());
        assert_eq!(query("sendInitialEvents=false").unwrap().initial_events, Some(false));
        assert_eq!(query("resourceVersion=7").unwrap().version().unwrap(), Some(ObjectVersion(7)));
        for bad in ["limit=-1", "limit=x", "timeoutSeconds=1s", "dryRun=None", "fieldManager=a%00b"] {
            assert_eq!(query(bad).unwrap_err().code, 400, "{bad}");
        }
        assert_eq!(query("resourceVersion=x").unwrap().version().unwrap_err().code, 400);
    }
}

//! `OpenAPI` v3: `/openapi/v3` and a document for each group and version.
//!
//! `kubectl explain` reads them, and kubectl looks there whether the server validates fields itself. `/openapi/v2` is not
//! served: kubectl asks for it only where version 3 is missing.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::definitions::{GVK, KINDS, PREFIX, definitions, gvk, list_name, name};
use crate::api::types::Kind;
use crate::patch::PatchType;

/// A document that was made.
struct Document {
    /// As in the path: `apis/porch.kpt.dev/v1alpha1`.
    path: String,
    body: Bytes,
    /// The digest of the body, in hexadecimal.
    hash: String,
}

struct Documents {
    index: Document,
    all: Vec<Document>,
}

/// The answer to a GET of a path that begins with `/openapi/v3`; `None` where there is no such document.
///
/// A document's address in the index has its digest as `hash`. With it, the answer may be kept for ever; with another one
/// the client is sent to the right address.
pub fn respond(path: &str, query: &str, request: &HeaderMap) -> Option<Response> {
    let documents = documents();
    let rest = path.strip_prefix("/openapi/v3")?;
    let rest = rest.trim_matches('/');
    let document = match rest {
        "" => &documents.index,
        _ => documents.all.iter().find(|document| document.path == rest)?,
    };
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("hash=")).filter(|hash| !hash.is_empty());
    let is_current = asked.is_some_and(|hash| hash == document.hash);
    if asked.is_some() && !is_current {
        let place = format!("/openapi/v3/{}?hash={}", document.path, document.hash);
        return Some((StatusCode::MOVED_PERMANENTLY, [(header::LOCATION, place)]).into_response());
    }
    let etag = format!("\"{}\"", document.hash);
    let seen = request.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let is_seen = seen
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag);
    let mut answer = if is_seen {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, "application/json")], document.body.clone()).into_response()
    };
    let headers = answer.headers_mut();
    if let Ok(etag) = HeaderValue::try_from(etag) {
        headers.insert(header::ETAG, etag);
    }
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    let keep = if is_current { "public, max-age=31536000, immutable" } else { "no-cache, private" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    Some(answer)
}

fn documents() -> &'static Documents {
    static ALL: OnceLock<Documents> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = Vec::new();
        for kind in KINDS {
            let path = root(kind).trim_start_matches('/').to_owned();
            if all.iter().all(|document: &Document| document.path != path) {
                all.push(Document::of(path, &document(kind)));
            }
        }
        let entry = |document: &Document| {
            let place = format!("/openapi/v3/{}?hash={}", document.path, document.hash);
            (document.path.clone(), json!({"serverRelativeURL": place}))
        };
        let paths: Map<String, Value> = all.iter().map(entry).collect();
        Documents { index: Document::of(String::new(), &json!({"paths": paths})), all }
    })
}

impl Document {
    fn of(path: String, content: &Value) -> Self {
        let body = Bytes::from(content.to_string());
        let hash = format!("{:X}", Sha256::digest(&body));
        Self { path, body, hash }
    }
}

/// Where the kind's group and version is.
fn root(kind: Kind) -> String {
    match kind.group() {
        "" => format!("/api/{}", kind.version()),
        group => format!("/apis/{group}/{}", kind.version()),
    }
}

/// The document of the group and version that this kind is in.
fn document(kind: Kind) -> Value {
    let mut paths = Map::new();
    let mut schemas = BTreeSet::new();
    for kind in KINDS.into_iter().filter(|other| other.api_version() == kind.api_version()) {
        describe(kind, &mut paths);
        gather(&name(kind), &mut schemas);
        gather(&list_name(kind), &mut schemas);
    }
    let schemas: Map<String, Value> =
        schemas.into_iter().filter_map(|name| Some((name.clone(), definitions().get(&name)?.clone()))).collect();
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Portico", "version": env!("CARGO_PKG_VERSION")},
        "paths": paths,
        "components": {"schemas": schemas},
    })
}

/// Adds a definition and all that it is made of.
fn gather(name: &str, into: &mut BTreeSet<String>) {
    let Some(schema) = definitions().get(name) else { return };
    if !into.insert(name.to_owned()) {
        return;
    }
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(object) => {
                if let Some(inner) = object.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix(PREFIX)) {
                    gather(inner, into);
                }
                open.extend(object.values());
            }
            Value::Array(list) => open.extend(list),
            _ => {}
        }
    }
}

/// What can be done with something: the method, and Kubernetes' word for it.
type Action = (&'static str, &'static str);

const GET: Action = ("get", "get");
const LIST: Action = ("get", "list");
const POST: Action = ("post", "post");
const PUT: Action = ("put", "put");
const PATCH: Action = ("patch", "patch");
const DELETE: Action = ("delete", "delete");
const DELETE_ALL: Action = ("delete", "deletecollection");

/// Adds the paths of a kind.
fn describe(kind: Kind, paths: &mut Map<String, Value>) {
    let (all, one): (&[Action], &[Action]) = match kind {
        Kind::PackageRevision => (&[LIST, POST, DELETE_ALL], &[GET, PUT, PATCH, DELETE]),
        Kind::PackageRevisionResources => (&[LIST], &[GET, PUT, PATCH]),
        Kind::CoreEvent | Kind::Event | Kind::Namespace => (&[LIST], &[GET]),
    };
    let subresources: &[(&str, &[Action])] = match kind {
        Kind::PackageRevision => {
            &[("approval", &[GET, PUT, PATCH]), ("cancel", &[POST]), ("log", &[GET]), ("render", &[POST])]
        }
        _ => &[],
    };
    let (root, plural) = (root(kind), kind.plural());
    let collection = format!("{root}/namespaces/{{namespace}}/{plural}");
    let object = format!("{collection}/{{name}}");
    let mut add = |path: String, actions: &[Action], subresource: &str, places: &[&str]| {
        let mut item: Map<String, Value> = actions
            .iter()
            .map(|action| (action.0.to_owned(), operation(kind, *action, subresource, !places.contains(&"namespace"))))
            .collect();
        let places: Vec<Value> = places.iter().map(|place| path_parameter(place)).collect();
        item.insert("parameters".to_owned(), Value::Array(places));
        paths.insert(path, Value::Object(item));
    };
    add(format!("{root}/{plural}"), &[LIST], "", &[]);
    add(collection, all, "", &["namespace"]);
    add(object.clone(), one, "", &["namespace", "name"]);
    for (subresource, actions) in subresources {
        add(format!("{object}/{subresource}"), actions, subresource, &["namespace", "name"]);
    }
}

fn operation(kind: Kind, (method, action): Action, subresource: &str, everywhere: bool) -> Value {
    let words: &[&str] = match (action, subresource) {
        (_, "log") => &["follow", "format", "limitBytes", "render", "tailLines"],
        (_, "cancel" | "render") => &[],
        ("list", _) => &[
            "allowWatchBookmarks",
            "continue",
            "fieldSelector",
            "labelSelector",
            "limit",
            "resourceVersion",
            "resourceVersionMatch",
            "sendInitialEvents",
            "timeoutSeconds",
            "watch",
        ],
        ("post" | "put", _) => &["dryRun", "fieldManager", "fieldValidation"],
        ("patch", _) => &["dryRun", "fieldManager", "fieldValidation", "force"],
        ("delete", _) => &["dryRun"],
        ("deletecollection", _) => &["dryRun", "fieldSelector", "labelSelector"],
        _ => &[],
    };
    let parameters: Vec<Value> = words.iter().map(|word| query_parameter(word)).collect();
    let answers = if action == "list" { list_name(kind) } else { name(kind) };
    let content = match (subresource, action) {
        ("log", _) => json!({"text/plain": {"schema": {"type": "string"}}}),
        (_, "delete" | "deletecollection") => json!({"application/json": {"schema": {"type": "object"}}}),
        _ => json!({"application/json": {"schema": {"$ref": format!("{PREFIX}{answers}")}}}),
    };
    let scope = if everywhere { "ForAllNamespaces" } else { "Namespaced" };
    let code = match (action, subresource) {
        ("post", "") => "201",
        ("post", _) => "202",
        _ => "200",
    };
    let mut operation = json!({
        "operationId": format!("{action}{}{scope}{}{}", capital(kind.version()), capital(kind.plural()), capital(subresource)),
        "tags": [format!("{}_{}", kind.group().replace('.', "_"), kind.version())],
        "parameters": parameters,
        "responses": {code: {"description": "OK", "content": content}},
        "x-kubernetes-action": action,
        GVK: gvk(kind, kind.name()),
    });
    let schema = json!({"$ref": format!("{PREFIX}{}", name(kind))});
    let body = match method {
        "post" if !subresource.is_empty() => None,
        "post" | "put" => Some(json!({"application/json": {"schema": schema}, "application/yaml": {"schema": schema}})),
        "patch" => {
            let types = PatchType::ACCEPTED.split(", ");
            Some(types.map(|of| (of.to_owned(), json!({"schema": {"type": "object"}}))).collect::<Map<_, _>>().into())
        }
        _ => None,
    };
    if let (Some(content), Value::Object(operation)) = (body, &mut operation) {
        operation.insert("requestBody".to_owned(), json!({"required": true, "content": content}));
    }
    operation
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}

fn path_parameter(name: &str) -> Value {
    let description = if name == "namespace" { "The namespace." } else { "The object's name." };
    json!({"name": name, "in": "path", "required": true, "description": description, "schema": {"type": "string"}})
}

fn query_parameter(name: &str) -> Value {
    let (of, description) = match name {
        "allowWatchBookmarks" => ("boolean", "Whether a watch gets bookmarks."),
        "continue" => ("string", "What the page before gave, to get the next one."),
        "dryRun" => ("string", "`All`: everything but the write is done."),
        "fieldManager" => ("string", "Who the fields that are set belong to. Required to apply."),
        "fieldSelector" => ("string", "Selects by fields."),
        "fieldValidation" => ("string", "What is done about unknown and duplicate fields: Ignore, Warn, Strict."),
        "follow" => ("boolean", "Whether the answer goes on until the render has ended."),
        "format" => ("string", "`text` or `json`."),
        "limitBytes" => ("integer", "How many bytes the answer has at most."),
        "render" => ("string", "The render whose log it is, by its id; the newest where nothing is said."),
        "tailLines" => ("integer", "How many lines from the end are told."),
        "force" => ("boolean", "Whether an applied field is taken from other managers."),
        "labelSelector" => ("string", "Selects by labels."),
        "limit" => ("integer", "How many objects a page has at most."),
        "resourceVersion" => ("string", "The version to list or to watch from."),
        "resourceVersionMatch" => ("string", "How that version is meant."),
        "sendInitialEvents" => ("boolean", "Whether a watch begins with the objects that are there."),
        "timeoutSeconds" => ("integer", "How long a watch lasts."),
        _ => ("boolean", "Whether to watch instead of to list."),
    };
    json!({"name": name, "in": "query", "description": description, "schema": {"type": of}})
}

#[cfg(test)]
mod tests;

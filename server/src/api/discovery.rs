//! What the API has, for clients that look before they ask.

use axum::Json;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::request::Caller;
use super::types::{GROUP, VERSION};

/// A resource, or a part of one: name, kind, whether it is in a namespace, verbs, short names, and the group of its kind
/// where that is another one.
struct Resource {
    name: &'static str,
    singular: &'static str,
    kind: &'static str,
    namespaced: bool,
    verbs: &'static [&'static str],
    short: &'static [&'static str],
    categories: &'static [&'static str],
}

const READ: &[&str] = &["get", "list", "watch"];

const PORCH: &[Resource] = &[
    Resource {
        name: "packagerevisionresources",
        singular: "packagerevisionresources",
        kind: "PackageRevisionResources",
        namespaced: true,
        verbs: &["get", "list", "patch", "update", "watch"],
        short: &[],
        categories: &[],
    },
    Resource {
        name: "packagerevisions",
        singular: "packagerevision",
        kind: "PackageRevision",
        namespaced: true,
        verbs: &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        short: &["pkgrev", "pr"],
        categories: &["kpt"],
    },
    Resource {
        name: "packagerevisions/approval",
        singular: "",
        kind: "PackageRevision",
        namespaced: true,
        verbs: &["get", "patch", "update"],
        short: &[],
        categories: &[],
    },
    Resource {
        name: "packagerevisions/cancel",
        singular: "",
        kind: "PackageRevision",
        namespaced: true,
        verbs: &["create"],
        short: &[],
        categories: &[],
    },
    Resource {
        name: "packagerevisions/log",
        singular: "",
        kind: "PackageRevision",
        namespaced: true,
        verbs: &["get"],
        short: &[],
        categories: &[],
    },
    Resource {
        name: "packagerevisions/render",
        singular: "",
        kind: "PackageRevision",
        namespaced: true,
        verbs: &["create"],
        short: &[],
        categories: &[],
    },
];

const EVENTS: &[Resource] = &[Resource {
    name: "events",
    singular: "event",
    kind: "Event",
    namespaced: true,
    verbs: READ,
    short: &["ev"],
    categories: &[],
}];

const CORE: &[Resource] = &[
    Resource {
        name: "events",
        singular: "event",
        kind: "Event",
        namespaced: true,
        verbs: READ,
        short: &["ev"],
        categories: &[],
    },
    Resource {
        name: "namespaces",
        singular: "namespace",
        kind: "Namespace",
        namespaced: false,
        verbs: &["get", "list"],
        short: &["ns"],
        categories: &[],
    },
];

const AUTHORIZATION: &[Resource] = &[Resource {
    name: "selfsubjectaccessreviews",
    singular: "selfsubjectaccessreview",
    kind: "SelfSubjectAccessReview",
    namespaced: false,
    verbs: &["create"],
    short: &[],
    categories: &[],
}];

const AUTHENTICATION: &[Resource] = &[Resource {
    name: "selfsubjectreviews",
    singular: "selfsubjectreview",
    kind: "SelfSubjectReview",
    namespaced: false,
    verbs: &["create"],
    short: &[],
    categories: &[],
}];

/// The groups with a name, each with its one version.
const GROUPS: &[(&str, &str, &[Resource])] = &[
    (GROUP, VERSION, PORCH),
    ("events.k8s.io", "v1", EVENTS),
    ("authorization.k8s.io", "v1", AUTHORIZATION),
    ("authentication.k8s.io", "v1", AUTHENTICATION),
];

impl Resource {
    fn json(&self) -> Value {
        let mut json = json!({
            "name": self.name, "singularName": self.singular, "namespaced": self.namespaced, "kind": self.kind,
            "verbs": self.verbs,
        });
        if !self.short.is_empty() {
            json["shortNames"] = json!(self.short);
        }
        if !self.categories.is_empty() {
            json["categories"] = json!(self.categories);
        }
        json
    }

    fn scope(&self) -> &'static str {
        if self.namespaced { "Namespaced" } else { "Cluster" }
    }
}

/// `/api`
pub(super) fn core(caller: &Caller) -> Response {
    if caller.accept.aggregated_discovery {
        return aggregated(&[aggregated_group("", "v1", CORE)]);
    }
    Json(json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})).into_response()
}

/// `/apis`
pub(super) fn groups(caller: &Caller) -> Response {
    if caller.accept.aggregated_discovery {
        let groups = GROUPS.iter().map(|(group, version, all)| aggregated_group(group, version, all));
        return aggregated(&groups.collect::<Vec<_>>());
    }
    let groups: Vec<Value> = GROUPS.iter().map(|(group, version, _)| group_json(group, version)).collect();
    Json(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})).into_response()
}

fn group_json(group: &str, version: &str) -> Value {
    let version = json!({"groupVersion": format!("{group}/{version}"), "version": version});
    json!({"name": group, "versions": [version], "preferredVersion": version})
}

/// `/apis/GROUP`; `None` if there is no such group.
pub(super) fn group(name: &str) -> Option<Value> {
    let (group, version, _) = GROUPS.iter().find(|(group, _, _)| *group == name)?;
    let mut json = group_json(group, version);
    json["kind"] = "APIGroup".into();
    json["apiVersion"] = "v1".into();
    Some(json)
}

/// `/apis/GROUP/VERSION`, and `/api/v1` with an empty group; `None` if there is no such version.
pub(super) fn resources(name: &str, version: &str) -> Option<Value> {
    let resources = if name.is_empty() {
        Some(CORE).filter(|_| version == "v1")?
    } else {
        GROUPS.iter().find(|(group, known, _)| *group == name && *known == version)?.2
    };
    let group_version = if name.is_empty() { version.to_owned() } else { format!("{name}/{version}") };
    let resources: Vec<Value> = resources.iter().map(Resource::json).collect();
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources,
    }))
}

fn aggregated(items: &[Value]) -> Response {
    let list = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    let media = HeaderValue::from_static("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    ([(header::CONTENT_TYPE, media)], list.to_string()).into_response()
}

fn aggregated_group(group: &str, version: &str, resources: &[Resource]) -> Value {
    let kind = |kind: &str| json!({"group": group, "version": version, "kind": kind});
    let parts = |of: &str| -> Vec<Value> {
        let parts = resources.iter().filter_map(|part| Some((part, part.name.split_once('/')?)));
        let parts = parts.filter(|(_, (whole, _))| *whole == of);
        parts
            .map(|(part, (_, name))| json!({"subresource": name, "responseKind": kind(part.kind), "verbs": part.verbs}))
            .collect()
    };
    let whole = resources.iter().filter(|resource| !resource.name.contains('/'));
    let resources: Vec<Value> = whole
        .map(|resource| {
            let mut json = json!({
                "resource": resource.name, "responseKind": kind(resource.kind), "scope": resource.scope(),
                "singularResource": resource.singular, "verbs": resource.verbs,
            });
            if !resource.short.is_empty() {
                json["shortNames"] = json!(resource.short);
            }
            if !resource.categories.is_empty() {
                json["categories"] = json!(resource.categories);
            }
            let parts = parts(resource.name);
            if !parts.is_empty() {
                json["subresources"] = json!(parts);
            }
            json
        })
        .collect();
    json!({
        "metadata": {"name": group, "creationTimestamp": null},
        "versions": [{"version": version, "resources": resources, "freshness": "Current"}],
    })
}

/// `/version`: that of the API whose ways we follow, and our own.
pub(super) fn version() -> Value {
    json!({
        "major": "1", "minor": "34", "gitVersion": concat!("v1.34.0+portico-", env!("CARGO_PKG_VERSION")),
        "gitCommit": "", "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_have_the_same_resources() {
        for (group, version, resources) in GROUPS {
            let plain = super::resources(group, version).unwrap();
            let new = aggregated_group(group, version, resources);
            let names =
                plain["resources"].as_array().unwrap().iter().map(|resource| resource["name"].as_str().unwrap());
            let mut nested = Vec::new();
            for resource in new["versions"][0]["resources"].as_array().unwrap() {
                let name = resource["resource"].as_str().unwrap();
                nested.push(name.to_owned());
                let parts = resource["subresources"].as_array().into_iter().flatten();
                nested.extend(parts.map(|part| format!("{name}/{}", part["subresource"].as_str().unwrap())));
            }
            assert_eq!(names.collect::<Vec<_>>(), nested);
        }
        assert!(super::resources("", "v1").is_some() && super::resources("", "v2").is_none());
        assert!(group("other").is_none());
    }
}

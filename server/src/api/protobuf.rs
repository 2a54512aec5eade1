//! Kubernetes' binary form, as far as kubectl sends it where it need not ask first: a review of what it may do.

use prost::Message;
use serde_json::{Value, json};

/// The media type.
pub(super) const MEDIA: &str = "application/vnd.kubernetes.protobuf";

/// What comes before each message: the field numbers are those of `k8s.io/apimachinery/pkg/runtime/generated.proto` and
/// `k8s.io/api/authorization/v1/generated.proto`.
const MAGIC: &[u8] = b"k8s\0";

#[derive(Clone, PartialEq, Message)]
struct Unknown {
    #[prost(message, optional, tag = "1")]
    type_meta: Option<TypeMeta>,
    #[prost(bytes = "vec", tag = "2")]
    raw: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct TypeMeta {
    #[prost(string, tag = "1")]
    api_version: String,
    #[prost(string, tag = "2")]
    kind: String,
}

#[derive(Clone, PartialEq, Message)]
struct Review {
    #[prost(message, optional, tag = "2")]
    spec: Option<Spec>,
}

#[derive(Clone, PartialEq, Message)]
struct Spec {
    #[prost(message, optional, tag = "1")]
    resource: Option<ResourceAttributes>,
    #[prost(message, optional, tag = "2")]
    path: Option<PathAttributes>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceAttributes {
    #[prost(string, tag = "1")]
    namespace: String,
    #[prost(string, tag = "2")]
    verb: String,
    #[prost(string, tag = "3")]
    group: String,
    #[prost(string, tag = "4")]
    version: String,
    #[prost(string, tag = "5")]
    resource: String,
    #[prost(string, tag = "6")]
    subresource: String,
    #[prost(string, tag = "7")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct PathAttributes {
    #[prost(string, tag = "1")]
    path: String,
    #[prost(string, tag = "2")]
    verb: String,
}

/// A `SelfSubjectAccessReview` as JSON; `None` if it is none.
pub(super) fn access_review(body: &[u8]) -> Option<Value> {
    let unknown = Unknown::decode(body.strip_prefix(MAGIC)?).ok()?;
    let meta = unknown.type_meta.unwrap_or_default();
    if meta.kind != "SelfSubjectAccessReview" {
        return None;
    }
    let spec = Review::decode(&*unknown.raw).ok()?.spec.unwrap_or_default();
    let mut json = json!({"kind": meta.kind, "apiVersion": meta.api_version, "metadata": {}, "spec": {}});
    if let Some(asked) = spec.resource {
        json["spec"]["resourceAttributes"] = json!({
            "namespace": asked.namespace, "verb": asked.verb, "group": asked.group, "version": asked.version,
            "resource": asked.resource, "subresource": asked.subresource, "name": asked.name,
        });
    }
    if let Some(asked) = spec.path {
        json["spec"]["nonResourceAttributes"] = json!({"path": asked.path, "verb": asked.verb});
    }
    Some(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_is_read_and_anything_else_is_not() {
        let resource = ResourceAttributes { verb: "get".into(), resource: "pods".into(), ..Default::default() };
        let review = Review { spec: Some(Spec { resource: Some(resource), path: None }) };
        let meta = |kind: &str| TypeMeta { api_version: "authorization.k8s.io/v1".into(), kind: kind.into() };
        let encoded = |kind: &str| {
            let unknown = Unknown { type_meta: Some(meta(kind)), raw: review.encode_to_vec() };
            [MAGIC, &unknown.encode_to_vec()].concat()
        };
        let json = access_review(&encoded("SelfSubjectAccessReview")).unwrap();
        assert_eq!(json["spec"]["resourceAttributes"]["resource"], "pods");
        assert_eq!(access_review(&encoded("Pod")), None);
        for damaged in [&b""[..], b"k8s\0\xff\xff\xff", b"k8s\0"] {
            assert_eq!(access_review(damaged), None);
        }
    }
}

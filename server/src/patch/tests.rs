//! Types of patches, and merge patches.

mod hostile;

use serde_json::json;

use super::{Patch, PatchError, PatchType};
use crate::schema::Limits;

#[test]
fn the_content_type_says_the_kind() {
    let of = PatchType::of;
    assert_eq!(of(Some("application/json-patch+json")), Ok(PatchType::Json));
    assert_eq!(of(Some("Application/Merge-Patch+JSON; charset=utf-8")), Ok(PatchType::Merge));
    assert_eq!(of(Some("application/apply-patch+yaml")), Ok(PatchType::Apply));
    for other in [Some("application/strategic-merge-patch+json"), Some("application/json"), None] {
        let error = of(other).unwrap_err();
        assert_eq!(error.status(), (415, "UnsupportedMediaType"));
        assert_eq!(
            error.to_string(),
            "the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
        );
    }
}

#[test]
fn a_merge_patch_sets_adds_and_removes() {
    let limits = Limits::default();
    let body = br#"{"metadata": {"labels": {"a": null, "b": "2"}}, "spec": {"list": [3]}, "spec": {"list": [4]}}"#;
    let patch = Patch::read(PatchType::Merge, body, &limits).unwrap();
    assert_eq!(patch.duplicates(), ["spec"]);
    let object = json!({"metadata": {"labels": {"a": "1", "c": "3"}}, "spec": {"list": [1, 2], "x": true}});
    let expected = json!({"metadata": {"labels": {"b": "2", "c": "3"}}, "spec": {"list": [4], "x": true}});
    assert_eq!(patch.onto(&object, &limits).unwrap(), expected);
    for wrong in [&b"[]"[..], b"null", b"\"x\""] {
        assert_eq!(Patch::read(PatchType::Merge, wrong, &limits).unwrap_err(), PatchError::NotAnObject);
    }
}

#[test]
fn an_applied_object_may_be_yaml() {
    let body = b"spec:\n  x: 1\n  y: [a, b]\n";
    let patch = Patch::read(PatchType::Apply, body, &Limits::default()).unwrap();
    assert_eq!(patch.body(), &json!({"spec": {"x": 1, "y": ["a", "b"]}}));
}

//! What JSON patches do, and where they are stopped.

use serde_json::{Value, json};

use super::super::{Patch, PatchError, PatchType};
use super::{MAX_COPIED, MAX_OPERATIONS, MAX_WORK};
use crate::schema::Limits;

fn patched(object: &Value, operations: &Value) -> Result<Value, PatchError> {
    let limits = Limits::default();
    Patch::read(PatchType::Json, operations.to_string().as_bytes(), &limits)?.onto(object, &limits)
}

#[test]
fn operations_follow_each_other() {
    let object = json!({"metadata": {"labels": {"a": "1"}}, "spec": {"list": [1, 2]}});
    let operations = json!([
        {"op": "test", "path": "/metadata/labels/a", "value": "1"},
        {"op": "add", "path": "/metadata/labels/b~1c", "value": "2"},
        {"op": "add", "path": "/spec/list/-", "value": 3},
        {"op": "move", "from": "/spec/list/0", "path": "/spec/first"},
        {"op": "copy", "from": "/spec/first", "path": "/spec/again"},
        {"op": "replace", "path": "/spec/list/0", "value": {"x": null}},
        {"op": "remove", "path": "/metadata/labels/a"},
    ]);
    let expected = json!({
        "metadata": {"labels": {"b/c": "2"}},
        "spec": {"list": [{"x": null}, 3], "first": 1, "again": 1},
    });
    assert_eq!(patched(&object, &operations).unwrap(), expected);
}

#[test]
fn a_failure_names_the_operation_and_leaves_the_object_alone() {
    let object = json!({"a": 1});
    let operations = json!([
        {"op": "add", "path": "/b", "value": 2},
        {"op": "test", "path": "/a", "value": 7},
    ]);
    let error = patched(&object, &operations).unwrap_err();
    assert_eq!(error.to_string(), "operation 1 of the patch: `test` at `/a`: the value is another one");
    assert_eq!(error.status(), (422, "Invalid"));
    assert_eq!(error.causes()[0].message, error.to_string());
    let missing = patched(&object, &json!([{"op": "remove", "path": "/metadata/labels/x"}])).unwrap_err();
    assert!(missing.to_string().ends_with("`remove` at `/metadata/labels/x`: there is no such place in the object"));
    let inside = patched(&json!({"a": {}}), &json!([{"op": "move", "from": "/a", "path": "/a/b"}])).unwrap_err();
    assert_eq!(inside.status().0, 422, "{inside}");
}

#[test]
fn what_is_no_patch_is_a_bad_request() {
    for wrong in [json!({}), json!([1]), json!([{"op": "jump", "path": "/a"}]), json!([{"op": "add", "path": "a"}])] {
        let error = patched(&json!({}), &wrong).unwrap_err();
        assert_eq!(error.status(), (400, "BadRequest"), "{error}");
    }
    let whole = patched(&json!({}), &json!([{"op": "replace", "path": "", "value": 5}])).unwrap_err();
    assert_eq!(whole, PatchError::NotAnObject);
}

#[test]
fn the_number_of_operations_is_bounded() {
    let many = |n: usize| Value::Array(vec![json!({"op": "test", "path": "/a", "value": 1}); n]);
    let object = json!({"a": 1});
    assert!(patched(&object, &many(MAX_OPERATIONS)).is_ok());
    let error = patched(&object, &many(MAX_OPERATIONS + 1)).unwrap_err();
    assert_eq!(error.to_string(), "the allowed maximum operations in a JSON patch is 10000, got 10001");
    assert_eq!(error.status().0, 413);
}

#[test]
fn copies_that_double_an_object_are_bounded() {
    let doubling: Vec<Value> =
        (0..64).map(|i| json!({"op": "copy", "from": "/a", "path": format!("/a/{i}")})).collect();
    let error = patched(&json!({"a": {"x": "0123456789"}}), &Value::Array(doubling)).unwrap_err();
    // Each copy goes into what the next one copies, so the depth ends it first; flat ones are ended by their bytes.
    assert!(matches!(error, PatchError::TooMuch { .. } | PatchError::TooDeep { .. }), "{error}");
    let flat: Vec<Value> = (0..100).map(|i| json!({"op": "copy", "from": "/a", "path": format!("/c{i}")})).collect();
    let error = patched(&json!({"a": "x".repeat(100_000)}), &Value::Array(flat)).unwrap_err();
    assert!(matches!(error, PatchError::TooMuch { what: "copy bytes", limit: MAX_COPIED, .. }), "{error}");
    assert_eq!(error.status().0, 413);
}

#[test]
fn what_a_patch_makes_is_bounded() {
    let limits = Limits { bytes: 2_000, ..Limits::default() };
    let operations = json!([{"op": "add", "path": "/b", "value": "x".repeat(1_500)}]).to_string();
    let patch = Patch::read(PatchType::Json, operations.as_bytes(), &limits).unwrap();
    let error = patch.onto(&json!({"a": "x".repeat(1_500)}), &limits).unwrap_err();
    assert_eq!(error, PatchError::Large { limit: 2_000 });
}

#[test]
fn the_depth_is_bounded_at_each_step() {
    let deeper: Vec<Value> = (0..200).map(|i| json!({"op": "add", "path": "/a".repeat(i + 1), "value": {}})).collect();
    let error = patched(&json!({}), &Value::Array(deeper)).unwrap_err();
    assert!(matches!(error, PatchError::TooDeep { index: 63, limit: 64, .. }), "{error}");
    // Also by moves, which bring no value of their own.
    let moves: Vec<Value> = (0..200)
        .flat_map(|_| {
            [
                json!({"op": "add", "path": "/b", "value": {"x": {}}}),
                json!({"op": "move", "from": "/a", "path": "/b/x/y"}),
                json!({"op": "move", "from": "/b", "path": "/a"}),
            ]
        })
        .collect();
    let error = patched(&json!({"a": {}}), &Value::Array(moves)).unwrap_err();
    assert!(matches!(error, PatchError::TooDeep { .. }), "{error}");
}

#[test]
fn insertions_into_a_large_list_are_bounded() {
    let object = json!({"list": vec![0; 100_000]});
    let insertions = vec![json!({"op": "add", "path": "/list/0", "value": 1}); 1_000];
    let error = patched(&object, &Value::Array(insertions)).unwrap_err();
    assert!(matches!(error, PatchError::TooMuch { what: "touch values", limit: MAX_WORK, .. }), "{error}");
}

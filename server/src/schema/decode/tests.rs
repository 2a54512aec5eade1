//! What nothing knows, what has a wrong type, and how clients are told.

use serde_json::json;

use super::{DecodeError, FieldValidation, typed, validate, warning_headers};
use crate::api::types::{Kind, PackageRevision};
use crate::schema::{Body, Format, Limits, structure};

#[test]
fn unknown_and_duplicate_fields_are_named_all_of_them() {
    let text = r#"{"apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "kind": "PackageRevision",
        "metadata": {"name": "a", "labels": {"any": "x"}, "lables": {}},
        "spec": {"packageName": "p", "foo": 1, "tasks": [{"type": "init", "init": {"sumary": "x"}}]},
        "status": {"conditions": [{"type": "A", "state": "x"}]}, "extra": {"deep": 1}}"#;
    let body = Body::read(text.as_bytes(), Format::Json, &Limits::default()).unwrap();
    let check = |validation| validate(&body.value, &body.duplicates, structure(Kind::PackageRevision), validation);
    let words = [
        r#"duplicate field "kind""#,
        r#"unknown field "metadata.lables""#,
        r#"unknown field "spec.foo""#,
        r#"unknown field "spec.tasks[0].init.sumary""#,
        r#"unknown field "status.conditions[0].state""#,
        r#"unknown field "extra""#,
    ];
    assert_eq!(check(FieldValidation::Ignore), Ok(vec![]));
    assert_eq!(check(FieldValidation::Warn).unwrap(), words);
    let error = check(FieldValidation::Strict).unwrap_err();
    assert_eq!(error.to_string(), format!("strict decoding error: {}", words.join(", ")));
    assert_eq!(error.status(), (400, "BadRequest"));
    let many = json!({"spec": (0..1_000).map(|i| (format!("f{i}"), json!(1))).collect::<serde_json::Map<_, _>>()});
    let warnings = validate(&many, &[], structure(Kind::PackageRevision), FieldValidation::Warn).unwrap();
    assert_eq!(warnings.len(), 100);
}

#[test]
fn the_parameter_is_one_of_three() {
    assert_eq!(FieldValidation::parse(None), Ok(FieldValidation::Warn));
    assert_eq!(FieldValidation::parse(Some("Strict")), Ok(FieldValidation::Strict));
    assert_eq!(FieldValidation::parse(Some("Ignore")), Ok(FieldValidation::Ignore));
    let error = FieldValidation::parse(Some("strict")).unwrap_err();
    assert!(error.to_string().contains(r#""Ignore", "Strict", "Warn""#), "{error}");
}

#[test]
fn a_wrong_type_names_the_field() {
    let typed = |value| typed::<PackageRevision>(value, structure(Kind::PackageRevision));
    let object =
        typed(json!({"metadata": {"name": "a", "labels": null}, "spec": {"tasks": null}, "status": null})).unwrap();
    assert_eq!(object.metadata.name, "a");
    for (value, path) in [
        (json!({"spec": {"revision": "one"}}), "spec.revision"),
        (json!({"spec": {"tasks": [{"type": "init"}, {"type": 5}]}}), "spec.tasks[1].type"),
        (json!({"metadata": {"labels": {"a.b/c": 1}}}), "metadata.labels.a.b/c"),
        (json!({"spec": {"lifecycle": "Drafted"}}), "spec.lifecycle"),
        (json!({"spec": []}), "spec"),
        (json!({"spec": {"tasks": {}}}), "spec.tasks"),
        (json!({"spec": {"tasks": [["init"]]}}), "spec.tasks[0]"),
        (json!([]), "."),
        (json!({"metadata": {"finalizers": [null]}}), "metadata.finalizers[0]"),
    ] {
        let DecodeError::Field { path: at, message } = typed(value).unwrap_err() else { panic!("a field") };
        assert_eq!(at, path, "{message}");
    }
    let long = typed(json!({"spec": {"lifecycle": "x".repeat(100_000)}})).unwrap_err();
    assert!(long.to_string().len() < 500, "{long}");
}

#[test]
fn warnings_are_headers_that_can_be_sent() {
    let headers = warning_headers(&["unknown field \"spec.föo\"\r\nX: y\\".to_owned(), "x".repeat(1_000)]);
    assert_eq!(headers[0], r#"299 - "unknown field \"spec.f?o\"??X: y\\""#);
    assert_eq!(headers[1], format!("299 - \"{}...\"", "x".repeat(256)));
    for header in &headers {
        axum::http::HeaderValue::try_from(header).expect("a header");
    }
    let many = warning_headers(&vec!["y".repeat(200); 1_000]);
    assert!(many.iter().map(String::len).sum::<usize>() < 5_000 && many.len() == 20, "{}", many.len());
}

//! Values that no honest client sends: nothing panics, and every bound holds.

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::api::types::{Kind, PackageRevision, PackageRevisionResources};
use crate::patch::{MAX_MANAGED_BYTES, Patch, PatchType, Writer, apply, track};
use crate::schema::select::{FieldSelector, LabelSelector};
use crate::schema::{Body, FieldValidation, Format, Limits, structure, typed, validate, warning_headers};

/// Small, so that they are met.
const LIMITS: Limits = Limits { bytes: 4_000, depth: 12, nodes: 300 };

/// Words that mean something to a reader, and some that do not.
const WORDS: [&str; 34] = [
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "uid",
    "managedFields",
    "manager",
    "operation",
    "Apply",
    "Update",
    "time",
    "fieldsV1",
    "spec",
    "tasks",
    "type",
    "resources",
    "readinessGates",
    "conditionType",
    "lifecycle",
    "status",
    "conditions",
    "<<",
    ".",
    "f:spec",
    "k:{\"type\":\"a\"}",
    "op",
    "path",
    "kubectl.kubernetes.io/last-applied-configuration",
    "",
    "\u{1F600}/~0~1",
];

/// Texts that are scalars of JSON, or nearly.
const SCALARS: [&str; 20] = [
    "null",
    "true",
    "0",
    "-0",
    "-1",
    "1e999",
    "-1e-999",
    "1.5",
    "18446744073709551616",
    "-9223372036854775809",
    "NaN",
    "Infinity",
    "\"\"",
    "\"a\"",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"2026-01-01T00:00:00Z\"",
    "\"+292277026596-12-04T15:30:08Z\"",
    ".nan",
    "*a",
];

fn word() -> impl Strategy<Value = String> {
    proptest::sample::select(&WORDS[..]).prop_map(str::to_owned)
}

/// A text that is JSON for the most part: keys may stand there twice.
fn text() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        4 => proptest::sample::select(&SCALARS[..]).prop_map(str::to_owned),
        4 => word().prop_map(|word| Value::String(word).to_string()),
        1 => "\\PC{0,12}",
    ];
    scalar.prop_recursive(14, 96, 6, |inner| {
        let entry = (word(), inner.clone()).prop_map(|(key, value)| format!("{}: {value}", Value::String(key)));
        prop_oneof![
            2 => proptest::collection::vec(entry, 0..6).prop_map(|entries| format!("{{{}}}", entries.join(", "))),
            1 => proptest::collection::vec(inner, 0..6).prop_map(|items| format!("[{}]", items.join(", "))),
        ]
    })
}

/// Bytes that are such a text, or one with a wrong byte in it.
fn body() -> impl Strategy<Value = Vec<u8>> {
    (text(), proptest::option::weighted(0.1, (any::<prop::sample::Index>(), any::<u8>()))).prop_map(|(text, wrong)| {
        let mut bytes = text.into_bytes();
        if let Some((place, byte)) = wrong
            && !bytes.is_empty()
        {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes
    })
}

/// Operations on places that are there, mostly.
fn operations() -> impl Strategy<Value = Vec<u8>> {
    let path = prop_oneof![
        proptest::sample::select(
            &["", "/spec", "/metadata/labels/a", "/spec/tasks/0", "/spec/tasks/-", "/metadata", "/x"][..]
        )
        .prop_map(str::to_owned),
        proptest::collection::vec(word(), 0..4).prop_map(|words| format!("/{}", words.join("/"))),
    ];
    let names = proptest::sample::select(&["add", "remove", "replace", "move", "copy", "test", "jump"][..]);
    let operation = (names, path.clone(), path, text()).prop_map(|(name, path, from, value)| {
        format!("{{\"op\": {name:?}, \"path\": {}, \"from\": {}, \"value\": {value}}}", json!(path), json!(from))
    });
    proptest::collection::vec(operation, 0..12).prop_map(|all| format!("[{}]", all.join(", ")).into_bytes())
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or_default(),
        Value::Object(object) => 1 + object.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

fn current() -> Value {
    json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
        "metadata": {
            "name": "a", "labels": {"a": "1"}, "finalizers": ["x/y"],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"metadata\": {\"labels\": {\"a\": \"1\"}}}"},
            "managedFields": [
                {"manager": "one", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
                 "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {"v:\"x/y\"": {}}}}},
                {"manager": "two", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                 "fieldsV1": {"f:spec": {".": {}, "f:tasks": {}}}},
            ],
        },
        "spec": {"tasks": [{"type": "init"}], "readinessGates": [{"conditionType": "a"}]},
    })
}

fn writer(kind: Kind, manager: &str) -> Writer<'_> {
    Writer {
        manager,
        subresource: "",
        api_version: "porch.kpt.dev/v1alpha1",
        now: Timestamp::UNIX_EPOCH,
        structure: structure(kind),
        ignored: &[&["status"]],
    }
}

const KINDS: [Kind; 3] = [Kind::PackageRevision, Kind::PackageRevisionResources, Kind::Namespace];

/// All that the API may do with a value that it has read.
fn use_value(value: &Value, duplicates: &[String]) {
    for kind in KINDS {
        let warnings = validate(value, duplicates, structure(kind), FieldValidation::Warn).expect("warnings alone");
        for header in warning_headers(&warnings) {
            axum::http::HeaderValue::try_from(header).expect("a header");
        }
        for manager in ["kubectl", "one"] {
            for before in [None, Some(current()), Some(value.clone())] {
                let writer = writer(kind, manager);
                for force in [false, true] {
                    if let Ok(applied) = apply(before.as_ref(), value, &writer, force) {
                        assert!(managed_bytes(&applied) <= MAX_MANAGED_BYTES);
                        assert_eq!(apply(Some(&applied), value, &writer, false).as_ref(), Ok(&applied));
                    }
                }
                let tracked = track(before.as_ref(), value, &writer);
                assert!(managed_bytes(&tracked) <= MAX_MANAGED_BYTES);
            }
        }
    }
    let _ = typed::<PackageRevision>(value.clone(), structure(Kind::PackageRevision));
    let _ = typed::<PackageRevisionResources>(value.clone(), structure(Kind::PackageRevisionResources));
}

fn managed_bytes(object: &Value) -> usize {
    object.pointer("/metadata/managedFields").map_or(0, |fields| fields.to_string().len())
}

proptest! {
    #[test]
    fn any_body_is_read_within_bounds_or_refused(body in body()) {
        for format in [Format::Json, Format::Yaml] {
            if let Ok(body) = Body::read(&body, format, &LIMITS) {
                prop_assert!(depth(&body.value) <= LIMITS.depth);
                use_value(&body.value, &body.duplicates);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        for format in [Format::Json, Format::Yaml] {
            let _ = Body::read(&bytes, format, &LIMITS);
        }
    }

    #[test]
    fn any_patch_makes_an_object_within_bounds_or_is_refused(merge in body(), operations in operations()) {
        for (kind, body) in [(PatchType::Merge, merge), (PatchType::Json, operations)] {
            let Ok(patch) = Patch::read(kind, &body, &LIMITS) else { continue };
            if let Ok(object) = patch.onto(&current(), &LIMITS) {
                prop_assert!(object.is_object());
                prop_assert!(depth(&object) <= LIMITS.depth, "{object}");
                use_value(&object, patch.duplicates());
            }
        }
    }

    #[test]
    fn any_selector_is_read_or_refused(text in prop_oneof!["\\PC{0,24}", "[a-c=!,()<> \\\\\\[\\]in.]{0,24}"]) {
        if let Ok(selector) = LabelSelector::parse(&text) {
            selector.matches(&std::collections::BTreeMap::from([("a".to_owned(), "b".to_owned())]));
        }
        if let Ok(selector) = FieldSelector::parse(&text, Kind::PackageRevision) {
            selector.matches(|_| "x".into());
        }
    }
}

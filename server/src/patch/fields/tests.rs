//! Sets of fields in the form of `FieldsV1`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Element, Set};
use crate::api::types::Kind;
use crate::schema::structure;

/// The set that a `fieldsV1` says.
pub(in super::super) fn set(fields: &Value) -> Set {
    Set::parse(fields).expect("a fieldsV1")
}

#[test]
fn an_applied_object_owns_its_leaves_keys_and_elements() {
    let object = json!({
        "metadata": {"labels": {"a": "1"}, "annotations": {}, "finalizers": ["x/y"]},
        "spec": {
            "packageName": "p",
            "tasks": [{"type": "init"}],
            "readinessGates": [{"conditionType": "Rendered"}],
            "packageMetadata": {"labels": {"k": "v"}},
        },
    });
    let expected = json!({
        "f:metadata": {
            "f:annotations": {},
            "f:finalizers": {"v:\"x/y\"": {}},
            "f:labels": {"f:a": {}},
        },
        "f:spec": {
            "f:packageMetadata": {"f:labels": {"f:k": {}}},
            "f:packageName": {},
            "f:readinessGates": {
                "k:{\"conditionType\":\"Rendered\"}": {".": {}, "f:conditionType": {}},
            },
            "f:tasks": {},
        },
    });
    assert_eq!(Set::of(&object, structure(Kind::PackageRevision).root()).to_value(), expected);
}

#[test]
fn what_nobody_knows_and_what_is_not_canonical_can_be_read() {
    let fields = json!({
        "f:spec": {"k:{\"b\": 1, \"a\": \"x\"}": {"f:c": {}}, "v: 1.0": {}, "i:07": {}, "z:new": {}, "plain": {}},
        ".": {},
    });
    let written = json!({"f:spec": {"i:7": {}, "k:{\"a\":\"x\",\"b\":1}": {"f:c": {}}, "v:1.0": {}}});
    assert_eq!(set(&fields).to_value(), written);
    assert!(Set::parse(&json!([])).is_none() && Set::parse(&json!({"f:a": 1})).is_none());
    assert!(Set::parse(&json!({"f:a": {}})).is_some_and(|set| !set.is_empty()));
    assert!(Set::parse(&json!({"x": {}, "k:no": {}, "i:-1": {}})).is_some_and(|set| set.is_empty()));
}

#[test]
fn paths_are_written_as_kubernetes_does() {
    let fields = json!({
        "f:spec": {
            "f:gates": {"k:{\"a\":\"x\",\"n\":1}": {".": {}, "f:c": {}}},
            "f:set": {"v:\"y\"": {}},
            "f:list": {"i:3": {}},
        },
    });
    let (paths, count) = set(&fields).paths(3);
    assert_eq!(count, 4);
    assert_eq!(paths, [".spec.gates[a=\"x\",n=1]", ".spec.gates[a=\"x\",n=1].c", ".spec.list[3]"]);
    assert_eq!(set(&fields).paths(9).0[3], ".spec.set[=\"y\"]");
}

#[test]
fn sets_are_joined_and_taken_apart_without_empty_nodes() {
    let a = set(&json!({"f:m": {".": {}, "f:x": {}, "f:y": {}}}));
    let b = set(&json!({"f:m": {"f:x": {}, "f:z": {}}}));
    assert_eq!(a.minus(&b).to_value(), json!({"f:m": {".": {}, "f:y": {}}}));
    assert_eq!(a.and(&b).to_value(), json!({"f:m": {"f:x": {}}}));
    assert!(a.minus(&a).is_empty());
    let mut all = a.clone();
    all.extend(&b);
    assert_eq!(all.to_value(), json!({"f:m": {".": {}, "f:x": {}, "f:y": {}, "f:z": {}}}));
    all.disown(&["m"]);
    assert_eq!(all.to_value(), json!({"f:m": {"f:x": {}, "f:y": {}, "f:z": {}}}));
    all.cut(&["m", "z"]);
    all.cut(&["m", "none", "x"]);
    assert_eq!(all.to_value(), json!({"f:m": {"f:x": {}, "f:y": {}}}));
    let mut list = set(&json!({"f:m": {"k:{\"type\":\"a\"}": {".": {}, "f:x": {}}, "k:{\"type\":\"b\"}": {".": {}}}}));
    list.cut(&["m", "k:{\"type\": \"a\"}"]);
    assert_eq!(list.to_value(), json!({"f:m": {"k:{\"type\":\"b\"}": {}}}));
    all.cut(&["m"]);
    assert!(all.is_empty());
}

fn fields() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        "[a-c]{1,2}".prop_map(|name| format!("f:{name}")),
        "[a-c]\\PC{0,3}".prop_map(|name| format!("f:{name}")),
        "[a-b]".prop_map(|key| format!("k:{{\"type\":\"{key}\"}}")),
        "[a-b]".prop_map(|value| format!("v:\"{value}\"")),
        (0..3_u8).prop_map(|index| format!("i:{index}")),
        Just(".".to_owned()),
    ];
    Just(json!({})).prop_recursive(4, 32, 4, move |inner| {
        proptest::collection::btree_map(name.clone(), inner, 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_the_same(fields in fields()) {
        let Some(set) = Set::parse(&fields) else { return Ok(()) };
        let written = set.to_value();
        prop_assert_eq!(Set::parse(&written), Some(set.clone()));
        prop_assert_eq!(Set::parse(&written).unwrap().to_value(), written);
        prop_assert_eq!(set.paths(0).1 == 0, set.is_empty());
    }

    #[test]
    fn sets_follow_the_rules_of_sets(a in fields(), b in fields()) {
        let (Some(a), Some(b)) = (Set::parse(&a), Set::parse(&b)) else { return Ok(()) };
        let mut all = a.clone();
        all.extend(&b);
        prop_assert_eq!(all.minus(&b), a.minus(&b));
        prop_assert_eq!(all.and(&a), a.clone());
        let mut parts = a.minus(&b);
        parts.extend(&a.and(&b));
        prop_assert_eq!(parts, a);
    }
}

#[test]
fn elements_without_their_key_are_told_apart_by_place() {
    let kind = crate::schema::ListKind::Map(vec!["b".into(), "a".into()]);
    assert_eq!(Element::item(&json!({"a": 1, "b": "x"}), 4, &kind), Element::parse("k:{\"a\":1,\"b\":\"x\"}").unwrap());
    assert_eq!(Element::item(&json!({"a": 1}), 4, &kind), Element::parse("i:4").unwrap());
    assert_eq!(Element::item(&json!(5), 4, &kind), Element::parse("i:4").unwrap());
}

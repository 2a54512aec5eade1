//! Structures of the API's own kinds, and of schemas that say little.

use serde_json::json;

use super::{ListKind, Shape, Structure};
use crate::api::types::Kind;
use crate::schema::structure;

#[test]
fn the_kinds_have_the_lists_that_their_types_declare() {
    let revision = structure(Kind::PackageRevision).root();
    let at = |path: &[&str]| path.iter().fold(revision, |shape, name| shape.field(name).expect(name));
    assert_eq!(*at(&["status", "conditions"]).list_kind(), ListKind::Map(vec!["type".into()]));
    assert_eq!(*at(&["spec", "readinessGates"]).list_kind(), ListKind::Map(vec!["conditionType".into()]));
    assert_eq!(*at(&["spec", "tasks"]).list_kind(), ListKind::Atomic);
    assert_eq!(*at(&["metadata", "finalizers"]).list_kind(), ListKind::Set);
    assert_eq!(*at(&["metadata", "ownerReferences"]).list_kind(), ListKind::Map(vec!["uid".into()]));
    let labels = at(&["metadata", "labels"]);
    assert!(labels.field("any").is_some() && !labels.is_named("any") && !labels.is_atomic_object());
    assert!(at(&["spec"]).field("unknown").is_none() && at(&["spec"]).is_named("packageName"));
    assert!(at(&["status", "conditions"]).item().field("lastTransitionTime").is_some());
    assert_eq!(at(&["spec", "lifecycle"]).expected(), Some("scalar"));
    let resources = structure(Kind::PackageRevisionResources).root();
    let files = resources.field("spec").and_then(|spec| spec.field("resources")).expect("the files");
    assert!(files.field("a/b.yaml").is_some() && !files.is_atomic_object(), "each file has owners of its own");
}

#[test]
fn types_that_hold_themselves_and_schemas_that_say_nothing_can_be_read() {
    let definitions = json!({
        "Tree": {"type": "object", "properties": {
            "left": {"$ref": "#/components/schemas/Tree"},
            "right": {"nullable": true, "allOf": [{"$ref": "#/components/schemas/Tree"}]},
            "any": {}, "gone": {"$ref": "#/x/Missing"}, "free": {"type": "object"},
            "fixed": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        }},
    });
    let tree = Structure::read(definitions.as_object().unwrap(), "Tree");
    let deep = tree.root().field("left").and_then(|t| t.field("right")).and_then(|t| t.field("left")).expect("itself");
    assert!(deep.is_named("any") && deep.field("x").is_none());
    for anything in ["any", "gone", "free"] {
        let shape = tree.root().field(anything).expect(anything);
        assert!(shape.field("x").is_some() && !shape.is_atomic_object(), "{anything}");
    }
    assert!(tree.root().field("fixed").is_some_and(Shape::is_atomic_object));
    assert_eq!(Structure::read(definitions.as_object().unwrap(), "None").root().expected(), None);
}

//! What is known of the API server of Kubernetes, by its documentation and KEP 555.

use serde_json::{Value, json};

use super::{World, labels};
use crate::api::types::Kind;
use crate::patch::{MAX_APPLIERS, MAX_MANAGED_BYTES, MAX_UPDATERS, PatchError};

fn world() -> World {
    World::new(Kind::PackageRevision)
}

#[test]
fn an_object_that_apply_makes_is_owned_by_its_manager() {
    let mut world = world();
    let object = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
        "metadata": {"name": "a", "namespace": "n", "creationTimestamp": null, "labels": {"test-label": "test"}},
        "spec": {"packageName": "p"},
        "status": {"deployment": true},
    });
    world.apply("kubectl", &object).unwrap();
    assert_eq!(
        world.entries(),
        [json!({
            "manager": "kubectl",
            "operation": "Apply",
            "apiVersion": "porch.kpt.dev/v1alpha1",
            "time": "1970-01-01T00:00:01Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:test-label": {}}}, "f:spec": {"f:packageName": {}}},
        })]
    );
}

#[test]
fn an_object_that_is_created_is_owned_with_the_maps_on_the_way() {
    let mut world = world();
    world.update(
        "kubectl-create",
        &json!({"metadata": {"name": "a", "labels": {"x": "1"}}, "spec": {"packageName": "p"}}),
    );
    let expected = json!({
        "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
        "f:spec": {".": {}, "f:packageName": {}},
    });
    assert_eq!(world.fields("kubectl-create"), expected);
    assert_eq!(world.managers(), ["Update kubectl-create"]);
}

#[test]
fn a_changed_field_of_another_manager_is_a_conflict_that_names_both() {
    let mut world = world();
    world.apply("one", &labels(&json!({"x": "1", "y": "1"}))).unwrap();
    world.edit("kubectl-label", |object| object["metadata"]["labels"]["x"] = "2".into());
    assert_eq!(world.fields("kubectl-label"), json!({"f:metadata": {"f:labels": {"f:x": {}}}}));
    assert_eq!(world.fields("one"), json!({"f:metadata": {"f:labels": {"f:y": {}}}}), "what is overwritten is lost");
    let error = world.apply("one", &labels(&json!({"x": "1", "y": "1"}))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"kubectl-label\" using porch.kpt.dev/v1alpha1: .metadata.labels.x"
    );
    assert_eq!(error.status(), (409, "Conflict"));
    let [cause] = &error.causes()[..] else { panic!("one cause") };
    assert_eq!(cause.reason, "FieldManagerConflict");
    assert_eq!(cause.message, "conflict with \"kubectl-label\" using porch.kpt.dev/v1alpha1");
    assert_eq!(cause.field, ".metadata.labels.x");
}

#[test]
fn several_conflicts_are_listed_by_manager() {
    let mut world = world();
    world.apply("one", &labels(&json!({"x": "1"}))).unwrap();
    world.apply("two", &json!({"metadata": {"annotations": {"a": "1", "b": "1"}}})).unwrap();
    let object = json!({"metadata": {"labels": {"x": "2"}, "annotations": {"a": "2", "b": "2"}}});
    let error = world.apply("three", &object).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 3 conflicts: conflicts with \"one\":\n- .metadata.labels.x\n\
         conflicts with \"two\":\n- .metadata.annotations.a\n- .metadata.annotations.b"
    );
}

#[test]
fn an_equal_value_is_shared_and_stays_until_nobody_applies_it() {
    let mut world = world();
    world.apply("one", &labels(&json!({"x": "1"}))).unwrap();
    world.apply("two", &labels(&json!({"x": "1", "y": "1"}))).unwrap();
    world.apply("one", &labels(&json!({}))).unwrap();
    assert_eq!(world.plain()["metadata"]["labels"], json!({"x": "1", "y": "1"}), "`two` still wants it");
    world.apply("two", &labels(&json!({"y": "1"}))).unwrap();
    assert_eq!(world.plain()["metadata"]["labels"], json!({"y": "1"}));
}

#[test]
fn force_takes_a_field() {
    let mut world = world();
    world.apply("one", &labels(&json!({"x": "1"}))).unwrap();
    world.force("two", &labels(&json!({"x": "2"})));
    assert_eq!(world.plain()["metadata"]["labels"], json!({"x": "2"}));
    assert_eq!(world.managers(), ["Apply two"], "a manager without fields is gone");
    let error = world.apply("one", &labels(&json!({"x": "1"}))).unwrap_err();
    assert!(error.to_string().ends_with("conflict with \"two\": .metadata.labels.x"), "{error}");
}

#[test]
fn what_is_applied_no_more_goes_and_what_nobody_owns_stays() {
    let mut world = World::new(Kind::PackageRevisionResources);
    let files = |files: Value| json!({"metadata": {"name": "a"}, "spec": {"resources": files}});
    world.apply("one", &files(json!({"a.yaml": "a", "b.yaml": "b"}))).unwrap();
    // A render adds a file and changes another one: not by the API, so nobody owns it.
    let object = world.object.as_mut().unwrap();
    object["spec"]["resources"]["rendered.yaml"] = "r".into();
    object["spec"]["resources"]["a.yaml"] = "a, rendered".into();
    world.apply("one", &files(json!({"a.yaml": "a"}))).unwrap();
    assert_eq!(world.plain()["spec"]["resources"], json!({"a.yaml": "a", "rendered.yaml": "r"}), "no conflict either");
    world.apply("one", &json!({"metadata": {"name": "a"}})).unwrap();
    assert_eq!(world.plain()["spec"]["resources"], json!({"rendered.yaml": "r"}));
    assert_eq!(world.entries(), Vec::<Value>::new());
}

#[test]
fn elements_of_lists_that_are_maps_or_sets_have_owners_of_their_own() {
    let mut world = world();
    let gates = |gates: &[&str]| {
        let list: Vec<Value> = gates.iter().map(|gate| json!({"conditionType": gate})).collect();
        json!({"metadata": {"finalizers": gates}, "spec": {"readinessGates": list}})
    };
    let now = |world: &World| {
        let list = world.plain()["spec"]["readinessGates"].as_array().cloned().unwrap_or_default();
        let gates: Vec<Value> = list.iter().map(|gate| gate["conditionType"].clone()).collect();
        assert_eq!(world.plain()["metadata"]["finalizers"], json!(gates));
        gates
    };
    world.apply("one", &gates(&["A", "B"])).unwrap();
    world.apply("two", &gates(&["C", "A"])).unwrap();
    assert_eq!(now(&world), ["C", "A", "B"], "the applied order, the others behind");
    world.apply("one", &gates(&["B"])).unwrap();
    assert_eq!(now(&world), ["C", "A", "B"], "`two` owns `A`");
    world.apply("two", &gates(&["C"])).unwrap();
    assert_eq!(now(&world), ["C", "B"]);
    let mine = world.fields("one");
    assert_eq!(
        mine["f:spec"],
        json!({"f:readinessGates": {"k:{\"conditionType\":\"B\"}": {".": {}, "f:conditionType": {}}}})
    );
    world.apply("one", &json!({})).unwrap();
    world.apply("two", &json!({})).unwrap();
    assert_eq!(world.plain().pointer("/spec/readinessGates"), None, "an emptied list is gone");
}

#[test]
fn a_list_without_keys_is_one_field() {
    let mut world = world();
    world.apply("one", &json!({"spec": {"tasks": [{"type": "init"}]}})).unwrap();
    let error = world.apply("two", &json!({"spec": {"tasks": [{"type": "init"}, {"type": "clone"}]}})).unwrap_err();
    assert!(error.to_string().ends_with("conflict with \"one\": .spec.tasks"), "{error}");
    world.apply("two", &json!({"spec": {"tasks": [{"type": "init"}]}})).unwrap();
}

#[test]
fn an_object_from_before_managed_fields_is_owned_as_a_whole_at_the_first_apply() {
    let mut world = world();
    world.object = Some(labels(&json!({"x": "1", "y": "1"})));
    world.edit("kubectl-label", |object| object["metadata"]["labels"]["y"] = "2".into());
    assert_eq!(world.entries(), Vec::<Value>::new(), "nothing is tracked before");
    let error = world.apply("one", &labels(&json!({"x": "2"}))).unwrap_err();
    assert!(error.to_string().contains("conflict with \"before-first-apply\" using porch.kpt.dev/v1alpha1"), "{error}");
    world.apply("one", &labels(&json!({"x": "1"}))).unwrap();
    assert_eq!(world.managers(), ["Apply one", "Update before-first-apply"]);
}

#[test]
fn managed_fields_are_reset_by_one_empty_entry_and_by_nothing_less() {
    let mut world = world();
    world.apply("one", &labels(&json!({"x": "1"}))).unwrap();
    for kept in [json!([]), Value::Null, json!("?"), json!([{"operation": "Steal"}]), json!([{"fieldsV1": []}])] {
        world.edit("curl", |object| object["metadata"]["managedFields"] = kept.clone());
        assert_eq!(world.managers(), ["Apply one"], "{kept}");
    }
    world.edit("curl", |object| object["metadata"]["managedFields"] = json!([{}]));
    assert_eq!(world.entries(), Vec::<Value>::new());
    world.edit("curl", |object| object["metadata"]["labels"]["x"] = "2".into());
    assert_eq!(world.entries(), Vec::<Value>::new());
    // Through a subresource they can't be set.
    world.apply("one", &labels(&json!({"x": "2"}))).unwrap();
    let mut object = world.object.clone().unwrap();
    object["metadata"]["managedFields"] = json!([{}]);
    let writer = super::Writer { subresource: "approval", ..world.writer("curl", &[]) };
    let tracked = super::track(world.object.as_ref(), &object, &writer);
    assert_eq!(Some(&tracked), world.object.as_ref());
}

#[test]
fn an_applied_object_brings_no_managed_fields_and_has_a_manager() {
    let mut world = world();
    let error = world.apply("one", &json!({"metadata": {"managedFields": []}})).unwrap_err();
    assert!(error.to_string().starts_with("metadata.managedFields must be nil"), "{error}");
    assert_eq!(error.status(), (400, "BadRequest"));
    let error = world.apply("", &json!({})).unwrap_err();
    assert_eq!((error.status(), &*error.causes()[0].field), ((422, "Invalid"), "fieldManager"));
}

#[test]
fn an_applied_object_that_is_built_otherwise_is_refused_with_the_path() {
    for (object, path) in [
        (json!({"spec": []}), ".spec"),
        (json!({"spec": {"tasks": {}}}), ".spec.tasks"),
        (json!({"spec": {"packageName": ["p"]}}), ".spec.packageName"),
        (json!({"spec": {"readinessGates": [{"type": "x"}]}}), ".spec.readinessGates[0]"),
        (json!({"spec": {"readinessGates": [{"conditionType": {}}]}}), ".spec.readinessGates[0]"),
        (
            json!({"spec": {"readinessGates": [{"conditionType": "a"}, {"conditionType": "a"}]}}),
            ".spec.readinessGates[1]",
        ),
        (json!({"metadata": {"finalizers": ["a", "a"]}}), ".metadata.finalizers[1]"),
        (json!({"metadata": {"finalizers": [{}]}}), ".metadata.finalizers[0]"),
    ] {
        let error = world().apply("one", &object).unwrap_err();
        assert_eq!((error.status(), &*error.causes()[0].field), ((422, "Invalid"), path), "{error}");
    }
}

/// `kubectl apply --server-side` on an object of `kubectl apply`: the first is no conflict, then kubectl moves the fields.
#[test]
fn fields_of_client_side_apply_are_taken_by_kubectls_server_side_apply() {
    let last = labels(&json!({"x": "1"}));
    let mut world = world();
    world.update(
        "kubectl-client-side-apply",
        &json!({"metadata": {
            "name": "a",
            "labels": {"x": "1"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": last.to_string()},
        }}),
    );
    let annotated = world.object.clone();
    assert!(world.apply("other", &labels(&json!({"x": "2"}))).is_err(), "it is for kubectl alone");
    world.apply("kubectl", &labels(&json!({"x": "2"}))).unwrap();
    assert_eq!(world.plain()["metadata"]["labels"], json!({"x": "2"}));
    let kept = world.plain()["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"].clone();
    let kept: Value = serde_json::from_str(kept.as_str().unwrap()).unwrap();
    assert_eq!(kept, labels(&json!({"x": "2"})), "client-side apply can go on from there");
    // Somebody else changed it since: that is a conflict as ever.
    world.object = annotated;
    world.edit("kubectl-edit", |object| object["metadata"]["labels"]["x"] = "9".into());
    let error = world.apply("kubectl", &labels(&json!({"x": "2"}))).unwrap_err();
    assert!(error.to_string().contains("\"kubectl-edit\""), "{error}");
    // What kubectl then sends: the entries of its client-side apply under its own name.
    let mut entries = world.entries();
    for entry in &mut entries {
        if entry["manager"] == "kubectl-client-side-apply" {
            entry["manager"] = "kubectl".into();
            entry["operation"] = "Apply".into();
        }
    }
    world.edit("kubectl", |object| object["metadata"]["managedFields"] = Value::Array(entries));
    assert_eq!(world.managers(), ["Apply kubectl", "Update kubectl-edit"]);
}

#[test]
fn a_field_that_a_write_takes_away_has_no_owner_and_the_time_moves_with_what_is_set() {
    let mut world = world();
    world.apply("one", &labels(&json!({"x": "1", "y": "1"}))).unwrap();
    world.edit("two", |object| {
        object["metadata"]["labels"].as_object_mut().unwrap().remove("x");
    });
    assert_eq!(world.managers(), ["Apply one"]);
    assert_eq!(world.fields("one"), json!({"f:metadata": {"f:labels": {"f:y": {}}}}));
    assert_eq!(world.entries()[0]["time"], "1970-01-01T00:00:01Z");
    world.edit("two", |_| {});
    assert_eq!(world.managers(), ["Apply one"], "a write that changes nothing owns nothing");
    world.apply("one", &labels(&json!({"y": "1"}))).unwrap();
    assert_eq!(world.entries()[0]["time"], "1970-01-01T00:00:01Z", "an apply that changes nothing is no change");
}

#[test]
fn a_status_is_nobodys() {
    let mut world = world();
    world.apply("one", &labels(&json!({"x": "1"}))).unwrap();
    world.edit("two", |object| object["status"] = json!({"conditions": [{"type": "Rendered", "status": "True"}]}));
    assert_eq!(world.managers(), ["Apply one"]);
}

#[test]
fn the_oldest_updaters_are_put_together() {
    let mut world = world();
    world.update("first", &labels(&json!({"m0": "1"})));
    for i in 1..=MAX_UPDATERS {
        world.edit(&format!("m{i}"), |object| object["metadata"]["labels"][format!("m{i}")] = "1".into());
    }
    let managers = world.managers();
    assert_eq!(managers.len(), MAX_UPDATERS);
    assert_eq!((&*managers[0], &*managers[1]), ("Update ancient-changes", "Update m2"));
    let ancient = world.fields("ancient-changes");
    assert_eq!(ancient, json!({"f:metadata": {"f:labels": {".": {}, "f:m0": {}, "f:m1": {}}}}));
    for i in 11..=30 {
        world.edit(&format!("m{i}"), |object| object["metadata"]["labels"][format!("m{i}")] = "1".into());
    }
    assert_eq!(world.managers().len(), MAX_UPDATERS);
    let ancient = world.fields("ancient-changes");
    assert_eq!(ancient["f:metadata"]["f:labels"].as_object().unwrap().len(), 23, "{ancient}");
}

#[test]
fn managers_that_apply_are_bounded() {
    let mut world = world();
    for i in 0..MAX_APPLIERS {
        world.apply(&format!("m{i}"), &labels(&json!({format!("m{i}"): "1"}))).unwrap();
    }
    let error = world.apply("another", &labels(&json!({"x": "1"}))).unwrap_err();
    assert_eq!((error.clone(), error.status().0), (PatchError::TooManyManagers { limit: MAX_APPLIERS }, 422));
    world.apply("m3", &labels(&json!({"m3": "2"}))).unwrap();
    world.apply("m3", &json!({})).unwrap();
    world.apply("another", &labels(&json!({"x": "1"}))).unwrap();
}

#[test]
fn the_bytes_of_managed_fields_are_bounded() {
    let mut world = World::new(Kind::PackageRevisionResources);
    let many = |n: usize| -> Value {
        (0..n).map(|i| (format!("{i:0>100}.yaml"), json!("x"))).collect::<serde_json::Map<_, _>>().into()
    };
    let object = json!({"spec": {"resources": many(5_000)}});
    let error = world.apply("one", &object).unwrap_err();
    assert!(matches!(error, PatchError::ManagedTooLarge { bytes } if bytes > MAX_MANAGED_BYTES), "{error}");
    assert_eq!(error.status().0, 413);
    // Other writes are never refused for it, and their managers are put together.
    let half = json!({"spec": {"resources": many(3_000)}});
    world.update("a", &half);
    world.edit("b", |object| object["spec"]["resources"] = json!({"b.yaml": "b"}));
    world.apply("one", &half).unwrap();
    for i in 0..4 {
        world.edit(&format!("u{i}"), |object| {
            object["spec"]["resources"][format!("{}/{i}", "d".repeat(60_000))] = "x".into();
        });
    }
    assert_eq!(world.managers(), ["Apply one", "Update ancient-changes"]);
}

#[test]
fn managed_fields_that_a_client_brings_are_bounded() {
    let mut world = world();
    world.apply("one", &labels(&json!({"x": "1"}))).unwrap();
    let entry = |manager: usize, fields: &Value| json!({"manager": format!("m{manager}"), "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields});
    let x = json!({"f:metadata": {"f:labels": {"f:x": {}}}});
    let many: Vec<Value> = (0..=MAX_APPLIERS).map(|i| entry(i, &x)).collect();
    let large = json!({format!("f:{}", "x".repeat(MAX_MANAGED_BYTES)): {}});
    for given in [json!(many), json!([entry(1, &large)])] {
        world.edit("curl", |object| object["metadata"]["managedFields"] = given);
        assert_eq!(world.managers(), ["Apply one"]);
    }
    // Fields that the object does not have are nobody's, from the first write on.
    let given = json!([entry(1, &json!({"f:spec": {"f:revision": {}}, "f:metadata": {"f:labels": {"f:x": {}}}}))]);
    world.edit("curl", |object| object["metadata"]["managedFields"] = given.clone());
    assert_eq!(world.fields("m1"), x);
    world.object = None;
    let mut object = labels(&json!({"y": "1"}));
    object["metadata"]["managedFields"] = given;
    world.update("curl", &object);
    assert_eq!(world.managers(), ["Update curl"]);
}

#[test]
fn a_thousand_conflicts_are_counted_and_a_hundred_named() {
    let mut world = World::new(Kind::PackageRevisionResources);
    let files = |content: &str| -> Value {
        let files: serde_json::Map<String, Value> = (0..1_000).map(|i| (format!("{i}.yaml"), content.into())).collect();
        json!({"spec": {"resources": files}})
    };
    world.apply("one", &files("1")).unwrap();
    let error = world.apply("two", &files("2")).unwrap_err();
    assert_eq!(error.causes().len(), 100);
    assert!(error.to_string().starts_with("Apply failed with 1000 conflicts: "), "{error}");
    assert!(error.to_string().ends_with("\nand 900 more"), "{error}");
}

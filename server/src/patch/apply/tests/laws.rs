//! Laws that hold for all objects and orders of writes.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Difference, Managers, Set, merge, without};
use super::World;
use crate::api::types::Kind;
use crate::schema::structure;

type Labels = BTreeMap<String, String>;
type Names = BTreeSet<String>;

/// An object with a map, a set, and a list by keys, all with keys of this pattern.
fn object(name: &'static str) -> impl Strategy<Value = Value> {
    let map = proptest::collection::btree_map(name, "[xyz]", 0..4);
    let set = proptest::collection::btree_set(name, 0..3);
    (map.clone(), map, set.clone(), set)
        .prop_map(|(labels, notes, finalizers, gates)| build(&labels, &notes, &finalizers, &gates))
}

fn build(labels: &Labels, notes: &Labels, finalizers: &Names, gates: &Names) -> Value {
    let mut object = json!({"metadata": {"name": "a"}});
    if !labels.is_empty() {
        object["metadata"]["labels"] = json!(labels);
    }
    if !notes.is_empty() {
        object["spec"]["packageMetadata"]["annotations"] = json!(notes);
    }
    if !finalizers.is_empty() {
        object["metadata"]["finalizers"] = json!(finalizers);
    }
    if !gates.is_empty() {
        let gates: Vec<Value> = gates.iter().map(|gate| json!({"conditionType": gate})).collect();
        object["spec"]["readinessGates"] = Value::Array(gates);
    }
    object
}

/// An object that also has fields which no key tells apart.
fn whole() -> impl Strategy<Value = Value> {
    let name = proptest::option::of("[pq]");
    let tasks = proptest::collection::vec("[ic]", 0..2);
    (object("[abc][12]"), name, tasks).prop_map(|(mut object, name, tasks)| {
        if let Some(name) = name {
            object["spec"]["packageName"] = name.into();
        }
        if !tasks.is_empty() {
            object["spec"]["tasks"] = tasks.iter().map(|kind| json!({"type": kind})).collect();
        }
        object
    })
}

#[derive(Debug, Clone)]
enum Write {
    Apply(&'static str, Value, bool),
    Update(&'static str, Value),
}

fn writes() -> impl Strategy<Value = Vec<Write>> {
    let manager = prop_oneof![Just("one"), Just("two"), Just("kubectl")];
    let write = (manager, whole(), 0..4_u8).prop_map(|(manager, object, kind)| match kind {
        0 => Write::Update(manager, object),
        1 => Write::Apply(manager, object, true),
        _ => Write::Apply(manager, object, false),
    });
    proptest::collection::vec(write, 1..8)
}

fn done(writes: &[Write]) -> World {
    let mut world = World::new(Kind::PackageRevision);
    for write in writes {
        match write {
            // A client that read the object, and writes another one with the managed fields that it read.
            Write::Update(manager, object) => {
                let mut object = object.clone();
                if let Some(fields) = world.object.as_ref().and_then(|old| old.pointer("/metadata/managedFields")) {
                    object["metadata"]["managedFields"] = fields.clone();
                }
                world.update(manager, &object);
            }
            Write::Apply(manager, object, force) => {
                let _ = world.try_apply(manager, object, *force);
            }
        }
    }
    if world.object.is_none() {
        world.update("one", &json!({"metadata": {"name": "a"}}));
    }
    world
}

fn owned(world: &World) -> Set {
    Managers::of(world.object.as_ref().expect("an object")).all()
}

proptest! {
    #[test]
    fn applying_twice_changes_nothing(writes in writes(), object in whole(), force: bool) {
        let mut world = done(&writes);
        if world.try_apply("one", &object, force).is_ok() {
            let before = world.object.clone();
            prop_assert_eq!(world.apply("one", &object), Ok(()), "no force is needed the second time");
            prop_assert_eq!(&world.object, &before);
        }
    }

    #[test]
    fn managers_of_different_fields_never_conflict(
        a in object("[ab][12]"), b in object("[cd][12]"), c in object("[ab][12]"), d in object("[cd][12]")
    ) {
        let mut world = World::new(Kind::PackageRevision);
        for (manager, object) in [("one", &a), ("two", &b), ("one", &c), ("two", &d)] {
            prop_assert_eq!(world.apply(manager, object), Ok(()));
        }
        // The last of each, and nothing else.
        let shape = structure(Kind::PackageRevision).root();
        let expected = merge(Some(&c), &d, shape);
        prop_assert_eq!(Difference::between(&world.plain(), &expected, shape), Difference::default());
    }

    #[test]
    fn what_anybody_owns_is_what_the_object_has(writes in writes()) {
        let mut world = done(&writes);
        if world.entries().is_empty() {
            return Ok(());
        }
        let shape = structure(Kind::PackageRevision).root();
        let has = world.writer("", &[]).ownable(Set::of(&world.plain(), shape));
        prop_assert!(has.minus(&owned(&world)).is_empty(), "{}", world.object.unwrap());
        let mut existing = owned(&world);
        existing.keep_existing(&world.plain(), shape);
        prop_assert_eq!(existing, owned(&world));
    }

    #[test]
    fn what_is_applied_is_there_and_owned(writes in writes(), object in whole()) {
        let mut world = done(&writes);
        world.force("three", &object);
        let shape = structure(Kind::PackageRevision).root();
        let again = merge(Some(&world.plain()), &object, shape);
        prop_assert_eq!(Difference::between(&world.plain(), &again, shape), Difference::default());
        let mine = Set::parse(&world.fields("three")).unwrap_or_default();
        let applied = world.writer("", &[]).ownable(Set::of(&object, shape));
        prop_assert!(applied.minus(&mine).is_empty());
    }

    #[test]
    fn a_field_that_is_taken_by_force_is_not_shared(writes in writes(), object in whole()) {
        let mut world = done(&writes);
        let before = world.plain();
        world.force("three", &object);
        let shape = structure(Kind::PackageRevision).root();
        let changed = Difference::between(&before, &world.plain(), shape).set();
        let mut managers = Managers::of(world.object.as_ref().unwrap());
        managers.0.retain(|manager, _| manager.name != "three");
        prop_assert!(managers.all().and(&changed).is_empty());
    }

    #[test]
    fn without_others_an_applied_object_is_all_there_is(objects in proptest::collection::vec(whole(), 1..5)) {
        let mut world = World::new(Kind::PackageRevision);
        for object in &objects {
            prop_assert_eq!(world.apply("one", object), Ok(()));
            let shape = structure(Kind::PackageRevision).root();
            prop_assert_eq!(Difference::between(&world.plain(), object, shape), Difference::default());
        }
    }

    #[test]
    fn managed_fields_are_written_and_read_as_the_same(writes in writes()) {
        let object = done(&writes).object.unwrap();
        let mut again = without(&object);
        Managers::of(&object).write(&mut again).unwrap();
        prop_assert_eq!(again.pointer("/metadata/managedFields"), object.pointer("/metadata/managedFields"));
    }
}

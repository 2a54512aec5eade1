//! Server-side apply as Kubernetes documents it, and its laws.

mod known;
mod laws;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Writer, apply, track};
use crate::api::types::Kind;
use crate::patch::PatchError;
use crate::schema::structure;

/// An object, and a clock that goes on by a second each write.
struct World {
    kind: Kind,
    second: i64,
    object: Option<Value>,
}

impl World {
    fn new(kind: Kind) -> Self {
        Self { kind, second: 0, object: None }
    }

    fn writer<'a>(&mut self, manager: &'a str, ignored: &'a [&'a [&'a str]]) -> Writer<'a> {
        self.second += 1;
        Writer {
            manager,
            subresource: "",
            api_version: "porch.kpt.dev/v1alpha1",
            now: Timestamp::from_second(self.second).unwrap(),
            structure: structure(self.kind),
            ignored,
        }
    }

    fn apply(&mut self, manager: &str, applied: &Value) -> Result<(), PatchError> {
        self.try_apply(manager, applied, false)
    }

    fn force(&mut self, manager: &str, applied: &Value) {
        self.try_apply(manager, applied, true).expect("no conflict is in the way");
    }

    fn try_apply(&mut self, manager: &str, applied: &Value, force: bool) -> Result<(), PatchError> {
        let writer = self.writer(manager, &[&["status"]]);
        let object = apply(self.object.as_ref(), applied, &writer, force)?;
        self.object = Some(object);
        Ok(())
    }

    /// Writes an object by other means.
    fn update(&mut self, manager: &str, object: &Value) {
        let writer = self.writer(manager, &[&["status"]]);
        self.object = Some(track(self.object.as_ref(), object, &writer));
    }

    /// Changes the object by other means.
    fn edit(&mut self, manager: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.object.clone().expect("an object");
        change(&mut object);
        self.update(manager, &object);
    }

    fn plain(&self) -> Value {
        super::without(self.object.as_ref().expect("an object"))
    }

    fn entries(&self) -> Vec<Value> {
        let object = self.object.as_ref().expect("an object");
        object.pointer("/metadata/managedFields").and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// The managers with their operation, in their order.
    fn managers(&self) -> Vec<String> {
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        self.entries().iter().map(|entry| format!("{} {}", text(entry, "operation"), text(entry, "manager"))).collect()
    }

    /// What a manager owns.
    fn fields(&self, manager: &str) -> Value {
        let entries = self.entries();
        entries
            .iter()
            .find(|entry| entry["manager"] == manager)
            .map(|entry| entry["fieldsV1"].clone())
            .unwrap_or_default()
    }
}

fn labels(labels: &Value) -> Value {
    json!({"metadata": {"name": "a", "labels": labels}})
}

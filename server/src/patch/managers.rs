//! `metadata.managedFields`: which manager owns which fields.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::fields::Set;
use crate::schema::Shape;

/// The most managers with the operation `Update`: beyond it the oldest are put together, as in the API server of
/// Kubernetes. Each program that writes under a name of its own adds one.
pub const MAX_UPDATERS: usize = 10;

/// The most managers with the operation `Apply`: their fields can't be put together, so a further one is refused until
/// another one applies an empty object. Kubernetes has no such bound.
pub const MAX_APPLIERS: usize = 32;

/// The most bytes of `managedFields` as JSON. Beyond it all updaters are put together, so that the fields of appliers
/// have room; an apply that would need more is refused. A file of a package takes its path and 8 bytes for each manager
/// that owns it.
pub const MAX_MANAGED_BYTES: usize = 512 << 10;

/// Who owns what was updated long ago, as Kubernetes names it.
const ANCIENT: &str = "ancient-changes";

/// How fields came to a manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    /// By server-side apply: its last object says all that it wants.
    Apply,
    /// By any other write.
    Update,
}

/// What tells managers apart. A manager that applies is the same in all versions of the kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) operation: Operation,
    pub(super) name: String,
    /// Empty for one that applies.
    pub(super) api_version: String,
    pub(super) subresource: String,
}

impl Manager {
    pub(super) fn new(operation: Operation, name: &str, api_version: &str, subresource: &str) -> Self {
        let api_version = if operation == Operation::Apply { "" } else { api_version };
        Self {
            operation,
            name: name.to_owned(),
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// As Kubernetes writes it in messages.
    pub(super) fn show(&self) -> String {
        let mut text = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            let _ = write!(text, " with subresource {:?}", self.subresource);
        }
        if self.operation == Operation::Update {
            let _ = write!(text, " using {}", self.api_version);
        }
        text
    }
}

/// What a manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owned {
    pub(super) fields: Set,
    pub(super) time: Option<Timestamp>,
    pub(super) api_version: String,
}

/// All managers of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Managers(pub(super) BTreeMap<Manager, Owned>);

/// What `managedFields` of a client says.
pub(super) enum Given {
    /// Nothing, or nothing that can be read or kept: those of the object stay, so that clients that know nothing of them can't take
    /// them away by accident.
    Nothing,
    /// One empty entry: all are to go. Kubernetes' way to say so.
    Reset,
    /// These.
    These(Managers),
}

impl Given {
    /// Reads what a client sent.
    pub(super) fn read(object: &Value) -> Self {
        let list = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        match list.map(Vec::as_slice) {
            None | Some([]) => Self::Nothing,
            Some([one]) if is_empty_entry(one) => Self::Reset,
            Some(list) => match Managers::read(list) {
                Some(managers) if managers.are_within_bounds() => Self::These(managers),
                _ => Self::Nothing,
            },
        }
    }
}

/// An entry that says nothing: `{}`, or empty fields, as typed clients write it.
fn is_empty_entry(entry: &Value) -> bool {
    entry
        .as_object()
        .is_some_and(|entry| entry.values().all(|value| value.is_null() || value.as_str().is_some_and(str::is_empty)))
}

impl Managers {
    /// Those of an object; none where they can't be read.
    pub(super) fn of(object: &Value) -> Self {
        let list = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        list.map(Vec::as_slice).and_then(Self::read).unwrap_or_default()
    }

    fn read(list: &[Value]) -> Option<Self> {
        let mut managers = BTreeMap::new();
        for entry in list {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
            let operation = match text("operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return None,
            };
            if !matches!(text("fieldsType"), "FieldsV1" | "") {
                return None;
            }
            let fields = match entry.get("fieldsV1") {
                None | Some(Value::Null) => continue,
                Some(fields) => Set::parse(fields)?,
            };
            if fields.is_empty() {
                continue;
            }
            let time = match text("time") {
                "" => None,
                time => Some(time.parse().ok()?),
            };
            let api_version = text("apiVersion");
            let manager = Manager::new(operation, text("manager"), api_version, text("subresource"));
            let owned = Owned { fields, time, api_version: api_version.to_owned() };
            managers.insert(manager, owned);
        }
        Some(Self(managers))
    }

    /// Whether a client may bring these: some, and no more than come of its writes.
    fn are_within_bounds(&self) -> bool {
        let appliers = self.0.keys().filter(|manager| manager.operation == Operation::Apply).count();
        !self.0.is_empty() && appliers <= MAX_APPLIERS && bytes(&self.to_value()) <= MAX_MANAGED_BYTES
    }

    /// As `managedFields`: appliers first, then by time and name, as Kubernetes sorts them.
    fn to_value(&self) -> Vec<Value> {
        let mut sorted: Vec<(&Manager, &Owned)> = self.0.iter().collect();
        sorted.sort_by_key(|(manager, owned)| {
            (manager.operation, owned.time.map(Timestamp::as_second), &manager.name, &manager.api_version)
        });
        let entry = |(manager, owned): (&Manager, &Owned)| {
            let operation = if manager.operation == Operation::Apply { "Apply" } else { "Update" };
            let mut entry = Map::new();
            entry.insert("manager".to_owned(), manager.name.clone().into());
            entry.insert("operation".to_owned(), operation.into());
            entry.insert("apiVersion".to_owned(), owned.api_version.clone().into());
            if let Some(time) = owned.time {
                entry.insert("time".to_owned(), time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into());
            }
            entry.insert("fieldsType".to_owned(), "FieldsV1".into());
            entry.insert("fieldsV1".to_owned(), owned.fields.to_value());
            if !manager.subresource.is_empty() {
                entry.insert("subresource".to_owned(), manager.subresource.clone().into());
            }
            Value::Object(entry)
        };
        sorted.into_iter().map(entry).collect()
    }

    /// Drops what the object does not have, and managers without fields.
    pub(super) fn keep_existing(&mut self, object: &Value, shape: Shape<'_>) {
        self.0.retain(|_, owned| {
            owned.fields.keep_existing(object, shape);
            !owned.fields.is_empty()
        });
    }

    /// What anybody owns.
    pub(super) fn all(&self) -> Set {
        let mut all = Set::default();
        for owned in self.0.values() {
            all.extend(&owned.fields);
        }
        all
    }

    /// Takes fields from all, or from all but one.
    pub(super) fn take(&mut self, fields: &Set, except: Option<&Manager>) {
        self.0.retain(|manager, owned| {
            if Some(manager) != except {
                owned.fields = owned.fields.minus(fields);
            }
            !owned.fields.is_empty()
        });
    }

    /// Puts the oldest updaters together until there are no more than [`MAX_UPDATERS`].
    fn cap(&mut self, most: usize) {
        let mut updaters: Vec<(Option<Timestamp>, Manager)> = self
            .0
            .iter()
            .filter(|(manager, _)| manager.operation == Operation::Update)
            .map(|(manager, owned)| (owned.time, manager.clone()))
            .collect();
        updaters.sort();
        let mut left = updaters.len();
        let mut first_of: BTreeMap<String, Manager> = BTreeMap::new();
        for (_, manager) in updaters {
            if left <= most {
                return;
            }
            let version = manager.api_version.clone();
            let Some(first) = first_of.get(&version) else {
                first_of.insert(version, manager);
                continue;
            };
            let ancient = Manager::new(Operation::Update, ANCIENT, &version, "");
            if !self.0.contains_key(&ancient)
                && let Some(owned) = self.0.remove(first)
            {
                self.0.insert(ancient.clone(), owned);
            }
            if manager == ancient {
                continue;
            }
            if let Some(owned) = self.0.remove(&manager)
                && let Some(bucket) = self.0.get_mut(&ancient)
            {
                bucket.fields.extend(&owned.fields);
                bucket.time = owned.time;
                left -= 1;
            }
        }
    }

    /// Writes them into an object, within the bounds; the bytes that they would take where they are too many.
    pub(super) fn write(mut self, object: &mut Value) -> Result<(), usize> {
        self.cap(MAX_UPDATERS);
        let mut list = self.to_value();
        if bytes(&list) > MAX_MANAGED_BYTES {
            self.cap(1);
            list = self.to_value();
        }
        let size = bytes(&list);
        set(object, list);
        if size > MAX_MANAGED_BYTES { Err(size) } else { Ok(()) }
    }
}

/// What entries take as JSON.
fn bytes(list: &[Value]) -> usize {
    list.iter().map(|entry| entry.to_string().len()).sum()
}

/// Sets `metadata.managedFields`.
fn set(object: &mut Value, list: Vec<Value>) {
    let Value::Object(object) = object else { return };
    if list.is_empty() {
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.shift_remove("managedFields");
        }
        return;
    }
    if let Value::Object(metadata) = object.entry("metadata").or_insert_with(|| json!({})) {
        metadata.insert("managedFields".to_owned(), Value::Array(list));
    }
}

/// The object without `metadata.managedFields`.
pub(super) fn without(object: &Value) -> Value {
    let mut plain = object.clone();
    set(&mut plain, Vec::new());
    plain
}

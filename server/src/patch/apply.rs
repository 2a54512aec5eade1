//! Server-side apply, and who owns the fields that other writes set.
//!
//! The rules are those of Kubernetes (its documentation, "Server-Side Apply", and KEP 555), with the structure of each kind as
//! its schema says it (`x-kubernetes-list-type` and the like). What the server itself writes, above all the status and the
//! files that a render changed, has no owner, so that nobody is in conflict with a render.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::PatchError;
use super::compare::Difference;
use super::error::Conflict;
use super::fields::{Element, Set};
use super::managers::{Given, MAX_APPLIERS, Manager, Managers, Operation, Owned, without};
use super::merge::{merge, prune};
use crate::schema::{Body, Format, Limits, ListKind, Shape, Structure, drop_nulls, shown};

/// Who writes an object, and what kind of object it is.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// The subresource through which it writes; empty for the object itself.
    pub subresource: &'a str,
    /// The version of the kind that it writes in.
    pub api_version: &'a str,
    /// The time of the write.
    pub now: Timestamp,
    /// How the kind is built.
    pub structure: &'a Structure,
    /// Paths that this write can't set and owns nothing of, such as `["status"]`. An element of a list that is a map is named
    /// as in `FieldsV1`: `["status", "conditions", "k:{\"type\":\"Rendered\"}"]`.
    pub ignored: &'a [&'a [&'a str]],
}

/// Who owns the fields of an object that was there before anybody applied anything. Kubernetes' name.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The manager of kubectl's server-side apply, and what its client-side apply keeps in an object.
const KUBECTL: &str = "kubectl";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Longest annotation of that kind that is kept up to date: Kubernetes' bound on all annotations.
const LAST_APPLIED_BYTES: usize = 256 << 10;

/// The fields of every object that nobody owns: what names it, and what the server alone sets. The first ones are those of
/// Kubernetes.
const UNOWNED: [&[&str]; 14] = [
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
    &["metadata", "deletionTimestamp"],
    &["metadata", "deletionGracePeriodSeconds"],
];

impl Writer<'_> {
    fn identity(&self, operation: Operation) -> Manager {
        Manager::new(operation, self.manager, self.api_version, self.subresource)
    }

    fn shape(&self) -> Shape<'_> {
        self.structure.root()
    }

    /// Takes what this write can't own out of a set.
    fn ownable(&self, mut set: Set) -> Set {
        for path in self.ignored {
            set.cut(path);
        }
        for path in UNOWNED {
            set.disown(path);
        }
        set
    }

    fn owned(&self, fields: Set, time: Option<Timestamp>) -> Owned {
        Owned { fields, time, api_version: self.api_version.to_owned() }
    }
}

/// What an object becomes when a manager applies its own; with `metadata.managedFields`. `current` is `None` for one that is
/// made by this.
///
/// What the manager applied last, applies no more and nobody else owns goes. A field that another manager owns with another
/// value is a conflict; with `force` the field changes hands.
pub fn apply(current: Option<&Value>, applied: &Value, writer: &Writer<'_>, force: bool) -> Result<Value, PatchError> {
    if writer.manager.is_empty() {
        return Err(PatchError::ManagerMissing);
    }
    if applied.pointer("/metadata/managedFields").is_some_and(|given| !given.is_null()) {
        return Err(PatchError::ManagedFields);
    }
    let mut applied = applied.clone();
    drop_nulls(&mut applied);
    if !applied.is_object() {
        return Err(PatchError::NotAnObject);
    }
    if applied.get("metadata").is_some_and(|metadata| !metadata.is_object()) {
        return Err(PatchError::Invalid { path: ".metadata".to_owned(), message: "expected map".to_owned() });
    }
    check(&applied, writer.shape(), &mut String::new())?;
    let live = current.map_or_else(|| json!({}), without);
    let managers = managers_of(current, &live, writer);
    let identity = writer.identity(Operation::Apply);
    let appliers = managers.0.keys().filter(|manager| manager.operation == Operation::Apply && **manager != identity);
    if appliers.count() >= MAX_APPLIERS {
        return Err(PatchError::TooManyManagers { limit: MAX_APPLIERS });
    }
    let request = Request { live: &live, applied: &applied, writer, identity: &identity };
    let (mut object, managers) = match request.apply(managers.clone(), force) {
        Err(conflicts) => request.retry(managers, conflicts)?,
        Ok(done) => done,
    };
    if writer.manager == KUBECTL && current.is_some_and(|live| live.pointer(&last_applied_pointer()).is_some()) {
        keep_last_applied(&mut object, &applied);
    }
    managers.write(&mut object).map_err(|bytes| PatchError::ManagedTooLarge { bytes })?;
    Ok(object)
}

/// The object after a write that is no apply, with `metadata.managedFields`: what the write set belongs to its manager, and to
/// nobody else. `before` is `None` for an object that is made by this.
///
/// A client may set `managedFields` itself: to `[{}]` to take all away, or as kubectl does that moves the fields of its
/// client-side apply to its server-side apply. What can't be read of it, or is larger than what comes of writes, is as if it were
/// not there. An object without any
/// manager gets none until something is applied to it.
pub fn track(before: Option<&Value>, after: &Value, writer: &Writer<'_>) -> Value {
    let mut object = without(after);
    let given = if writer.subresource.is_empty() { Given::read(after) } else { Given::Nothing };
    let mut managers = match given {
        Given::These(managers) => managers,
        Given::Reset => Managers::default(),
        Given::Nothing => before.map(Managers::of).unwrap_or_default(),
    };
    if before.is_some() && managers.0.is_empty() {
        return object;
    }
    let live = before.map_or_else(|| json!({}), without);
    managers.keep_existing(if before.is_some() { &live } else { &object }, writer.shape());
    let difference = Difference::between(&live, &object, writer.shape());
    let set = writer.ownable(difference.set());
    let identity = writer.identity(Operation::Update);
    managers.take(&set, Some(&identity));
    managers.take(&difference.removed, None);
    if !set.is_empty() {
        let mine = managers.0.entry(identity).or_insert_with(|| writer.owned(Set::default(), None));
        mine.fields.extend(&set);
        mine.time = Some(writer.now);
    }
    // More than the bound only where appliers have nearly all of it: the fields of this object bound the rest, and what
    // clients bring has its own bound.
    let _ = managers.write(&mut object);
    object
}

/// The managers of an object to which something is applied.
fn managers_of(current: Option<&Value>, live: &Value, writer: &Writer<'_>) -> Managers {
    let Some(current) = current else { return Managers::default() };
    let mut managers = Managers::of(current);
    if managers.0.is_empty() {
        let all = Difference::between(&json!({}), live, writer.shape()).set();
        let fields = writer.ownable(all);
        if !fields.is_empty() {
            let before = Manager::new(Operation::Update, BEFORE_FIRST_APPLY, writer.api_version, "");
            managers.0.insert(before, writer.owned(fields, Some(writer.now)));
        }
    }
    managers.keep_existing(live, writer.shape());
    managers
}

/// One apply.
struct Request<'r> {
    live: &'r Value,
    applied: &'r Value,
    writer: &'r Writer<'r>,
    identity: &'r Manager,
}

/// What others own and the applied object changes.
type Conflicts = Vec<(Manager, Set)>;

impl Request<'_> {
    fn apply(&self, mut managers: Managers, force: bool) -> Result<(Value, Managers), Conflicts> {
        let shape = self.writer.shape();
        let mut object = merge(Some(self.live), self.applied, shape);
        let fields = self.writer.ownable(Set::of(self.applied, shape));
        let last = managers.0.remove(self.identity);
        if !fields.is_empty() {
            managers.0.insert(self.identity.clone(), self.writer.owned(fields, None));
        }
        if let Some(last) = &last {
            prune(&mut object, shape, &last.fields, &managers.all());
        }
        let difference = Difference::between(self.live, &object, shape);
        let set = difference.set();
        let conflicts: Conflicts = managers
            .0
            .iter()
            .filter(|(manager, _)| *manager != self.identity)
            .map(|(manager, owned)| (manager.clone(), owned.fields.and(&set)))
            .filter(|(_, fields)| !fields.is_empty())
            .collect();
        if !conflicts.is_empty() && !force {
            return Err(conflicts);
        }
        managers.take(&set, Some(self.identity));
        managers.take(&difference.removed, None);
        if let Some(mine) = managers.0.get_mut(self.identity) {
            let same = last.filter(|last| last.fields == mine.fields && object == *self.live);
            mine.time = same.map_or(Some(self.writer.now), |last| last.time);
        }
        Ok((object, managers))
    }

    /// What kubectl's client-side apply owns is no conflict for its server-side apply, as long as nobody else has changed
    /// it since: that is how people move from one to the other.
    fn retry(&self, managers: Managers, conflicts: Conflicts) -> Result<(Value, Managers), PatchError> {
        let allowed = if self.writer.manager == KUBECTL { self.last_applied() } else { Set::default() };
        let left: Conflicts = conflicts
            .into_iter()
            .map(|(manager, fields)| (manager, fields.minus(&allowed)))
            .filter(|(_, fields)| !fields.is_empty())
            .collect();
        if left.is_empty() {
            return self.apply(managers, true).map_err(|_| PatchError::Conflicts { named: Vec::new(), count: 0 });
        }
        let (mut named, mut count) = (Vec::new(), 0);
        for (manager, fields) in left {
            let (paths, all) = fields.paths(Conflict::NAMED - named.len());
            count += all;
            named.extend(paths.into_iter().map(|path| Conflict { manager: manager.show(), path }));
        }
        Err(PatchError::Conflicts { named, count })
    }

    /// What client-side apply set, and is still so.
    fn last_applied(&self) -> Set {
        let text = self.live.pointer(&last_applied_pointer()).and_then(Value::as_str).unwrap_or_default();
        let limits = Limits { bytes: LAST_APPLIED_BYTES, ..Limits::default() };
        let Ok(Body { value, .. }) = Body::read(text.as_bytes(), Format::Json, &limits) else { return Set::default() };
        let shape = self.writer.shape();
        let Difference { added, modified, removed } = Difference::between(&value, self.live, shape);
        Set::of(&value, shape).minus(&added).minus(&modified).minus(&removed)
    }
}

fn last_applied_pointer() -> String {
    format!("/metadata/annotations/{}", LAST_APPLIED.replace('/', "~1"))
}

/// Writes the applied object where client-side apply looks for it, so that people can go back.
fn keep_last_applied(object: &mut Value, applied: &Value) {
    let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") else { return };
    let mut plain = applied.clone();
    if let Some(Value::Object(annotations)) = plain.pointer_mut("/metadata/annotations") {
        annotations.remove(LAST_APPLIED);
    }
    let text = format!("{plain}\n");
    if text.len() > LAST_APPLIED_BYTES {
        annotations.shift_remove(LAST_APPLIED);
    } else {
        annotations.insert(LAST_APPLIED.to_owned(), text.into());
    }
}

/// Refuses an applied object whose lists can't be told apart by element, or whose kinds of values are others.
fn check(value: &Value, shape: Shape<'_>, path: &mut String) -> Result<(), PatchError> {
    let found = match value {
        Value::Object(_) => "map",
        Value::Array(_) => "list",
        _ => "scalar",
    };
    let fault = |path: &str, message: String| Err(PatchError::Invalid { path: shown(path), message });
    let before = path.len();
    match (shape.expected(), value) {
        (Some(expected), _) if expected != found => fault(path, format!("expected {expected}, got {found}")),
        (_, Value::Object(object)) => object.iter().try_for_each(|(name, value)| {
            let _ = write!(path, ".{name}");
            check(value, shape.field_or_anything(name), path)?;
            path.truncate(before);
            Ok(())
        }),
        (_, Value::Array(list)) => {
            let kind = shape.list_kind();
            let mut seen = BTreeSet::new();
            list.iter().enumerate().try_for_each(|(index, item)| {
                let _ = write!(path, "[{index}]");
                match kind {
                    ListKind::Map(keys) => {
                        if let Some(key) = keys.iter().find(|key| item.get(&***key).is_none_or(|key| !is_scalar(key))) {
                            return fault(
                                path,
                                format!("the element has no `{key}`, which tells it apart from others"),
                            );
                        }
                    }
                    ListKind::Set if !is_scalar(item) => return fault(path, "expected scalar".to_owned()),
                    ListKind::Set | ListKind::Atomic => {}
                }
                if *kind != ListKind::Atomic && !seen.insert(Element::item(item, index, kind)) {
                    return fault(path, "there is an element like this before it".to_owned());
                }
                check(item, shape.item(), path)?;
                path.truncate(before);
                Ok(())
            })
        }
        _ => Ok(()),
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

#[cfg(test)]
mod tests;

//! References follow the objects that were renamed.

use std::collections::HashMap;

use portico_fn::yaml::{NodeId, Tree};
use portico_fn::{KubeObject, Resource, UNKNOWN_NAMESPACE, namespaced_by_table};

use crate::fields::{Form, Reference, Target, fields_of, pod_fields};
use crate::settings::Settings;

/// The objects that got another name, by kind and old name.
#[derive(Debug, Default)]
pub(crate) struct Renamed(HashMap<(String, String), Vec<Place>>);

/// Where a renamed object is.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    group: String,
    /// `~C` for objects of the whole cluster.
    namespace: String,
}

impl Place {
    fn of(object: &Resource) -> Place {
        Place { group: object.group().to_owned(), namespace: object.effective_namespace().to_owned() }
    }
}

/// Who looks for an object.
struct Referrer {
    namespace: String,
    whole_cluster: bool,
}

impl Renamed {
    /// Notes an object before it is renamed.
    pub(crate) fn expect(&mut self, object: &Resource, name: &str) {
        self.0.entry((object.kind().to_owned(), name.to_owned())).or_default().push(Place::of(object));
    }

    /// Takes back the last note: the object kept its name.
    pub(crate) fn forget(&mut self, object: &Resource, name: &str) {
        let key = (object.kind().to_owned(), name.to_owned());
        if let Some(places) = self.0.get_mut(&key) {
            places.pop();
            if places.is_empty() {
                self.0.remove(&key);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn places(&self, kind: &str, name: &str) -> &[Place] {
        self.0.get(&(kind.to_owned(), name.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// True when an object of this group, kind and old name was renamed.
    pub(crate) fn has(&self, group: &str, kind: &str, name: &str) -> bool {
        self.places(kind, name).iter().any(|place| place.group == group)
    }

    /// True when a reference means an object that was renamed: one of its own namespace, unless one of the two is of the
    /// whole cluster or the object is a service account. `namespace` is the one that the reference names.
    fn is_meant(&self, target: Target, name: &str, namespace: Option<&str>, referrer: &Referrer) -> bool {
        self.places(target.kind, name).iter().any(|place| {
            let near = match namespace {
                Some(namespace) => place.namespace == namespace,
                None => {
                    referrer.whole_cluster
                        || target.kind == "ServiceAccount"
                        || place.namespace == UNKNOWN_NAMESPACE
                        || place.namespace == referrer.namespace
                }
            };
            near && target.group.is_none_or(|group| group == place.group)
        })
    }
}

/// Updates every reference of an object.
pub(crate) fn update(object: &mut Resource, settings: &Settings, renamed: &Renamed) {
    let (pod, fields) = fields_of(object.group(), object.kind());
    let namespace = object.effective_namespace().to_owned();
    let whole_cluster =
        namespace == UNKNOWN_NAMESPACE || namespaced_by_table(object.api_version(), object.kind()) == Some(false);
    let referrer = Referrer { namespace, whole_cluster };
    let mut update = Update { tree: &mut object.tree, settings, renamed, referrer: &referrer };
    let root = update.tree.root();
    for field in fields {
        update.walk(root, field.path, field);
    }
    if let Some(spec) = pod.and_then(|path| update.tree.get_path(root, path)) {
        for field in pod_fields() {
            update.walk(spec, field.path, field);
        }
    }
}

struct Update<'a> {
    tree: &'a mut Tree,
    settings: &'a Settings,
    renamed: &'a Renamed,
    referrer: &'a Referrer,
}

impl Update<'_> {
    /// Goes down a path; what is missing or of another form names nothing. Lists in lists are none of ours, so that the
    /// depth is bounded by the path.
    fn walk(&mut self, at: NodeId, path: &[&str], field: &Reference) {
        let elements: Vec<NodeId> = if self.tree.is_sequence(at) { self.tree.elements(at).collect() } else { vec![at] };
        for element in elements {
            match path.split_first() {
                None => self.update(element, field),
                Some((key, rest)) => {
                    if let Some(next) = self.tree.get(element, key) {
                        self.walk(next, rest, field);
                    }
                }
            }
        }
    }

    fn update(&mut self, at: NodeId, field: &Reference) {
        let target = field.target;
        match field.form {
            Form::Name => self.rename(at, target, None),
            Form::Typed => {
                let group = self.text(at, "apiGroup").or_else(|| self.text(at, "apiVersion").map(portico_fn::group));
                let same_group = target.group.is_none() || group.is_none() || group == target.group;
                if self.text(at, "kind") == Some(target.kind) && same_group {
                    self.rename_field(at, target, None);
                }
            }
            Form::Namespaced => {
                if self.text(at, "kind").is_none_or(|kind| kind == target.kind) {
                    let namespace = self.text(at, "namespace").map(str::to_owned);
                    self.rename_field(at, target, namespace.as_deref());
                }
            }
            Form::Rules(plural) => {
                let resources = self.tree.get(at, "resources").map(|list| {
                    self.tree
                        .elements(list)
                        .any(|one| matches!(self.tree.text(one), "*") || self.tree.text(one) == plural)
                });
                if resources == Some(true)
                    && let Some(names) = self.tree.get(at, "resourceNames")
                {
                    let names: Vec<NodeId> = self.tree.elements(names).collect();
                    for name in names {
                        self.rename(name, target, None);
                    }
                }
            }
        }
    }

    fn text(&self, at: NodeId, key: &str) -> Option<&str> {
        self.tree.text_at(at, &[key]).filter(|text| !text.is_empty())
    }

    fn rename_field(&mut self, at: NodeId, target: Target, namespace: Option<&str>) {
        if let Some(name) = self.tree.get(at, "name") {
            self.rename(name, target, namespace);
        }
    }

    fn rename(&mut self, node: NodeId, target: Target, namespace: Option<&str>) {
        if !self.tree.is_scalar(node) {
            return;
        }
        let name = self.tree.text(node);
        if self.renamed.is_meant(target, name, namespace, self.referrer) {
            let new = self.settings.edited(name);
            crate::set(self.tree, node, &new);
        }
    }
}

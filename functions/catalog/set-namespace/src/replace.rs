//! Finding and replacing the namespaces of one object.

use std::collections::BTreeSet;

use portico_fn::yaml::{Kind, NodeId};
use portico_fn::{DEFAULT_NAMESPACE, FieldError, KubeObject, Resource, UNKNOWN_NAMESPACE, field};

use crate::settings::Settings;

/// Replaces namespaces and remembers what it replaced.
#[derive(Debug)]
pub(crate) struct Replacer<'a> {
    settings: &'a Settings,
    /// Namespaces that were replaced.
    pub(crate) old: BTreeSet<String>,
    /// Values that were replaced.
    pub(crate) count: usize,
    /// Objects whose upstream namespace matched, each as one message.
    pub(crate) matched: Vec<String>,
}

impl<'a> Replacer<'a> {
    pub(crate) fn new(settings: &'a Settings) -> Replacer<'a> {
        Replacer { settings, old: BTreeSet::new(), count: 0, matched: Vec::new() }
    }

    /// The namespaces in an object of the whole cluster (or of a type that nobody knows and without a namespace).
    pub(crate) fn cluster_scoped(&mut self, object: &mut Resource) -> Result<(), FieldError> {
        if object.is_gvk("", "v1", "Namespace") && !object.name().is_empty() {
            let origin = object.origin_id().name;
            return self.replace(object, &["metadata", "name"], Some(&origin));
        }
        if object.is_group_version_kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition") {
            let path = ["spec", "conversion", "webhook", "clientConfig", "service"];
            let webhook = object.string_at(&["spec", "conversion", "strategy"]) == "Webhook";
            return if webhook { self.service(object, &path) } else { Ok(()) };
        }
        if object.is_group_version_kind("apiregistration.k8s.io", "v1", "APIService") {
            return self.service(object, &["spec", "service"]);
        }
        self.subjects(object)
    }

    /// `metadata.namespace`, and the subjects of a role binding.
    pub(crate) fn namespaced(&mut self, object: &mut Resource) -> Result<(), FieldError> {
        let origin = object.origin_id().namespace;
        self.replace(object, &["metadata", "namespace"], Some(&origin))?;
        self.subjects(object)
    }

    /// The fields that the configuration names.
    pub(crate) fn additional(&mut self, object: &mut Resource) -> Result<(), FieldError> {
        for spec in &self.settings.additional {
            for target in spec.targets(object, Kind::Scalar)? {
                let current = object.tree.text(target).to_owned();
                self.put(object, target, &current);
            }
        }
        Ok(())
    }

    /// A reference to a service: it has a namespace when it has a name.
    fn service(&mut self, object: &mut Resource, path: &[&str]) -> Result<(), FieldError> {
        if object.string_at(&[path, &["name"]].concat()).is_empty() {
            return Ok(());
        }
        self.replace(object, &[path, &["namespace"]].concat(), None)
    }

    /// The subjects of a role binding that have a namespace.
    fn subjects(&mut self, object: &mut Resource) -> Result<(), FieldError> {
        if !matches!(object.kind(), "RoleBinding" | "ClusterRoleBinding") {
            return Ok(());
        }
        let Some(list) = object.tree.get(object.tree.root(), "subjects").filter(|id| !object.tree.is_null(*id)) else {
            return Ok(());
        };
        if !object.tree.is_sequence(list) {
            return Err(FieldError::at(&object.tree, list, &["subjects"], "a list"));
        }
        let subjects: Vec<NodeId> = object.tree.elements(list).collect();
        for (i, subject) in subjects.into_iter().enumerate() {
            if let Some(namespace) = object.tree.get(subject, "namespace") {
                let current = if object.tree.is_null(namespace) {
                    String::new()
                } else {
                    let path = ["subjects", &format!("[{i}]"), "namespace"];
                    field::string_value(&object.tree, namespace, &path)?.to_owned()
                };
                self.put(object, namespace, &current);
            }
        }
        Ok(())
    }

    /// Replaces the string at a path, made where it is missing. An object whose upstream is known to have no namespace
    /// is left alone.
    fn replace(&mut self, object: &mut Resource, path: &[&str], origin: Option<&str>) -> Result<(), FieldError> {
        if origin == Some(UNKNOWN_NAMESPACE) {
            return Ok(());
        }
        let root = object.tree.root();
        let given = field::nested_string(&object.tree, root, path)?.unwrap_or_default();
        let current = if given.is_empty() { DEFAULT_NAMESPACE } else { given }.to_owned();
        let matches_origin = self.matches_origin(object, &current, origin);
        let new = if matches_origin || self.wants(&current) {
            self.note(&current);
            self.settings.namespace.clone()
        } else {
            current
        };
        if given_differs(object, path, &new) {
            field::set_nested_string(&mut object.tree, root, path, &new)?;
        }
        Ok(())
    }

    /// Replaces the value of a node.
    fn put(&mut self, object: &mut Resource, node: NodeId, current: &str) {
        let effective = if current.is_empty() { DEFAULT_NAMESPACE } else { current };
        let new = if self.wants(effective) {
            self.note(effective);
            &self.settings.namespace
        } else {
            effective
        };
        if new != current {
            object.tree.set_string(node, new);
        }
    }

    /// True when a value is to be replaced for what it is.
    fn wants(&self, current: &str) -> bool {
        current != self.settings.namespace && (self.settings.matcher.is_empty() || self.settings.matcher == current)
    }

    /// True when a value is to be replaced for what it was upstream; that is worth a message.
    fn matches_origin(&mut self, object: &Resource, current: &str, origin: Option<&str>) -> bool {
        let matches = !self.settings.matcher.is_empty()
            && current != self.settings.namespace
            && origin == Some(self.settings.matcher.as_str());
        if matches {
            let message = format!("[{}] has matching origin {}", object.short_string(), self.settings.matcher);
            self.matched.push(message);
        }
        matches
    }

    fn note(&mut self, current: &str) {
        self.count += 1;
        self.old.insert(current.to_owned());
    }
}

fn given_differs(object: &Resource, path: &[&str], new: &str) -> bool {
    object
        .tree
        .get_path(object.tree.root(), path)
        .is_none_or(|id| object.tree.is_null(id) || object.tree.text(id) != new)
}

//! One Kubernetes resource: a YAML document whose root is a mapping.

use crate::yaml::{NodeId, Style, Tree};

/// One Kubernetes resource.
///
/// The tree keeps comments, styles and spans; the methods here read and edit the usual fields through it, so that an
/// edit touches nothing else.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The document; its root is a mapping as long as nobody replaces it.
    pub tree: Tree,
}

/// A document that cannot be a resource: its root is a scalar, a sequence or an alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("wrong node kind: expected MappingNode but got {got}")]
pub struct NotAMapping {
    /// The kind as Go's YAML library calls it.
    pub got: &'static str,
}

/// The name that Go's YAML library has for the kind of a node; kpt's messages use it.
pub(crate) fn go_kind(tree: &Tree, id: NodeId) -> &'static str {
    use crate::yaml::Kind;
    match tree.kind(id) {
        Kind::Scalar => "ScalarNode",
        Kind::Mapping => "MappingNode",
        Kind::Sequence => "SequenceNode",
        Kind::Alias => "AliasNode",
    }
}

impl Resource {
    /// Takes a document whose root is a mapping.
    pub fn new(tree: Tree) -> Result<Resource, NotAMapping> {
        let root = tree.root();
        if tree.is_mapping(root) { Ok(Resource { tree }) } else { Err(NotAMapping { got: go_kind(&tree, root) }) }
    }

    /// The root mapping.
    pub fn root(&self) -> NodeId {
        self.tree.root()
    }

    /// `apiVersion`; empty when it is missing or no scalar.
    pub fn api_version(&self) -> &str {
        self.string_at(&["apiVersion"])
    }

    /// `kind`; empty when it is missing or no scalar.
    pub fn kind(&self) -> &str {
        self.string_at(&["kind"])
    }

    /// `metadata.name`; empty when it is missing or no scalar.
    pub fn name(&self) -> &str {
        self.string_at(&["metadata", "name"])
    }

    /// `metadata.namespace`; empty when it is missing or no scalar.
    pub fn namespace(&self) -> &str {
        self.string_at(&["metadata", "namespace"])
    }

    /// The part of `apiVersion` before the slash; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version().rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// The scalar at a path of keys as a string: empty when it is missing, null or no scalar.
    pub fn string_at(&self, path: &[&str]) -> &str {
        self.tree.get_path(self.root(), path).map_or("", |id| string_value(&self.tree, id))
    }

    /// Replaces `metadata.name`; comments stay.
    pub fn set_name(&mut self, name: &str) {
        let metadata = self.tree.ensure_mapping(self.tree.root(), "metadata");
        set_string_field(&mut self.tree, metadata, "name", name);
    }

    /// Replaces `metadata.namespace`; comments stay.
    pub fn set_namespace(&mut self, namespace: &str) {
        let metadata = self.tree.ensure_mapping(self.tree.root(), "metadata");
        set_string_field(&mut self.tree, metadata, "namespace", namespace);
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.map_value("labels", key)
    }

    /// The labels in document order.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.map_entries("labels")
    }

    /// Sets a label: in place, or as a new entry at the end.
    pub fn set_label(&mut self, key: &str, value: &str) {
        let metadata = self.tree.ensure_mapping(self.tree.root(), "metadata");
        let labels = self.tree.ensure_mapping(metadata, "labels");
        set_string_field(&mut self.tree, labels, key, value);
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.map_value("annotations", key)
    }

    /// The annotations in document order.
    pub fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.map_entries("annotations")
    }

    /// Sets an annotation: in place (the quoting style stays), or as a new entry at the end, in single quotes as kpt
    /// writes it. A flow mapping stays one.
    pub fn set_annotation(&mut self, key: &str, value: &str) {
        let tree = &mut self.tree;
        // a null or empty mapping is replaced rather than filled, so that `annotations: {}` does not stay in flow style
        let metadata = tree.ensure_mapping(tree.root(), "metadata");
        if let Some(old) = tree.get(metadata, "annotations")
            && (!tree.is_mapping(old) || tree.is_empty(old))
        {
            tree.remove(metadata, "annotations");
        }
        let annotations = tree.ensure_mapping(metadata, "annotations");
        if let Some(old) = tree.get(annotations, key) {
            if tree.is_scalar(old) && tree.style(old) != Style::Plain {
                if tree.text(old) != value {
                    tree.set_text(old, value);
                }
                tree.set_tag(old, None);
            } else {
                tree.set_string(old, value);
            }
        } else {
            let value = tree.scalar(value, Style::SingleQuoted);
            tree.set(annotations, key, value);
        }
    }

    /// Removes an annotation; true when it was there.
    pub fn remove_annotation(&mut self, key: &str) -> bool {
        match self.tree.get_path(self.root(), &["metadata", "annotations"]) {
            Some(annotations) => self.tree.remove(annotations, key).is_some(),
            None => false,
        }
    }

    /// Removes the annotations whose key satisfies `unwanted`.
    pub fn remove_annotations(&mut self, unwanted: impl Fn(&str) -> bool) {
        let Some(annotations) = self.tree.get_path(self.root(), &["metadata", "annotations"]) else { return };
        let tree = &mut self.tree;
        let all = tree.len(annotations);
        let kept: Vec<NodeId> =
            tree.entries(annotations).filter(|(key, _)| !unwanted(tree.text(*key))).flat_map(|(k, v)| [k, v]).collect();
        if tree.is_mapping(annotations) && kept.len() < 2 * all {
            tree.set_children(annotations, &kept);
        }
    }

    /// Removes `metadata.annotations` when it is empty or null, then `metadata` likewise.
    pub fn clear_empty_annotations(&mut self) {
        let root = self.tree.root();
        if let Some(metadata) = self.tree.get(root, "metadata") {
            remove_if_empty(&mut self.tree, metadata, "annotations");
            remove_if_empty(&mut self.tree, root, "metadata");
        }
    }

    /// How messages name the resource: `apps/v1/Deployment/ns/name`, empty parts left out.
    pub fn short(&self) -> String {
        join_parts([self.api_version(), self.kind(), self.namespace(), self.name()])
    }

    fn map_value(&self, field: &str, key: &str) -> Option<&str> {
        let map = self.tree.get_path(self.root(), &["metadata", field])?;
        self.tree.get(map, key).map(|id| string_value(&self.tree, id))
    }

    fn map_entries(&self, field: &str) -> impl Iterator<Item = (&str, &str)> {
        let map = self.tree.get_path(self.root(), &["metadata", field]);
        let entries = map.into_iter().flat_map(|map| self.tree.entries(map));
        entries.map(|(key, value)| (self.tree.text(key), string_value(&self.tree, value)))
    }
}

/// Joins the non-empty parts with slashes.
pub(crate) fn join_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("/")
}

/// A node as Go reads it into a string: the text of a scalar by its source spelling, empty for null and collections.
pub(crate) fn string_value(tree: &Tree, id: NodeId) -> &str {
    if tree.is_null(id) { "" } else { tree.text(id) }
}

/// Sets a field to a string: in place when a scalar is there (comments stay), else as a new entry.
pub(crate) fn set_string_field(tree: &mut Tree, map: NodeId, key: &str, value: &str) {
    match tree.get(map, key) {
        Some(old) if tree.is_scalar(old) => tree.set_string(old, value),
        _ => {
            let value = tree.string(value);
            tree.set(map, key, value);
        }
    }
}

fn remove_if_empty(tree: &mut Tree, map: NodeId, key: &str) {
    if let Some(value) = tree.get(map, key) {
        let collection = tree.is_mapping(value) || tree.is_sequence(value);
        if tree.is_null(value) || collection && tree.is_empty(value) {
            tree.remove(map, key);
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A resource with the four usual fields.
    pub(crate) fn resource(api_version: &str, kind: &str, name: &str) -> Resource {
        let mut tree = Tree::new_mapping();
        let root = tree.root();
        for (key, value) in [("apiVersion", api_version), ("kind", kind)] {
            if !value.is_empty() {
                let value = tree.string(value);
                tree.set(root, key, value);
            }
        }
        let mut resource = Resource { tree };
        if !name.is_empty() {
            resource.set_name(name);
        }
        resource
    }
}

#[cfg(test)]
mod tests {
    use super::testing::resource;
    use super::*;

    #[test]
    fn the_usual_fields_are_read_and_missing_ones_are_empty() {
        let mut r = resource("apps/v1", "Deployment", "web");
        assert_eq!((r.api_version(), r.kind(), r.name(), r.namespace()), ("apps/v1", "Deployment", "web", ""));
        assert_eq!(r.group(), "apps");
        r.set_namespace("prod");
        assert_eq!(r.short(), "apps/v1/Deployment/prod/web");
        assert_eq!(resource("v1", "", "").short(), "v1");
        assert_eq!(resource("v1", "", "").group(), "");
    }

    #[test]
    fn a_null_field_reads_as_empty() {
        let mut r = resource("v1", "ConfigMap", "a");
        let metadata = r.tree.get(r.root(), "metadata").expect("there");
        let null = r.tree.scalar("null", Style::Plain);
        r.tree.set(metadata, "namespace", null);
        assert_eq!(r.namespace(), "");
        let quoted = r.tree.scalar("null", Style::DoubleQuoted);
        r.tree.set(metadata, "namespace", quoted);
        assert_eq!(r.namespace(), "null");
    }

    #[test]
    fn a_root_that_is_no_mapping_is_refused_with_the_text_of_kpt() {
        let mut tree = Tree::new_mapping();
        let scalar = tree.string("x");
        tree.set_root(scalar);
        let error = Resource::new(tree).expect_err("a scalar");
        assert_eq!(error.to_string(), "wrong node kind: expected MappingNode but got ScalarNode");
    }

    #[test]
    fn new_annotations_are_appended_in_single_quotes_and_old_ones_keep_their_style() {
        let mut r = resource("v1", "ConfigMap", "a");
        r.set_annotation("one", "1");
        r.set_annotation("two", "2");
        let map = r.tree.get_path(r.root(), &["metadata", "annotations"]).expect("there");
        let one = r.tree.get(map, "one").expect("there");
        assert_eq!(r.tree.style(one), Style::SingleQuoted);
        r.tree.set_style(one, Style::DoubleQuoted);
        r.tree.set_line_comment(one, Some("# why"));
        r.set_annotation("one", "3");
        let one = r.tree.get(map, "one").expect("there");
        assert_eq!(r.tree.style(one), Style::DoubleQuoted);
        assert_eq!(r.tree.line_comment(one), Some("# why"));
        assert_eq!(r.annotations().collect::<Vec<_>>(), [("one", "3"), ("two", "2")]);
        assert!(r.remove_annotation("one"));
        assert!(!r.remove_annotation("one"));
    }

    #[test]
    fn annotations_that_are_null_or_no_mapping_are_replaced() {
        let mut r = resource("v1", "ConfigMap", "a");
        let metadata = r.tree.get(r.root(), "metadata").expect("there");
        let null = r.tree.scalar("", Style::Plain);
        r.tree.set(metadata, "annotations", null);
        assert_eq!(r.annotation("x"), None);
        r.set_annotation("x", "y");
        assert_eq!(r.annotation("x"), Some("y"));
    }

    #[test]
    fn labels_are_set_in_place_or_at_the_end() {
        let mut r = resource("v1", "ConfigMap", "a");
        r.set_label("app", "web");
        r.set_label("tier", "front");
        r.set_label("app", "api");
        assert_eq!(r.labels().collect::<Vec<_>>(), [("app", "api"), ("tier", "front")]);
        assert_eq!(r.label("tier"), Some("front"));
        assert_eq!(r.label("none"), None);
    }
}

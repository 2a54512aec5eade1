//! Takes the values of secrets out of resources that are to be shown.
//!
//! The rule is what may stay, not what must go: of a hidden object only what names it is left as it is. So a field that
//! nobody thought of, a value in a place where no value belongs, and a comment beside it are all gone.

use std::collections::HashMap;

use portico_krm::Resource;
use portico_krm::yaml::{Comments, Kind, NodeId, Tree};

use super::HiddenKind;

/// Stands in the place of a value.
const HIDDEN: &str = "(redacted)";

/// Stands in the place of a value that was another one before.
const OTHER: &str = "(redacted, another value)";

/// Fields of a hidden object that are shown, besides its metadata.
const SHOWN: [&str; 4] = ["apiVersion", "kind", "type", "immutable"];

/// Fields of its metadata that are shown, besides labels and annotations.
const NAMES: [&str; 3] = ["name", "namespace", "generateName"];

/// Where `kubectl apply` keeps a copy of the whole object.
const COPY: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Takes values out of a resource as it was and as it is. Where a value is another one now, that can be seen.
pub(super) fn redact(old: Option<&mut Resource>, new: Option<&mut Resource>, hidden: &[HiddenKind]) {
    let mut values = HashMap::new();
    if let Some(old) = old {
        Redactor { hidden, before: None, values: &mut values }.resource(old);
    }
    if let Some(new) = new {
        let before = values;
        Redactor { hidden, before: Some(&before), values: &mut HashMap::new() }.resource(new);
    }
}

struct Redactor<'a> {
    hidden: &'a [HiddenKind],
    /// What stood at each path before.
    before: Option<&'a HashMap<String, String>>,
    /// What stands there.
    values: &'a mut HashMap<String, String>,
}

impl Redactor<'_> {
    fn resource(&mut self, resource: &mut Resource) {
        let root = resource.root();
        if self.look(&mut resource.tree, root) {
            // What is written beside a value, or above and below the document, may speak of it.
            without_comments(&mut resource.tree, root);
        }
    }

    /// Looks for hidden objects, the node itself and whatever is below it: lists and templates hold objects, too. True when
    /// there is one.
    fn look(&mut self, tree: &mut Tree, root: NodeId) -> bool {
        let mut found = false;
        let mut open = vec![(root, String::new())];
        while let Some((node, path)) = open.pop() {
            if self.is_hidden(tree, node) {
                found = true;
                self.object(tree, node, &path);
                continue;
            }
            for (place, child) in tree.children(node).enumerate() {
                if matches!(tree.kind(child), Kind::Mapping | Kind::Sequence) {
                    open.push((child, format!("{path}/{place}")));
                }
            }
        }
        found
    }

    fn is_hidden(&self, tree: &Tree, node: NodeId) -> bool {
        let Some(kind) = scalar_at(tree, node, "kind") else { return false };
        // In any version, also where none is given.
        let version = scalar_at(tree, node, "apiVersion").unwrap_or_default();
        let group = version.rsplit_once('/').map_or("", |(group, _)| group);
        (kind == "Secret" && group.is_empty())
            || self.hidden.iter().any(|hidden| hidden.kind == kind && hidden.group == group)
    }

    fn object(&mut self, tree: &mut Tree, object: NodeId, path: &str) {
        for (key, value) in tree.entries(object).collect::<Vec<_>>() {
            let name = tree.text(key).to_owned();
            if name == "metadata" && tree.is_mapping(value) {
                self.metadata(tree, value, &format!("{path}/{name}"));
            } else if !(SHOWN.contains(&&*name) && tree.is_scalar(value)) {
                self.everything(tree, value, format!("{path}/{name}"));
            }
        }
    }

    fn metadata(&mut self, tree: &mut Tree, metadata: NodeId, path: &str) {
        for (key, value) in tree.entries(metadata).collect::<Vec<_>>() {
            let name = tree.text(key).to_owned();
            if matches!(&*name, "labels" | "annotations") && tree.is_mapping(value) {
                for (key, value) in tree.entries(value).collect::<Vec<_>>() {
                    let label = tree.text(key).to_owned();
                    if !tree.is_scalar(value) || label == COPY {
                        self.everything(tree, value, format!("{path}/{name}/{label}"));
                    }
                }
            } else if !(NAMES.contains(&&*name) && tree.is_scalar(value)) {
                self.everything(tree, value, format!("{path}/{name}"));
            }
        }
    }

    /// Hides every value at and below a node; the names of values, which the keys of mappings are, stay.
    fn everything(&mut self, tree: &mut Tree, node: NodeId, path: String) {
        let mut open = vec![(node, path)];
        while let Some((node, path)) = open.pop() {
            tree.set_tag(node, None);
            match tree.kind(node) {
                Kind::Mapping => {
                    for (key, value) in tree.entries(node) {
                        open.push((value, format!("{path}/{}", tree.text(key))));
                    }
                }
                Kind::Sequence => {
                    for (place, element) in tree.elements(node).enumerate() {
                        open.push((element, format!("{path}/{place}")));
                    }
                }
                Kind::Scalar | Kind::Alias => self.value(tree, node, path),
            }
        }
    }

    fn value(&mut self, tree: &mut Tree, node: NodeId, path: String) {
        let value = tree.text(node).to_owned();
        let other = self.before.is_some_and(|before| before.get(&path).is_some_and(|before| *before != value));
        self.values.insert(path, value);
        tree.set_string(node, if other { OTHER } else { HIDDEN });
    }
}

/// The text of a field, also where it stands elsewhere in the document.
fn scalar_at<'t>(tree: &'t Tree, node: NodeId, field: &str) -> Option<&'t str> {
    let value = tree.get(node, field)?;
    Some(tree.text(tree.alias_target(value).unwrap_or(value)))
}

fn without_comments(tree: &mut Tree, root: NodeId) {
    *tree.document_comments_mut() = Comments::default();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        if tree.comments(node).is_some() {
            tree.edit_comments(node, |comments| *comments = Comments::default());
        }
        open.extend(tree.children(node));
    }
}

//! Giving objects other names, and letting references follow.

use std::collections::HashMap;

use portico_fn::{Resource, field};

use crate::references::{Reference, references_of};

/// Group, kind, namespace and name of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    fn of(item: &Resource) -> Key {
        Key {
            group: item.group().to_owned(),
            kind: item.kind().to_owned(),
            namespace: item.namespace().to_owned(),
            name: item.name().to_owned(),
        }
    }
}

/// The objects that get another name.
pub(crate) struct Renames {
    /// How often an object is there.
    seen: HashMap<Key, usize>,
    items: Vec<(usize, String)>,
    /// From the old identity to the new name.
    names: HashMap<Key, String>,
}

impl Renames {
    pub(crate) fn new(items: &[Resource]) -> Renames {
        let mut seen = HashMap::new();
        for item in items {
            *seen.entry(Key::of(item)).or_insert(0) += 1;
        }
        Renames { seen, items: Vec::new(), names: HashMap::new() }
    }

    /// Notes a new name; the error is a message.
    pub(crate) fn add(&mut self, item: &Resource, index: usize, name: String) -> Result<(), String> {
        let key = Key::of(item);
        if self.seen.get(&key).is_some_and(|count| *count > 1) {
            let Key { kind, namespace, name, .. } = key;
            return Err(format!(
                "multiple matches for object {kind} {namespace}/{name}: it is in the package more than once"
            ));
        }
        self.names.insert(key, name.clone());
        self.items.push((index, name));
        Ok(())
    }

    /// Gives the objects their names and updates all references.
    pub(crate) fn apply(&self, items: &mut [Resource]) {
        if self.items.is_empty() {
            return;
        }
        for item in items.iter_mut() {
            for reference in references_of(item) {
                self.follow(item, &reference);
            }
        }
        for (index, name) in &self.items {
            let item = &mut items[*index];
            let root = item.root();
            // a name that could be read can be written
            let _ = field::set_nested_string(&mut item.tree, root, &["metadata", "name"], name);
        }
    }

    fn follow(&self, item: &mut Resource, reference: &Reference) {
        let Some(new) = self.names.get(&reference.target) else { return };
        if item.tree.is_scalar(reference.node) {
            item.tree.set_string(reference.node, new);
        }
    }
}

//! Setting labels in one object.

use std::collections::BTreeMap;

use portico_fn::yaml::{Kind, NodeId, Tree};
use portico_fn::{FieldError, FieldSpec, Resource, field};

use crate::fields::{Field, Role, fields_of};

/// Labels in the order in which they are added.
pub(crate) type Labels = BTreeMap<String, String>;

/// Sets labels in objects and counts where.
pub(crate) struct Editor<'a> {
    pub(crate) labels: &'a Labels,
    /// Selectors get the labels too.
    pub(crate) selectors: bool,
    /// Further fields that hold labels.
    pub(crate) additional: &'a [FieldSpec],
    /// One for every label in every mapping that was found or made, changed or not: what the catalog's function counts.
    pub(crate) count: usize,
}

impl Editor<'_> {
    /// Sets the labels everywhere in one object. The first field that is not what it should be ends it.
    pub(crate) fn edit(&mut self, object: &mut Resource) -> Result<(), FieldError> {
        for field in fields_of(object) {
            if field.role == Role::Selector && !self.selectors {
                continue;
            }
            let root = object.tree.root();
            let base = match object.tree.get_path(root, field.base) {
                Some(base) if object.tree.is_mapping(base) => base,
                _ => continue,
            };
            let mut path = field.base.iter().map(ToString::to_string).collect();
            self.walk(&mut object.tree, base, field, field.path, &mut path)?;
        }
        for spec in self.additional {
            for target in spec.targets(object, Kind::Mapping)? {
                let path = [spec.path.replace('/', ".")];
                self.set_labels(&mut object.tree, target, spec.create, &path)?;
            }
        }
        Ok(())
    }

    /// Goes down `rest` from `at`; `path` is the way so far, for messages.
    fn walk(
        &mut self,
        tree: &mut Tree,
        at: NodeId,
        field: &Field,
        rest: &[&str],
        path: &mut Vec<String>,
    ) -> Result<(), FieldError> {
        let depth = path.len();
        let (keys, behind) = match rest.iter().position(|key| *key == "[]") {
            Some(list) => (&rest[..list], Some(&rest[list + 1..])),
            None => (rest, None),
        };
        path.extend(keys.iter().map(ToString::to_string));
        let Some(behind) = behind else {
            if let Some(map) = field::mapping_at(tree, at, keys, field.create).map_err(|e| e.below(&path[..depth]))? {
                self.set_labels(tree, map, field.create, path)?;
            }
            path.truncate(depth);
            return Ok(());
        };
        let elements: Vec<NodeId> = match tree.get_path(at, keys) {
            Some(list) if tree.is_sequence(list) => tree.elements(list).collect(),
            Some(other) if !tree.is_null(other) => return Err(FieldError::at(tree, other, path, "a list")),
            _ => Vec::new(),
        };
        for (i, element) in elements.into_iter().enumerate() {
            path.push(format!("[{i}]"));
            self.walk(tree, element, field, behind, path)?;
            path.pop();
        }
        path.truncate(depth);
        Ok(())
    }

    fn set_labels(&mut self, tree: &mut Tree, map: NodeId, create: bool, path: &[String]) -> Result<(), FieldError> {
        for (key, value) in self.labels {
            self.count += 1;
            match tree.get(map, key) {
                Some(old) => {
                    if !field::is_string(tree, old) {
                        let path: Vec<&str> = path.iter().map(String::as_str).chain([key.as_str()]).collect();
                        return Err(FieldError::at(tree, old, &path, "a string"));
                    }
                    if tree.text(old) != value {
                        tree.set_string(old, value);
                    }
                }
                None if create => {
                    let new = tree.string(value);
                    tree.set(map, key, new);
                }
                None => {}
            }
        }
        Ok(())
    }
}

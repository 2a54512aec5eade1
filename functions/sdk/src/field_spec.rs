//! Kustomize's field specifications: which field of which types.

use portico_krm::Resource;
use portico_krm::yaml::{Kind, NodeId, Tree};
use serde::Deserialize;

use crate::field::{FieldError, describe, empty_node};
use crate::gvk::{group, version};

/// A field of some types, as kustomize writes it. Group, version and kind are compared exactly, an empty one matches
/// every type.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct FieldSpec {
    /// API group.
    pub group: String,
    /// API version without the group.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Keys joined by `/`; `\/` is a slash inside a key; `name[]` says that the value is a list. Lists are walked
    /// through whether marked or not.
    pub path: String,
    /// Makes the field, and the mappings above it, where it is missing. Lists are never made.
    pub create: bool,
}

/// Most keys of a path: with `create` a path makes as many levels of nesting.
pub const MAX_PATH_KEYS: usize = 100;

/// One key of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    key: String,
    list: bool,
}

impl FieldSpec {
    /// A specification for one path of every type.
    pub fn everywhere(path: &str, create: bool) -> FieldSpec {
        FieldSpec { path: path.to_owned(), create, ..FieldSpec::default() }
    }

    /// True when the object is of the types that the specification names.
    pub fn selects(&self, object: &Resource) -> bool {
        let part = |want: &str, have: &str| want.is_empty() || want == have;
        let api_version = object.api_version();
        part(&self.group, group(api_version))
            && part(&self.version, version(api_version))
            && part(&self.kind, object.kind())
    }

    /// The nodes that the path leads to, those that it makes included. `kind` is what a made node is, and what the
    /// found ones must be.
    pub fn targets(&self, object: &mut Resource, kind: Kind) -> Result<Vec<NodeId>, FieldError> {
        let mut found = Vec::new();
        if self.selects(object) {
            let root = object.tree.root();
            let segments = self.segments();
            if segments.len() > MAX_PATH_KEYS {
                let path = segments[0].key.clone();
                let found = "the start of a path of more than 100 keys";
                return Err(FieldError { path, found, expected: "a shorter one" });
            }
            Walk { tree: &mut object.tree, create: self.create, kind, path: Vec::new(), found: &mut found }
                .step(root, &segments)?;
        }
        Ok(found)
    }

    fn segments(&self) -> Vec<Segment> {
        let mut out = Vec::new();
        let mut key = String::new();
        let mut chars = self.path.chars().peekable();
        let mut finish = |key: &mut String| {
            let list = key.ends_with("[]");
            if list {
                key.truncate(key.len() - 2);
            }
            if !key.is_empty() {
                out.push(Segment { key: std::mem::take(key), list });
            }
        };
        while let Some(c) = chars.next() {
            match c {
                '\\' if chars.peek() == Some(&'/') => key.extend(chars.next()),
                '/' => finish(&mut key),
                c => key.push(c),
            }
        }
        finish(&mut key);
        out
    }
}

struct Walk<'a> {
    tree: &'a mut Tree,
    create: bool,
    kind: Kind,
    path: Vec<String>,
    found: &'a mut Vec<NodeId>,
}

impl Walk<'_> {
    /// Goes on at `at` with what is left of the path. Its depth is bounded by the path and the depth of the document.
    fn step(&mut self, at: NodeId, rest: &[Segment]) -> Result<(), FieldError> {
        if self.tree.is_sequence(at) && !(rest.is_empty() && self.kind == Kind::Sequence) {
            let elements: Vec<NodeId> = self.tree.elements(at).collect();
            for (i, element) in elements.into_iter().enumerate() {
                self.path.push(format!("[{i}]"));
                self.step(element, rest)?;
                self.path.pop();
            }
            return Ok(());
        }
        let Some((segment, rest)) = rest.split_first() else {
            if self.tree.kind(at) != self.kind {
                let expected = match self.kind {
                    Kind::Mapping => "a mapping",
                    Kind::Sequence => "a list",
                    Kind::Scalar | Kind::Alias => "a single value",
                };
                return Err(self.wrong(at, expected));
            }
            self.found.push(at);
            return Ok(());
        };
        if self.tree.is_null(at) {
            return Ok(());
        }
        if !self.tree.is_mapping(at) {
            return Err(self.wrong(at, "a mapping"));
        }
        let next = match self.tree.get(at, &segment.key) {
            Some(next) if !self.tree.is_null(next) => next,
            _ if !self.create || segment.list => return Ok(()),
            _ => {
                let kind = if rest.is_empty() { self.kind } else { Kind::Mapping };
                let new = empty_node(self.tree, kind);
                self.tree.set(at, &segment.key, new);
                new
            }
        };
        self.path.push(segment.key.clone());
        self.step(next, rest)?;
        self.path.pop();
        Ok(())
    }

    fn wrong(&self, at: NodeId, expected: &'static str) -> FieldError {
        FieldError { path: crate::field::dotted(&self.path), found: describe(self.tree, at), expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(path: &str) -> Vec<(String, bool)> {
        let spec = FieldSpec::everywhere(path, false);
        spec.segments().into_iter().map(|s| (s.key, s.list)).collect()
    }

    #[test]
    fn paths_are_split_at_slashes_that_are_not_escaped() {
        assert_eq!(keys("spec/a"), [("spec".to_owned(), false), ("a".to_owned(), false)]);
        assert_eq!(
            keys(r"metadata/annotations/x.io\/y"),
            [("metadata".to_owned(), false), ("annotations".to_owned(), false), ("x.io/y".to_owned(), false)]
        );
    }

    #[test]
    fn brackets_mark_a_list() {
        assert_eq!(keys("spec/containers[]/name")[1], ("containers".to_owned(), true));
    }
}

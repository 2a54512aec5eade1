//! Walking through the fields of an object.

use std::fmt;

use portico_fn::yaml::{Children, Entries, Kind, NodeId, Tree};

/// What is done with the fields of an object.
pub trait Visitor {
    /// What ends the walk early.
    type Error;

    /// A list that is the value of a key; `path` leads to it. False leaves out what is in it.
    fn list(&mut self, tree: &Tree, key: NodeId, list: NodeId, path: &Path<'_>) -> Result<bool, Self::Error>;

    /// A scalar; `path` leads to it. `key` is its key when it is the value of one.
    fn scalar(&mut self, tree: &Tree, key: Option<NodeId>, id: NodeId, path: &Path<'_>) -> Result<(), Self::Error>;
}

/// A step from a collection to what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The value of a key.
    Key {
        /// The mapping.
        map: NodeId,
        /// The key.
        key: NodeId,
    },
    /// An element.
    Index {
        /// The list.
        list: NodeId,
        /// Its place, from 0.
        index: usize,
    },
}

/// The way from the root to a field. Shown as `spec.containers[0].image`.
#[derive(Clone, Debug)]
pub struct Path<'t> {
    tree: &'t Tree,
    steps: Vec<Step>,
}

impl<'t> Path<'t> {
    /// The steps from the root.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The keys on the way, elements of lists left out.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &'t str> {
        self.steps.iter().filter_map(|step| match step {
            Step::Key { key, .. } => Some(self.tree.text(*key)),
            Step::Index { .. } => None,
        })
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, step) in self.steps.iter().enumerate() {
            match step {
                Step::Key { key, .. } if depth == 0 => f.write_str(self.tree.text(*key))?,
                Step::Key { key, .. } => write!(f, ".{}", self.tree.text(*key))?,
                Step::Index { index, .. } => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A collection on the way.
struct Frame<'t> {
    id: NodeId,
    inside: Inside<'t>,
    /// Lists in it that the visitor does not want to see from inside, the first one last.
    left_out: Vec<NodeId>,
}

enum Inside<'t> {
    Map(Entries<'t>),
    List(std::iter::Enumerate<Children<'t>>),
}

/// Shows a visitor the fields of a document: in a mapping first all lists that are values of its keys, then what is in
/// its values, one after the other. Aliases are not followed. Nesting costs no stack.
pub fn walk<V: Visitor>(tree: &Tree, visitor: &mut V) -> Result<(), V::Error> {
    let mut path = Path { tree, steps: Vec::new() };
    let mut frames: Vec<Frame<'_>> = Vec::new();
    frames.extend(enter(tree, visitor, &mut path, tree.root())?);
    while let Some(frame) = frames.last_mut() {
        let next = match &mut frame.inside {
            Inside::Map(entries) => {
                entries.next().map(|(key, value)| (Step::Key { map: frame.id, key }, Some(key), value))
            }
            Inside::List(elements) => {
                elements.next().map(|(index, element)| (Step::Index { list: frame.id, index }, None, element))
            }
        };
        let Some((step, key, id)) = next else {
            frames.pop();
            path.steps.pop();
            continue;
        };
        if frame.left_out.last() == Some(&id) {
            frame.left_out.pop();
            continue;
        }
        path.steps.push(step);
        if tree.is_scalar(id) {
            visitor.scalar(tree, key, id, &path)?;
        } else if let Some(inner) = enter(tree, visitor, &mut path, id)? {
            frames.push(inner);
            continue;
        }
        path.steps.pop();
    }
    Ok(())
}

fn enter<'t, V: Visitor>(
    tree: &'t Tree,
    visitor: &mut V,
    path: &mut Path<'t>,
    id: NodeId,
) -> Result<Option<Frame<'t>>, V::Error> {
    let mut left_out = Vec::new();
    let inside = match tree.kind(id) {
        Kind::Mapping => {
            for (key, value) in tree.entries(id) {
                if tree.is_sequence(value) {
                    path.steps.push(Step::Key { map: id, key });
                    if !visitor.list(tree, key, value, path)? {
                        left_out.push(value);
                    }
                    path.steps.pop();
                }
            }
            left_out.reverse();
            Inside::Map(tree.entries(id))
        }
        Kind::Sequence => Inside::List(tree.elements(id).enumerate()),
        Kind::Scalar | Kind::Alias => return Ok(None),
    };
    Ok(Some(Frame { id, inside, left_out }))
}

#[cfg(test)]
mod tests {
    use portico_fn::yaml::ParseLimits;

    use super::*;

    #[derive(Default)]
    struct Log(Vec<String>);

    impl Visitor for Log {
        type Error = String;

        fn list(&mut self, tree: &Tree, key: NodeId, _: NodeId, path: &Path<'_>) -> Result<bool, String> {
            self.0.push(format!("list {path}"));
            Ok(tree.text(key) != "closed")
        }

        fn scalar(&mut self, tree: &Tree, _: Option<NodeId>, id: NodeId, path: &Path<'_>) -> Result<(), String> {
            self.0.push(format!("{path}={}", tree.text(id)));
            if tree.text(id) == "stop" { Err(path.to_string()) } else { Ok(()) }
        }
    }

    fn log(yaml: &str) -> (Vec<String>, Result<(), String>) {
        let tree = Tree::parse(yaml, &ParseLimits::default()).expect("yaml").expect("a document");
        let mut log = Log::default();
        let end = walk(&tree, &mut log);
        (log.0, end)
    }

    #[test]
    fn lists_of_a_mapping_come_before_what_is_in_its_values() {
        let (seen, _) = log("a: 1\nb:\n- c: 2\n  d: [3]\n- - 4\ne:\n  f: [5]\nx.y/z: 6\nclosed: [7]\n");
        assert_eq!(
            seen,
            [
                "list b",
                "list closed",
                "a=1",
                "list b[0].d",
                "b[0].c=2",
                "b[0].d[0]=3",
                "b[1][0]=4",
                "list e.f",
                "e.f[0]=5",
                "x.y/z=6"
            ]
        );
    }

    #[test]
    fn aliases_are_not_followed_and_an_error_ends_the_walk() {
        let (seen, end) = log("a: &x 1\nb: *x\nc: stop\nd: 2\n");
        assert_eq!(seen, ["a=1", "c=stop"]);
        assert_eq!(end, Err("c".to_owned()));
    }

    #[test]
    fn deep_nesting_costs_no_stack() {
        let depth = 200_000;
        let yaml = "[".repeat(depth) + &"]".repeat(depth);
        let limits = ParseLimits { depth: u32::MAX, ..ParseLimits::default() };
        let tree = Tree::parse(yaml, &limits).expect("yaml").expect("a document");
        assert_eq!(walk(&tree, &mut Log::default()), Ok(()));
    }
}

//! Takes one document apart into trees of their own that share its source.
//!
//! A `ResourceList` of 9 MB holds thousands of items. Each becomes a tree of its own, and the whole must not be in
//! memory twice: the items are cut off the end of the node vector one by one, and the vector shrinks on the way.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::tree::{IN_BUF, Kind, NONE, Node, NodeId, Tree};

/// An alias whose anchor lies outside the part that was cut out: alone, the part would mean nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignAlias {
    /// Name of the anchor.
    pub(crate) name: String,
    /// Byte offset of the alias in the source.
    pub(crate) offset: usize,
}

/// The vector is shrunk when this many nodes at its end are free.
const SHRINK_EVERY: usize = 1 << 15;

impl Tree {
    /// Cuts these nodes out into trees of their own, in the given order. They must be nodes of this tree, none inside
    /// another one, in document order. What is left of this tree is dropped.
    pub(crate) fn cut_out(mut self, parts: &[NodeId]) -> Result<Vec<Tree>, ForeignAlias> {
        let mut trees = Vec::with_capacity(parts.len());
        let mut limit = self.nodes.len();
        let runs = parts.iter().rev().all(|part| {
            let run = self.is_run(*part, limit);
            limit = part.0 as usize;
            run
        });
        for part in parts.iter().rev() {
            let tree = if runs { self.split_off(*part) } else { self.walk_out(*part) };
            tree.check_aliases()?;
            trees.push(tree);
        }
        trees.reverse();
        Ok(trees)
    }

    /// The first node behind the subtree of `part`, if its nodes lie in document order.
    fn end_of(&self, part: NodeId) -> usize {
        let mut last = part;
        while let node = self.node(last)
            && matches!(node.kind, Kind::Mapping | Kind::Sequence)
            && node.b != NONE
        {
            last = NodeId(node.b);
        }
        last.0 as usize + 1
    }

    /// True when the subtree of `part` is one run of nodes that ends before `limit`. The parser writes nodes in
    /// document order, so for a parsed tree it is; an edited tree may have its nodes anywhere.
    fn is_run(&self, part: NodeId, limit: usize) -> bool {
        let (start, end) = (part.0 as usize, self.end_of(part));
        let inside = |link: u32| link == NONE || (start < link as usize && (link as usize) < end);
        if end <= start || end > limit {
            return false;
        }
        self.nodes[start..end].iter().enumerate().all(|(at, node)| {
            let collection = matches!(node.kind, Kind::Mapping | Kind::Sequence);
            (!collection || inside(node.a) && inside(node.b)) && (at == 0 || inside(node.next))
        })
    }

    fn split_off(&mut self, part: NodeId) -> Tree {
        let start = part.0;
        let end = self.end_of(part);
        self.nodes.truncate(end);
        self.comments.split_off(&(end as u32));
        self.props.split_off(&(end as u32));
        let mut nodes = self.nodes.split_off(start as usize);
        if self.nodes.capacity() - self.nodes.len() > SHRINK_EVERY {
            self.nodes.shrink_to_fit();
        }
        let shift = |link: &mut u32| {
            if *link != NONE {
                *link = link.wrapping_sub(start);
            }
        };
        let mut buf = String::new();
        for node in &mut nodes {
            if matches!(node.kind, Kind::Mapping | Kind::Sequence) {
                shift(&mut node.a);
                shift(&mut node.b);
            } else if node.flags & IN_BUF != 0 {
                let text = &self.buf[node.a as usize..(node.a + node.b) as usize];
                node.a = buf.len() as u32;
                buf.push_str(text);
            }
            shift(&mut node.next);
        }
        nodes[0].next = NONE;
        Tree {
            buf,
            nodes,
            comments: rebase(self.comments.split_off(&start), start),
            props: rebase(self.props.split_off(&start), start),
            root: 0,
            line_base: self.line_base,
            ..Tree::empty(Arc::clone(&self.src))
        }
    }

    /// The slow way, for a tree whose nodes lie in any order.
    fn walk_out(&self, part: NodeId) -> Tree {
        let mut tree = Tree::empty(Arc::clone(&self.src));
        tree.line_base = self.line_base;
        tree.root = tree.take(self, part).0;
        tree
    }

    fn take(&mut self, from: &Tree, id: NodeId) -> NodeId {
        let node = from.node(id);
        let copy = self.push_node(Node { next: NONE, ..node.clone() });
        match node.kind {
            Kind::Scalar | Kind::Alias => {
                if node.flags & IN_BUF != 0 {
                    self.node_mut(copy).a = self.buf.len() as u32;
                    self.buf.push_str(from.text(id));
                }
            }
            Kind::Mapping | Kind::Sequence => {
                (self.node_mut(copy).a, self.node_mut(copy).b) = (NONE, NONE);
                for child in from.children(id) {
                    let child = self.take(from, child);
                    self.append_child(copy, child);
                }
            }
        }
        if let Some(comments) = from.comments.get(&id.0) {
            self.comments.insert(copy.0, comments.clone());
        }
        if let Some(props) = from.props.get(&id.0) {
            self.props.insert(copy.0, props.clone());
        }
        copy
    }

    fn check_aliases(&self) -> Result<(), ForeignAlias> {
        for (at, node) in self.nodes.iter().enumerate() {
            if node.kind == Kind::Alias {
                let name = self.text(NodeId(at as u32));
                let known = self.props.range(..at as u32).any(|(_, props)| props.anchor.as_deref() == Some(name));
                if !known {
                    return Err(ForeignAlias { name: name.to_owned(), offset: node.start as usize });
                }
            }
        }
        Ok(())
    }
}

fn rebase<T>(map: BTreeMap<u32, T>, start: u32) -> BTreeMap<u32, T> {
    map.into_iter().map(|(id, value)| (id - start, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Style;

    /// `[{name: a, list: [1]}, {name: b}]` with a comment and an anchor on the second element.
    fn sample() -> Tree {
        let mut tree = Tree::empty(Arc::from(""));
        let seq = tree.sequence(Style::Block);
        tree.set_root(seq);
        for name in ["a", "b"] {
            let map = tree.mapping(Style::Block);
            let (key, value) = (tree.string("name"), tree.string(name));
            tree.push_entry(map, key, value);
            if name == "a" {
                let (key, list, one) = (tree.string("list"), tree.sequence(Style::Flow), tree.string("1"));
                tree.push_entry(map, key, list);
                tree.push(list, one);
            } else {
                tree.set_head_comment(map, Some("# second"));
                tree.set_anchor(value, Some("anchor"));
                let (key, alias) = (tree.string("again"), tree.scalar("anchor", Style::Plain));
                tree.node_mut(alias).kind = Kind::Alias;
                tree.push_entry(map, key, alias);
            }
            tree.push(seq, map);
        }
        tree
    }

    fn check(parts: &[Tree]) {
        assert_eq!(parts.len(), 2);
        let (a, b) = (&parts[0], &parts[1]);
        assert_eq!(a.text_at(a.root(), &["name"]), Some("a"));
        let list = a.get(a.root(), "list").expect("there");
        assert_eq!(a.elements(list).map(|e| a.text(e)).collect::<Vec<_>>(), ["1"]);
        assert_eq!(a.head_comment(a.root()), None);
        assert_eq!(b.text_at(b.root(), &["name"]), Some("b"));
        assert_eq!(b.head_comment(b.root()), Some("# second"));
        assert_eq!(b.anchor(b.get(b.root(), "name").expect("there")), Some("anchor"));
        assert_eq!(b.len(b.root()), 2);
    }

    #[test]
    fn elements_become_trees_with_their_comments_and_anchors() {
        let tree = sample();
        let parts: Vec<NodeId> = tree.elements(tree.root()).collect();
        check(&tree.cut_out(&parts).expect("own aliases only"));
    }

    #[test]
    fn an_edited_tree_is_taken_apart_too() {
        let mut tree = sample();
        let first = tree.elements(tree.root()).next().expect("two elements");
        // the new value lies behind the second element
        let name = tree.string("a");
        tree.set(first, "name", name);
        let parts: Vec<NodeId> = tree.elements(tree.root()).collect();
        check(&tree.cut_out(&parts).expect("own aliases only"));
    }

    #[test]
    fn an_alias_to_another_part_is_refused() {
        let mut tree = sample();
        let second = tree.elements(tree.root()).nth(1).expect("two elements");
        let name = tree.get(second, "name").expect("there");
        tree.set_anchor(name, None);
        let parts: Vec<NodeId> = tree.elements(tree.root()).collect();
        assert_eq!(tree.cut_out(&parts).expect_err("no anchor").name, "anchor");
    }

    #[test]
    fn a_parsed_list_is_cut_without_copying_and_no_tree_holds_more_than_its_own_nodes() {
        let text =
            "# head\nitems:\n- a: [1, {b: 2}]\n  # in\n  c: |\n    text\n- {}\n- d: \"\\u00e9\"\n# foot\nlast:\n- x\n";
        let tree = Tree::parse(text, &crate::yaml::ParseLimits::default()).expect("YAML").expect("a document");
        let items = tree.get(tree.root(), "items").expect("there");
        let parts: Vec<NodeId> = tree.elements(items).collect();
        let mut limit = tree.nodes.len();
        for part in parts.iter().rev() {
            assert!(tree.is_run(*part, limit), "the parser writes nodes in document order");
            limit = part.0 as usize;
        }
        let trees = tree.cut_out(&parts).expect("no aliases");
        assert_eq!(trees.iter().map(|tree| tree.nodes.len()).collect::<Vec<_>>(), [9, 1, 3]);
        assert_eq!(trees[2].text_at(trees[2].root(), &["d"]), Some("é"));
        assert_eq!(trees[0].head_comment(trees[0].entry(trees[0].root(), "c").expect("there").0), Some("# in"));
    }
}

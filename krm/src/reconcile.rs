//! What a function's output takes over from its input: comments that it dropped and the order of keys.
//!
//! Rules of kyaml's `CopyComments` and `SyncOrder`, with one difference: elements of lists are matched by their
//! associative key or value (see `crate::associative`), never by position alone, so that a comment stays with its
//! element when a function inserts, removes or reorders.

use std::collections::HashMap;

use crate::associative::{Values, match_elements, match_entries, same_elements, same_keys};
use crate::yaml::{Comments, EmitOptions, Kind, NodeId, ParseLimits, Style, Tree, emit_document_as_kpt};

/// Nesting below which nothing is taken over. The parser's own limit is lower.
const DEPTH: usize = 1000;

/// Copies comments from the input to places of the output that have none: above, behind and below a node separately.
/// A comment that the output has at another place is not copied again. Comments of the input document itself become
/// those of the output's root.
pub fn copy_comments(from: &Tree, to: &mut Tree) {
    if let Some(plan) = Plan::make(from, to, false) {
        plan.apply(to);
    }
}

/// [`copy_comments`] as kpt does it: a place without a comment takes that of the input even where the output has the
/// same comment at another place, which then stands twice; folded scalars (`>`) of the output that have a counterpart
/// become double-quoted, with the value that kpt's own writer leaves of them (lines that are indented further lose or
/// gain blank lines around them), but for those with a tag of their own. For kpt style only.
pub fn copy_comments_as_kpt(from: &Tree, to: &mut Tree) {
    if to.has_root()
        && to.has_style(Style::Folded)
        && let Some(read) = read_back(to)
    {
        *to = read;
    }
    if let Some(plan) = Plan::make(from, to, true) {
        plan.apply(to);
    }
}

/// Puts the keys of the output's mappings in the order of the input; keys that are new follow in the order of the
/// output.
pub fn sync_order(from: &Tree, to: &mut Tree) {
    if reorder(from, to) {
        lift_head_comments(to, false);
    }
}

/// [`sync_order`] as kpt does it: a comment that goes above an element without one stays behind the dash as well. For
/// kpt style only.
pub fn sync_order_as_kpt(from: &Tree, to: &mut Tree) {
    if reorder(from, to) {
        lift_head_comments(to, true);
    }
}

/// Whether there was something to put in order.
fn reorder(from: &Tree, to: &mut Tree) -> bool {
    if !from.has_root() || !to.has_root() {
        return false;
    }
    let mut orders = Vec::new();
    collect_orders(from, to, &mut orders);
    for (map, children) in orders {
        to.set_children(map, &children);
    }
    true
}

/// Which comments go where.
struct Plan {
    /// Nodes whose comments slipped onto annotations of the pipeline, which go away with them.
    strays: Vec<NodeId>,
    comments: Vec<(NodeId, Comments)>,
    folded: Vec<NodeId>,
}

struct Planner<'t> {
    from: Values<'t>,
    to: Values<'t>,
    plan: Plan,
    /// How often each line of a comment is in the input and not (yet) in the output.
    missing: HashMap<&'t str, i64>,
    as_kpt: bool,
}

impl Plan {
    fn make(from: &Tree, to: &Tree, as_kpt: bool) -> Option<Plan> {
        if !from.has_root()
            || !to.has_root()
            || (from.is_without_comments() && !(as_kpt && to.has_style(Style::Folded)))
        {
            return None;
        }
        let strays = strays(to);
        if strays.is_empty() && !as_kpt && has_all_lines(from, to) {
            return None;
        }
        let mut planner = Planner {
            from: Values::new(from),
            to: Values::new(to),
            missing: missing_lines(from, to, &strays),
            plan: Plan { strays, comments: Vec::new(), folded: Vec::new() },
            as_kpt,
        };
        planner.copy(to.root(), from.document_comments());
        planner.walk(from.root(), to.root());
        Some(planner.plan)
    }

    fn apply(self, to: &mut Tree) {
        for id in self.strays {
            to.edit_comments(id, |own| *own = Comments::default());
        }
        for (id, comments) in self.comments {
            to.edit_comments(id, |own| {
                own.head = own.head.take().or(comments.head);
                own.line = own.line.take().or(comments.line);
                own.foot = own.foot.take().or(comments.foot);
            });
        }
        for id in self.folded {
            to.set_style(id, Style::DoubleQuoted);
        }
    }
}

/// Whether kpt quotes the scalar: it compares styles, and a tag is part of a style there.
fn is_folded(tree: &Tree, id: NodeId) -> bool {
    tree.style(id) == Style::Folded && tree.tag(id).is_none()
}

/// What a reader makes of kpt's bytes for a document: kpt sends folded scalars through functions with other blank lines
/// in and below them, which changes values and where the comments below belong. `None` where it cannot be read.
fn read_back(tree: &Tree) -> Option<Tree> {
    let mut written = String::new();
    emit_document_as_kpt(tree, &EmitOptions::default(), &mut written);
    Tree::parse(written, &ParseLimits::default()).ok()?
}

/// True when it is plain to see that no line of a comment is missing, as in what most functions write: the lines of the
/// input, those of removed nodes included, are found in the output in their order.
fn has_all_lines(from: &Tree, to: &Tree) -> bool {
    if to.may_have_removed_nodes() {
        return false;
    }
    let mut there = to.comments_made().flat_map(Comments::lines);
    from.comments_made().flat_map(Comments::lines).all(|line| there.any(|other| other == line))
}

fn missing_lines<'t>(from: &'t Tree, to: &'t Tree, strays: &[NodeId]) -> HashMap<&'t str, i64> {
    let mut missing = HashMap::new();
    let mut count = |comments: &'t Comments, sign| {
        for line in comments.lines() {
            *missing.entry(line).or_insert(0) += sign;
        }
    };
    from.all_comments().into_iter().for_each(|comments| count(comments, 1));
    to.all_comments().into_iter().for_each(|comments| count(comments, -1));
    strays.iter().filter_map(|id| to.comments(*id)).for_each(|comments| count(comments, 1));
    missing
}

/// Keys and values of the annotations that the pipeline adds, where they have comments: what stood below the last field
/// of an object stands below the last annotation when the object is in a list.
fn strays(to: &Tree) -> Vec<NodeId> {
    let Some(annotations) = to.get_path(to.root(), &["metadata", "annotations"]) else { return Vec::new() };
    to.entries(annotations)
        .filter(|(key, _)| is_internal(to.text(*key)))
        .flat_map(|(key, value)| [key, value])
        .filter(|id| to.comments(*id).is_some())
        .collect()
}

/// Annotations that exist only while a resource is in a pipeline.
fn is_internal(key: &str) -> bool {
    key.starts_with("internal.config.kubernetes.io/")
        || matches!(key, "config.kubernetes.io/path" | "config.kubernetes.io/index" | "config.k8s.io/id")
}

impl<'t> Planner<'t> {
    /// Plans the comments of one node; a place that is taken, or a text that the output has elsewhere, is left out, but
    /// in kpt's way for texts on lines of their own.
    fn copy(&mut self, id: NodeId, comments: &'t Comments) {
        let own = self.to.tree.comments(id);
        let as_kpt = self.as_kpt;
        let mut take = |text: &'t Option<Box<str>>, taken: bool, twice: bool| {
            let text = text.as_deref().filter(|t| !taken && !t.is_empty())?;
            let lines = || text.lines().filter(|line| !line.trim().is_empty());
            if !twice && !lines().any(|line| self.missing.get(line).is_some_and(|n| *n > 0)) {
                return None;
            }
            for line in lines() {
                *self.missing.entry(line).or_insert(0) -= 1;
            }
            Some(Box::from(text))
        };
        // A line comment twice would show on two fields; kpt shows the second one on a field that it does not belong to.
        let copied = Comments {
            head: take(&comments.head, own.is_some_and(|c| c.head.is_some()), as_kpt),
            line: take(&comments.line, own.is_some_and(|c| c.line.is_some()), false),
            foot: take(&comments.foot, own.is_some_and(|c| c.foot.is_some()), as_kpt),
        };
        if !copied.is_empty() {
            self.plan.comments.push((id, copied));
        }
    }

    fn walk(&mut self, from: NodeId, to: NodeId) {
        let mut stack = vec![(from, to, 0)];
        while let Some((old, new, depth)) = stack.pop() {
            let (from, to) = (self.from.tree, self.to.tree);
            if let Some(comments) = from.comments(old) {
                self.copy(new, comments);
            }
            if self.as_kpt && is_folded(to, new) {
                self.plan.folded.push(new);
            }
            if depth == DEPTH {
                continue;
            }
            let first = stack.len();
            match (from.kind(old), to.kind(new)) {
                (Kind::Mapping, Kind::Mapping) if same_keys(from, old, to, new) => {
                    stack.extend(from.children(old).zip(to.children(new)).map(|(old, new)| (old, new, depth + 1)));
                }
                (Kind::Mapping, Kind::Mapping) => {
                    for [old_key, old_value, new_key, new_value] in match_entries(from, old, to, new) {
                        stack.push((old_key, new_key, depth + 1));
                        stack.push((old_value, new_value, depth + 1));
                    }
                    if self.as_kpt {
                        // Fields that are new in a mapping that is not are visited too.
                        self.plan.folded.extend(to.entries(new).map(|(_, v)| v).filter(|v| is_folded(to, *v)));
                    }
                }
                (Kind::Sequence, Kind::Sequence) if same_elements(from, old, to, new) => {
                    stack.extend(from.children(old).zip(to.children(new)).map(|(old, new)| (old, new, depth + 1)));
                }
                (Kind::Sequence, Kind::Sequence) => {
                    let olds: Vec<NodeId> = from.elements(old).collect();
                    let pairs = match_elements(&self.from, old, &self.to, new, false);
                    for (new, at) in to.elements(new).zip(pairs) {
                        if let Some(at) = at {
                            stack.push((olds[at], new, depth + 1));
                        }
                    }
                }
                _ => {}
            }
            // In document order: the first of equal comments goes to the first place.
            stack[first..].reverse();
        }
    }
}

/// Mappings whose keys stand in another order than in the input, with the children in their new order.
fn collect_orders(from: &Tree, to: &Tree, orders: &mut Vec<(NodeId, Vec<NodeId>)>) {
    let (from, to) = (Values::new(from), Values::new(to));
    let mut stack = vec![(from.tree.root(), to.tree.root(), 0)];
    while let Some((old, new, depth)) = stack.pop() {
        if depth == DEPTH {
            continue;
        }
        let inside = |(old, new): (NodeId, NodeId)| {
            let any = from.tree.is_mapping(old) || from.tree.is_sequence(old);
            any.then_some((old, new, depth + 1))
        };
        match (from.tree.kind(old), to.tree.kind(new)) {
            (Kind::Mapping, Kind::Mapping) if same_keys(from.tree, old, to.tree, new) => {
                stack.extend(from.tree.children(old).zip(to.tree.children(new)).filter_map(inside));
            }
            (Kind::Sequence, Kind::Sequence) if same_elements(from.tree, old, to.tree, new) => {
                stack.extend(from.tree.children(old).zip(to.tree.children(new)).filter_map(inside));
            }
            (Kind::Mapping, Kind::Mapping) => {
                let pairs = match_entries(from.tree, old, to.tree, new);
                let in_order = to.tree.entries(new).zip(&pairs).all(|((key, _), pair)| key == pair[2]);
                if !in_order {
                    let known: std::collections::HashSet<NodeId> = pairs.iter().map(|pair| pair[2]).collect();
                    let common = pairs.iter().flat_map(|pair| [pair[2], pair[3]]);
                    let added = to.tree.entries(new).filter(|(key, _)| !known.contains(key)).flat_map(|(k, v)| [k, v]);
                    orders.push((new, common.chain(added).collect()));
                }
                stack.extend(pairs.iter().map(|pair| (pair[1], pair[3], depth + 1)));
            }
            (Kind::Sequence, Kind::Sequence) => {
                let olds: Vec<NodeId> = from.tree.elements(old).collect();
                let pairs = match_elements(&from, old, &to, new, false);
                stack
                    .extend(to.tree.elements(new).zip(pairs).filter_map(|(new, at)| Some((olds[at?], new, depth + 1))));
            }
            _ => {}
        }
    }
}

/// A comment behind the dash of an element goes above the element, as kpt does for lists that stand directly in
/// mappings; in its way it stays behind the dash, too, when it is the only one.
fn lift_head_comments(tree: &mut Tree, as_kpt: bool) {
    let mut stack = vec![tree.root()];
    let mut lifts = Vec::new();
    while let Some(id) = stack.pop() {
        match tree.kind(id) {
            Kind::Mapping => stack.extend(tree.children(id)),
            Kind::Sequence => {
                for element in tree.elements(id) {
                    let Some(first) = tree.children(element).next().filter(|c| tree.is_scalar(*c)) else { continue };
                    if let Some(inner) = tree.head_comment(first) {
                        let own = tree.head_comment(element);
                        let text = own.map_or_else(|| inner.to_owned(), |own| format!("{own}\n{inner}"));
                        lifts.push((element, first, text, as_kpt && own.is_none()));
                    }
                }
            }
            Kind::Scalar | Kind::Alias => {}
        }
    }
    for (element, first, text, stays) in lifts {
        tree.set_head_comment(element, Some(&text));
        if !stays {
            tree.set_head_comment(first, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Tree {
        Tree::parse(text, &ParseLimits::default()).expect("readable").expect("not empty")
    }

    #[test]
    fn comments_that_are_all_there_need_no_plan_and_a_lost_one_comes_back() {
        let from = tree("a: 1 # one\nb: 2 # two\n");
        assert!(has_all_lines(&from, &tree("a: 3 # one\nx: 0\nb: 2 # two\n")));
        assert!(!has_all_lines(&from, &tree("a: 3 # one\nb: 2\n")));
        assert!(!has_all_lines(&from, &tree("a: 3\nb: 2 # two\n")));
        let mut to = tree("a: 3\nb: 2 # two\n");
        copy_comments(&from, &mut to);
        let a = to.get(to.root(), "a").expect("there");
        assert_eq!(to.line_comment(a), Some("# one"));
    }

    #[test]
    fn the_comment_of_a_removed_node_is_not_taken_for_one_that_is_there() {
        let from = tree("a: 1 # one\nb: 2\n");
        let mut to = tree("gone: 0 # one\na: 1\nb: 2\n");
        to.remove(to.root(), "gone");
        copy_comments(&from, &mut to);
        let a = to.get(to.root(), "a").expect("there");
        assert_eq!(to.line_comment(a), Some("# one"));
    }
}

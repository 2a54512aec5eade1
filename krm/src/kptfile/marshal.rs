//! A Kptfile as Go marshals it from its struct: known fields in fixed order, empty ones left out, mappings sorted,
//! quotes and comments of the file gone.

use std::cmp::Ordering;

use super::schema::{KPTFILE, Shape, Type};
use super::view::View;
use crate::build::{put_node, string};
use crate::resource::string_value;
use crate::yaml::{NodeId, Style, Tree};

/// Builds the new document. The tree must have passed [`super::decode::check`].
pub(super) fn marshal(tree: &Tree) -> Tree {
    let mut to = Tree::new_mapping();
    let root = to.root();
    let mut writer = Writer { view: View::new(tree), to: &mut to };
    writer.fields(tree.root(), &KPTFILE, root);
    to
}

struct Writer<'a> {
    view: View<'a>,
    to: &'a mut Tree,
}

impl Writer<'_> {
    fn fields(&mut self, from: NodeId, here: &Type, into: NodeId) {
        let entries = self.view.entries(from);
        for field in here.fields {
            let found = entries.iter().find(|(key, _)| self.view.tree.text(*key) == field.key);
            let value = found.and_then(|(_, value)| self.value(*value, field.shape));
            let value = match value {
                Some(value) => value,
                None if !field.always => continue,
                None if matches!(field.shape, Shape::Number) => self.to.scalar("0", Style::Plain),
                None => string(self.to, ""),
            };
            put_node(self.to, into, field.key, value);
        }
    }

    /// The value in its written form; `None` when it is empty in Go's sense.
    fn value(&mut self, from: NodeId, shape: Shape) -> Option<NodeId> {
        let tree = self.view.tree;
        if tree.is_null(from) {
            return None;
        }
        match shape {
            Shape::Text(_) => Some(string_value(tree, from)).filter(|s| !s.is_empty()).map(|s| string(self.to, s)),
            Shape::AnyText => {
                let text = if tree.is_scalar(from) {
                    tree.text(from).trim().to_owned()
                } else {
                    crate::results::yaml_text(tree, from)
                };
                Some(text).filter(|text| !text.is_empty()).map(|text| string(self.to, &text))
            }
            Shape::Number => {
                let number = self.view.number(from).unwrap_or(0);
                (number != 0).then(|| self.to.scalar(&number.to_string(), Style::Plain))
            }
            Shape::Texts => {
                let list = self.to.sequence(Style::Block);
                for element in self.view.elements(from) {
                    let text = string(self.to, string_value(tree, element));
                    self.to.push(list, text);
                }
                (!self.to.is_empty(list)).then_some(list)
            }
            Shape::Strings => {
                let mut entries = self.view.entries(from);
                entries.sort_by(|a, b| natural_order(tree.text(a.0), tree.text(b.0)));
                let map = self.to.mapping(Style::Block);
                for (key, value) in entries {
                    let value = string(self.to, string_value(tree, value));
                    put_node(self.to, map, tree.text(key), value);
                }
                (!self.to.is_empty(map)).then_some(map)
            }
            Shape::Inline(inner) => {
                let map = self.mapping(from, inner);
                (!self.to.is_empty(map)).then_some(map)
            }
            Shape::One(inner) | Shape::Open(inner) => Some(self.mapping(from, inner)),
            Shape::Many(inner) => {
                let list = self.to.sequence(Style::Block);
                for element in self.view.elements(from) {
                    let element = self.mapping(element, inner);
                    self.to.push(list, element);
                }
                (!self.to.is_empty(list)).then_some(list)
            }
        }
    }

    fn mapping(&mut self, from: NodeId, inner: &Type) -> NodeId {
        let map = self.to.mapping(Style::Block);
        self.fields(from, inner, map);
        if self.to.is_empty(map) {
            self.to.set_style(map, Style::Flow);
        }
        map
    }
}

/// The order in which Go's YAML library writes the keys of a map: runs of digits by their value, letters behind
/// everything else, except that behind a digit they come first.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (left, right): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = left.iter().zip(&right).position(|(x, y)| x != y) else {
        return left.len().cmp(&right.len());
    };
    let (x, y) = (left[at], right[at]);
    match (x.is_alphabetic(), y.is_alphabetic()) {
        (true, true) => return x.cmp(&y),
        (false, false) => {}
        (letter, _) => {
            let behind_digit = at > 0 && left[at - 1].is_numeric();
            return if letter == behind_digit { Ordering::Less } else { Ordering::Greater };
        }
    }
    // A zero counts as part of the number only when a digit other than zero stands before it.
    let led =
        (x == '0' || y == '0') && left[..at].iter().rev().take_while(|c| c.is_numeric()).any(|digit| *digit != '0');
    let run = |text: &[char]| text.iter().take_while(|c| c.is_numeric()).count();
    let value = |text: &[char], digits: usize| {
        text[..digits].iter().fold(i64::from(led), |value, c| {
            value.wrapping_mul(10).wrapping_add(i64::from(u32::from(*c)) - i64::from(u32::from('0')))
        })
    };
    let (digits_x, digits_y) = (run(&left[at..]), run(&right[at..]));
    let by_value = value(&left[at..], digits_x).cmp(&value(&right[at..], digits_y));
    by_value.then(digits_x.cmp(&digits_y)).then(x.cmp(&y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_as_go_sorts_them() {
        let mut keys =
            vec!["b", "a10", "a2", "A", "a", "a-b", "a.b", "a0", "a02", "ab", "a/b", "_", "1", "10", "9", "1a", "1-"];
        keys.sort_by(|a, b| natural_order(a, b));
        assert_eq!(
            keys,
            ["_", "1", "1a", "1-", "9", "10", "A", "a", "a-b", "a.b", "a/b", "a0", "a2", "a02", "a10", "ab", "b"]
        );
    }
}

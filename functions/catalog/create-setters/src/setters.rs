//! The setters that a configuration names.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use portico_fn::Resource;
use portico_fn::yaml::{ParseLimits, Tree};
use setters_core::data_of;

/// Values and the setters that stand for them.
#[derive(Debug)]
pub(crate) struct Setters {
    /// Finds the values of the scalar setters, each by its place in `names`.
    finder: AhoCorasick,
    /// The names of the scalar setters, sorted.
    names: Vec<String>,
    /// Names by the sorted elements of a list.
    lists: BTreeMap<Vec<String>, String>,
}

impl Setters {
    pub(crate) fn read(config: Option<&Resource>) -> Result<Setters, String> {
        let data = data_of(config)?;
        if data.is_empty() {
            return Err("config map cannot be empty".to_owned());
        }
        let (mut names, mut values, mut lists) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (name, value) in data {
            let tree = Tree::parse(value.as_str(), &ParseLimits::default())
                .map_err(|error| format!("parsing error: `data.{name}`: {error}"))?;
            match tree {
                Some(tree) if tree.is_sequence(tree.root()) => _ = lists.entry(texts(&tree)).or_insert(name),
                Some(tree) if !tree.is_scalar(tree.root()) => {}
                _ if value.is_empty() => {}
                _ => {
                    names.push(name);
                    values.push(value);
                }
            }
        }
        // of several values that begin at one place the longest counts, of equal ones the first
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::NoncontiguousNFA))
            .build(&values)
            .map_err(|error| format!("the values of the setters are too large: {error}"))?;
        Ok(Setters { finder, names, lists })
    }

    /// The text of a scalar with setters in the place of their values; `None` when it contains none.
    pub(crate) fn pattern(&self, text: &str) -> Option<String> {
        let mut out = String::new();
        let mut end = 0;
        for found in self.finder.find_iter(text) {
            out.extend([&text[end..found.start()], "${", &self.names[found.pattern().as_usize()], "}"]);
            end = found.end();
        }
        out.push_str(&text[end..]);
        (out != text).then_some(out)
    }

    /// False when a list can have no setter, whatever is in it.
    pub(crate) fn has_lists(&self) -> bool {
        !self.lists.is_empty()
    }

    /// The setter of a list with these elements, which are sorted.
    pub(crate) fn list(&self, elements: &[String]) -> Option<&str> {
        self.lists.get(elements).map(String::as_str)
    }
}

/// The texts of the elements of a list, sorted.
fn texts(tree: &Tree) -> Vec<String> {
    let mut texts: Vec<String> = tree.elements(tree.root()).map(|element| tree.text(element).to_owned()).collect();
    texts.sort();
    texts
}

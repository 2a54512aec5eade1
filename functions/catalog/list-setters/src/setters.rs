//! What is known of the setters of a package.

use std::collections::BTreeMap;

use portico_fn::yaml::{EmitOptions, emit};
use setters_core::listed;

/// The type of a setter of which no field says more.
const STRING: &str = "str";

/// The setters that were found, single values and lists apart: one name may stand for both.
#[derive(Debug, Default)]
pub(crate) struct Setters {
    scalars: BTreeMap<String, Scalar>,
    lists: BTreeMap<String, List>,
}

#[derive(Debug)]
struct Scalar {
    value: String,
    kind: &'static str,
    count: usize,
}

#[derive(Debug)]
struct List {
    values: Vec<String>,
    count: usize,
}

impl Setters {
    /// A setter that the package gives a value to.
    pub(crate) fn give(&mut self, name: String, value: String) {
        let Some(tree) = listed(&value) else {
            self.scalars.insert(name, Scalar { value, kind: STRING, count: 0 });
            return;
        };
        let text = |element| {
            let mut text = String::new();
            emit(&tree, element, &EmitOptions::default(), &mut text);
            text.replace('\n', "")
        };
        let values = tree.elements(tree.root()).map(text).collect();
        self.lists.insert(name, List { values, count: 0 });
    }

    /// A setter in the comment of a scalar of type `kind`.
    pub(crate) fn count_scalar(&mut self, name: &str, value: &str, kind: &'static str) {
        if let Some(known) = self.scalars.get_mut(name) {
            known.count += 1;
            if known.kind == STRING {
                known.kind = kind;
            }
        } else {
            self.scalars.insert(name.to_owned(), Scalar { value: value.to_owned(), kind, count: 1 });
        }
    }

    /// A setter in the comment of a list.
    pub(crate) fn count_list(&mut self, name: &str, values: impl FnOnce() -> Vec<String>) {
        if let Some(known) = self.lists.get_mut(name) {
            known.count += 1;
        } else {
            self.lists.insert(name.to_owned(), List { values: values(), count: 1 });
        }
    }

    /// A line for each setter, by name.
    pub(crate) fn messages(&self) -> Vec<String> {
        let line = |name: &str, value: &str, kind: &str, count: usize| {
            format!("Name: {name}, Value: {value}, Type: {kind}, Count: {count}")
        };
        let lists = self
            .lists
            .iter()
            .map(|(name, list)| (name, line(name, &format!("[{}]", list.values.join(", ")), "array", list.count)));
        let scalars =
            self.scalars.iter().map(|(name, scalar)| (name, line(name, &scalar.value, scalar.kind, scalar.count)));
        let mut all: Vec<(&String, String)> = lists.chain(scalars).collect();
        all.sort_by_key(|(name, _)| *name);
        all.into_iter().map(|(_, line)| line).collect()
    }
}
